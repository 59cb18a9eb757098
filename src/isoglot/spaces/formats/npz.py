"""numpy archives: arrays `words`, `vectors` and optionally `counts` and `lang`. Nothing is ever unpickled."""

from __future__ import annotations

import math
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import FormatError
from isoglot.files import atomic_path
from isoglot.progress import Progress
from isoglot.spaces.formats.base import Content, Request, clean, reading, refuse_words
from isoglot.spaces.space import Space


def read(request: Request) -> Content:
    """Read an `.npz` file."""
    with reading(request.path, "npz file"), zipfile.ZipFile(request.path) as archive:
        names = set(archive.namelist())
        for needed in ("words", "vectors"):
            if f"{needed}.npy" not in names:
                present = ", ".join(sorted(name.removesuffix(".npy") for name in names)[:5])
                request.fail(f"has no array `{needed}`, only: {present}", remedy="see docs/formats.md for the layout")
        request.progress(f"reading {request.path.name}", 0, 1)
        vectors = _member(request, archive, "vectors.npy")
        words = _member(request, archive, "words.npy")
        counts = _member(request, archive, "counts.npy") if "counts.npy" in names else None
        lang = str(_member(request, archive, "lang.npy")) if "lang.npy" in names else ""
        request.progress(f"reading {request.path.name}", 1, 1)
        if words.ndim != 1 or words.dtype.kind not in "US":
            request.fail(f"`words` is not a list of strings (shape {words.shape}, type {words.dtype})")
        texts = [w.decode("utf-8") for w in words.tolist()] if words.dtype.kind == "S" else words.tolist()
        for word in texts:
            word.encode("utf-8")  # raises on lone surrogates
        if counts is not None:
            if counts.shape != (len(texts),) or counts.dtype.kind not in "iu":
                request.fail(f"`counts` do not fit {len(texts):,} words (shape {counts.shape}, type {counts.dtype})")
            counts = counts.astype(np.int64)
        return clean(request, Content(texts, vectors, counts, lang=lang))


def write(space: Space, path: Path, progress: Progress) -> None:
    """Write an `.npz` file: exact."""
    refuse_words(space.words, lambda w: not w or w.endswith("\0"), path, "npz")
    arrays: dict[str, Any] = {"words": np.array(space.words, dtype=np.str_), "vectors": space.vectors}
    if space.counts is not None:
        arrays["counts"] = space.counts
    if space.lang:
        arrays["lang"] = np.array(space.lang)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    progress(f"writing {path.name}", 1, 1)


def check_npy_header(file: Any, size: int, path: Path) -> None:
    """Read the header of a .npy stream of `size` bytes; refuse objects, and an array that does not fill the rest."""
    version = np.lib.format.read_magic(file)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd headers, which it then reads or refuses
        shape, _, dtype = reader(file)
    if dtype.hasobject:
        raise FormatError("an array of Python objects, which would have to be unpickled", where=str(path))
    size -= file.tell()
    if math.prod(shape) * dtype.itemsize != size:
        raise FormatError(f"an array of shape {shape} in {size:,} bytes", where=str(path), remedy="get it again")


def _member(request: Request, archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    with archive.open(name) as file:
        check_npy_header(file, archive.getinfo(name).file_size, request.path)
    with archive.open(name) as file:
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array
