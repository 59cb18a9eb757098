"""Monolingual text for training: blocks of running text to guess masked tokens in.

A batch takes some lines, joins their tokens and cuts them into blocks, so that there is hardly any padding. As in
`isoglot.finetuning.parallel_text`, its lines follow from the seed and its number: a stopped run resumes with the lines
that would have come next.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from isoglot.encoders import Tokens
from isoglot.errors import ConfigError, InputError
from isoglot.finetuning.batches import Drawn, TextBatch, side_of_rows
from isoglot.progress import Progress, silent
from isoglot.text import open_lines

Rows = npt.NDArray[np.int64]

#: Held out where nothing is said: this share of the lines, but no more than these.
HELD_OUT_SHARE, MOST_HELD_OUT = 0.05, 500
#: Lines that are looked at to know how many fill a batch.
_SAMPLE = 500


@dataclasses.dataclass(frozen=True, eq=False)
class TextCorpus(Sequence[str]):
    """Text of one language, one sentence or paragraph per line: a sequence of the lines to learn from.

    Args:
        lines: all lines, in memory or on disk.
        rows: numbers of the lines to learn from.
        held_out: numbers of the lines to evaluate on.
        digest: of all lines, so that a resumed run can check that the text is the same.
    """

    lang: str
    lines: Sequence[str]
    rows: Rows
    held_out: Rows
    digest: str

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, which: int) -> str: ...

    @overload
    def __getitem__(self, which: slice) -> list[str]: ...

    def __getitem__(self, which: int | slice) -> str | list[str]:
        if isinstance(which, slice):
            return self.text(self.rows[which])
        return self.lines[int(self.rows[which])].strip()

    def text(self, rows: Rows) -> list[str]:
        """These lines."""
        return [self.lines[int(row)].strip() for row in rows]


def open_text(
    text: Sequence[str] | Path | str,
    lang: str,
    *,
    held_out: int | None = None,
    limit: int | None = None,
    progress: Progress = silent,
) -> TextCorpus:
    """Open a text, without blank lines; the last lines are held out.

    Args:
        text: a file, or lines.
        held_out: number of lines at the end to evaluate on; a twentieth by default, at most 500.
        limit: learn from this many lines at most, from the start.
    """
    for what, number, least in (("held_out", held_out, 0), ("limit", limit, 1)):
        if number is not None and number < least:
            raise ConfigError(f"must be at least {least}, not {number}", where=what)
    lines = open_lines(text, progress) if isinstance(text, Path | str) else text
    n, whole = len(lines), hashlib.blake2b(digest_size=8)
    filled = np.zeros(n, dtype=bool)
    for number, line in enumerate(map(str.strip, lines)):
        filled[number] = bool(line)
        whole.update(line.encode("utf-8", "surrogatepass") + b"\n")
        if number % 8192 == 0:
            progress(f"reading {lang}", number, n)
    progress(f"reading {lang}", max(n, 1), max(n, 1))
    rows = np.flatnonzero(filled)
    count = min(int(len(rows) * HELD_OUT_SHARE), MOST_HELD_OUT) if held_out is None else held_out
    first = max(0, len(rows) - count)
    if not first:
        raise InputError(
            f"no lines left to learn from ({n:,} in all, {count:,} held out)",
            where=str(text) if isinstance(text, Path | str) else lang,
            remedy="give more text or hold out fewer lines",
        )
    return TextCorpus(lang, lines, rows[:first][:limit], rows[first:], whole.hexdigest())


class TextSampler:
    """Batches of every language.

    Args:
        blocks: approximate number of blocks per batch.
        length: tokens per block, including special ones.
    """

    def __init__(
        self, corpora: Sequence[TextCorpus], tokenizer: Any, *, blocks: int, length: int, seed: int = 0
    ) -> None:
        names = [corpus.lang for corpus in corpora]
        if len(set(names)) < len(names):
            raise ConfigError(f"more than one text for a language: {', '.join(sorted(names))}", where="text")
        self.corpora = list(corpora)
        self._seed, self._pad = seed, int(tokenizer.pad_token_id)
        self._tokens = Tokens(tokenizer, length, 0)
        self._lines = [self._lines_of_a_batch(corpus, blocks) for corpus in corpora]
        self._orders: dict[int, tuple[int, Rows]] = {}

    @property
    def batches_of_an_epoch(self) -> int:
        """For each language; the largest text decides."""
        return max(self._own(index) for index in range(len(self.corpora)))

    def draw(self, number: int) -> list[Drawn]:
        """Batch `number`, counted from 0, of every language; small texts are repeated."""
        drawn = []
        for index, corpus in enumerate(self.corpora):
            epoch, at = divmod(number, self._own(index))
            size = self._lines[index]
            texts = corpus.text(self._order(index, epoch)[at * size : (at + 1) * size])
            drawn.append(Drawn(self.blocks(corpus.lang, texts), {"lines": texts}))
        return drawn

    def held_out(self) -> list[TextBatch]:
        """All held-out lines, in batches like those of training."""
        return [
            self.blocks(corpus.lang, corpus.text(corpus.held_out[begin : begin + size]))
            for corpus, size in zip(self.corpora, self._lines, strict=True)
            for begin in range(0, len(corpus.held_out), size)
        ]

    def blocks(self, lang: str, texts: Sequence[str]) -> TextBatch:
        """These texts, joined and cut into blocks; only the last may be shorter."""
        prefix, suffix, room = self._tokens.prefix, self._tokens.suffix, self._tokens.room
        # Each line ends with the usual suffix, which separates the lines of a block. Special tokens within a line are
        # not guessed either.
        special = {*prefix, *suffix}
        running = list(chain.from_iterable([*line, *suffix] for line in self._tokens.of_texts(texts)))
        # Every block gets a suffix, even in the middle of a line, so the last line needs none.
        running = running[: len(running) - len(suffix)]
        rows, numbers, counts = [], [], []
        for begin in range(0, len(running), room):
            rows.append([*prefix, *running[begin : begin + room], *suffix])
            numbers.append([-1 if token in special else place for place, token in enumerate(rows[-1])])
            counts.append(len(rows[-1]))
        return TextBatch(lang, side_of_rows(rows, numbers, counts, self._pad))

    def _lines_of_a_batch(self, corpus: TextCorpus, blocks: int) -> int:
        rows = corpus.rows[np.linspace(0, len(corpus) - 1, min(len(corpus), _SAMPLE)).astype(np.int64)]
        sample = self._tokens.of_texts(corpus.text(rows))
        mean = sum(map(len, sample)) / len(sample) + len(self._tokens.suffix)
        return min(len(corpus), max(1, round(blocks * self._tokens.room / max(mean, 1))))

    def _own(self, index: int) -> int:
        return max(1, len(self.corpora[index]) // self._lines[index])

    def _order(self, index: int, epoch: int) -> Rows:
        if index not in self._orders or self._orders[index][0] != epoch:
            rng = np.random.default_rng([self._seed, 1, index, epoch])
            self._orders[index] = epoch, rng.permutation(self.corpora[index].rows)
        return self._orders[index][1]
