"""What all readers share: the request they get, the content they return, where rows go, and how files are cleaned.

A reader is `read(request) -> Content`. Readers of formats that are worth caching put their rows into
`request.sink(dim, rows)`, so that the same code fills a matrix in memory or a cache file on disk, and then
return a Content without vectors.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import lzma
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
import zstandard
from safetensors import SafetensorError

from isoglot.errors import FormatError, InputError
from isoglot.progress import Progress, silent
from isoglot.spaces.report import LoadReport
from isoglot.spaces.space import FloatMatrix, IntVector
from isoglot.spaces.subwords import SubwordTable

#: A file with more broken rows than this share is refused instead of repaired...
BAD_SHARE = 0.1
#: ...unless they are this few.
FEW_BAD = 10

_BLOCK_ROWS = 16384


class RowSink(Protocol):
    """Takes the rows of the matrix in order, block by block."""

    def append(self, block: FloatMatrix) -> None: ...

    def finish(self, content: Content) -> FloatMatrix: ...


@dataclasses.dataclass
class Content:
    """What a reader found. `vectors` is None if the rows went into the request's sink."""

    words: Sequence[str]
    vectors: FloatMatrix | None = None
    counts: IntVector | None = None
    subwords: SubwordTable | None = None
    lang: str = ""


@dataclasses.dataclass
class Request:
    """What to read and where to report repairs.

    `digest` (a hashlib object) is fed the raw bytes of the file while they are read. A reader sets `complete`
    when it has read the whole file, not only the first `limit` words.
    """

    path: Path
    report: LoadReport
    limit: int | None = None
    progress: Progress = silent
    threads: int = 1
    digest: Any = None
    make_sink: Callable[[int, int], RowSink] | None = None
    opened: RowSink | None = None
    complete: bool = False

    def sink(self, dim: int, rows: int) -> RowSink:
        """Open the sink for rows; `rows` estimates their number, within what the file's size allows."""
        self.opened = self.make_sink(dim, rows) if self.make_sink else MemorySink(dim, rows)
        return self.opened

    def where(self, line: int | None = None) -> str:
        return str(self.path) if line is None else f"{self.path}:{line}"

    def fail(self, what: str, *, line: int | None = None, remedy: str | None = None) -> NoReturn:
        raise FormatError(what, where=self.where(line), remedy=remedy)

    def damaged(self, what: str, *, line: int | None = None) -> NoReturn:
        self.fail(what, line=line, remedy="get the file again")

    def full(self, rows: int) -> bool:
        return self.limit is not None and rows >= self.limit


