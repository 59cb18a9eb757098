"""Two languages on one map: their frequent words in the plane, translations joined by a line, before and after."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isoglot.errors import LexiconError
from isoglot.lexicons import Lexicon, frequency_ranks
from isoglot.report.clouds import Cloud, cloud_plot, frame
from isoglot.report.labels import FONT, text_width
from isoglot.report.page import Section
from isoglot.report.tables import escape
from isoglot.spaces import FloatMatrix, Space

#: Titles of the axes of a map; what a component measures has no unit.
COMPONENTS = ("first principal component", "second principal component")
# Labels are placed for a plot of this many pixels, the narrowest the page shows; wider ones only gain room.
_WIDTH, _HEIGHT = 270, 440
_LABELS = 24
#: Letters of a word that gets a label, at most, and their size in pixels.
_LETTERS, _SIZE = 14, 11
#: Pixels at the top that hold the buttons.
_BUTTONS = 40


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
        "languages lie on each other. Two of many dimensions (principal components). Point at a dot to read it; look "
        "closer with the buttons, a double click, two fingers, or the wheel and Ctrl, and drag to move.",
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
    clouds = [
        Cloud(one.src_lang, one.src_points, "--src", one.src_words, "dot"),
        Cloud(one.tgt_lang, one.tgt_points, "--tgt", one.tgt_words, "square"),
    ]
    label = f"{one.label}: map of {len(one.src_words)} words of {one.src_lang} and their translations in {one.tgt_lang}"
    labelled = _labels(one)
    return cloud_plot(
        clouds, label=label, titles=COMPONENTS, links="joins translations", labelled=labelled, height=_HEIGHT
    )


def _labels(one: LanguageMap) -> set[tuple[int, int]]:
    """(side, row) of the words that get a label: frequent first, where the label lies on no other label
    and on hardly a dot."""
    dots = np.concatenate(frame([one.src_points, one.tgt_points])) * [_WIDTH, _HEIGHT]
    boxes: list[tuple[float, float, float, float]] = []
    chosen: set[tuple[int, int]] = set()
    for row in range(len(one.src_words)):
        for side, words in enumerate((one.src_words, one.tgt_words)):
            x, y = dots[row + side * len(one.src_words)]
            # An estimate on the large side, as fonts differ.
            width = max(7.0 * len(words[row]), text_width(words[row]) * _SIZE / FONT)
            left, right = x - width / 2, x + width / 2
            top, bottom = y - 19, y - 3
            if left < 0 or right > _WIDTH or top < _BUTTONS or len(words[row]) > _LETTERS:
                continue
            inside = ((dots > [left, top]) & (dots < [right, bottom])).all(axis=1).sum()
            if inside <= 2 and all(right < a or left > b or bottom < c or top > d for a, b, c, d in boxes):
                boxes.append((left, right, top, bottom))
                chosen.add((side, row))
        if len(chosen) >= _LABELS:
            break
    return chosen
