"""Whatever a document asks for, reading it ends soon, in little memory, by one clear error."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpnb.estimators.documents import MOST

# Of the processor, twice what is promised, for slow machines; and of memory, beside what the package itself takes.
SECONDS, MEGABYTES = 4.0, 1024
OLD = Path(__file__).with_name("documents_version_1.jsonl")
Document = dict[str, Any]

MEASURE = """
import os, resource, sys, time
import dpnb
paths = sys.argv[1:]

def told(path):
    try:
        dpnb.read(path)
    except dpnb.DataError as error:
        return f"DataError: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "a model"

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

told(paths[0])  # a model, so that everything is imported
for path in paths[1:]:
    out, into = os.pipe()
    if not (child := os.fork()):
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        before, start = peak(), time.process_time()
        answer = told(path)
        answer = f"{time.process_time() - start:.3f} {peak() - before:.1f} {answer}"
        os.write(into, answer.encode()[:4000])
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        answer = pipe.read().decode(errors="replace").replace("\\n", "|")
    os.waitpid(child, 0)
    print(answer or "99 99999 killed", flush=True)
"""


def old(name: str) -> Document:
    """A document of the first version, by its name in the file."""
    for line in OLD.read_text(encoding="utf-8").splitlines():
        if (found := json.loads(line))["name"] == name:
            return dict(found["document"])
    raise KeyError(name)


EVENT = {
    "what": "count", "epsilon": 1e-9, "rho": 0.0, "mechanism": "laplace", "sensitivity": 1.0,
    "change_range": "nan", "nodes": None, "times": 1,
}  # fmt: skip


def scope(*entries: Document, times: Any = 1, **more: Any) -> Document:
    return {"what": "part", "rule": "sequential", "epsilon": 1.0, "rho": 0.5, "times": times} | {
        "entries": list(entries), **more
    }  # fmt: skip


def step(size: float, times: Any = 1, kind: str = "selection") -> Document:
    return {"kind": kind, "size": size, "times": times}


def booster(**changes: Any) -> Document:
    """A booster's document with entries of its ledger, or other parts, changed."""
    document = old("PrivateBooster, pure")
    for name, value in changes.items():
        part = document["ledger"] if name in document["ledger"] else document
        part[name] = value
    return document


def with_delta(*entries: Document) -> Document:
    document = booster(entries=list(entries), delta=1e-5)
    document["parameters"]["delta"] = 1e-5
    return document


def deep(levels: int) -> Document:
    entry = dict(EVENT)
    for _ in range(levels):
        entry = scope(entry)
    return entry


def shapes(**changes: Any) -> Document:
    document = old("PrivateBooster, pure")
    document["model"]["models_"][0].update(changes)
    return document


def array(**changes: Any) -> Document:
    table = old("PrivateBooster, pure")["model"]["models_"][0]["table"]
    return shapes(table=table | changes)


def tree(name: str, change: Callable[[list[Any]], Any]) -> Document:
    document = old("DiffPRFs, default")
    first = document["model"]["trees_"][0]
    change((first["splits"] | first)[name]["data"])
    return document


def stumps(number: int, attributes: int) -> Document:
    document = old("DPAda, as written")
    names = [{"name": f"x{a}", "continuous": [0.0, 1.0]} for a in range(attributes)]
    document["domain"]["attributes"] = names
    model = document["model"]["model_"]
    model["stumps"] = [
        {
            "object": "Stump",
            "kind": 0,
            "attribute": k % attributes,
            "cut": (k + 1) / (number + 1),
            "sign": 1.0,
        }
        for k in range(number)
    ]
    model["alpha"] = {"array": "float64", "shape": [number], "data": [0.5] * number}
    return document


def many_classes(number: int, label: str = "") -> Document:
    document = old("DiffPRFs, default")
    document["parameters"]["vote"] = "majority"
    document["domain"]["classes"] = [f"{k}" for k in range(number)] + [label] * bool(label)
    return document


def many_blocks(number: int) -> Document:
    document = old("PrivateBooster, pure")
    model = document["model"]["models_"][0]
    model["blocks"] = model["blocks"][:1] * number
    size = model["blocks"][0]["axes"][0]["size"] * number
    model["table"] = {"array": "float64", "shape": [size], "data": [0.5] * size}
    return document


