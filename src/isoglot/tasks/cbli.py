"""Contextual bilingual lexicon induction (CBLI; Zhao & Eger 2022): translate a word where it stands.

Entries are occurrences, pairs are occurrences that translate each other in parallel sentences, and a source occurrence
is looked up among the target occurrences of all pairs. It is right if the nearest one is of the same word as its twin;
how often it is the very twin stands beside it. Frequent words are easy to hit by chance ("the" among thousands), which
the second figure is not open to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.progress import Progress, silent
from isoglot.spaces import IntVector, Space, parse_occurrence
from isoglot.tasks.bli import checked_depths
from isoglot.tasks.registry import task
from isoglot.tasks.resampling import checked_repeats
from isoglot.tasks.result import Results
from isoglot.tasks.significance import ItemFigure, means_of_items


@task("cbli", "translation of words in their sentences")
def cbli(
    src: Space,
    tgt: Space,
    pairs: npt.ArrayLike,
    *,
    score: str = "csls",
    neighbourhood: int = 10,
    temperature: float = 30.0,
    ks: Sequence[int] = (1, 5),
    limit: int | None = 10_000,
    bootstrap: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
) -> Results:
    """P@k of occurrences of `src` looked up among the target occurrences in `pairs`.

    Args:
        src, tgt: spaces of occurrences in one space, named as `isoglot.spaces.occurrence_name` does.
        pairs: rows (p, 2) of src and tgt that translate each other. Each is one item; one that stands twice counts
            once.
        score: how candidates are ranked; any score of `isoglot.retrieval.Retriever`.
        neighbourhood, temperature: of CSLS and of the inverted softmax, which look at the rows in pairs only.
        ks: at which depths precision is taken.
        limit: that many pairs are drawn with the seed where there are more, as the paper takes 10k; None for all.
        bootstrap: resamples of pairs for the 95% intervals; 0 for none.

    Returns:
        For each k "P@k word" (any of the k nearest is of the gold word) and "P@k occurrence" (the twin is among them).
        The first is the primary figure. Records: `index` of the pair as given, `source`, `word`, `sentence`, `gold`
        word, `gold_occurrence`, `gold_sentence`, `prediction` word, `prediction_sentence`, `predictions`
        [(occurrence, score), ...], `value`, `hit`.

    >>> import numpy as np
    >>> en = Space("en", ["bank@0:1", "bank@1:1"], np.eye(2))
    >>> de = Space("de", ["Bank@0:1", "Ufer@1:1"], np.eye(2))
    >>> for result in cbli(en, de, [[0, 0], [1, 1]], ks=(1,), bootstrap=0):
    ...     print(result.metric, result.value, result.n)
    P@1 word 1.0 2
    P@1 occurrence 1.0 2
    """
    depths = checked_depths(ks)
    if limit is not None and limit < 1:
        raise ConfigError(f"must be at least 1, or None for all pairs, not {limit}", where="limit")
    repeats = checked_repeats(bootstrap)
    if src.dim != tgt.dim:
        raise ShapeError(
            f"{src.lang} vectors have {src.dim} dimensions and {tgt.lang} vectors {tgt.dim}",
            remedy="map both into one space first",
        )
    given, chosen = _drawn(_checked_pairs(pairs, src, tgt), limit, seed)
    index, rows, twins = chosen.T
    queries, query = np.unique(rows, return_inverse=True)
    candidates, gold = np.unique(twins, return_inverse=True)
    from isoglot.retrieval import Retriever

    retriever = Retriever(
        src.vectors[queries],
        tgt.vectors[candidates],
        score=score,
        neighbourhood=neighbourhood,
        temperature=temperature,
        threads=threads,
        progress=progress,
    )
    found = retriever.top(max(depths))
    near = found.indices[query]  # (pairs, depth), places in `candidates`
    names = [parse_occurrence(tgt.words[row]) for row in candidates.tolist()]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(name.word for name in names))}
    word_of = np.array([numbers[name.word] for name in names])
    same_word = word_of[near] == word_of[gold][:, None]
    same_occurrence = near == gold[:, None]
    columns = {}
    for k in depths:
        columns[f"P@{k} word"] = same_word[:, :k].any(axis=1)
        columns[f"P@{k} occurrence"] = same_occurrence[:, :k].any(axis=1)
    records = []
    for i, row in enumerate(rows.tolist()):
        here, twin, best = parse_occurrence(src.words[row]), names[gold[i]], names[near[i, 0]]
        scores = found.scores[query[i]].tolist()
        records.append(
            {
                "index": int(index[i]),
                "source": src.words[row],
                "word": here.word,
                "sentence": here.sentence,
                "gold": twin.word,
                "gold_occurrence": tgt.words[twins[i]],
                "gold_sentence": twin.sentence,
                "prediction": best.word,
                "prediction_sentence": best.sentence,
                "predictions": [
                    (tgt.words[candidates[place]], round(value, 6))
                    for place, value in zip(near[i], scores, strict=True)
                ],
            }
        )
    protocol: dict[str, Any] = {"score": score}
    if score in ("csls", "csls-euclidean"):
        protocol["neighbourhood"] = neighbourhood
    elif score == "inverted_softmax":
        protocol["temperature"] = temperature
    protocol |= {
        "pairs_given": given,
        "limit": limit,
        "source_occurrences": len(queries),
        "candidates": len(candidates),
        "candidate_words": len(numbers),
        "bootstrap": repeats,
        "seed": seed,
    }
    figures = [
        ItemFigure(
            metric,
            values,
            [
                {**record, "value": float(value), "hit": bool(value)}
                for record, value in zip(records, values, strict=True)
            ],
            protocol,
        )
        for metric, values in columns.items()
    ]
    return means_of_items("cbli", figures, coverage=1.0, bootstrap=repeats, seed=seed)


def _drawn(pairs: IntVector, limit: int | None, seed: int) -> tuple[int, IntVector]:
    """How many different pairs there are, and (place as given, row, row) of those to ask, in the order given."""
    first = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
    given = len(first)
    if limit is not None and given > limit:
        first = np.sort(np.random.default_rng([seed, 1]).choice(first, limit, replace=False))
    return given, np.column_stack([first, pairs[first]])


def _checked_pairs(pairs: npt.ArrayLike, src: Space, tgt: Space) -> IntVector:
    rows = np.asarray(pairs)
    if rows.size == 0:
        raise InputError("there are no pairs to test", where="pairs")
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ShapeError(
            f"must be whole numbers of shape (p, 2), not {rows.dtype} of shape {rows.shape}", where="pairs"
        )
    for column, space in enumerate((src, tgt)):
        outside = (rows[:, column] < 0) | (rows[:, column] >= len(space))
        if outside.any():
            place = int(np.argmax(outside))
            raise InputError(
                f"row {rows[place, column]} is outside the {len(space):,} occurrences of {space.lang}",
                where=f"pairs, row {place}",
            )
    return rows.astype(np.int64)
