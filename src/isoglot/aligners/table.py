"""The table of methods: every aligner of this package, found by itself.

A new method is one new file here with the `@method(...)` decorator; the command line, docs, tests and recipes read this
table. Method files import heavy libraries only inside functions, so that listing the methods stays quick.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import isoglot.aligners
from isoglot.aligners.base import Aligner, configured
from isoglot.errors import ConfigError

__all__ = ["aligner", "methods"]


@functools.cache
def methods() -> Mapping[str, type[Aligner]]:
    """All aligners by name, in alphabetical order."""
    found: dict[str, type[Aligner]] = {}
    for module in pkgutil.iter_modules(isoglot.aligners.__path__):
        for value in vars(importlib.import_module(f"isoglot.aligners.{module.name}")).values():
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
