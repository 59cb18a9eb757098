"""Learn once more from what re-ranking is sure of.

A re-ranker sees spelling and frequency, so its translations of frequent words are better than those that self-learning
finds by vectors alone. Those that it is confident of join the seeds, and the map is learned again. Whether that helps
is tried first with seed words that neither maps nor re-ranker have seen.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isoglot.aligned import Aligned, Reranker
from isoglot.aligners import Aligner, Alignment, within_one_error
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress, silent
from isoglot.spaces import Space

#: Most frequent source words that are translated.
_FREQUENT = 12_000
#: A translation to learn from has at least this share of probability among its rivals.
_CONFIDENT = 0.5
#: First rows of both Spaces among which parts of the pairs are tried: large Spaces cost no more than this.
NEAR = 30_000


def near(space: Space) -> Space:
    """The words among which parts of the pairs are tried."""
    return space if len(space) <= NEAR else space.take(np.arange(NEAR))


def near_reranker(reranker: Reranker, tgt: Space) -> Reranker:
    """The re-ranker for `near(tgt)`."""
    return reranker if reranker.prior is None else dataclasses.replace(reranker, prior=reranker.prior[: len(near(tgt))])


def learn_from_confident(
    src: Space, tgt: Space, train: Lexicon, aligner: Aligner, first: Alignment, reranker: Reranker, progress: Progress
) -> tuple[Alignment, dict[str, Any]] | None:
    """The map learned from the pairs and from confident re-ranked translations, and what to tell of it.

    `first` is the map of the pairs alone. None where held-out seeds are worse off by more than one standard error.
    """
    again = aligner
    if any(field.name == "self_learning" for field in dataclasses.fields(aligner)):
        # What the vectors alone would add is worse than what is there now.
        again = dataclasses.replace(aligner, self_learning=False)  # type: ignore[call-arg]
    if reranker.unseen is None:
        return None
    words, judge = reranker.unseen
    rest = dataclasses.replace(train, pairs=[pair for pair in train.pairs if pair[0] not in set(words)])
    before = aligner.fit(src, tgt, rest)
    after = again.fit(src, tgt, _joined(rest, _confident(judge, before, src, tgt, rest, progress)))
    hits = [_hits(judge, one, src, tgt, train, words) for one in (before, after)]
    if not within_one_error(hits[1], hits[0]):
        return None
    found = _confident(reranker, first, src, tgt, train, progress)
    alignment = again.fit(src, tgt, _joined(train, found), progress=progress)
    facts = {
        "pairs": len(found),
        "held_out": {"n": len(words), "before": float(hits[0].mean()), "after": float(hits[1].mean())},
    }
    return alignment, facts


def _joined(lexicon: Lexicon, more: list[tuple[str, str]]) -> Lexicon:
    return dataclasses.replace(lexicon, pairs=[*lexicon.pairs, *more])


def _confident(
    reranker: Reranker, alignment: Alignment, src: Space, tgt: Space, known: Lexicon, progress: Progress
) -> list[tuple[str, str]]:
    """Translations of frequent words that the seeds do not have; of words that share one, the surest keeps it."""
    words = [word for word in src.words[:_FREQUENT] if word not in known.by_source and word.isalpha()]
    best, shares = _translated(reranker, alignment, src, tgt, words, progress)
    found: list[tuple[str, str]] = []
    taken: set[int] = set()
    for i in np.argsort(-shares, kind="stable").tolist():
        if shares[i] < _CONFIDENT:
            break
        if best[i] not in taken:
            taken.add(int(best[i]))
            found.append((words[i], tgt.words[best[i]]))
    return found


def _hits(
    reranker: Reranker, alignment: Alignment, src: Space, tgt: Space, lexicon: Lexicon, words: tuple[str, ...]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    best, _ = _translated(reranker, alignment, src, tgt, list(words))
    right = [tgt.words[row] in lexicon.by_source[word] for word, row in zip(words, best.tolist(), strict=True)]
    return np.array(right, dtype=np.float64)


def _translated(
    reranker: Reranker, alignment: Alignment, src: Space, tgt: Space, words: list[str], progress: Progress = silent
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.float32]]]:
    """The best candidate of each word, a row of `tgt`, and its share."""
    source = dataclasses.replace(near(src), lang=reranker.source)
    target = dataclasses.replace(near(tgt), lang=reranker.target)
    spaces = Aligned.pair(alignment, source, target)
    retriever = near_reranker(reranker, tgt).retriever(spaces, progress=progress)
    found = retriever.top(1, rows=source.rows(words))
    return found.indices[:, 0], found.scores[:, 0]
