"""Standard streams that no word can harm: closed, full, in ASCII, or a terminal that obeys control characters.

Text that rich draws is made printable before it is drawn (see `console`), and its own control sequences pass. All else,
be it a warning, a log line of another library or a traceback, goes through `SafeStream`.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

from isoglot.printable import printable

#: Of words or questions on standard input, which may be any stream.
_MOST_BYTES = 1 << 26
#: Environment variables that rich and typer believe, and sizes in which they still show something.
_SIZES = {"COLUMNS": range(20, 10_000), "TERMINAL_WIDTH": range(20, 10_000), "LINES": range(1, 10_000)}


class _Stream:
    """A text stream whose errors say which stream it is.

    Messages are lost if nobody takes them: a full disk under a log must not end a training run.
    """

    def __init__(self, stream: TextIO, name: str, *, messages: bool) -> None:
        self._stream = stream
        self._name = name
        self._messages = messages

    def write(self, text: str) -> int:
        with self._errors():
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._errors():
            self._stream.flush()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._messages:
                error.filename = self._name
                raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class SafeStream:
    """A text stream that shows control characters as escapes where a terminal would obey them.

    Standard output that goes into a file or pipe is left as it is: it may be data. Messages are always escaped.
    """

    def __init__(self, stream: TextIO, *, messages: bool) -> None:
        self._stream = stream
        self._escapes = messages or stream.isatty()

    @property
    def rich_proxied_file(self) -> TextIO:
        """Where rich writes; the name is its own protocol."""
        return self._stream

    def write(self, text: str) -> int:
        self._stream.write(printable(text, keep="\n\t") if self._escapes else text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_streams() -> None:
    """Make the standard streams usable, whatever the program was started with."""
    _open_closed()
    codecs.register_error("isoglot", _encoding_error)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="isoglot")
    for name, legible in _SIZES.items():
        size = os.environ.get(name, "")
        if not (size.isascii() and size.isdecimal() and int(size[:9]) in legible):
            os.environ.pop(name, None)
    if not isinstance(sys.stdout, SafeStream):
        sys.stdout = cast(TextIO, _Stream(sys.stdout, "standard output", messages=False))
    if not isinstance(sys.stderr, SafeStream):
        sys.stderr = cast(TextIO, _Stream(sys.stderr, "standard error", messages=True))
    guard()


def guard() -> None:
    """Put a `SafeStream` before both streams; again once rich has redirected them to draw a bar below."""
    if not isinstance(sys.stdout, SafeStream):
        sys.stdout = cast(TextIO, SafeStream(sys.stdout, messages=False))
    if not isinstance(sys.stderr, SafeStream):
        sys.stderr = cast(TextIO, SafeStream(sys.stderr, messages=True))


def undecorated(stream: TextIO) -> TextIO:
    """The stream itself, without what was put before it: for rich, whose own control sequences must pass."""
    while (inner := getattr(stream, "rich_proxied_file", None)) is not None:
        stream = inner
    return stream


def discard(stream: TextIO) -> None:
    """Send what is left in a stream that failed to nowhere, or Python would complain once more on exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _open_closed() -> None:
    # Else the next file that is opened, such as an output, takes the number of a standard stream.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _encoding_error(error: UnicodeError) -> tuple[str | bytes, int]:
    """Bytes of file names stay as they are, lines of tables become ASCII, other characters become escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    parts: list[bytes] = []
    for character in error.object[error.start : error.end]:
        if "\udc80" <= character <= "\udcff":
            parts.append(bytes([ord(character) - 0xDC00]))
        elif "\u2500" <= character <= "\u257f":
            parts.append(b"-" if character in "─━═╌╸╺" else b"|" if character in "│┃║" else b"+")
        else:
            parts.append(character.encode("ascii", "backslashreplace"))
    return b"".join(parts), error.end


def standard_input_lines() -> list[str]:
    """Lines of standard input that hold text; none where it is a terminal."""
    if sys.stdin.isatty():
        return []
    from isoglot.errors import InputError
    from isoglot.text import not_utf8

    data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        what = f"holds more than {_MOST_BYTES >> 20} MB"
        raise InputError(what, where="standard input", remedy="give fewer lines at a time")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise not_utf8(f"standard input:{line}", data[error.start]) from error
    return [line.strip() for line in text.split("\n") if line.strip()]
