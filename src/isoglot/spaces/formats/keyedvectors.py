"""gensim's KeyedVectors as `save` writes them: a pickle, with big arrays beside it as `.npy` files.

The pickle is never loaded: `inert_pickle` looks into it. gensim 4 and the usual classes of gensim 3 are read,
also FastTextKeyedVectors with their n-grams, and the `wv` of a whole Word2Vec or FastText model.
"""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.extras import require
from isoglot.files import check_writable, follow_link, part_name, remove_abandoned
from isoglot.progress import Progress
from isoglot.spaces.formats.base import Content, MemorySink, Request, clean, reading
from isoglot.spaces.formats.fasttext import word_vectors
from isoglot.spaces.formats.inert_pickle import Call, inspect_pickle
from isoglot.spaces.formats.npz import check_npy_header
from isoglot.spaces.formats.streams import ByteSource
from isoglot.spaces.space import FloatMatrix, Space
from isoglot.spaces.subwords import SubwordTable

_DTYPE = re.compile(r"[<>|=]?[fiu][1248]$")
_ARRAYS = ("numpy._core.multiarray._reconstruct", "numpy.core.multiarray._reconstruct")


def read(request: Request) -> Content:
    """Read what `KeyedVectors.save` (or `Word2Vec.save`) wrote."""
    with reading(request.path, "gensim file"):
        with ByteSource(request.path) as source:
            if source.compression:
                request.fail("a compressed gensim file", remedy="decompress it first")
        with request.path.open("rb") as file:
            root = inspect_pickle(file, str(request.path))
            if file.read(1):
                request.damaged("data after the pickle")
        request.progress(f"reading {request.path.name}", 1, 1)
        state, prefix = _state(request, root)
        words = _first(state, "index_to_key", "index2word", "index2entity")
        if not isinstance(words, list) or not all(type(word) is str for word in words):
            request.fail("has no list of words", remedy="only KeyedVectors and models with `wv` can be read")
        if any(0xD800 <= ord(c) < 0xE000 for word in words if not word.isascii() for c in word):
            request.fail("words that are not valid text (lone surrogates)")
        counts = _counts(request, state, words)
        arrays = _Arrays(request, state, prefix)
        subwords = None
        vectors = arrays.get("vectors") if "vectors" not in _ignored(state) else None
        vectors = arrays.get("syn0") if vectors is None else vectors
        if (ngrams := arrays.get("vectors_ngrams")) is not None:
            minn, maxn = state.get("min_n"), state.get("max_n")
            if ngrams.ndim != 2 or not len(ngrams) or type(minn) is not int or type(maxn) is not int or maxn > 1024:
                request.fail("n-grams without their settings")
            if state.get("compatible_hash", True) is True:
                subwords = SubwordTable(minn, maxn, len(ngrams), ngrams)
            if vectors is None:
                vectors = _composed(request, words, arrays.get("vectors_vocab"), subwords)
        if vectors is None:
            request.fail("has no vectors", remedy="keep the .npy files that gensim wrote beside it")
        if subwords is not None and subwords.matrix.shape[1:] != vectors.shape[1:]:
            request.fail("n-gram vectors do not match the word vectors")
        return clean(request, Content(words, vectors, counts, subwords))


