"""The three files that name versions agree: pyproject.toml, environment.yml and constraints.txt."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

Bounds = dict[str, SpecifierSet]
CONDA_EXTRAS = ("plot", "test")  # what environment.yml installs besides the core


def bounds(lines: Iterable[str]) -> Bounds:
    requirements = [Requirement(line) for line in lines]
    return {
        canonicalize_name(r.name): r.specifier for r in requirements if r.name != "dpnb"
    }  # an extra of ours


def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def of_the_book(root: Path) -> list[str]:
    return project(root / "book")["dependencies"]


def conda_lines(root: Path) -> list[str]:
    """List the requirements of environment.yml, those for pip included."""
    entries = yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    pip = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    plain = [entry for entry in entries if isinstance(entry, str) and entry != "pip"]
    return plain + [entry for entry in pip if not entry.startswith("-e ")]


def pins(root: Path) -> dict[str, str]:
    lines = (root / "constraints.txt").read_text(encoding="utf-8").split()
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


def differences(ours: Bounds, theirs: Bounds) -> list[str]:
    names = sorted({*ours, *theirs})
    return [f"{n}: {ours.get(n)} or {theirs.get(n)}" for n in names if ours.get(n) != theirs.get(n)]


def violations(required: Bounds, pinned: dict[str, str]) -> list[str]:
    return [
        f"{name}{specifier}: pinned at {pinned.get(name)}"
        for name, specifier in required.items()
        if name not in pinned or not specifier.contains(pinned[name], prereleases=True)
    ]


def test_environment_has_the_bounds_of_pyproject(root: Path) -> None:
    spec = project(root)
    extras = (line for extra in CONDA_EXTRAS for line in spec["optional-dependencies"][extra])
    conda = bounds(conda_lines(root))
    python = conda.pop("python")
    assert differences(bounds([*spec["dependencies"], *of_the_book(root), *extras]), conda) == []
    assert set(SpecifierSet(spec["requires-python"])) <= set(python)


@pytest.mark.parametrize(
    "broken",
    [["numpy>=2.0,<4", "scipy>=1.13,<2"], ["numpy>=2.1,<3", "scipy>=1.13,<2"], ["numpy>=2.0,<3"]],
    ids=["wider", "narrower", "missing"],
)
def test_a_changed_bound_is_caught(broken: list[str]) -> None:
    ours = bounds(["numpy>=2.0,<3", "SciPy<2,>=1.13"])
    assert differences(ours, bounds(["numpy<3,>=2.0", "scipy>=1.13,<2"])) == []
    assert len(differences(ours, bounds(broken))) == 1


def test_environment_installs_the_package_itself(root: Path) -> None:
    environment = yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))
    assert environment["channels"] == ["conda-forge"]
    assert {"-e .", "-e ./book"} <= set(environment["dependencies"][-1]["pip"])


def test_constraints_are_exact_versions_without_addresses(root: Path) -> None:
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    wrong = [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)]
    assert wrong == []


def test_constraints_keep_the_bounds_of_pyproject(root: Path) -> None:
    spec = project(root)
    extras = (line for lines in spec["optional-dependencies"].values() for line in lines)
    assert violations(bounds([*spec["dependencies"], *of_the_book(root), *extras]), pins(root)) == []


def test_a_pin_outside_its_bounds_is_caught() -> None:
    required = bounds(["numpy>=2.0,<3", "scipy>=1.13"])
    assert violations(required, {"numpy": "2.4.6", "scipy": "1.17.1"}) == []
    assert len(violations(required, {"numpy": "3.0.0", "scipy": "1.17.1"})) == 1
    assert len(violations(required, {"numpy": "2.4.6"})) == 1


def served(root: Path, folder: Path, port: int) -> subprocess.CompletedProcess[str]:
    """``make serve`` where the book is built by a command that leaves a mark and stops."""
    shutil.copy(root / "Makefile", folder)
    tools = folder / ".venv" / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    for name in ("pyproject.toml", "book/pyproject.toml", "constraints.txt", ".venv/.installed"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    for name, script in (("python", f'exec {sys.executable} "$@"'), ("jupyter-book", "touch built; exit 3")):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    return subprocess.run(
        ["make", "serve", f"PORT={port}"], cwd=folder, capture_output=True, text=True, check=False
    )


def dry(folder: Path, port: int) -> str:
    """What ``make serve`` would do where nothing is installed yet."""
    (folder / ".venv" / ".installed").unlink()
    run = ["make", "--dry-run", "serve", f"PORT={port}"]
    told = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False).stdout
    (folder / ".venv" / ".installed").touch()
    return told


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_a_busy_port_is_told_before_the_book_is_built(root: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        run = served(root, tmp_path, port)
        assert run.returncode != 0
        assert f"Port {port} is taken: name another one" in run.stdout
        assert not (tmp_path / "built").exists()
        assert "venv" not in dry(tmp_path, port).partition("create_server")[0]  # nothing is installed before
    served(root, tmp_path, port)  # broken twin: the port is free, and the book is built
    assert (tmp_path / "built").exists()
