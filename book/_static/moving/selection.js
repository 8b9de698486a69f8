// The exponential mechanism beside permute-and-flip, on four candidates.
"use strict";

(() => {
  const { WIDTH, LEFT, tag, text, middle, scale, rows, columns, panel } = moving;
  const EPSILON = 0.5; // scores are counts of records, monotone: the rate of both is ε
  const NAMES = ["A", "B", "C", "D"];
  const sum = values => values.reduce((total, value) => total + value, 0);

  const exponential = (scores, rate) => {
    const best = Math.max(...scores);
    const weights = scores.map(score => Math.exp(rate * (score - best)));
    return weights.map(weight => weight / sum(weights));
  };

  // Candidate r wins at its time t of arrival unless another one came before and was accepted:
  // q_r ∫₀¹ ∏ (1 − t q_j) dt over the others j, a polynomial in t that is integrated term by term.
  const flip = (scores, rate) => {
    const best = Math.max(...scores);
    const accept = scores.map(score => Math.exp(rate * (score - best)));
    return accept.map((own, r) => {
      let terms = [1];
      accept.forEach((q, j) => {
        if (j !== r) terms = [...terms, 0].map((term, power) => term - (power ? q * terms[power - 1] : 0));
      });
      return own * sum(terms.map((term, power) => term / (power + 1)));
    });
  };

  const behind = (scores, chances) => sum(scores.map((score, i) => chances[i] * (Math.max(...scores) - score)));

  moving.math.selection = { exponential, flip, behind };

  const KEYS = [["hollow", ["exponential", "指数机制"]], ["a", ["permute-and-flip", "重排翻转"]]];

  const chances = (scores, byExponential, byFlip) => {
    const bottom = 165, x = scale(-0.5, 3.5, LEFT, WIDTH - 6), y = scale(0, 1, bottom, 14);
    const bars = NAMES.map((name, i) => [[byExponential[i], "hollow", -26], [byFlip[i], "a", 2]].map(
      ([share, kind, shift]) => [
        tag("rect", { class: kind, x: x(i) + shift, width: 24, y: y(share), height: bottom - y(share) }),
        text(x(i) + shift + 12, y(share) - 4, `.${String(Math.round(100 * share)).padStart(2, "0")}`.replace(".100", "1"), middle),
      ]));
    return panel({
      head: ["Probability of each candidate", "各候选项的概率"], keys: KEYS, height: 190,
      alt: "Bars: the probability of each candidate by the exponential mechanism and by permute-and-flip.",
    }, rows([0, 0.5, 1], y, String), bars,
    columns([0, 1, 2, 3], x, bottom, i => `${NAMES[i]}: ${scores[i]}`));
  };

  const errors = values => {
    const names = [["exponential", "指数机制"], ["permute-and-flip", "重排翻转"], ["random choice", "随机选择"]];
    const x = scale(0, Math.max(...values, 1), 0, WIDTH - 60);
    const kinds = ["hollow", "a", "soft"];
    return panel({
      head: ["Expected distance from the best score", "与最高分的期望差距"], height: 165,
      alt: "Bars: the expected distance from the best score of both mechanisms and of a random choice.",
    }, values.map((value, i) => [
      text(8, 18 + 54 * i, `${names[i][0]} ${names[i][1]}`),
      tag("rect", { class: kinds[i], x: 8, y: 24 + 54 * i, width: x(value), height: 20 }),
      text(14 + x(value), 39 + 54 * i, value.toFixed(2)),
    ]));
  };

  moving.figures.selection = {
    controls: [10, 8, 7, 3].map((value, i) => ({
      words: [`Score of ${NAMES[i]}`, "得分"], min: 0, max: 20, value, text: String,
    })),
    draw: scores => {
      const laws = [exponential, flip].map(law => law(scores, EPSILON));
      const uniform = scores.map(() => 1 / scores.length);
      const values = [...laws, uniform].map(law => behind(scores, law));
      const [first, second] = values.map(value => value.toFixed(2));
      return {
        panels: [chances(scores, ...laws), errors(values)],
        says: [
          `At the same ε = ${EPSILON} permute-and-flip misses the best score by ${second} records on average, ` +
          `the exponential mechanism by ${first}.`,
          `ε 同为 ${EPSILON} 时，与最高分的平均差距：重排翻转 ${second}，指数机制 ${first}。`,
        ],
      };
    },
  };
})();
