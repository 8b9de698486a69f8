"""Replays of other people's libraries: a fit on D′ is given the outputs that their mechanisms had on D.

Every call of a primitive, such as ``randomise`` of a mechanism or a measurement, is taken down in a fit on D: what it
was given, its parameters, the line that asked, its output. A fit on D′ is given the same outputs, and then the calls of
both are compared with the laws of :mod:`dpaudit.outputs`, exactly.

What such a replay proves is about the outputs of the calls. A model is made of them, but it need not show them all: it
may keep an average of two noisy numbers, or fill in at random what it did not ask for. So each finding says in
``given`` who could tell the data sets apart: somebody who sees the output of one call, or of all, or their parameters,
or which calls were made. Such a finding is flagged, for a proof that adds up calls must not rest on what nobody checks;
whatever its size, it does not refute the claim. It does where nothing is left to assume: where every output that tells
the data sets apart stands in the fitted model as it was drawn, in three fits with other outputs, and the calls are
given the same with other random numbers between them. What is flagged only, bets can decide.

A call that costs more than the ε it was asked to keep is a defect of the line that asked, and its finding holds that ε
as the claim. A loss of all calls is only compared with a claim without δ.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from dpnb.replay.finding import Finding
from dpnb.replay.neighbours import fitted_on, sizes_of

from .channels import listening
from .contents import PICKLED, TOTALS, agree, contents, group
from .fits import AttackError, Data, brief, kept_generators, seed_globals, seeded
from .primitives import Call, loaded, priced
from .recorder import Answered, CallTape, watching
from .settings import AuditSettings, Keywords

SIGNS = (0, 1, -1)  # outputs as drawn; those that speak most for D; those that speak most for D′
SEEDS = 8  # other seeds with which calls must be given the same before a loss refutes a claim


@dataclass(frozen=True, kw_only=True)
class LibraryFinding(Finding):
    """What a replay of a library's calls shows; a loss on a condition is flagged, and refutes nothing."""

    what: str = ""  # `"calls"`, `"parameters"`, `"one call"`, `"beside"` or `"all calls"`
    calls: int = 0  # number of calls on D

    @property
    def violated(self) -> bool:
        """Whether the loss exceeds the claim, on no condition."""
        return self.flagged and not self.given


@dataclass(frozen=True)
class Sides:
    """A fit on D, and one on D′ with its outputs."""

    first: CallTape
    second: CallTape

    @property
    def loss(self) -> float:
        """Log ratio of the likelihoods of all outputs whose laws are known."""
        return sum(a.ratio(b, output) for a, b, output in self.second.partners)

    def script(self, sign: int) -> list[Answered]:
        """The calls on D, each with the output that speaks most for one side."""
        both = zip(self.first.answers, self.second.partners, strict=True)
        return [replace(one, output=a.telling(b, one.output, sign)) for one, (a, b, _) in both]


