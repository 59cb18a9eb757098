"""Lines of text files: the one reader and the one writer of all text that is not vectors.

What a file is follows from its first bytes, not its name. Nothing is guessed about encodings: text is UTF-8 unless it
carries a UTF-16 or UTF-32 mark or the caller names another encoding, for a wrong guess spoils words without a sound.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.files import atomic_path
from isoglot.opening import is_web_page
from isoglot.progress import Progress, silent
from isoglot.spaces import LONGEST_LINE, ByteSource, LoadReport, open_for_writing

#: Byte order marks. UTF-32 comes first, as its little-endian mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
_PIECE = 1 << 21
#: Python takes these for blanks; in a file of words they are words.
_SEPARATORS = frozenset("\x1c\x1d\x1e\x1f")
#: Characters that are read into memory as a list of lines.
_MOST_IN_MEMORY = 1 << 31


def read_text(path: Path | str, *, encoding: str | None = None, progress: Progress = silent) -> Iterator[list[str]]:
    """Batches of lines without their ends, blank lines included, so that they can be numbered.

    Plain text or gzip, xz, bzip2, zstd. A line ends in a line feed, a carriage return, or both; other separators of
    Unicode stay within it. A byte order mark is dropped. The encoding is UTF-8, or what a mark says, or `encoding`. A
    batch is some 2 MB of text and no line may be longer than 32 MB, so memory does not grow with the file. Errors come
    as the lines are asked for.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "fr.txt")
    ...     _ = path.write_bytes("Où est le chat ?\\r\\nIl dort.".encode())
    ...     [line for batch in read_text(path) for line in batch]
    ['Où est le chat ?', 'Il dort.']
    """
    with ByteSource(Path(path), progress=progress) as source:
        yield from _batches(source, _known_encoding(encoding), options=True)


def read_lines(
    path: Path | str, report: LoadReport | None = None, *, blank: bool = False, lenient: bool = False
) -> list[str]:
    """All lines of a file or pipe, as `read_text` has them; line i is item i - 1.

    Args:
        report: counts marks, UTF-16 and Windows line ends.
        blank: a file of nothing but blank lines is no error.
        lenient: bytes that are not UTF-8 become lone surrogates (U+DC80 to U+DCFF) instead of an error.
    """
    lines: list[str] = []
    size = 0
    with ByteSource(Path(path), pipes=True) as source:
        for batch in _batches(source, "utf-8", blank=blank, lenient=lenient, report=report):
            size += sum(map(len, batch))
            if size + len(batch) + len(lines) > _MOST_IN_MEMORY:
                raise FormatError(
                    f"more than {_MOST_IN_MEMORY >> 20:,} MB of text", where=str(path), remedy="give a part of it"
                )
            lines += batch
    return lines


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write lines as UTF-8, each with its end; packed if the name ends in .gz, .xz, .bz2 or .zst. Atomic."""
    try:
        data = "".join(f"{line}\n" for line in lines).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError("holds characters that UTF-8 cannot write", where=str(path)) from error
    with atomic_path(path) as temporary, open_for_writing(temporary, path.suffix) as file:
        file.write(data)


def not_utf8(where: str, byte: int | None = None, *, encoding: str = "utf-8", options: bool = False) -> FormatError:
    """The error about a byte that is no text; `options`: the user can name an encoding."""
    what = f"not {encoding.upper()} text" + ("" if byte is None else f" (byte 0x{byte:02X})")
    if not options:
        remedy = "save it as UTF-8"
    elif encoding == "utf-8":
        remedy = "name its `encoding` (latin-1, cp1251, ...) or recode it to UTF-8"
    else:
        remedy = "name another `encoding`, or recode it to UTF-8"
    return FormatError(what, where=where, remedy=remedy)


