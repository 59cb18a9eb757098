"""Vectors of one language pair from one encoder: what alignments learn from, and what the four tasks ask."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from isoglot import catalogue
from isoglot.encoders import Encoder, WordVectors
from isoglot.errors import OfflineError
from isoglot.pipelines import ContextualPairs, TokenisedPairs, extract_pairs, tokenise
from isoglot.progress import Progress, silent
from isoglot.reproductions.density.table1 import shuffled
from isoglot.spaces import FloatMatrix, IntVector
from isoglot.tasks import WmtSegment, content_words
from isoglot.text import ParallelText, segmenter
from isoglot.wordalign import WordLinks, statistical_align

#: What links words of parallel text, as in the paper.
LINKED_BY = "fast_align"
#: Lines of Tatoeba that are searched, as many as XTREME has.
RETRIEVED = 1000


@dataclasses.dataclass(frozen=True, eq=False)
class GoldLinks:
    """Tokenised sentences of the language and of English, and which words translate each other."""

    src: Sequence[Sequence[str]]
    tgt: Sequence[Sequence[str]]
    links: Sequence[WordLinks]


@dataclasses.dataclass(frozen=True, eq=False)
class Trials:
    """Test data of one language, each None where there is none."""

    tatoeba: ParallelText | None = None
    judged: Sequence[WmtSegment] | None = None
    gold: GoldLinks | None = None

    @property
    def sentences(self) -> int:
        """Of both sides."""
        gold = 0 if self.gold is None else len(self.gold.src)
        return 2 * (len(self.tatoeba or ()) + len(self.judged or ()) + gold)


@dataclasses.dataclass(frozen=True, eq=False)
class Lines:
    """Parallel text with word links, in three parts that share no line."""

    learn: TokenisedPairs
    test: TokenisedPairs
    validation: TokenisedPairs


def parallel_lines(language: str, lines: int, seed: int, progress: Progress = silent) -> ParallelText:
    """So many lines with English: a program's messages and, where these are too few, LibreOffice's help."""
    text = shuffled(catalogue.load_parallel(language, "en", progress=progress), lines, seed)
    name = f"parallel/en-{language}-help"
    if len(text) < lines and catalogue.has_entry(name):
        try:
            more = catalogue.load_parallel(language, "en", name=name, progress=progress)
        except OfflineError:
            return text
        known = set(text.tgt)
        rest = [pair for pair in more if pair[1] not in known]
        other = dataclasses.replace(more, src=tuple(a for a, _ in rest), tgt=tuple(b for _, b in rest))
        other = shuffled(other, lines - len(text), seed)
        text = dataclasses.replace(text, src=text.src + other.src, tgt=text.tgt + other.tgt)
    return text


def linked_lines(text: ParallelText, sentences: int, held_out: int, progress: Progress = silent) -> Lines:
    """Words linked, and lines parted: those held out come first, as many for each purpose."""
    words = tokenise(text)
    # A text with fewer lines than are asked for still needs some to learn from.
    aside = min(held_out, len(words) // 4)
    words = words.part(0, sentences + 2 * aside)
    links = statistical_align(words.src, words.tgt, LINKED_BY, progress=progress)
    words = dataclasses.replace(words, links=links)
    return Lines(words.part(2 * aside, len(words)), words.part(0, aside), words.part(aside, 2 * aside))


class Material:
    """Made when a job asks for it: jobs that were done before need none."""

    def __init__(
        self,
        encoder: Encoder,
        lines: Lines,
        trials: Trials,
        points: int,
        *,
        languages: tuple[str, str],
        seed: int = 0,
        progress: Progress = silent,
    ) -> None:
        self.encoder, self.lines, self.trials, self.languages = encoder, lines, trials, languages
        self._points, self._seed, self._progress = points, seed, progress

    @cached_property
    def learned_from(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Row i of one side translates row i of the other, (n, d) each; no occurrence stands twice."""
        found = self._pairs(self.lines.learn)
        rows = one_to_one(found.pairs, self._points, self._seed)
        return found.src.vectors[rows[:, 0]], found.tgt.vectors[rows[:, 1]]

    @cached_property
    def cbli(self) -> ContextualPairs:
        return self._pairs(self.lines.test)

    @cached_property
    def validation(self) -> ContextualPairs:
        return self._pairs(self.lines.validation)

    @cached_property
    def tatoeba(self) -> tuple[WordVectors, WordVectors] | None:
        text = self.trials.tatoeba
        if text is None:
            return None
        return self._words(text.src, 0), self._words(text.tgt, 1)

    @cached_property
    def judged(self) -> tuple[WordVectors, WordVectors] | None:
        """Words that carry content only, as XMover has them."""
        segments = self.trials.judged
        if segments is None:
            return None
        src = self._words([one.source for one in segments], 0)
        return _content(src), _content(self._words([one.hypothesis for one in segments], 1))

    @cached_property
    def gold(self) -> tuple[WordVectors, WordVectors] | None:
        gold = self.trials.gold
        if gold is None:
            return None
        first, second = (self.encoder.words(side, progress=self._progress) for side in (gold.src, gold.tgt))
        return first, second

    def _pairs(self, lines: TokenisedPairs) -> ContextualPairs:
        return extract_pairs(self.encoder, lines, progress=self._progress)

    def _words(self, texts: Sequence[str], side: int) -> WordVectors:
        split = segmenter("icu", self.languages[side])
        return self.encoder.words([split(text) for text in texts], progress=self._progress)


