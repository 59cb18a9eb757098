"""Candidates of source words with all that tells how likely each is right: what dictionaries are made of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from isoglot.aligned.case_forms import CaseForms
from isoglot.errors import ConfigError
from isoglot.lexicons import frequency_ranks
from isoglot.progress import Progress, silent
from isoglot.retrieval import Neighbours

if TYPE_CHECKING:
    from isoglot.aligned.aligned import Aligned
    from isoglot.aligned.rerank import Reranker

#: How sharply scores are told apart in `shares`: differences of .1 in CSLS matter, of .01 do not.
SHARPNESS = 20.0
#: Candidates among which shares are distributed.
COMPARED = 10
#: What a confidence is computed from, see `Candidates.features`.
FEATURES = ("score", "log share", "lead", "mutual", "first", "same spelling", "log rank")

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Candidates:
    """Targets of source words, best first.

    Args:
        rows: (n,) source rows.
        indices: (n, c) target rows, -1 where a word has fewer candidates.
        scores: (n, c).
        shares: (n, c), of one word's candidates among each other, at most 1 together.
        mutual: (n, c), whether the target's own best source is this word, or a form of it in other case.
        same: (n, c), whether both are spelled alike, apart from case.
        ranks: (n,), how many source words are more frequent.
    """

    rows: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    shares: npt.NDArray[np.float32]
    mutual: npt.NDArray[np.bool_]
    same: npt.NDArray[np.bool_]
    ranks: npt.NDArray[np.int64]

    def features(self) -> Floats:
        """(n, c, f), see `FEATURES`; zeros where there is no candidate."""
        present = self.indices >= 0
        scores = np.where(present, self.scores, -np.inf).astype(np.float64)
        best = scores[:, :1]
        second = scores[:, 1:2] if scores.shape[1] > 1 else best
        first = np.arange(scores.shape[1]) == 0
        rival = np.where(first, second, best)
        values = [
            scores,
            np.log(np.maximum(self.shares, 1e-6)),
            # A word with one candidate leads nobody.
            scores - np.where(np.isfinite(rival), rival, scores),
            self.mutual,
            np.broadcast_to(first, scores.shape),
            self.same,
            np.broadcast_to(np.log1p(self.ranks)[:, None], scores.shape),
        ]
        return np.stack([np.where(present, value, 0.0) for value in values], axis=2)


def find_candidates(
    aligned: Aligned,
    source: str,
    target: str,
    rows: npt.NDArray[np.int64],
    *,
    score: str = "csls",
    backend: str = "exact",
    rerank: bool | None = None,
    merge_case: bool = True,
    most: int = COMPARED,
    progress: Progress = silent,
) -> Candidates:
    """The `most` best candidates of these source rows.

    `merge_case`: of targets that differ in case only, the best score in the form the language uses most; to a
    capitalised source word a capitalised target stays as it is.
    """
    src, tgt = aligned.spaces[source], aligned.spaces[target]
    retriever = aligned.retriever(source, target, score=score, backend=backend, progress=progress)
    reranker = reranker_for(aligned, source, target, score, rerank)
    compared = min(max(most, COMPARED), len(tgt))
    # One product answers both directions for all words; for few words two small ones are cheaper.
    whole = 4 * len(rows) >= len(src) >= compared
    if whole:
        forward, backward = retriever.top_both(compared)
        forward = Neighbours(forward.indices[rows], forward.scores[rows])
    else:
        forward = retriever.top(compared, rows=rows)
    if reranker is not None:
        forward = reranker.retriever(aligned, progress=progress).top(compared, rows=rows)
    source_forms, target_forms = CaseForms.of(src), CaseForms.of(tgt)
    if merge_case:
        forward = _merged(forward, source_forms.capital[rows], target_forms)
    share = forward.scores if reranker is not None else shares(forward)
    forward, share = Neighbours(forward.indices[:, :most], forward.scores[:, :most]), share[:, :most]
    asked = np.unique(forward.indices[forward.indices >= 0])
    chosen = np.full(len(tgt), -1, dtype=np.int64)
    if whole:
        chosen[asked] = backward.indices[asked, 0]
    elif len(asked):
        back = aligned.retriever(target, source, score=score, backend=backend, progress=progress)
        chosen[asked] = back.top(1, rows=asked).indices[:, 0]
    present = forward.indices >= 0
    groups = source_forms.groups
    mutual = present & (groups[chosen[forward.indices]] == groups[rows][:, None])
    own = {word.casefold(): group for word, group in zip(src.words, groups.tolist(), strict=True)}
    spelled = np.fromiter((own.get(word.casefold(), -1) for word in tgt.words), dtype=np.int64, count=len(tgt))
    same = present & (spelled[forward.indices] == groups[rows][:, None])
    return Candidates(
        rows,
        forward.indices,
        forward.scores,
        share,
        mutual,
        same,
        frequency_ranks(src)[rows],
    )


def shares(neighbours: Neighbours) -> npt.NDArray[np.float32]:
    """How far each candidate stands out, in [0, 1]: its share of a softmax over the first candidates' scores.

    This orders pairs well, it is not a calibrated probability.
    """
    scores = np.where(neighbours.indices >= 0, neighbours.scores, -np.inf)
    weights = np.exp(SHARPNESS * (scores - scores[:, :1]))
    share: npt.NDArray[np.float32] = (weights / weights[:, :COMPARED].sum(axis=1, keepdims=True)).astype(np.float32)
    return share


def reranker_for(aligned: Aligned, source: str, target: str, score: str, wanted: bool | None) -> Reranker | None:
    """The re-ranker to use, which orders candidates found by CSLS and by nothing else."""
    if score != "csls":
        if wanted:
            raise ConfigError(f"re-ranking goes by CSLS, not by {score}", remedy="leave the score or re-ranking out")
        return None
    return aligned.reranker(source, target, wanted)


def _merged(found: Neighbours, capital: npt.NDArray[np.bool_], forms: CaseForms) -> Neighbours:
    """One candidate for all forms of a word in different case, at the place of the first."""
    kept = capital[:, None] & forms.capital[found.indices]
    indices = np.where(kept, found.indices, forms.usual[found.indices])
    groups = forms.groups[indices]
    repeated = np.zeros(indices.shape, dtype=np.bool_)
    for place in range(1, indices.shape[1]):
        repeated[:, place] = (groups[:, :place] == groups[:, place : place + 1]).any(axis=1)
    gone = repeated | (found.indices < 0)
    # A stable sort moves what is left to the front in its order.
    order = np.argsort(gone, axis=1, kind="stable")
    gone = np.take_along_axis(gone, order, axis=1)
    indices = np.where(gone, -1, np.take_along_axis(indices, order, axis=1))
    return Neighbours(indices, np.where(gone, np.float32(0), np.take_along_axis(found.scores, order, axis=1)))
