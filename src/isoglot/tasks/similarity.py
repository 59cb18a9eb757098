"""Word similarity: do cosines between words go with people's judgement of how similar they are?

The figures are those of SemEval-2017 task 2 (Camacho-Collados et al. 2017, "Multilingual and cross-lingual semantic
word similarity"): Pearson, Spearman and, as the official one, the harmonic mean of both. Words may be of one language
or of two. Both denominators are always reported:

- **in-vocabulary**: only the pairs whose words both have a vector.
- **full**: all pairs. SemEval gives a pair without a score the middle of the scale. Where that is among cosines differs
  from space to space, so it is the mean of those found unless a number is given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.strings import one_or_many
from isoglot.tasks._similarity_figures import METRICS, similarity_figures
from isoglot.tasks.registry import task
from isoglot.tasks.resampling import checked_repeats, percentile_interval
from isoglot.tasks.result import Result, Results
from isoglot.tasks.similarity_sets import WordPair

if TYPE_CHECKING:
    from isoglot.encoders import Encoder

#: Digits of a cosine: pairs that are equal on paper must tie, whatever the order of additions was.
_DIGITS = 9

Vector = npt.NDArray[np.float64]


@task("similarity", "cosines of words against human judgement")
def similarity(
    pairs: Sequence[WordPair],
    src: Space,
    tgt: Space | None = None,
    *,
    lower: bool = True,
    missing: float | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Results:
    """Harmonic mean (the primary figure), Pearson and Spearman of cosines with people's scores.

    Args:
        pairs: see `read_similarity` and `similarity_set`.
        src: the Space of the first words, and of the second ones too unless there is
        tgt: the Space of the second words, mapped into one space with `src`.
        lower: look words that are not found up once more lower-cased.
        missing: the cosine of pairs without one, under the full denominator; None for the mean of those found.
        bootstrap: resamples of pairs for the 95% intervals; 0 for none.

    A phrase has its own vector if the Space holds it, with spaces or underscores, and else the mean of its words'
    vectors, as far as there are any. A Space with subwords gives vectors to unknown words. A zero vector is none.

    Returns:
        The three figures in-vocabulary, then full. Records: `index`, `id` if the pair has one, `word1`, `word2`,
        `gold`, `score` (the cosine, or what stands for it), `status`, `missing` (words without a vector, also single
        ones of a phrase) and `value`, what the pair adds to the figure, which is the mean of the values.

    >>> import numpy as np
    >>> space = Space("en", ["cat", "dog", "car"], np.array([[1.0, 0.1], [0.9, 0.3], [0.0, 1.0]]))
    >>> judged = [("cat", "dog", 8.5), ("dog", "car", 2), ("cat", "car", 1), ("dog", "hound", 9)]
    >>> pairs = [WordPair(*pair) for pair in judged]
    >>> for result in similarity(pairs, space, bootstrap=0):
    ...     print(result.protocol["denominator"], result.metric, round(result.value, 3), result.n)
    in-vocabulary harmonic 0.997 3
    in-vocabulary Pearson 0.993 3
    in-vocabulary Spearman 1.0 3
    full harmonic 0.792 4
    full Pearson 0.784 4
    full Spearman 0.8 4
    """
    repeats = checked_repeats(bootstrap)
    gold = _checked_scores(pairs)
    if missing is not None and not math.isfinite(missing):
        raise ConfigError(f"must be a number, not {missing}", where="missing")
    second = src if tgt is None else tgt
    if src.dim != second.dim:
        raise ShapeError(
            f"{src.lang} vectors have {src.dim} dimensions and {second.lang} vectors {second.dim}",
            remedy="map both into one space first",
        )
    records, scores = _compare(pairs, src, second, lower)
    found = np.isfinite(scores)
    _check_found(pairs, gold, scores, found)
    full = np.where(found, scores, scores[found].mean() if missing is None else missing)
    settings: dict[str, Any] = {
        "similarity": "cosine",
        "languages": [src.lang] if tgt is None else [src.lang, tgt.lang],
        "harmonic": "0 unless both correlations are above 0",
        "phrases": "their own vector, else the mean of their words'",
        "lower": lower,
        "subwords": src.subwords is not None or second.subwords is not None,
        "test_pairs": len(pairs),
        "bootstrap": repeats,
        "seed": seed,
    }
    stand_in = "the mean of the cosines found" if missing is None else missing
    results = Results()
    for denominator, treatment, rows in (
        ("in-vocabulary", "left out", np.flatnonzero(found)),
        ("full", stand_in, np.arange(len(pairs))),
    ):
        protocol = {"denominator": denominator, "missing": treatment, **settings}
        figures = similarity_figures(full[rows], gold[rows], repeats, seed)
        for column, metric in enumerate(METRICS):
            values = zip(rows.tolist(), full[rows].tolist(), figures.values[column].tolist(), strict=True)
            results.append(
                Result(
                    task="similarity",
                    metric=metric,
                    value=figures.figures[column],
                    n=len(rows),
                    coverage=float(found.mean()),
                    protocol=protocol,
                    interval=percentile_interval(figures.drawn[column]),
                    per_item=[{**records[row], "score": score, "value": value} for row, score, value in values],
                )
            )
    return results


def encode_words(
    encoder: Encoder,
    words: str | Sequence[str],
    *,
    lang: str = "",
    step: str = "encoding words",
    progress: Progress = silent,
) -> Space:
    """A Space of these words, each encoded alone: the mean of its subwords, or what the encoder's pooling takes.

    Special tokens are left out. Phrases, with spaces or underscores, are encoded as text, and all of their tokens
    averaged.
    """
    names = list(dict.fromkeys(one_or_many(words)))
    texts = [_words_of(name) for name in names]
    if encoder.pooling == "mean":
        # As one word, so that a token counts the same in each word of a phrase.
        texts = [[" ".join(text)] for text in texts]
    found = encoder.words(texts, step=step, progress=progress)
    vectors = found.vectors if len(found.vectors) == len(names) else np.array([part.mean(axis=0) for part in found])
    return Space(lang, names, vectors)


def _words_of(text: str) -> list[str]:
    """The words of a phrase.

    >>> _words_of("New_York City"), _words_of("_")
    (['New', 'York', 'City'], ['_'])
    """
    return [word for word in re.split(r"[\s_]+", text) if word] or [text]


def _compare(pairs: Sequence[WordPair], src: Space, tgt: Space, lower: bool) -> tuple[list[dict[str, Any]], Vector]:
    """A record of each pair, and its cosine or NaN."""
    scores = np.full(len(pairs), np.nan)
    records = []
    for index, pair in enumerate(pairs):
        sides = [_find(space, word, lower) for space, word in ((src, pair.word1), (tgt, pair.word2))]
        lacking = [name for name, (vector, _) in zip(("word1", "word2"), sides, strict=True) if vector is None]
        record: dict[str, Any] = {"index": index} | ({} if pair.id is None else {"id": pair.id})
        record |= {"word1": pair.word1, "word2": pair.word2, "gold": float(pair.score)}
        record["status"] = f"{' and '.join(lacking)} missing" if lacking else "asked"
        record["missing"] = [word for _, unknown in sides for word in unknown]
        records.append(record)
        x, y = (vector for vector, _ in sides)
        if x is not None and y is not None:
            scores[index] = round(float(x @ y / np.sqrt((x @ x) * (y @ y))), _DIGITS)
    return records, scores


def _find(space: Space, text: str, lower: bool) -> tuple[Vector | None, list[str]]:
    """The vector of a word or phrase, if there is one, and those of its words that have none."""
    words = _words_of(text)
    whole = _known(space, (text, " ".join(words), "_".join(words)), lower)
    if whole is not None:
        return whole, []
    vectors = [_known(space, (word,), lower, subwords=True) for word in words]
    unknown = [word for word, vector in zip(words, vectors, strict=True) if vector is None]
    known = [vector for vector in vectors if vector is not None]
    mean = np.mean(known, axis=0) if known else np.zeros(0)
    # Opposite vectors leave nothing to take a cosine of.
    return (mean, unknown) if mean.any() else (None, unknown or words)


def _known(space: Space, forms: Sequence[str], lower: bool, *, subwords: bool = False) -> Vector | None:
    """The vector of the first form in the vocabulary, else, if asked for, of the subwords of the first form."""
    tried = [form for form in (*forms, *(form.lower() for form in forms if lower)) if form in space]
    vectors = [(form, space.vector(form)) for form in tried]
    if subwords and space.subwords is not None:
        vectors.append((forms[0], space.subwords.vector(forms[0])))
    for form, vector in vectors:
        if not np.isfinite(vector).all():
            raise InputError(f"the vector of {form!r} is not finite", where=space.source or space.lang)
        if vector.any():
            return vector.astype(np.float64)
    return None


def _checked_scores(pairs: Sequence[WordPair]) -> Vector:
    if not len(pairs):
        raise InputError("there are no pairs to compare", where="pairs")
    gold = np.array([pair.score for pair in pairs], dtype=np.float64)
    wrong = ~np.isfinite(gold)
    if wrong.any():
        item = int(np.argmax(wrong))
        raise InputError(f"{gold[item]} is no score", where=f"pairs, item {item}", remedy="leave such pairs out")
    return gold


def _check_found(pairs: Sequence[WordPair], gold: Vector, scores: Vector, found: npt.NDArray[np.bool_]) -> None:
    if not found.any():
        examples = ", ".join(f"{pair.word1} - {pair.word2}" for pair in pairs[:3])
        raise InputError(
            f"none of the {len(pairs):,} pairs ({examples}, ...) has a vector for both words",
            remedy="check the languages, their order and letter case",
        )
    for what, values in (("cosines", scores[found]), ("people's scores", gold[found])):
        if not np.ptp(values) > 0:
            raise InputError(
                f"nothing to correlate: the {what} of the {len(values):,} pairs that have vectors are all the same"
            )
