"""Cases made by hand: content that is known to trip readers, written in place of a file or made from it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import zstandard

from .mutate import DEEP

__all__ = ["fitting", "write"]

#: What a bomb unpacks to: more than a worker may have.
BOMB = 1 << 30
_PORTION = 1 << 24


def fitting(path: Path) -> list[str]:
    """Names of the cases that suit this kind of file."""
    suffix = path.suffix
    names = ["nothing", "newline", "nul", "bom", "html", "one-long-line", "invalid-utf8"]
    if suffix in (".json", ".jsonl"):
        names += ["deep-list", "deep-object", "nan", "huge-integer", "list", "null", "twice", "surrogate-key"]
    elif suffix == ".toml":
        names += ["deep-toml", "toml-date", "huge-integer"]
    elif suffix in (".safetensors", ".checkpoint"):
        names += ["header-huge", "header-deep", "header-empty", "header-overlap", "header-gap", "header-long"]
    elif suffix == ".npz":
        names += ["npz-object", "npz-bomb", "npz-huge-shape"]
    elif suffix == ".tar":
        names += ["tar-sparse", "tar-bomb"]
    elif suffix == ".kv":
        names += ["pickle-call", "pickle-huge"]
    elif suffix in (".gz", ".bz2", ".xz", ".zst"):
        names += ["bomb", "bomb-of-line", "twice", "trailing"]
    elif suffix in (".vec", ".txt", ".glove", ".w2v", ".bin"):
        names += ["gz-bomb", "zst-bomb", "xz-bomb", "bz2-bomb", "header-lies", "header-wide"]
    return names


def write(name: str, path: Path) -> str:
    """Put the content of this case in the file's place."""
    before = path.read_bytes()
    if name in ("bomb", "bomb-of-line"):
        _bomb(path, path.suffix, b"\n" if name == "bomb" else b"a")
    elif name.endswith("-bomb") and name[:-5] in ("gz", "zst", "xz", "bz2"):
        _bomb(path, f".{name[:-5]}", b"a")
    else:
        path.write_bytes(_CONTENT[name](before))
    return name


def _header(document: object, body: bytes = b"") -> bytes:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return struct.pack("<Q", len(text)) + text + body


def _tensor(begin: int, end: int, shape: list[int]) -> dict[str, object]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}


def _npz(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(f"{member}.npy", content)
    return stream.getvalue()


def _npy(descr: str, shape: str, body: bytes = b"") -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def _tar(size: int) -> bytes:
    """A member that says to be larger than the file."""
    member = tarfile.TarInfo("meta.json")
    member.size = size
    return member.tobuf() + bytes(1024)


def _tar_bomb() -> bytes:
    content = gzip.compress(bytes(1 << 28), 9)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("meta.json", "vocab.bin", "pq.bin"):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


class _Call:
    """Unpickled by a reader that trusts its files, it would run a program."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        import os

        return os.system, ("touch fuzz-ran-a-program",)


def _bomb(path: Path, suffix: str, byte: bytes) -> None:
    """A few kilobytes or megabytes that unpack to gigabytes, in members, so that making it takes a second."""
    block = byte * _PORTION
    pack: Callable[[bytes], bytes] = {
        ".gz": lambda data: gzip.compress(data, 9, mtime=0),
        ".bz2": bz2.compress,
        ".xz": lambda data: lzma.compress(data, preset=1),
        ".zst": zstandard.ZstdCompressor().compress,
    }[suffix]
    packed = pack(block)
    with path.open("wb") as stream:
        for _ in range(BOMB // _PORTION):
            stream.write(packed)


_CONTENT: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda before: b"",
    "newline": lambda before: b"\n",
    "nul": lambda before: bytes(4096),
    "bom": lambda before: b"\xef\xbb\xbf" + before,
    "html": lambda before: b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>\n",
    "one-long-line": lambda before: b"a" * (8 << 20),
    "invalid-utf8": lambda before: before.replace(b"a", b"\xff").replace(b"n", b"\xed\xa0\x80"),
    "deep-list": lambda before: b"[" * DEEP + b"]" * DEEP,
    "deep-object": lambda before: b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "nan": lambda before: b"NaN",
    "huge-integer": lambda before: b"9" * 5000,
    "list": lambda before: b"[]",
    "null": lambda before: b"null",
    "twice": lambda before: before + before,
    "surrogate-key": lambda before: b'{"\\ud800": "\\ud800"}',
    "deep-toml": lambda before: b"a = " + b"[" * DEEP + b"]" * DEEP,
    "toml-date": lambda before: before + b"\n[x]\ny = 1979-05-27T07:32:00Z\n",
    "header-huge": lambda before: struct.pack("<Q", 2**63) + before[8:],
    "header-deep": lambda before: _header(b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "header-empty": lambda before: _header({}),
    "header-overlap": lambda before: _header({"a": _tensor(0, 8, [2]), "vectors": _tensor(4, 12, [2])}, bytes(12)),
    "header-gap": lambda before: _header({"vectors": _tensor(8, 16, [2])}, bytes(16)),
    "header-long": lambda before: _header({"__metadata__": {"x": "y" * (2 << 20)}, "a": _tensor(0, 4, [1])}, bytes(4)),
    "npz-object": lambda before: _npz(words=_npy("|O", "(1,)", pickle.dumps(_Call())), vectors=_npy("<f4", "(1, 2)")),
    "npz-bomb": lambda before: _npz(words=_npy("<U1", "(1,)", b"a\0\0\0"), vectors=_npy("<f4", "(268435456, 1)")),
    "npz-huge-shape": lambda before: _npz(words=_npy("<U9", "(9223372036854775807,)"), vectors=_npy("<f4", "(0, 1)")),
    "tar-sparse": lambda before: _tar(1 << 40),
    "tar-bomb": lambda before: _tar_bomb(),
    "pickle-call": lambda before: pickle.dumps(_Call()),
    "pickle-huge": lambda before: b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b"x.",
    "trailing": lambda before: before + b"rubbish",
    "header-lies": lambda before: b"99999999999 300\n" + before,
    "header-wide": lambda before: b"2 1000000000\n" + before,
}
