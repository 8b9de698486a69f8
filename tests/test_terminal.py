"""Every command under every terminal: encodings, closed and full streams, and signals at any moment."""

from __future__ import annotations

import codecs
import errno
import io
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpnb
from dpaudit import cli as auditing
from dpnb import terminal
from dpnb.privacy.curator import Curator
from dpnb.release import commands

NAMES = ["Łukasz", "Ζωή", "José", "李"]
DOMAIN = """\
target: default
classes: ["no", "yes"]
attributes:
- name: income
  continuous: [0, 200000]
- name: città
  categorical: ["Kraków", "Zürich"]
csv:
  ignore: [name]
"""
SUBJECTS = """
import os, sys, warnings

class Constant:
    def fit(self, X, y):
        print("on standard output"); print("on standard error", file=sys.stderr)
        warnings.warn("of few records: ε"); os.write(1, b"from compiled code")
        return self

    def predict(self, X):
        return [0] * len(X)

class Size(Constant):
    def fit(self, X, y):
        self.size = len(X)
        return super().fit(X, y)

def loud():
    Constant().fit([], [])  # what a fit of the auditor's tells is heard, and goes nowhere
    return Size()

class Gone(Constant):
    def fit(self, X, y):
        raise MemoryError
"""


def table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    income = rng.integers(0, 200_000, n)
    cities, names = rng.choice(["Kraków", "Zürich"], n), np.resize(NAMES, n)
    label = np.where(income > 90_000, "no", "yes")
    return pd.DataFrame({"income": income, "città": cities, "name": names, "default": label})


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files that commands read."""
    path = tmp_path_factory.mktemp("terminal")
    (path / "domain.yml").write_text(DOMAIN, encoding="utf-8")
    table().to_csv(path / "data.csv", index=False)
    table().replace("Kraków", "Łódź").to_csv(path / "wrong.csv", index=False)
    parts = dpnb.load(f"csv:{path / 'data.csv'}", domain=path / "domain.yml")
    model = dpnb.PrivateBooster(domain=parts.domain, epsilon=2.0, n_rounds=3, random_state=0)
    model.fit(*parts.train).release(path / "model.json")
    (path / "printing.py").write_text(SUBJECTS, encoding="utf-8")
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.fixture
def folder(prepared: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with those files alone."""
    for name, content in prepared.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("printing", None)


@pytest.fixture(scope="module", autouse=True)
def audited_once() -> Iterator[None]:
    """Equal audits are made once."""
    with pytest.MonkeyPatch.context() as patch:
        whole, known = auditing.audited, {}

        def audited(factory: Any, options: Any) -> Any:
            if options.factory not in known:
                known[options.factory] = whole(factory, options)
            return known[options.factory]

        patch.setattr(auditing, "audited", audited)
        yield


FIT = "fit data.csv --domain domain.yml --epsilon 1 --out new.json"
AUDIT = "--epsilon 1 --runs 40 --pairs structured"
BOOK = ("experiments", "standin", "site.notebook", "site.claims", "site.pages")
# What is run -> its status, what it writes, what it prints in UTF-8 or in the encoding of the stream, and whether that
# is what was asked for: a text that is not, such as the name of a file that is written, may be lost.
COMMANDS: dict[str, tuple[Callable[[], Any], int, str, str, bool]] = {
    FIT: (lambda: commands.main, 0, "new.json", "epsilon = 1 (pure)", False),
    "predict model.json data.csv": (lambda: commands.main, 0, "", "Łukasz,no", True),
    "predict model.json data.csv --out out.csv": (lambda: commands.main, 0, "out.csv", "", False),
    "card model.json --report card.html": (lambda: commands.main, 0, "card.html", "card in", False),
    "domain draft data.csv --target default": (lambda: commands.main, 0, "", "- name: città", True),
    "domain check domain.yml data.csv": (lambda: commands.main, 0, "", "all 200 records fit", True),
    "domain check domain.yml wrong.csv": (lambda: commands.main, 1, "", "", False),
    "fit --help": (lambda: commands.main, 0, "", "total budget epsilon > 0", True),
    "--version": (lambda: commands.main, 0, "", f"dpnb {dpnb.__version__}", True),
    f"printing:Constant {AUDIT}": (lambda: auditing.main, 0, "", "no violation found", True),
    f"printing:Size {AUDIT} --report r.html": (
        lambda: auditing.main,
        1,
        "r.html",
        "VIOLATED",
        True,
    ),
    f"printing:Gone {AUDIT}": (lambda: auditing.main, 2, "", "", False),
    "--pairs list": (lambda: auditing.main, 0, "", "structured", True),
    "--epsilon": (lambda: auditing.main, 2, "", "", False),
    **{
        f"{name} --help": (
            lambda name=name: main_of(name),
            0,
            "",
            f"usage: python -m private_trees.{name}",
            True,
        )
        for name in BOOK
    },
}


