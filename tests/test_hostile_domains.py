"""Domain files that are none: each is refused by a DomainError, whatever stands in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpnb import Domain, DomainError
from dpnb.domain import Continuous, yaml_text

B = b"target: y\nclasses: [a, b]\nattributes:\n"
X = b"- {name: x, continuous: [0, 1]}\n"
G = B + X
A = b"attributes:\n" + X
C = b"attributes:\n" + X + b"classes: "
TENS = b"".join(b" %c: &%c [%s],\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 10)) for i in range(8))
BOMB = b"csv: {a: &a [x,x,x,x,x,x,x,x,x,x],\n" + TENS + b"}"  # *i is a thousand million letters

REFUSED: dict[str, bytes] = {
    "null bytes": b"\x00\x00",
    "classes dicts": C + b"[{a: 1}, {b: 1}]",
    "classes tagged null": C + b"[a, !!null x]",
    "huge int class": b"classes: [a, "+b"9"*5000+b"]\nattributes:\n- {name: x, continuous: [0, 1]}",
    "int 400 class": b"classes: [1, "+b"9"*400+b"]\nattributes:\n- {name: x, continuous: [0, 1]}",
    "int 400 pair": b"classes: ["+b"8"*400+b", "+b"9"*400+b"]\nattributes:\n- {name: x, continuous: [0, 1]}",
    "inf class": C + b"[a, 1e999]",
    "key list": b"? [a, b]\n: 1\nclasses: [a, b]\n",
    "key dict": b"? {a: b}\n: 1\n",
    "key list in entry": B+b"- {name: x, continuous: [0, 1], ? [a] : 3}\n",
    "attributes empty": b"classes: [a, b]\nattributes: []",
    "name dict": B+b"- {name: {a: b}, categorical: [0, 1]}\n",
    "bounds .nan": B+b"- {name: x, continuous: [.nan, .inf]}\n",
    "bounds 1e999": B+b"- {name: x, continuous: [0, 1e999]}\n",
    "bounds 10^400": B+b"- {name: x, continuous: [0, 1"+b"0"*400+b"]}\n",
    "bounds 10^5000": B+b"- {name: x, continuous: [0, 1"+b"0"*5000+b"]}\n",
    "bounds date 0000": B+b"- {name: x, continuous: [0000-01-01, 9999-12-31]}\n",
    "bounds date 9999": B+b"- {name: x, continuous: [9999-12-31, 9999-12-31]}\n",
    "unit date numbers": B+b"- {name: x, continuous: [0, 1e300], unit: date}\n",
    "unit date str numbers": B+b"- {name: x, continuous: ['0', '1e300'], unit: date}\n",
    "unknown dict": B+b"- {name: x, categorical: [0, 1], unknown: {a: b}}\n",
    "values set": B+b"- {name: x, categorical: !!set {a, b}}\n",
    "values binary": B+b"- {name: x, categorical: [!!binary aGVsbG8=, b]}\n",
    "bad binary": B+b"- {name: x, categorical: [!!binary a, b]}\n",
    "values timestamp": B+b"- {name: x, categorical: [!!timestamp 2001-01-01, b]}\n",
    "bad timestamp": B+b"- {name: x, categorical: [!!timestamp 2001-13-41, b]}\n",
    "bad timestamp2": B+b"- {name: x, categorical: [!!timestamp x, b]}\n",
    "bad int": B+b"- {name: x, continuous: [!!int abc, 1]}\n",
    "bad bool": B+b"- {name: x, continuous: [0, 1], clip: !!bool abc}\n",
    "empty int": B+b"- {name: x, continuous: [!!int '', 1]}\n",
    "int sexagesimal": B+b"- {name: x, continuous: [!!int 1:x, 1]}\n",
    "map of list": B+b"- {name: x, continuous: !!map [0, 1]}\n",
    "str of list": B+b"- {name: !!str [a], continuous: [0, 1]}\n",
    "unknown tag": B+b"- {name: x, categorical: !foo [a]}\n",
    "recursion alias": B+b"- &a [*a]\n",
    "recursive doc": b"&a {classes: [a, b], attributes: [*a]}",
    "recursive values": B+b"- {name: x, categorical: &a [1, *a]}\n",
    "recursive name": B+b"- &a {name: *a, continuous: [0, 1]}\n",
    "recursive key": b"&a {? *a : 1}",
    "alias unknown": B+b"- *b\n",
    "bomb": BOMB + b"\nclasses: [a, b]\nattributes: *i\n",
    "bomb in classes": BOMB + b"\nclasses: *i\nattributes: []\n",
    "bomb in bounds": BOMB + b"\nclasses: [a, b]\nattributes: [{name: x, continuous: [*i, *i]}]\n",
    "merge bomb": b"a: &a {x: 1}\n<<: [*a, *a]\n",
    "merge number": b"<<: 3\nclasses: [a, b]\n",
    "merge list": b"<<: [3]\n",
    "merge entry": B+b"- {<<: {name: x}, continuous: [0, 1]}\n",
    "deep lists": b"["*5000,
    "deep map": b"".join(b" "*i+b"a:\n" for i in range(600)),
    "deep flow in key": b"{"*2000,
    "deep values": B+b"- {name: x, categorical: "+b"["*400+b"]"*400+b"}\n",
    "directive bad": b"%TAG ! x\n",
    "anchor twice": b"a: &a 1\nb: &a 2\n",
    "unclosed quote": b"classes: ['a",
    "half surrogate": B+b'- {name: "\\ud800", continuous: [0, 1]}\n',
    "half surrogate class": b'classes: ["\\ud800", b]\nattributes:\n- {name: x, continuous: [0, 1]}',
    "codepoint": B+b'- {name: "\\UFFFFFFFF", continuous: [0, 1]}\n',
    "unknown keys types": G+b"null: 3\n",
    "values huge ints": B+b"- {name: x, categorical: [9007199254740993, 9007199254740992]}\n",
    "values 10^5000": B+b"- {name: x, categorical: [1, 1"+b"0"*5000+b"]}\n",
    "value null": B+b"- {name: x, categorical: [!!null '', a]}\n",
    "target list": A+b"target: [price, 0, 1]\n",
    "range upside down": A+b"target: {name: p, range: [1, 0]}\n",
    "range .nan": A+b"target: {name: p, range: [.nan, 1]}\n",
    "range 1e999": A+b"target: {name: p, range: [0, 1e999]}\n",
    "range 10^5000": A+b"target: {name: p, range: [0, 1"+b"0"*5000+b"]}\n",
    "range of dates": A+b"target: {name: p, range: [2001-01-01, 2002-01-01]}\n",
    "range dict": A+b"target: {name: p, range: {0: 1}}\n",
    "range recursive": A+b"target: {name: p, range: &r [0, *r]}\n",
    "range beside classes": C + b"[a, b]\ntarget: {name: p, range: [0, 1]}\n",
    "range beside a number of classes": C + b"2\ntarget: {name: p, range: [0, 1]}\n",
    "range and missing": A+b"target: {name: p, range: [0, 1], missing: true}\n",
    "range without a name": A+b"target: {range: [0, 1]}\n",
    "range key list": A+b"target: {name: p, range: [0, 1], ? [a] : 3}\n",
    "range name dict": A+b"target: {name: {a: b}, range: [0, 1]}\n",
    "regex redos": B+b"- {name: x, continuous: [0, "+b"1"*4000+b"e"+b"1"*4000+b"x]}\n",
}  # fmt: skip

READ: dict[str, bytes] = {  # odd ones that are domains
    "classes null": C + b"[a, null]",
    "classes nulltilde": C + b"[a, ~]",
    "bounds tiny": B+b"- {name: x, continuous: [0, 5e-324]}\n",
    "dates far": B+b"- {name: x, continuous: [0001-01-01, 9999-12-31], missing: true}\n",
    "timestamp bounds": B+b"- {name: x, continuous: [!!timestamp 2001-01-01, !!timestamp 2002-01-01 10:00:00Z]}\n",
    "control": B+b'- {name: "\\0", continuous: [0, 1]}\n',
    "line end of old": B+b'- {name: "a\\Nb", continuous: [0, 1]}\n',
    "range tiny": A+b"target: {name: p, range: [0, 5e-324]}\n",
    "range of texts": A+b"target: {name: p, range: ['0', '1e3'], unit: '\\0'}\n",
    "csv list": G+b"csv: [3]\n",
    "csv number": G+b"csv: 3\n",
}  # fmt: skip


def read(content: bytes, folder: Path) -> Domain:
    path = folder / "domain.yml"
    path.write_bytes(content)
    return Domain.from_yaml(path)


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_domain_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DomainError) as error:
        read(REFUSED[name], tmp_path)
    assert str(tmp_path / "domain.yml") in str(error.value)
    assert len(str(error.value)) < 10_000


@pytest.mark.parametrize("name", READ)
def test_an_odd_domain_file_is_read_and_written(name: str, tmp_path: Path) -> None:
    domain = read(READ[name], tmp_path)
    domain.to_yaml(tmp_path / "again.yml")
    assert Domain.from_yaml(tmp_path / "again.yml") == domain


def test_without_a_reader_of_our_own_other_errors_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twin: what PyYAML stumbles over by itself."""
    monkeypatch.setattr(yaml_text, "parse", lambda text: yaml.load(text, Loader=yaml_text._Loader))
    found = set()
    for name in ("bad int", "bad bool", "map of list", "empty int", "deep lists", "bad timestamp2"):
        with pytest.raises(Exception) as error:  # noqa: PT011 - which one it is differs
            read(REFUSED[name], tmp_path)
        found.add(type(error.value).__name__)
    assert found == {"ValueError", "KeyError", "TypeError", "IndexError", "RecursionError", "AttributeError"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Continuous("x", 0, 10**5000),
        lambda: Continuous("x", 0, 1e9, unit="date"),
        lambda: Domain((Continuous("x", 0, 1),), (0, 10**5000)),
        lambda: Domain((Continuous("x", 0, 1),), (0, float("inf"))),
        lambda: Domain((Continuous("x", 0, 1),), (2**53, 2**53 + 1)),
        lambda: Domain.from_document(
            {"classes": [0, 1], "attributes": [{"name": "\ud800", "categorical": [0, 1]}]}
        ),
    ],
)
def test_what_no_file_can_say_is_no_domain_either(make: Callable[[], Any]) -> None:
    with pytest.raises(DomainError):
        make()
