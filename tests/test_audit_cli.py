"""``python -m dpnb.audit``: verdicts by exit status, reports written whole, misuse told in one line."""

from __future__ import annotations

import base64
import importlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpnb.audit import AttackError, Finding, PrivacyViolation, assert_private, assertion, compare, report
from dpnb.audit import __main__ as audit_main
from dpnb.audit.__main__ import main
from dpnb.audit.monitor import monitor_mechanism
from dpnb.audit.pairs import DOMAIN, KINDS
from dpnb.audit.report import alt_text, page, plot_event, plot_wealth, write_report
from dpnb.papers.pearson import PearsonTree

PNG = b"\x89PNG\r\n\x1a\n"
FACTORIES = '''
import random

from dpnb import PrivateBooster
from dpnb.papers.diffprfs import DiffPRFs


class Size:
    """Tells the number of records."""

    def fit(self, X, y):
        self.size = len(X)
        return self

    def predict(self, X):
        return [self.size % 2] * len(X)


class Constant:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return [0] * len(X)


class Loud(Constant):
    """Tells by a label whether the number of records is odd, and errs in one fit of ten: ε = ln 9."""

    def fit(self, X, y):
        self.label = (len(X) + (random.random() < 0.1)) % 2
        return self

    def predict(self, X):
        return [self.label] * len(X)


class Raising(Constant):
    def fit(self, X, y):
        if len(set(y)) < 2:
            raise ValueError("one class\\nonly")
        return super().fit(X, y)


class Leaving(Constant):
    def fit(self, X, y):
        raise SystemExit(0)


class Useless(Size):
    def fit(self, X, y):
        raise ValueError("no such\\ncolumn")


class Quitting(Size):
    def fit(self, X, y):
        raise SystemExit(1)


class Interrupted(Size):
    def fit(self, X, y):
        raise KeyboardInterrupt


class OwnClasses(Constant):
    def fit(self, X, y):
        self.classes_ = sorted(set(y))
        return super().fit(X, y)

    def predict_proba(self, X):
        return [[1 / len(self.classes_)] * len(self.classes_)] * len(X)


def loud():
    return Loud()


def good():
    return DiffPRFs(epsilon=1, n_trees=1, max_depth=1)


def bad():
    return DiffPRFs.as_written(epsilon=1, n_trees=1, max_depth=1)


def delta():
    return PrivateBooster(epsilon=1, delta=1e-5, n_rounds=20)


def bootstrap():
    return DiffPRFs.as_written(epsilon=1, n_trees=1, max_depth=0, stop="depth", size_query=False)


def size():
    return Size()


def constant():
    return Constant()


def raising():
    return Raising()


def useless():
    return Useless()


def quitting():
    return Quitting()


def interrupted():
    return Interrupted()


def own_classes():
    return OwnClasses()


def leaving():
    return Leaving()


def breaking():
    raise RuntimeError("no licence")


def nothing():
    return 3


def a_class():
    return Size


unpicklable = lambda: Size()
number = 7
'''


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
    """Work in that folder; the import path is restored afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    return folder


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dpnb.audit", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_good_estimator_passes(folder: Path) -> None:
    report = folder / "good.html"
    done = command(
        folder,
        "audited_models:good",
        "--epsilon",
        "1",
        "--runs",
        "60",
        "--report",
        report.name,
        "--jobs",
        "2",
    )
    assert done.returncode == 0, done.stderr
    assert "no violation found" in done.stdout
    assert "VIOLATED" not in done.stdout
    assert "A pass is no proof of privacy" in done.stdout
    assert "probability 1e-06 at most" in done.stdout
    assert "The scans found nothing" in done.stdout
    assert report.exists()


def test_bad_estimator_is_refuted(folder: Path) -> None:
    done = command(
        folder,
        "audited_models:bad",
        "--epsilon",
        "1",
        "--runs",
        "60",
        "--report",
        "bad.png",
        "--confidence",
        "0.95",
    )
    assert done.returncode == 1, done.stderr
    assert "VIOLATED" in done.stdout
    assert "∞ (exact, given the bags, replay" in done.stdout
    assert (folder / "bad.png").read_bytes().startswith(PNG)


def test_misuse_in_a_process_of_its_own_shows_no_traceback(folder: Path) -> None:
    done = command(
        folder, "audited_models:useless", "--epsilon", "1", "--runs", "60", "--report", "none.html"
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(
        r"dpnb\.audit: pair .* all \d+ runs failed .* ValueError: no such column\n", done.stderr
    )
    assert not (folder / "none.html").exists()


RUN = """
import sys
{before}
from dpnb.audit import __main__ as audit_main
from dpnb.audit.__main__ import main
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
    arguments = ["audited_models:constant", "--epsilon", "1", "--runs", "40", *report]
    code = RUN.format(before=before, arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == end
    if end.startswith("2"):
        message = (
            r"dpnb\.audit: --report unmade\.png: .* needs matplotlib .*; "
            r"pip install \"\.\[plot\]\" in the project's folder\n"
        )
        assert re.fullmatch(message, done.stderr)
    assert [(folder / name).exists() for name in report[1:]] == [end == "0 True"] * len(report[1:])


def test_any_object_with_fit_and_predict(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audited_models:loud", "--epsilon", "1", "--runs", "400", "--report", "loud.html"]) == 1
    assert "lower bound" in capsys.readouterr().out
    assert main(["audited_models:constant", "--epsilon", "1", "--runs", "40", "--neighbours", "replace"]) == 0
    page_text = (inside / "loud.html").read_text(encoding="utf-8")
    for words in (
        "What was tried",
        "The two data sets",
        '<th scope="col">pair</th>',
        "prefers-color-scheme: dark",
    ):
        assert words in page_text
    assert not [path for path in inside.iterdir() if path.name.startswith(".")]


def test_delta_skips_the_replay(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audited_models:bad", "--epsilon", "1", "--runs", "40", "--delta", "0.9"]
    assert main(arguments) == 0
    assert "replay," not in capsys.readouterr().out


def test_with_delta_the_attack_is_held_against_the_ledger(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that states less than an attack shows is refuted, though the claim is not."""
    arguments = [
        "audited_models:delta",
        "--epsilon",
        "2",
        "--runs",
        "40",
        "--delta",
        "1e-5",
        "--by",
        "attack",
    ]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "audited_models:delta, by its ledger (tight): no violation found" in output
    assert re.search(r"claimed      ε = 0\.9\d+, δ = 1e-05 \(add-remove\)", output)
    arguments[2] = "3"
    assert (
        main([*arguments, "--neighbours", "replace"]) == 0
    )  # the same releases cost more than twice as much
    assert re.search(r"claimed      ε = 2\.\d+, δ = 1e-05 \(replace\)", capsys.readouterr().out)
    monkeypatch.setattr(Finding, "flagged", property(lambda found: found.claimed < 3))
    assert main(arguments) == 1  # broken twin: the attack refutes whatever is below 3


def test_finite_loss_given_the_bags_is_no_verdict(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audited_models:bootstrap", "--epsilon", "1", "--runs", "40"]) == 0
    output = capsys.readouterr().out
    assert "does not count against the claim" in output


@pytest.mark.parametrize(
    ("by", "subject", "words"),
    [
        ("attack", "raising", ["fit raised ValueError: one class only", "is an output too"]),
        ("attack", "own_classes", ["the classes were read off the data, [0] on D and [0, 1] on D′"]),
        ("bets", "raising", ["the fit holds an error: 'ValueError: one class\\nonly' on D, not there on D′"]),
        ("bets", "own_classes", ["model.classes_ holds the number of classes that occur: 1 on D, 2 on D′"]),
        ("bets", "size", ["model.size holds the number of records: 9 on D, 10 on D′"]),
    ],
)
def test_convictions_say_why(
    inside: Path, capsys: pytest.CaptureFixture[str], by: str, subject: str, words: list[str]
) -> None:
    arguments = [f"audited_models:{subject}", "--epsilon", "1", "--runs", "200", "--pairs", "structured"]
    arguments += ["--by", by]
    assert main(arguments) == 1
    output = capsys.readouterr().out
    assert all(word in output for word in words)
    assert "pair         pure node" in output
    arguments[0] = "audited_models:constant"
    assert main(arguments) == 0  # broken twin: a subject with nothing to say
    assert not any(word in capsys.readouterr().out for word in words)


def test_the_command_examines_as_a_test_does(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same instruments at the same confidence, with the same numbers, and no more runs than it takes."""
    arguments = ["audited_models:loud", "--epsilon", "1", "--runs", "400", "--pairs", "structured"]
    assert main(arguments) == 1
    output = capsys.readouterr().out
    module = importlib.import_module("audited_models")
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(module.loud, epsilon=1.0, runs=400, kinds=["structured"])
    finding = caught.value.finding
    assert str(finding).partition(": ")[2] in output
    assert finding.instrument == "betting"
    most = int(re.findall(r"With (\d+) measured runs|$", output)[0] or 800)
    assert finding.trials < most / 2  # it stops early
    assert main([*arguments, "--by", "attack", "--confidence", "0.99"]) == 1
    assert "attack, " in capsys.readouterr().out


def test_the_report_shows_the_bets_and_what_scans_found(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = ["--epsilon", "1", "--runs", "400", "--pairs", "structured", "--report", "told.html"]
    assert main(["audited_models:loud", *claim]) == 1
    shown = (inside / "told.html").read_text(encoding="utf-8")
    for words in (
        "Wealth of bets against the claim",
        "refutes",
        "right in",
        "to scout, then",
        "D′ if",
        "<img",
    ):
        assert words in shown
    assert "given the state of the global generators" in shown  # by the scans, and no violation by itself
    assert main(["audited_models:size", *claim]) == 1
    shown = (inside / "told.html").read_text(encoding="utf-8")
    for words in (
        "What the fitted models hold",
        "the number of records",
        "model.size",
        "no bets were needed",
    ):
        assert words in shown
    assert "<img" not in shown
    assert main(["audited_models:size", *claim[:-1], "told.png"]) == 1
    assert (inside / "told.png").read_bytes().startswith(PNG)


def test_a_scan_that_cannot_be_made_is_told(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two pairs no fit succeeds; the others are bet on."""

    def scan(*_: Any, **__: Any) -> list[Finding]:
        raise AttackError("all 6 fits failed")

    monkeypatch.setattr(assertion, "scan", scan)
    assert main(["audited_models:constant", "--epsilon", "1", "--runs", "40"]) == 0
    output = capsys.readouterr().out
    assert re.search(r"Not looked at: scan on pair 'pure node.*': all 6 fits failed", output)
    with pytest.warns(UserWarning, match="not looked at: scan on pair"):
        assert_private(importlib.import_module("audited_models").constant, epsilon=1.0, runs=40)


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
    arguments = ["audited_models:constant", "--epsilon", "1", "--domain", "d.yml", "--pair", "fine.csv", name]
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
    arguments = ["audited_models:constant", "--epsilon", "1", "--runs", "40", "--report", "full.html"]
    assert main(arguments) == 2
    output, error = capsys.readouterr()
    assert "no violation found" in output
    assert error == "dpnb.audit: cannot write the report: [Errno 28] No space left on device\n"


def test_an_interrupt_and_a_reader_that_goes_away_are_no_verdict(folder: Path) -> None:
    done = command(folder, "audited_models:interrupted", "--epsilon", "1", "--runs", "40")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dpnb.audit: interrupted; no verdict\n")
    code = "import sys\nfrom dpnb.audit.__main__ import main\nsys.exit(main(['--pairs', 'list']))\n"
    read, write = os.pipe()
    os.close(read)
    gone = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (gone.returncode, gone.stderr) == (2, b"")


def test_kinds_of_pairs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pairs", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(KINDS)
    assert [line for line in lines if "on request" in line] == lines[-2:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "arguments are required"),
        (["audited_models:good"], "--epsilon"),
        (["audited_models", "--epsilon", "1"], "module:function"),
        ([":good", "--epsilon", "1"], "module:function"),
        (["no_such_module:good", "--epsilon", "1"], "cannot import 'no_such_module'"),
        (["broken_module:good", "--epsilon", "1"], "ZeroDivisionError"),
        (["audited_models:missing", "--epsilon", "1"], "has no 'missing'"),
        (["audited_models:Constent", "--epsilon", "1"], "did you mean 'Constant'"),
        (["stops_at_once:good", "--epsilon", "1"], "the subject ended the program"),
        (["audited_models:leaving", "--epsilon", "1", "--runs", "40"], "the subject ended the program"),
        (["audited_models:good", "--epsilon", "1", "--by", "luck"], "--by"),
        (["audited_models:good", "--epsilon", "1", "--report", "broken_module.py/a.html"], "no such folder"),
        (["audited_models:number", "--epsilon", "1"], "is int, expected a function"),
        (["audited_models:breaking", "--epsilon", "1"], "RuntimeError: no licence"),
        (["audited_models:nothing", "--epsilon", "1"], "no fit and no predict"),
        (["audited_models:a_class", "--epsilon", "1"], "a class, not an object"),
        (["audited_models:unpicklable", "--epsilon", "1", "--jobs", "2"], "--jobs 1"),
        (
            ["audited_models:useless", "--epsilon", "1", "--runs", "40"],
            "all 80 runs failed on both data sets",
        ),
        (["audited_models:useless", "--epsilon", "1", "--runs", "200"], "ValueError: no such column"),
        (["audited_models:quitting", "--epsilon", "1", "--runs", "40"], "the subject ended the program"),
        (["audited_models:good", "--epsilon", "1", "--pairs", "rar"], "did you mean 'rare'"),
        (["audited_models:good", "--epsilon", "1", "--pair", "a.csv", "b.csv"], "--pair needs --domain"),
        (
            ["audited_models:good", "--epsilon", "1", "--domain", "no.yml"],
            "cannot read the domain file no.yml",
        ),
        (["audited_models:good", "--epsilon", "1", "--target", "y"], "--target names a column of --pair"),
        (["audited_models:good", "--epsilon", "1", "--report", "taken.html"], "it is a folder"),
        (["--epsilon", "1"], "module:function"),
        (["audited_models:good", "--epsilon", "0"], "--epsilon 0"),
        (["audited_models:good", "--epsilon", "nan"], "--epsilon nan"),
        (["audited_models:good", "--epsilon", "one"], "invalid float"),
        (["audited_models:good", "--epsilon", "1", "--runs", "5"], "--runs 5"),
        (["audited_models:good", "--epsilon", "1", "--delta", "1"], "--delta 1"),
        (["audited_models:good", "--epsilon", "1", "--confidence", "99"], "--confidence 99"),
        (["audited_models:good", "--epsilon", "1", "--jobs", "0"], "--jobs 0"),
        (["audited_models:good", "--epsilon", "1", "--seed", "-1"], "--seed -1"),
        (["audited_models:good", "--epsilon", "1", "--neighbours", "near"], "--neighbours"),
        (["audited_models:good", "--epsilon", "1", "--report", "a.pdf"], ".html or .png"),
        (["audited_models:good", "--epsilon", "1", "--report", "nowhere/a.png"], "no such folder"),
        (["audited_models:good", "--epsilon", "1", "--what"], "--what"),
    ],
)
def test_misuse(inside: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(arguments) == 2
    output, error = capsys.readouterr()
    assert output == ""
    assert message in error
    assert len(error.splitlines()) == 1


# --- Report -------------------------------------------------------------------------------------------------

CASES = {
    "continuous": (np.random.default_rng(0).normal(size=400), np.random.default_rng(1).normal(2, size=400)),
    "discrete": (np.repeat([0.0, 1.0], 200), np.repeat([0.0, 1.0], [100, 300])),
    "missing": (np.full(400, np.nan), np.repeat([1.0, np.nan], 200)),
    "constant": (np.zeros(400), np.zeros(400)),
}


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


@pytest.mark.parametrize("case", CASES)
def test_page_is_self_contained_and_described(case: str) -> None:
    found = compare(*CASES[case], claimed=1, subject="<b>subject</b>", names=["count & more"])
    text = page(found, others=[found], settings={"runs": "400 <each>"}, notes=["A note."], violated=True)
    assert "<b>" not in text
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text)
    parsed = _Page()
    parsed.feed(text)
    assert parsed.language == "en"
    (image,) = parsed.images
    assert image["alt"] == alt_text(found)
    assert base64.b64decode(str(image["src"]).split(",")[1]).startswith(PNG)


def test_picture_marks_both_data_sets_and_the_threshold() -> None:
    found = compare(*CASES["continuous"], claimed=1)
    figure = plot_event(found)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [label.split(" (")[0].split(" ")[0] for label in labels] == ["D", "D′", "threshold"]


def test_picture_shows_how_the_wealth_went() -> None:
    found = monitor_mechanism(
        lambda data, rng: data + rng.normal(scale=0.3), 0.0, 1.0, claimed=1, most_runs=600
    )
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
    found = compare(*CASES["discrete"], claimed=1)
    target = tmp_path / "taken.png"
    target.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_report(target, found, others=[], settings={}, notes=[], violated=False)
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(ValueError, match=r"\.html or \.png"):
        write_report(tmp_path / "a.svg", found, others=[], settings={}, notes=[], violated=False)


def test_an_estimator_that_works_out_its_number_of_trees(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """EDPRF as it comes: its n_trees is None."""
    (inside / "forest.py").write_text(
        "from dpnb.papers.edprf import EDPRF\n\ndef make():\n    return EDPRF(epsilon=1.0, max_depth=1)\n",
        encoding="utf-8",
    )
    assert main(["forest:make", "--epsilon", "1", "--runs", "100", "--pairs", "structured"]) == 0
    assert "forest:make" in capsys.readouterr().out


def test_an_audit_that_breaks_off_is_no_violation(
    inside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(factory: Any, options: Any) -> Any:
        raise TypeError("unsupported operand")

    (inside / "broken.py").write_text(
        "from dpnb import PrivateBooster\n\ndef make():\n    return PrivateBooster(n_rounds=1)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(audit_main, "audited", breaks)
    assert main(["broken:make", "--epsilon", "1"]) == 2
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
