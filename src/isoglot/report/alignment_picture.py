"""A heat map of one sentence pair: what each word has to do with each word of the translation, and which are linked.

Plain SVG, which browsers, LaTeX (through Inkscape) and drawing programs read. Words stand in the order of the sentence,
from left to right in any script. `labels` makes labels of words, `picture_file` a file of a picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.report.labels import FONT, isolated, safe, shortened, text_width
from isoglot.wordalign import WordLinks

#: Words of a sentence at most: beyond that a picture shows nothing and is megabytes large.
LARGEST = 200
#: Pixels: side of a cell, space around everything and between its parts.
CELL, GAP = 22, 12
#: The bar that explains colours.
BAR_WIDTH, BAR_HEIGHT = 120, 10
#: Letters shown of a word and of the title; wide ones, as of Chinese, count twice.
WORD_LETTERS, TITLE_LETTERS = 22, 90
#: Colours from the lowest to the highest score; they differ in lightness, so that grey prints are readable too.
COLOURS = ((238, 243, 249), (107, 174, 214), (8, 48, 107))
OUTLINE, INK, PALE_INK = "#e8590c", "#1f2933", "#616e7c"

#: Labels across the top lean at 45 degrees.
_LEAN = math.sqrt(0.5)
#: How dark linked cells are if there are no scores.
_FILLED, _HALF_FILLED = 0.9, 0.4
# Brackets of a word of Hebrew belong to it, so each text has the direction of its own first letter.
_BIDI = 'unicode-bidi="plaintext"'

Double = npt.NDArray[np.float64]


def alignment_picture(
    src: Sequence[str],
    tgt: Sequence[str],
    scores: npt.ArrayLike | None,
    links: WordLinks | Iterable[tuple[int, int]],
    title: str,
    *,
    scale: str = "similarity",
    limits: tuple[float, float] | None = None,
) -> str:
    """The text of an SVG file: source words down the side, target words across the top, links outlined.

    Args:
        src, tgt: the words of the two sentences.
        scores: (source words, target words), shown as colours; None if there are none: linked cells are then filled.
        links: outlined, possible ones with dashes.
        title: what one sees, such as the method and the encoder.
        scale: what the scores are, told beside the scale of colours.
        limits: scores that have the lightest and the darkest colour, and so have those beyond; default the smallest and
            the largest one.

    >>> text = alignment_picture(["a", "cat"], ["un", "chat"], [[0.9, 0.1], [0.2, 0.8]], [(0, 0), (1, 1)], "by hand")
    >>> text.startswith("<svg "), text.count('class="link"')
    (True, 2)
    """
    check_words(src, tgt)
    found = links if isinstance(links, WordLinks) else WordLinks(frozenset(links))
    _check_inside(found, len(src), len(tgt))
    matrix = None if scores is None else _matrix(scores, len(src), len(tgt))
    ends = None if matrix is None else _limits(matrix, limits)
    down, across = ([shortened(word, WORD_LETTERS) for word in words] for words in (src, tgt))
    heading = shortened(title, TITLE_LETTERS)
    # From the top: title, leaning labels, cells, legend. From the left: labels, cells, at whole pixels to be crisp.
    left = math.ceil(GAP + max(map(text_width, down)) + GAP / 2)
    top = math.ceil(GAP + 2 * FONT + max(map(text_width, across)) * _LEAN + FONT)
    foot = top + CELL * len(src) + GAP
    legend, legend_right, bottom = _legend(left, foot, scale, ends, bool(found.possible))
    right = max(
        left + CELL * len(tgt),
        *(left + CELL * (j + 0.5) + text_width(label) * _LEAN + FONT for j, label in enumerate(across)),
        GAP + text_width(heading) * 1.1,  # it is bold
        legend_right,
    )
    width, height = math.ceil(right + GAP), math.ceil(bottom + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-size="{FONT}" font-family="system-ui, \'Noto Sans\', \'DejaVu Sans\', sans-serif">',
        f"<title>{safe(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text class="heading" x="{GAP}" y="{GAP + FONT}" font-weight="600" fill="{INK}" {_BIDI}>'
        f"{safe(heading)}</text>",
        *_words(src, down, 'class="source" text-anchor="end"', _places(len(src), left - GAP / 2, top, down=True)),
        *_words(tgt, across, 'class="target"', _places(len(tgt), left, top - GAP / 2, down=False)),
        *_cells(src, tgt, matrix, ends, found, left, top),
        *(_frame("link", left + CELL * j, top + CELL * i, CELL, (i, j) in found.sure) for i, j in sorted(found.all)),
        *legend,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def check_words(src: Sequence[str], tgt: Sequence[str]) -> None:
    """Raise if two sentences cannot be drawn.

    >>> check_words(["a"] * 300, ["b"])
    Traceback (most recent call last):
    ...
    isoglot.errors.ShapeError: src: 300 words, and a picture shows 200 at most; choose a shorter sentence
    """
    for where, words in (("src", src), ("tgt", tgt)):
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise InputError("a sentence comes as a list of words", where=where)
        if not len(words):
            raise ShapeError("a sentence without words cannot be drawn", where=where)
        if len(words) > LARGEST:
            raise ShapeError(
                f"{len(words):,} words, and a picture shows {LARGEST} at most",
                where=where,
                remedy="choose a shorter sentence",
            )


def _check_inside(links: WordLinks, n: int, m: int) -> None:
    outside = sorted((i, j) for i, j in links.all if i >= n or j >= m)
    if outside:
        raise ShapeError(f"the link {outside[0]} points past sentences of {n} and {m} words", where="links")


def _matrix(scores: npt.ArrayLike, n: int, m: int) -> Double:
    try:
        matrix = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("not a matrix of numbers", where="scores") from error
    if matrix.shape != (n, m):
        raise ShapeError(f"must be of shape {(n, m)}, as there are words, not {matrix.shape}", where="scores")
    if not math.isfinite(float(matrix.max()) - float(matrix.min())):
        raise InputError("hold NaN or infinite values", where="scores")
    return matrix


def _limits(matrix: Double, given: tuple[float, float] | None) -> tuple[float, float]:
    if given is not None:
        low, high = map(float, given)
        if not 0 < high - low < math.inf:
            raise ConfigError(f"must be two numbers, the smaller one first, not {given}", where="limits")
        return low, high
    low, high = float(matrix.min()), float(matrix.max())
    if low < high:
        return low, high
    # One score throughout: it stands at one end of a scale whose other end is 0.
    return (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)


def _places(count: int, x: float, y: float, *, down: bool) -> list[str]:
    """Where labels go: each in the middle of its row or column, and leaning over columns."""
    middles = [CELL * (number + 0.5) for number in range(count)]
    if down:
        return [f"translate({x:g} {y + middle:g})" for middle in middles]
    return [f"translate({x + middle:g} {y:g}) rotate(-45)" for middle in middles]


def _words(words: Sequence[str], labels: Sequence[str], how: str, places: Sequence[str]) -> Iterator[str]:
    for word, label, place in zip(words, labels, places, strict=True):
        whole = "" if word == label else f"<title>{safe(word)}</title>"
        yield f'<text {how} transform="{place}" dy=".35em" fill="{INK}" {_BIDI}>{whole}{safe(label)}</text>'


def _cells(
    src: Sequence[str],
    tgt: Sequence[str],
    matrix: Double | None,
    limits: tuple[float, float] | None,
    links: WordLinks,
    left: float,
    top: float,
) -> Iterator[str]:
    """A square for each pair of words, with a tooltip."""
    for i, first in enumerate(src):
        for j, second in enumerate(tgt):
            linked = "linked" if (i, j) in links.sure else "possibly linked" if (i, j) in links.possible else ""
            if matrix is None or limits is None:
                told = [linked or "not linked"]
                height = _FILLED if (i, j) in links.sure else _HALF_FILLED if linked else 0.0
            else:
                told = [f"{matrix[i, j]:.3g}", *([linked] if linked else [])]
                height = (matrix[i, j] - limits[0]) / (limits[1] - limits[0])
            told_words = f"{isolated(first)} \u2013 {isolated(second)}"
            yield (
                f'<rect class="cell" x="{left + CELL * j:g}" y="{top + CELL * i:g}" width="{CELL}" height="{CELL}" '
                f'fill="{_colour(height)}" stroke="#ffffff"><title>{safe(told_words)}: {", ".join(told)}</title></rect>'
            )


def _frame(name: str, x: float, y: float, size: float, sure: bool) -> str:
    """What marks a link; the mouse reaches through it for the cell's tooltip."""
    dashes = "" if sure else ' stroke-dasharray="4 3"'
    return (
        f'<rect class="{name if sure else f"{name} possible"}" x="{x + 1.5:g}" y="{y + 1.5:g}" width="{size - 3:g}" '
        f'height="{size - 3:g}" fill="none" stroke="{OUTLINE}" stroke-width="2.5"{dashes} pointer-events="none"/>'
    )