def main_of(name: str) -> Any:
    return import_module(f"private_trees.{name}").main


def words(name: str) -> list[str]:
    parts = name.split()
    return parts[1:] if parts[0] in BOOK else parts


class Raw(io.RawIOBase):
    """What a stream writes to."""

    def __init__(self) -> None:
        self.content = b""

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.content += bytes(content)
        return len(content)


@contextmanager
def streams(encoding: str = "utf-8", *, out: str = "", err: str = "") -> Iterator[tuple[Raw, Raw]]:
    """Standard streams as Python opens them: what they write to, or instead one that takes nothing."""
    raws = Raw(), Raw()
    with pytest.MonkeyPatch.context() as patch:
        for name, raw, fault in (("stdout", raws[0], out), ("stderr", raws[1], err)):
            stream = (
                BROKEN[fault]() if fault else io.TextIOWrapper(io.BufferedWriter(raw), encoding, "strict")
            )
            patch.setattr(sys, name, stream)
        yield raws
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()


def gone() -> Any:
    """A pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    return open(write, "w", encoding="utf-8")


BROKEN: dict[str, Callable[[], Any]] = {
    "gone": gone,
    "full": lambda: open("/dev/full", "w", encoding="utf-8"),  # noqa: SIM115
    "closed": lambda: None,
}


ENCODINGS = ("ascii", "cp1252", "latin-1", "cp437", "cp932", "utf-8", "utf-16")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_ends_as_it_should_in_every_encoding(folder: Path, name: str, encoding: str) -> None:
    command, status, file, said, _ = COMMANDS[name]
    before = {*os.listdir()}
    with streams(encoding) as (out, err):
        assert command()(words(name)) == status
    document = name.startswith(("predict", "domain draft"))
    told = out.content.decode("utf-8" if document else encoding)
    assert said in (told if document else asciified(told))
    assert {*os.listdir()} - before - {"__pycache__"} == {file} - {""}
    assert "unexpected UnicodeEncodeError" not in err.content.decode(encoding)
    if status and name.startswith("domain"):
        lost = "'Łódź'".encode(encoding, "ignore").decode(encoding) != "'Łódź'"
        assert (r"\u0141" in err.content.decode(encoding)) == lost


def asciified(text: str) -> str:
    return text.encode("ascii", "dpnb.spelt").decode()


def test_without_the_handler_a_command_breaks_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin of the test above: streams as they come."""
    monkeypatch.setattr(terminal, "_streams", nullcontext)
    with streams("cp1252"):
        assert commands.main(["fit", "--help"]) == 1
        assert commands.main(FIT.split()) == 1
    assert Path("new.json").exists()  # as before: a model that looks as if there were none