def _batches(
    source: ByteSource,
    encoding: str,
    *,
    options: bool = False,
    blank: bool = False,
    lenient: bool = False,
    report: LoadReport | None = None,
) -> Iterator[list[str]]:
    """Batches of lines; `options`: remedies may speak of `encoding`."""
    path = source.path
    decoder = _Decoder(source, encoding, options, lenient, report)
    done = 0
    rest = ""
    filled = False
    while (text := decoder.read(done)) is not None:
        # A dictionary of computing may begin with the word "<html>", but then a tab follows on that line.
        if (
            not done
            and "\t" not in text.lstrip().partition("\n")[0]
            and is_web_page(text[:1024].encode("utf-8", "replace"))
        ):
            raise FormatError(
                "this is an HTML or XML page, not plain text",
                where=f"{path}:1",
                remedy="take the text out of it first, or get the file again",
            )
        if (nul := text.find("\0")) >= 0:
            hint = "; UTF-16 without a mark needs `encoding` utf-16-le" if options else ""
            raise FormatError(
                "binary data, not plain text",
                where=f"{path}:{done + text.count(chr(10), 0, nul) + 1}",
                remedy=f"give a text file{hint}",
            )
        filled = filled or (bool(text) and not (text.isspace() and _SEPARATORS.isdisjoint(text)))
        lines = (rest + text).split("\n")
        rest = lines.pop()
        done += len(lines)
        if len(rest) > LONGEST_LINE:
            raise FormatError(
                f"a line of more than {LONGEST_LINE >> 20} MB",
                where=f"{path}:{done + 1}",
                remedy="this does not look like text in lines",
            )
        if lines:
            yield lines
    if rest:
        done += 1
        yield [rest]
    if not filled and not (blank and done):
        raise FormatError("the file is empty", where=str(path), remedy="give a file with text in it")


class _Decoder:
    """The text of a file in pieces, with "\\n" for every line end."""

    def __init__(
        self, source: ByteSource, encoding: str, options: bool, lenient: bool, report: LoadReport | None
    ) -> None:
        self._source = source
        self._options = options
        self._report = report
        self._head = source.read(4)
        # A mark outweighs a named encoding: no text in an 8-bit encoding begins with one.
        mark = next((mark for mark in _MARKS if self._head.startswith(mark)), b"")
        self._head = self._head[len(mark) :]
        self._encoding = _MARKS.get(mark, encoding)
        if mark and report is not None:
            if self._encoding == "utf-8":
                report.add("byte order mark", "dropped", f"{source.path}:1")
            else:
                report.add(f"{self._encoding[:6].upper()} text", "read as such", str(source.path))
        errors = "surrogateescape" if lenient and self._encoding == "utf-8" else "strict"
        self._decoder = codecs.getincrementaldecoder(self._encoding)(errors)
        self._held = ""  # a carriage return at the end of a piece: a line feed may follow
        self._ended = False

    def read(self, lines: int) -> str | None:
        """The next piece, None at the end; `lines` came before it, for the error."""
        if self._ended:
            return None
        data = self._head + self._source.read(_PIECE)
        self._head = b""
        self._ended = not data
        before = self._decoder.getstate()
        try:
            text = self._held + self._decoder.decode(data, self._ended)
        except UnicodeError as error:
            raise self._broken(error, data, before, lines) from error
        self._held = "\r" if text.endswith("\r") and not self._ended else ""
        text = text.removesuffix(self._held) if self._held else text
        if "\r" in text:
            if self._report is not None:
                times = text.count("\r\n")
                self._report.add("Windows line end", "removed", str(self._source.path), times=times)
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text

    def _broken(self, error: UnicodeError, data: bytes, before: tuple[bytes, int], lines: int) -> FormatError:
        """The error with its line: what precedes the bad byte in this piece is decoded once more, to count lines."""
        byte = None
        line = lines + 1
        if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
            byte = error.object[error.start]
            # The decoder put what it had kept of the piece before in front of this one.
            kept = len(error.object) - len(data)
            decoder = codecs.getincrementaldecoder(self._encoding)("replace")
            decoder.setstate(before)
            text = self._held + decoder.decode(data[: max(error.start - kept, 0)])
            line += len(re.findall("\r\n|\r|\n", text))
        where = f"{self._source.path}:{line}"
        return not_utf8(where, byte, encoding=self._encoding, options=self._options)


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
            f"unknown encoding {encoding!r}", where="encoding", remedy="try latin-1, cp1251, gb18030 or shift_jis"
        ) from error
    return "utf-8" if name == "utf-8-sig" else name
