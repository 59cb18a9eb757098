"""The table of methods: every aligner of this package, found by itself.

A new method is one new file here with the `@method(...)` decorator; the command line, docs, tests and recipes read this
table. Method files import heavy libraries only inside functions, so that listing the methods stays quick.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any

import isoglot.aligners
from isoglot.aligners.base import Aligner, configured
from isoglot.errors import ConfigError

__all__ = ["aligner", "methods", "read_settings"]


@functools.cache
def methods() -> Mapping[str, type[Aligner]]:
    """All aligners by name, in alphabetical order."""
    found: dict[str, type[Aligner]] = {}
    for module in pkgutil.walk_packages(isoglot.aligners.__path__, "isoglot.aligners."):
        if ".networks" in module.name:  # torch, imported when one of them is fitted
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, Aligner) and "method" in value.__dict__:
                found[value.method.name] = value
    return dict(sorted(found.items()))


def aligner(name: str, settings: Mapping[str, Any] | None = None) -> Aligner:
    """The named method with these settings.

    >>> aligner("procrustes", {"normalise": "unit"}).normalise
    'unit'
    """
    known = methods()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"known methods: {', '.join(known)}"
        raise ConfigError(f"unknown method {name!r}", remedy=remedy)
    return configured(known[name], settings or {})


def read_settings(name: str, assignments: Sequence[str]) -> dict[str, Any]:
    """Settings of the named method given as `key=value` texts; values are read by the setting's own type.

    >>> read_settings("least-squares", ["ridge=0.5", "match-dimensions=yes"])
    {'ridge': 0.5, 'match_dimensions': True}
    """
    cls = methods().get(name)
    types = {} if cls is None else {field.name: str(field.type) for field in dataclasses.fields(cls)}
    settings = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise ConfigError(f"a setting is given as key=value, not {assignment!r}")
        key = key.strip().replace("-", "_")
        if key in settings:
            raise ConfigError(f"{key} is given twice", remedy="give it once")
        settings[key] = _value(key, value.strip(), types.get(key, "str"))
    return settings


def _value(key: str, text: str, kind: str) -> Any:
    if text.lower() in ("none", "null") and "None" in kind:
        return None
    try:
        if "bool" in kind:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
        if "int" in kind:
            return int(text)
        if "float" in kind:
            return float(text)
    except (KeyError, ValueError):
        raise ConfigError(f"{key} takes {kind}, not {text!r}") from None
    return text
