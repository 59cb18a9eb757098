"""Parallel text for training: which lines are learned from, which are held out, and batches in an order that a number
tells.

Batch k of a pair of languages is a function of the seed and of k alone. That is all the state a sampler has, so that a
run that was stopped resumes with the very sentences that would have come next.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.finetuning.batches import Drawn, make_pair
from isoglot.finetuning.objectives.word_ot import inverse_frequencies
from isoglot.finetuning.settings import TrainingSettings
from isoglot.progress import Progress, silent
from isoglot.resumable import run_key
from isoglot.text import ParallelText, open_lines, segmenter
from isoglot.verified import digest_of_array
from isoglot.wordalign import WordLinks, read_links, statistical_align, write_links

Rows = npt.NDArray[np.int64]

#: Batches whose sentences are sorted by length together: enough that sentences of a batch are alike, few enough that a
#: batch is still a random one.
_SORTED_TOGETHER = 20
#: Held out where nothing is said: this share of the lines, but no more than these.
HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 300


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """Translations of one pair of languages.

    Args:
        src_lang, tgt_lang: names of the languages.
        src, tgt: all lines, in memory or on disk.
        rows: numbers of the lines that are learned from.
        held_out: numbers of the lines to evaluate on.
        repeated: how many lines were left out as repetitions, blank or equal to a held out one.
        digest: of all lines, to tell whether a stopped run still finds the same text.
    """

    src_lang: str
    tgt_lang: str
    src: Sequence[str]
    tgt: Sequence[str]
    rows: Rows
    held_out: Rows
    repeated: int
    digest: str

    @property
    def name(self) -> str:
        """Such as "de-en"."""
        return f"{self.src_lang}-{self.tgt_lang}"

    def __len__(self) -> int:
        return len(self.rows)

    def text(self, rows: Rows) -> ParallelText:
        """These lines as a text in memory."""
        sides = (tuple(side[int(row)] for row in rows) for side in (self.src, self.tgt))
        return ParallelText(self.src_lang, self.tgt_lang, *sides)

    @functools.cached_property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Characters of both sides of each row."""
        return np.array([len(self.src[int(row)]) + len(self.tgt[int(row)]) for row in self.rows], dtype=np.int32)


def open_corpus(
    src: Sequence[str] | Path | str,
    tgt: Sequence[str] | Path | str,
    src_lang: str,
    tgt_lang: str,
    *,
    held_out: int | None = None,
    limit: int | None = None,
    progress: Progress = silent,
) -> Corpus:
    """Lines to learn from: not those that are blank on one side, repeat a pair, or share a side with a held out line.

    Args:
        src, tgt: files, or lines.
        held_out: how many of the last lines are for evaluation; default a tenth, at most 300.
        limit: learn from so many lines at most, the first ones.
    """
    for what, number, least in (("held_out", held_out, 0), ("limit", limit, 1)):
        if number is not None and number < least:
            raise ConfigError(f"must be at least {least}, not {number}", where=what)
    sides = [open_lines(side, progress) if isinstance(side, Path | str) else side for side in (src, tgt)]
    name = f"{src_lang}-{tgt_lang}"
    if len(sides[0]) != len(sides[1]):
        where = str(tgt) if isinstance(tgt, Path | str) else name
        raise InputError(
            f"{len(sides[1]):,} lines, but the other side has {len(sides[0]):,}",
            where=where,
            remedy="line-parallel files must be of equal length",
        )
    n = len(sides[0])
    hashes = np.zeros((n, 2), dtype=np.uint64)
    there = np.zeros(n, dtype=bool)
    whole = hashlib.sha256()
    step = f"reading {name}"
    for number, lines in enumerate(zip(*sides, strict=True)):
        pair = [line.strip() for line in lines]
        there[number] = bool(pair[0]) and bool(pair[1])
        raw = [text.encode("utf-8", "surrogatepass") for text in pair]
        parts = [hashlib.blake2b(text, digest_size=8).digest() for text in raw]
        hashes[number] = [int.from_bytes(part, "little") for part in parts]
        whole.update(b"".join(parts))
        if number % 4096 == 0:
            progress(step, number, n)
    progress(step, max(n, 1), max(n, 1))
    kept = _first_of_each(hashes, np.flatnonzero(there))
    count = min(int(len(kept) * HELD_OUT_SHARE), MOST_HELD_OUT) if held_out is None else held_out
    first = max(0, len(kept) - count)
    rows, test = kept[:first], kept[first:]
    for side in range(2):
        rows = rows[~np.isin(hashes[rows, side], hashes[test, side])]
    repeated = n - len(rows) - len(test)
    rows = rows if limit is None else rows[:limit]
    if not len(rows):
        raise InputError(
            f"of {n:,} lines, {count:,} held out, none is left to learn from",
            where=name,
            remedy="give more text or hold out fewer lines",
        )
    return Corpus(src_lang, tgt_lang, sides[0], sides[1], rows, test, repeated, whole.hexdigest()[:16])


