"""Methods by name: ours, those of entry points, and `module:Class` or `file.py:Class` of a user's own.

A new method is one new file in a family's folder with the `@method(...)` decorator; the command line, docs, tests and
recipes read this table. Method files import heavy libraries only inside functions, so that listing them stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.aligners.base import METHODS, Aligner
from isoglot.assignments import check_known, read_assignments, setting_types
from isoglot.errors import ConfigError
from isoglot.suggest import hint


def methods() -> Mapping[str, type[Aligner]]:
    """All aligners by name, in alphabetical order."""
    return METHODS.all()


def find_method(name: str) -> type[Aligner]:
    """The class of a method in the table, or of `module:Class` or `file.py:Class`."""
    return METHODS.get(name)


def aligner(name: str, /, *, preset: str | None = None, **settings: Any) -> Aligner:
    """The named method with these settings; `preset` names several at once, of which others may differ.

    >>> aligner("procrustes", normalise="unit")
    aligner('procrustes', normalise='unit')
    >>> aligner("isoglot.aligners.closed_form.procrustes:Procrustes", seed=3)
    aligner('procrustes', seed=3)
    >>> aligner("vecmap-unsupervised", preset="paper", seed=3).patience
    50
    """
    cls = find_method(name)
    check_known(settings, setting_types(cls), cls.method.name)
    if preset is not None:
        if preset not in cls.presets:
            remedy = hint(preset, cls.presets, f"known: {', '.join(cls.presets)}" if cls.presets else "leave it out")
            raise ConfigError(f"{cls.method.name} has no preset {preset!r}", where="preset", remedy=remedy)
        settings = {**cls.presets[preset], **settings}
    return cls(**settings)


def read_settings(name: str, assignments: Sequence[str]) -> dict[str, Any]:
    """Settings of the named method given as `key=value` texts; values are read by the setting's own type.

    They may include `preset`.

    >>> read_settings("least-squares", ["ridge=0.5", "match-dimensions=yes"])
    {'ridge': 0.5, 'match_dimensions': True}
    """
    cls = find_method(name)
    types = {**setting_types(cls), **({"preset": "str"} if cls.presets else {})}
    return read_assignments(assignments, types, owner=cls.method.name)
