"""The lines of a text file of any size, in batches: unpacked, decoded, and refused with file and line if it is no text.

What a file is follows from its first bytes, not its name. Nothing is guessed about encodings: text is UTF-8 unless it
carries a UTF-16 or UTF-32 mark or the caller names another encoding, for a wrong guess spoils words without a sound.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.progress import Progress, silent
from isoglot.spaces.formats.streams import ByteSource, line_blocks

__all__ = ["read_text"]

#: Byte order marks. UTF-32 comes first, as its little-endian mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
_HTML = re.compile(rb"\s*(<!doctype\s+html|<html[\s>]|<head>|<\?xml\s)", re.IGNORECASE)
_NEWLINE = b"\n"
_PIECE = 1 << 18


def read_text(path: Path | str, *, encoding: str | None = None, progress: Progress = silent) -> Iterator[list[str]]:
    """Batches of lines without their ends, blank lines included, so that they can be numbered.

    Plain text or gzip, xz, bzip2, zstd. Windows line ends and a byte order mark are dropped. The encoding is UTF-8, or
    what a mark says, or else `encoding`. Only a newline ends a line: other separators of Unicode stay within it.
    A batch is some 2 MB of text, so memory does not grow with the file. Errors come as the lines are asked for.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "fr.txt")
    ...     _ = path.write_bytes("Où est le chat ?\\r\\nIl dort.".encode())
    ...     list(read_text(path))
    [['Où est le chat ?', 'Il dort.']]
    """
    path = Path(path)
    name = _known_encoding(encoding)
    if path.is_dir():
        raise InputError("is a folder, not a file", where=str(path))
    if not path.exists():
        raise InputError("no such file", where=str(path), remedy="check the path")
    done = 0
    blank = True
    with ByteSource(path, progress=progress) as source:
        for buffer, end, _ in line_blocks(_AsUtf8(source, name), kind="text in lines"):
            if done == 0 and _HTML.match(buffer, 0, end):
                raise FormatError(
                    "this is an HTML or XML page, not plain text",
                    where=f"{path}:1",
                    remedy="take the text out of it first, or get the file again",
                )
            nul = buffer.find(b"\0", 0, end)
            if nul >= 0:
                raise FormatError(
                    "binary data, not plain text",
                    where=f"{path}:{done + buffer.count(_NEWLINE, 0, nul) + 1}",
                    remedy="give a text file; UTF-16 without a mark needs --encoding utf-16-le",
                )
            try:
                text = str(memoryview(buffer)[:end], "utf-8")
            except UnicodeDecodeError as error:
                line = done + buffer.count(_NEWLINE, 0, error.start) + 1
                raise _not_text("utf-8", buffer[error.start], f"{path}:{line}") from error
            lines = text.replace("\r\n", "\n").split("\n")
            lines.pop()  # what follows the last newline: nothing
            done += len(lines)
            blank = blank and text.isspace()
            yield lines
    if blank:
        raise FormatError("the file is empty", where=f"{path}:{max(done, 1)}", remedy="give a file with text in it")


class _AsUtf8:
    """The content of a file as UTF-8 without a mark, whatever it is encoded in: what `line_blocks` reads."""

    def __init__(self, source: ByteSource, encoding: str) -> None:
        self.path = source.path
        self._source = source
        head = source.read(4)
        # A mark outweighs a named encoding: no text in an 8-bit encoding begins with one.
        mark = next((mark for mark in _MARKS if head.startswith(mark)), b"")
        self._encoding = _MARKS.get(mark, encoding)
        self._decoder = None if self._encoding == "utf-8" else codecs.getincrementaldecoder(self._encoding)()
        self._ready = memoryview(head[len(mark) :])
        self._lines = 0
        if self._decoder is not None:
            self._ready = memoryview(self._recode(bytes(self._ready), final=False))

    def readinto(self, view: memoryview) -> int:
        """Fill `view` as far as the content goes; less than all of it means the end is reached."""
        filled = 0
        while filled < len(view):
            if not self._ready:
                if self._decoder is None:
                    return filled + self._source.readinto(view[filled:])
                piece = self._source.read(_PIECE)
                self._ready = memoryview(self._recode(piece, final=not piece))
                if not piece and not self._ready:
                    break
            count = min(len(self._ready), len(view) - filled)
            view[filled : filled + count] = self._ready[:count]
            self._ready = self._ready[count:]
            filled += count
        return filled

    def _recode(self, piece: bytes, *, final: bool) -> bytes:
        assert self._decoder is not None
        before = self._decoder.getstate()
        try:
            data = self._decoder.decode(piece, final).encode("utf-8")
        except UnicodeError as error:
            raise self._broken(error, piece, before) from error
        self._lines += data.count(_NEWLINE)
        return data

    def _broken(self, error: UnicodeError, piece: bytes, before: tuple[bytes, int]) -> FormatError:
        """The error with its line: what precedes the bad byte in this piece is decoded once more, to count lines."""
        byte = None
        line = self._lines + 1
        if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
            byte = error.object[error.start]
            # The decoder put what it had kept of the piece before in front of this one.
            kept = len(error.object) - len(piece)
            decoder = codecs.getincrementaldecoder(self._encoding)("replace")
            decoder.setstate(before)
            line += decoder.decode(piece[: max(error.start - kept, 0)]).count("\n")
        return _not_text(self._encoding, byte, f"{self.path}:{line}")


def _known_encoding(encoding: str | None) -> str:
    """The canonical name of a text encoding; UTF-8 for None."""
    if encoding is None:
        return "utf-8"
    try:
        # Codecs that turn bytes into bytes, such as "base64", are refused by `decode` alone.
        with contextlib.suppress(UnicodeDecodeError):
            b"some bytes".decode(encoding)
        name = codecs.lookup(encoding).name
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError) as error:  # a ValueError is also what the "undefined" codec raises
        raise ConfigError(
            f"unknown encoding {encoding!r}", where="--encoding", remedy="try latin-1, cp1251, gb18030 or shift_jis"
        ) from error
    return "utf-8" if name == "utf-8-sig" else name


def _not_text(encoding: str, byte: int | None, where: str) -> FormatError:
    shown = encoding.upper()
    what = f"not {shown} text" if byte is None else f"not {shown} text (byte 0x{byte:02X})"
    if encoding == "utf-8":
        remedy = "name its encoding (--encoding latin-1, cp1251, ...) or recode it to UTF-8"
    else:
        remedy = "name another --encoding, or recode it to UTF-8"
    return FormatError(what, where=where, remedy=remedy)