def chain(levels: int) -> Document:
    """A tree as deep as it has leaves."""
    document = old("DiffPRFs, default")
    classes, n = len(document["domain"]["classes"]), 2 * levels + 1
    inner = [i % 2 == 0 and i < n - 1 for i in range(n)]  # children 2i + 1 and 2i + 2 of the second one
    first = document["model"]["trees_"][0]
    numbers = {
        "kind": [0 if is_inner else -1 for is_inner in inner],
        "attribute": [0 if is_inner else -1 for is_inner in inner],
        "cut": [5.0 if is_inner else "nan" for is_inner in inner],
        "first_child": [i + 1 if is_inner else -1 for i, is_inner in enumerate(inner)],
        "depth": [(i + 1) // 2 for i in range(n)],
        "value": [1] * (n * classes),
    }
    for name, data in numbers.items():
        (first["splits"] if name in first["splits"] else first)[name] = {
            "array": "float64" if name in ("cut", "value") else "int64",
            "shape": [n, classes] if name == "value" else [n],
            "data": data,
        }
    document["model"]["trees_"] = [first]
    return document


def text(change: Callable[[str], str]) -> Callable[[], bytes]:
    """A file whose text is changed where no object has it."""
    return lambda: change(json.dumps(old("PrivateBooster, pure"))).encode()


def filled(part: str, *, end: str = "") -> bytes:
    """As large a file as is read, made of one part."""
    head = json.dumps(old("PrivateBooster, pure")).removesuffix("}") + ', "more": ['
    room = MOST.bytes - len(head) - len(end) - 2
    return (head + (part * (room // len(part))).removesuffix(",") + end + "]}").encode()


HOSTILE: dict[str, tuple[Callable[[], Document | bytes | Path], str]] = {
    # Products: what a few bytes ask for.
    "times": (lambda: booster(entries=[EVENT | {"times": 2**20}]), "entries, more than"),
    "times in times": (
        lambda: booster(entries=[scope(scope(EVENT | {"times": 1000}, times=1000), times=1000)]),
        "entries, more than",
    ),
    "nodes in scopes": (
        lambda: booster(entries=[scope(*[EVENT | {"nodes": 2**20}] * 20, times=20)]),
        "nodes, more than",
    ),
    "as many entries as may be": (
        lambda: booster(entries=[scope(EVENT | {"times": MOST.entries // 2 - 2}, times=2)]),
        "does not add up",
    ),
    "as many nodes as may be": (lambda: booster(entries=[EVENT | {"nodes": 2**24}]), "does not add up"),
    "scopes in scopes": (lambda: booster(entries=[deep(40)]), "scopes in each other"),
    "scopes deeper than Python goes": (lambda: booster(entries=[deep(400)]), "scopes in each other"),
    # What the accountant works out.
    "plans": (
        lambda: with_delta(scope(plans=[[step(1e-3 * (1 + i), 4000)] for i in range(30)])),
        "steps of plans, more than",
    ),
    "plans of many steps": (
        lambda: with_delta(scope(plans=[[step(1e-3 + 1e-9 * i) for i in range(20_000)]])),
        "steps of plans, more than",
    ),
    "plans of endless steps": (lambda: with_delta(scope(plans=[[step(1e-3, 10**18)]])), "steps of plans"),
    "plans for many entries": (
        lambda: with_delta(
            scope(EVENT | {"times": MOST.entries // 2}, plans=[[step(1e-3 * (1 + i))] for i in range(200)])
        ),
        "steps of plans",
    ),
    "as many plans as may be": (
        lambda: with_delta(scope(plans=[[step(0.1 + 1e-3 * i)] for i in range(250)])),
        "does not add up",
    ),
    "as many steps of plans as may be": (
        lambda: with_delta(scope(plans=[[step(0.01, 2000)], [step(0.02, 2000)]])),
        "does not add up",
    ),
    "as many steps as are worked out": (
        lambda: with_delta(
            *[EVENT | {"mechanism": "exponential", "epsilon": 1e-2 + 1e-6 * i} for i in range(4096)]
        ),
        "does not add up",
    ),
    "gaussians among choices": (
        lambda: with_delta(
            *[
                EVENT | ({"mechanism": "exponential", "epsilon": 0.01 + 1e-5 * i} if i % 2 else
                         {"mechanism": "gaussian", "epsilon": "inf", "rho": 1e-3 + 1e-6 * i})
                for i in range(4000)
            ]
        ),
        "does not add up",
    ),
    # Numbers.
    "negative times": (lambda: booster(entries=[EVENT | {"times": -1}]), "is there -1 times"),
    "times as a switch": (lambda: booster(entries=[EVENT | {"times": True}]), "is there True times"),
    "negative nodes": (lambda: booster(entries=[EVENT | {"nodes": -5}]), "has nodes -5"),
    "claim that is no number": (lambda: booster(claimed="nan"), "expected a number of at least 0"),
    "sums beyond all numbers": (
        lambda: booster(entries=[EVENT | {"epsilon": 1e308, "times": 9}]),
        "is damaged",
    ),
    "δ of 1": (lambda: booster(delta=1), "delta=1"),
    "NaN": (text(lambda t: t.replace('"constant": ', '"constant": NaN, "c": ')), "NaN is no number"),
    "huge exponent": (text(lambda t: t.replace('"claimed": 1.0', '"claimed": 1e999')), "1e999 is no number"),
    "many digits": (text(lambda t: t.replace('"claimed": 1.0', f'"claimed": {"9" * 400}.0')), "is no number"),
    "a whole number of many digits": (
        text(lambda t: t.replace('"claimed": 1.0', f'"claimed": {"9" * 5000}')),
        "is not a JSON document",
    ),
    "a whole number beyond all floats": (lambda: booster(claimed=10**400), "OverflowError"),
    # Arrays.
    "array of a huge type": (lambda: array(array="S999999999"), "an array of"),
    "array of an unknown type": (lambda: array(array="numpy.float64()"), "is damaged: TypeError"),
    "array of texts": (lambda: array(data=["1"] * 4), "that holds something else"),
    "halves among whole numbers": (
        lambda: tree("first_child", lambda data: data.__setitem__(0, 1.5)),
        "an array of int64 that holds something else",
    ),
    "a whole number beyond 64 bits": (
        lambda: tree("first_child", lambda data: data.__setitem__(0, 2**70)),
        "OverflowError",
    ),
    "negative shape": (lambda: array(shape=[-1]), "an array of shape"),
    # Models.
    "axis of a huge size": (
        lambda: shapes(blocks=[{"object": "Block", "axes": [{
            "object": "Axis", "attribute": 1, "size": 2**62,
            "cuts": {"array": "float64", "shape": [0], "data": []}}]}]),
        "does not fit the domain",
    ),
    "child far away": (lambda: tree("first_child", lambda data: data.__setitem__(0, 2**40)), "nodes that are no child"),
    "depth that cards would indent by": (
        lambda: tree("depth", lambda data: data.__setitem__(-1, 10**9)),
        "not one more than their parent's",
    ),
    "more stumps than can be added up": (lambda: stumps(16_000, 8_000), "are too many to score with"),
    "as many stumps as can be": (lambda: stumps(16_384, 200), "its ledger is for|does not add up|a model"),
    "classes without end": (lambda: many_classes(200_000), "more than 1024 classes"),
    "a class of a million letters": (lambda: many_classes(1000, "a" * 10**6), "characters"),
    "blocks without end": (lambda: many_blocks(MOST.braces // 8), "a model"),
    "a tree of one branch": (lambda: chain(20_000), "a model"),
    # Text.
    "lists in lists": (lambda: b'{"a": ' + b"[" * 10**5, "is not a JSON document"),
    "two ledgers": (text(lambda t: t.replace('"ledger": {', '"ledger": {}, "ledger": {')), "'ledger' comes twice"),
    "half a letter": (text(lambda t: t.replace("outcome", "\\ud800")), "half a letter"),
    "other bytes": (lambda: b"\x80" * 1000, "it is no text"),
    "list for a ledger's name": (lambda: booster(entries=[EVENT | {"what": []}]), "is called"),
    "version as a switch": (lambda: booster(version=True), "has version True"),
    "a stream without end": (lambda: Path("/dev/zero"), "more than"),
    "too large": (lambda: b" " * (MOST.bytes + 1), "more than"),
    "lists without end": (lambda: filled("[],"), "lists and objects"),
    "zeros without end": (lambda: filled("0,"), "a model"),
    "digits without end": (lambda: filled("9" * 299 + ","), "a model|is not a JSON document"),
    "exponents without end": (lambda: filled("1e100,"), "a model"),
}  # fmt: skip


def measured(
    files: dict[str, Callable[[], Document | bytes | Path]], folder: Path, *, first: str = ""
) -> dict[str, tuple[float, float, str]]:
    """Seconds, megabytes and words that each file takes, in processes of their own."""
    if sys.platform != "linux":
        pytest.skip("processor time and memory of a child are measured as Linux counts them")
    paths = []
    for name, make in {"fine": booster, **files}.items():
        made = make()
        path = made if isinstance(made, Path) else folder / f"{name}.json"
        if isinstance(made, bytes):
            path.write_bytes(made)
        elif not isinstance(made, Path):
            path.write_text(json.dumps(made), encoding="utf-8")
        paths.append(str(path))
    script = [sys.executable, "-c", first + MEASURE]
    run = subprocess.run([*script, *paths], capture_output=True, text=True, check=True)
    lines = [line.split(" ", 2) for line in run.stdout.splitlines()]
    return {
        name: (float(seconds), float(megabytes), told)
        for name, (seconds, megabytes, told) in zip(files, lines, strict=True)
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, float, str]]:
    return measured({name: make for name, (make, _) in HOSTILE.items()}, tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_answered(name: str, answers: dict[str, tuple[float, float, str]]) -> None:
    seconds, megabytes, told = answers[name]
    print(f"| {name} | {seconds:.2f} s | {megabytes:.0f} MB | {told[:150]} |")
    assert re.search(HOSTILE[name][1], told), told
    assert told == "a model" or told.startswith("DataError: ")
    assert seconds < SECONDS
    assert megabytes < MEGABYTES


def test_without_limits_documents_take_time_and_memory(tmp_path: Path) -> None:
    """Broken twin: a package that takes what it is asked for."""
    lifted = "import dpnb.estimators.documents as d; d.MOST = d.Limits(nodes=2**60, steps=2**60)\n"
    plans = [[step(0.1 + 1e-3 * i)] for i in range(4000)]
    files = {
        "nodes": lambda: booster(entries=[EVENT | {"nodes": 2**28}]),
        "plans": lambda: with_delta(scope(plans=plans)),
    }
    found = measured(files, tmp_path, first=lifted)
    assert found["nodes"][1] > MEGABYTES
    assert found["plans"][0] > SECONDS