def test_characters_are_spelt_where_they_are_symbols() -> None:
    for text, spelt in {
        "ε ≥ 1.5, δ = 10 → ∞": "epsilon >= 1.5, delta = 10 -> infinity",
        "n·ε": "n*epsilon",
        "Ζωή": r"\u0396\u03c9\u03ae",
        "βέλο δένδρο": r"\u03b2\u03ad\u03bb\u03bf \u03b4\u03ad\u03bd\u03b4\u03c1\u03bf",
        "file-\udcff": r"file-\udcff",
    }.items():
        assert asciified(text) == spelt
    assert "D′ é ε".encode("cp1252", "dpnb.spelt").decode("cp1252") == "D' é epsilon"


LOST = {"gone": terminal.GONE, "full": 1, "closed": 1}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_stream_that_takes_nothing_changes_no_meaning(folder: Path, name: str, fault: str) -> None:
    """What is done is done; what was asked for and is lost is told by the status, and no violation is ever made up."""
    command, status, file, said, asked = COMMANDS[name]
    expected = status
    if asked and status == 0:
        expected = 2 if LOST[fault] == 1 and command() is auditing.main else LOST[fault]
    with streams(out=fault) as (_, err):
        assert command()(words(name)) == expected
    assert not file or Path(file).exists()
    note = err.content.decode()
    assert "Traceback" not in note or "MemoryError" in note
    if said and expected != terminal.GONE:
        assert "standard output" in note
    with suppress(FileNotFoundError):
        Path(file or "none").unlink()
    for lost in ({"err": fault}, {"out": fault, "err": fault}):
        with streams(**lost):
            assert command()(words(name)) == (status if len(lost) == 1 else expected)
        with suppress(FileNotFoundError):
            Path(file or "none").unlink()


def test_what_a_subject_prints_stands_beside_the_verdict(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = {}
    for name, wrap in (
        ("aside", auditing.aside),
        ("as before", nullcontext),
    ):  # the second is the broken twin
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(auditing, "aside", wrap)
            patch.setattr(auditing, "audited", WHOLE)
            assert auditing.main(f"printing:loud {AUDIT}".split()) == 1
        out, err = capfd.readouterr()
        shown[name] = out.startswith("printing:loud: VIOLATED")
        printed = (
            ["on standard output" in text for text in (out, err)],
            ["compiled" in text for text in (out, err)],
        )
        assert printed == (([False, True],) * 2 if name == "aside" else ([True, False],) * 2)
        assert "on standard error\n" in err
        assert (
            name != "aside" or "on standard output\non standard error\n" in err
        )  # in the order in which it came
    assert shown == {"aside": True, "as before": False}


WHOLE = auditing.audited


def test_the_card_takes_an_audit_from_any_terminal(folder: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "ascii"):
        with streams(encoding) as (out, _):
            assert auditing.main(f"printing:Constant {AUDIT}".split()) == 0
        mark = codecs.BOM_UTF16 if encoding == "utf-16" else b""  # a file has it, and a pipe has not
        Path("audit.txt").write_bytes(mark + out.content)
        assert commands.main([*["card", "model.json", "--report", "card.html", "--audit"], "audit.txt"]) == 0
        assert "printing:Constant: no violation found" in Path("card.html").read_text(encoding="utf-8")
        Path("card.html").unlink()


# --- Interrupts -----------------------------------------------------------------------------------------------------


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("where", "there", "told"),
    [
        ("_released", False, "interrupted; no model was released, so no budget is spent"),
        ("announce", True, "interrupted; new.json is written, and its budget is spent: do not fit again"),
    ],
)
def test_an_interrupted_fit_says_what_it_has_spent(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    where: str,
    there: bool,
    told: str,
) -> None:
    monkeypatch.setattr(commands, where, interrupted)
    assert commands.main(FIT.split()) == 130
    assert capsys.readouterr().err.splitlines()[-1] == told
    assert Path("new.json").exists() == there


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (ZeroDivisionError("by us"), 2)])
def test_a_fit_that_breaks_off_between_releases_says_one_thing(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
) -> None:
    settle, calls = Curator._settle, count()

    def third_fails(*some: Any) -> Any:
        if next(calls) == 2:
            raise error
        return settle(*some)

    monkeypatch.setattr(Curator, "_settle", third_fails)
    assert commands.main(FIT.split()) == status
    last = capsys.readouterr().err.splitlines()[-1]
    assert next(calls) == 3  # the twin: had nothing been drawn, the estimator would not have spoken either
    assert last.endswith("; no model was released, so no budget is spent")
    assert "counts as" not in last
    assert not Path("new.json").exists()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), MemoryError(), OSError(errno.ENOSPC, "No space left on device")]
)
def test_a_stream_that_breaks_off_leaves_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException
) -> None:
    monkeypatch.setattr(commands, "CHUNK", 50)
    predicted, parts = commands._added, iter([None, error])

    def second_fails(*some: Any, **more: Any) -> Any:
        if (end := next(parts)) is not None:
            raise end
        return predicted(*some, **more)

    monkeypatch.setattr(commands, "_added", second_fails)
    before = {*os.listdir()}
    status = {KeyboardInterrupt: 130, MemoryError: 2, OSError: 1}[type(error)]
    assert commands.main(["predict", "model.json", "data.csv", "--out", "out.csv"]) == status
    assert {*os.listdir()} == before
    assert ("Traceback" in capsys.readouterr().err) == (status == 2)


