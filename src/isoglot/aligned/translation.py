"""Word translation and dictionary induction with aligned spaces."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError
from isoglot.progress import Progress, silent
from isoglot.retrieval import Neighbours
from isoglot.small_tables import html_table
from isoglot.strings import one_or_many

if TYPE_CHECKING:
    from isoglot.aligned.aligned import Aligned
    from isoglot.aligned.rerank import Reranker

#: How sharply scores are told apart in `confidence`: differences of .1 in CSLS matter, of .01 do not.
SHARPNESS = 20.0
_COMPARED = 10  # candidates among which a confidence is shared out


@dataclasses.dataclass(frozen=True, repr=False)
class Translation:
    """Candidates (word, score) for one word, best first; `known` is False if the word has no vector.

    >>> answer = Translation("cat", "en", "fr", (("chat", 0.71), ("minou", 0.42)))
    >>> answer.best, len(answer), [word for word, _ in answer]
    ('chat', 2, ['chat', 'minou'])
    """

    word: str
    source: str
    target: str
    candidates: tuple[tuple[str, float], ...] = ()
    known: bool = True

    @property
    def best(self) -> str | None:
        """The first candidate, if there is any."""
        return self.candidates[0][0] if self.candidates else None

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def __getitem__(self, place: int) -> tuple[str, float]:
        return self.candidates[place]

    def __repr__(self) -> str:
        found = ", ".join(f"{word} ({self.target}) {score:.2f}" for word, score in self.candidates)
        return f"{self.word} ({self.source}) -> {found if self.known else 'no vector'}"

    def _repr_html_(self) -> str:
        rows = [[word, f"{score:.3f}"] for word, score in self.candidates]
        return html_table(f"{self.word} ({self.source})", [self.target, "score"], rows)


@dataclasses.dataclass(frozen=True)
class InducedPair:
    """One line of an induced dictionary."""

    source: str
    target: str
    score: float
    confidence: float
    mutual: bool


def translate(
    aligned: Aligned,
    words: str | Iterable[str],
    *,
    source: str | None = None,
    target: str | None = None,
    k: int = 5,
    score: str = "csls",
    rerank: bool | None = None,
    progress: Progress = silent,
) -> list[Translation]:
    """The k best translations of each word, or of the one word given. Words without a vector come back as not known.

    `rerank`: in the order of the saved re-ranker, whose scores are shares of probability: None where there is one and
    `score` is its own (CSLS), True insists, False keeps the plain order.
    """
    if k < 1:
        raise ConfigError(f"the number of candidates must be at least 1, got {k}")
    source, target = aligned.direction(source, target)
    asked = one_or_many(words)
    vectors = [aligned.vector(source, word) for word in asked]
    found = [i for i, vector in enumerate(vectors) if vector is not None]
    answers = [Translation(word, source, target, known=False) for word in asked]
    if not found:
        return answers
    reranker = _reranker(aligned, source, target, score, rerank)
    if reranker is not None:
        near = reranker.retriever(aligned, progress=progress).top_words(k, [asked[i] for i in found])
    else:
        retriever = aligned.retriever(source, target, score=score, progress=progress)
        near = retriever.top(k, vectors=np.stack([v for v in vectors if v is not None]))
    names = aligned.spaces[target].words
    for i, indices, scores in zip(found, near.indices, near.scores, strict=True):
        candidates = tuple((names[j], float(s)) for j, s in zip(indices, scores, strict=True) if j >= 0)
        answers[i] = dataclasses.replace(answers[i], candidates=candidates, known=True)
    return answers


def induce(
    aligned: Aligned,
    *,
    source: str | None = None,
    target: str | None = None,
    limit: int | None = None,
    mutual: bool = False,
    minimum: float = 0.0,
    score: str = "csls",
    backend: str = "exact",
    rerank: bool | None = None,
    progress: Progress = silent,
) -> list[InducedPair]:
    """A dictionary: the best translation of each of the `limit` most frequent source words, in that order.

    `mutual` keeps only pairs that choose each other; `minimum` only those of at least this confidence. `rerank` as in
    `translate`: score and confidence are then the translation's share of probability. What a target word chooses is
    always taken from the plain order.
    """
    source, target = aligned.direction(source, target)
    src, tgt = aligned.spaces[source], aligned.spaces[target]
    retriever = aligned.retriever(source, target, score=score, backend=backend, progress=progress)
    forward, backward = retriever.top_both(min(_COMPARED, len(src), len(tgt)))
    sure = confidence(forward)
    reranker = _reranker(aligned, source, target, score, rerank)
    if reranker is not None:
        asked = np.arange(min(len(src), limit or len(src)))
        forward = reranker.retriever(aligned, progress=progress).top(1, rows=asked)
        sure = forward.scores[:, 0]
    pairs = []
    for row in range(min(len(src), limit or len(src))):
        best = int(forward.indices[row, 0])
        chosen_back = int(backward.indices[best, 0]) == row
        if (chosen_back or not mutual) and sure[row] >= minimum:
            pair = InducedPair(
                src.words[row], tgt.words[best], float(forward.scores[row, 0]), float(sure[row]), chosen_back
            )
            pairs.append(pair)
    return pairs


def _reranker(aligned: Aligned, source: str, target: str, score: str, wanted: bool | None) -> Reranker | None:
    """The re-ranker to use, which orders candidates found by CSLS and by nothing else."""
    if score != "csls":
        if wanted:
            raise ConfigError(f"re-ranking goes by CSLS, not by {score}", remedy="leave the score or re-ranking out")
        return None
    return aligned.reranker(source, target, wanted)


def confidence(neighbours: Neighbours) -> npt.NDArray[np.float32]:
    """How far the best candidate stands out, in (0, 1]: its share of a softmax over the candidates' scores.

    This orders pairs well, it is not a calibrated probability.
    """
    scores = np.where(neighbours.indices >= 0, neighbours.scores, -np.inf)
    weights = np.exp(SHARPNESS * (scores - scores[:, :1]))
    share: npt.NDArray[np.float32] = (1 / weights.sum(axis=1)).astype(np.float32)
    return share
