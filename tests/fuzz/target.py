"""`Target`: something that Isoglot reads, a small valid specimen of it, and how to tell that what came out is sound."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.spaces import Space

__all__ = ["TARGETS", "Target", "Unsound", "check_finite", "check_space", "target"]


class Unsound(Exception):
    """A damaged file was accepted, and what came out of it is wrong."""


@dataclasses.dataclass(frozen=True)
class Target:
    """One reader.

    Args:
        make: writes a valid specimen into an empty folder; the same bytes every time.
        read: reads the specimen as the program does and checks the outcome; what it returns is compared if `exact`.
        group: targets that share a worker's imports and a test: vectors, texts, folders or encoders.
        exact: whether damage must be noticed and repaired, so that the outcome is that of the specimen (caches).
        settle: called on each copy of the specimen before it is mutated.
        warm: whether reading compiles something, which is done once before workers are forked.
        hand: only these cases made by hand, if any are named.
        victims: the files that are mutated, as patterns; others of the folder stay as they are.
        patience: seconds that a case may take which waits for a pipe that nobody writes to.
    """

    name: str
    make: Callable[[Path], None]
    read: Callable[[Path], Any]
    group: str
    exact: bool = False
    settle: Callable[[Path], None] | None = None
    warm: bool = False
    hand: tuple[str, ...] = ()
    victims: tuple[str, ...] = ("**/*",)
    patience: float = 8.0

    def files(self, folder: Path) -> list[Path]:
        """The files of a specimen that may be mutated, in a fixed order."""
        chosen = {path for pattern in self.victims for path in folder.glob(pattern) if path.is_file()}
        return sorted(chosen)


TARGETS: dict[str, Target] = {}


def target(name: str, group: str, make: Callable[[Path], None], read: Callable[[Path], Any], **more: Any) -> None:
    """Put a target into the table."""
    TARGETS[name] = Target(name, make, read, group, **more)


def check_finite(*arrays: Any) -> None:
    """Every number is one."""
    for array in arrays:
        if array is not None and not np.isfinite(np.asarray(array, dtype=np.float64)).all():
            raise Unsound("numbers that are not finite")


def check_space(space: Space, *, some: bool = True) -> Space:
    """Distinct words that are text, as many finite vectors."""
    if some and not len(space):
        raise Unsound("a space without words")
    if not len(space.words) == len(space.vectors) == len(set(space.words)):
        raise Unsound("words that stand twice")
    if not all(isinstance(word, str) and word for word in space.words):
        raise Unsound("words that are empty or no text")
    check_text(space.words)
    check_finite(space.vectors)
    if space.counts is not None and (len(space.counts) != len(space) or space.counts.min(initial=0) < 0):
        raise Unsound("counts below zero")
    return space


def check_text(words: Iterable[str]) -> None:
    """Words can be written as UTF-8."""
    try:
        "".join(words).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Unsound("words with lone surrogates") from error