@pytest.mark.parametrize(("subject", "status"), [("Constant", 130), ("Size", 1)])
def test_a_verdict_is_told_though_the_report_is_interrupted(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    subject: str,
    status: int,
) -> None:
    from dpaudit import report

    monkeypatch.setattr(report, "write_report", interrupted)
    assert auditing.main(f"printing:{subject} {AUDIT} --report r.html".split()) == status
    out, err = capsys.readouterr()
    assert out.startswith(f"printing:{subject}: ")
    assert "there is no report" in err
    assert "Report:" not in out


def test_an_interrupt_that_compiled_code_retells_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pandas makes "Error tokenizing data" of it."""
    retold = dpnb.DataError("cannot read t.csv: Error tokenizing data"), 1, (dpnb.DataError,)
    assert terminal._end(retold[0], failed=1, known=retold[2]) == (1, str(retold[0]))
    monkeypatch.setattr(terminal, "_caught", [signal.SIGTERM])
    assert terminal._end(retold[0], failed=1, known=retold[2]) == (143, "interrupted")


@pytest.mark.parametrize("argv", [["-c"], ["pytest"], ["/usr/bin/mydpnb"], ["-m"]])
def test_nobody_elses_process_is_taken_charge_of(monkeypatch: pytest.MonkeyPatch, argv: list[str]) -> None:
    taken: list[Any] = []
    monkeypatch.setattr(terminal, "_handle", taken.append)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "theirs.dpnb"])
    terminal.begin()
    assert taken == []
    for argv, orig in (
        (["-m"], ["python", "-m", "dpaudit"]),
        (["/usr/bin/dpnb", "fit"], ["python", "dpnb"]),
    ):
        monkeypatch.setattr(sys, "argv", argv)
        monkeypatch.setattr(sys, "orig_argv", orig)
        terminal.begin()
    assert taken == [terminal._before] * 2


# --- Processes ------------------------------------------------------------------------------------------------------

PROC = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into processes in /proc")
DPNB = [sys.executable, "-c", "import sys; from dpnb.release.commands import main; sys.exit(main())"]
AUDITOR = [sys.executable, "-m", "dpaudit"]


def catches(process: int, number: int) -> bool:
    """Whether a process handles a signal, which Python by itself does not."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return bool(int(re.findall(r"SigCgt:\t(\w+)", status)[0], 16) >> (number - 1) & 1)


