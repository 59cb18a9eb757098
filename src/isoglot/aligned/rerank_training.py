"""What a re-ranker learns from: candidates of seed words, as aligners that have not seen these words find them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligned.rerank_features import CandidateSearch, Features, Queries, feature_names
from isoglot.aligned.rerank_model import Labels, RankingModel, choose_penalty
from isoglot.aligned.rerank_prior import direction_names
from isoglot.aligned.shared import SharedSpaces
from isoglot.aligners import Aligner, folds as parts_of_pairs
from isoglot.errors import LexiconError
from isoglot.lexicons import Lexicon, frequency_ranks
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, Space


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingSet:
    """Measured candidates of seed words.

    Args:
        names: of the features.
        features: (q, c, f); labels: (q, c), whether the candidate translates the word; parts: (q,), the fold of each.
        candidates: (q, c) rows of the target Space.
        words: (q,) the seed words.
        direction: names of source and target.
        further: aligned spaces of all aligners but the first, fitted on all seeds.
    """

    names: tuple[str, ...]
    features: Features
    labels: Labels
    parts: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]
    words: list[str]
    direction: tuple[str, str]
    further: tuple[SharedSpaces, ...]


def cross_fit(
    src: Space,
    tgt: Space,
    lexicon: Lexicon,
    aligners: Sequence[Aligner],
    *,
    candidates: int,
    folds: int,
    words: bool = True,
    neighbourhood: int = 10,
    seed: int = 0,
    rows: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> TrainingSet:
    """Split the seeds by source word; measure the candidates of each part with aligners fitted on the others.

    `rows`: candidates are searched among the first rows of both Spaces, so that large ones cost no more.
    """
    near_src, near_tgt = _first(src, rows), _first(tgt, rows)
    ranks = frequency_ranks(near_src)

    def fitted(aligner: Aligner, seeds: Lexicon, *, whole: bool = False) -> SharedSpaces:
        alignment = aligner.fit(src, tgt, seeds if _learns_from_pairs(aligner) else None)
        return SharedSpaces.pair(alignment, src if whole else near_src, tgt if whole else near_tgt)

    # An aligner that looks at no pairs is the same in every fold; of the others beyond the first, users need the one
    # of all seeds too. The first they have.
    steps = folds + 1
    progress("learning to re-rank", 0, steps)
    complete = [
        fitted(aligner, lexicon, whole=True) if number or not _learns_from_pairs(aligner) else None
        for number, aligner in enumerate(aligners)
    ]
    features, labels, parts, rows_found, words_asked, direction = [], [], [], [], [], ("", "")
    for fold, (learned, kept) in enumerate(parts_of_pairs(lexicon.indices(src, tgt), folds, seed)):
        progress("learning to re-rank", fold + 1, steps)
        seeds = dataclasses.replace(lexicon, pairs=[(src.words[i], tgt.words[j]) for i, j in learned.tolist()])
        asked = list(dict.fromkeys(src.words[i] for i in kept[:, 0].tolist() if i < len(near_src)))
        if not asked:
            continue
        views = []
        for aligner, whole in zip(aligners, complete, strict=True):
            same = whole is not None and rows is None and not _learns_from_pairs(aligner)
            views.append(whole if whole is not None and same else fitted(aligner, seeds))
        source, target = direction = (views[0].names[0], views[0].names[1])
        places = near_src.rows(asked)
        found = CandidateSearch.run(
            views,
            direction,
            Queries(asked, ranks[places], [view.spaces[source].vectors[places] for view in views]),
            candidates=candidates,
            neighbourhood=neighbourhood,
            words=words,
            threads=threads,
        )
        features.append(found.features())
        labels.append(_labels([lexicon.by_source[word] for word in asked], found.candidates, views[0].spaces[target]))
        parts.append(np.full(len(asked), fold))
        rows_found.append(found.candidates)
        words_asked += asked
    progress("learning to re-rank", steps, steps)
    return TrainingSet(
        feature_names(len(aligners), words=words),
        np.concatenate(features),
        np.concatenate(labels),
        np.concatenate(parts),
        np.concatenate(rows_found),
        words_asked,
        direction,
        tuple(view for view in complete[1:] if view is not None),
    )


def with_directions(seen: TrainingSet, along: FloatMatrix) -> TrainingSet:
    """The same with the candidates' principal directions, `along` (target words, k), as further features."""
    features = np.concatenate([seen.features, along[seen.candidates]], axis=2)
    return dataclasses.replace(seen, names=(*seen.names, *direction_names(along.shape[1])), features=features)


def learn(seen: TrainingSet, penalty: float | None = None) -> tuple[RankingModel, RankingModel, dict[str, Any]]:
    """The model, the one that has not seen the last fold, and how models of the other folds do on each fold.

    The last is an honest figure, without a test lexicon.
    """
    labels, parts = seen.labels, seen.parts
    taught = [labels[parts != part].any() for part in np.unique(parts)]
    if not all(taught):
        raise LexiconError(
            f"translations of {int(labels.any(axis=1).sum())} of {len(labels)} seed words are among their candidates: "
            "too few to learn an order from",
            remedy="align with another method or more seeds, or leave re-ranking out",
        )
    if penalty is None:
        penalty = choose_penalty(seen.names, seen.features, labels, parts)
    right = np.zeros(len(labels), dtype=bool)
    for part in np.unique(parts):
        here = parts == part
        model = RankingModel.fit(seen.names, seen.features[~here], labels[~here], penalty)
        best = model.shares(seen.features[here]).argmax(axis=1)
        right[here] = np.take_along_axis(labels[here], best[:, None], axis=1)[:, 0]
    facts = {
        "penalty": penalty,
        "within_candidates": float(labels.any(axis=1).mean()),
        "held_out": {"n": len(labels), "plain": float(labels[:, 0].mean()), "reranked": float(right.mean())},
    }
    return RankingModel.fit(seen.names, seen.features, labels, penalty), model, facts


def _first(space: Space, rows: int | None) -> Space:
    return space if rows is None or rows >= len(space) else space.take(np.arange(rows))


def _learns_from_pairs(aligner: Aligner) -> bool:
    return aligner.method.supervision != "unsupervised"


def _labels(gold: Sequence[Sequence[str]], candidates: npt.NDArray[np.int64], tgt: Space) -> Labels:
    right = [set(tgt.rows(targets).tolist()) for targets in gold]
    return np.array(
        [[target in known for target in row] for row, known in zip(candidates.tolist(), right, strict=True)]
    )
