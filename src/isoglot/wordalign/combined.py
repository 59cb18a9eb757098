"""Word alignment by all that is known at once: vectors, the text's own statistics, spelling, and a dictionary if any.

An encoder knows what words mean in their sentence but not which of two like words is meant; a statistical model knows
which words of this text keep to each other and that neighbours stay neighbours, but a rare word tells it nothing. So
similarities go into the statistical model as evidence: see `agreeing_hmm`.
"""

from __future__ import annotations

import inspect
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress, silent
from isoglot.wordalign.links import WordLinks

if TYPE_CHECKING:
    from isoglot.wordalign.agreeing_hmm import Cells

#: The method's name, beside those of `METHODS` and `MODELS`.
COMBINED = "combined"
#: Pseudo-count of a pair of words that the lexicon has.
IN_LEXICON = 1.0
_BLOCK = 1 << 16

Matrix = npt.NDArray[np.floating[Any]]


def combined_align(
    src: Sequence[Sequence[str]],
    tgt: Sequence[Sequence[str]],
    similarities: Iterable[Matrix],
    *,
    threshold: float = 0.5,
    null: float = 0.05,
    smoothing: float = 0.1,
    temperature: float = 0.07,
    spelling: float = 0.2,
    stem: int = 6,
    lexicon: Lexicon | str | Path = "",
    progress: Progress = silent,
) -> list[WordLinks]:
    """Link the words of sentence pairs, given as lists of words; links are sure, with their probabilities as scores.

    All sentences are learned from together, and more of them help; one alone is linked by the rest of what is known.

    Args:
        similarities: of each sentence pair, cosines (n, m).
        threshold: probability that a link needs, by the geometric mean of the two directions.
        null: a pair is no better than no link if its share of what both words are like is below this.
        smoothing: pseudo-count of every pair of words: the larger, the more similarities rule over counts.
        temperature: cosines are divided by it before the softmax of each direction.
        spelling: what words spelt alike gain in cosine (times the Dice coefficient of their letter bigrams and
            trigrams); 0 for languages in which that means nothing.
        stem: letters, from the start, that tell words apart when they are counted, without case and accents, since
            a small text has few of each inflected form; 0 for whole words.
        lexicon: known translations in either direction, a `Lexicon`, file or catalogue name ("lexicon/en-fr").

    >>> S = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> combined_align([["red", "house"]], [["rote", "haus"]], [S])
    [WordLinks('0-0 1-1')]
    """
    for name, value in (("threshold", threshold), ("null", null)):
        if not 0 < value <= 1:
            raise ConfigError(f"must lie above 0 and not above 1, not {value}", where=name)
    for name, value in (("smoothing", smoothing), ("temperature", temperature)):
        if not 0 < value < np.inf:
            raise ConfigError(f"must be above 0, not {value}", where=name)
    if stem < 0:
        raise ConfigError(f"must be 0 (whole words) or more, not {stem}", where="stem")
    if len(src) != len(tgt):
        raise InputError(f"{len(src):,} source sentences but {len(tgt):,} target sentences")
    known = lexicon if isinstance(lexicon, Lexicon) or lexicon else None
    if known is not None and not isinstance(known, Lexicon):
        known = Lexicon.load(known, progress=progress)
    # Compiled loops, which are slow to import and needed here alone.
    from isoglot.wordalign.agreeing_hmm import Cells, agreeing_hmm

    cells = Cells.of(*([[_stem(word, stem) for word in words] for words in side] for side in (src, tgt)))
    alike = spelling * _spelled_alike(cells) if spelling else None
    evidence = np.empty(len(cells.pair), dtype=np.float32)
    count = -1
    for count, S in enumerate(similarities):
        if count >= len(src) or S.shape != (len(src[count]), len(tgt[count])):
            raise ShapeError(f"similarities of shape {S.shape} do not fit sentence pair {count + 1:,}")
        if not np.isfinite(S).all():
            raise InputError(
                f"the similarities of sentence pair {count + 1:,} hold NaN or infinite values",
                remedy="are there empty word vectors?",
            )
        part = cells.matrix(evidence, count)
        part[:] = S
        if alike is not None:
            part += alike[cells.matrix(cells.pair, count)]
        if part.size:
            part[:] = _mutual_share(part / temperature)
    if count + 1 != len(src):
        raise ShapeError(f"similarities of {count + 1:,} sentence pairs, but there are {len(src):,}")
    pseudo = None if known is None else IN_LEXICON * _listed(cells, known, stem)
    agreed = agreeing_hmm(cells, evidence, float(np.log(null)), smoothing=smoothing, known=pseudo, progress=progress)
    links = []
    for number in range(len(src)):
        P = cells.matrix(agreed, number)
        rows, columns = (threshold <= P).nonzero()
        links.append(WordLinks.from_arrays(rows, columns, P[rows, columns]))
    return links


