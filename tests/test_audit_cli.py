"""``python -m dpaudit``: verdicts by exit status, reports written whole, misuse told in one line."""

from __future__ import annotations

import base64
import importlib
import os
import random
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaudit import AttackError, MonitoredFinding, PrivacyViolation, assert_private, report
from dpaudit import cli as audit_main
from dpaudit.cli import main
from dpaudit.pairs import DOMAIN, KINDS
from dpaudit.report import Report, alt_text, page, plot_wealth, write_report
from dpnb.papers.pearson import PearsonTree
from dpnb.replay import Finding
from private_trees.auditing.bets import monitor_mechanism

PNG = b"\x89PNG\r\n\x1a\n"
FACTORIES = """
import random

from dpnb import PrivateBooster
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.edprf import EDPRF


class Constant:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return [0] * len(X)


class Size(Constant):
    "Tells the number of records."

    def fit(self, X, y):
        self.size = len(X)
        return self

    def predict(self, X):
        return [self.size % 2] * len(X)


class Loud(Constant):
    "Tells by a label whether the number of records is odd, and errs in one fit of ten: ε = ln 9."

    def fit(self, X, y):
        self.label = (len(X) + (random.random() < 0.1)) % 2
        return self

    def predict(self, X):
        return [self.label] * len(X)


class Raising(Constant):
    def fit(self, X, y):
        if len(set(y)) < 2:
            raise ValueError("one class\\nonly")
        return self


class OwnClasses(Constant):
    def fit(self, X, y):
        self.classes_ = sorted(set(y))
        return self

    def predict_proba(self, X):
        return [[1 / len(self.classes_)] * len(self.classes_)] * len(X)


def always(error):
    "A subject whose fits all fail."
    def fit(self, X, y):
        raise error
    return type("Failing", (Constant,), {"fit": fit})


Useless = always(ValueError("no such\\ncolumn"))
Leaving, Quitting = always(SystemExit(0)), always(SystemExit(1))
Interrupted = always(KeyboardInterrupt())


def good():
    return DiffPRFs(epsilon=1, n_trees=1, max_depth=1)


def bad():
    return DiffPRFs.as_written(epsilon=1, n_trees=1, max_depth=1)


def delta():
    return PrivateBooster(epsilon=1, delta=1e-5, n_rounds=2)


def bootstrap():
    return DiffPRFs.as_written(epsilon=1, n_trees=1, max_depth=0, stop="depth", size_query=False)


def forest():
    "Its n_trees is None: it works that out itself."
    return EDPRF(epsilon=1.0, max_depth=1)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a module of factories."""
    path = tmp_path_factory.mktemp("audit")
    (path / "audited_models.py").write_text(FACTORIES)
    (path / "broken_module.py").write_text("1 / 0\n")
    (path / "stops_at_once.py").write_text("raise SystemExit(0)\n")
    (path / "taken.html").mkdir()
    return path


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in that folder, with Python's own generator in one state; the import path is restored afterwards.

    The noise of ``Loud`` comes from that generator: in 23 of 3000 states a scan convicted it before a bet did.
    """
    random.seed(1)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    return folder


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dpaudit", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def audited(name: str, *options: str) -> list[str]:
    """Arguments for a subject of the module above."""
    return [f"audited_models:{name}", "--epsilon", "1", *options]


VERDICTS: dict[str, tuple[list[str], int, list[str]]] = {  # arguments, status, and what is printed
    "good": (
        audited("good", "--runs", "60", "--report", "good.html", "--jobs", "2"),
        0,
        ["no violation found", "no proof of privacy", "probability 1e-06 at most", "The scans found nothing"],
    ),
    "replayed": (
        audited("bad", "--runs", "60", "--report", "bad.png", "--confidence", "0.95"),
        1,
        ["VIOLATED", "∞ (exact, given the bags, replay"],
    ),
    "no replay with δ": (audited("bad", "--runs", "40", "--delta", "0.9"), 0, ["no violation found"]),
    "leak in outputs": (audited("Loud", "--runs", "400", "--report", "loud.html"), 1, ["lower bound"]),
    "replace": (audited("Constant", "--runs", "40", "--neighbours", "replace"), 0, ["(replace)"]),
    "given the bags": (audited("bootstrap", "--runs", "40"), 0, ["does not count against the claim"]),
    "its own number of trees": (
        audited("forest", "--runs", "100", "--pairs", "structured"),
        0,
        ["audited_models:forest"],
    ),
    "an exception": (
        audited("Raising", "--runs", "200", "--pairs", "structured"),
        1,
        [
            "the fit holds an error: 'ValueError: one class\\nonly' on D, not there on D′",
            "pair         pure node",
        ],
    ),
    "classes": (
        audited("OwnClasses", "--runs", "200", "--pairs", "structured"),
        1,
        [
            "len(model.classes_) holds the number of classes that occur: 1 on D, 2 on D′",
            "pair         pure node",
        ],
    ),
    "size": (
        audited("Size", "--runs", "200", "--pairs", "structured", "--report", "size.png"),
        1,
        ["model.size holds the number of records: 9 on D, 10 on D′", "no bets were needed"],
    ),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(inside: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments, status, words = VERDICTS[name]
    assert main(arguments) == status
    output = capsys.readouterr().out
    assert [word for word in words if word not in output] == []
    assert ("VIOLATED" in output) == (status == 1)
    assert ("replay," in output) == (
        name in ("good", "replayed", "given the bags", "its own number of trees")
    )
    if "--report" in arguments:
        written = (inside / arguments[arguments.index("--report") + 1]).read_bytes()
        assert written.startswith((PNG, b"<!DOCTYPE html>"))
    assert not [path for path in inside.iterdir() if path.name.startswith(".")]


def test_a_process_of_its_own_has_the_status_and_shows_no_traceback(folder: Path) -> None:
    done = command(folder, *audited("Useless", "--runs", "60", "--report", "none.html"))
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"dpaudit: pair .* all \d+ runs failed .* ValueError: no such column\n", done.stderr)
    assert not (folder / "none.html").exists()


RUN = """
import sys
{before}
from dpaudit import cli as audit_main
from dpaudit.cli import main
status = main({arguments})
print(status, "matplotlib.figure" in sys.modules)
"""


@pytest.mark.parametrize(
    ("before", "report", "end"),
    [
        ("", [], "0 False"),
        ("", ["--report", "made.png"], "0 True"),
        ('sys.modules["matplotlib"] = None', [], "0 False"),
        ('sys.modules["matplotlib"] = None', ["--report", "unmade.png"], "2 False"),
    ],
)
def test_only_a_report_needs_matplotlib(folder: Path, before: str, report: list[str], end: str) -> None:
    arguments = audited("Constant", "--runs", "40", *report)
    code = RUN.format(before=before, arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == end
    if end.startswith("2"):
        message = (
            r"dpaudit: --report unmade\.png: .* needs matplotlib .*; "
            r"pip install \"\.\[plot\]\" in the project's folder\n"
        )
        assert re.fullmatch(message, done.stderr)
    assert [(folder / name).exists() for name in report[1:]] == [end == "0 True"] * len(report[1:])


def test_with_delta_the_bets_are_held_against_the_ledger(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that states less than the bets show is refuted, though the claim is not."""
    arguments = [*audited("delta", "--runs", "40", "--delta", "1e-5"), "--epsilon", "2"]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "audited_models:delta, by its ledger (tight): no violation found" in output
    assert re.search(r"claimed      ε = 0\.9\d+, δ = 1e-05 \(add-remove\)", output)
    arguments += [
        "--epsilon",
        "3",
        "--neighbours",
        "replace",
    ]  # the same releases cost more than twice as much
    assert main(arguments) == 0
    assert re.search(r"claimed      ε = 2\.\d+, δ = 1e-05 \(replace\)", capsys.readouterr().out)
    monkeypatch.setattr(Finding, "flagged", property(lambda found: found.claimed < 3))
    assert main(arguments) == 1  # broken twin: the bets refute whatever is below 3


