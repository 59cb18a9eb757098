"""What a re-ranker looks at: for each query word and each of its candidates, one row of numbers.

For every aligner: cosine and CSLS, the candidate's rank for the query and the query's rank for the candidate, how far
each stands before the best rival, and its share of a softmax over rivals (taken over candidates this is the usual
softmax, over source words the inverted one). For the two words: how far apart they are in frequency, how many
candidates are forms of one word, and how alike they are written (see `isoglot.aligners.self_learning.spelling`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligned.shared import SharedSpaces
from isoglot.aligners import SPELLING_FEATURES, latin, spelling_features
from isoglot.lexicons import frequency_ranks
from isoglot.progress import Progress, silent
from isoglot.retrieval import Neighbours
from isoglot.spaces import FloatMatrix, IntVector, Space

#: Measured for each aligner.
GEOMETRIC_FEATURES = (
    "cosine",
    "csls",
    "log rank",
    "log rank back",
    "margin",
    "margin back",
    "log share",
    "log share back",
)
#: Measured once, from the words.
WORD_FEATURES = ("frequency gap", "frequency difference", "forms among candidates", *SPELLING_FEATURES)

#: Inverse temperature of the softmax shares: CSLS differences of .1 matter, of .01 do not.
_SHARPNESS = 20.0
#: Scores closer than this are one score, computed in two ways.
_SAME = 1e-5
#: Ranks below this do not differ in what they say about a word.
_COMMON = 10
#: Queries whose candidates' vectors are held at once.
_BLOCK = 256

Features = npt.NDArray[np.float32]
Column = npt.NDArray[np.floating[Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class Queries:
    """Words to translate.

    Args:
        words: as written.
        ranks: frequency ranks, 0 for the most frequent word of their language.
        vectors: for each aligner, (q, d) in its shared space.
    """

    words: Sequence[str]
    ranks: IntVector
    vectors: Sequence[FloatMatrix]

    def __len__(self) -> int:
        return len(self.words)


def feature_names(aligners: int, *, words: bool) -> tuple[str, ...]:
    """Names of the features, in order.

    >>> feature_names(2, words=False)[7:10]
    ('1: log share back', '2: cosine', '2: csls')
    """
    geometric = tuple(f"{view + 1}: {name}" for view in range(aligners) for name in GEOMETRIC_FEATURES)
    return (*geometric, *WORD_FEATURES) if words else geometric


def merge_candidates(found: Sequence[Neighbours]) -> IntVector:
    """(q, k): of what several searches for k targets found, the k with the best ranks, each once.

    >>> import numpy as np
    >>> first = Neighbours(np.array([[4, 2, 0]]), np.zeros((1, 3), np.float32))
    >>> second = Neighbours(np.array([[4, 7, 2]]), np.zeros((1, 3), np.float32))
    >>> merge_candidates([first, second]).tolist()
    [[4, 2, 7]]
    """
    merged = np.empty_like(found[0].indices)
    for query in range(len(merged)):
        places = zip(*(near.indices[query].tolist() for near in found), strict=True)
        distinct = dict.fromkeys(target for place in places for target in place)
        merged[query] = list(distinct)[: merged.shape[1]]
    return merged


@dataclasses.dataclass(frozen=True, eq=False)
class CandidateSearch:
    """The candidates of all queries, and what is needed to measure them a block of queries at a time.

    Args:
        views: the same two vocabularies as aligned by one or several methods.
        direction: names of source and target.
        candidates: (q, c) rows of the target Space.
        found: for each view, the c best targets of each query.
        distinct: (u,) all rows in `candidates`, rising.
        rivals: for each view, (u, r) CSLS scores of each distinct candidate's best source words.
        means: for each view, the CSLS means of the target words.
        words: False measures `GEOMETRIC_FEATURES` alone.
    """

    views: Sequence[SharedSpaces]
    direction: tuple[str, str]
    queries: Queries
    candidates: IntVector
    found: Sequence[Neighbours]
    distinct: IntVector
    rivals: Sequence[npt.NDArray[np.float32]]
    means: Sequence[npt.NDArray[np.float32]]
    words: bool

    @classmethod
    def run(
        cls,
        views: Sequence[SharedSpaces],
        direction: tuple[str, str],
        queries: Queries,
        *,
        candidates: int,
        neighbourhood: int = 10,
        words: bool = True,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> CandidateSearch:
        """Search there and back. `candidates`: how many are kept; ranks are counted as far."""
        source, target = direction
        there, back = min(candidates, len(views[0].spaces[target])), min(candidates, len(views[0].spaces[source]))
        settings: dict[str, Any] = {"neighbourhood": neighbourhood, "threads": threads, "progress": progress}
        # A retriever holds copies of both matrices: made where it is used, so that only one is alive.
        found = [
            view.retriever(source, target, **settings).top(there, vectors=vectors)
            for view, vectors in zip(views, queries.vectors, strict=True)
        ]
        chosen = merge_candidates(found)
        distinct = np.unique(chosen)
        rivals = [view.retriever(target, source, **settings).top(back, rows=distinct).scores for view in views]
        means = [view.means[source, target, neighbourhood][1] for view in views]
        return cls(views, direction, queries, chosen, found, distinct, rivals, means, words)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return feature_names(len(self.views), words=self.words)

    def blocks(self) -> Iterator[tuple[slice, Features]]:
        """Features (q', c, f) of a block of queries after the other, which together need no more memory than one."""
        for begin in range(0, len(self.queries), _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, len(self.queries)))
            yield rows, self._measure(rows)

    def features(self) -> Features:
        """(q, c, f) of all queries."""
        return np.concatenate([measured for _, measured in self.blocks()])

    @cached_property
    def _target_ranks(self) -> IntVector:
        return frequency_ranks(self.views[0].spaces[self.direction[1]])

    def _measure(self, rows: slice) -> Features:
        tgt = self.views[0].spaces[self.direction[1]]
        chosen = self.candidates[rows]
        places = np.searchsorted(self.distinct, chosen)
        columns = []
        for i, view in enumerate(self.views):
            near = Neighbours(self.found[i].indices[rows], self.found[i].scores[rows])
            vectors = self.queries.vectors[i][rows]
            rivals = self.rivals[i][places]
            columns += _geometry(vectors, view.spaces[self.direction[1]].vectors, self.means[i], chosen, near, rivals)
        if self.words:
            columns += _word_features(
                self.queries.words[rows], self.queries.ranks[rows], tgt, self._target_ranks, chosen
            )
        return np.stack(columns, axis=2).astype(np.float32)


