"""Reading the bytes of a file once, from start to end: decompressed, hashed and counted on the way."""

from __future__ import annotations

import bz2
import contextlib
import lzma
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from isoglot.errors import FormatError, InputError
from isoglot.opening import open_source
from isoglot.progress import Progress, silent

#: Suffix and first bytes of each compression we read and write.
COMPRESSIONS = {".gz": b"\x1f\x8b\x08", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd", ".bz2": b"BZh"}

# Decompressors return everything that a piece of input unpacks to. The stronger the compression, the smaller the
# piece: this limits what a hostile file can make them allocate at once to some 200 MB.
_PIECE = {".gz": 1 << 17, ".xz": 1 << 14, ".zst": 1 << 13, ".bz2": 1 << 12}
_LZMA_MEMORY = 1 << 29
# A few kilobytes can unpack to gigabytes of empty lines, and hours of reading. Below this size it does not matter.
_SUSPICIOUS = 1 << 24
_LARGEST_RATIO = 500
_BLOCK = 1 << 21
_MAGIC = 8
#: The longest line of text or of text vectors, in bytes.
LONGEST_LINE = 1 << 25


def compression_of(head: bytes) -> str | None:
    """The suffix that goes with these first bytes, None if they are not compressed."""
    return next((suffix for suffix, magic in COMPRESSIONS.items() if head.startswith(magic)), None)


class ByteSource:
    """The content of a file, decompressed if its first bytes say so, whatever its name.

    `digest` is fed the raw bytes. A file that ends inside its compressed data is a FormatError.
    """

    def __init__(self, path: Path, *, digest: Any = None, pipes: bool = False, progress: Progress = silent) -> None:
        self.path = path
        self._digest = digest
        self._progress = progress
        self._file = open_source(path, pipes=pipes)
        self.size = os.fstat(self._file.fileno()).st_size
        self._done = 0
        # A pipe cannot be rewound, so these bytes are kept.
        self._head = bytearray()
        try:
            while len(self._head) < _MAGIC and (piece := self._file.read(_MAGIC - len(self._head))):
                self._head += piece
        except OSError as error:
            self._file.close()
            raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from error
        self.compression = compression_of(bytes(self._head))
        self._decompressor = self._new_decompressor() if self.compression else None
        self._at_start = True
        self._unused = b""
        self._unpacked = 0
        self._ready = memoryview(b"")

    def __enter__(self) -> ByteSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def readinto(self, view: memoryview) -> int:
        """Fill `view` and return the number of bytes; fewer than its length means the end of the file."""
        filled = 0
        while filled < len(view):
            if self.compression is None:
                count = self._raw(view[filled:])
            else:
                if not self._ready:
                    self._ready = memoryview(self._decompress())
                count = min(len(self._ready), len(view) - filled)
                view[filled : filled + count] = self._ready[:count]
                self._ready = self._ready[count:]
            if count == 0:
                break
            filled += count
        return filled

    def read(self, size: int) -> bytes:
        """At most `size` bytes; the buffer grows while reading, so that a wrong size allocates nothing."""
        data = bytearray()
        while len(data) < size:
            piece = bytearray(min(size - len(data), 1 << 20))
            count = self.readinto(memoryview(piece))
            data += memoryview(piece)[:count]
            if count < len(piece):
                break
        return bytes(data)

    def drain(self) -> None:
        """Read on to the end of the raw file, so that the digest covers all of it."""
        block = memoryview(bytearray(1 << 20))
        while self._raw(block):
            pass

    def _raw(self, view: memoryview) -> int:
        try:
            if self._head:
                count = min(len(self._head), len(view))
                view[:count] = self._head[:count]
                del self._head[:count]
            else:
                count = cast(Any, self._file).readinto(view) or 0
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", where=str(self.path)) from error
        if count:
            if self._digest is not None:
                self._digest.update(view[:count])
            self._done += count
            self._progress(f"reading {self.path.name}", self._done, max(self.size, self._done))
        return int(count)

    def _decompress(self) -> bytes:
        """The next non-empty piece of content, b"" at the end."""
        assert self.compression is not None
        while True:
            decompressor = self._decompressor
            assert decompressor is not None
            if decompressor.eof:
                # Files may hold several compressed streams in a row.
                self._unused = decompressor.unused_data
                decompressor = self._decompressor = self._new_decompressor()
                self._at_start = True
            data = self._unused or self._raw_piece()
            self._unused = b""
            if not data:
                if self._at_start:
                    return b""
                raise FormatError(
                    f"the {self.compression[1:]} file is truncated",
                    where=str(self.path),
                    remedy="get the file again",
                )
            if self._at_start and not data.strip(b"\0"):
                continue  # padding after the last stream
            self._at_start = False
            try:
                content = decompressor.decompress(data)
            except (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError, ValueError, MemoryError) as e:
                raise FormatError(
                    f"damaged {self.compression[1:]} data ({e})", where=str(self.path), remedy="get the file again"
                ) from e
            self._unpacked += len(content)
            packed = self._done - len(decompressor.unused_data)
            if self._unpacked > max(_SUSPICIOUS, _LARGEST_RATIO * packed):
                raise FormatError(
                    f"unpacks to more than {_LARGEST_RATIO} times its size, which text and vectors never do",
                    where=str(self.path),
                    remedy="get the file again, or unpack it yourself",
                )
            if content:
                return cast(bytes, content)

    def _raw_piece(self) -> bytes:
        assert self.compression is not None
        piece = bytearray(_PIECE[self.compression])
        count = self._raw(memoryview(piece))
        return bytes(piece[:count])

    def _new_decompressor(self) -> Any:
        match self.compression:
            case ".gz":
                return zlib.decompressobj(wbits=31)
            case ".xz":
                return lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)
            case ".bz2":
                return bz2.BZ2Decompressor()
            case _:
                return zstandard.ZstdDecompressor().decompressobj()