@dataclass
class Replayed:
    """Fits on both sides with several outputs, and what they show, as the fields of findings."""

    factory: Callable[[], Any]
    first: Data
    second: Data
    asked: AuditSettings
    passes: list[Sides] = field(default_factory=list)
    fits: int = 0

    def fit(self, data: Data, script: Sequence[Answered] | None = None, more: int = 0) -> CallTape:
        """The tape of a fit with the outputs of a script, and with so much more as its seed."""
        tape, seed = CallTape(script), self.asked.seed + more
        self.fits += 1
        with kept_generators(), listening():
            seed_globals(seed)
            try:
                model = seeded(self.factory(), seed)
                with watching(tape):
                    fitted_on(model, data)
            except Exception as error:
                tape.error = f"{type(error).__name__}: {brief(error)}"
                return tape
        tape.leave_out()
        tape.facts = contents(model, surface=True).facts
        return tape

    def run(self) -> bool:
        """Fit with outputs as drawn, and with those that speak most for either side; whether there was any call."""
        for sign in SIGNS:
            on_first = self.fit(self.first, self.passes[0].script(sign) if self.passes else None)
            if on_first.error and not self.passes:
                raise AttackError(f"the fit on the first data set failed with {on_first.error}")
            if on_first.error or not on_first.answers:
                break
            self.passes.append(Sides(on_first, self.fit(self.second, on_first.answers)))
            if not self.aligned:
                break
        return bool(self.passes)

    @property
    def aligned(self) -> bool:
        """Whether both sides made the same calls; if not, the fits end with those that show it."""
        return not (self.passes[-1].second.error or self.passes[-1].second.astray)

    @cached_property
    def as_drawn(self) -> bool:
        """Whether all outputs with a loss stand in the model as they were drawn, in each of three fits."""
        sides = [one.first for one in self.passes]
        if not self.aligned or len(sides) < len(SIGNS) or len({len(side.answers) for side in sides}) > 1:
            return False
        telling = [i for i, (a, b, _) in enumerate(self.passes[0].second.partners) if not a.same(b)]
        return all(_stands([side.answers[i].output for side in sides], sides) for i in telling)

    @cached_property
    def own(self) -> str:
        """The condition that other random numbers of the fit are known, if calls depend on them."""
        for more in range(1, 1 + (SEEDS if self.as_drawn else 1)):
            again = self.fit(self.first, self.passes[0].first.answers, more)
            if again.error or again.astray or not all(a.same(b) for a, b, _ in again.partners):
                return "the fit's other random numbers"
        return ""

    def given(self, condition: str) -> str:
        """A condition, with that of the fit's other random numbers."""
        return " and ".join(filter(None, [condition, self.own]))

    def findings(self) -> Iterator[dict[str, Any]]:
        """All that is found; the last one tells of all calls together, also where nothing is wrong."""
        yield from () if self.aligned else self.one_sided()
        yield from self.of_lines()
        yield from self.beside() if self.aligned else ()
        yield self.together()

    def one_sided(self) -> Iterator[dict[str, Any]]:
        """Calls that only one side makes, or an error on one side."""
        last = self.passes[-1].second
        known = [*Counter(last.astray).items()]
        if last.error:
            place = last.answers[-1].call.place if last.answers else "the beginning"
            known = [((f"the fit fails with {last.error}", place), 1)]
        lines = [f"{words} at {place}" + f", {n} times" * (n > 1) for (words, place), n in known]
        yield {
            "what": "calls",
            "lower_bound": math.inf,
            "event": f"control flow follows the data, on D′ {'; '.join(lines[:3])}",
            "place": known[0][0][1],
            "given": self.given("which calls were made"),
        }

    def of_lines(self) -> Iterator[dict[str, Any]]:
        """For each line, parameters that follow the data, else the call that costs most beyond its own ε."""
        lines: dict[str, list[tuple[Call, Call]]] = defaultdict(list)
        for sides in (
            self.passes if self.aligned else self.passes[:-1]
        ):  # else calls may stand for one another
            for a, b, _ in sides.second.partners:
                lines[a.place].append((a.under(self.asked.claimed, self.asked.delta), b))
        for pairs in lines.values():
            followed = next(((a, b) for a, b in pairs if a.differing(b)), None)
            dear = max(pairs, key=lambda pair: pair[0].excess(pair[1]))
            if followed is not None:
                yield self._followed(*followed)
            elif dear[0].excess(dear[1]) > 0:
                yield self._dear(*dear)

    def _followed(self, a: Call, b: Call) -> dict[str, Any]:
        cost = a.cost(b)
        words = [
            f"{name} is {brief(one)} on D and {brief(other)} on D′" for name, one, other in a.differing(b)
        ]
        words += [f"its output alone costs {_number(cost)} at most"] * (not math.isnan(cost))
        refutes = math.isinf(cost) and self.asked.delta == 0 and self.as_drawn
        return {
            "what": "parameters",
            "lower_bound": math.inf,
            "event": f"parameters of {a.kind} follow the data: {'; '.join(words)}",
            "place": a.place,
            "given": self.given("" if refutes else "the parameters of the calls"),
        }

    def _dear(self, a: Call, b: Call) -> dict[str, Any]:
        cost = a.cost(b)
        known = not math.isnan(cost)
        declared = f" with a sensitivity of {_number(a.sensitivity)}" * math.isfinite(a.sensitivity)
        price = f"its worst output costs {_number(cost)}" if known else "what that costs is not known"
        return {
            "what": "one call",
            "claimed": a.epsilon,
            "delta": a.delta,
            "lower_bound": cost if known else 0.0,
            "event": f"{a.kind}, which is to keep ε = {_number(a.epsilon)}{declared}, is given inputs "
            f"{_number(a.moved(b))} apart: {price}",
            "place": a.place,
            "given": self.given("the output of this call"),
        }

    def beside(self) -> Iterator[dict[str, Any]]:
        """What the models hold of the data although all outputs are the same."""
        drawn = self.passes[0]
        if any(a.meets_data for a, *_ in drawn.second.partners):
            return
        # What counts fits differs between two fits on D as well.
        mine, other, again = (
            tape.facts for tape in (drawn.first, drawn.second, self.fit(self.first, drawn.first.answers))
        )
        paths = [
            path
            for path, fact in mine.items()
            if PICKLED not in path and not path.startswith(TOTALS)
            if path in other and path in again and agree(fact, again[path]).all()
            if not agree(fact, other[path]).all()
        ]
        named = [*{group(path): path for path in paths}.values()]
        if named:
            yield {
                "what": "beside",
                "lower_bound": math.inf,
                "event": f"follows the data beside the outputs, which are the same: {', '.join(named[:3])}",
                "given": self.given("the outputs of all calls"),
            }

    def together(self) -> dict[str, Any]:
        """The loss of all calls, at three kinds of outputs."""
        pairs, answers = self.passes[0].second.partners, self.passes[0].first.answers
        words = [", ".join(f"{n} {kind}" for kind, n in Counter(one.call.kind for one in answers).items())]
        stated = sum(one.call.epsilon for one in answers)
        words += [f"their own ε are {_number(stated)} in all"] * math.isfinite(stated)
        losses = [abs(sides.loss) for sides in self.passes]
        if self.aligned and not self.asked.delta:
            words += [
                f"loss {_number(losses[0])} as drawn, {_number(max(losses))} at the worst outputs tried"
            ]
        else:
            words, losses = [*words, "losses are not added up" + " at a δ" * bool(self.asked.delta)], [0.0]
        unknown = [(a, b) for a, b, _ in pairs if a.laws(b) is None]
        words += [f"{len(unknown)} of them of unknown loss"] * bool(unknown)
        words += dict.fromkeys(text for a, b in unknown if (text := priced(a, b)))
        worst = max(pairs, key=lambda pair: abs(pair[0].ratio(pair[1], pair[2])), default=None)
        return {
            "what": "all calls",
            "lower_bound": max(losses),
            "event": "; ".join(words),
            "place": worst[0].place if worst and max(losses) else "",
            "given": self.given("" if self.as_drawn else "the outputs of all calls"),
        }


