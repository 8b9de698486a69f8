"""An audit retold, with what was tried, what was not, and how to see its finding again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpnb.replay.finding import Finding

from .examine import Examination
from .hunt import Bets, Plain
from .pairs import Pair
from .words import counted

NEVER = "what it writes into files or sends elsewhere, other data sets, other settings of the estimator"
TIME = "how long a fit takes: --time looks, on a machine that does nothing else"
SHOWN = 3  # names in a line


def spent(found: Examination) -> str:
    """What an audit tried, in a line."""
    seconds = (
        f"{found.seconds / 60:.1f} minutes"
        if found.seconds >= 100
        else counted(round(found.seconds), "second")
    )
    scans = f"scans of {counted(len(found.looked), 'pair')}" if found.looked else "no scan"
    ended = "; interrupted" if found.interrupted else ""
    if found.bets is None:
        return f"{scans}, {seconds}; no bets were needed{ended}"
    bets = found.bets
    fitted = [one for one in bets.tried if one.runs]
    line = (
        f"{len(fitted)} of {counted(len(bets.tried), 'pair')} by {bets.fits} fits, {bets.finding.trials} of them bets; "
        f"{bets.columns} numbers and texts of a fit; {scans}; {seconds}{ended}"
    )
    failed = [one for one in fitted if one.note]
    if failed:
        line += f"; {counted(len(failed), 'pair')} failed in every run, first {failed[0].pair!r}: {failed[0].note}"
    return line


def not_looked_at(found: Examination, offered: Sequence[Pair], *, timed: bool) -> list[str]:
    """What an audit did not look at, a line each."""
    tried = {one.pair for one in found.bets.tried if one.runs} if found.bets else set(found.looked)
    left = [pair.name for pair in offered if pair.name not in tried]
    lines = [f"{len(left)} of {counted(len(offered), 'pair')}, such as {_listed(left)}"] if left else []
    return [*lines, *found.skipped, *[TIME] * (not timed), NEVER]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN]))


def again(finding: Finding, bets: Bets | None, *, subject: str, pairs: str) -> str:
    """Lines of Python that show a finding once more, by fits of their own.

    Parameters
    ----------
    finding : that convicts.
    bets : that were made, if any.
    subject : ``module:factory``.
    pairs : the expression that makes the pairs of the audit.
    """
    module, _, name = subject.partition(":")
    if finding.instrument == "betting" and bets is not None:
        tools = "pairs, sights"
        body = [
            f"sides = sights({name}, tried, {finding.pair!r}, runs=500)",
            f"print([sum({_condition(bets.plain)} for fit in side) for side in sides], 'of 500 fits on each data set')",
        ]
    else:
        kind = {"generators": "generators", "library": "library_replay"}.get(finding.instrument, "scan")
        tools = f"OnDomain, pairs, {kind}"
        body = [
            f"pair = next(pair for pair in tried if pair.name == {finding.pair!r})",
            f"factory = OnDomain({name}, pair.domain)",
            f"found = {kind}(factory, pair.first, pair.second, claimed={finding.claimed}, delta={finding.delta})",
            "print(*found, sep='\\n')",
        ]
    if "own_pair" in pairs:
        tools = f"own_pair, {tools}"
    head = [f"from dpaudit import {tools}"]
    if "read_domain_file" in pairs:
        head += ["from dpnb.domain import read_domain_file"]
    if "own_domain" in pairs:
        head += ["from dpaudit.examine import own_domain"]
    head += [f"from {module} import {name.partition('.')[0]}", "", f"tried = {pairs}"]
    return "\n".join([*head, *body])


def _condition(plain: Plain) -> str:
    """Whether a fit, as its numbers and texts by name, is in an event."""
    event, seen = plain.event, f"fit.get({plain.event.statistic!r})"
    if plain.texts is not None:
        return f"{seen} in {plain.texts!r}"
    if event.relation in (">", "≤"):  # what is missing is not above
        above = f"{seen[:-1]}, float('nan')) > {event.value!r}"
        return above if event.relation == ">" else f"not {above}"
    if math.isnan(event.value):
        return f"{seen} is {'not ' * (event.relation == '≠')}None"
    return f"{seen} {'==' if event.relation == '=' else '!='} {event.value!r}"
