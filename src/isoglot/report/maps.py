"""Two languages on one map: their frequent words in the plane, translations joined by a line, before and after."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import LexiconError
from isoglot.lexicons import Lexicon, frequency_ranks
from isoglot.report.page import Section
from isoglot.report.plots import plot
from isoglot.report.tables import escape
from isoglot.spaces import FloatMatrix, Space

# Labels are placed for a plot of this many pixels, the narrowest the page shows; wider ones only gain room.
_WIDTH, _HEIGHT = 330, 400
_LABELS = 24
# The page's own colour around each letter, so that a label can be read across lines and dots.
_HALO = ", ".join(["0 0 3px var(--card)"] * 4)


@dataclasses.dataclass(frozen=True)
class LanguageMap:
    """Points of words in the plane; row i of both languages is one pair of translations."""

    label: str
    src_lang: str
    tgt_lang: str
    src_words: tuple[str, ...]
    tgt_words: tuple[str, ...]
    src_points: npt.NDArray[np.float64]  # (n, 2)
    tgt_points: npt.NDArray[np.float64]  # (n, 2)

    @property
    def mean_gap(self) -> float:
        """Mean distance between translations, as a share of the mean distance between any two words on the map."""
        gaps = np.linalg.norm(self.src_points - self.tgt_points, axis=1).mean()
        every = np.linalg.norm(self.src_points[:, None] - self.tgt_points[None], axis=2).mean()
        return float(gaps / every) if every else 0.0


def draw_map(label: str, src: Space, tgt: Space, lexicon: Lexicon, *, words: int = 300) -> LanguageMap:
    """The first two principal components of frequent words of both languages, taken together.

    The words are those of the `words` most frequent sources that have a translation in `tgt`, each with its
    first such translation; the hundred most frequent, mostly function words, are passed over where enough remain.
    Give the same lexicon and words before and after a mapping to get comparable maps. Vectors are brought to unit
    length first; spaces of different dimension are padded with zeros.

    >>> import numpy as np
    >>> en = Space("en", ["cat", "dog", "sun"], np.eye(3))
    >>> fr = Space("fr", ["chat", "chien"], np.eye(2))
    >>> draw_map("before", en, fr, Lexicon([("cat", "chat"), ("dog", "chien")])).tgt_words
    ('chat', 'chien')
    """
    pairs = _frequent_pairs(src, tgt, lexicon, words)
    X, Y = _padded(src.vectors[pairs[:, 0]], tgt.vectors[pairs[:, 1]])
    points = first_two_components(np.concatenate([X, Y]))
    return LanguageMap(
        label,
        src.lang,
        tgt.lang,
        tuple(src.words[i] for i in pairs[:, 0]),
        tuple(tgt.words[j] for j in pairs[:, 1]),
        points[: len(X)],
        points[len(X) :],
    )


def maps_section(maps: Sequence[LanguageMap]) -> Section:
    """Maps side by side; on narrow screens one below the other."""
    body = "".join(
        f"<div><h3>{escape(one.label)}</h3>{_plot(one)}"
        f'<p class="more">Translations lie {one.mean_gap:.2f} times as far apart as any two words.</p></div>'
        for one in maps
    )
    return Section(
        "Map of frequent words",
        f'<div class="pair">{body}</div>',
        "Each dot is a word, each line joins a word to its translation: the shorter the lines, the better the "
        "languages lie on each other. Two of many dimensions (principal components); point at a dot to read it.",
    )


def _frequent_pairs(src: Space, tgt: Space, lexicon: Lexicon, words: int) -> npt.NDArray[np.int64]:
    pairs = lexicon.indices(src, tgt)
    if not len(pairs):
        raise LexiconError("no pair of the dictionary is in both spaces: nothing to map", where=lexicon.source)
    pairs = pairs[np.argsort(frequency_ranks(src)[pairs[:, 0]], kind="stable")]
    # One target a source and one source a target, the earliest of each: a map with one line a dot.
    pairs = pairs[np.sort(np.unique(pairs[:, 0], return_index=True)[1])]
    pairs = pairs[np.sort(np.unique(pairs[:, 1], return_index=True)[1])]
    skip = 100 if len(pairs) >= words + 100 else 0
    chosen: npt.NDArray[np.int64] = pairs[skip : skip + words]
    return chosen


def _padded(X: FloatMatrix, Y: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    dim = max(X.shape[1], Y.shape[1])
    X, Y = (np.pad(Z, ((0, 0), (0, dim - Z.shape[1]))) for Z in (X, Y))
    return X, Y


def first_two_components(vectors: FloatMatrix) -> npt.NDArray[np.float64]:
    matrix = vectors.astype(np.float64)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    matrix -= matrix.mean(axis=0)
    _, _, directions = np.linalg.svd(matrix, full_matrices=False)
    directions = directions[:2]
    # Which way a component points is arbitrary; the largest loading upwards makes it repeatable.
    for direction in directions:
        direction *= np.sign(direction[np.abs(direction).argmax()]) or 1.0
    points = np.zeros((len(matrix), 2))
    points[:, : len(directions)] = matrix @ directions.T
    return points


def _plot(one: LanguageMap) -> str:
    everything = np.concatenate([one.src_points, one.tgt_points])
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.06 * np.maximum(high - low, 1e-9)
    labelled = _labels(one, low, np.maximum(high - low, 1e-9))
    lines: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": _gapped(one.src_points[:, 0], one.tgt_points[:, 0]),
        "y": _gapped(one.src_points[:, 1], one.tgt_points[:, 1]),
        "line": {"width": 0.8, "color": "--link"},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    traces = [lines]
    sides = (
        (one.src_lang, one.src_words, one.src_points, one.tgt_words, "--src", "circle"),
        (one.tgt_lang, one.tgt_words, one.tgt_points, one.src_words, "--tgt", "diamond"),
    )
    for side, (lang, words, points, others, colour, symbol) in enumerate(sides):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": escape(lang),
                "x": points[:, 0].round(4).tolist(),
                "y": points[:, 1].round(4).tolist(),
                "text": [escape(word) if (side, i) in labelled else "" for i, word in enumerate(words)],
                "hovertext": [f"{escape(a)} – {escape(b)}" for a, b in zip(words, others, strict=True)],
                "hovertemplate": "%{hovertext}<extra></extra>",
                "textposition": "top center",
                "textfont": {"size": 11, "color": colour, "shadow": _HALO},
                "marker": {"size": 5, "color": colour, "symbol": symbol, "opacity": 0.75},
                "cliponaxis": False,
            }
        )
    bare = {"showticklabels": False, "zeroline": False, "ticks": ""}
    layout = {
        "xaxis": {**bare, "range": [low[0] - margin[0], high[0] + margin[0]]},
        "yaxis": {**bare, "range": [low[1] - margin[1], high[1] + margin[1]]},
        "hovermode": "closest",
        "margin": {"l": 8, "r": 8, "t": 10, "b": 8},
    }
    label = f"{one.label}: map of {len(one.src_words)} words of {one.src_lang} and their translations in {one.tgt_lang}"
    return plot(traces, layout, label=label, height=460, zoom=True)


def _labels(one: LanguageMap, low: npt.NDArray[np.float64], extent: npt.NDArray[np.float64]) -> set[tuple[int, int]]:
    """(side, row) of the words that get a label: frequent first, where the label lies on no other label
    and on hardly a dot."""
    dots = (np.concatenate([one.src_points, one.tgt_points]) - low) / extent * 0.88 + 0.06
    boxes: list[tuple[float, float, float, float]] = []
    chosen: set[tuple[int, int]] = set()
    for row in range(len(one.src_words)):
        for side, words in enumerate((one.src_words, one.tgt_words)):
            x, y = dots[row + side * len(one.src_words)]
            # A wide script takes about twice the room of Latin letters.
            width = sum(13 if ord(letter) > 0x2E80 else 7 for letter in words[row]) / _WIDTH
            left, right = x - width / 2, x + width / 2
            bottom, top = y + 3 / _HEIGHT, y + 19 / _HEIGHT
            if left < 0 or right > 1 or len(words[row]) > 14:
                continue
            inside = ((dots > [left, bottom]) & (dots < [right, top])).all(axis=1).sum()
            if inside <= 2 and all(right < a or left > b or top < c or bottom > d for a, b, c, d in boxes):
                boxes.append((left, right, bottom, top))
                chosen.add((side, row))
        if len(chosen) >= _LABELS:
            break
    return chosen


def _gapped(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> list[float | None]:
    """a0, b0, gap, a1, b1, gap, ...: many separate lines in one trace."""
    values: list[float | None] = []
    for a, b in zip(first.round(4).tolist(), second.round(4).tolist(), strict=True):
        values += [a, b, None]
    return values
