"""Parallel text for training: which lines to learn from, which to hold out, and batches addressed by their number.

Batch k of a language pair is a function of the seed and of k alone. A sampler has no other state, so a stopped run
resumes with the sentences that would have come next.
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
from isoglot.spaces import FloatMatrix
from isoglot.text import ParallelText, open_lines, segmenter
from isoglot.verified import digest_of_array
from isoglot.wordalign import WordLinks, read_links, statistical_align, write_links

Rows = npt.NDArray[np.int64]

#: Number of batches whose sentences are sorted by length together: enough for similar lengths within a batch, few
#: enough that batches stay random.
_SORTED_TOGETHER = 20
#: Held out where nothing is said: this share of the lines, but no more than these.
HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 300


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """Translations of one language pair.

    Args:
        src_lang, tgt_lang: names of the languages.
        src, tgt: all lines, in memory or on disk.
        rows: numbers of the lines to learn from.
        held_out: numbers of the lines to evaluate on.
        repeated: number of lines left out because they are blank, repeated or in the held-out part.
        digest: of all lines, so that a resumed run can check that the text is the same.
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
    entries: Sequence[tuple[str, str]] = (),
    progress: Progress = silent,
) -> Corpus:
    """Lines to learn from: not those blank on one side, repeating a pair, or sharing a side with a held-out line.

    Args:
        src, tgt: files, or lines.
        held_out: number of lines at the end to evaluate on; a tenth by default, at most 300.
        limit: learn from this many lines at most, from the start.
        entries: of a dictionary, to learn from too; they are neither held out nor limited.
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
            remedy="both files need one sentence per line, in the same order",
        )
    if entries:
        sides = [[*(entry[side] for entry in entries), *lines] for side, lines in enumerate(sides)]
    n = len(sides[0])
    hashes = np.zeros((n, 2), dtype=np.uint64)
    complete = np.zeros(n, dtype=bool)
    whole = hashlib.sha256()
    step = f"reading {name}"
    for number, lines in enumerate(zip(*sides, strict=True)):
        pair = [line.strip() for line in lines]
        complete[number] = bool(pair[0]) and bool(pair[1])
        raw = [text.encode("utf-8", "surrogatepass") for text in pair]
        parts = [hashlib.blake2b(text, digest_size=8).digest() for text in raw]
        hashes[number] = [int.from_bytes(part, "little") for part in parts]
        whole.update(b"".join(parts))
        if number % 4096 == 0:
            progress(step, number, n)
    progress(step, max(n, 1), max(n, 1))
    unique = _first_of_each(hashes, np.flatnonzero(complete))
    count = int((unique >= len(entries)).sum())
    count = min(int(count * HELD_OUT_SHARE), MOST_HELD_OUT) if held_out is None else min(held_out, count)
    first = max(0, len(unique) - count)
    rows, test = unique[:first], unique[first:]
    for side in range(2):
        rows = rows[~np.isin(hashes[rows, side], hashes[test, side])]
    repeated = n - len(rows) - len(test)
    rows = rows if limit is None else rows[: int((rows < len(entries)).sum()) + limit]
    if not len(rows):
        raise InputError(
            f"no lines left to learn from ({n:,} in all, {count:,} held out)",
            where=name,
            remedy="give more text or hold out fewer lines",
        )
    return Corpus(src_lang, tgt_lang, sides[0], sides[1], rows, test, repeated, whole.hexdigest()[:16])


class Sampler:
    """Batches of several corpora, with the same number of sentences from each in every step.

    Args:
        links: whether to link words, with the model named in the settings, for objectives that need links.
        idf: whether to weight words by inverse document frequency.
        whole: whether lines are tokenised whole, as `Encoder.sentences` does, because nobody asks for words.
        teach: a teacher's vectors of target sentences, for objectives that need them.
        work: folder to save computed links in.
    """

    def __init__(
        self,
        corpora: Sequence[Corpus],
        tokenizer: Any,
        settings: TrainingSettings,
        *,
        links: bool = False,
        idf: bool = False,
        whole: bool = False,
        teach: Callable[[Sequence[str]], FloatMatrix] | None = None,
        work: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        names = [corpus.name for corpus in corpora]
        if not names or len(set(names)) < len(names):
            raise ConfigError(f"a run needs texts of different language pairs, not {', '.join(names) or 'none'}")
        if settings.mixed and settings.batch < len(corpora):
            raise ConfigError(f"a mixed batch of {settings.batch} is too small for {len(corpora)} language pairs")
        self.corpora = list(corpora)
        self._tokenizer, self._settings, self._batch = tokenizer, settings, settings.batch
        languages = {lang for corpus in corpora for lang in (corpus.src_lang, corpus.tgt_lang)}
        self._split: dict[str, Callable[[str], list[str]]] = {
            lang: _whole if whole else segmenter(settings.segmenter, lang) for lang in sorted(languages)
        }
        self._teach = teach
        self._links = [self._link_words(one, work, progress) if links else None for one in corpora]
        self._idf = [self._frequencies(one) if idf else None for one in corpora]
        self._orders: dict[tuple[int, int], list[Rows]] = {}

    @property
    def batches_of_an_epoch(self) -> int:
        """For each language pair; the largest corpus decides."""
        return max(self._own(corpus) for corpus in self.corpora)

    def draw(self, number: int) -> list[Drawn]:
        """Batch `number`, counted from 0, of every language pair that has one."""
        batches: list[tuple[int, Rows]] = []
        for index, corpus in enumerate(self.corpora):
            own = self._own(corpus)
            epoch, at = divmod(number, own if self._settings.upsample else self.batches_of_an_epoch)
            if at < own:
                batches.append((index, self._order(index, epoch)[at]))
        if not self._settings.mixed:
            return [
                self._make_batch(self.corpora[index].name, [(index, row) for row in rows]) for index, rows in batches
            ]
        # The same sentences in the same number of batches, each with a part of every language.
        count = len(batches)
        parts = [(index, np.array_split(rows, count)) for index, rows in batches]
        return [
            self._make_batch("mixed", [(index, row) for index, part in parts for row in part[which]])
            for which in range(count)
            if any(len(part[which]) for _, part in parts)
        ]

    def _own(self, corpus: Corpus) -> int:
        return max(1, len(corpus) // self._batch)

    def _order(self, index: int, epoch: int) -> list[Rows]:
        """The batches of an epoch: sentences of similar length together, in random order."""
        if (index, epoch) not in self._orders:
            self._orders = {key: value for key, value in self._orders.items() if key[0] != index}
            corpus = self.corpora[index]
            rng = np.random.default_rng([self._settings.seed, index, epoch])
            # Drop the remainder before sorting by length: it would otherwise always be the longest sentences.
            order = rng.permutation(len(corpus))[: self._own(corpus) * self._batch]
            lengths = corpus.lengths
            size = self._batch * _SORTED_TOGETHER
            parts = [order[begin : begin + size] for begin in range(0, len(order), size)]
            in_order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in parts])
            batches = [in_order[k * self._batch : (k + 1) * self._batch] for k in range(self._own(corpus))]
            self._orders[index, epoch] = [batches[k] for k in rng.permutation(len(batches))]
        return self._orders[index, epoch]

    def _make_batch(self, name: str, items: Sequence[tuple[int, Any]]) -> Drawn:
        texts: tuple[list[str], list[str]] = ([], [])
        words: tuple[list[list[str]], list[list[str]]] = ([], [])
        links: list[WordLinks] = []
        for index, row in items:
            corpus = self.corpora[index]
            line = int(corpus.rows[row])
            for side, (lines, lang) in enumerate(((corpus.src, corpus.src_lang), (corpus.tgt, corpus.tgt_lang))):
                texts[side].append(lines[line])
                words[side].append(self._split[lang](lines[line]))
            known = self._links[index]
            if known is not None:
                links.append(known[int(row)])
        idf = self._idf[items[0][0]]
        if idf is not None and self._settings.mixed:
            idf = _merged([one for one in self._idf if one is not None])
        pair = make_pair(
            self._tokenizer,
            *words,
            self._settings.max_length,
            pair=name,
            links=links if any(self._links) else None,
            idf=idf,
            teacher=None if self._teach is None else self._teach(texts[1]),
        )
        return Drawn(pair, {"src": texts[0], "tgt": texts[1]})

    def _frequencies(self, corpus: Corpus) -> tuple[dict[str, float], dict[str, float]]:
        sides = []
        for lines, lang in ((corpus.src, corpus.src_lang), (corpus.tgt, corpus.tgt_lang)):
            sides.append(inverse_frequencies(self._split[lang](lines[int(row)]) for row in corpus.rows))
        return sides[0], sides[1]

    def _link_words(self, corpus: Corpus, work: Path | None, progress: Progress) -> list[WordLinks]:
        """Links of each row, computed once and saved in the run's folder."""
        model = self._settings.links
        # The encoder cuts sentences to this many tokens: later words have no vectors, and the models refuse long lines.
        most = self._settings.max_length
        key = run_key(model, self._settings.segmenter, most, corpus.digest, digest_of_array(corpus.rows))
        place = None if work is None else work / f"links-{corpus.name}-{key}.pharaoh"
        if place is not None and place.exists():
            known = read_links(place, base=0)
            if len(known) != len(corpus):
                raise FormatError(
                    f"damaged: {len(known):,} lines of links for {len(corpus):,} sentence pairs",
                    where=str(place),
                    remedy="delete it, and it will be computed again",
                )
            return known
        sides = [
            [self._split[lang](lines[int(row)])[:most] for row in corpus.rows]
            for lines, lang in ((corpus.src, corpus.src_lang), (corpus.tgt, corpus.tgt_lang))
        ]
        # The models need words on both sides; a segmenter that drops punctuation may leave none.
        full = [number for number in range(len(corpus)) if sides[0][number] and sides[1][number]]
        links = [WordLinks()] * len(corpus)
        src, tgt = ([side[number] for number in full] for side in sides)
        for number, link in zip(full, statistical_align(src, tgt, model, progress=progress), strict=True):
            links[number] = link
        if place is not None:
            write_links(place, links, base=0)
        return links


def _whole(line: str) -> list[str]:
    return [line]


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
