"""Vectors inside a spaCy pipeline's folder: `vocab/vectors` (npy), `vocab/key2row` (msgpack), `vocab/strings.json`.

Keys are 64-bit hashes of the words, which strings.json lists in no useful order. In pruned tables many keys share a
row; only the first key of a row is the word whose vector it really is, so the others are left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.folders import FolderKind
from isoglot.opening import read_whole
from isoglot.progress import Progress
from isoglot.spaces.formats.base import Content, Request, clean, reading, refuse_words
from isoglot.spaces.formats.npz import check_npy_header
from isoglot.spaces.space import Space

_SEED = 1
_KIND = FolderKind("isoglot-spacy-vectors", "vectors that Isoglot wrote for spaCy", "`isoglot convert`")


def read(request: Request) -> Content:
    """Read the folder of a pipeline, or its `vocab` folder."""
    folder = request.path if (request.path / "key2row").is_file() else request.path / "vocab"
    for name in ("vectors", "key2row", "strings.json"):
        if not (folder / name).is_file():
            request.fail(f"no {name} in {folder.name}/", remedy="give the folder of a spaCy pipeline with vectors")
    with reading(folder / "vectors.cfg", "settings file"):
        if (folder / "vectors.cfg").is_file():
            mode = json.loads(read_whole(folder / "vectors.cfg")).get("mode", "default")
            if mode != "default":
                request.fail(f"vectors of mode {mode!r}", remedy="only tables with one row per word can be read")
    with reading(folder / "vectors", "matrix"):
        with (folder / "vectors").open("rb") as file:
            check_npy_header(file, (folder / "vectors").stat().st_size, folder / "vectors")
        vectors: npt.NDArray[Any] = np.load(folder / "vectors", mmap_mode="r", allow_pickle=False).view(np.ndarray)
        if vectors.ndim != 2:
            request.damaged(f"vectors of shape {vectors.shape}")
    request.progress(f"reading {request.path.name}", 1, 3)
    owners = _owners(folder / "key2row", len(vectors))
    strings = _strings(folder / "strings.json")
    request.progress(f"reading {request.path.name}", 2, 3)
    names = dict(zip(hash_strings(strings).tolist(), strings, strict=True))
    entries: list[tuple[int, str]] = []
    for row, key in sorted(owners.items()):
        word = names.get(key)
        if word is None:
            request.report.add("key without a string", "dropped", f"{folder / 'key2row'}, row {row}")
        elif not word.strip():
            request.report.add("word of only white space", "dropped", f"{folder / 'key2row'}, row {row}")
        else:
            entries.append((row, word))
        if request.full(len(entries)):
            break
    rows = [row for row, _ in entries]
    matrix = vectors[: len(rows)] if rows == list(range(len(rows))) else vectors[rows]
    request.progress(f"reading {request.path.name}", 3, 3)
    return clean(request, Content([word for _, word in entries], matrix, lang=_language(folder)))


def write(space: Space, path: Path, progress: Progress) -> None:
    """Write the folder as spaCy lays it out: exact; counts are not kept."""
    refuse_words(space.words, lambda w: not w.strip(), path, "spaCy")
    import msgpack

    keys = hash_strings(space.words).tolist()
    with _KIND.replacing(path) as temporary:
        vocab = temporary / "vocab"
        vocab.mkdir()
        with (vocab / "vectors").open("wb") as file:
            np.lib.format.write_array(file, np.asarray(space.vectors), allow_pickle=False)
        table = {key: row for row, key in enumerate(keys)}
        (vocab / "key2row").write_bytes(msgpack.packb(table))
        (vocab / "strings.json").write_text(json.dumps(list(space.words), ensure_ascii=False), encoding="utf-8")
        (vocab / "vectors.cfg").write_text(json.dumps({"mode": "default"}), encoding="utf-8")
        shape = {"width": space.dim, "vectors": len(space), "keys": len(space), "name": path.name}
        meta = {"lang": space.lang or "xx", "name": "vectors", "pipeline": [], "vectors": shape}
        (temporary / "meta.json").write_text(json.dumps(meta, indent=2), encoding="utf-8")
    progress(f"writing {path.name}", 1, 1)


def hash_strings(strings: Sequence[str]) -> npt.NDArray[np.uint64]:
    """spaCy's key of each string: MurmurHash64A of its UTF-8 bytes, seed 1.

    >>> hash_strings(["coffee"]).tolist()
    [3197928453018144401]
    """
    from isoglot.spaces.formats.kernels import murmur64a

    encoded = [text.encode("utf-8") for text in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in encoded], out=offsets[1:])
    out = np.empty(len(encoded), dtype=np.uint64)
    murmur64a(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets, _SEED, out)
    return out


def _owners(path: Path, rows: int) -> dict[int, int]:
    """For each row the first key that points to it."""
    import msgpack

    owners: dict[int, int] = {}
    with reading(path, "key table"):
        data = read_whole(path)
        try:
            table = msgpack.unpackb(data, strict_map_key=False)
        except (msgpack.UnpackException, ValueError) as error:
            raise ValueError(str(error)) from error
        for key, row in table.items():
            if type(key) is int and type(row) is int and 0 <= row < rows:
                owners.setdefault(row, key)
    return owners


def _strings(path: Path) -> list[str]:
    with reading(path, "list of strings"):
        strings = json.loads(read_whole(path))
        if not isinstance(strings, list):
            raise ValueError("not a list")
        return [text for text in strings if type(text) is str and _is_text(text)]


def _is_text(text: str) -> bool:
    return text.isascii() or not any(0xD800 <= ord(c) < 0xE000 for c in text)


def _language(folder: Path) -> str:
    meta = folder.parent / "meta.json"
    try:
        lang = json.loads(read_whole(meta)).get("lang", "")
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
    return lang if isinstance(lang, str) else ""