def write(space: Space, path: Path, progress: Progress) -> None:
    """Write gensim KeyedVectors (needs gensim): exact, with counts but without n-grams."""
    require("gensim", "writing gensim KeyedVectors")
    from gensim.models import KeyedVectors

    check_writable(path)
    vectors = KeyedVectors(space.dim)
    vectors.add_vectors(list(space.words), np.asarray(space.vectors))
    if space.counts is not None:
        vectors.expandos["count"] = np.array(space.counts)
    vectors.lifecycle_events = None  # gensim would add the time, but the same vectors should give the same bytes
    path = follow_link(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path.parent, path.name)
    folder = path.parent / part_name(path.name)
    folder.mkdir(0o700)
    try:
        vectors.save(str(folder / path.name))
        files = sorted(folder.iterdir(), key=lambda file: file.name == path.name)
        if len(files) > 1:
            path.unlink(missing_ok=True)  # an older pickle must not be read with the new arrays
        # The arrays first, since the pickle refers to them.
        for file in files:
            file.replace(path.parent / file.name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    progress(f"writing {path.name}", 1, 1)


def _state(request: Request, root: object) -> tuple[dict[Any, Any], str]:
    """Attributes of the KeyedVectors, and the prefix of their array files."""
    prefix = ""
    if isinstance(root, Call) and isinstance(root.state, dict) and "wv" in root.state:
        root, prefix = root.state["wv"], ".wv"
    if not isinstance(root, Call) or not isinstance(root.state, dict) or not root.name.startswith("gensim."):
        request.fail(
            "a pickle, but not of gensim KeyedVectors",
            remedy="other pickles are not read; save the vectors with KeyedVectors.save or as text",
        )
    return root.state, prefix


def _first(state: dict[Any, Any], *names: str) -> object:
    return next((state[name] for name in names if name in state), None)


def _ignored(state: dict[Any, Any]) -> list[object]:
    names = state.get("__ignoreds")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _counts(request: Request, state: dict[Any, Any], words: list[str]) -> npt.NDArray[np.int64] | None:
    extra, vocabulary = state.get("expandos"), state.get("vocab")
    if isinstance(extra, dict) and "count" in extra:
        counts = _array(request, extra["count"])
        if counts is None or counts.shape != (len(words),) or counts.dtype.kind not in "iu":
            return None
        return counts.astype(np.int64)
    if isinstance(vocabulary, dict):  # gensim 3: one object per word
        word_counts = []
        for word in words:
            entry = vocabulary.get(word)
            count = entry.state.get("count") if isinstance(entry, Call) and isinstance(entry.state, dict) else None
            if type(count) is not int or not 0 <= count < 1 << 62:
                return None
            word_counts.append(count)
        return np.array(word_counts, dtype=np.int64)
    return None


class _Arrays:
    def __init__(self, request: Request, state: dict[Any, Any], prefix: str) -> None:
        self._request = request
        self._state = state
        self._prefix = prefix

    def get(self, name: str) -> npt.NDArray[Any] | None:
        names = self._state.get("__numpys")
        if isinstance(names, list) and any(type(item) is str and item == name for item in names):
            path = self._request.path
            return _load_npy(self._request, path.with_name(f"{path.name}{self._prefix}.{name}.npy"))
        return _array(self._request, self._state.get(name))


def _load_npy(request: Request, path: Path) -> npt.NDArray[Any]:
    if not path.is_file():
        request.fail(f"its file {path.name} is missing", remedy="keep both files in one folder")
    with reading(path, "numpy file"):
        with path.open("rb") as file:
            check_npy_header(file, path.stat().st_size, path)
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        return array


def _array(request: Request, value: object) -> npt.NDArray[Any] | None:
    """The array that a numpy pickle describes, from its shape, type and bytes."""
    if not isinstance(value, Call) or value.name not in _ARRAYS:
        return None
    if not isinstance(value.state, tuple) or len(value.state) != 5:
        request.fail("an array in an unknown form")
    _, shape, dtype, fortran, data = value.state
    if isinstance(data, Call) and data.name == "_codecs.encode" and isinstance(data.args, tuple):
        # How pickles for Python 2 carry bytes.
        text = data.args[0]
        data = text.encode("latin-1") if isinstance(text, str) else None
    kind = dtype.args[0] if isinstance(dtype, Call) and isinstance(dtype.args, tuple) and dtype.args else None
    order = dtype.state[1] if isinstance(dtype, Call) and isinstance(dtype.state, tuple) else "<"
    if not isinstance(kind, str) or not _DTYPE.match(kind) or order not in ("<", ">", "|", "="):
        request.fail("an array of something other than plain numbers")
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        request.fail("an array of unknown shape")
    elements = math.prod(shape)
    plain = np.dtype((">" if order == ">" else "<") + kind.lstrip("<>|="))
    if not isinstance(data, bytes) or len(data) != elements * plain.itemsize:
        request.damaged("an array whose length does not match its shape")
    return np.frombuffer(data, dtype=plain).reshape(shape, order="F" if fortran is True else "C")


def _composed(
    request: Request, words: list[str], rows: npt.NDArray[Any] | None, subwords: SubwordTable | None
) -> FloatMatrix:
    if rows is None or subwords is None or rows.ndim != 2 or rows.shape != (len(words), subwords.matrix.shape[1]):
        request.damaged("the shapes of word and n-gram vectors do not match")
    first_words = words if request.limit is None else words[: request.limit]
    sink = MemorySink(rows.shape[1], len(first_words))
    for _, block in word_vectors([word.encode("utf-8") for word in first_words], rows, subwords):
        sink.append(block)
    return sink.finish()