def _geometry(
    vectors: FloatMatrix,
    tgt: FloatMatrix,
    means: npt.NDArray[np.float32],
    chosen: IntVector,
    near: Neighbours,
    rivals: npt.NDArray[np.float32],
) -> list[Column]:
    """`GEOMETRIC_FEATURES` of one aligner; `rivals`: (q, c, r), see `CandidateSearch`."""
    query, best = _unit(vectors), near.indices[:, 0]
    cosine = np.einsum("qd,qcd->qc", query, _unit(tgt[chosen]))
    # What CSLS takes off for the query itself, from the score of its best target.
    scores = near.scores.astype(np.float64)
    own_mean = 2.0 * np.einsum("qd,qd->q", query, _unit(tgt[best])) - means[best] - scores[:, 0]
    csls = 2.0 * cosine - own_mean[:, None] - means[chosen]

    at = chosen[:, :, None] == near.indices[:, None, :]
    rank = np.where(at.any(axis=2), at.argmax(axis=2), near.k)
    margin = csls - np.where(rank == 0, scores[:, min(1, near.k - 1), None], scores[:, :1])
    share = _SHARPNESS * csls - _log_sum(_SHARPNESS * scores)[:, None]

    against = rivals.astype(np.float64)
    rank_back = (against > csls[:, :, None] + _SAME).sum(axis=2)
    leads = np.abs(against[:, :, 0] - csls) <= _SAME
    margin_back = csls - np.where(leads, against[:, :, min(1, against.shape[2] - 1)], against[:, :, 0])
    total = _log_sum(_SHARPNESS * against)
    # A query too far down to be among the rivals competes with them all the same.
    beyond = csls < against[:, :, -1] - _SAME
    total = np.where(beyond, np.logaddexp(total, _SHARPNESS * csls), total)
    share_back = np.minimum(_SHARPNESS * csls - total, 0.0)
    return [cosine, csls, np.log1p(rank), np.log1p(rank_back), margin, margin_back, share, share_back]


def _word_features(
    words: Sequence[str], ranks: IntVector, tgt: Space, tgt_ranks: IntVector, chosen: IntVector
) -> list[Column]:
    """`WORD_FEATURES`, each (q, c)."""
    target_rank = np.log(_COMMON + tgt_ranks[chosen])
    difference = target_rank - np.log(_COMMON + ranks)[:, None]
    distinct, places = np.unique(chosen, return_inverse=True)
    places = places.reshape(chosen.shape)
    target_words = [tgt.words[row] for row in distinct]
    spelled = [latin(word) for word in target_words]
    forms = np.stack([_forms([spelled[i] for i in row]) for row in places])
    pairs = np.repeat(np.arange(len(chosen)), chosen.shape[1]), places.ravel()
    spelling = spelling_features(words, target_words, *pairs).reshape(*chosen.shape, -1)
    return [np.abs(difference), difference, forms, *np.moveaxis(spelling, 2, 0)]


def _forms(words: Sequence[str]) -> npt.NDArray[np.float64]:
    """Logarithm of how many of these words begin as each of them does: forms of one word support each other."""
    stems = [word[: max(3, round(0.6 * len(word)))] for word in words]
    return np.log([sum(word.startswith(stem) for word in words) for stem in stems])


def _unit(vectors: FloatMatrix) -> npt.NDArray[np.float64]:
    norms = np.sqrt(np.einsum("...d,...d->...", vectors, vectors, dtype=np.float64))
    return np.asarray(vectors / np.where(norms > 0, norms, 1.0)[..., None], dtype=np.float64)


def _log_sum(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """log sum exp over the last axis, whose first entry is the largest."""
    largest = values[..., :1]
    return np.asarray(np.log(np.exp(values - largest).sum(axis=-1)) + largest[..., 0])
