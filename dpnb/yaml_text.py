"""YAML as domain files have it: words such as ``yes`` and ``no`` stay words, and 1:30 is no number."""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml import YAMLError

__all__ = ["YAMLError", "dump", "parse"]


def parse(text: str) -> Any:
    """Read a document."""
    return yaml.load(text, Loader=_Loader)


def dump(document: object) -> str:
    """Write a document that :func:`parse` reads; lists of plain values stay on a line."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=100
    )
    return text


# YAML 1.1 takes yes, no, on and off for booleans and 1:30 for a number: all plausible categories.
_RESOLVERS = [
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), "tf"),
    ("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
        "-+.0123456789",
    ),
]


class _Loader(yaml.SafeLoader):
    pass


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Outside double quotes PyYAML loses unusual line ends such as U+0085.
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


# Writer and reader share the rules, so that the writer quotes what the reader would take for a number.
_Loader.yaml_implicit_resolvers = {}
_Dumper.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(_tag, _pattern, list(_first))
    _Dumper.add_implicit_resolver(_tag, _pattern, list(_first))