def _stands(outputs: list[Any], sides: list[CallTape]) -> bool:
    """Whether every number of a call's output is a number of the model, at one place in each of several fits."""
    try:
        wanted = np.array([np.ravel(output) for output in outputs], float).T
    except (TypeError, ValueError):  # no numbers, or not as many of them
        return False
    numbers = [
        facts
        for path in sides[0].facts
        if len(facts := [side.facts[path] for side in sides if path in side.facts]) == len(sides)
        and all(fact.dtype.kind in "biuf" and fact.shape == facts[0].shape for fact in facts)
    ]
    return all(
        len(set(each)) > 1
        and any(
            np.all([fact == x for fact, x in zip(facts, each, strict=True)], axis=0).any()
            for facts in numbers
        )
        for each in wanted.tolist()
    )


def _number(number: float) -> str:
    return "∞" if math.isinf(number) else f"{number:.4g}"


def library_replay(
    factory: Callable[[], Any], first: Data, second: Data, **settings: Unpack[Keywords]
) -> list[LibraryFinding]:
    """Replay the calls that a subject makes of a library's mechanisms on a neighbour, and compare them exactly.

    Looked for are calls that one data set alone makes; parameters, such as bounds or sizes, that follow the data; calls
    whose inputs move by more than their sensitivity, so that they cost more than their own ε; what the model holds of
    the data although all outputs are the same; and the loss of all calls together, at outputs as drawn and at those
    that speak most for either side.

    Parameters
    ----------
    factory : returns an unfitted estimator; its ``random_state`` is replaced by a seed.
    first, second : the data sets D and D′, (X, y) or (X, y, people).
    settings : settings of :class:`~dpaudit.settings.AuditSettings`; the findings are exact, whatever the confidence.

    Returns
    -------
    Findings, of which the last is about all calls together, also where nothing is wrong. There is none if no library of
    :data:`~dpaudit.primitives.LIBRARIES` is loaded, or the fit on D calls none of its mechanisms.

    Raises
    ------
    AttackError
        If the fit on D fails.
    """
    if not loaded():
        return []
    asked = AuditSettings(**settings).about(subject=type(factory()).__name__, pair=sizes_of(first, second))
    made = Replayed(factory, first, second, asked)
    found = [*made.findings()] if made.run() else []
    exact = {"instrument": "library", "confidence": 1.0, "trials": made.fits}
    calls = len(made.passes[0].first.answers) if found else 0
    return [asked.finding(LibraryFinding, calls=calls, **exact | fields) for fields in found]
