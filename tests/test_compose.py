"""The files of the cluster at home fit each other, and name the versions of constraints.txt."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from test_environment import pins, project

FOLDER = Path("book") / "_static" / "cluster"


def read(root: Path, name: str) -> str:
    return (root / FOLDER / name).read_text(encoding="utf-8")


def wrong_versions(dockerfile: str, compose: dict[str, Any], root: Path) -> list[str]:
    """Versions in the files that are not those of the project."""
    known = pins(root) | {"dpnb": project(root)["version"]}
    installed = re.findall(r"([\w-]+)(?:\[\w+\])?==([\w.]+)", dockerfile)
    images = [("pyspark", service["image"].partition(":")[2]) for service in compose["services"].values()]
    (python,) = re.findall(r"^FROM python:(\d+\.\d+)-slim", dockerfile, re.MULTILINE)
    (java,) = re.findall(r"openjdk-(\d+)-jre-headless", dockerfile)
    (needed,) = re.findall(r"^JAVA = (\d+)", (root / "dpnb/spark/session.py").read_text(), re.MULTILINE)
    found = [f"{name} {version}" for name, version in [*installed, *images] if known.get(name) != version]
    found += [] if SpecifierSet(project(root)["requires-python"]).contains(python) else [f"Python {python}"]
    found += [] if int(java) >= int(needed) else [f"Java {java}"]
    return found + [f"no {name}" for name in ("dpnb", "pyspark", "numpy") if name not in dict(installed)]


def faults(compose: dict[str, Any]) -> list[str]:
    """Names that are no service, ports that others reach, other images, and builds beside the master's."""
    services = compose["services"]
    hosts = [
        (name, host)
        for name, service in services.items()
        for host in [
            *service.get("depends_on", []),
            *re.findall(r"spark://([\w-]+):", str(service["command"])),
        ]
    ]
    own = [(name, s["command"][s["command"].index("--host") + 1]) for name, s in services.items()]
    found = [f"{name}: {host} is no service" for name, host in hosts if host not in services]
    found += [f"{name}: calls itself {host}" for name, host in own if name != host]
    ports = [(name, str(port)) for name, service in services.items() for port in service.get("ports", [])]
    found += [f"{name}: {port} is open" for name, port in ports if not port.startswith("127.0.0.1:")]
    found += ["more than one image"] if len({service["image"] for service in services.values()}) > 1 else []
    builders = [name for name, service in services.items() if "build" in service]
    return found if builders == ["master"] else [*found, f"{' and '.join(builders)} build"]


def test_the_versions_are_those_of_the_project(root: Path) -> None:
    dockerfile, compose = read(root, "Dockerfile"), yaml.safe_load(read(root, "compose.yml"))
    assert wrong_versions(dockerfile, compose, root) == []


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        (r"pyspark==\S+", "pyspark==4.2.0", ["pyspark 4.2.0"]),
        (r"pyspark==\S+", "pyspark", ["no pyspark"]),
        (r"\[spark\]==[\d.]+", "[spark]==9.9", ["dpnb 9.9"]),
        (r"python:\S+", "python:3.10-slim-bookworm", ["Python 3.10"]),
        (r"openjdk-\d+", "openjdk-11", ["Java 11"]),
    ],
)
def test_another_version_is_caught(before: str, after: str, wrong: list[str], root: Path) -> None:
    dockerfile, compose = read(root, "Dockerfile"), yaml.safe_load(read(root, "compose.yml"))
    assert wrong_versions(re.sub(before, after, dockerfile), compose, root) == wrong
    compose["services"]["worker-1"]["image"] = "dpnb-spark:4.2.0"
    assert wrong_versions(dockerfile, compose, root) == ["pyspark 4.2.0"]


def test_the_services_find_each_other(root: Path) -> None:
    compose = yaml.safe_load(read(root, "compose.yml"))
    assert faults(compose) == []
    assert set(compose["services"]) == {"master", "worker-1", "worker-2"}
    for service, key, value, fault in (
        ("worker-1", "depends_on", ["boss"], "worker-1: boss is no service"),
        ("worker-2", "command", ["--host", "worker-2", "spark://boss:7077"], "worker-2: boss is no service"),
        ("worker-2", "command", ["--host", "worker-1"], "worker-2: calls itself worker-1"),
        ("master", "ports", ["8080:8080"], "master: 8080:8080 is open"),
        ("master", "image", "spark:4.3.0", "more than one image"),
        ("worker-1", "build", ".", "master and worker-1 build"),
    ):
        twin = copy.deepcopy(compose)
        twin["services"][service][key] = value
        assert faults(twin) == [fault]
