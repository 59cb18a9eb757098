"""The lines of a small text file that may be compressed, saved by Windows, or no text at all.

Dictionaries and parallel text share these habits, so both readers start here. What a file is follows from its
first bytes, not its name: a `.gz` that was unpacked on the way and an error page saved as `.txt` are common.
"""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from pathlib import Path

from isoglot.errors import FormatError, InputError
from isoglot.files import atomic_path
from isoglot.spaces.report import LoadReport

__all__ = ["read_lines", "read_sentences", "write_lines"]

_HTML = re.compile(rb"\s*(<!doctype\s+html|<html[\s>]|<head>|<\?xml\s)", re.IGNORECASE)
_LINE_END = re.compile(rb"\r\n|\n|\r")


def read_lines(path: Path, report: LoadReport, *, blank: bool = False) -> list[bytes]:
    """The file's lines as UTF-8 bytes without their ends; blank lines stay, so that line i is item i - 1.

    Gzip, xz and zstd are unpacked, UTF-16 (with its mark) is recoded, a byte order mark is dropped and
    Windows line ends are taken off; `report` counts the last three. A missing, empty, binary, truncated or HTML file
    is an error; with `blank`, one of nothing but blank lines is not.
    """
    where = str(path)
    data = _unpack(_bytes_of(path), where)
    if not data.strip() and not (blank and data):
        raise FormatError("the file is empty", where=where)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            data = data.decode("utf-16").encode("utf-8")
        except UnicodeError as error:
            raise FormatError("broken UTF-16 text", where=where, remedy="save it as UTF-8") from error
        report.add("UTF-16 text", "read as such", where)
    elif data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        report.add("byte order mark", "dropped", f"{where}:1")
    # A dictionary of computing may begin with the word "<html>", but then a tab follows on that line.
    if _HTML.match(data) and b"\t" not in data.lstrip().partition(b"\n")[0]:
        raise FormatError("this is an HTML or XML page, not a text file", where=where, remedy="download it again")
    nul = data.find(b"\0")
    if nul >= 0:
        line = 1 + len(_LINE_END.findall(data[:nul]))
        raise FormatError("binary data, not a text file", where=f"{where}:{line}")
    report.add("Windows line end", "removed", where, times=data.count(b"\r\n"))
    lines = _LINE_END.split(data)
    if not lines[-1]:
        lines.pop()
    return lines


def read_sentences(path: Path) -> list[str]:
    """The file's lines as text, blank ones too; what is not UTF-8 is an error with its line."""
    sentences = []
    for number, raw in enumerate(read_lines(path, LoadReport(str(path))), start=1):
        try:
            sentences.append(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise FormatError("not UTF-8", where=f"{path}:{number}", remedy="save it as UTF-8") from error
    return sentences


def write_lines(path: Path, lines: list[str]) -> None:
    """Write lines as UTF-8, each with its end; packed if the name ends in `.gz` or `.xz`. Atomic."""
    try:
        data = "".join(f"{line}\n" for line in lines).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError("holds characters that UTF-8 cannot write", where=str(path)) from error
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif path.suffix == ".xz":
        data = lzma.compress(data)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path)) from error
    except IsADirectoryError as error:
        raise InputError("is a folder, not a file", where=str(path)) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from error


def _unpack(data: bytes, where: str) -> bytes:
    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.decompress(data)
        if data.startswith(b"\xfd7zXZ\0"):
            return lzma.decompress(data)
        if data.startswith(b"\x28\xb5\x2f\xfd"):
            return _unpack_zstd(data)
    except (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise FormatError(
            "the compressed file is broken or cut short", where=where, remedy="download it again"
        ) from error
    return data


def _unpack_zstd(data: bytes) -> bytes:
    import zstandard

    unpacker = zstandard.ZstdDecompressor().decompressobj()
    try:
        text = unpacker.decompress(data)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof:
        raise EOFError
    return text