def _legend(
    x: float, y: float, scale: str, limits: tuple[float, float] | None, possible: bool
) -> tuple[list[str], float, float]:
    """What colours and frames mean, and how far that reaches to the right and down."""
    parts: list[str] = []
    right = x
    if limits is not None:
        # Three digits of the range: of scores from 0.0002 to 1 the lowest is as good as 0.
        digits = 2 - math.floor(math.log10(limits[1] - limits[0]))
        low, high = (f"{round(limit, digits) + 0.0:g}" for limit in limits)  # and never -0
        stops = "".join(f'<stop offset="{k / 2:g}" stop-color="{_colour(k / 2)}"/>' for k in range(3))
        parts += [
            f'<defs><linearGradient id="isoglot-scale">{stops}</linearGradient></defs>',
            f'<rect class="scale" x="{x:g}" y="{y:g}" width="{BAR_WIDTH}" height="{BAR_HEIGHT}" '
            'fill="url(#isoglot-scale)"/>',
            _note(scale, x + BAR_WIDTH + GAP / 2, y + BAR_HEIGHT),
            _note(low, x, y + BAR_HEIGHT + FONT + 2),
            _note(high, x + BAR_WIDTH, y + BAR_HEIGHT + FONT + 2, "end"),
        ]
        right = x + BAR_WIDTH + GAP / 2 + text_width(scale)
        y += BAR_HEIGHT + FONT + GAP
    for sure, told in ((True, "linked"), (False, "possibly linked"))[: 2 if possible else 1]:
        if limits is None:
            colour = _colour(_FILLED if sure else _HALF_FILLED)
            parts.append(f'<rect x="{x:g}" y="{y:g}" width="{FONT + 3}" height="{FONT + 3}" fill="{colour}"/>')
        parts += [_frame("key", x, y, FONT + 3, sure), _note(told, x + FONT + 3 + GAP / 2, y + FONT)]
        x += FONT + 3 + GAP / 2 + text_width(told) + GAP
        right = max(right, x)
    return parts, right, y + FONT + 3


def _note(text: str, x: float, y: float, anchor: str = "start") -> str:
    return f'<text class="note" x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{PALE_INK}">{safe(text)}</text>'


def _colour(height: float) -> str:
    """Between 0 and 1, from one of the colours to the next."""
    place = min(max(height, 0.0), 1.0) * (len(COLOURS) - 1)
    first = min(int(place), len(COLOURS) - 2)
    mixed = (a + (b - a) * (place - first) for a, b in zip(COLOURS[first], COLOURS[first + 1], strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in mixed)
