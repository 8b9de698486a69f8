"""One-line bugs that tests have to notice, and a command that writes each into a copy of the project and runs them.

``python tests/mutants.py [NAME …]`` runs all mutants, or the named ones; those that need Spark run by name or with
``--slow``. ``--list`` shows the table, ``--clean`` runs the test files without any bug. It leaves with code 1 if a
mutant survives or does not apply. Bugs in scripts and styles of pages need Node, or a browser and the built book:
without these, they survive.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = (".git", ".venv", "_build", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")
LONGEST = 900  # seconds of a test file: an endless loop is noticed too


class Mutant(NamedTuple):
    """A bug."""

    name: str  # what goes wrong
    file: str  # where
    tests: str  # files `tests/test_*.py`, or tests as `file::name`, that ought to notice, cheapest first
    old: str  # a text of one line that occurs once in the file
    new: str  # what stands there instead
    slow: bool = False  # whether these take Java and minutes

    @property
    def test_files(self) -> list[str]:
        return [re.sub(r"(\w+)", r"tests/test_\1.py", name, count=1) for name in self.tests.split()]


class Outcome(NamedTuple):
    mutant: Mutant
    killer: str  # file and test; empty if there is none
    seconds: float
    error: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"ERROR: {self.error}"
        end = f"killed by {self.killer}" if self.killer else "SURVIVED " + " ".join(self.mutant.test_files)
        return f"{end} in {self.seconds:.0f} s"


# fmt: off
PRIVACY = (
    Mutant("flip-left-out", "dpnb/privacy/laws.py", "laws samplers",
           "rng, np.exp(_exponents(rate, gaps))",
           "rng, (gaps == 0).astype(float)"),
    Mutant("flip-in-fixed-order", "dpnb/privacy/laws.py", "laws samplers",
           "arrival = np.where(taken, rng.permutation(len(taken)), len(taken))",
           "arrival = np.where(taken, np.arange(len(taken)), len(taken))"),
    Mutant("threshold-is-a-value", "dpnb/privacy/laws.py", "laws samplers diffprfs contract",
           "return Point(self.option[at], np.where(atom, low, inside))",
           "return Point(self.option[at], np.where(atom, low, self.high[at]))"),
    Mutant("noise-one-sided", "dpnb/privacy/samplers.py", "samplers laws",
           "difference: Int64s = up - down",
           "difference: Int64s = up"),
    Mutant("geometric-tail-cut", "dpnb/privacy/samplers.py", "samplers laws accounting ledger stages contract",
           "most = 745 * float",
           "most = 40 * float"),
    Mutant("coin-rounded", "dpnb/privacy/samplers.py", "samplers laws",
           "open_yet = drawn == least",
           "open_yet = drawn < 0"),
    Mutant("choice-rounded", "dpnb/privacy/samplers.py", "samplers laws",
           "for group in np.flatnonzero(near | (weights[found] == 0)):",
           "for group in np.flatnonzero(weights[found] == 0):"),
    Mutant("gaussian-taken-too-often", "dpnb/privacy/samplers.py", "samplers laws",
           "taken = bernoulli(rng, np.exp(-far))",
           "taken = bernoulli(rng, np.exp(-far / 2))"),
    Mutant("measure-follows-values", "dpnb/trees/candidates.py", "counts diffprfs contract",
           "points[cut] -= up_to_cut",
           "points[cut] -= 0 * up_to_cut"),
    Mutant("choice-at-twice-the-rate", "dpnb/privacy/curator.py", "scores ledger laws edprf contract",
           "return epsilon / (event.sensitivity if monotone else 2 * event.sensitivity)",
           "return epsilon / event.sensitivity"),
    Mutant("flip-as-bounded-range", "dpnb/privacy/curator.py", "ledger laws contract",
           "if mechanism in BOUNDED_RANGE else 0.5)",
           "if mechanism in BOUNDED_RANGE else 0.125)"),
    Mutant("gaussian-sd-too-small", "dpnb/privacy/curator.py", "stages ledger laws",
           "sd = sensitivity / unit / np.sqrt(2 * self._net(event.rho))",
           "sd = sensitivity / unit / np.sqrt(8 * self._net(event.rho))"),
    Mutant("noise-in-another-unit", "dpnb/privacy/curator.py", "dpada ledger laws",
           "_by_row(sensitivity / unit / self._net(event.epsilon), centre)",
           "_by_row(sensitivity / self._net(event.epsilon), centre)"),
    Mutant("noise-shared-by-leaves", "dpnb/privacy/curator.py", "edprf ledger laws trees contract",
           "_by_row(sensitivity / unit / self._net(event.epsilon), centre)",
           "_by_row(sensitivity / unit / self._net(event.epsilon) / max(centre.shape[:1], default=1), centre)"),
    Mutant("rounding-not-paid", "dpnb/privacy/curator.py", "audit",
           "net: Floats = np.maximum(budget - kept, budget / 2)",
           "net: Floats = np.maximum(budget, budget / 2)"),
    Mutant("choices-of-groups-not-added", "dpnb/privacy/curator.py", "ledger laws",
           "if event.parts is None and len(first) > 1:",
           "if event.parts is None and len(first) < 1:"),
    Mutant("event-not-booked", "dpnb/privacy/curator.py", "random_trees ledger trees contract",
           "self.ledger.book(event)",
           'self.ledger.book(event) if event.mechanism != "geometric" else None'),
    Mutant("key-of-16-bits", "dpnb/privacy/curator.py", "scikit",
           "ChaCha(key=secrets.randbits(256))",
           "ChaCha(key=secrets.randbits(16))"),
    Mutant("clone-repeats-its-noise", "dpnb/estimators/base.py", "scikit contract",
           "twin.random_state = spawned(self.random_state)",
           "twin.random_state = spawned(None) or twin.random_state"),
    Mutant("pickle-repeats-its-noise", "dpnb/estimators/base.py", "scikit documents contract",
           'return {**state, "random_state": None} if goes_on or self.__sklearn_is_fitted__() else state',
           'return {**state, "random_state": None} if self.__sklearn_is_fitted__() else state'),
    Mutant("pickle-holds-the-seed", "dpnb/estimators/base.py", "documents scikit contract",
           'return {**state, "random_state": None} if goes_on or self.__sklearn_is_fitted__() else state',
           'return {**state, "random_state": None} if goes_on else state'),
    Mutant("seed-printed", "dpnb/estimators/base.py", "scikit documents contract",
           'return parameters | {"random_state": None} if self._is_printed() else parameters',
           "return parameters"),
    Mutant("seed-in-document", "dpnb/estimators/base.py", "documents contract",
           'secret = ("random_state", "domain")',
           'secret = ("domain",)'),
    Mutant("counts-with-continuous-noise", "dpnb/trees/growth.py", "trees edprf contract",
           'mechanism = {"geometric": curator.geometric, "laplace": curator.laplace}[noise]',
           'mechanism = {"geometric": curator.laplace, "laplace": curator.laplace}[noise]'),
    Mutant("empty-leaves-without-noise", "dpnb/trees/growth.py", "edprf trees diffprfs contract one_record",
           "    if not len(nodes):",
           "    if not counts.any():"),
    Mutant("zero-counts-left-out", "dpnb/trees/growth.py", "random_trees trees edprf diffprfs contract one_record",
           "return noisy.astype(float)",
           "return np.where(counts > 0, noisy, 0).astype(float)"),
    Mutant("sum-is-a-maximum", "dpnb/privacy/ledger.py", "ledger",
           "return Cost(math.fsum(c.epsilon for c in costs), math.fsum(c.rho for c in costs))",
           "return Cost(max((c.epsilon for c in costs), default=0.0), math.fsum(c.rho for c in costs))"),
    Mutant("rho-is-a-maximum", "dpnb/privacy/ledger.py", "ledger",
           "return Cost(math.fsum(c.epsilon for c in costs), math.fsum(c.rho for c in costs))",
           "return Cost(math.fsum(c.epsilon for c in costs), max((c.rho for c in costs), default=0.0))"),
    Mutant("path-is-a-maximum", "dpnb/privacy/ledger.py", "ledger trees",
           "epsilon[level] += epsilon[parents]",
           "epsilon[level] = np.maximum(epsilon[level], epsilon[parents])"),
    Mutant("cover-counts-one-tree", "dpnb/privacy/ledger.py", "ledger bags edprf",
           'f"each record in {each}", partial(_dearest, each)',
           'f"each record in {each}", partial(_dearest, 1)'),
    Mutant("replacement-costs-once", "dpnb/privacy/ledger.py", "ledger",
           'return self.root.cost.epsilon * (2 if self.neighbours == "replace" else 1)',
           "return self.root.cost.epsilon"),
    Mutant("replacement-doubles-rho", "dpnb/privacy/ledger.py", "ledger",
           'return self.root.cost.rho * (4 if self.neighbours == "replace" else 1)',
           'return self.root.cost.rho * (2 if self.neighbours == "replace" else 1)'),
    Mutant("replacement-at-full-budget", "dpnb/estimators/base.py", "edprf random_trees contract",
           'return float(self.epsilon) / (2 if self.neighbours == "replace" else 1)',
           "return float(self.epsilon)"),
    Mutant("plan-named-late", "dpnb/privacy/ledger.py", "plans ledger accounting",
           "chosen_in_time = covers(common_steps(self.plans), _steps(head))",
           "chosen_in_time = len(head) <= len(self.children)"),
    Mutant("plan-booked-by-outputs", "dpnb/privacy/ledger.py", "ledger plans accounting stages",
           "return _booked(Cost(epsilon, rho), super().cost)",
           "return super().cost"),
    Mutant("path-booked-by-outputs", "dpnb/privacy/ledger.py", "ledger trees edprf diffprfs",
           "return _booked(self.most, Cost(float(epsilon.max()), float(rho.max())))",
           "return Cost(float(epsilon.max()), float(rho.max()))"),
    Mutant("filter-hides-a-leak", "dpnb/privacy/ledger.py", "ledger dpada",
           "total.epsilon if math.isinf(total.epsilon) else min(total.epsilon, cap.epsilon),",
           "min(total.epsilon, cap.epsilon),"),
    Mutant("flip-as-selection", "dpnb/privacy/ledger.py", "accounting ledger",
           'BOUNDED_RANGE = ("exponential", "interval exponential")',
           'BOUNDED_RANGE = ("exponential", "interval exponential", "permute-and-flip")'),
    Mutant("budget-not-reserved", "dpnb/privacy/ledger.py", "budget",
           "scope, spent = unfinished(model), self._ledger",
           "scope, spent = Scope(str(model), SEQUENTIAL, _sum), self._ledger"),
    Mutant("budget-checked-before-the-fit", "dpnb/privacy/ledger.py", "budget",
           "if after.epsilon > most:",
           "if spent.epsilon > most:"),
    Mutant("strict-costs-nothing", "dpnb/estimators/base.py", "budget",
           "if self.strict or any(getattr(self, name) in values",
           "if any(getattr(self, name) in values"),
    Mutant("conversion-by-the-order", "dpnb/privacy/accounting.py", "accounting ledger",
           "- math.log(delta * order) / excess",
           "- math.log(delta * order) / order"),
    Mutant("gaussians-do-not-add", "dpnb/privacy/accounting.py", "accounting",
           "shift = math.hypot(shift, run.size)",
           "shift = max(shift, run.size)"),
    Mutant("choice-not-the-worst", "dpnb/privacy/accounting.py", "accounting plans",
           "values = np.max([each.at(nodes) for each in found], axis=0)",
           "values = np.mean([each.at(nodes) for each in found], axis=0)"),
    Mutant("lattice-cost-one-side", "dpnb/privacy/accounting.py", "accounting",
           "return (1 + math.exp(epsilon)) * distance * (1 + 1e-12)",
           "return distance * (1 + 1e-12)"),
    Mutant("ratio-unfair", "dpnb/privacy/accounting.py", "accounting",
           "likely = 1 / (1 + math.exp(-half))",
           "likely = 1 / (1 + math.exp(half))"),
    Mutant("larger-step-is-covered", "dpnb/privacy/accounting.py", "accounting plans ledger",
           "elif place.kind == step.kind and step.size <= place.size:",
           "elif place.kind == step.kind:"),
    Mutant("replacement-of-steps-once", "dpnb/privacy/accounting.py", "accounting ledger",
           "return step._replace(size=2 * step.size, entries=2 * step.entries)",
           "return step._replace(entries=2 * step.entries)"),
    Mutant("poisson-bag-costs-one-copy", "dpnb/records/bags.py", "bags",
           "return Cost(_expm1(copy.epsilon), math.inf if copy.rho else 0.0)",
           "return Cost(copy.epsilon, math.inf if copy.rho else 0.0)"),
    Mutant("poisson-trees-in-parallel", "dpnb/records/bags.py", "random_trees bags diffprfs",
           "return ledger.sequential(what)",
           "return ledger.parallel(what)"),
    Mutant("record-in-two-trees", "dpnb/records/bags.py", "bags",
           "home = np.floor(uniforms(keys, seed=seed, stream=0) * self.n_trees)",
           "home = np.floor(uniforms(keys, seed=seed, stream=tree) * self.n_trees)"),
    Mutant("cover-of-one-tree-more", "dpnb/records/bags.py", "bags",
           "return (smaller < self.rate).astype(np.int64)",
           "return (smaller <= self.rate).astype(np.int64)"),
    Mutant("bags-are-public", "dpnb/records/bags.py", "bags",
           "_mix(np.array([seed], np.uint64) + np.uint64(stream)",
           "_mix(np.array([0], np.uint64) + np.uint64(stream)"),
    Mutant("half-a-letter-raises", "dpnb/domain/people.py", "bags one_record",
           "if isinstance(label, str) and _is_unicode(str.__str__(label)):",
           "if isinstance(label, str):"),
    Mutant("classes-read-off-records", "dpnb/records/memory.py", "counts trees bags contract one_record",
           "self._classes = records.domain.n_classes",
           "self._classes = len(np.unique(records._y))"),
    Mutant("codes-by-type-of-labels", "dpnb/estimators/base.py", "scikit one_record",
           'numbers = isinstance(y, np.ndarray) and y.dtype.kind in "biufc"',
           'numbers = np.asarray(y).dtype.kind in "biufc"'),
    Mutant("misfits-raise", "dpnb/estimators/base.py", "moves one_record",
           '"strict": self.strict or not given, "by_content"',
           '"strict": True, "by_content"'),
    Mutant("clip-left-out", "dpnb/domain/encoding.py", "moves domain one_record",
           "return np.where(np.isnan(numbers), attribute.stand_in, np.clip(numbers, attribute.low, attribute.high))",
           "return np.where(np.isnan(numbers), attribute.stand_in, numbers)"),
    Mutant("column-type-decides", "dpnb/domain/encoding.py", "moves domain one_record",
           'plain = column.dtype != object or infer_dtype(column.to_numpy()) in ("string", "integer", "boolean")',
           "plain = len(column) > 0"),
    Mutant("residual-not-clipped", "dpnb/records/losses.py", "counts audit_stages",
           "return fixed(own / np.maximum(long, 1.0))",
           "return fixed(own)"),
    Mutant("weight-not-clipped", "dpnb/records/losses.py", "dpada counts booster",
           "return fixed(np.exp(-np.maximum(margin, 0.0)))",
           "return fixed(np.exp(-margin))"),
    Mutant("softmax-reach-halved", "dpnb/records/losses.py", "stages booster",
           "self.absolute = 2 + n_classes / FIXED_POINT",
           "self.absolute = 1 + n_classes / FIXED_POINT"),
    Mutant("filter-one-round-late", "dpnb/records/memory.py", "dpada counts",
           "pays = self._spent + self._each <= total",
           "pays = self._spent <= total"),
    Mutant("phi-range-halved", "dpnb/trees/scores.py", "scores",
           "PHI_RANGE = 0.5 + 1 / math.sqrt(3)",
           "PHI_RANGE = 0.5"),
    Mutant("replacement-range-once", "dpnb/trees/scores.py", "scores",
           "return 2 * once if uncovered else min(2 * once, 2 * self.sensitivity)",
           "return once"),
    Mutant("utility-sensitivity-halved", "dpnb/papers/diffprfs.py", "claims diffprfs contract",
           '"sensitivity": self.score.sensitivity if unit',
           '"sensitivity": self.score.sensitivity / 2 if unit'),
    Mutant("stop-not-paid", "dpnb/papers/edprf.py", "edprf",
           "left = (shares[level:].sum() if forest.align else share) - stop.share",
           "left = shares[level:].sum() if forest.align else share"),
    Mutant("split-sensitivity-halved", "dpnb/papers/edprf.py", "edprf contract",
           "sensitivity=SPLIT_SENSITIVITY,",
           "sensitivity=SPLIT_SENSITIVITY / 2,"),
    Mutant("blocks-shift-one-shard", "dpnb/papers/pearson.py", "pearson",
           'one_shard = options.shards == "record" or options.n_shards == 1',
           "one_shard = options.n_shards > 0"),
    Mutant("alpha-sensitivity-halved", "dpnb/papers/dpada.py", "dpada contract",
           'how: dict[str, Any] = {"sensitivity": 1.0, "unit"',
           'how: dict[str, Any] = {"sensitivity": 0.5, "unit"'),
    Mutant("stump-sensitivity-halved", "dpnb/papers/stumps.py", "dpada contract",
           '"sensitivity": 1.0, "monotone": True',
           '"sensitivity": 0.5, "monotone": True'),
    Mutant("booster-stump-halved", "dpnb/boosting/stages.py", "stages booster contract",
           "half = self.grid.within(sums) - totals / 2",
           "half = 2 * self.grid.within(sums) - totals"),
    Mutant("stumps-of-a-pass-share-a-draw", "dpnb/boosting/stages.py", "audit_stages",
           "found.append(int(left[chosen[0]]))",
           "found.append(int(left[scores.reshape(-1)[left].argmax() if found else chosen[0]]))"),
    Mutant("stumps-of-a-pass-booked-as-one", "dpnb/boosting/stages.py", "audit_stages",
           "epsilon = math.sqrt(8 * rho / plan.stumps)",
           "epsilon = math.sqrt(8 * rho * plan.at_once / plan.stumps)"),
    Mutant("product-sensitivity-halved", "dpnb/boosting/stages.py", "stages",
           "part.reshape(-1) @ one / 2",
           "part.reshape(-1) @ one"),
    Mutant("group-sensitivity-halved", "dpnb/boosting/stages.py", "stages",
           "half = self.loss.absolute / 2",
           "half = self.loss.absolute / 4"),
    Mutant("fine-attribute-falls-too-little", "dpnb/boosting/stages.py", "stages",
           "down = up + self.loss.square / 4",
           "down = up"),
    Mutant("budget-spent-by-half", "dpnb/boosting/stages.py", "stages booster",
           "self.left -= part",
           "self.left -= part / 2"),
    Mutant("losers-of-tuning-told", "book/private_trees/board/tuning.py", "tuning",
           'warnings.simplefilter("ignore", FewRecordsWarning)',
           'warnings.simplefilter("always", FewRecordsWarning)'),
    Mutant("interval-level-doubled", "book/private_trees/auditing/counts.py", "attack",
           "betaincinv(np.maximum(k, 1), trials - k + 1, alpha / 2)",
           "betaincinv(np.maximum(k, 1), trials - k + 1, alpha)"),
    Mutant("directions-pay-for-one", "book/private_trees/auditing/counts.py", "attack",
           "sum(tail.largest(epsilon) for tail in tails)",
           "max(tail.largest(epsilon) for tail in tails)"),
    Mutant("largest-of-the-points-summed", "book/private_trees/auditing/counts.py", "attack",
           "* np.exp(self.first.sag(p) + self.second.sag(q))",
           "* np.exp(0 * q[1:])"),
    Mutant("counts-outside-their-tail", "book/private_trees/auditing/counts.py", "attack",
           "ratio=shown * (1 - 1e-9)",
           "ratio=shown * (1 + 1e-9)"),
    Mutant("event-chosen-where-measured", "book/private_trees/auditing/fixed.py", "attack",
           "_chosen(statistics, *choose, delta",
           "_chosen(statistics, *measure, delta"),
    Mutant("stakes-know-the-future", "dpaudit/betting.py", "audit_betting",
           "laid = self._log_laid(stretch.before, point)",
           "laid = self._log_laid(stretch.rounds, point)"),
    Mutant("bets-counted-twice", "dpaudit/betting.py", "audit_betting",
           "self._before, self.now, self._point = suggested, Tally(), point",
           "self._before, self._point = suggested, point"),
    Mutant("normal-noise-moves-less", "dpaudit/betting.py", "audit_betting",
           "return gaussian_delta(np.exp(high), epsilon=0.0)",
           "return gaussian_delta(0.9 * np.exp(high), epsilon=0.0)"),
    Mutant("point-of-the-claim-forgotten", "dpaudit/betting.py", "audit_betting",
           "self._log_factor(stretch, points[stretch.point])",
           "self._log_factor(stretch, points[-1])"),
    Mutant("wrong-guess-costs-nothing", "dpaudit/betting.py", "audit_betting",
           "logs + tally.wrong * _LOG_KEPT if tally.wrong else logs",
           "logs"),
    Mutant("instruments-share-no-level", "dpaudit/examine.py", "audit_multiplicity",
           "confidence=shared(half, len(tried) + 1)",
           "confidence=half"),
    Mutant("bets-take-the-scans-half", "dpaudit/examine.py", "audit_multiplicity",
           "half = shared(settings.confidence, 2)",
           "half = settings.confidence"),
    Mutant("anew-from-nothing", "dpaudit/betting.py", "audit_betting",
           "self._reserve -= self._share",
           "self._reserve -= 0 * self._share"),
    Mutant("coin-before-its-pair", "dpaudit/monitor.py", "audit_hunt",
           "if (more := count - len(self._tossed)) > 0:",
           "if (more := 1 + count - len(self._tossed)) > 0:"),
    Mutant("rules-judged-where-learned", "dpaudit/rules.py", "audit_betting",
           "for learned, judged in (halves, halves[::-1]):",
           "for learned, judged in zip(halves, halves, strict=True):"),
    Mutant("outputs-remember-themselves", "dpaudit/rules.py", "audit_hunt",
           "values = np.sign(balance(first) - 1), np.sign(balance(second) + 1)",
           "values = np.sign(balance(first)), np.sign(balance(second))"),
    Mutant("promises-judged-where-chosen", "dpaudit/signs.py", "audit_hunt",
           "for chosen, measured in (halves, halves[::-1]):",
           "for chosen, measured in zip(halves, halves, strict=True):"),
    Mutant("time-is-no-limit", "dpaudit/scout.py", "audit_hunt",
           "return min(by_number, max(self._end - now, 0.0) / max(pace, 1e-9))",
           "return by_number"),
    Mutant("scan-without-a-split-level", "dpaudit/repeats.py", "audit_scan",
           "r = ((1 - confidence) / candidates) ** (1 / (2 * runs))",
           "r = (1 - confidence) ** (1 / (2 * runs))"),
    Mutant("scan-confirms-nothing", "dpaudit/repeats.py", "audit_scan",
           "same = agree(expected, there)",
           "same = agree(expected, expected)"),
    Mutant("round-the-doors", "dpnb/replay/questions.py", "audit",
           "    if not opened:",
           "    if opened is None:"),
    Mutant("replay-ignores-counts", "dpnb/replay/tape.py", "audit audit_forced",
           "log_density = 0.0 if law is None else",
           "log_density = 0.0 if law is None or question.request.mechanism == 'geometric' else"),
    Mutant("replay-takes-any-request", "dpnb/replay/tape.py", "audit",
           "if expected.request != request:",
           "if expected.request.mechanism != request.mechanism:"),
    Mutant("replaced-delta-twice", "book/private_trees/auditing/deltas.py", "audit_deltas audit_stages",
           "claimed, delta = 2 * claimed, (1 + math.exp(claimed)) * delta",
           "claimed, delta = 2 * claimed, 2 * delta"),
    Mutant("spark-batch-in-two-blocks", "dpnb/spark/blocks.py", "spark",
           "            waiting = []",
           "            waiting = waiting[-1:]", slow=True),
    Mutant("spark-keys-by-label-alone", "dpnb/spark/blocks.py", "spark",
           "keys = record_keys(named, values, labels)",
           "keys = named", slow=True),
    Mutant("spark-block-twice", "dpnb/spark/blocks.py", "spark",
           "for batch in batches for row in batch.to_pylist()]",
           "for batch in batches for row in batch.to_pylist() * 2]", slow=True),
    Mutant("votes-above-one", "dpnb/records/people.py", "people",
           "votes: Floats = np.floor(FIXED_POINT / counts) / FIXED_POINT",
           "votes: Floats = np.ceil(FIXED_POINT / counts) / FIXED_POINT"),
    Mutant("parts-rounded-up", "dpnb/records/people.py", "people",
           ".astype(np.int64) >> 28",
           ".astype(np.int64) + 2**28 - 1 >> 28"),
    Mutant("no-branch-below-one", "dpnb/trees/scores.py", "people",
           "LEAST = 1 / FIXED_POINT",
           "LEAST = 1.0"),
    Mutant("people-in-coarse-steps", "dpnb/boosting/stages.py", "people",
           'if self.data.unit == "record":',
           'if self.data.unit:'),
    Mutant("person-in-one-fine-bin", "dpnb/boosting/stages.py", "people",
           'touched = 1 if self.data.unit == "record" else max(layout.sizes)',
           "touched = 1"),
    Mutant("person-in-one-cell", "dpnb/boosting/stages.py", "people",
           'len(layout.blocks) if self.data.unit == "record" else layout.total',
           "len(layout.blocks)"),
    Mutant("filter-counts-votes", "dpnb/records/memory.py", "people",
           "pays = self._spent + self._each <= total",
           "pays = self._spent + self.weights <= total"),
    Mutant("nobody-has-a-vote", "dpnb/domain/people.py", "people",
           "known = np.array(column.notna(), bool)",
           "known = np.ones(len(column), bool)"),
    Mutant("record-by-record-keys", "dpnb/records/memory.py", "people",
           "self.keys = label_keys(people.names)[people.person]",
           "self.keys = numbered(label_keys(people.names)[people.person])"),
    Mutant("records-and-people-add-up", "dpnb/privacy/ledger.py", "people",
           "if unit != self._ledger.unit:",
           "if unit != unit:"),
)
RESULTS = (
    Mutant("gini-sign", "dpnb/trees/scores.py", "edprf scores",
           "return _total(counts**2) / np.maximum(total, LEAST) - total",
           "return total - _total(counts**2) / np.maximum(total, LEAST)"),
    Mutant("threshold-tie", "dpnb/records/splits.py", "trees counts",
           "binary = values > cut",
           "binary = values >= cut"),
    Mutant("first-of-equals-is-the-last", "dpnb/papers/pearson.py", "pearson claims_pearson",
           "best = tied[np.diff(group[tied], prepend=-1) > 0]",
           "best = tied[np.diff(group[tied], append=len(at_value)) > 0]"),
    Mutant("log-odds-sign", "dpnb/papers/stumps.py", "dpada",
           "return 0.5 * math.log((1 - error) / error)",
           "return 0.5 * math.log(error / (1 - error))"),
    Mutant("right-weighs-more", "dpnb/records/memory.py", "dpada counts",
           "right, wrong = math.exp(-alpha), math.exp(alpha)",
           "right, wrong = math.exp(alpha), math.exp(-alpha)"),
    Mutant("logistic-twice-as-steep", "dpnb/boosting/booster.py", "studies_dpada booster stages",
           "return 0.5 * (1 + np.tanh(score / 2))",
           "return 0.5 * (1 + np.tanh(score))"),
    Mutant("softmax-overflows", "dpnb/records/losses.py", "counts",
           "odds = np.exp(score - score.max(axis=0))",
           "odds = np.exp(score)"),
    Mutant("negative-counts-vote", "dpnb/trees/tree.py", "trees random_trees claims",
           "positive = np.maximum(counts, 0.0)",
           "positive = np.abs(counts)"),
    Mutant("mean-by-inverse-sd", "dpnb/papers/edprf.py", "edprf claims_edprf",
           "weight = share**2 / (share**2 + stop.share**2)",
           "weight = share / (share + stop.share)"),
    Mutant("deep-levels-get-less", "dpnb/papers/edprf.py", "edprf",
           '"geometric": 2 ** (level / 3),',
           '"geometric": 2 ** (-level / 3),'),
    Mutant("causal-rule-turned-round", "dpnb/papers/dpada.py", "dpada",
           "return np.concatenate([[0], coins[1:] * (1 - coins[:-1])])",
           "return np.concatenate([[0], coins[1:] * coins[:-1]])"),
    Mutant("sweeps-do-not-shrink", "dpnb/boosting/stages.py", "stages",
           "np.linspace(1, SHRINKS_TO, plan.sweeps)",
           "np.linspace(1, 1, plan.sweeps)"),
    Mutant("bins-rounded-up", "dpnb/domain/domain.py", "domain datasets",
           "np.clip(np.floor(share * bins), 0, bins - 1)",
           "np.clip(np.ceil(share * bins), 0, bins - 1)"),
    Mutant("deviation-of-a-population", "book/private_trees/studies/runs.py", "experiments",
           '"sd": float(found.std(ddof=1)) if len(found) > 1 else 0.0,',
           '"sd": float(found.std(ddof=0)) if len(found) > 1 else 0.0,'),
    Mutant("error-without-the-root", "book/private_trees/studies/runs.py", "book_tables",
           'error=2 * points["sd"] / np.sqrt(fits))',
           'error=2 * points["sd"] / fits)'),
    Mutant("calibration-cancels", "book/private_trees/studies/scores.py", "board_scores",
           "np.mean([abs(observed[b].mean() - p[b].mean()) for b",
           "np.mean([observed[b].mean() - p[b].mean() for b"),
    Mutant("log-loss-of-another-class", "book/private_trees/studies/scores.py", "board_scores",
           "np.clip(p[np.arange(len(p)), labels], LEAST, 1 - LEAST)",
           "np.clip(p[np.arange(len(p)), labels - 1], LEAST, 1 - LEAST)"),
    Mutant("bootstrap-sign", "book/private_trees/studies/bootstrap.py", "bootstrap",
           "return math.log(_power(math.expm1(2 * rate), n)) - rate",
           "return math.log(_power(math.expm1(2 * rate), n)) + rate"),
    Mutant("losses-rounded-down", "book/private_trees/studies/bootstrap.py", "bootstrap",
           "at = np.ceil(loss / STEP - 1e-9).astype(int)",
           "at = np.floor(loss / STEP + 1e-9).astype(int)"),
    Mutant("fewer-draws-accepted", "book/private_trees/chapters/__init__.py", "notebook",
           'DRAWS = {"seed": integer(low=0), "draws": integer(low=1000)}',
           'DRAWS = {"seed": integer(low=0), "draws": integer(low=999)}'),
    Mutant("other-parameters-unsaid", "book/private_trees/site/notebook.py", "defaults",
           "        display(said)  # type: ignore[no-untyped-call]",
           "        pass"),
    Mutant("checked-by-its-own-words", "book/private_trees/site/observations.py", "observations",
           "    true = _holds(holds, data)",
           "    true = True"),
    Mutant("verdict-without-a-test", "book/private_trees/site/claims.py", "claims",
           "and not (claim.places and claim.tests):",
           "and not (claim.places or claim.tests):"),
)
READING = (
    Mutant("ledger-of-any-size", "dpnb/estimators/documents.py", "hostile_documents documents",
           "        if number > most:",
           "        if number > 1000 * most:"),
    Mutant("ledger-size-without-times", "dpnb/estimators/documents.py", "hostile_documents documents",
           "total = (total[0] + times * own[0], total[1] + times * own[1], total[2] + times * own[2])",
           "total = (total[0] + own[0], total[1] + own[1], total[2] + own[2])"),
    Mutant("scopes-of-any-depth", "dpnb/estimators/documents.py", "hostile_documents documents",
           "if depth > MOST.depth:",
           "if depth > 100 * MOST.depth:"),
    Mutant("objects-of-any-number", "dpnb/estimators/documents.py", "hostile_documents documents",
           'if text.count("[") + text.count("{") > MOST.braces:',
           'if text.count("{") > MOST.braces:'),
    Mutant("texts-taken-for-numbers", "dpnb/estimators/documents.py", "hostile_documents documents",
           "if not set(map(type, data)) <= kinds.get(dtype.kind, set()):",
           "if dtype.kind not in kinds:"),
    Mutant("ledger-does-not-add-up", "dpnb/estimators/documents.py", "documents hostile_documents",
           'not np.isclose(total.epsilon, float(document["epsilon"]), rtol=1e-9)',
           'not np.isclose(total.epsilon, float(document["epsilon"]), rtol=1)'),
    Mutant("ledger-of-nothing", "dpnb/estimators/base.py", "bad_inputs documents",
           "if not ledger.epsilon > 0:",
           "if not ledger.epsilon >= 0:"),
    Mutant("ledger-of-another-claim", "dpnb/estimators/base.py", "documents hostile_documents",
           "if claims != parameters:",
           "if claims[1:] != parameters[1:]:"),
    Mutant("name-twice", "dpnb/estimators/documents.py", "hostile_documents documents",
           "if len(found) < len(pairs):",
           "if len(found) < len(pairs) - 1:"),
    Mutant("cut-is-no-number", "dpnb/trees/tree.py", "trees",
           "fits &= ~np.isin(kind, [THRESHOLD, BINNED]) | ~np.isnan(cut).reshape(len(kind), -1).any(axis=1)",
           "fits &= known"),
    Mutant("dates-guessed", "dpnb/domain/encoding.py", "dates",
           "day = _read_date(text.strip(), form) if isinstance(text, str) else text",
           "day = _read_date(text.strip(), form) if form and isinstance(text, str) else text"),
    Mutant("dates-without-zeros", "dpnb/domain/encoding.py", "dates",
           "and moment.strftime(form) != text:",
           "and not moment:"),
    Mutant("noise-that-64-bits-do-not-hold", "dpnb/privacy/curator.py", "trouble",
           "return np.where(over, 0, centre), np.minimum(spread, most)",
           "return centre, np.minimum(spread, most)"),
    Mutant("a-fork-draws-its-parents-noise", "dpnb/privacy/curator.py", "trouble",
           "if isinstance(random_state, STREAMS) and os.getpid() != _HOME:",
           "if isinstance(random_state, STREAMS) and _HOME < 0:"),
    Mutant("unknown-is-the-last-value", "dpnb/domain/attributes.py", "domain",
           'return self.levels.index("other")',
           "return len(self.levels) - 1"),
    Mutant("bounds-of-any-kind", "dpnb/domain/domain.py", "bad_inputs domain",
           "if not isinstance(value, list) or len(value) != 2:",
           "if len(value) != 2:"),
)
SURFACE = (
    Mutant("draft-shows-a-value", "dpnb/domain/drafts.py", "commands",
           'f"  {entry}: [{places}]  # {notes[kind]}"]',
           'f"  {entry}: [{places}]  # {notes[kind]}, such as {table[column].iloc[0]}"]'),
    Mutant("commas-always-decimal", "dpnb/domain/drafts.py", "written",
           'and written.separator != ";"',
           'and written.separator == ";"'),
    Mutant("short-rows-read", "dpnb/domain/rows.py", "malformed",
           "if len(row) != len(header):",
           "if len(row) > len(header):"),
    Mutant("split-by-place", "dpnb/data/tables.py", "tables",
           "keys = label_keys(records.index)",
           "keys = label_keys(records.reset_index().index)"),
    Mutant("infinite-moved-in-silence", "dpnb/domain/encoding.py", "odd_columns",
           'beyond = rows["infinite"] | rows["outside"]',
           'beyond = rows["outside"]'),
    Mutant("copies-by-chance-told", "dpnb/domain/hints.py", "check",
           "if copies > 10 * int(pd.DataFrame(shuffle(codes, axis=0)).duplicated().sum()):",
           "if copies > 0 * int(pd.DataFrame(shuffle(codes, axis=0)).duplicated().sum()):"),
    Mutant("record-counted-within-its-part", "dpnb/release/commands.py", "commands",
           'f"record {before + stop.first + 1}"',
           'f"record {stop.first + 1}"'),
    Mutant("spent-budget-unsaid", "dpnb/release/commands.py", "terminal",
           "error.__notes__ = [whole if out.exists() else",
           "error.__notes__ = [whole if not domain.exists() else"),
    Mutant("card-of-any-document", "dpnb/release/card.py", "commands",
           "digest = hashlib.sha256(document.read_bytes()).hexdigest()",
           "digest = hashlib.sha256(document.name.encode()).hexdigest()"),
    Mutant("real-noise-without-caution", "dpnb/release/card.py", "commands",
           "for event in model.ledger_.events if event.mechanism in REAL_NOISE]",
           "for event in model.ledger_.events if event.what in REAL_NOISE]"),
    Mutant("weak-promise-without-caution", "dpnb/release/card.py", "card",
           "if 10 < ledger.epsilon < math.inf:",
           "if 100 < ledger.epsilon < math.inf:"),
    Mutant("reader-gone-is-a-failure", "dpnb/terminal.py", "audit_cli terminal",
           'return (GONE, "") if error.gone else',
           'return (failed, "") if error.gone else'),
    Mutant("replay-convicts-nobody", "dpaudit/cli.py", "audit_cli",
           "return any(found.violated for found in (self.finding, *self.others))",
           "return self.finding.violated"),
    Mutant("lost-report-is-a-pass", "dpaudit/cli.py", "audit_cli",
           "return 1 if found.violated else 2 * bool(trouble)",
           "return 1 if found.violated else 0 * bool(trouble)"),
    Mutant("pairs-of-one-seed", "dpaudit/pairs.py", "audit_pairs",
           "streams = np.random.SeedSequence(seed).spawn(len(KINDS))",
           "streams = np.random.SeedSequence(0).spawn(len(KINDS))"),
    Mutant("numbers-only-at-the-ends", "dpaudit/pairs.py", "audit_numbers",
           "return low, high, low + (high - low) / 2",
           "return low, high, high"),
    Mutant("clock-stopped-in-time-alone", "dpaudit/generators.py", "audit_channels",
           "for module in dict.fromkeys((time, os, datetime, *modules)):",
           "for module in dict.fromkeys((time, os, datetime)):"),
    Mutant("a-cut-passed-by-its-own-value", "book/_static/read-model.js", "read_model_js",
           "filter((cut) => cut < x[a]).length",
           "filter((cut) => cut <= x[a]).length"),
    Mutant("day-zero-of-january", "book/_static/read-model.js", "read_model_js",
           "return real && date > 0 ?",
           "return real && date >= 0 ?"),
    Mutant("listed-value-is-a-marker", "dpnb/domain/encoding.py", "markers",
           "marks = {_spelling(marker) for marker in markers} - {_spelling(value) for value in listed}",
           "marks = {_spelling(marker) for marker in markers}"),
    Mutant("odd-line-ends-lost", "dpnb/domain/yaml_text.py", "hostile_domains",
           "style = None if data.isprintable() else",
           "style = None if data.strip() else"),
    Mutant("rows-of-one-type", "dpnb/domain/frames.py", "frames",
           "return objects(value for row in X for value in row).reshape(len(X), -1)",
           "return np.array(X)"),
    Mutant("file-half-written", "dpnb/files.py", "files",
           'temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")',
           "temporary = path"),
    Mutant("demo-in-base-2", "dpnb/papers/baselines.py", "baselines",
           "(math.log(10) if self.demo else 1)",
           "(math.log(2) if self.demo else 1)"),
    Mutant("tie-without-records-divides", "dpnb/papers/baselines.py", "fuzz",
           "wrong / (right + wrong) if right + wrong > 0 else 0.5",
           "wrong / (right + wrong)"),
    Mutant("noise-on-the-first-alone", "dpnb/papers/dpada.py", "plain_dpada",
           'if self.reading.ties == "first":',
           'if self.reading.ties != "indep":'),
    Mutant("extremes-pass-the-mean", "dpnb/papers/dpada.py", "claims_dpada",
           "noised[tied] = np.maximum(noisy, mean) if largest else",
           "noised[tied] = noisy if largest else"),
    Mutant("first-interval-scored", "dpnb/papers/diffprfs.py", "plain_diffprfs",
           "at = candidates.locate(numeric, thresholds)",
           "at = candidates.starts[numeric]"),
    Mutant("residuals-cut-at-two-widths", "dpnb/records/losses.py", "regressor",
           "return fixed(np.clip(self._distance(score, labels), -1, 1))",
           "return fixed(np.clip(self._distance(score, labels), -2, 2))"),
)
BOOK = (
    Mutant("curve-forgets-its-delta", "book/private_trees/auditing/curves.py", "audit_curves",
           "(right_second - delta) / np.maximum(1 - right_first, 1e-300),",
           "right_second / np.maximum(1 - right_first, 1e-300),"),
    Mutant("canaries-share-one-delta", "book/private_trees/auditing/onerun.py", "audit_onerun",
           "p += alpha * 2 * canaries * delta",
           "p += alpha * 2 * delta"),
    Mutant("two-counts-by-their-rates", "book/private_trees/auditing/rebuild.py", "rebuild",
           "np.add.at(squares, event.parts, np.asarray(event.epsilon) ** 2)",
           "np.add.at(squares, event.parts, np.asarray(event.epsilon))"),
    Mutant("second-record-as-likely", "book/private_trees/auditing/rebuild.py", "rebuild",
           "gain, kind = np.log(prior[cell, label] / (before + 1)), kinds.of[cell, label]",
           "gain, kind = np.log(prior[cell, label]), kinds.of[cell, label]"),
    Mutant("number-of-records-not-booked", "book/private_trees/lineage/trees.py", "lineage",
           "return gain_sensitivity(curator.exact(n, why=N_LEAK))",
           "return gain_sensitivity(n)"),
    Mutant("diffgen-pays-for-half", "book/private_trees/lineage/trees.py", "lineage",
           "choices = int(domain.continuous.sum()) + 2 * h if ahead else h",
           "choices = int(domain.continuous.sum()) + h if ahead else h"),
    Mutant("second-step-not-weighted", "book/private_trees/lineage/two_step.py", "two_step",
           "found.append(self._laws[a] * self._weights[a] * (self._decays[a] @ (others * self._s)) * GRID)",
           "found.append(self._laws[a] * (self._decays[a] @ (others * self._s)) * GRID)"),
    Mutant("splits-taken-for-independent", "book/private_trees/board/standings.py", "standings",
           "0.0, tested / (1 - tested))",
           "0.0, 0.0 * tested)"),
    Mutant("setting-chosen-on-its-own-set", "book/private_trees/board/rivals.py", "board_peers",
           "setting = best_setting(ranks[epsilon], {dataset})",
           "setting = best_setting(ranks[epsilon], set())"),
    Mutant("ridge-forgets-its-target", "book/private_trees/board/ridge.py", "regression_board",
           "z = np.trunc(UNITS * records / math.sqrt(domain.n_attributes + 2))",
           "z = np.trunc(UNITS * records / math.sqrt(domain.n_attributes))"),
    Mutant("dependence-half-as-sensitive", "book/private_trees/standin.py", "standin",
           "DEPENDENCE_SENSITIVITY = 2.0",
           "DEPENDENCE_SENSITIVITY = 1.0"),
    Mutant("best-is-its-own-rival", "book/private_trees/studies/selection.py", "selection",
           "rivals: Floats = (candidates - 1) * np.exp(-signal)",
           "rivals: Floats = candidates * np.exp(-signal)"),
    Mutant("exposed-without-their-bags", "book/private_trees/studies/exposure.py", "exposure",
           "in_bags[rows] |= _alone(at, labels[rows], copies[rows])",
           "in_bags[rows] |= _alone(at, labels[rows], np.ones(len(rows)))"),
    Mutant("leaf-without-its-penalty", "benchmarks/peers/audit_xgboost.py", "audit_peers",
           "value = (labels.sum() - len(labels) * p) / (weight + 1) if weight >= 1 else 0.0",
           "value = (labels.sum() - len(labels) * p) / weight if weight >= 1 else 0.0"),
    Mutant("target-has-to-be-beaten", "benchmarks/page.md.jinja", "benchmarks",
           '"met" if on_adult[case] <= target',
           '"met" if on_adult[case] < target'),
    Mutant("delta-helps-no-guess", "book/private_trees/board/price.py", "pages_say",
           "return 100 * (right + delta * (1 - right)) - 50",
           "return 100 * right - 50"),
    Mutant("far-neighbours-taken", "book/private_trees/exercises/diffprfs.py", "exercises",
           "assert distance == 1, (",
           "assert distance >= 1, ("),
    Mutant("unwritten-answer-judged", "book/private_trees/exercises/answers.py", "exercises",
           "if returned[-1] is None:",
           "if returned is None:"),
    Mutant("lines-that-turn-back", "book/private_trees/site/figures.py", "drawings",
           "return bool((np.diff(x) < 0).any())",
           "return bool((np.diff(x) < 0).all())"),
    Mutant("bands-anywhere", "book/private_trees/site/figures.py", "drawings",
           "if colour in colours and not any(_inside(line, band) for line in mine):",
           "if colour in colours and not mine:"),
    Mutant("figure-changes-with-each-run", "book/private_trees/site/figures.py", "vector_figures",
           '"svg.hashsalt": "private trees"',
           '"svg.hashsalt": None'),
    Mutant("noise-bound-rounded-down", "book/_static/moving/noise.js", "moving",
           "const bound = epsilon => Math.ceil(100 * Math.exp(epsilon)) / 100;",
           "const bound = epsilon => Math.floor(100 * Math.exp(epsilon)) / 100;"),
    Mutant("figures-without-paper", "book/_static/custom.css", "site::test_figures_keep_their_paper_in_the_dark",
           '[data-theme="dark"] .bd-content div.cell_output img:not(.only-dark, .dark-light) {',
           '[data-theme="light"] .bd-content div.cell_output img:not(.only-dark, .dark-light) {'),
    Mutant("nothing-fades", "book/_static/custom.css", "site::test_what_goes_on_to_the_right_fades_there",
           "animation-timeline: scroll(self inline);",
           "animation-timeline: scroll(root inline);"),
    Mutant("filter-forgets-its-address", "book/_static/claims.js", "site::test_claims_are_filtered",
           'chosen[group] = claims.some((claim) => claim[group] === value) ? value : "";',
           'chosen[group] = "";'),
    Mutant("definition-beyond-the-screen", "book/_static/definitions.js",
           "site::test_a_definition_is_shown_whole_and_hidden_by_escape",
           "shown.style.left = `${Math.max(8, Math.min(word.left, room))}px`;",
           "shown.style.left = `${Math.max(8, word.left)}px`;"),
    Mutant("escape-hides-nothing", "book/_static/definitions.js",
           "site::test_a_definition_is_shown_whole_and_hidden_by_escape",
           'if (event.key === "Escape") hide();',
           'if (event.key === "End") hide();'),
    Mutant("folded-on-paper", "book/_static/print.js", "site::test_paper_holds_all",
           "for (const details of folded) details.open = true;",
           "for (const details of folded) details.open = false;"),
    Mutant("term-defined-at-every-use", "book/_ext/definitions.py", "around",
           "        if term in used:",
           "        if term in known and False:"),
    Mutant("unknown-parameters-pass", "book/private_trees/site/notebook.py", "notebooks",
           "if name not in rules and not _is_machinery(name, value):",
           "if name not in rules and not _is_machinery(name, value) and not name.islower():"),
)
# fmt: on
MUTANTS = (*PRIVACY, *RESULTS, *READING, *SURFACE, *BOOK)


def mutated(mutant: Mutant, text: str) -> str:
    """The file's text with the bug; raises ValueError if it does not apply."""
    found = text.count(mutant.old)
    if found != 1 or "\n" in mutant.old:
        raise ValueError(f"old occurs {found} times in {mutant.file}: expected one line that is there once")
    changed = text.replace(mutant.old, mutant.new)
    if mutant.file.endswith(".py") and ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text)):
        raise ValueError("new is the same code as old")
    return changed


