"""Isoglot's own form: one safetensors file, memory-mapped.

Tensors: `vectors` F32 (n, d); `words` U8, the words in UTF-8 with a separator between them; optional `counts` I64
(n,) and `ngrams` F32 (bucket, d). Metadata: `format`, `lang`, `separator`, and for n-grams `minn`, `maxn`.
Any safetensors library reads it. Vectors come first, at an offset that is a multiple of the page size.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from isoglot.errors import FormatError
from isoglot.files import atomic_path
from isoglot.progress import Progress
from isoglot.spaces.formats.base import Content, Request, clean, reading
from isoglot.spaces.space import FloatMatrix, Space
from isoglot.spaces.subwords import SubwordTable

FORMAT = "isoglot.space/1"

# Room for the header, which can only be written once the number of rows is known. The format allows spaces
# after the JSON; the vectors then start on a new page.
_HEADER_SIZE = 16384
_DTYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8", "U8": "u1"}
_BLOCK_ROWS = 16384


class NativeWriter:
    """Writes rows as they come, then everything else, then the header.

    The file is not valid before `finish`, so a killed writer leaves nothing that could be mistaken for a whole file.
    """

    def __init__(self, file: BinaryIO, dim: int) -> None:
        self._file = file
        self._dim = dim
        self._rows = 0
        file.seek(_HEADER_SIZE)

    def append(self, block: FloatMatrix) -> None:
        self._file.write(np.ascontiguousarray(block, dtype="<f4").data)
        self._rows += len(block)

    def finish(self, content: Content, metadata: Mapping[str, str], *, ngrams: bool = True) -> None:
        separator = _separator(content.words)
        meta = {"format": FORMAT, "lang": content.lang, "separator": separator, **metadata}
        tensors: dict[str, object] = {}
        end = self._rows * self._dim * 4
        tensors["vectors"] = _entry("F32", (self._rows, self._dim), 0, end)
        if content.counts is not None:
            counts = np.ascontiguousarray(content.counts, dtype="<i8")
            tensors["counts"] = _entry("I64", counts.shape, end, end := end + counts.nbytes)
            self._file.write(counts.data)
        if content.subwords is not None:
            table = content.subwords
            meta |= {"minn": str(table.minn), "maxn": str(table.maxn), "bucket": str(table.bucket)}
            if ngrams:
                shape = table.matrix.shape
                tensors["ngrams"] = _entry("F32", shape, end, end := end + shape[0] * shape[1] * 4)
                for start in range(0, shape[0], _BLOCK_ROWS):
                    block = np.ascontiguousarray(table.matrix[start : start + _BLOCK_ROWS], dtype="<f4")
                    self._file.write(block.data)
        # Last, because its length may be odd and would leave what follows unaligned.
        blob = separator.join(content.words).encode("utf-8")
        tensors["words"] = _entry("U8", (len(blob),), end, end + len(blob))
        self._file.write(blob)
        header = json.dumps({"__metadata__": meta, **tensors}).encode("utf-8")
        room = _HEADER_SIZE - 8
        assert len(header) <= room, "the metadata does not fit into the room reserved for it"
        self._file.seek(0)
        self._file.write(room.to_bytes(8, "little") + header.ljust(room))


@dataclasses.dataclass(frozen=True)
class NativeFile:
    """A file in native form, mapped but not yet read."""

    words: tuple[str, ...]
    vectors: FloatMatrix
    counts: npt.NDArray[np.int64] | None
    ngrams: FloatMatrix | None
    metadata: dict[str, str]


def open_native(path: Path, limit: int | None = None) -> NativeFile:
    """Map the file. Raises FormatError if header, sizes and words are inconsistent."""
    with reading(path, "safetensors file"):
        # Checks that tensors are as long as their shapes say, follow one another and fill the file.
        safe_open(path, framework="numpy")
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
            metadata = {str(k): str(v) for k, v in header.pop("__metadata__", {}).items()}
            names = ("vectors", "words", "counts", "ngrams")
            arrays = {name: _map(path, header[name], 8 + length) for name in names if name in header}
            if "vectors" not in arrays or "words" not in arrays:
                raise FormatError(
                    "a safetensors file without the tensors `vectors` and `words`",
                    where=str(path),
                    remedy="it probably holds another model; see docs/formats.md for the layout of word vectors",
                )
            vectors, blob = arrays["vectors"], arrays["words"]
            if vectors.ndim != 2 or blob.dtype != np.uint8 or blob.ndim != 1:
                raise FormatError("tensors `vectors` or `words` have the wrong shape or type", where=str(path))
            separator = metadata.get("separator", "\n")
            words = tuple(blob.tobytes().decode("utf-8").split(separator)) if len(vectors) else ()
            counts = arrays.get("counts")
            if len(words) != len(vectors) or (counts is not None and counts.shape != (len(words),)):
                raise FormatError(f"{len(words):,} words but {len(vectors):,} vectors or counts", where=str(path))
            if limit is not None and limit < len(words):
                words, vectors = words[:limit], vectors[:limit]
                counts = None if counts is None else counts[:limit]
            if counts is not None:
                counts = np.array(counts, dtype=np.int64)
            return NativeFile(words, vectors, counts, arrays.get("ngrams"), metadata)


def read(request: Request) -> Content:
    """Read a `.safetensors` file. All numbers are checked, since the file may come from anywhere."""
    file = open_native(request.path, request.limit)
    subwords = None
    if file.ngrams is not None:
        with reading(request.path, "metadata of n-grams"):
            minn, maxn = int(file.metadata["minn"]), int(file.metadata["maxn"])
            if file.ngrams.ndim != 2 or file.ngrams.shape[1] != file.vectors.shape[1] or not len(file.ngrams):
                request.fail("n-gram vectors do not match the word vectors")
            subwords = SubwordTable(minn, maxn, len(file.ngrams), file.ngrams)
    lang = file.metadata.get("lang", "")
    return clean(request, Content(file.words, file.vectors, file.counts, subwords, lang))


def write(space: Space, path: Path, progress: Progress) -> None:
    """Write a `.safetensors` file: exact."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        writer = NativeWriter(file, space.dim)
        for start in range(0, len(space), _BLOCK_ROWS):
            writer.append(space.vectors[start : start + _BLOCK_ROWS])
            progress(f"writing {path.name}", min(start + _BLOCK_ROWS, len(space)), len(space))
        writer.finish(Content(space.words, None, space.counts, space.subwords, space.lang), {})


def _separator(words: Sequence[str]) -> str:
    for candidate in ("\n", "\0", "\x1e", "\x1f"):
        if not any(candidate in word for word in words):
            return candidate
    # Hardly any words contain all of these, but none may be lost.
    number = 0
    while any(f"\0{number}\n" in word for word in words):
        number += 1
    return f"\0{number}\n"


def _entry(dtype: str, shape: Sequence[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def _map(path: Path, entry: Mapping[str, Any], start: int) -> npt.NDArray[Any]:
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    shape = tuple(entry["shape"])
    if not math.prod(shape):
        return np.empty(shape, dtype=dtype)
    mapped = np.memmap(path, dtype=dtype, mode="r", offset=start + entry["data_offsets"][0], shape=shape)
    return mapped.view(np.ndarray)