def combined_settings() -> dict[str, Any]:
    """The settings of `combined_align` and their defaults."""
    parameters = inspect.signature(combined_align).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "progress"}


def _mutual_share(S: Matrix) -> Matrix:
    """Logarithm of the geometric mean of the softmax of both directions."""
    rows = S - np.logaddexp.reduce(S, axis=1, keepdims=True)
    columns = S - np.logaddexp.reduce(S, axis=0, keepdims=True)
    return np.asarray((rows + columns) / 2)


def _stem(word: str, letters: int) -> str:
    """What a word is counted as.

    >>> _stem("Économiques", 6), _stem("Économiques", 0)
    ('econom', 'économiques')
    """
    if not letters:
        return word.lower()
    # Accents of Latin, Greek and Cyrillic letters only: in other scripts such marks are vowels.
    plain = (letter for letter in unicodedata.normalize("NFD", word.lower()) if not "\u0300" <= letter <= "\u036f")
    return unicodedata.normalize("NFC", "".join(plain))[:letters]


def _spelled_alike(cells: Cells) -> npt.NDArray[np.float32]:
    """Dice coefficient of each pair's letter bigrams and trigrams, its ends included."""
    from scipy.sparse import csr_matrix

    numbers: dict[str, int] = {}
    sides = []
    for words in cells.vocabularies:
        grams = [
            sorted({numbers.setdefault(gram, len(numbers)) for gram in _grams(f"\x02{_stem(word, len(word))}\x03")})
            for word in words
        ]
        ends = np.cumsum([0, *map(len, grams)])
        indices = np.array([gram for one in grams for gram in one], dtype=np.int64)
        sides.append((np.ones(len(indices), dtype=np.float32), indices, ends))
    X, Y = (csr_matrix(side, shape=(len(side[2]) - 1, max(len(numbers), 1))) for side in sides)
    sizes = [np.diff(side[2]) for side in sides]
    alike = np.empty(cells.pairs.shape[1], dtype=np.float32)
    for begin in range(0, len(alike), _BLOCK):
        i, j = cells.pairs[:, begin : begin + _BLOCK]
        common = np.asarray(X[i].multiply(Y[j]).sum(axis=1)).ravel()
        alike[begin : begin + _BLOCK] = 2 * common / (sizes[0][i] + sizes[1][j])
    return alike


def _grams(word: str) -> list[str]:
    return [word[i : i + size] for size in (2, 3) for i in range(len(word) - size + 1)]


def _listed(cells: Cells, lexicon: Lexicon, stem: int) -> npt.NDArray[np.float64]:
    """1 for pairs of words that the lexicon has, in either direction."""
    numbers = [{word: number for number, word in enumerate(words)} for words in cells.vocabularies]
    size = max(len(numbers[1]), 1)
    keys = set()
    for pair in lexicon:
        one, other = (_stem(word, stem) for word in pair)
        for a, b in ((one, other), (other, one)):
            if a in numbers[0] and b in numbers[1]:
                keys.add(numbers[0][a] * size + numbers[1][b])
    own = cells.pairs[0] * size + cells.pairs[1]
    return np.isin(own, np.fromiter(keys, dtype=np.int64, count=len(keys))).astype(np.float64)
