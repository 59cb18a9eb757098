"""Vectors as text: a word and its numbers on each line (word2vec, fastText `.vec`, GloVe).

The file is read in blocks and parsed by compiled loops (`text_kernels`), so memory holds one block beside the
matrix. Lines that the loops skip are handled here: repaired, counted or refused by the rules in docs/formats.md.
Numbers are bit-equal to `numpy.float32(float(token))`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.errors import InputError
from isoglot.files import atomic_path
from isoglot.progress import Progress
from isoglot.spaces.formats.base import BadRows, Content, Request, RowSink, decode_words, non_finite_rows, refuse_words
from isoglot.spaces.formats.sniff import parse_header, refuse_foreign
from isoglot.spaces.formats.streams import COMPRESSIONS, ByteSource, line_blocks, open_for_writing
from isoglot.spaces.space import FloatMatrix, Space

_LARGEST_DIM = 65536
_BOM = b"\xef\xbb\xbf"
_SEPARATORS = " \t\r\n\v\f"
# Numbers as printed in vectors. Whole numbers are not among them: "route 66" is a word.
_COMPONENT = re.compile(rb"[-+]?\d*\.\d+(e[-+]?\d+)?$", re.IGNORECASE)


def read(request: Request) -> Content:
    """Read a text file, plain or compressed."""
    with ByteSource(request.path, digest=request.digest, progress=request.progress) as source:
        workers = ThreadPoolExecutor(request.threads) if request.threads > 1 else None
        try:
            reader = _TextReader(request, source, workers)
            words = reader.run()
            if request.complete and request.digest is not None:
                source.drain()
        finally:
            if workers:
                workers.shutdown()
    return Content(words)


def write(space: Space, path: Path, progress: Progress) -> None:
    """Write word2vec's text form: a header, then one word per line. Nine digits: reading gives the same bits."""
    _write(space, path, progress, f"{len(space)} {space.dim}\n".encode())


def write_glove(space: Space, path: Path, progress: Progress) -> None:
    """The same without a header, as GloVe writes it."""
    _write(space, path, progress, b"")


def parse_row(line: bytes, dim: int) -> tuple[bytes, FloatMatrix] | str:
    """Word and numbers of a line, or what is wrong with it. Numbers are counted from the right.

    >>> parse_row(b"New York 0.5 1", 2)
    (b'New York', array([0.5, 1. ], dtype=float32))
    >>> parse_row(b"York 0.5 1", 3)
    'too few numbers'
    """
    parts = line.rsplit(None, dim)
    if len(parts) <= dim:
        return "empty word" if len(parts) == dim and all(map(_COMPONENT.match, parts)) else "too few numbers"
    word = parts[0].strip()
    try:
        if any(b"_" in part for part in parts[1:]):
            raise ValueError
        values = [float(part) for part in parts[1:]]
    except ValueError:
        return "too few numbers"
    inner = word.split()
    if len(inner) > 1 and _COMPONENT.match(inner[-1]):
        return "too many numbers"
    with np.errstate(all="ignore"):
        row = np.array(values, dtype=np.float64).astype(np.float32)
    if not np.isfinite(row).all():
        return "NaN or infinite number"
    return word, row


@dataclasses.dataclass
class _Piece:
    """Some whole lines of `buffer`, as parsed by the kernel."""

    buffer: bytearray
    lines: int
    rows: FloatMatrix
    starts: Any
    ends: Any
    status: Any
    words: bytes