def one_to_one(pairs: IntVector, most: int, seed: int) -> IntVector:
    """Pairs (p, 2) at random in which no row of either side stands twice: what a permutation is made of.

    >>> found = one_to_one(np.array([[0, 0], [0, 1], [1, 1], [2, 2]]), 2, 0)
    >>> len(found), len(set(found[:, 0].tolist())), len(set(found[:, 1].tolist()))
    (2, 2, 2)
    """
    drawn = pairs[np.random.default_rng([seed, 3]).permutation(len(pairs))]
    for side in (0, 1):
        drawn = drawn[np.sort(np.unique(drawn[:, side], return_index=True)[1])]
    return drawn[:most]


def sentence_means(words: WordVectors, vectors: FloatMatrix) -> FloatMatrix:
    """The mean (sentences, d) of each sentence's words; nothing for a sentence without any."""
    sums = np.zeros((len(words), vectors.shape[1]), dtype=np.float64)
    lengths = np.diff(words.offsets)
    np.add.at(sums, np.repeat(np.arange(len(words)), lengths), vectors)
    means: FloatMatrix = (sums / np.maximum(lengths, 1)[:, None]).astype(np.float32)
    return means


def read_gold(sets: Mapping[str, tuple[ParallelText, Sequence[WordLinks]]], language: str) -> GoldLinks | None:
    """The gold links of a language with English out of sets named enfr or roen, whichever side stands first."""
    for name, (text, links) in sets.items():
        sides = [sentence.split() for sentence in text.src], [sentence.split() for sentence in text.tgt]
        if name == f"{language}en":
            return GoldLinks(sides[0], sides[1], links)
        if name == f"en{language}":
            return GoldLinks(sides[1], sides[0], [one.invert() for one in links])
    return None


def _content(words: WordVectors) -> WordVectors:
    kept = [content_words(sentence) if len(sentence) else np.zeros(0, dtype=np.int64) for sentence in words.sentences]
    rows = np.concatenate([places + start for places, start in zip(kept, words.offsets[:-1], strict=True)])
    offsets = np.concatenate([[0], np.cumsum([len(places) for places in kept])]).astype(np.int64)
    sentences = [[sentence[i] for i in places] for sentence, places in zip(words.sentences, kept, strict=True)]
    return WordVectors(sentences, words.vectors[rows.astype(np.int64)], offsets)