class Sampler:
    """Batches of several corpora, equally many sentences of each in every step.

    Args:
        links: whether words are linked, by the model that the settings name, for objectives that need links.
        idf: whether words are weighed by how telling they are.
        work: a folder in which computed links are kept.
    """

    def __init__(
        self,
        corpora: Sequence[Corpus],
        tokenizer: Any,
        settings: TrainingSettings,
        *,
        links: bool = False,
        idf: bool = False,
        work: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        names = [corpus.name for corpus in corpora]
        if not names or len(set(names)) < len(names):
            raise ConfigError(f"a run needs texts of different pairs of languages, not of {', '.join(names) or 'none'}")
        if settings.mixed and settings.batch < len(corpora):
            raise ConfigError(f"a mixed batch of {settings.batch} cannot hold all of {len(corpora)} languages")
        self.corpora = list(corpora)
        self._tokenizer, self._settings, self._batch = tokenizer, settings, settings.batch
        languages = {lang for corpus in corpora for lang in (corpus.src_lang, corpus.tgt_lang)}
        self._split: dict[str, Callable[[str], list[str]]] = {
            lang: segmenter(settings.segmenter, lang) for lang in sorted(languages)
        }
        self._links = [self._linked(one, work, progress) if links else None for one in corpora]
        self._idf = [self._frequencies(one) if idf else None for one in corpora]
        self._orders: dict[tuple[int, int], list[Rows]] = {}

    @property
    def batches_of_an_epoch(self) -> int:
        """Of each pair of languages; the largest corpus decides."""
        return max(self._own(corpus) for corpus in self.corpora)

    def draw(self, number: int) -> list[Drawn]:
        """Batch `number`, counted from 0, of every pair of languages that has one."""
        chosen: list[tuple[int, Rows]] = []
        for index, corpus in enumerate(self.corpora):
            own = self._own(corpus)
            epoch, at = divmod(number, own if self._settings.upsample else self.batches_of_an_epoch)
            if at < own:
                chosen.append((index, self._order(index, epoch)[at]))
        if not self._settings.mixed:
            return [self._made(self.corpora[index].name, [(index, row) for row in rows]) for index, rows in chosen]
        # As many batches of the same sentences as before, each with a part of every language.
        count = len(chosen)
        parts = [(index, np.array_split(rows, count)) for index, rows in chosen]
        return [
            self._made("mixed", [(index, row) for index, part in parts for row in part[which]])
            for which in range(count)
            if any(len(part[which]) for _, part in parts)
        ]

    def _own(self, corpus: Corpus) -> int:
        return max(1, len(corpus) // self._batch)

    def _order(self, index: int, epoch: int) -> list[Rows]:
        """The batches of an epoch: sentences of like length together, in random order."""
        if (index, epoch) not in self._orders:
            self._orders = {key: value for key, value in self._orders.items() if key[0] != index}
            corpus = self.corpora[index]
            rng = np.random.default_rng([self._settings.seed, index, epoch])
            # What does not fill a batch is left out before lengths are looked at: else it were always the longest.
            order = rng.permutation(len(corpus))[: self._own(corpus) * self._batch]
            lengths = corpus.lengths
            size = self._batch * _SORTED_TOGETHER
            parts = [order[begin : begin + size] for begin in range(0, len(order), size)]
            in_order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in parts])
            batches = [in_order[k * self._batch : (k + 1) * self._batch] for k in range(self._own(corpus))]
            self._orders[index, epoch] = [batches[k] for k in rng.permutation(len(batches))]
        return self._orders[index, epoch]

    def _made(self, name: str, chosen: Sequence[tuple[int, Any]]) -> Drawn:
        texts: tuple[list[str], list[str]] = ([], [])
        words: tuple[list[list[str]], list[list[str]]] = ([], [])
        links: list[WordLinks] = []
        for index, row in chosen:
            corpus = self.corpora[index]
            line = int(corpus.rows[row])
            for side, (lines, lang) in enumerate(((corpus.src, corpus.src_lang), (corpus.tgt, corpus.tgt_lang))):
                texts[side].append(lines[line])
                words[side].append(self._split[lang](lines[line]))
            known = self._links[index]
            if known is not None:
                links.append(known[int(row)])
        first = self._idf[chosen[0][0]]
        if first is not None and self._settings.mixed:
            first = _merged([one for one in self._idf if one is not None])
        pair = make_pair(
            self._tokenizer,
            *words,
            self._settings.max_length,
            pair=name,
            links=links if any(self._links) else None,
            idf=first,
        )
        return Drawn(pair, {"src": texts[0], "tgt": texts[1]})

    def _frequencies(self, corpus: Corpus) -> tuple[dict[str, float], dict[str, float]]:
        sides = []
        for lines, lang in ((corpus.src, corpus.src_lang), (corpus.tgt, corpus.tgt_lang)):
            sides.append(inverse_frequencies(self._split[lang](lines[int(row)]) for row in corpus.rows))
        return sides[0], sides[1]

    def _linked(self, corpus: Corpus, work: Path | None, progress: Progress) -> list[WordLinks]:
        """Links of each row, computed once and kept in the run's folder."""
        model = self._settings.links
        key = run_key(model, self._settings.segmenter, corpus.digest, digest_of_array(corpus.rows))
        place = None if work is None else work / f"links-{corpus.name}-{key}.pharaoh"
        if place is not None and place.exists():
            known = read_links(place, base=0)
            if len(known) != len(corpus):
                raise FormatError(
                    f"damaged: {len(known):,} lines of links for {len(corpus):,} pairs",
                    where=str(place),
                    remedy="remove it, and it is made again",
                )
            return known
        sides = [
            [self._split[lang](lines[int(row)]) for row in corpus.rows]
            for lines, lang in ((corpus.src, corpus.src_lang), (corpus.tgt, corpus.tgt_lang))
        ]
        # The models cannot take a side without words, which a segmenter leaves of punctuation it drops.
        full = [number for number in range(len(corpus)) if sides[0][number] and sides[1][number]]
        found = [WordLinks()] * len(corpus)
        src, tgt = ([side[number] for number in full] for side in sides)
        for number, link in zip(full, statistical_align(src, tgt, model, progress=progress), strict=True):
            found[number] = link
        if place is not None:
            write_links(place, found, base=0)
        return found


def _first_of_each(hashes: npt.NDArray[np.uint64], rows: Rows) -> Rows:
    """The first row of every pair of texts, in order."""
    _, first = np.unique(hashes[rows], axis=0, return_index=True)
    return rows[np.sort(first)]


def _merged(tables: Sequence[tuple[dict[str, float], dict[str, float]]]) -> tuple[dict[str, float], dict[str, float]]:
    src: dict[str, float] = {}
    tgt: dict[str, float] = {}
    for one in tables:
        src.update(one[0])
        tgt.update(one[1])
    return src, tgt
