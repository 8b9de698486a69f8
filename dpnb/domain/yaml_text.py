"""YAML by the rules of domain files, where words such as ``yes`` and ``no`` stay words, and 1:30 is no number."""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml import YAMLError

__all__ = ["YAMLError", "dump", "parse", "why"]


def parse(text: str) -> Any:
    """Read a document.

    Raises
    ------
    YAMLError If it is no YAML, if it contains itself, or if it holds more than a million values, each counted as often
        as it is referred to.
    """
    try:
        document = yaml.load(text, Loader=_Loader)
    except YAMLError:
        raise
    except Exception as error:  # PyYAML may raise any error
        said = " ".join(str(error).split())
        raise YAMLError(f"{said}; expected words, numbers, lists, and lines `name: value`") from error
    _check_size(document)
    return document


def _check_size(document: Any) -> None:
    pending, seen, most = [document], 0, 2**20
    while pending and seen <= most:
        part = pending.pop()
        seen += 1
        pending += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    if pending:
        raise YAMLError(f"it holds itself, or more than {most} values; write lists out, without & and *")


def why(error: YAMLError) -> str:
    """What is wrong with a document, in which line, and where to look."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return " ".join(str(error).split())
    hint = "indent with spaces" if "'\\t'" in problem else "check brackets, quotes and indentation there"
    return f"line {mark.line + 1}: {problem}; {hint}"


def dump(document: object) -> str:
    """Write a document that :func:`parse` reads; lists of plain values stay on one line."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=100
    )
    return text


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        # YAML forbids a key that comes twice; PyYAML would take the last one.
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise YAMLError(
                    f"line {key.start_mark.line + 1}: a name is a list; write a word before the colon"
                )
            if key.value in seen:
                where = f"line {key.start_mark.line + 1}"
                raise YAMLError(f"the key {key.value!r} comes twice, again in {where}: remove one")
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Outside double quotes PyYAML loses unusual line ends such as U+0085.
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


# YAML 1.1 takes yes, no, on and off for booleans and 1:30 for a number: all plausible categories. Writer and reader
# share other rules, so that the writer quotes what the reader would take for a number.
for _side in (_Loader, _Dumper):
    _side.yaml_implicit_resolvers = {}
    for _tag, _pattern, _first in (
        ("bool", r"^(?:true|false)$", "tf"),
        ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
        (
            "float",
            r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$",
            "-+.0123456789",
        ),
    ):
        _side.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))