def test_the_command_examines_as_a_test_does(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same instruments at the same confidence, with the same numbers, and no more runs than it takes."""
    arguments = audited("Loud", "--runs", "400", "--pairs", "structured")
    assert main(arguments) == 1
    output = capsys.readouterr().out
    module = importlib.import_module("audited_models")
    random.seed(1)  # as `inside` has set it for the command
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(module.Loud, epsilon=1.0, runs=400, minutes=audit_main.MINUTES, kinds=["structured"])
    finding = caught.value.finding
    assert str(finding).partition(": ")[2] in output
    assert finding.instrument == "betting"
    assert finding.trials < 400  # it stops early


def test_the_report_shows_the_bets_and_what_scans_found(inside: Path) -> None:
    shown = {}
    for name in ("Loud", "Size"):
        file = inside / f"{name}.html"
        assert main(audited(name, "--runs", "400", "--pairs", "structured", "--report", file.name)) == 1
        shown[name] = file.read_text(encoding="utf-8")
    always = (
        "What was tried",
        "The two data sets",
        '<th scope="col">pair</th>',
        "prefers-color-scheme: dark",
    )
    words = {
        "Loud": (
            *always,
            *("Wealth of bets against the claim", "refutes", "right in", "of them bets", "D′ if", "<img"),
            "given the state of the global generators",  # by the scans, and no violation by itself
        ),
        "Size": (
            *always[1:],
            *("What the fitted models hold", "the number of records", "model.size", "no bets were needed"),
        ),
    }
    for name, expected in words.items():
        assert [word for word in expected if word not in shown[name]] == []
    assert "<img" not in shown["Size"]


def test_a_scan_that_cannot_be_made_is_told(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two pairs no fit succeeds; the others are bet on."""

    def scan(*_: Any, **__: Any) -> list[Finding]:
        raise AttackError("all 6 fits failed")

    monkeypatch.setattr(sys.modules["dpaudit.examine"], "scan", scan)
    assert main(audited("Constant", "--runs", "40")) == 0
    output = capsys.readouterr().out
    assert re.search(r"not tried    scan on pair 'pure node.*': all 6 fits failed", output)
    with pytest.warns(UserWarning, match="not looked at: scan on pair"):
        assert_private(importlib.import_module("audited_models").Constant, epsilon=1.0, runs=40)


UNREADABLE = {
    "no.csv": (None, "no.csv"),
    "folder.csv": ("", "folder.csv"),
    "latin.csv": (b"x,c,label\n0.5,0,\xe9\n", "UTF-8"),
    "empty.csv": (b"", "empty"),
    "other.csv": (b"a,b\n1,2\n", "label"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_table_that_cannot_be_read_is_no_verdict(
    inside: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content, words = UNREADABLE[name]
    DOMAIN.to_yaml(inside / "d.yml")
    (inside / "fine.csv").write_text("x,c,label\n0.5,0,1\n", encoding="utf-8")
    if content == "":
        (inside / name).mkdir(exist_ok=True)
    elif content is not None:
        (inside / name).write_bytes(content)
    arguments = audited("Constant", "--domain", "d.yml", "--pair", "fine.csv", name)
    assert main(arguments) == 2
    output, error = capsys.readouterr()
    assert (output, len(error.splitlines())) == ("", 1)
    assert words in error
    assert "unexpected" not in error


def test_a_report_that_cannot_be_written_in_the_end_is_no_pass(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the page is written: the verdict was told, but the command has not done what it was to."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "write_whole", full)
    arguments = audited("Constant", "--runs", "40", "--report", "full.html")
    assert main(arguments) == 2
    output, error = capsys.readouterr()
    assert "no violation found" in output
    assert error == "dpaudit: cannot write the report: [Errno 28] No space left on device\n"


def test_an_interrupt_and_a_reader_that_goes_away_are_no_verdict(folder: Path) -> None:
    done = command(folder, *audited("Interrupted", "--runs", "40"))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dpaudit: interrupted; no verdict\n")
    code = "import sys\nfrom dpaudit.cli import main\nsys.exit(main(['--pairs', 'list']))\n"
    read, write = os.pipe()
    os.close(read)
    gone = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (gone.returncode, gone.stderr) == (141, b"")


def test_kinds_of_pairs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pairs", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["people", *KINDS]
    assert [line for line in lines if "on request" in line] == lines[-2:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "arguments are required"),
        ([":good", "--epsilon", "1"], "module:function"),
        (["broken_module:good", "--epsilon", "1"], "ZeroDivisionError"),
        (audited("missing"), "has no 'missing'"),
        (["stops_at_once:good", "--epsilon", "1"], "the subject ended the program"),
        (audited("Leaving", "--runs", "40"), "the subject ended the program"),
        (audited("good", "--by", "attack"), "--by"),
        (audited("good", "--report", "broken_module.py/a.html"), "no such folder"),
        (audited("Useless", "--runs", "40"), "runs failed on both data sets"),
        (audited("Useless", "--runs", "200"), "ValueError: no such column"),
        (audited("Quitting", "--runs", "40"), "the subject ended the program"),
        (audited("good", "--pairs", "rar"), "did you mean 'rare'"),
        (audited("good", "--pair", "a.csv", "b.csv"), "--pair needs --domain"),
        (
            audited("good", "--domain", "no.yml"),
            "cannot read the domain file no.yml",
        ),
        (audited("good", "--target", "y"), "--target names a column of --pair"),
        (audited("good", "--report", "taken.html"), "it is a folder"),
        (["--epsilon", "1"], "module:function"),
        (audited("good", "--runs", "0"), "--runs 0"),
        (audited("good", "--minutes", "0"), "--minutes 0"),
        (audited("good", "--minutes", "nan"), "--minutes nan"),
        (audited("good", "--delta", "1"), "--delta 1"),
        (audited("good", "--seed", "-1"), "--seed -1"),
    ],
)
def test_misuse(inside: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(arguments) == 2
    output, error = capsys.readouterr()
    assert output == ""
    assert message in error
    assert len(error.splitlines()) == 1


# --- Report -------------------------------------------------------------------------------------------------


def bets(**more: Any) -> MonitoredFinding:
    how: Any = {"claimed": 1, "most_runs": 600} | more
    return monitor_mechanism(lambda data, rng: data + rng.normal(scale=0.3), 0.0, 1.0, **how)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.images: list[dict[str, str | None]] = []
        self.language: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.images.append(dict(attrs))
        if tag == "html":
            self.language = dict(attrs)["lang"]


def test_page_is_self_contained_and_described() -> None:
    found = bets(subject="<b>subject</b>", pair="count & more")
    asked = {"runs": "400 <each>"}
    text = page(Report(finding=found, others=[found], settings=asked, notes=["A note."], violated=True))
    assert "<b>" not in text
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text)
    parsed = _Page()
    parsed.feed(text)
    assert parsed.language == "en"
    (image,) = parsed.images
    assert image["alt"] == alt_text(found)
    assert base64.b64decode(str(image["src"]).split(",")[1]).startswith(PNG)


def test_picture_shows_how_the_wealth_went() -> None:
    found = bets()
    assert found.violated
    above, below = plot_wealth(found).axes
    wealth, enough = (line.get_ydata() for line in above.lines)
    runs = above.lines[0].get_xdata()
    assert above.get_yscale() == "log"
    assert (wealth[0], wealth[-1]) == (1, found.e_value)
    assert (runs[0], runs[-1]) == (0, found.trials)
    assert (np.diff(runs) > 0).all()
    assert enough[0] == pytest.approx(100)
    assert (
        below.lines[0].get_ydata()[-1] == found.lower_bound > below.lines[1].get_ydata()[0] == found.claimed
    )
    assert str(found.trials) in alt_text(found)


def test_failed_report_leaves_nothing(tmp_path: Path) -> None:
    made = Report(finding=bets(), violated=False)
    target = tmp_path / "taken.png"
    target.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_report(target, made)
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(ValueError, match=r"\.html or \.png"):
        write_report(tmp_path / "a.svg", made)


def test_an_audit_that_breaks_off_is_no_violation(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(factory: Any, options: Any) -> Any:
        raise TypeError("unsupported operand")

    monkeypatch.setattr(audit_main, "audited", breaks)
    assert main(audited("good")) == 2
    assert "unexpected TypeError: unsupported operand; no verdict" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "kind", "told"),
    [
        ({"subject": "x"}, TypeError, "subject is of type str: expected an unfitted estimator"),
        ({"subject": PearsonTree, "epsilon": -1.0}, ValueError, "epsilon=-1.0: expected a positive number"),
        ({"subject": PearsonTree, "epsilon": "1"}, ValueError, "epsilon='1': expected a positive number"),
        ({"subject": PearsonTree, "runs": 0}, ValueError, "runs=0: expected"),
        ({"subject": PearsonTree, "domain": "d.yml"}, TypeError, "domain is of type str: expected a Domain"),
    ],
    ids=["subject", "epsilon", "text", "runs", "domain"],
)
def test_an_assertion_names_the_argument_that_is_wrong(
    arguments: dict[str, Any], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=told):
        assert_private(**({"epsilon": 1.0} | arguments))
