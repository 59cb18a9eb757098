"""fastText's own binary models (`.bin`, versions 11 and 12): words, counts, vectors and character n-grams.

Layout, all little-endian: magic and version; twelve int32 settings and a float64; the dictionary (sizes, then each
word with a zero byte, int64 count, int8 type); a bool, int64 rows and columns, and the float32 input matrix with a
row for each word, then one for each n-gram bucket; the output matrix, of which only the size is checked.
A word's vector is the mean of its row and the rows of its n-grams. Quantised models (`.ftz`) are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from isoglot.files import atomic_path
from isoglot.opening import open_source
from isoglot.progress import Progress
from isoglot.spaces.formats.base import (
    BadRows,
    Content,
    MemorySink,
    Request,
    decode_words,
    non_finite_rows,
    refuse_words,
)
from isoglot.spaces.formats.sniff import FASTTEXT_MAGIC
from isoglot.spaces.formats.streams import ByteSource
from isoglot.spaces.space import FloatMatrix, Space
from isoglot.spaces.subwords import END_OF_SENTENCE, SubwordTable

_SETTINGS = "<12id"  # dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate t
_OUTPUT = struct.Struct("<?2q")  # quantised, rows, columns
_VERSION = 12
_LONGEST_WORD = 1 << 16
_LARGEST_DIM = 65536
_BLOCK = 256
_SUPERVISED = 3


def read(request: Request) -> Content:
    """Read a fastText model, plain (n-grams are then memory-mapped) or compressed (they are then held in memory)."""
    with ByteSource(request.path, digest=request.digest, progress=request.progress) as source:
        stream = _Reader(request, source)
        if stream.take(4) != FASTTEXT_MAGIC:
            request.fail("not a fastText model (wrong first bytes)")
        (version,) = stream.unpack("<i")
        if version not in (11, 12):
            request.fail(f"fastText file version {version}", remedy="only versions 11 and 12 are supported")
        dim, *_, model, bucket, minn, maxn, _, _ = stream.unpack(_SETTINGS)
        if version == 11 and model == _SUPERVISED:
            maxn = 0  # as fastText does: old classifiers had no n-grams
        size, nwords, nlabels, _, pruned = stream.unpack("<3i2q")
        if not (0 < dim <= _LARGEST_DIM and 0 < nwords <= size == nwords + nlabels and bucket >= 0):
            request.damaged("damaged fastText header")
        if not 0 <= maxn <= 1024:
            request.damaged(f"n-grams of up to {maxn} characters")
        raw, counts = stream.dictionary(size, nwords)
        (quantised,) = stream.unpack("<?")
        if quantised or pruned > 0:
            request.fail(
                "a quantised or pruned fastText model (.ftz)", remedy="use the full .bin model, or its .vec file"
            )
        rows, columns = stream.unpack("<2q")
        uses_ngrams = maxn > 0 and bucket > 0
        if columns != dim or rows < nwords or (uses_ngrams and rows != nwords + bucket):
            request.damaged("the input matrix does not match the dictionary")
        matrix = stream.matrix(rows, dim)
        offset = None if source.compression else stream.position
        stream.check_output(rows, dim)
        if request.digest is not None:
            source.drain()
    request.complete = request.limit is None or request.limit >= nwords
    subwords = None
    if uses_ngrams:
        ngram_offset = None if offset is None else offset + nwords * dim * 4
        subwords = SubwordTable(minn, maxn, bucket, matrix[nwords:], offset=ngram_offset)
    if request.limit is not None:
        raw, counts = raw[: request.limit], counts[: request.limit]
    words = decode_words(request, raw, lambda i: f"{request.path}, word {i + 1}")
    sink = request.sink(dim, len(words))
    bad = BadRows(request)
    rows_kept: list[int] = []
    for start, block in word_vectors(raw, matrix, subwords):
        broken = {start + row for row in non_finite_rows(block)}
        good = bad.keep(words, range(start, start + len(block)), broken)
        bad.check(start + len(block))
        rows_kept += good
        sink.append(block if len(good) == len(block) else block[np.array(good, dtype=np.int64) - start])
        request.progress(f"adding up n-grams of {request.path.name}", start + len(block), len(words))
    if not rows_kept:
        request.fail("holds no vectors")
    return Content([words[row] for row in rows_kept], None, counts[rows_kept], subwords)


def word_vectors(
    words: Sequence[bytes], matrix: FloatMatrix, subwords: SubwordTable | None
) -> Iterator[tuple[int, FloatMatrix]]:
    """Blocks `(first row, vectors)`: mean of row i of `matrix` and the n-gram rows of word i."""
    if subwords is None:
        for start in range(0, len(words), 4096):
            yield start, np.array(matrix[start : min(start + 4096, len(words))])
        return
    from isoglot.spaces.formats.kernels import mean_of_segments, ngram_rows

    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        data, offsets = _bracketed(block)
        segments = np.empty(len(block) + 1, dtype=np.int64)
        settings = (subwords.minn, subwords.maxn, subwords.bucket)
        rows = np.empty(ngram_rows(data, offsets, *settings, np.empty(0, np.int64), segments), dtype=np.int64)
        ngram_rows(data, offsets, *settings, rows, segments)
        # Fancy indexing copies to aligned memory; the mapped file is usually not aligned.
        own = np.array(matrix[start : start + len(block)], dtype=np.float32)
        out = np.empty_like(own)
        with np.errstate(all="ignore"):
            mean_of_segments(own, np.asarray(subwords.matrix[rows], dtype=np.float32), segments, out)
        yield start, out


def write(space: Space, path: Path, progress: Progress) -> None:
    """Write a model that fastText and gensim load: words, counts and, if the Space has them, n-grams.

    With n-grams the row of a word is worked out backwards from its vector, which costs the last bit or two.
    Without counts, descending numbers keep the order.
    """
    refuse_words(space.words, lambda w: not w or "\0" in w or "\n" in w, path, "fastText")
    table = space.subwords
    bucket, minn, maxn = (table.bucket, table.minn, table.maxn) if table else (0, 0, 0)
    counts = space.counts if space.counts is not None else np.arange(len(space), 0, -1)
    n, dim = len(space), space.dim
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<4si", FASTTEXT_MAGIC, _VERSION))
        file.write(struct.pack(_SETTINGS, dim, 5, 5, 1, 5, 1, 2, 2, bucket, minn, maxn, 100, 1e-4))
        file.write(struct.pack("<3i2q", n, n, 0, int(counts.sum()), -1))
        for word, count in zip(space.words, counts.tolist(), strict=True):
            file.write(word.encode("utf-8") + b"\0" + struct.pack("<qb", count, 0))
        file.write(struct.pack("<?2q", False, n + bucket, dim))
        for start in range(0, n, _BLOCK):
            block = np.array(space.vectors[start : start + _BLOCK], dtype=np.float32)
            if table:
                for row, word in enumerate(space.words[start : start + _BLOCK]):
                    grams = table.rows(word)
                    total = table.matrix[grams].astype(np.float64).sum(axis=0) if grams else 0.0
                    block[row] = block[row].astype(np.float64) * (len(grams) + 1) - total
            file.write(block.tobytes())
            progress(f"writing {path.name}", start + len(block), n)
        if table:
            _write_matrix(file, table.matrix)
        # The output matrix is needed only to continue training, but programs expect one.
        file.write(struct.pack("<?2q", False, n, dim))
        for start in range(0, n, 4096):
            file.write(bytes(4 * dim * min(4096, n - start)))


def _write_matrix(file: BinaryIO, matrix: FloatMatrix) -> None:
    for start in range(0, len(matrix), 4096):
        file.write(np.ascontiguousarray(matrix[start : start + 4096], dtype="<f4").data)


def _bracketed(words: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    eos = END_OF_SENTENCE.encode()
    marked = [b"" if word == eos else b"<" + word + b">" for word in words]
    offsets = np.zeros(len(marked) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in marked], out=offsets[1:])
    return np.frombuffer(b"".join(marked), dtype=np.uint8), offsets


class _Reader:
    """Takes values from the source and keeps track of the position."""

    def __init__(self, request: Request, source: ByteSource) -> None:
        self._request = request
        self._source = source
        self._pending = b""
        self.position = 0

    def take(self, size: int) -> bytes:
        if len(self._pending) < size:
            self._pending += self._source.read(max(size - len(self._pending), 1 << 16))
        data, self._pending = self._pending[:size], self._pending[size:]
        if len(data) < size:
            self._request.damaged("the file is truncated")
        self.position += size
        return data

    def unpack(self, format: str) -> tuple[int, ...]:
        return struct.unpack(format, self.take(struct.calcsize(format)))

    def dictionary(self, size: int, nwords: int) -> tuple[list[bytes], npt.NDArray[np.int64]]:
        words: list[bytes] = []
        counts: list[int] = []
        buffer, at = self._pending, 0
        for _ in range(size):
            while (stop := buffer.find(b"\0", at, at + _LONGEST_WORD)) < 0 or stop + 10 > len(buffer):
                if stop < 0 and len(buffer) - at > _LONGEST_WORD:
                    self._request.damaged("a word in the dictionary does not end")
                more = self._source.read(1 << 20)
                if not more:
                    self._request.damaged("the file ends inside its dictionary")
                self.position += at
                buffer, at = buffer[at:] + more, 0
            count, kind = struct.unpack_from("<qb", buffer, stop + 1)
            if kind == 0:
                words.append(buffer[at:stop])
                counts.append(count)
            at = stop + 10
        self.position += at
        self._pending = buffer[at:]
        if len(words) != nwords:
            self._request.damaged(f"the dictionary holds {len(words):,} words, but its header says {nwords:,}")
        return words, np.array(counts, dtype=np.int64)

    def matrix(self, rows: int, dim: int) -> FloatMatrix:
        if self._source.compression is None:
            if self.position + rows * dim * 4 > self._source.size:
                self._request.damaged("the file is shorter than its matrix")
            mapped = np.memmap(self._request.path, dtype="<f4", mode="r", offset=self.position, shape=(rows, dim))
            return mapped.view(np.ndarray)
        # An estimate within what the file's size allows; the sink grows if there is more.
        sink = MemorySink(dim, min(rows, self._source.size * 4 // (4 * dim) + 1))
        step = max(1, (1 << 22) // (4 * dim))
        for start in range(0, rows, step):
            count = min(step, rows - start)
            sink.append(np.frombuffer(self.take(count * dim * 4), dtype="<f4").reshape(count, dim))
        return sink.finish()

    def check_output(self, rows: int, dim: int) -> None:
        """Raise unless the input matrix of this many rows is followed by an output matrix and nothing else."""
        if self._source.compression is None:
            with open_source(self._request.path) as file:
                file.seek(self.position + rows * dim * 4)
                head = file.read(_OUTPUT.size)
                left = self._source.size - file.tell()
        else:
            head = self.take(_OUTPUT.size)
            left = len(self._pending)
            self._pending = b""
            while piece := self._source.read(1 << 22):
                left += len(piece)
        quantised, count, columns = _OUTPUT.unpack(head) if len(head) == _OUTPUT.size else (False, 0, 0)
        if quantised or columns != dim or count < 0 or left != count * columns * 4:
            self._request.damaged("the output matrix is truncated, or other data follows it")
