"""Every block of code on a page runs as it is printed, one after the other, or a reason says why it does not.

A page's blocks work in a folder of their own, which holds the files that the page takes for granted. Lines of a shell
that call ``dpnb`` run within the test; Spark's blocks run in test_spark.py. Data sets have fewer records here.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import papermill
import pytest
import yaml

import dpnb
from dpnb.release.commands import main
from test_commands import FINDING
from test_tables import DIABETES, DIABETES_HEADER, diabetes_rows

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(f"book/{path.name}" for path in (ROOT / "book").glob("*.md")),
]
# Languages that are not run, and those that have tests of their own.
SPOKEN = {
    "text": "shows what is printed",
    "bibtex": "is no code",
    "mermaid": "test_architecture.py makes it",
    "js": "test_documents.py runs it with Node",
}
PAGES_ELSEWHERE = {
    "book/audit-yours.md": "test_audit_page.py runs it, with fewer fits",
    "book/cluster.md": "test_spark.py and test_spark_cluster.py run it; Docker is not at hand",
}
LINES_ELSEWHERE = {  # of a shell, by how they begin
    "make ": "sets up an environment, or runs all tests",
    "pip install ": "needs a package index",
    "source .venv/bin/activate": "is for a shell of your own",
    ".venv/bin/": "runs all tests, or changes files",
    "python -m dpaudit ": "takes minutes: test_audit_page.py and test_audit_cli.py run it, with fewer fits",
    "python -m private_trees.standin ": "draws the stand-in again, from the real Adult",
    "papermill ": "runs a whole chapter",
    "DPNB_DATA=~/uci papermill ": "runs a whole chapter",
}


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and code of each block, without indentation."""
    found = re.findall(r"^( *)```(\w+)\n(.*?)^\1```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(language, textwrap.dedent(code)) for _, language, code in found]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def as_people(folder: Path, *, name: str = "people") -> None:
    """A table, its domain file, and records to predict, as README names them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"id": range(300), "age": rng.integers(18, 90, 300), "job": rng.choice(["a", "b"], 300)}
    )
    table["ill"] = np.where(table["age"] > 60, "yes", "no")
    domain = dpnb.Domain(
        (dpnb.Continuous("age", 0, 100), dpnb.Categorical("job", ("a", "b"))), ("no", "yes"), "ill"
    )
    domain.to_yaml(folder / f"{name}.yml")
    with (folder / f"{name}.yml").open("a", encoding="utf-8") as file:
        file.write("csv: {key: id}\n")
    table.to_csv(folder / f"{name}.csv", index=False)
    table.to_parquet(folder / f"{name}.parquet")
    table.drop(columns="ill").to_csv(folder / "new.csv", index=False)


def for_readme(folder: Path) -> None:
    as_people(folder)
    for made, named in (("people.csv", "my.csv"), ("people.yml", "my-domain.yml")):
        shutil.copy(folder / made, folder / named)


def for_own_data(folder: Path) -> None:
    text = "\n".join([DIABETES_HEADER, *diabetes_rows(600)])
    for name in ("diabetes_prediction_dataset.csv", "train.csv", "test.csv", "new.csv"):
        (folder / name).write_text(text, encoding="utf-8")
    pd.read_csv(folder / "train.csv").to_parquet(folder / "table.parquet")
    shutil.copy(DIABETES, folder / "domain.yml")
    shutil.copy(DIABETES, folder / "diabetes-domain.yml")
    (folder / "TABLE").write_text("rooms,price\n3,1000\n4,2000\n", encoding="utf-8")


def for_choosing(folder: Path) -> None:
    data = dpnb.load("adult-standin")
    dpnb.PrivateBooster(domain=data.domain, n_rounds=1).fit(*data.train).release(folder / "model.json")


def for_releasing(folder: Path) -> None:
    (folder / "audit.txt").write_text(str(FINDING), encoding="utf-8")
    records = dpnb.load("adult-standin").test[0].iloc[:50]
    records.to_csv(folder / "new.csv", index=False)
    records.to_parquet(folder / "new.parquet")


class Page:
    """The files, and what the reader does beside the blocks, of one page.

    Parameters
    ----------
    files : makes what the page takes for granted.
    by_hand : what the reader does after the line of a shell that begins so.
    made : files that are there at the end.
    """

    def __init__(
        self,
        *made: str,
        files: Callable[[Path], None] = lambda folder: None,
        by_hand: dict[str, Callable[[], Any]] | None = None,
    ) -> None:
        self.made, self.files, self.by_hand = made, files, by_hand or {}


RUN = {
    "README.md": Page("model.json", "people.json", "card.html", "predicted.csv", files=for_readme),
    "book/own-data.md": Page("model.json", files=for_own_data),
    "book/publish.md": Page("model.json", "card.html", "predicted.csv"),
    "book/choose-epsilon.md": Page("card.html", files=for_choosing),
    "book/releasing.md": Page(
        "model.json", "card.html", "predicted.csv", "predicted.parquet", files=for_releasing
    ),
}


@pytest.fixture
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data sets of a few hundred records."""
    load = dpnb.load

    def loaded(name: str, *args: Any, **options: Any) -> Any:
        data = load(name, *args, **options)
        if not name.startswith("csv:"):
            data = replace(data, train=tuple(part.iloc[:400] for part in data.train))
        return data

    monkeypatch.setattr(dpnb, "load", loaded)


def in_shell(line: str, by_hand: dict[str, Callable[[], Any]]) -> None:
    """Run a line that calls ``dpnb`` here; any other must be one of those that run elsewhere."""
    if any(line.startswith(begin) for begin in LINES_ELSEWHERE):
        return
    program, *words = shlex.split(line, comments=True)
    assert program == "dpnb", f"neither run nor excused: {line}"
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        if "<" in words:
            source = words[(place := words.index("<")) + 1]
            patch.setattr(sys, "stdin", stack.enter_context(Path(source).open(encoding="utf-8")))
            del words[place : place + 2]
        if ">" in words:
            target = words[(place := words.index(">")) + 1]
            stack.enter_context(
                redirect_stdout(stack.enter_context(Path(target).open("w", encoding="utf-8")))
            )
            del words[place : place + 2]
        assert main(words) == 0, line
    for begin, act in by_hand.items():
        if line.startswith(begin):
            act()


def run(text: str, page: Page) -> None:
    """All blocks of a page, in the folder in which it is."""
    names: dict[str, Any] = {}
    for language, code in blocks(text):
        if language == "python":
            if 'load("adult")' in code and "DPNB_DATA" not in os.environ:
                continue
            exec(compile(code, code.splitlines()[0], "exec"), names)
        elif language == "bash":
            for line in code.splitlines():
                in_shell(line, page.by_hand)
        elif language == "yaml":
            yaml.safe_load(code)
        else:
            assert language in SPOKEN, f"neither run nor excused: {language}"
    for line in re.findall(r"`(dpnb (?:fit|predict|card|domain \w+) [^`]+)`", text):
        in_shell(line, page.by_hand)
    assert [name for name in page.made if not Path(name).exists()] == []


def without_spark(text: str) -> str:
    return re.sub(r"^```python\n[^`]*dpnb\.spark[^`]*^```$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "name",
    [name for name in PAGES if name not in PAGES_ELSEWHERE and (name in RUN or blocks(text_of(name)))],
)
@pytest.mark.filterwarnings("ignore")  # few records, and a paper's version that leaks
def test_a_page_runs_as_printed(
    name: str, fewer: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = RUN.get(name, Page())
    page.files(tmp_path)
    run(without_spark(text_of(name)), page)


def printed(text: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """What lines of a shell on a page print, and what the page says that they print."""
    found, last = [], ""
    for language, code in blocks(text):
        if language == "text":
            found.append((last, code.strip()))
        elif language == "python":
            exec(code, {})
        elif language == "bash":
            capsys.readouterr()
            in_shell(code.strip(), {})
            last = "".join(capsys.readouterr()).strip()
    return found


def test_the_page_on_publishing_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = text_of("book/publish.md")
    shown = printed(text, capsys)
    assert len(shown) == 2
    for is_printed, is_said in shown:
        assert is_said in is_printed
    rest = text.replace("30162", "30163").replace("150 × stump", "151 × stump")  # broken twin
    for name in ("draft.yml", "model.json", "card.html", "predicted.csv"):
        Path(name).unlink()
    assert not any(is_said in is_printed for is_printed, is_said in printed(rest, capsys))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nprint(domain)\n```", NameError),
        ("1. x\n\n   ```python\n   print(domain)\n   ```", NameError),
        ("```python\nx = 1\n```\n\n```python\nx.y\n```", AttributeError),
        ("```bash\ndpnb card nothing.json --report card.html\n```", AssertionError),
        ("```bash\ndpnb predict --no-such-option\n```", AssertionError),
        ("```bash\nrm -r .\n```", AssertionError),
        ("`dpnb card model.json` makes a card", AssertionError),
        ("```perl\n1\n```", AssertionError),
    ],
)
def test_a_block_that_does_not_run_is_caught(text: str, error: type[BaseException]) -> None:
    with pytest.raises(error):
        run(text, Page())


def lines() -> Iterator[str]:
    """Lines of a shell on all pages."""
    for name in PAGES:
        for language, code in blocks(text_of(name)):
            if language == "bash" and name not in PAGES_ELSEWHERE:
                yield from code.splitlines()


def test_no_reason_is_left_over() -> None:
    assert {begin for begin in LINES_ELSEWHERE if any(line.startswith(begin) for line in lines())} == {
        *LINES_ELSEWHERE
    }
    assert {*RUN, *PAGES_ELSEWHERE} <= {*PAGES}


def test_what_is_named_and_not_run_is_there() -> None:
    """Targets of make, modules, chapters and their parameters."""
    targets = {*re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)}
    pages = "\n".join(map(text_of, PAGES))
    asked = {*re.findall(r"^ *make ([a-z-]+)|`make ([a-z-]+)`", pages, flags=re.MULTILINE)}
    assert len(asked) > 5
    assert {target for both in asked for target in both if target} <= targets
    modules = {*re.findall(r"(?:^|`)python -m ([\w.]+)", pages, flags=re.MULTILINE)}
    assert len(modules) > 3
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []
    for line in lines():
        for chapter, parameters in re.findall(r"papermill (?!--)(\S+) \S+((?: -p \S+ \S+)*)", line):
            known = papermill.inspect_notebook(str(ROOT / chapter))
            assert {*re.findall(r"-p (\S+)", parameters)} <= {*known}, line
