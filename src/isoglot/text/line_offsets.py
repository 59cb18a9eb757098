"""Lines of a text that may be larger than memory, in any order: only where each begins is kept.

Shuffling such a text through a buffer would neither mix it well nor let a stopped run go on at the same line; with
eight bytes a line there is no need to.
"""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt

from isoglot.errors import FormatError
from isoglot.opening import open_source
from isoglot.progress import Progress, silent
from isoglot.spaces import LONGEST_LINE, compression_of
from isoglot.text.lines import not_utf8, read_lines, read_text

_BLOCK = 1 << 24
_PORTION = 1 << 16
_MARK = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def open_lines(path: Path | str, progress: Progress = silent) -> Sequence[str]:
    """The lines of a file, left on disk if it is plain text, in memory if it is packed."""
    path = Path(path)
    if path.is_file():
        with open_source(path) as stream:
            head = stream.read(_BLOCK)
        # What is small or packed is read as a whole.
        if len(head) == _BLOCK and compression_of(head) is None and not head.startswith(_UTF16):
            next(read_text(path))  # raises if this is no text
            return TextLines(path, progress)
    return read_lines(path)


class TextLines(Sequence[str]):
    """The lines of a plain text file, read when they are asked for.

    Args:
        path: UTF-8 text; lines end as `read_lines` has it: in a line feed, a carriage return, or both.
    """

    def __init__(self, path: Path | str, progress: Progress = silent) -> None:
        self.path = Path(path)
        with open_source(self.path) as stream:
            size = os.fstat(stream.fileno()).st_size
            self._view = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        starts = [np.array([len(_MARK) if self._view[: len(_MARK)] == _MARK else 0], dtype=np.int64)]
        for begin in range(0, size, _BLOCK):
            # One byte more tells whether a line feed follows a carriage return at the end of a block.
            block = np.frombuffer(self._view[begin : begin + _BLOCK + 1], dtype=np.uint8)
            feeds, returns = (np.flatnonzero(block[:_BLOCK] == ord(end)) for end in "\n\r")
            alone = returns[block[np.minimum(returns + 1, len(block) - 1)] != ord("\n")]
            starts.append(np.sort(np.concatenate([feeds, alone])) + begin + 1)
            if not block.all():
                line = np.searchsorted(np.concatenate(starts), begin + np.argmin(block), side="right")
                raise FormatError("binary data, not plain text", where=f"{self.path}:{line}", remedy="give a text file")
            progress(f"indexing {self.path.name}", min(size, begin + _BLOCK), size)
        bounds = np.concatenate(starts)
        # A last line without an end counts too.
        self._bounds = bounds if bounds[-1] == size else np.append(bounds, size)
        if self.sizes().max(initial=0) > LONGEST_LINE:
            where = f"{self.path}:{np.argmax(self.sizes()) + 1}"
            raise FormatError(f"a line of more than {LONGEST_LINE >> 20} MB", where=where)

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...

    @overload
    def __getitem__(self, number: slice) -> list[str]: ...

    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        number = range(len(self))[number]
        return self._line(number, int(self._bounds[number]), int(self._bounds[number + 1]))

    def __iter__(self) -> Iterator[str]:
        # In portions of plain numbers: to ask an array for one at a time takes longer than reading the line.
        for first in range(0, len(self), _PORTION):
            bounds = self._bounds[first : first + _PORTION + 1].tolist()
            for number, (begin, end) in enumerate(itertools.pairwise(bounds), start=first):
                yield self._line(number, begin, end)

    def _line(self, number: int, begin: int, end: int) -> str:
        try:
            return self._view[begin:end].removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(f"{self.path}:{number + 1}", error.object[error.start]) from error

    def sizes(self) -> npt.NDArray[np.int64]:
        """Bytes of each line, its end too."""
        return np.diff(self._bounds)
