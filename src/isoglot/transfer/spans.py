"""Spans of a context as answers: words with their places, windows that overlap, and the best spans by their ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from isoglot.spaces import FloatMatrix

# Scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana, Chinese characters. Their signs stand alone.
_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+|[^\w\s]")


class Span(NamedTuple):
    """From character `begin` up to `end` of a text."""

    begin: int
    end: int


class Answer(NamedTuple):
    """A span that may answer a question: higher scores are better."""

    score: float
    span: Span


def word_spans(text: str) -> list[Span]:
    """Where the words and signs of a text stand.

    >>> [text[begin:end] for text in ["It's 4:10, 东京."] for begin, end in word_spans(text)]
    ['It', "'", 's', '4', ':', '10', ',', '东', '京', '.']
    """
    return [Span(*found.span()) for found in _WORD.finditer(text)]


def overlapping_windows(length: int, size: int, overlap: int) -> list[Span]:
    """Windows over `length` places, of which neighbours share `overlap`.

    >>> overlapping_windows(10, 6, 2)
    [Span(begin=0, end=6), Span(begin=4, end=10)]
    """
    starts = range(0, max(length - overlap, 1), size - overlap)
    return [Span(begin, min(begin + size, length)) for begin in starts]


def words_of_span(words: Sequence[Span], span: Span) -> tuple[int, int] | None:
    """The first and the last word that the span touches, if it touches any.

    >>> words_of_span(word_spans("in Old Rome today"), Span(4, 11))
    (1, 2)
    """
    touched = [number for number, word in enumerate(words) if word.begin < span.end and word.end > span.begin]
    return (touched[0], touched[-1]) if touched else None


def best_spans(ends: FloatMatrix, longest: int, n: int) -> list[tuple[float, int, int]]:
    """The n best (score, first, last) with first <= last < first + longest, by the sum of both ends' scores.

    Args:
        ends: (places, 2): each place's score as the first and as the last; minus infinity where no answer can end.
    """
    places = len(ends)
    widths = min(longest, places)
    sums = np.full((places, widths), -np.inf)  # (first, width - 1)
    for width in range(widths):
        sums[: places - width, width] = ends[: places - width, 0] + ends[width:, 1]
    flat = sums.ravel()
    order = np.argsort(-flat, kind="stable")[:n] if len(flat) <= n else _largest(flat, n)
    found = [(float(flat[one]), *divmod(int(one), widths)) for one in order.tolist() if flat[one] > -np.inf]
    return [(score, first, first + width) for score, first, width in found]


def best_answers(candidates: Iterable[Answer], n: int) -> list[Answer]:
    """The n best different spans; windows that overlap propose some of them twice."""
    best: dict[Span, float] = {}
    for score, span in candidates:
        best[span] = max(score, best.get(span, -np.inf))
    ranked = sorted(best, key=lambda span: (-best[span], span))
    return [Answer(best[span], span) for span in ranked[:n]]


def _largest(values: FloatMatrix, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    largest = np.argpartition(-values, n)[:n]
    return largest[np.argsort(-values[largest], kind="stable")]
