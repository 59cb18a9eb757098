"""Methods by name: ours, those of entry points, and `module:Class` or `file.py:Class` of a user's own.

A new method is one new file in a family's folder with the `@method(...)` decorator; the command line, docs, tests and
recipes read this table. Method files import heavy libraries only inside functions, so that listing them stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.aligners.base import METHODS, Aligner
from isoglot.assignments import check_known, read_assignments, setting_types


def methods() -> Mapping[str, type[Aligner]]:
    """All aligners by name, in alphabetical order."""
    return METHODS.all()


def find_method(name: str) -> type[Aligner]:
    """The class of a method in the table, or of `module:Class` or `file.py:Class`."""
    return METHODS.get(name)


def aligner(name: str, /, **settings: Any) -> Aligner:
    """The named method with these settings.

    >>> aligner("procrustes", normalise="unit")
    aligner('procrustes', normalise='unit')
    >>> aligner("isoglot.aligners.closed_form.procrustes:Procrustes", seed=3)
    aligner('procrustes', seed=3)
    """
    cls = find_method(name)
    check_known(settings, setting_types(cls), cls.method.name)
    return cls(**settings)


def read_settings(name: str, assignments: Sequence[str]) -> dict[str, Any]:
    """Settings of the named method given as `key=value` texts; values are read by the setting's own type.

    >>> read_settings("least-squares", ["ridge=0.5", "match-dimensions=yes"])
    {'ridge': 0.5, 'match_dimensions': True}
    """
    cls = find_method(name)
    return read_assignments(assignments, setting_types(cls), owner=cls.method.name)
