"""Word translation with aligned spaces."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from isoglot.aligned.candidates import reranker_for
from isoglot.errors import ConfigError
from isoglot.progress import Progress, silent
from isoglot.small_tables import html_table
from isoglot.strings import one_or_many

if TYPE_CHECKING:
    from isoglot.aligned.aligned import Aligned


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
    reranker = reranker_for(aligned, source, target, score, rerank)
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