def line_blocks(source: ByteSource) -> Iterator[tuple[bytearray, int, bool]]:
    """Blocks `(buffer, end, cut)` of whole lines: `buffer[:end]` ends with a newline, `cut` says that we had to add it.

    Two buffers take turns, so that one can be filled while the other is parsed.
    """
    buffers = [bytearray(_BLOCK), bytearray(_BLOCK)]
    filled = 0
    turn = 0
    lines = 0
    while True:
        buffer = buffers[turn]
        count = source.readinto(memoryview(buffer)[filled:-1])
        finished = filled + count < len(buffer) - 1
        filled += count
        cut = finished and filled > 0 and buffer[filled - 1] != 10
        if cut:
            buffer[filled] = 10
            filled += 1
        end = buffer.rfind(b"\n", 0, filled) + 1
        if end == 0 and not finished:
            if len(buffer) >= LONGEST_LINE:
                raise FormatError(
                    f"a line of more than {LONGEST_LINE >> 20} MB",
                    where=f"{source.path}:{lines + 1}",
                    remedy="this does not look like word vectors",
                )
            buffers[turn] = bytearray(len(buffer) * 4)
            buffers[turn][:filled] = buffer[:filled]
            continue
        if end:
            lines += buffer.count(b"\n", 0, end)
            yield buffer, end, cut
        if finished:
            return
        turn = 1 - turn
        rest = filled - end
        if len(buffers[turn]) < len(buffer):
            buffers[turn] = bytearray(len(buffer))
        buffers[turn][:rest] = memoryview(buffer)[end:filled]
        filled = rest


@contextlib.contextmanager
def open_for_writing(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    """Write bytes to `path`, compressed according to `suffix` (".gz", ...), uncompressed for any other suffix."""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(path.open("wb"))
        match suffix:
            case ".gz":
                import gzip

                # No name and no time inside: the same vectors give the same bytes.
                yield cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0)))
            case ".xz":
                yield stack.enter_context(lzma.LZMAFile(file, "wb", preset=2))
            case ".bz2":
                yield stack.enter_context(bz2.BZ2File(file, "wb"))
            case ".zst":
                yield stack.enter_context(zstandard.ZstdCompressor(level=3).stream_writer(file))
            case _:
                yield file