def first_failure(copy: Path, test_files: Sequence[str]) -> str:
    """File and test of the first failure, empty if all pass."""
    paths = {"PYTHONPATH": f"{copy}{os.pathsep}{copy / 'book'}", "PYTHONDONTWRITEBYTECODE": "1"}
    for file in test_files:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", file]
        try:
            done = subprocess.run(
                command, cwd=copy, env=os.environ | paths, capture_output=True, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            return f"{file}::(no end after {LONGEST} s)"
        if done.returncode == 0:
            continue
        if done.returncode != 1:  # 1: tests failed; else they could not be run
            raise ValueError(f"{file} cannot be run: {done.stdout[-500:]}{done.stderr[-500:]}")
        failed = re.search(r"^(?:FAILED|ERROR) \S+?(?:::(.+?))?(?: - .*)?$", done.stdout, re.MULTILINE)
        return f"{file.partition('::')[0]}::{failed[1] if failed else '?'}"
    return ""


def run(mutant: Mutant, copy: Path) -> Outcome:
    """Write the bug into the copy, run the tests, and take it out again."""
    target, began, killer, error = copy / mutant.file, time.monotonic(), "", ""
    try:
        target.write_text(mutated(mutant, (ROOT / mutant.file).read_text()))
        killer = first_failure(copy, mutant.test_files)
    except (OSError, ValueError, SyntaxError) as why:
        error = " ".join(str(why).split())
    finally:
        if target.exists():
            shutil.copy2(
                ROOT / mutant.file, target
            )  # with its time, by which Python knows what it has compiled
    return Outcome(mutant, killer, time.monotonic() - began, error)


def outcomes(chosen: Sequence[Mutant]) -> Iterator[Outcome]:
    """All runs, in one copy of the project."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        (copy / "_build").symlink_to(
            ROOT / "_build"
        )  # the built book, whose scripts and styles come from the copy
        for mutant in chosen:
            yield run(mutant, copy)


def main() -> int:
    """Run mutants."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="show the table")
    parser.add_argument("--slow", action="store_true", help="also those that need Spark")
    parser.add_argument("--clean", action="store_true", help="run the test files without any bug")
    options = parser.parse_args()
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    if unknown := [name for name in options.names if name not in by_name]:
        parser.error(f"no mutant {', '.join(unknown)}")
    chosen = [by_name[name] for name in options.names] or [m for m in MUTANTS if options.slow or not m.slow]
    if options.list:
        print("\n".join(f"{m.name:34} {m.file:28} {m.tests}" for m in chosen))
        return 0
    if options.clean:
        files = dict.fromkeys(file for mutant in chosen for file in mutant.test_files)
        failed = [killer for file in files if (killer := first_failure(ROOT, [file]))]
        print("\n".join(failed) or f"{len(files)} test files pass")
        return bool(failed)
    found = []
    for outcome in outcomes(chosen):
        found.append(outcome)
        print(f"{outcome.mutant.name:34} {outcome}", flush=True)
    lived = [outcome for outcome in found if not outcome.killer]
    print(f"\n{len(found)} mutants, {len(found) - len(lived)} killed, {len(lived)} not:")
    print("\n".join(f"  {outcome.mutant.name:34} {outcome}" for outcome in lived))
    return bool(lived)


if __name__ == "__main__":
    sys.exit(main())
