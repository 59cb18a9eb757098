"""Unknown names: one error for all of them, which suggests the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from isoglot.errors import ConfigError

T = TypeVar("T")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to this one, if any is similar."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def hint(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """What to do about an unknown name: "did you mean 'x'?", else `otherwise`, else the list of all.

    >>> hint("procrutes", ["procrustes", "cca"]), hint("zzz", ["procrustes", "cca"])
    ("did you mean 'procrustes'?", 'choose one of: procrustes, cca')
    """
    known = list(known)
    near = nearest(name, known)
    return f"did you mean {near!r}?" if near else otherwise or f"choose one of: {', '.join(known)}"


def unknown(kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> ConfigError:
    """The error to raise for an unknown name.

    >>> raise unknown("method", "procrutes", ["procrustes", "cca"])
    Traceback (most recent call last):
        ...
    isoglot.errors.ConfigError: unknown method 'procrutes'; did you mean 'procrustes'?
    """
    return ConfigError(f"unknown {kind} {name!r}", where=where, remedy=hint(name, known))


def choose(kind: str, name: str, table: Mapping[str, T], *, where: str | None = None) -> T:
    """The entry of a table; an unknown name is an error that suggests the nearest one."""
    if name not in table:
        raise unknown(kind, name, table, where=where)
    return table[name]