class _TextReader:
    def __init__(self, request: Request, source: ByteSource, workers: ThreadPoolExecutor | None) -> None:
        self.request = request
        self.source = source
        self.workers = workers
        self.bad = BadRows(request)
        self.words: list[str] = []
        self.seen: set[str] = set()
        self.line = 0  # lines consumed so far
        self.rows = 0  # rows so far, good or bad
        self.header: tuple[int, int] | None = None
        self.dim = 0
        self.sink: RowSink | None = None

    def run(self) -> list[str]:
        request = self.request
        blocks = line_blocks(self.source)

        def fetch() -> tuple[bytearray, int, bool] | None:
            return next(blocks, None)

        chunk = fetch()
        if chunk is None:
            request.damaged("the file is empty")
        begin = self._begin(chunk[0], chunk[1])
        while chunk is not None:
            buffer, end, cut = chunk
            # With a second worker the next block is read, decompressed and hashed while this one is parsed.
            ahead = self.workers.submit(fetch) if self.workers else None
            if cut:
                end = self._without_cut_line(buffer, begin, end)
            for piece in self._parse(buffer, begin, end):
                self._consume(piece)
                if request.full(len(self.words)):
                    if ahead:
                        ahead.exception()  # wait for it; damage further on does not matter
                    return self.words
            chunk = ahead.result() if ahead else fetch()
            begin = 0
        request.complete = True
        self.bad.check(self.rows)
        if not self.words:
            request.fail("no vectors found", line=self.line, remedy="the file ends after its header: get it again")
        if self.header and self.header[0] != self.rows:
            request.report.add(
                f"header says {self.header[0]:,} words, the file has {self.rows:,}", "ignored", request.where(1)
            )
        return self.words

    def _begin(self, buffer: bytearray, end: int) -> int:
        """Look at the first lines: skip BOM and header, find the dimension, open the sink."""
        request = self.request
        begin = len(_BOM) if buffer.startswith(_BOM) else 0
        refuse_foreign(request.path, bytes(buffer[begin : min(end, 4096)]))
        if begin:
            request.report.add("byte order mark", "skipped", request.where(1))
        while begin < end and not buffer[begin : (stop := buffer.index(b"\n", begin))].strip():
            request.report.add("empty line", "skipped", request.where(self.line + 1))
            begin, self.line = stop + 1, self.line + 1
        lines = [line for line in bytes(buffer[begin:end]).split(b"\n", 65)[:65] if line.strip()]
        if not lines:
            request.damaged("the file holds only empty lines")
        header = parse_header(lines[0])
        rows = lines[1:] if header else lines
        if header and not rows:
            request.fail("a header but no vectors", line=1, remedy="get the file again")
        if header and header[1] <= _LARGEST_DIM and 2 * _fitting(rows, header[1]) >= len(rows):
            dim = header[1]
        else:
            dim = _common_dimension(rows)
        if not dim:
            request.fail(
                "no line holds a word and its numbers",
                line=self.line + (2 if header else 1),
                remedy="is this a file of word vectors? See docs/formats.md for the formats",
            )
        if header:
            if header[1] != dim:
                request.report.add(
                    f"header says {header[1]} dimensions, lines have {dim}", "header ignored", request.where(1)
                )
            self.header = header
            self.line += 1
            begin = buffer.index(b"\n", begin) + 1
        self.dim = dim
        self.sink = request.sink(dim, self._expected_rows(sum(map(len, rows)) / len(rows)))
        return begin

    def _expected_rows(self, line_length: float) -> int:
        """An estimate, never from the header alone, which may be wrong."""
        size = self.source.size * (4 if self.source.compression else 1)
        possible = size // (2 * self.dim + 1) + 1
        estimate = self.header[0] if self.header else int(size / line_length * 1.05) + 64
        return min(estimate, possible, self.request.limit or possible)

    def _without_cut_line(self, buffer: bytearray, begin: int, end: int) -> int:
        """The last line has no line end. If rows are missing too, the file was cut off inside that line."""
        if self.header is None or self.rows + buffer.count(b"\n", begin, end) >= self.header[0]:
            return end
        start = buffer.rfind(b"\n", begin, end - 1) + 1
        self.bad.drop("last line is cut off", self.request.where(self.line + buffer.count(b"\n", begin, end)))
        self.rows += 1
        return max(start, begin)

    def _parse(self, buffer: bytearray, begin: int, end: int) -> Iterator[_Piece]:
        middle = buffer.find(b"\n", (begin + end) // 2, end) + 1
        if self.workers is None or not begin < middle < end:
            yield self._parse_piece(buffer, begin, end)
            return
        halves = [self.workers.submit(self._parse_piece, buffer, *half) for half in ((begin, middle), (middle, end))]
        for half in halves:
            yield half.result()

    def _parse_piece(self, buffer: bytearray, begin: int, end: int) -> _Piece:
        from isoglot.spaces.text_kernels import gather_words, parse_lines

        view = np.frombuffer(buffer, dtype=np.uint8)
        lines = int(np.count_nonzero(view[begin:end] == 10))
        # A good line has at least one letter, and a separator and a digit per number.
        rows = np.empty((min(lines, (end - begin) // (2 * self.dim + 2) + 1), self.dim), dtype=np.float32)
        starts, ends = np.empty(lines, dtype=np.int32), np.empty(lines, dtype=np.int32)
        status = np.empty(lines, dtype=np.uint8)
        _, good = parse_lines(view, begin, end, rows, starts, ends, status)
        blob = np.empty(int((ends[status == 0] - starts[status == 0]).sum()) + good, dtype=np.uint8)
        gather_words(view, starts, ends, status, lines, blob)
        return _Piece(buffer, lines, rows[:good], starts, ends, status, blob.tobytes())

    def _consume(self, piece: _Piece) -> None:
        request = self.request
        good = np.flatnonzero(piece.status == 0)
        try:
            words = piece.words.decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError:
            raw = piece.words.split(b"\n")[:-1]
            words = decode_words(request, raw, lambda i: request.where(self.line + int(good[i]) + 1))
        rows, numbers = piece.rows, good + (self.line + 1)
        blank = int((piece.status == 2).sum())
        if len(good) + blank < piece.lines:
            words, rows, numbers = self._with_irregular(piece, words, rows, good)
        if blank:
            first = self.line + int(np.argmax(piece.status == 2)) + 1
            request.report.add("empty line", "skipped", request.where(first), blank)
        self.line += piece.lines
        self.rows += piece.lines - blank
        self.bad.check(self.rows)
        new = set(words)
        if len(new) < len(words) or not self.seen.isdisjoint(new):
            first_rows = []
            for i, word in enumerate(words):
                if word in self.seen:
                    request.report.add("duplicate word", "dropped", request.where(int(numbers[i])))
                else:
                    self.seen.add(word)
                    first_rows.append(i)
            words, rows = [words[i] for i in first_rows], rows[first_rows]
        else:
            self.seen |= new
        if request.limit is not None:
            room = request.limit - len(self.words)
            words, rows = words[:room], rows[:room]
        self.words += words
        assert self.sink is not None
        self.sink.append(rows)

    def _with_irregular(
        self, piece: _Piece, words: list[str], rows: FloatMatrix, good: Any
    ) -> tuple[list[str], FloatMatrix, Any]:
        """Parse the lines that the kernel skipped, and insert the usable ones at their places."""
        request = self.request
        parsed: list[tuple[int, bytes, FloatMatrix]] = []
        for line in np.flatnonzero(piece.status == 1).tolist():
            row = parse_row(bytes(piece.buffer[piece.starts[line] : piece.ends[line]]), self.dim)
            if isinstance(row, str):
                self.bad.drop(row, request.where(self.line + line + 1))
                self.bad.check(self.rows + line + 1)
            else:
                parsed.append((line, *row))
        if not parsed:
            return words, rows, good + (self.line + 1)
        lines = np.array([line for line, _, _ in parsed])
        decoded = decode_words(
            request, [word for _, word, _ in parsed], lambda i: request.where(self.line + parsed[i][0] + 1)
        )
        spaced = [i for i, word in enumerate(decoded) if " " in word or "\t" in word]
        if spaced:
            first = request.where(self.line + parsed[spaced[0]][0] + 1)
            request.report.add("word with spaces", "kept whole", first, len(spaced))
        order = np.argsort(np.concatenate([good, lines]), kind="stable")
        both = words + decoded
        merged = np.concatenate([rows, np.stack([row for _, _, row in parsed])])[order]
        return [both[i] for i in order], merged, np.sort(np.concatenate([good, lines])) + (self.line + 1)


def _fitting(lines: list[bytes], dim: int) -> int:
    return sum(not isinstance(parse_row(line, dim), str) for line in lines)


def _common_dimension(lines: list[bytes]) -> int:
    """How many numbers most lines hold after a word without spaces; 0 if there is no such line."""
    by_numbers: dict[int, list[bytes]] = {}
    for line in lines:
        by_numbers.setdefault(len(line.split()) - 1, []).append(line)
    fits = {dim: _fitting(group, dim) for dim, group in by_numbers.items() if 0 < dim <= _LARGEST_DIM}
    best = max(fits, key=lambda dim: fits[dim], default=0)
    return best if fits.get(best) else 0


def _unwritable(word: str) -> bool:
    if not word or "\n" in word or word != word.strip(_SEPARATORS):
        return True
    parts = word.encode("utf-8").split()  # bytes, as in reading
    return len(parts) > 1 and _COMPONENT.match(parts[-1]) is not None


def _write(space: Space, path: Path, progress: Progress, header: bytes) -> None:
    refuse_words(space.words, _unwritable, path, "text")
    if rows := non_finite_rows(space.vectors):
        raise InputError(f"the vector of {space.words[rows[0]]!r} is not finite", where=str(path))
    row_format = " ".join(["%.9g"] * space.dim)
    suffix = path.suffix if path.suffix in COMPRESSIONS else ""
    with atomic_path(path) as temporary, open_for_writing(temporary, suffix) as file:
        file.write(header)
        for start in range(0, len(space), 1024):
            block = space.vectors[start : start + 1024].tolist()
            words = space.words[start : start + 1024]
            text = "".join(f"{word} {row_format % tuple(row)}\n" for word, row in zip(words, block, strict=True))
            file.write(text.encode("utf-8"))
            progress(f"writing {path.name}", min(start + 1024, len(space)), len(space))
