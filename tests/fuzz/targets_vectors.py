"""Files of word vectors in every format, and the cache of those that are slow to read."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.errors import IsoglotError
from isoglot.spaces import Space, SubwordTable, load_space, save_space

from .target import Unsound, check_finite, check_space, target

#: File name and format by target.
FILES = {
    "vec": ("x.vec", None),
    "glove": ("x.glove", None),
    "vec-gz": ("x.vec.gz", None),
    "vec-bz2": ("x.vec.bz2", None),
    "vec-xz": ("x.vec.xz", None),
    "vec-zst": ("x.vec.zst", None),
    "word2vec": ("x.w2v", None),
    "word2vec-gz": ("x.w2v.gz", None),
    "fasttext": ("x.bin", "fasttext"),
    "keyedvectors": ("x.kv", None),
    "spacy": ("x", "spacy"),
    "navec": ("x.tar", None),
    "npz": ("x.npz", None),
    "native": ("x.safetensors", None),
}


def small_space(lang: str = "xx", *, subwords: bool = True, dim: int = 6) -> Space:
    """Forty words, some of them odd, with counts and n-grams."""
    rng = np.random.default_rng(7)
    words = ["the", "Zürich", "naïve", "猫", "don't", "1999", "a\u00a0b", "</s>", "{", "<"]
    words += [f"word{i}" for i in range(30)]
    vectors = rng.normal(size=(len(words), dim)).astype(np.float32)
    table = np.random.default_rng(3).normal(size=(50, dim)).astype(np.float32)
    counts = np.arange(1000, 1000 - len(words), -1)
    return Space(lang, words, vectors, counts, SubwordTable(3, 5, 50, table) if subwords else None)


def _maker(file: str, format: str | None) -> Callable[[Path], None]:
    return lambda folder: save_space(small_space(), folder / file, format=format)


def _reader(file: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> None:
        for options in ({"threads": 2}, {"limit": 3}):
            check_read(load_space(folder / file, cache=False, **options))  # type: ignore[arg-type]

    return read


def check_read(space: Space) -> None:
    check_space(space)
    if space.report is None:
        raise Unsound("no report")
    if space.subwords is not None:
        with contextlib.suppress(IsoglotError):  # n-grams are checked when they are used
            check_finite(space.subwords.vector("unseen"))


for _name, (_file, _format) in FILES.items():
    target(_name, "vectors", _maker(_file, _format), _reader(_file))


# The cache: a damaged entry or record must never show in the result.


def _make_cached(folder: Path) -> None:
    save_space(small_space(subwords=False), folder / "x.vec")


def _settle(folder: Path) -> None:
    """Fill the cache of this very copy; its file must look old, as fresh ones are not trusted."""
    before = time.time() - 1000
    os.utime(folder / "x.vec", (before, before))
    _read_cached(folder)


def _read_cached(folder: Path) -> Any:
    previous = os.environ.get("ISOGLOT_CACHE", "")
    os.environ["ISOGLOT_CACHE"] = str(folder / "cache")
    try:
        space = check_space(load_space(folder / "x.vec"))
        part = check_space(load_space(folder / "x.vec", limit=3))
        return space.fingerprint(), part.fingerprint(), _list(space.counts)
    finally:
        os.environ["ISOGLOT_CACHE"] = previous


def _list(counts: Any) -> Any:
    return None if counts is None else counts.tolist()


target("space-cache", "vectors", _make_cached, _read_cached, exact=True, settle=_settle, victims=("cache/**/*",))
