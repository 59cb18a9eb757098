"""Translation of words and short phrases with aligned spaces."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.aligned.candidates import reranker_for
from isoglot.aligned.lookup import likelier_language, look_up
from isoglot.errors import ConfigError
from isoglot.progress import Progress, silent
from isoglot.retrieval import Neighbours
from isoglot.small_tables import html_table
from isoglot.strings import one_or_many

if TYPE_CHECKING:
    from isoglot.aligned.aligned import Aligned

#: For how many unknown words words of similar spelling are looked for, which takes a moment each.
_ADVISED = 100


@dataclasses.dataclass(frozen=True, repr=False)
class Translation:
    """Candidates (word, score) for one word or phrase, best first; `known` is False if it has no vector.

    Args:
        form: the word of the vocabulary that was looked up; empty if the vector was made of parts.
        parts: of a phrase that is no word of the vocabulary, the translations of its words.
        near: known words spelled like one that is not.
        language: another language that this is probably a word of.

    >>> answer = Translation("cat", "en", "fr", (("chat", 0.71), ("minou", 0.42)))
    >>> answer.best, len(answer), [word for word, _ in answer]
    ('chat', 2, ['chat', 'minou'])
    """

    word: str
    source: str
    target: str
    candidates: tuple[tuple[str, float], ...] = ()
    known: bool = True
    form: str = ""
    parts: tuple[Translation, ...] = ()
    near: tuple[str, ...] = ()
    language: str | None = None

    @property
    def best(self) -> str | None:
        """The first candidate, if there is any."""
        return self.candidates[0][0] if self.candidates else None

    @property
    def word_by_word(self) -> str:
        """Of a phrase made of words, the best translation of each, unknown ones as they are."""
        return " ".join(part.best or part.word for part in self.parts)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def __getitem__(self, place: int) -> tuple[str, float]:
        return self.candidates[place]

    def __repr__(self) -> str:
        found = ", ".join(f"{word} ({self.target}) {score:.2f}" for word, score in self.candidates)
        words = f"; word by word: {self.word_by_word}" if self.parts else ""
        hints = [f"did you mean {self.near[0]!r}?"] if self.near else []
        hints += [f"probably a word of {self.language!r}"] if self.language else []
        answer = found if self.known else "; ".join(["no vector", *hints])
        return f"{self.word} ({self.source}) -> {answer}{words}"

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
    """The k best translations of each word or phrase, or of the one given. Those without a vector are not known.

    A phrase (words separated by spaces) that the vocabulary has as a word (`ice_cream`) is looked up as such. Others
    are composed: `candidates` are the words nearest to the sum of its words, `parts` their own translations.

    `rerank`: in the order of the saved re-ranker, whose scores are shares of probability: None where there is one and
    `score` is its own (CSLS), True insists, False keeps the plain order. Phrases that are composed keep it anyway.
    """
    if k < 1:
        raise ConfigError(f"the number of candidates must be at least 1, got {k}")
    source, target = aligned.direction(source, target)
    asked = one_or_many(words)
    found = [look_up(aligned, source, query) for query in asked]
    answers = [
        Translation(query, source, target, (), one.vector is not None, one.form)
        for query, one in zip(asked, found, strict=True)
    ]
    unknown = [i for i, one in enumerate(found) if one.vector is None and not one.parts][:_ADVISED]
    for i, one in enumerate(found):
        language = None if one.parts else likelier_language(aligned, source, asked[i])
        similar = tuple(aligned.spaces[source].spelled_like(asked[i])) if i in unknown else ()
        answers[i] = dataclasses.replace(answers[i], near=similar, language=language)
    reranker = reranker_for(aligned, source, target, score, rerank)
    ranked = [i for i, one in enumerate(found) if one.vector is not None and reranker is not None and not one.parts]
    plain = [i for i, one in enumerate(found) if one.vector is not None and i not in set(ranked)]
    near: list[tuple[list[int], Neighbours]] = []
    if ranked and reranker is not None:
        forms = [found[i].form or asked[i] for i in ranked]
        near.append((ranked, reranker.retriever(aligned, progress=progress).top_words(k, forms)))
    if plain:
        retriever = aligned.retriever(source, target, score=score, progress=progress)
        near.append((plain, retriever.top(k, vectors=np.stack([found[i].vector for i in plain]))))  # type: ignore[misc]
    names = aligned.spaces[target].words
    for numbers, neighbours in near:
        for i, indices, scores in zip(numbers, neighbours.indices, neighbours.scores, strict=True):
            candidates = tuple((names[j], float(s)) for j, s in zip(indices, scores, strict=True) if j >= 0)
            answers[i] = dataclasses.replace(answers[i], candidates=candidates)
    parts = list(dict.fromkeys(part for one in found for part in one.parts))
    if parts:
        settings: dict[str, Any] = {"k": k, "score": score, "rerank": rerank, "progress": progress}
        single = dict(zip(parts, translate(aligned, parts, source=source, target=target, **settings), strict=True))
        for i, one in enumerate(found):
            answers[i] = dataclasses.replace(answers[i], parts=tuple(single[part] for part in one.parts))
    return answers
