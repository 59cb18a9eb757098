"""Parallel text of two languages that do not exist, with every word link known: to train and test word aligners.

A sentence pair is a list of meanings, drawn by topic as in `simulate_texts`, with frequencies after Zipf. The North
speaks them in that order; the South swaps neighbours and carries some far. Some meanings take two words in one of the
languages, and each language has small words of its own that the other leaves unsaid.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon
from isoglot.simulate.words import NORTHERN, SOUTHERN, Phonology, invent_words
from isoglot.text import ParallelText
from isoglot.wordalign import WordLinks, write_links

#: Small words of each language that the other has no word for.
SMALL_WORDS = 4

#: What one language says for each meaning: one word or two.
Speech = Sequence[tuple[str, ...]]


@dataclasses.dataclass(frozen=True, eq=False)
class SimulatedParallel:
    """Sentence i of `src` translates sentence i of `tgt`, word by word as `links[i]` says (all sure).

    lexicon: all words that can be linked; a meaning of two words gives two pairs.
    """

    src: tuple[tuple[str, ...], ...]
    tgt: tuple[tuple[str, ...], ...]
    links: list[WordLinks]
    lexicon: Lexicon

    @property
    def text(self) -> ParallelText:
        """The sentences as lines."""
        return ParallelText("north", "south", tuple(map(" ".join, self.src)), tuple(map(" ".join, self.tgt)))

    def save(self, folder: str | Path) -> None:
        """Write north.txt, south.txt, links.pharaoh (counted from 0) and north-south.tsv."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.text.save(folder / "north.txt", folder / "south.txt")
        write_links(folder / "links.pharaoh", self.links, base=0)
        self.lexicon.save(folder / "north-south.tsv")


def simulate_parallel(
    sentences: int = 500,
    words: int = 200,
    *,
    length: int = 8,
    reorder: float = 0.2,
    distant: float = 0.2,
    fertility: float = 0.1,
    nulls: float = 0.1,
    seed: int = 0,
) -> SimulatedParallel:
    """Sentences about things that have a place in a small latent space: what lies close is spoken of together.

    Args:
        sentences: number of pairs.
        words: meanings that both languages have words for.
        length: meanings a sentence, on average; they vary between half and one and a half of it.
        reorder: chance that two neighbours change places in the South.
        distant: share of sentences in which the South carries one word to the sentence's beginning or end.
        fertility: share of the meanings that take two words, by turns in the North and in the South.
        nulls: small unlinked words for each meaning said, in each language.

    >>> pair = simulate_parallel(sentences=50, words=30)
    >>> len(pair.src), len(pair.tgt), len(pair.links)
    (50, 50, 50)
    >>> i, j = min(pair.links[0].sure)
    >>> (pair.src[0][i], pair.tgt[0][j]) in pair.lexicon
    True
    """
    shares = {"reorder": reorder, "distant": distant, "fertility": fertility, "nulls": nulls}
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ConfigError(f"must lie between 0 and 1, not {share}", where=name)
    if sentences < 1 or length < 2 or words < 2 * length:
        raise ConfigError(
            f"cannot write {sentences} sentences of {length} meanings with {words} words",
            remedy="1 sentence or more, 2 meanings or more, and twice as many words as a sentence has meanings",
        )
    random = np.random.default_rng(seed)
    doubled = np.flatnonzero(random.random(words) < fertility)
    small_north, north = _invent(NORTHERN, words, set(doubled[::2].tolist()), random, taken=set())
    used = {*small_north, *(word for said in north for word in said)}
    small_south, south = _invent(SOUTHERN, words, set(doubled[1::2].tolist()), random, taken=used)

    src, tgt, links = [], [], []
    for meanings in _topics(sentences, words, length, random):
        order = _reordered(len(meanings), reorder, distant, random)
        north_words, north_at = _say(meanings, range(len(meanings)), north, small_north, nulls, random)
        south_words, south_at = _say(meanings, order, south, small_south, nulls, random)
        src.append(north_words)
        tgt.append(south_words)
        links.append(
            WordLinks(frozenset((i, j) for k in range(len(meanings)) for i in north_at[k] for j in south_at[k]))
        )
    pairs = [(a, b) for ours, theirs in zip(north, south, strict=True) for a in ours for b in theirs]
    lexicon = Lexicon(pairs, "north", "south", source="simulated languages")
    return SimulatedParallel(tuple(src), tuple(tgt), links, lexicon)


def _invent(
    phonology: Phonology, words: int, doubled: set[int], random: np.random.Generator, taken: set[str]
) -> tuple[list[str], Speech]:
    """A language: its small words, and what it says for each meaning."""
    names = iter(invent_words(phonology, SMALL_WORDS + words + len(doubled), random, taken=taken))
    small = [next(names) for _ in range(SMALL_WORDS)]
    return small, [(next(names), next(names)) if k in doubled else (next(names),) for k in range(words)]


def _topics(sentences: int, words: int, length: int, random: np.random.Generator) -> list[list[int]]:
    """The meanings of each sentence, none twice: meaning k is the k-th most frequent after Zipf and Mandelbrot."""
    place = random.standard_normal((words, 6))
    frequency = -np.log(2.7 + np.arange(words))
    lengths = random.integers((length + 1) // 2, length + length // 2 + 1, size=sentences)
    topics: list[list[int]] = []
    for begin in range(0, sentences, 1000):
        sizes = lengths[begin : begin + 1000]
        weight = frequency + 1.2 * random.standard_normal((len(sizes), 6)) @ place.T
        # The largest of weight plus Gumbel noise are a draw without repetition.
        drawn = np.argsort(-(weight + random.gumbel(size=weight.shape)), axis=1)
        # Frequent meanings are drawn first; without a shuffle, word order would give them away.
        topics += [random.permutation(row[:size]).tolist() for row, size in zip(drawn, sizes, strict=True)]
    return topics


def _reordered(size: int, reorder: float, distant: float, random: np.random.Generator) -> list[int]:
    """The South's order of the North's meanings."""
    order = list(range(size))
    k = 0
    while k < size - 1:
        if random.random() < reorder:
            order[k], order[k + 1] = order[k + 1], order[k]
            k += 1  # a swapped word stays where it is: else it could wander through the whole sentence
        k += 1
    if random.random() < distant:
        carried = order.pop(int(random.integers(size)))
        order.insert(0 if random.random() < 0.5 else size - 1, carried)
    return order


def _say(
    meanings: Sequence[int],
    order: Sequence[int],
    speech: Speech,
    small: Sequence[str],
    nulls: float,
    random: np.random.Generator,
) -> tuple[tuple[str, ...], dict[int, range]]:
    """A sentence's words, and where each of its meanings stands."""
    said: list[str] = []
    at: dict[int, range] = {}
    before: npt.NDArray[np.bool_] = random.random(len(order)) < nulls
    for k, unlinked in zip(order, before.tolist(), strict=True):
        if unlinked:
            said.append(small[int(random.integers(len(small)))])
        own = speech[meanings[k]]
        at[k] = range(len(said), len(said) + len(own))
        said += own
    return tuple(said), at
