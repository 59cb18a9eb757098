"""Recognising a file's format by its content. Names lie: `.bin` is three formats, error pages are saved as `.vec`."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from isoglot.errors import FormatError, InputError
from isoglot.opening import is_web_page
from isoglot.spaces.formats.base import reading
from isoglot.spaces.formats.streams import ByteSource

FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")

_HEAD = 1 << 16
_JSON = re.compile(rb'\s*(\{\s*"|\[\s*[\[{"]|\{\s*\}\s*$)')
_LFS = b"version https://git-lfs"
_FOREIGN = {
    b"\x93NUMPY": "a bare numpy matrix without words",
    b"\x89HDF\r\n": "an HDF5 file",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x7fELF": "a program",
    b"SQLite format 3": "an SQLite database",
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"GGUF": "a GGUF language model",
}


def sniff(path: Path) -> str:
    """The name of the format; raises an error that says what the file is otherwise."""
    if path.is_dir():
        if any((folder / "key2row").is_file() for folder in (path, path / "vocab")):
            return "spacy"
        raise InputError(
            "is a folder, but not one with spaCy vectors (it has no key2row)",
            where=str(path),
            remedy="give the file of vectors in it",
        )
    with ByteSource(path) as source:
        head = source.read(_HEAD)
        size = source.size
    if not head:
        raise FormatError("the file is empty", where=str(path), remedy="get the file again")
    refuse_foreign(path, head)
    if head.startswith(FASTTEXT_MAGIC):
        return "fasttext"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(path)
    if head[257:262] == b"ustar":
        return "navec"
    if head[0] == 0x80 and 2 <= head[1:2].ljust(1, b"\0")[0] <= 5:
        return "gensim"
    if head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= max(size - 8, 0):
        return "safetensors"
    return _text_or_binary(path, head)


def refuse_foreign(path: Path, head: bytes) -> None:
    """Raise if the content is known to be something other than vectors."""
    if is_web_page(head):
        raise FormatError(
            "this is a web page, not vectors: the download failed and its error page was saved",
            where=f"{path}:1",
            remedy="check the address and get the file again",
        )
    if head.startswith(_LFS):
        raise FormatError(
            "this is a git-lfs pointer, not the file itself", where=f"{path}:1", remedy="fetch it with: git lfs pull"
        )
    if _JSON.match(head) and not _looks_like_row(head.split(b"\n", 1)[0]):
        raise FormatError("this is JSON, not vectors", where=f"{path}:1", remedy="check where the file comes from")
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            raise FormatError(
                f"this is {what}, not vectors in a known format",
                where=str(path),
                remedy="see docs/formats.md for the formats",
            )


def parse_header(line: bytes) -> tuple[int, int] | None:
    """Rows and dimension, if the line is the header of a word2vec file: two positive whole numbers."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) <= 18 for part in parts):
        return None
    rows, dim = int(parts[0]), int(parts[1])
    return (rows, dim) if rows > 0 and dim > 0 else None


def _text_or_binary(path: Path, head: bytes) -> str:
    first, _, rest = head.partition(b"\n")
    header = parse_header(first.removeprefix(b"\xef\xbb\xbf"))
    if header is None:
        sample = head[:4096]
        if sum(byte < 9 or 13 < byte < 32 for byte in sample) > len(sample) // 20:
            raise FormatError(
                "binary data in an unknown format", where=str(path), remedy="see docs/formats.md for the formats"
            )
        return "text"
    lines = rest.split(b"\n")
    if any(_looks_like_row(line) for line in (lines[:20] if len(lines) > 1 else lines)):
        return "text"
    # A word, a space, and bytes that are not text.
    _, space, numbers = rest.partition(b" ")
    if space and len(numbers) >= min(4 * header[1], 4) and not _is_plain_text(numbers[: 4 * header[1]]):
        return "word2vec-binary"
    return "text"


def _looks_like_row(line: bytes) -> bool:
    """Does the line end in two numbers, or hold just a word and a number?"""
    parts = line.split()
    return len(parts) >= 2 and all(_is_number(part) for part in parts[-2:][-(len(parts) - 1) :])


def _is_number(token: bytes) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _is_plain_text(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        # The sample may end inside a character.
        if error.start < len(data) - 3:
            return False
        text = data[: error.start].decode("utf-8")
    return all(c.isprintable() or c in "\t\r\n" for c in text)


def _zip(path: Path) -> str:
    with reading(path, "zip archive"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name.endswith(".npy") for name in names):
        return "npz"
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    raise FormatError(f"a zip archive of {listed or 'nothing'}", where=str(path), remedy="unpack it first")
