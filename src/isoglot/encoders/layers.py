"""Which layers of an encoder make a vector, and how they are put together.

Layers are counted as transformers counts hidden states: 0 is the embedding, 1 the first layer; -1 is the last. A text
says which: `-1`, `8`, `last4` (the last four, summed, as in Wang et al. 2020), `sum:5,6,7`, `mean:all`, or several side
by side in one longer vector, `7,8`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from isoglot.errors import ConfigError
from isoglot.spaces import FloatMatrix

Combination = Literal["sum", "mean", "concatenate"]


@dataclasses.dataclass(frozen=True)
class Layers:
    """Layers by number, counted from the embedding (0), and how their vectors become one."""

    numbers: tuple[int, ...]
    combination: Combination = "concatenate"

    def __str__(self) -> str:
        listed = ",".join(map(str, self.numbers))
        return listed if self.combination == "concatenate" else f"{self.combination}:{listed}"

    def dim(self, width: int) -> int:
        """The dimensions of a combined vector."""
        return width * len(self.numbers) if self.combination == "concatenate" else width


def parse_layers(text: str | int | Layers, depth: int) -> Layers:
    """Read a choice of layers for an encoder of `depth` layers.

    >>> parse_layers("last4", 6)
    Layers(numbers=(3, 4, 5, 6), combination='sum')
    >>> str(parse_layers("-1", 6)), str(parse_layers("mean:all", 2)), str(parse_layers("1,2", 6))
    ('6', 'mean:0,1,2', '1,2')
    """
    if isinstance(text, Layers):
        numbers: tuple[int, ...] = text.numbers
        return Layers(tuple(_checked(number, depth) for number in numbers), text.combination)
    plain = str(text).strip().lower()
    if plain.startswith("last") and plain[4:].isdigit() and plain[4:] != "0":
        count = int(plain[4:])
        if count > depth:
            what = f"{plain} asks for {count} layers, the encoder has {depth}"
            raise ConfigError(what, where="layer", remedy="choose e.g. sum:all, with the embedding")
        return Layers(tuple(range(depth - count + 1, depth + 1)), "sum" if count > 1 else "concatenate")
    head, colon, rest = plain.partition(":")
    combination: Combination = "concatenate"
    if colon:
        if head not in ("sum", "mean"):
            raise _unreadable(text)
        combination = "sum" if head == "sum" else "mean"
        plain = rest
    if plain == "last":
        plain = "-1"
    if plain == "all":
        return Layers(tuple(range(depth + 1)), combination)
    try:
        numbers = tuple(int(part) for part in plain.split(","))
    except ValueError:
        raise _unreadable(text) from None
    return Layers(tuple(_checked(number, depth) for number in numbers), combination)


def combine_layers(states: Sequence[FloatMatrix] | FloatMatrix, combination: Combination) -> FloatMatrix:
    """One vector a row from the vectors (k, n, d) of chosen layers; side by side, their dimensions may differ.

    >>> combine_layers(np.ones((2, 1, 3), np.float32), "sum").tolist()
    [[2.0, 2.0, 2.0]]
    """
    if len(states) == 1:
        only: FloatMatrix = states[0]
        return only
    if combination == "concatenate":
        return np.ascontiguousarray(np.concatenate(list(states), axis=1))
    total: FloatMatrix = np.sum(states, axis=0, dtype=np.float32)
    return total if combination == "sum" else total / np.float32(len(states))


def _checked(number: int, depth: int) -> int:
    if not -depth - 1 <= number <= depth:
        raise ConfigError(f"there is no layer {number}", where="layer", remedy=f"the encoder has layers 0 to {depth}")
    return number % (depth + 1)


def _unreadable(text: object) -> ConfigError:
    return ConfigError(
        f"unknown choice of layers {str(text)!r}",
        where="layer",
        remedy="give e.g. -1, 8, 7,8, last4, sum:5,6 or mean:all",
    )