def signalled(line: list[str], number: int, wait: float) -> tuple[int, str, float]:
    """Status and standard error of a command that is sent a signal after some seconds, and how long it ran."""
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # tests may run under nohup
    )  # fmt: skip
    while process.poll() is None and not catches(process.pid, signal.SIGTERM):
        time.sleep(0.005)
    began = time.monotonic()
    with suppress(subprocess.TimeoutExpired):
        process.wait(wait)
    if process.poll() is None:
        os.killpg(process.pid, number)
    _, err = process.communicate()
    return process.returncode, err, time.monotonic() - began


@PROC
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_packages_load(folder: Path, number: int) -> None:
    status, err, _ = signalled([*AUDITOR, "printing:Constant", *AUDIT.split()], number, 0.05)
    assert (status, err) == (
        128 + number,
        "interrupted before it began: nothing was read, written or spent\n",
    )


LINES = {
    "fit": ([*DPNB, *FIT.split()], "new.json"),
    "predict": ([*DPNB, *["predict", "model.json", "big.csv", "--out", "out.csv"]], "out.csv"),
    "card": ([*DPNB, *["card", "model.json", "--report", "card.html"]], "card.html"),
    "draft": (
        [*DPNB, *["domain", "draft", "big.csv", "--target", "default", "--out", "draft.yml"]],
        "draft.yml",
    ),
    "audit": ([*AUDITOR, "printing:Constant", *AUDIT.split(), "--jobs", "2", "--report", "r.html"], "r.html"),
}


@pytest.mark.nightly
@PROC
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("name", LINES)
def test_a_signal_at_any_moment(folder: Path, name: str, number: int) -> None:
    """Six moments, at random between the start and the end of a run."""
    table(120_000).to_csv("big.csv", index=False)
    line, file = LINES[name]
    status, err, takes = signalled(line, number, 1000)
    assert (status, Path(file).exists()) == (0, True), err
    whole, rng = Path(file).stat().st_size, random.Random(f"{name} {number}")
    before = {*os.listdir()} - {file}
    for _ in range(6):
        Path(file).unlink(missing_ok=True)
        status, err, _ = signalled(line, number, rng.uniform(0, takes))
        assert status in (0, -number, 128 + number), err
        assert "Traceback" not in err
        if Path(file).exists():
            assert Path(file).stat().st_size > 0.9 * whole
        else:
            assert status != 0
        if name == "fit" and status == 128 + number:
            assert ("do not fit again" in err) == Path(file).exists()
        if number != signal.SIGKILL:
            assert {*os.listdir()} - before <= {file}
        for litter in {*os.listdir()} - before - {file}:
            assert litter.startswith(f".{file}.")
            Path(litter).unlink()


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-16"])
def test_real_streams(folder: Path, encoding: str) -> None:
    """What the stand-ins above stand for."""

    def shell(rest: str, line: list[str] = DPNB) -> tuple[int, str]:
        run = subprocess.run(
            ["bash", "-c", f'"$@" {rest}', "bash", *line], capture_output=True, check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding},
        )  # fmt: skip
        return run.returncode, run.stderr.decode(encoding)

    for rest in ("> o", "> /dev/full", ">&-", "2>&-", "> /dev/full 2>&1", "<&- >&- 2>&-"):
        assert shell(f"{FIT} {rest}")[0] == 0, rest
        Path("new.json").unlink()
        audit = f"printing:Size {AUDIT} {rest}"
        assert shell(audit, AUDITOR)[0] == 1, rest
    for rest, status in (("> o", 0), ("> /dev/full", 1), (">&-", 1), ("2>&-", 0), ("< data.csv > o", 0)):
        where = "" if "<" in rest else "data.csv"
        got, err = shell(f"predict model.json {where} {rest}")
        assert (got, "Traceback" in err) == (status, False), rest
    assert "Łukasz" in Path("o").read_text(encoding="utf-8")
    assert shell("predict model.json data.csv | true; exit ${PIPESTATUS[0]}")[0] in (0, terminal.GONE)
