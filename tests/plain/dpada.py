"""DPAda, written from its text alone: 张淑芬 et al., 基于目标扰动的 AdaBoost 算法 (2023), Algorithms 1 to 6.

Whoever wrote this file had not seen the package's version, and nothing here is shared with it; the keyword first and
the word "absolute" came after the comparison. Steps have Algorithm 6's numbers; keywords say which reading is meant
where the text leaves several.
"""

import numpy as np


def algorithm_2(w, *, m, B, rng, holders="one", budget="weighted", negative="left", unfunded="none"):
    """Noise on the largest and the smallest weight, DPweight_dynamic.

    holders: several records may hold 最大权值. "one": one draw for all of them; "each": one for each of them
        (theorem 2 counts them one by one); "first": only the first of them is noised.
    budget: "weighted" is step 2 as printed, B/m times the weight; "flat" is B/m.
    negative: nothing stops the smallest weight from falling below 0. "left": it does; "zero": it is cut at 0.
    unfunded: a weight of 0 or below has no budget in step 2. "none": no noise; "endless": its limit; "absolute":
        the budget of its absolute value, or of 1e-12.
    """
    n, noisy = len(w), w.copy()
    for extreme, bound in ((w.max(), np.maximum), (w.min(), np.minimum)):
        records = np.flatnonzero(abs(w - extreme) <= 1e-9 * abs(extreme))
        records = records[: 1 if holders == "first" else None]
        sensitivity = abs(extreme - 1 / n)  # 1)
        epsilon = B / m * (extreme if budget == "weighted" else 1.0)  # 2)
        epsilon = max(abs(epsilon), B / m * 1e-12) if unfunded == "absolute" else epsilon
        scale = sensitivity / epsilon if epsilon > 0 else {"none": 0.0, "endless": 1e300}[unfunded]
        noise = rng.laplace(0.0, scale, size=len(records) if holders == "each" else 1)  # 3)
        noisy[records] = bound(extreme + noise, 1 / n)  # 4) to 9)
    noisy = np.maximum(noisy, 0.0) if negative == "zero" else noisy
    return noisy / noisy.sum()  # 10)


def definition_7(h, *, tail="set"):
    """After a 0, keep the first 1 of a run of 1s and set the rest to 0. A run that no 0 precedes stays.

    tail: the last round may cut a run off before its closing 0, h_j. "set": the rest of it is set as well
        (round k cannot know what later rounds draw); "left": it stays, as the condition is not met.
    """
    new = list(h)
    for i in range(len(h) - 1):
        if h[i] == 0 and h[i + 1] == 1:
            j = next((j for j in range(i + 2, len(h)) if h[j] == 0), None if tail == "set" else i + 2)
            new[i + 2 : j] = [0] * len(new[i + 2 : j])
    return new


def rounds_with_noise(schedule, m, rng, *, first=2, **how):
    """Say for k = 1 to m whether round k runs Algorithm 2, from round 2 on (从第二轮开始加噪, and theorem 1).

    first: 1 is Algorithm 3 as printed, without a condition on k.
    """
    k, h = np.arange(1, m + 1), (rng.random(m) >= 0.5).astype(int)  # 8), 9)
    a = 1 / 2 + (-1.0) ** k / 2  # (18)
    h = {"every": h * 0 + 1, "swing": a, "random": h, "improved": definition_7(h, **how)}[schedule]  # 11)
    return (np.array(h) == 1) & (k >= first)  # 10), 12)


def dpada(x, y, candidates, *, m, B, schedule, rng, error="noised", update="raw", stop=True, equal="first",
          edge=1e-10, seven=rounds_with_noise, two=algorithm_2):  # fmt: skip
    """Return the rounds' (candidate, alpha), for labels y of -1 and 1.

    candidates: the stumps to choose from, (attribute, cut, sign): sign where x > cut, else -sign.
    error: step 4 sums w'. "noised": w' is what Algorithm 2 returned (w if it did not run); "raw": the prime
        is that of section 2.1, and the weights of step 7 are summed. The stump is trained on w' either way.
    update: step 7 multiplies w_k, without a prime: "raw", the weights step 7 left; or "noised": w'_k.
    stop: step 5 as printed, where an e_k of exactly 0.5 goes on; False always goes on, with a negative alpha.
    equal: which of the stumps with equal error is trained, the "first" or the "last" candidate.
    edge: the text has no alpha for an e_k of 0 or 1, or beyond; e_k is moved to edge or 1 - edge.
    seven, two: the two functions above, with a reading of their own bound to them.
    """
    votes = np.array([np.where(x[:, a] > cut, sign, -sign) for a, cut, sign in candidates])
    noise, model = seven(schedule, m, rng), []
    w = w_prime = np.full(len(y), 1 / len(y))  # 1)
    for k in range(m):  # 2)
        errors = np.round((votes != y) @ w_prime, 12)
        best = np.flatnonzero(errors == errors.min())[0 if equal == "first" else -1]  # 3)
        e = (w_prime if error == "noised" else w) @ (votes[best] != y)  # 4)
        if stop and e > 0.5 + 1e-12:  # 5)
            break
        alpha = np.log(1 / np.clip(e, edge, 1 - edge) - 1) / 2  # 6)
        model.append((int(best), float(alpha)))
        w = (w if update == "raw" else w_prime) * np.exp(-y * alpha * votes[best])  # 7)
        w = w / w.sum()
        w_prime = two(w, m=m, B=B, rng=rng) if noise[k] else w  # 13)
    return model  # 17) G(x) is the sign of the sum of alpha times vote.
