"""Bilingual lexicon induction: does the nearest word of the other language translate the word?

Two protocols are in use and differ by several points on the same vectors, so both are always reported.

- **in-vocabulary** (Conneau et al. 2018, "Word translation without parallel data"): pairs with a word outside its
  space are dropped, and figures are shares of the sources that still have a pair.
- **full** (Wang et al. 2020, "Cross-lingual alignment vs joint training", Table 1): figures are shares of all test
  sources. A source outside the space is right if it is itself one of its gold targets (it would be copied), else
  wrong; a source whose gold targets are all outside is wrong.

A source counts as right at k if any of its gold targets is among its k nearest target words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, LexiconError, ShapeError
from isoglot.lexicons import Lexicon, check_direction, frequency_ranks
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.tasks.registry import task
from isoglot.tasks.result import Results
from isoglot.tasks.significance import ItemFigure, means_of_items

if TYPE_CHECKING:
    from isoglot.aligned import RerankedRetriever
    from isoglot.retrieval import Retriever

#: Gold targets further down than this add nothing to the mean reciprocal rank (each would add less than .01).
MRR_DEPTH = 100


@task("bli", "translation of words")
def bli(
    src: Space,
    tgt: Space,
    lexicon: Lexicon,
    *,
    score: str = "csls",
    neighbourhood: int = 10,
    temperature: float = 30.0,
    ks: Sequence[int] = (1, 5, 10),
    identical: Literal["keep", "remove"] = "keep",
    backend: str = "exact",
    retriever: Retriever | RerankedRetriever | None = None,
    seed: int = 0,
    bootstrap: int = 1000,
    threads: int | None = None,
    progress: Progress = silent,
) -> Results:
    """P@k and MRR of word translation from `src` to `tgt`, over the whole target vocabulary.

    Args:
        src, tgt: spaces whose vectors have already been mapped into one space, of equal dimension.
        lexicon: gold translations.
        score: how candidates are ranked: "csls", "cosine" or "inverted_softmax"; see `isoglot.retrieval`.
        neighbourhood: how many neighbours CSLS averages over.
        temperature: the inverse temperature of the inverted softmax.
        ks: at which depths precision is taken.
        identical: "remove" leaves out pairs of identical form, which a copy would get right.
        backend: search backend; approximate ones may miss neighbours.
        retriever: a `Retriever` already built on these vectors, to be used instead of a new one. Its own score,
            neighbourhood and backend then hold. One that re-ranks is named in the protocol as `rerank`.
        bootstrap: resamples of sources for the 95% intervals; 0 for none.

    Returns:
        P@k for each k and MRR, first in-vocabulary, then full. The first is the primary figure. Each carries one
        record per source: `source`, `gold`, `predictions` [(word, score), ...], `rank` of the best gold target (None
        if below `MRR_DEPTH`), `value` (what the source adds to this figure), `hit`, `frequency_rank`, `status`.

    >>> import numpy as np
    >>> en = Space("en", ["cat", "dog"], np.eye(2))
    >>> fr = Space("fr", ["chat", "chien"], np.eye(2))
    >>> gold = Lexicon([("cat", "chat"), ("dog", "chien"), ("taxi", "taxi")], "en", "fr")
    >>> for result in bli(en, fr, gold, score="cosine", ks=(1,), bootstrap=0):
    ...     print(result.protocol["denominator"], result.metric, result.value, result.n)
    in-vocabulary P@1 1.0 2
    in-vocabulary MRR 1.0 2
    full P@1 1.0 3
    full MRR 1.0 3
    """
    depths = checked_depths(ks)
    if identical not in ("keep", "remove"):
        raise ConfigError(f"identical must be 'keep' or 'remove', not {identical!r}")
    if src.dim != tgt.dim:
        raise ShapeError(
            f"{src.lang} vectors have {src.dim} dimensions and {tgt.lang} vectors {tgt.dim}",
            remedy="map both into one space first",
        )
    if identical == "remove":
        lexicon = lexicon.without_identical()
    check_direction(lexicon, src, tgt)
    asked = lexicon.restrict(src, tgt).by_source
    if not asked:
        raise _no_overlap(lexicon, src, tgt)
    from isoglot.retrieval import Retriever

    if retriever is None:
        retriever = Retriever(
            src.vectors,
            tgt.vectors,
            score=score,
            neighbourhood=neighbourhood,
            temperature=temperature,
            backend=backend,
            threads=threads,
            progress=progress,
        )
    elif retriever.shape != (len(src), len(tgt)):
        raise ShapeError(f"the retriever was built on {retriever.shape} rows, not on these {len(src), len(tgt)}")
    rows = src.rows(asked)
    found = retriever.top(min(len(tgt), max(MRR_DEPTH, *depths)), rows=rows)
    words = tgt.words
    answers = {
        source: _Answer([words[i] for i in near if i >= 0], near_scores, set(lexicon.by_source[source]), max(depths))
        for source, near, near_scores in zip(asked, found.indices, found.scores, strict=True)
    }
    settings: dict[str, Any] = {"score": retriever.score}
    if retriever.score == "csls":
        settings["neighbourhood"] = retriever.neighbourhood
    elif isinstance(retriever, Retriever) and retriever.score == "inverted_softmax":
        settings["temperature"] = retriever.temperature
    if not isinstance(retriever, Retriever):
        settings["rerank"] = retriever.rerank
    settings |= {
        "backend": retriever.backend,
        "identical": identical,
        "candidates": len(tgt),
        "test_sources": len(lexicon.by_source),
        "mrr_depth": MRR_DEPTH,
        "bootstrap": bootstrap,
        "seed": seed,
    }
    items = _items(lexicon, src, answers)
    in_vocabulary = [item for item in items if item.record["status"] == "asked"]
    coverage = len(asked) / len(lexicon.by_source)
    results = Results()
    for denominator, chosen in (("in-vocabulary", in_vocabulary), ("full", items)):
        figures = _figures(chosen, depths, {"denominator": denominator, **settings})
        results += means_of_items("bli", figures, coverage=coverage, bootstrap=bootstrap, seed=seed)
    return results


class _Answer:
    """What was retrieved for one source word."""

    def __init__(self, words: list[str], scores: npt.NDArray[np.float32], gold: set[str], keep: int) -> None:
        self.rank = next((place for place, word in enumerate(words, start=1) if word in gold), None)
        self.predictions = [
            (word, round(float(value), 6)) for word, value in zip(words[:keep], scores[:keep], strict=False)
        ]


@dataclasses.dataclass(frozen=True)
class _Item:
    """One test source: its record, and the rank that counts (0 for never right, 1 for a right copy)."""

    record: dict[str, Any]
    rank: int


def _items(lexicon: Lexicon, src: Space, answers: dict[str, _Answer]) -> list[_Item]:
    frequency = frequency_ranks(src)
    items = []
    for source, gold in lexicon.by_source.items():
        answer = answers.get(source)
        row = src.index.get(source)
        record: dict[str, Any] = {
            "source": source,
            "gold": list(gold),
            "predictions": [] if answer is None else answer.predictions,
            "rank": None if answer is None else answer.rank,
            "frequency_rank": None if row is None else int(frequency[row]),
            "status": "asked",
        }
        rank = record["rank"] or 0
        if row is None:
            copied = source in gold
            record["status"] = "source missing, copied" if copied else "source missing"
            rank = int(copied)
        elif answer is None:
            record["status"] = "targets missing"
        items.append(_Item(record, rank))
    return items


def _figures(items: list[_Item], depths: tuple[int, ...], protocol: dict[str, Any]) -> list[ItemFigure]:
    ranks = np.array([item.rank for item in items], dtype=np.int64)
    right = ranks > 0
    columns = {f"P@{k}": right & (ranks <= k) for k in depths}
    columns["MRR"] = np.where(right & (ranks <= MRR_DEPTH), 1.0 / np.maximum(ranks, 1), 0.0)
    return [
        ItemFigure(
            metric,
            values,
            [
                {**item.record, "value": float(value), "hit": bool(value > 0)}
                for item, value in zip(items, values, strict=True)
            ],
            protocol,
        )
        for metric, values in columns.items()
    ]


def checked_depths(ks: Sequence[int]) -> tuple[int, ...]:
    """The depths at which precision is taken, each once."""
    depths = tuple(dict.fromkeys(int(k) for k in ks))
    if not depths or min(depths) < 1:
        raise ConfigError(f"must be positive numbers, not {list(ks)!r}", where="ks")
    return depths


def _no_overlap(lexicon: Lexicon, src: Space, tgt: Space) -> LexiconError:
    coverage = lexicon.coverage(src, tgt)
    if not coverage.pairs:
        return LexiconError("the dictionary has no pairs to test", where=lexicon.source)
    examples = ", ".join(f"{source} - {target}" for source, target in lexicon.pairs[:3])
    return LexiconError(
        f"none of the {coverage.pairs:,} pairs ({examples}, ...) has both words in the spaces: "
        f"{coverage.missing_sources:,} of {coverage.sources:,} source words are missing",
        where=lexicon.source,
        remedy="check the languages, their order and letter case",
    )