class MemorySink:
    """A matrix in memory that grows if the estimate was too small and is trimmed at the end, both in place."""

    def __init__(self, dim: int, rows: int) -> None:
        self._matrix = np.empty((max(rows, 1), dim), dtype=np.float32)
        self._rows = 0

    def append(self, block: FloatMatrix) -> None:
        needed = self._rows + len(block)
        if needed > len(self._matrix):
            self._matrix.resize((max(needed, len(self._matrix) * 5 // 4), self._matrix.shape[1]), refcheck=False)
        self._matrix[self._rows : needed] = block
        self._rows = needed

    def finish(self, content: Content | None = None) -> FloatMatrix:
        self._matrix.resize((self._rows, self._matrix.shape[1]), refcheck=False)
        return self._matrix


class BadRows:
    """Counts rows that had to be dropped, and refuses the file when there are too many of them."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.bad = 0
        self._first: tuple[str, str] | None = None
        self._seen: set[str] = set()

    def keep(self, words: Sequence[str], rows: Iterable[int], broken: Container[int] = ()) -> list[int]:
        """The rows whose numbers are finite and whose word is new; the others are reported."""
        good = []
        for row in rows:
            word = words[row]
            if row in broken:
                self.drop("NaN or infinite number", f"{self._request.path}, word {row + 1}")
            elif not word:
                self.drop("empty word", f"{self._request.path}, word {row + 1}")
            elif word in self._seen:
                self._request.report.add("duplicate word", "dropped", f"{self._request.path}, word {row + 1}")
            else:
                self._seen.add(word)
                good.append(row)
        return good

    def drop(self, problem: str, where: str, times: int = 1) -> None:
        self._request.report.add(problem, "dropped", where, times)
        self.bad += times
        self._first = self._first or (problem, where)

    def check(self, total: int) -> None:
        """Raise if too many of the `total` rows so far are bad."""
        if self._first and (self.bad > max(FEW_BAD, BAD_SHARE * total) or 2 * self.bad > total):
            problem, where = self._first
            raise FormatError(
                f"{self.bad:,} of the first {total:,} rows cannot be used, starting with this one: {problem}",
                where=where,
                remedy="this does not look like word vectors, or the file is damaged: get it again",
            )


@contextlib.contextmanager
def reading(path: Path | str, what: str) -> Iterator[None]:
    """Turn the errors that parsers of foreign bytes raise on damaged input into one FormatError."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        # gzip and tarfile report damage as OSError without an errno; with one it comes from the system.
        if error.errno is not None:
            raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from error
        raise FormatError(f"damaged {what} ({error})", where=str(path), remedy="get the file again") from error
    except (
        ValueError,  # includes UnicodeDecodeError, JSONDecodeError
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        SyntaxError,
        EOFError,
        OverflowError,
        MemoryError,
        RecursionError,
        NotImplementedError,
        RuntimeError,
        tokenize.TokenError,  # numpy, on the header of a .npy file
        struct.error,
        zlib.error,
        lzma.LZMAError,
        zstandard.ZstdError,
        SafetensorError,
        zipfile.BadZipFile,
        tarfile.TarError,
        json.JSONDecodeError,
    ) as error:
        detail = f"{type(error).__name__}: {error}"[:200]
        raise FormatError(f"damaged {what} ({detail})", where=str(path), remedy="get the file again") from error


def decode_words(request: Request, raw: list[bytes], where: Callable[[int], str]) -> list[str]:
    """Decode one by one; bytes that are not UTF-8 become U+FFFD and are reported."""
    words = []
    broken = 0
    for i, item in enumerate(raw):
        try:
            words.append(item.decode("utf-8"))
        except UnicodeDecodeError:
            words.append(item.decode("utf-8", "replace"))
            request.report.add("invalid UTF-8 in a word", "replaced by U+FFFD", where(i))
            broken += 1
    if broken > max(FEW_BAD, BAD_SHARE * len(raw)):
        request.fail(
            f"{broken:,} of {len(raw):,} words are not UTF-8",
            remedy="convert the file (iconv -t UTF-8), or get it again if it should be UTF-8",
        )
    return words


def non_finite_rows(vectors: FloatMatrix) -> list[int]:
    """Rows that hold NaN or infinities. Costs one pass over the matrix, in blocks."""
    rows: list[int] = []
    with np.errstate(all="ignore"):
        for start in range(0, len(vectors), _BLOCK_ROWS):
            block = vectors[start : start + _BLOCK_ROWS]
            # For nearly every block, one sum shows that all is well.
            if not np.isfinite(block.sum()):
                rows.extend((start + np.flatnonzero(~np.isfinite(block).all(axis=1))).tolist())
    return rows


def clean(request: Request, content: Content) -> Content:
    """Drop empty words, repeated words (the first stays) and rows that are not finite, and report them.

    The matrix is copied only if something has to go.
    """
    words, vectors, counts = content.words, content.vectors, content.counts
    assert vectors is not None
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        request.fail(f"vectors are not a matrix of numbers (shape {vectors.shape}, type {vectors.dtype})")
    if len(words) != len(vectors):
        request.damaged(f"{len(words):,} words but {len(vectors):,} vectors")
    if request.limit is not None:
        words, vectors = words[: request.limit], vectors[: request.limit]
        counts = None if counts is None else counts[: request.limit]
    if len(words) == 0 or vectors.shape[1] == 0:
        request.fail("holds no vectors")
    if vectors.dtype != np.float32 or not vectors.flags.aligned or not vectors.flags.c_contiguous:
        with np.errstate(all="ignore"):
            vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    broken = set(non_finite_rows(vectors))
    distinct = set(words)
    if broken or "" in distinct or len(distinct) != len(words):
        bad = BadRows(request)
        keep = bad.keep(words, range(len(words)), broken)
        bad.check(len(words))
        words = [words[row] for row in keep]
        vectors = vectors[keep]
        counts = None if counts is None else counts[keep]
    return dataclasses.replace(content, words=words, vectors=vectors, counts=counts)


def refuse_words(words: Sequence[str], problem: Callable[[str], bool], path: Path, format: str) -> None:
    """Raise before writing if a word could not be read back from this format."""
    for row, word in enumerate(words):
        if problem(word):
            raise InputError(
                f"word {row + 1} ({word!r}) cannot be written in {format} format",
                where=str(path),
                remedy="save as .safetensors, or leave out such words with Space.take",
            )
