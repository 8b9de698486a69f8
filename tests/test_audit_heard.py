"""What a fit tells beside its model is heard, looked at, and goes nowhere else; time is looked at if somebody asks.

Each audit errs on a private subject with probability 1e-6 at most; with fixed seeds always or never.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dpaudit.fits as fitting
from audit_subjects_third import BY_NAME
from dpaudit import PrivacyViolation, assert_private
from dpaudit.channels import Heard, listening
from dpaudit.cli import main
from dpaudit.fits import CHANNELS, NOTED, Notes, side_by_side
from dpaudit.scan import facts_of

LOG = logging.getLogger("a.subject")


def talk(n: int) -> None:
    """Tell a number on every way out."""
    print("printed", n)
    os.write(1, b"written\n")
    sys.stdout.buffer.write(b"bytes\n")
    assert sys.__stdout__ is not None
    sys.__stdout__.write("kept stream\n")
    print("error", n, file=sys.stderr)
    os.write(2, b"raw error\n")
    subprocess.run([sys.executable, "-c", "print('a process')"], check=True)
    LOG.info("logged %d", n)
    LOG.debug("for developers")
    warnings.warn(f"warned {n}", RuntimeWarning, stacklevel=2)


def test_all_that_is_told_is_heard_and_goes_nowhere_else(capfd: pytest.CaptureFixture[str]) -> None:
    print("before")
    with listening() as heard:
        talk(7)
    print("after")
    assert {*heard.output.split("\n")} == {"printed 7", "written", "bytes", "kept stream", "a process", ""}
    assert {*heard.errors.split("\n")} == {"error 7", "raw error", ""}
    assert heard.log == "INFO a.subject: logged 7"
    assert (heard.kinds, heard.warned) == ("RuntimeWarning", "RuntimeWarning: warned 7")
    assert capfd.readouterr() == ("before\nafter\n", "")
    with listening() as silent:
        pass
    assert silent == Heard()
    with pytest.warns(RuntimeWarning):
        talk(8)  # the twin: nobody listens
    assert "printed 8" in capfd.readouterr().out


def test_loggers_and_streams_are_as_before(capfd: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = root.level, list(root.handlers), sys.stdout, sys.stderr
    with contextlib.suppress(KeyError), listening():
        talk(1)
        raise KeyError
    assert (root.level, list(root.handlers), sys.stdout, sys.stderr) == before
    assert capfd.readouterr() == ("", "")


def forked(answer: Callable[[], str]) -> Iterator[str]:
    """What a forked process hears, and what this one does meanwhile."""
    read, write = os.pipe()
    if not (child := os.fork()):
        os.write(write, answer().encode())
        os._exit(0)
    yield answer()
    os.waitpid(child, 0)
    yield os.read(read, 10_000).decode()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_processes_hear_themselves_only() -> None:
    def answer() -> str:
        told = []
        for i in range(200):
            with listening() as heard:
                print(os.getpid(), i)
            told.append(heard.output == f"{os.getpid()} {i}\n")
        return str(all(told))

    assert list(forked(answer)) == ["True", "True"]


# --- As numbers -----------------------------------------------------------------------------------------------


def test_numbers_in_a_text_have_columns_of_their_own() -> None:
    texts = ("", "", "", "", "# records in # s", "12 records in -1.5e-3 s", "", "", "", "")
    row = dict(zip(NOTED, side_by_side((np.array([0.5]), Notes(texts, 2.0)), {}).tolist(), strict=False))
    assert (row["number 1 of standard output"], row["number 2 of standard output"]) == (12.0, -0.0015)
    assert math.isnan(row["number 3 of standard output"])
    assert math.isnan(row["number 1 of the log"])
    assert row["the log"] == 0
    assert row["seconds that the fit takes"] == 2.0
    assert {name for name in row if name in CHANNELS} == {*CHANNELS}


class Prints:
    """Tells half of the number of records, and the time, which makes every text another one."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"random_state": self.random_state}

    def set_params(self, random_state: Any) -> Prints:
        self.random_state = random_state
        return self

    def fit(self, X: Any, y: Any) -> Prints:
        rng, self.random_state = np.random.default_rng(self.random_state), None
        self.say(f"fitted on {self.shown(len(X), rng)} pairs of records in {rng.random():.9f} s")
        return self

    def say(self, text: str) -> None:
        print(text)

    def shown(self, n: int, rng: np.random.Generator) -> int:
        return n // 2

    def predict(self, X: Any) -> list[int]:
        return [0] * len(X)


class Logs(Prints):
    def say(self, text: str) -> None:
        LOG.info(text)


class Complains(Prints):
    def say(self, text: str) -> None:
        print(text, file=sys.stderr)


class Noisy(Prints):
    """The honest twin: a number with two-sided geometric noise, at half of the ε that it may take."""

    def shown(self, n: int, rng: np.random.Generator) -> int:
        up, down = rng.geometric(1 - math.exp(-0.5), 2)
        return n + int(up - down)


@pytest.mark.parametrize(
    ("subject", "channel"),
    [(Prints, "standard output"), (Logs, "the log"), (Complains, "standard error")],
)
def test_numbers_that_are_told_convict(subject: type, channel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(subject, epsilon=1.0, runs=600)
    assert f"of {channel}" in caught.value.finding.event
    assert "is an output too" in caught.value.finding.why
    monkeypatch.setattr(fitting, "_told", lambda raised, heard: ("",) * 10)  # broken twin: hears nothing
    assert_private(subject, epsilon=1.0, runs=600)


def test_noise_that_is_told_passes() -> None:
    assert_private(Noisy, epsilon=1.0, runs=600)


def test_a_scan_tells_what_a_fit_prints() -> None:
    class Constant(Prints):
        def fit(self, X: Any, y: Any) -> Constant:
            print(len(X), "records")
            return self

    facts = facts_of(Constant, (np.zeros((3, 1)), [0, 1, 0]), 0)
    assert facts["the fit, standard output"].item() == "3 records\n"
    with pytest.raises(PrivacyViolation, match=r"the fit, standard output holds a text: '9 records\\n' on D"):
        assert_private(Constant, epsilon=1.0)


def test_what_a_subject_prints_does_not_stand_before_the_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("opendp.mod")  # where a library is loaded, its calls are looked for by fits as well
    assert main([f"{__name__}:Noisy", "--epsilon", "1", "--runs", "60"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith(f"{__name__}:Noisy: no violation found\n")
    assert not [line for line in (out + err).splitlines() if line.startswith("fitted on")]


# --- Time -----------------------------------------------------------------------------------------------------


def test_time_is_looked_at_if_somebody_asks() -> None:
    slow = BY_NAME["slow beyond .9"]
    how: dict[str, Any] = {"epsilon": 1.0, "runs": 400, "kinds": ["ends"]}
    assert_private(slow.factory, **how)
    with pytest.raises(PrivacyViolation, match="seconds that the fit takes"):
        assert_private(slow.factory, **how, time=True)


def test_time_says_nothing_where_nothing_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # the honest twin
    assert_private(BY_NAME["slow beyond .9"].factory, epsilon=1.0, runs=300, kinds=["ends"], time=True)


# --- What was missed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mean of the others", "counters of eight bits", "size on the screen"])
def test_what_had_no_pair_or_no_ear_is_convicted(name: str) -> None:
    subject = BY_NAME[name]
    with pytest.raises(PrivacyViolation):
        assert_private(subject.factory, epsilon=subject.claimed, runs=2_000)
