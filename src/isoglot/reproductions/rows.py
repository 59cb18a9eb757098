"""What rows of several reproductions are made of: figures, and names that tell texts and files apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from isoglot.resumable import run_key
from isoglot.tasks import Result
from isoglot.text import ParallelText


@dataclasses.dataclass(frozen=True)
class Figure:
    """A value with its 95% interval and the number of items it was taken over."""

    value: float
    interval: tuple[float, float] | None
    n: int

    @classmethod
    def of(cls, result: Result) -> Figure:
        return cls(result.value, result.interval, result.n)


def figures_of(results: Iterable[Result]) -> dict[str, Figure]:
    """Figures by name, with the score where a task has several."""
    return {
        " ".join([one.metric, *([one.protocol["score"]] if "score" in one.protocol else [])]): Figure.of(one)
        for one in results
    }


def text_key(text: ParallelText) -> str:
    """Tells a text from others."""
    return run_key(text.src, text.tgt)


def encoder_key(encoder: str) -> list[Any]:
    """The encoder's name and, of a folder, its files: another model in the same folder is another encoder."""
    folder = Path(encoder)
    files = [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    return [encoder, sorted((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files)]


def slug(name: str) -> str:
    """A name for a file.

    >>> slug("words, last layer")
    'words-last-layer'
    """
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
