"""One-line bugs that tests have to notice, and a command that writes each into a copy of the project and runs them.

``python tests/mutants.py [NAME …]`` runs all mutants, or the named ones; those that need Spark run by name or with
``--slow``. ``--list`` shows the table, ``--clean`` runs the test files without any bug. It leaves with code 1 if a
mutant survives or does not apply.
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
    """A bug.

    Parameters
    ----------
    name : what goes wrong.
    file : where.
    old : a text of one line that occurs once in the file.
    new : what stands there instead.
    tests : files ``tests/test_*.py`` that ought to notice, cheapest first.
    slow : whether these take Java and minutes.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
    slow: bool = False

    @property
    def test_files(self) -> list[str]:
        return [f"tests/test_{name}.py" for name in self.tests.split()]


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


PRIVACY = (
    Mutant(
        "flip-left-out",
        "dpnb/laws.py",
        "rng, np.exp(_exponents(rate, gaps))",
        "rng, (gaps == 0).astype(float)",
        "laws samplers",
    ),
    Mutant(
        "flip-in-fixed-order",
        "dpnb/laws.py",
        "arrival = np.where(taken, rng.permutation(len(taken)), len(taken))",
        "arrival = np.where(taken, np.arange(len(taken)), len(taken))",
        "laws samplers",
    ),
    Mutant(
        "threshold-is-a-value",
        "dpnb/laws.py",
        "return Point(self.option[at], np.where(atom, low, inside))",
        "return Point(self.option[at], np.where(atom, low, self.high[at]))",
        "laws samplers diffprfs contract",
    ),
    Mutant(
        "noise-one-sided",
        "dpnb/samplers.py",
        "difference: Int64s = up - down",
        "difference: Int64s = up",
        "samplers laws",
    ),
    Mutant(
        "geometric-tail-cut",
        "dpnb/samplers.py",
        "LEAST = 745.0",
        "LEAST = 40.0",
        "samplers laws accounting ledger stages contract",
    ),
    Mutant(
        "coin-rounded",
        "dpnb/samplers.py",
        "open_yet = drawn == least",
        "open_yet = drawn < 0",
        "samplers laws",
    ),
    Mutant(
        "choice-rounded",
        "dpnb/samplers.py",
        "for group in np.flatnonzero(near | (weights[found] == 0)):",
        "for group in np.flatnonzero(weights[found] == 0):",
        "samplers laws",
    ),
    Mutant(
        "gaussian-taken-too-often",
        "dpnb/samplers.py",
        "taken = bernoulli(rng, np.exp(-far))",
        "taken = bernoulli(rng, np.exp(-far / 2))",
        "samplers laws",
    ),
    Mutant(
        "measure-follows-values",
        "dpnb/candidates.py",
        "points[cut] -= up_to_cut",
        "points[cut] -= 0 * up_to_cut",
        "counts diffprfs contract",
    ),
    Mutant(
        "choice-at-twice-the-rate",
        "dpnb/curator.py",
        "return epsilon / (event.sensitivity if monotone else 2 * event.sensitivity)",
        "return epsilon / event.sensitivity",
        "scores ledger laws edprf contract",
    ),
    Mutant(
        "flip-as-bounded-range",
        "dpnb/curator.py",
        '"permute-and-flip": 0.5,',
        '"permute-and-flip": 0.125,',
        "ledger laws contract",
    ),
    Mutant(
        "gaussian-sd-too-small",
        "dpnb/curator.py",
        "sd = _check_spread(sensitivity / unit / np.sqrt(2 * _net(event.rho)), event.rho, unit)",
        "sd = _check_spread(sensitivity / unit / np.sqrt(8 * _net(event.rho)), event.rho, unit)",
        "stages ledger laws",
    ),
    Mutant(
        "noise-in-another-unit",
        "dpnb/curator.py",
        "scale = _check_spread(sensitivity / unit / _net(event.epsilon), event.epsilon, unit)",
        "scale = _check_spread(sensitivity / _net(event.epsilon), event.epsilon, unit)",
        "dpada ledger laws",
    ),
    Mutant(
        "noise-shared-by-leaves",
        "dpnb/curator.py",
        "scale = _by_row(scale, centre)",
        "scale = _by_row(scale / max(centre.shape[:1], default=1), centre)",
        "edprf ledger laws trees contract",
    ),
    Mutant(
        "rounding-not-paid",
        "dpnb/curator.py",
        "net: Floats = np.maximum(budget - ROUNDING, budget / 2)",
        "net: Floats = np.maximum(budget, budget / 2)",
        "audit",
    ),
    Mutant(
        "choices-of-groups-not-added",
        "dpnb/curator.py",
        "if event.parts is None and len(first) > 1:",
        "if event.parts is None and len(first) < 1:",
        "ledger laws",
    ),
    Mutant(
        "event-not-booked",
        "dpnb/curator.py",
        "self.ledger.book(event)",
        'self.ledger.book(event) if event.mechanism != "geometric" else None',
        "random_trees ledger trees contract",
    ),
    Mutant(
        "key-of-16-bits",
        "dpnb/curator.py",
        "ChaCha(key=secrets.randbits(256))",
        "ChaCha(key=secrets.randbits(16))",
        "scikit",
    ),
    Mutant(
        "clone-repeats-its-noise",
        "dpnb/estimators.py",
        "twin.random_state = spawned(self.random_state)",
        "twin.random_state = spawned(None) or twin.random_state",
        "scikit contract",
    ),
    Mutant(
        "pickle-repeats-its-noise",
        "dpnb/estimators.py",
        'return {**state, "random_state": None} if goes_on or self.__sklearn_is_fitted__() else state',
        'return {**state, "random_state": None} if self.__sklearn_is_fitted__() else state',
        "scikit documents contract",
    ),
    Mutant(
        "pickle-holds-the-seed",
        "dpnb/estimators.py",
        'return {**state, "random_state": None} if goes_on or self.__sklearn_is_fitted__() else state',
        'return {**state, "random_state": None} if goes_on else state',
        "documents scikit contract",
    ),
    Mutant(
        "seed-printed",
        "dpnb/estimators.py",
        'return parameters | {"random_state": None} if self._is_printed() else parameters',
        "return parameters",
        "scikit documents contract",
    ),
    Mutant(
        "seed-in-document",
        "dpnb/estimators.py",
        'secret = ("random_state", "domain")',
        'secret = ("domain",)',
        "documents contract",
    ),
    Mutant(
        "counts-with-continuous-noise",
        "dpnb/growth.py",
        'mechanism = {"geometric": curator.geometric, "laplace": curator.laplace}[noise]',
        'mechanism = {"geometric": curator.laplace, "laplace": curator.laplace}[noise]',
        "trees edprf contract",
    ),
    Mutant(
        "empty-leaves-without-noise",
        "dpnb/growth.py",
        "    if not len(nodes):",
        "    if not counts.any():",
        "edprf trees diffprfs random_trees contract one_record",
    ),
    Mutant(
        "zero-counts-left-out",
        "dpnb/growth.py",
        "return noisy.astype(float)",
        "return np.where(counts > 0, noisy, 0).astype(float)",
        "random_trees trees edprf diffprfs contract one_record",
    ),
    Mutant(
        "sum-is-a-maximum",
        "dpnb/ledger.py",
        "return Cost(math.fsum(c.epsilon for c in costs), math.fsum(c.rho for c in costs))",
        "return Cost(max((c.epsilon for c in costs), default=0.0), math.fsum(c.rho for c in costs))",
        "ledger",
    ),
    Mutant(
        "rho-is-a-maximum",
        "dpnb/ledger.py",
        "return Cost(math.fsum(c.epsilon for c in costs), math.fsum(c.rho for c in costs))",
        "return Cost(math.fsum(c.epsilon for c in costs), max((c.rho for c in costs), default=0.0))",
        "ledger",
    ),
    Mutant(
        "path-is-a-maximum",
        "dpnb/ledger.py",
        "epsilon[level] += epsilon[parents]",
        "epsilon[level] = np.maximum(epsilon[level], epsilon[parents])",
        "ledger trees",
    ),
    Mutant(
        "cover-counts-one-tree",
        "dpnb/ledger.py",
        'f"each record in {each}", partial(_dearest, each)',
        'f"each record in {each}", partial(_dearest, 1)',
        "ledger bags edprf",
    ),
    Mutant(
        "replacement-costs-once",
        "dpnb/ledger.py",
        'return self.root.cost.epsilon * (2 if self.neighbours == "replace" else 1)',
        "return self.root.cost.epsilon",
        "ledger",
    ),
    Mutant(
        "replacement-doubles-rho",
        "dpnb/ledger.py",
        'return self.root.cost.rho * (4 if self.neighbours == "replace" else 1)',
        'return self.root.cost.rho * (2 if self.neighbours == "replace" else 1)',
        "ledger",
    ),
    Mutant(
        "replacement-at-full-budget",
        "dpnb/estimators.py",
        'return float(self.epsilon) / (2 if self.neighbours == "replace" else 1)',
        "return float(self.epsilon)",
        "edprf random_trees contract",
    ),
    Mutant(
        "plan-named-late",
        "dpnb/ledger.py",
        "chosen_in_time = covers(shared(self.plans), _steps(head))",
        "chosen_in_time = len(head) <= len(self.children)",
        "plans ledger accounting",
    ),
    Mutant(
        "plan-booked-by-outputs",
        "dpnb/ledger.py",
        "return _booked(Cost(epsilon, rho), super().cost)",
        "return super().cost",
        "ledger plans accounting stages",
    ),
    Mutant(
        "path-booked-by-outputs",
        "dpnb/ledger.py",
        "return _booked(self.most, Cost(float(epsilon.max()), float(rho.max())))",
        "return Cost(float(epsilon.max()), float(rho.max()))",
        "ledger trees edprf diffprfs",
    ),
    Mutant(
        "filter-hides-a-leak",
        "dpnb/ledger.py",
        "total.epsilon if math.isinf(total.epsilon) else min(total.epsilon, cap.epsilon),",
        "min(total.epsilon, cap.epsilon),",
        "ledger dpada",
    ),
    Mutant(
        "flip-as-selection",
        "dpnb/ledger.py",
        'BOUNDED_RANGE = ("exponential", "interval exponential")',
        'BOUNDED_RANGE = ("exponential", "interval exponential", "permute-and-flip")',
        "accounting ledger",
    ),
    Mutant(
        "budget-not-reserved",
        "dpnb/ledger.py",
        "scope = Scope(what, SEQUENTIAL, partial(_stated, stated))",
        "scope = Scope(what, SEQUENTIAL, _sum)",
        "budget",
    ),
    Mutant(
        "budget-checked-before-the-fit",
        "dpnb/ledger.py",
        "if after.epsilon > most:",
        "if spent.epsilon > most:",
        "budget",
    ),
    Mutant(
        "strict-costs-nothing",
        "dpnb/estimators.py",
        "if self.strict or any(getattr(self, name) in values",
        "if any(getattr(self, name) in values",
        "budget",
    ),
    Mutant(
        "conversion-by-the-order",
        "dpnb/accounting.py",
        "- math.log(delta * order) / excess",
        "- math.log(delta * order) / order",
        "accounting ledger",
    ),
    Mutant(
        "gaussians-do-not-add",
        "dpnb/accounting.py",
        "shift = math.hypot(shift, run.size)",
        "shift = max(shift, run.size)",
        "accounting",
    ),
    Mutant(
        "choice-not-the-worst",
        "dpnb/accounting.py",
        "values = np.max([each.at(nodes) for each in found], axis=0)",
        "values = np.mean([each.at(nodes) for each in found], axis=0)",
        "accounting plans",
    ),
    Mutant(
        "lattice-cost-one-side",
        "dpnb/accounting.py",
        "return (1 + math.exp(epsilon)) * distance * (1 + 1e-12)",
        "return distance * (1 + 1e-12)",
        "accounting",
    ),
    Mutant(
        "ratio-unfair",
        "dpnb/accounting.py",
        "likely = 1 / (1 + math.exp(-half))",
        "likely = 1 / (1 + math.exp(half))",
        "accounting",
    ),
    Mutant(
        "larger-step-is-covered",
        "dpnb/accounting.py",
        "elif place.kind == step.kind and step.size <= place.size:",
        "elif place.kind == step.kind:",
        "accounting plans ledger",
    ),
    Mutant(
        "replacement-of-steps-once",
        "dpnb/accounting.py",
        "return step._replace(size=2 * step.size, entries=2 * step.entries)",
        "return step._replace(entries=2 * step.entries)",
        "accounting ledger",
    ),
    Mutant(
        "poisson-bag-costs-one-copy",
        "dpnb/bags.py",
        "return Cost(_expm1(copy.epsilon), math.inf if copy.rho else 0.0)",
        "return Cost(copy.epsilon, math.inf if copy.rho else 0.0)",
        "bags",
    ),
    Mutant(
        "poisson-trees-in-parallel",
        "dpnb/bags.py",
        "return ledger.sequential(what)",
        "return ledger.parallel(what)",
        "random_trees bags diffprfs",
    ),
    Mutant(
        "record-in-two-trees",
        "dpnb/bags.py",
        "home = np.floor(uniforms(keys, seed=seed, stream=0) * self.n_trees)",
        "home = np.floor(uniforms(keys, seed=seed, stream=tree) * self.n_trees)",
        "bags",
    ),
    Mutant(
        "cover-of-one-tree-more",
        "dpnb/bags.py",
        "return (smaller < self.rate).astype(np.int64)",
        "return (smaller <= self.rate).astype(np.int64)",
        "bags",
    ),
    Mutant(
        "bags-are-public",
        "dpnb/bags.py",
        "_mix(np.array([seed], np.uint64) + np.uint64(stream)",
        "_mix(np.array([0], np.uint64) + np.uint64(stream)",
        "bags",
    ),
    Mutant(
        "half-a-letter-raises",
        "dpnb/bags.py",
        "if isinstance(label, str) and _is_unicode(str.__str__(label)):",
        "if isinstance(label, str):",
        "bags one_record",
    ),
    Mutant(
        "classes-read-off-records",
        "dpnb/counts.py",
        "self._classes = records.domain.n_classes",
        "self._classes = len(np.unique(records._y))",
        "counts trees bags contract one_record",
    ),
    Mutant(
        "codes-by-type-of-labels",
        "dpnb/estimators.py",
        'numbers = isinstance(y, np.ndarray) and y.dtype.kind in "biufc"',
        'numbers = np.asarray(y).dtype.kind in "biufc"',
        "scikit one_record",
    ),
    Mutant(
        "misfits-raise",
        "dpnb/estimators.py",
        "strict=self.strict or not given, by_content=given)",
        "strict=True, by_content=given)",
        "moves one_record",
    ),
    Mutant(
        "clip-left-out",
        "dpnb/domain/encoding.py",
        "return np.where(np.isnan(numbers), attribute.stand_in, np.clip(numbers, attribute.low, attribute.high))",
        "return np.where(np.isnan(numbers), attribute.stand_in, numbers)",
        "moves domain one_record",
    ),
    Mutant(
        "column-type-decides",
        "dpnb/domain/encoding.py",
        'plain = column.dtype != object or infer_dtype(column.to_numpy()) in ("string", "integer", "boolean")',
        "plain = len(column) > 0",
        "moves domain one_record",
    ),
    Mutant(
        "residual-not-clipped",
        "dpnb/counts.py",
        "return fixed(own / np.maximum(long, 1.0))",
        "return fixed(own)",
        "counts audit_stages",
    ),
    Mutant(
        "weight-not-clipped",
        "dpnb/counts.py",
        "return fixed(np.exp(-np.maximum(margin, 0.0)))",
        "return fixed(np.exp(-margin))",
        "dpada counts booster",
    ),
    Mutant(
        "softmax-reach-halved",
        "dpnb/counts.py",
        "self.absolute = 2 + n_classes / FIXED_POINT",
        "self.absolute = 1 + n_classes / FIXED_POINT",
        "stages booster",
    ),
    Mutant(
        "filter-one-round-late",
        "dpnb/counts.py",
        "pays = self._spent + self.weights <= total",
        "pays = self._spent <= total",
        "dpada counts",
    ),
    Mutant(
        "phi-range-halved",
        "dpnb/scores.py",
        "PHI_RANGE = 0.5 + 1 / math.sqrt(3)",
        "PHI_RANGE = 0.5",
        "scores",
    ),
    Mutant(
        "replacement-range-once",
        "dpnb/scores.py",
        "return 2 * once if uncovered else min(2 * once, 2 * self.sensitivity)",
        "return once",
        "scores",
    ),
    Mutant(
        "utility-sensitivity-halved",
        "dpnb/papers/diffprfs.py",
        '"sensitivity": self.score.sensitivity if unit',
        '"sensitivity": self.score.sensitivity / 2 if unit',
        "claims diffprfs contract",
    ),
    Mutant(
        "stop-not-paid",
        "dpnb/papers/edprf.py",
        "left = (shares[level:].sum() if forest.align else share) - stop.share",
        "left = shares[level:].sum() if forest.align else share",
        "edprf",
    ),
    Mutant(
        "split-sensitivity-halved",
        "dpnb/papers/edprf.py",
        "sensitivity=SPLIT_SENSITIVITY,",
        "sensitivity=SPLIT_SENSITIVITY / 2,",
        "edprf contract",
    ),
    Mutant(
        "blocks-shift-one-shard",
        "dpnb/papers/pearson.py",
        'one_shard = options.shards == "record" or options.n_shards == 1',
        "one_shard = options.n_shards > 0",
        "pearson",
    ),
    Mutant(
        "alpha-sensitivity-halved",
        "dpnb/papers/dpada.py",
        'how: dict[str, Any] = {"sensitivity": 1.0, "unit"',
        'how: dict[str, Any] = {"sensitivity": 0.5, "unit"',
        "dpada contract",
    ),
    Mutant(
        "stump-sensitivity-halved",
        "dpnb/rounds.py",
        '"sensitivity": 1.0, "monotone": True',
        '"sensitivity": 0.5, "monotone": True',
        "dpada contract",
    ),
    Mutant(
        "booster-stump-halved",
        "dpnb/stages.py",
        "sensitivity=0.5,",
        "sensitivity=0.25,",
        "stages booster contract",
    ),
    Mutant(
        "pair-sensitivity-halved",
        "dpnb/stages.py",
        "half = self.loss.absolute / 2",
        "half = self.loss.absolute / 4",
        "stages",
    ),
    Mutant(
        "fine-attribute-falls-too-little",
        "dpnb/stages.py",
        "down = up + self.loss.square / 4",
        "down = up",
        "stages",
    ),
    Mutant(
        "budget-spent-by-half",
        "dpnb/stages.py",
        "self.left -= part",
        "self.left -= part / 2",
        "stages booster",
    ),
    Mutant(
        "losers-of-tuning-told",
        "dpnb/book/tuning.py",
        'warnings.simplefilter("ignore", FewRecordsWarning)',
        'warnings.simplefilter("always", FewRecordsWarning)',
        "tuning",
    ),
    Mutant(
        "interval-level-doubled",
        "dpnb/audit/bounds.py",
        "betaincinv(np.maximum(k, 1), trials - k + 1, alpha / 2)",
        "betaincinv(np.maximum(k, 1), trials - k + 1, alpha)",
        "attack",
    ),
    Mutant(
        "bounds-share-no-level",
        "dpnb/audit/bounds.py",
        "p_low, p_high = clopper_pearson(first, runs[0], alpha=(1 - confidence) / 2)",
        "p_low, p_high = clopper_pearson(first, runs[0], alpha=1 - confidence)",
        "attack",
    ),
    Mutant(
        "event-chosen-where-measured",
        "dpnb/audit/bounds.py",
        "event, statistic = _chosen(statistics, *choose, confidence=level, delta=delta)",
        "event, statistic = _chosen(statistics, *measure, confidence=level, delta=delta)",
        "attack audit_stages",
    ),
    Mutant(
        "stakes-know-the-future",
        "dpnb/audit/betting.py",
        "laid = self._log_laid(suggested, epsilon)",
        "laid = self._log_laid(rounds, epsilon)",
        "audit_betting",
    ),
    Mutant(
        "bets-counted-twice",
        "dpnb/audit/betting.py",
        "self._before, self.now = suggested, Tally()",
        "self._before = suggested",
        "audit_betting",
    ),
    Mutant(
        "wrong-guess-costs-nothing",
        "dpnb/audit/betting.py",
        "logs + tally.wrong * _LOG_KEPT if tally.wrong else logs",
        "logs",
        "audit_betting",
    ),
    Mutant(
        "instruments-share-no-level",
        "dpnb/audit/assertion.py",
        "plan = replace(plan, confidence=shared(plan.confidence, len(looks) + 2))",
        "plan = replace(plan, confidence=shared(plan.confidence, 1))",
        "audit_many",
    ),
    Mutant(
        "scan-without-a-split-level",
        "dpnb/audit/constant.py",
        "r = ((1 - confidence) / candidates) ** (1 / (2 * runs))",
        "r = (1 - confidence) ** (1 / (2 * runs))",
        "audit_scan",
    ),
    Mutant(
        "scan-confirms-nothing",
        "dpnb/audit/constant.py",
        "same = agree(expected, there)",
        "same = agree(expected, expected)",
        "audit_scan",
    ),
    Mutant(
        "replay-ignores-counts",
        "dpnb/audit/replay.py",
        "self._note(request, outcome, float(np.sum(law.log_density(outcome))))",
        'self._note(request, outcome, float(np.sum(law.log_density(outcome))) * (event.mechanism != "geometric"))',
        "audit audit_steer",
    ),
    Mutant(
        "replay-takes-any-request",
        "dpnb/audit/replay.py",
        "if expected.request != request:",
        "if expected.request.mechanism != request.mechanism:",
        "audit",
    ),
    Mutant(
        "replaced-delta-twice",
        "dpnb/audit/deltas.py",
        "claimed, delta = 2 * claimed, (1 + math.exp(claimed)) * delta",
        "claimed, delta = 2 * claimed, 2 * delta",
        "audit_deltas audit_stages",
    ),
    Mutant(
        "spark-batch-in-two-blocks",
        "dpnb/spark/blocks.py",
        "            waiting = []",
        "            waiting = waiting[-1:]",
        "spark",
        slow=True,
    ),
    Mutant(
        "spark-keys-by-label-alone",
        "dpnb/spark/blocks.py",
        "keys = record_keys(named, values, labels) if len(named) and not misfits else named",
        "keys = named",
        "spark",
        slow=True,
    ),
    Mutant(
        "spark-block-twice",
        "dpnb/spark/blocks.py",
        "for batch in batches for row in batch.to_pylist()]",
        "for batch in batches for row in batch.to_pylist() * 2]",
        "spark",
        slow=True,
    ),
)
RESULTS = (
    Mutant(
        "gini-sign",
        "dpnb/scores.py",
        "return _total(counts**2) / np.maximum(total, 1.0) - total",
        "return total - _total(counts**2) / np.maximum(total, 1.0)",
        "edprf scores",
    ),
    Mutant(
        "threshold-tie", "dpnb/splits.py", "binary = values > cut", "binary = values >= cut", "trees counts"
    ),
    Mutant(
        "first-of-equals-is-the-last",
        "dpnb/papers/pearson.py",
        "best = tied[np.diff(group[tied], prepend=-1) > 0]",
        "best = tied[np.diff(group[tied], append=len(at_value)) > 0]",
        "pearson claims_pearson",
    ),
    Mutant(
        "log-odds-sign",
        "dpnb/rounds.py",
        "return 0.5 * math.log((1 - error) / error)",
        "return 0.5 * math.log(error / (1 - error))",
        "dpada",
    ),
    Mutant(
        "right-weighs-more",
        "dpnb/counts.py",
        "right, wrong = math.exp(-alpha), math.exp(alpha)",
        "right, wrong = math.exp(alpha), math.exp(-alpha)",
        "dpada counts",
    ),
    Mutant(
        "logistic-twice-as-steep",
        "dpnb/booster.py",
        "return 0.5 * (1 + np.tanh(score / 2))",
        "return 0.5 * (1 + np.tanh(score))",
        "studies_dpada booster stages",
    ),
    Mutant(
        "softmax-overflows",
        "dpnb/counts.py",
        "odds = np.exp(score - score.max(axis=0))",
        "odds = np.exp(score)",
        "counts",
    ),
    Mutant(
        "negative-counts-vote",
        "dpnb/trees.py",
        "positive = np.maximum(counts, 0.0)",
        "positive = np.abs(counts)",
        "trees random_trees claims",
    ),
    Mutant(
        "mean-by-inverse-sd",
        "dpnb/papers/edprf.py",
        "weight = share**2 / (share**2 + stop.share**2)",
        "weight = share / (share + stop.share)",
        "edprf claims_edprf",
    ),
    Mutant(
        "deep-levels-get-less",
        "dpnb/papers/edprf.py",
        '"geometric": 2 ** (level / 3),',
        '"geometric": 2 ** (-level / 3),',
        "edprf",
    ),
    Mutant(
        "causal-rule-turned-round",
        "dpnb/papers/dpada.py",
        "return np.concatenate([[0], coins[1:] * (1 - coins[:-1])])",
        "return np.concatenate([[0], coins[1:] * coins[:-1]])",
        "dpada",
    ),
    Mutant(
        "sweeps-do-not-shrink",
        "dpnb/stages.py",
        "np.linspace(1, SHRINKS_TO, plan.sweeps)",
        "np.linspace(1, 1, plan.sweeps)",
        "experiments",
    ),
    Mutant(
        "bins-rounded-up",
        "dpnb/domain/domain.py",
        "np.clip(np.floor(share * bins), 0, bins - 1)",
        "np.clip(np.ceil(share * bins), 0, bins - 1)",
        "domain datasets",
    ),
    Mutant(
        "deviation-of-a-population",
        "dpnb/book/runs.py",
        '"sd": float(found.std(ddof=1)) if len(found) > 1 else 0.0,',
        '"sd": float(found.std(ddof=0)) if len(found) > 1 else 0.0,',
        "experiments",
    ),
    Mutant(
        "error-without-the-root",
        "dpnb/book/runs.py",
        'error=2 * points["sd"] / np.sqrt(fits))',
        'error=2 * points["sd"] / fits)',
        "book_tables",
    ),
    Mutant(
        "calibration-cancels",
        "dpnb/book/scores.py",
        "np.mean([abs(observed[b].mean() - p[b].mean()) for b",
        "np.mean([observed[b].mean() - p[b].mean() for b",
        "board_scores",
    ),
    Mutant(
        "log-loss-of-another-class",
        "dpnb/book/scores.py",
        "np.clip(p[np.arange(len(p)), labels], LEAST, 1 - LEAST)",
        "np.clip(p[np.arange(len(p)), labels - 1], LEAST, 1 - LEAST)",
        "board_scores",
    ),
    Mutant(
        "bootstrap-sign",
        "dpnb/book/bootstrap.py",
        "return math.log(_power(math.expm1(2 * rate), n)) - rate",
        "return math.log(_power(math.expm1(2 * rate), n)) + rate",
        "bootstrap",
    ),
    Mutant(
        "losses-rounded-down",
        "dpnb/book/bootstrap.py",
        "at = np.ceil(loss / STEP - 1e-9).astype(int)",
        "at = np.floor(loss / STEP + 1e-9).astype(int)",
        "bootstrap",
    ),
    Mutant(
        "verdict-without-a-test",
        "dpnb/book/claims.py",
        "and not (claim.places and claim.tests):",
        "and not (claim.places or claim.tests):",
        "claims",
    ),
)
READING = (
    Mutant(
        "ledger-of-any-size",
        "dpnb/documents.py",
        "        if number > most:",
        "        if number > 1000 * most:",
        "hostile_documents documents",
    ),
    Mutant(
        "ledger-size-without-times",
        "dpnb/documents.py",
        "total = (total[0] + times * own[0], total[1] + times * own[1], total[2] + times * own[2])",
        "total = (total[0] + own[0], total[1] + own[1], total[2] + own[2])",
        "hostile_documents documents",
    ),
    Mutant(
        "scopes-of-any-depth",
        "dpnb/documents.py",
        "if depth > MOST_DEPTH:",
        "if depth > 100 * MOST_DEPTH:",
        "hostile_documents documents",
    ),
    Mutant(
        "objects-of-any-number",
        "dpnb/documents.py",
        'if text.count("[") + text.count("{") > MOST_BRACES:',
        'if text.count("{") > MOST_BRACES:',
        "hostile_documents documents",
    ),
    Mutant(
        "texts-taken-for-numbers",
        "dpnb/documents.py",
        "if not set(map(type, data)) <= kinds.get(dtype.kind, set()):",
        "if dtype.kind not in kinds:",
        "hostile_documents documents",
    ),
    Mutant(
        "ledger-does-not-add-up",
        "dpnb/documents.py",
        'not np.isclose(total.epsilon, float(document["epsilon"]), rtol=1e-9)',
        'not np.isclose(total.epsilon, float(document["epsilon"]), rtol=1)',
        "documents hostile_documents",
    ),
    Mutant(
        "ledger-of-nothing",
        "dpnb/estimators.py",
        "if not ledger.epsilon > 0:",
        "if not ledger.epsilon >= 0:",
        "documents hostile_documents",
    ),
    Mutant(
        "ledger-of-another-claim",
        "dpnb/estimators.py",
        "if claims != parameters:",
        "if claims[1:] != parameters[1:]:",
        "documents hostile_documents",
    ),
    Mutant(
        "name-twice",
        "dpnb/documents.py",
        "if len(found) < len(pairs):",
        "if len(found) < len(pairs) - 1:",
        "hostile_documents documents",
    ),
    Mutant(
        "cut-is-no-number",
        "dpnb/trees.py",
        "fits &= ~np.isin(kind, [THRESHOLD, BINNED]) | ~np.isnan(cut).reshape(n, -1).any(axis=1)",
        "fits &= known",
        "trees",
    ),
    Mutant(
        "dates-guessed",
        "dpnb/domain/encoding.py",
        "value = _read_date(value.strip(), form)",
        "value = _read_date(value.strip(), form) if form else value.strip()",
        "dates",
    ),
    Mutant(
        "dates-without-zeros",
        "dpnb/domain/encoding.py",
        "if _RUN.search(form) and moment.strftime(form) != text:",
        "if not moment:",
        "dates",
    ),
    Mutant(
        "unknown-is-the-last-value",
        "dpnb/domain/attributes.py",
        "return self.levels.index(OTHER) if self.unknown == OTHER else 0",
        "return len(self.levels) - 1 if self.unknown == OTHER else 0",
        "domain",
    ),
    Mutant(
        "bounds-of-any-kind",
        "dpnb/domain/domain.py",
        "if not isinstance(value, list) or len(value) != 2:",
        "if len(value) != 2:",
        "domain hostile_domains",
    ),
)
MUTANTS = (
    *PRIVACY,
    *RESULTS,
    *READING,
)


def mutated(mutant: Mutant, text: str) -> str:
    """The file's text with the bug; raises ValueError if it does not apply."""
    found = text.count(mutant.old)
    if found != 1 or "\n" in mutant.old:
        raise ValueError(f"old occurs {found} times in {mutant.file}: expected one line that is there once")
    changed = text.replace(mutant.old, mutant.new)
    if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text)):
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
        return f"{file}::{failed[1] if failed else '?'}"
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
