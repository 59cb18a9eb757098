"""The audit: how cross-lingual is an encoder, layer by layer, and what would aligning it bring?

Every layer is measured on the same parallel sentences:

- *sentence retrieval*: P@1 in both directions as it is; and within two halves, as it is and after a Procrustes map that
  was learned on the other half. Both within halves have the same sentences and as many candidates: their difference is
  what aligning brings.
- *word matching*, without any reference: a word is shown the words of `GROUP` sentences, the translation of its own and
  others drawn at random, and hits if the most similar one lies in the translation. Chance is the translation's share
  of those words. Words without letters or digits and words that the translation has in the same spelling are not asked.
  With word links, also their F1.
- *language probe*: can a linear classifier, learned on one half, tell the languages of the other half apart?
- *anisotropy* (Ethayarajh 2019): mean cosine of different words, one random occurrence each.
- *dominance*: do a few huge dimensions rule all cosines, as in causal models, and does standardising them help?
- *hubness* and *isomorphism* of the sentence vectors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.criteria import eigenvector_similarity, relational_similarity, singular_value_gap
from isoglot.encoders import Encoder, WordVectors
from isoglot.errors import InputError, ShapeError
from isoglot.pipelines.audit_measures import (
    NEIGHBOURS,
    SCORES,
    anisotropy,
    dominance,
    halved_retrieval,
    language_probe,
    retrieval_hits,
    word_matching,
)
from isoglot.pipelines.audit_report import Audit, BestLayer, Figure, LayerAudit, Retrieval
from isoglot.progress import Progress, silent
from isoglot.retrieval import Retriever, hubness
from isoglot.spaces import FloatMatrix, IntVector, Normaliser
from isoglot.tasks import bootstrap_intervals, percentile_interval, resampled_counts, word_alignment
from isoglot.text import ParallelText, segmenter as load_segmenter
from isoglot.wordalign import WordLinks, check_links, link_words

#: Sentences whose words compete in word matching.
GROUP = 8
#: Fewer pairs tell nothing: half of them would hardly fill a neighbourhood.
FEWEST = 24

Doubles = npt.NDArray[np.float64]


def audit_encoder(
    encoder: Encoder,
    text: ParallelText,
    *,
    links: Sequence[WordLinks] | None = None,
    links_name: str = "links",
    segmenter: str | tuple[str, str] = "icu",
    limit: int = 1000,
    words: int = 5000,
    bootstrap: int = 1000,
    seed: int = 0,
    progress: Progress = silent,
) -> Audit:
    """Measure every layer of an encoder that was made with layer="all".

    Blank lines and sentences that were there before, on either side, are left out: nobody can tell repeated ones apart,
    and a map could learn them by heart. See `expected_megabytes` for the memory that vectors take.

    Args:
        links: gold word links of all lines of the text, as `segmenter` splits them; `links_name` is for errors.
        segmenter: how sentences are split into words, see `isoglot.text.segmenter`; two names for source and target.
        limit: sentence pairs that are looked at, drawn at random where there are more.
        words: word-level figures look at so many sentences that no side has more words than this.
        bootstrap: resamples of sentences for the intervals.
    """
    random = np.random.default_rng(seed)
    rows, notes = _chosen(text, limit, random)
    src, tgt = ([side[row] for row in rows] for side in (text.src, text.tgt))
    names = (segmenter, segmenter) if isinstance(segmenter, str) else segmenter
    split = [load_segmenter(name, lang) for name, lang in zip(names, (text.src_lang, text.tgt_lang), strict=True)]
    if links is not None:
        lengths = [[len(cut(line)) for line in side] for cut, side in zip(split, (text.src, text.tgt), strict=True)]
        check_links(links, lengths[0], lengths[1], links_name)
    sample = _WordSample.draw(src, tgt, split, words, random)
    gold = None if links is None else [links[rows[number]] for number in sample.numbers]
    halves = np.array_split(random.permutation(len(rows)), 2)
    where = [lang or side for lang, side in zip((text.src_lang, text.tgt_lang), ("source", "target"), strict=True)]
    X, Y = (
        encoder.sentence_layers(side, step=f"encoding sentences of {lang}", progress=progress)
        for side, lang in zip((src, tgt), where, strict=True)
    )
    A, B = (
        encoder.word_layers(side, step=f"encoding words of {lang}", progress=progress)
        for side, lang in zip((sample.src, sample.tgt), where, strict=True)
    )
    numbers = encoder.layers.numbers
    if not len(numbers) == len(X) == len(Y) == len(A) == len(B):
        raise ShapeError(f"the encoder gave {len(X)} layers for {len(numbers)}", remedy='make it with layer="all"')
    layers, hits = [], []
    for i, number in enumerate(numbers):
        progress("measuring layers", i, len(numbers))
        found = halved_retrieval(X[i], Y[i], halves) | {
            ("as_is", score): retrieval_hits(X[i], Y[i], score) for score in SCORES
        }
        hits.append({key: values.mean(axis=1) for key, values in found.items()})
        layers.append(
            LayerAudit(
                layer=number,
                as_is={score: _retrieval(found["as_is", score], bootstrap, seed) for score in SCORES},
                halved={score: _retrieval(found["halved", score], bootstrap, seed) for score in SCORES},
                aligned={score: _retrieval(found["aligned", score], bootstrap, seed) for score in SCORES},
                gain=_figure(hits[-1]["aligned", "csls"] - hits[-1]["halved", "csls"], bootstrap, seed),
                **sample.figures(A[i], B[i], gold, bootstrap, seed),
                **_sentence_figures(X[i], Y[i], halves, bootstrap, seed),
            )
        )
    progress("measuring layers", len(numbers), len(numbers))
    raw, aligned = (
        _best(numbers, [one[kind, "csls"] for one in hits], bootstrap, seed) for kind in ("as_is", "aligned")
    )
    after = hits[numbers.index(aligned.layer)]["aligned", "csls"]
    before = hits[numbers.index(raw.layer)]["halved", "csls"]
    settings = {
        "limit": limit, "words": words, "segmenter": list(names), "bootstrap": bootstrap, "seed": seed,
        "csls_neighbourhood": NEIGHBOURS, "word_group": GROUP, "word_links": links is not None,
    }  # fmt: skip
    return Audit(
        encoder=encoder.name,
        languages=(text.src_lang, text.tgt_lang),
        dim=int(X.shape[2]),
        sentences=len(rows),
        words=(int(A[0].offsets[-1]), int(B[0].offsets[-1])),
        layers=tuple(layers),
        best_as_is=raw,
        best_aligned=aligned,
        gain=_figure(after - before, bootstrap, seed),
        settings=settings,
        notes=tuple(notes),
    )


def expected_megabytes(layers: int, dim: int, *, sentences: int = 1000, words: int = 5000) -> float:
    """Memory of the vectors of both sides, all layers, float32.

    >>> round(expected_megabytes(7, 384)), round(expected_megabytes(25, 1024))
    (129, 1229)
    """
    return 2 * layers * dim * 4 * (sentences + words) / 1e6


@dataclasses.dataclass(frozen=True, eq=False)
class _WordSample:
    """The words that are looked at: sentences by number, who competes with whom, who is asked, who is compared."""

    numbers: list[int]
    src: list[list[str]]
    tgt: list[list[str]]
    groups: IntVector  # (n, GROUP)
    asked: tuple[list[npt.NDArray[np.bool_]], list[npt.NDArray[np.bool_]]]
    once: tuple[IntVector, IntVector]  # rows of one occurrence of each word

    @classmethod
    def draw(
        cls, src: Sequence[str], tgt: Sequence[str], split: Sequence[Any], most: int, random: np.random.Generator
    ) -> _WordSample:
        numbers: list[int] = []
        sides: tuple[list[list[str]], list[list[str]]] = ([], [])
        total = [0, 0]
        for number in random.permutation(len(src)).tolist():
            pair = split[0](src[number]), split[1](tgt[number])
            if not all(pair):
                continue
            total = [count + len(words) for count, words in zip(total, pair, strict=True)]
            if max(total) > most and len(numbers) >= GROUP:
                break
            numbers.append(number)
            for side, words in zip(sides, pair, strict=True):
                side.append(words)
        n = len(numbers)
        others = [[i, *_others(i, n, random)] for i in range(n)]
        groups = np.array(others, dtype=np.int64).reshape(n, min(GROUP, n))
        asked = _asked(sides[0], sides[1]), _asked(sides[1], sides[0])
        return cls(numbers, *sides, groups, asked, (_once(sides[0], random), _once(sides[1], random)))

    def figures(
        self, A: WordVectors, B: WordVectors, gold: Sequence[WordLinks] | None, bootstrap: int, seed: int
    ) -> dict[str, Any]:
        """What `LayerAudit` says of words."""
        there, back = (
            word_matching(one, other, self.groups, asked)
            for one, other, asked in ((A, B, self.asked[0]), (B, A, self.asked[1]))
        )
        counts = np.concatenate([there, back], axis=1)  # of the same sentences, so that both are resampled together
        match, chance = None, None
        if min(counts[:, 1].sum(), counts[:, 4].sum()) > 0 and self.groups.shape[1] > 1:
            drawn = np.concatenate(
                [_shares(block @ counts) for block in resampled_counts(len(counts), bootstrap, seed)]
            )
            match = Figure(float(_shares(counts.sum(axis=0))), percentile_interval(drawn))
            chance = float(_shares(counts[:, [2, 1, 0, 5, 4, 3]].sum(axis=0)))
        linked = None
        if gold is not None:
            results = word_alignment(link_words(A, B, "intersection"), gold, bootstrap=bootstrap, seed=seed)
            linked = {result.metric: Figure(result.value, result.interval) for result in results}
        enough = min(len(rows) for rows in self.once) > 1
        mean = anisotropy(A.vectors[self.once[0]], B.vectors[self.once[1]]) if enough else None
        return {"word_match": match, "word_chance": chance, "word_links": linked, "anisotropy": mean}


def _chosen(text: ParallelText, limit: int, random: np.random.Generator) -> tuple[list[int], list[str]]:
    """Lines that are looked at, in order, and notes on those that are not."""
    rows: list[int] = []
    blank = 0
    seen: tuple[set[str], set[str]] = (set(), set())
    for row, pair in enumerate(text):
        plain = [line.strip() for line in pair]
        if not all(plain):
            blank += 1
        elif not any(line in known for line, known in zip(plain, seen, strict=True)):
            rows.append(row)
            for line, known in zip(plain, seen, strict=True):
                known.add(line)
    repeated = len(text) - blank - len(rows)
    notes = [
        f"{count:,} {'line was' if count == 1 else 'lines were'} left out: {why}"
        for count, why in ((blank, "blank on a side"), (repeated, "a sentence that was there before"))
        if count
    ]
    if len(rows) > limit:
        notes.append(f"{limit:,} of {len(rows):,} sentence pairs were drawn")
        rows = sorted(random.choice(rows, limit, replace=False).tolist())
    if len(rows) < FEWEST:
        raise InputError(
            f"{len(rows):,} sentence pairs are too few for an audit",
            remedy=f"give at least {FEWEST}, better 1,000; blank and repeated ones do not count",
        )
    return rows, notes


def _others(own: int, n: int, random: np.random.Generator) -> list[int]:
    drawn = random.choice(n - 1, min(GROUP, n) - 1, replace=False) if n > 1 else np.zeros(0, dtype=np.int64)
    return [int(other) + (other >= own) for other in drawn]


def _asked(sentences: Sequence[Sequence[str]], translations: Sequence[Sequence[str]]) -> list[npt.NDArray[np.bool_]]:
    asked = []
    for words, translation in zip(sentences, translations, strict=True):
        same = {word.casefold() for word in translation}
        asked.append(np.array([_is_word(word) and word.casefold() not in same for word in words], dtype=bool))
    return asked


def _once(sentences: Sequence[Sequence[str]], random: np.random.Generator) -> IntVector:
    words = np.array([word.casefold() if _is_word(word) else "" for words in sentences for word in words])
    order = random.permutation(len(words))
    _, first = np.unique(words[order], return_index=True)
    rows: IntVector = np.sort(order[first[words[order][first] != ""]])
    return rows


def _is_word(word: str) -> bool:
    return any(char.isalnum() for char in word)


def _shares(counts: Doubles) -> Doubles:
    """The mean of both directions' shares, from sums (..., 6) of hits, words and chance a direction."""
    # A resample may hold no word that is asked: then it does not count.
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: Doubles = (counts[..., 0] / counts[..., 1] + counts[..., 3] / counts[..., 4]) / 2
    return shares


