"""Checks of settings before any work starts: types, NaN, and the range of each number."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.errors import ConfigError
from isoglot.suggest import unknown

#: What a setting may be: an interval such as "[1, inf)" or "(0, 1]", or the words to choose from.
Limits = Mapping[str, str | Sequence[str]]

_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (numbers.Integral,),
    "float": (numbers.Real,),
    "bool": (bool,),
    "str": (str,),
}


def check_settings(settings: Any, limits: Limits | None = None, *, otherwise: str = "[0, inf)") -> None:
    """Raise ConfigError for the first field of a dataclass whose value has the wrong type or is out of its limits.

    Numbers without limits must be finite and in the interval `otherwise`. Fields other than numbers, strings and
    booleans are not checked, unless they have words to choose from.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Example:
    ...     rounds: int = 5
    ...     keep: float = 0.5
    >>> check_settings(Example(keep=2.0), {"keep": "(0, 1]"})
    Traceback (most recent call last):
        ...
    isoglot.errors.ConfigError: keep must be above 0 and at most 1, got 2.0
    """
    limits = limits or {}
    for field in dataclasses.fields(settings):
        name, value = field.name, getattr(settings, field.name)
        kind, _, rest = str(getattr(field.type, "__name__", field.type)).partition(" | ")
        if value is None and rest == "None":
            continue
        if kind in _KINDS and (not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "bool")):
            raise ConfigError(f"{name} takes {_spoken(kind)}, not {value!r}")
        allowed = limits.get(name)
        if allowed is not None and not isinstance(allowed, str):
            if value not in allowed:
                raise unknown(name, str(value), allowed, where=name)
        elif kind in ("int", "float"):
            _check_number(name, value, allowed or otherwise)


def _check_number(name: str, value: float, interval: str) -> None:
    low, high = (float(part) for part in interval[1:-1].split(","))
    above = value > low if interval[0] == "(" else value >= low
    below = value < high if interval[-1] == ")" else value <= high
    # Comparisons with NaN are all false; no setting may be infinite.
    if above and below and math.isfinite(value):
        return
    words = [] if low == -math.inf else [f"{'above' if interval[0] == '(' else 'at least'} {low:g}"]
    words += [] if high == math.inf else [f"{'below' if interval[-1] == ')' else 'at most'} {high:g}"]
    if not math.isfinite(value):
        words = [*words, "finite"]
    raise ConfigError(f"{name} must be {' and '.join(words)}, got {value}")


def _spoken(kind: str) -> str:
    return {"int": "a whole number", "float": "a number", "bool": "True or False", "str": "a string"}[kind]