def _standardised(X: FloatMatrix) -> FloatMatrix:
    return Normaliser.fit_transform("standardise", X)[1]


def _sentence_figures(
    X: FloatMatrix, Y: FloatMatrix, halves: Sequence[IntVector], bootstrap: int, seed: int
) -> dict[str, Any]:
    even = retrieval_hits(_standardised(X), _standardised(Y), "csls")
    hubs = [hubness(found, len(X)) for found in Retriever(X, Y, score="cosine").top_both(NEIGHBOURS)]
    return {
        "probe": _figure(language_probe(X, Y, halves), bootstrap, seed),
        "standardised": _figure(even.mean(axis=1), bootstrap, seed),
        "dominance": float(np.mean([dominance(side) for side in (X, Y)])),
        "skewness": float(np.mean([one.skewness for one in hubs])),
        "robin_hood": float(np.mean([one.robin_hood for one in hubs])),
        "singular_value_gap": singular_value_gap(X, Y),
        "eigenvector_similarity": eigenvector_similarity(X, Y),
        "relational_similarity": relational_similarity(X, Y),
    }


def _retrieval(hits: Doubles, bootstrap: int, seed: int) -> Retrieval:
    values = np.column_stack([hits.mean(axis=1), hits])
    intervals = bootstrap_intervals(values, repeats=bootstrap, seed=seed)
    return Retrieval(
        *(Figure(float(values[:, i].mean()), (float(low), float(high))) for i, (low, high) in enumerate(intervals))
    )


def _figure(values: Doubles, bootstrap: int, seed: int) -> Figure:
    ((low, high),) = bootstrap_intervals(values[:, None], repeats=bootstrap, seed=seed)
    return Figure(float(values.mean()), (float(low), float(high)))


def _best(numbers: Sequence[int], hits: Sequence[Doubles], bootstrap: int, seed: int) -> BestLayer:
    values = np.column_stack(hits)  # (n, layers)
    order = np.argsort(-values.mean(axis=0), kind="stable")
    best = int(order[0])
    leads = bootstrap_intervals(values[:, [best]] - values, repeats=bootstrap, seed=seed)
    tied = tuple(numbers[i] for i in range(len(numbers)) if i != best and leads[i, 0] <= 0)
    following = int(order[1]) if len(order) > 1 else None
    lead = None if following is None else _figure(values[:, best] - values[:, following], bootstrap, seed)
    return BestLayer(
        numbers[best],
        _figure(values[:, best], bootstrap, seed),
        None if following is None else numbers[following],
        lead,
        tied,
    )
