"""Mutated files of every format: the outcome is a sound Space or an IsoglotError, nothing else, and soon."""

from __future__ import annotations

import contextlib
import random
import resource
import shutil
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoglot.errors import IsoglotError
from isoglot.spaces import Space, load_space, save_space

TARGETS = {
    "vec": ("x.vec", None),
    "glove": ("x.glove", None),
    "gz": ("x.vec.gz", None),
    "xz": ("x.vec.xz", None),
    "zst": ("x.vec.zst", None),
    "bz2": ("x.vec.bz2", None),
    "word2vec-binary": ("x.w2v", None),
    "fasttext": ("x.bin", "fasttext"),
    "gensim": ("x.kv", None),
    "spacy": ("x", "spacy"),
    "navec": ("x.tar", None),
    "npz": ("x.npz", None),
    "safetensors": ("x.safetensors", None),
}
MUTATIONS = 240


def _flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] = rng.randrange(256)


def _flip_early(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(min(len(data), 128))] = rng.choice([0, 1, 10, 32, 127, 128, 255, rng.randrange(256)])


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _remove(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.choice([1, 4, 8, 100])]


def _insert(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    data[start:start] = rng.choice(
        [b"\n", b" ", b"\0" * 8, b"\xff" * 8, b"nan ", b"9" * 30, b"-1e400 ", rng.randbytes(20)]
    )


def _repeat(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    data[start:start] = data[start : start + rng.randrange(1, 200)]


def _huge_number(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(min(len(data), 300))
    data[start : start + 8] = rng.choice([b"\xff" * 4, b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"99999999"])


STEPS: list[Callable[[bytearray, random.Random], None]] = [
    _flip, _flip_early, _cut, _remove, _insert, _repeat, _huge_number,
]  # fmt: skip


def _files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _outcome(path: Path, **options: Any) -> Space | str:
    """The Space, or the one line of the error that a user would read."""
    try:
        return load_space(path, **options)
    except IsoglotError as error:
        return str(error)


def _sound(space: Space) -> None:
    assert len(space) == len(space.vectors) == len(set(space.words)) > 0
    assert space.vectors.dtype == np.float32
    assert np.isfinite(space.vectors).all()
    assert space.counts is None or len(space.counts) == len(space)
    assert all(space.words)
    "".join(space.words).encode("utf-8")
    assert space.report is not None
    if space.subwords is not None:
        with contextlib.suppress(IsoglotError):  # n-grams are checked when they are used
            assert np.isfinite(space.subwords.vector("unseen")).all()


@pytest.mark.parametrize("name", TARGETS)
def test_mutations(name: str, subword_space: Space, tmp_path: Path) -> None:
    if name == "gensim":
        pytest.importorskip("gensim")
    file_name, format = TARGETS[name]
    original = tmp_path / "original" / file_name
    original.parent.mkdir()
    save_space(subword_space, original, format=format)
    _sound(load_space(original))
    rng = random.Random(name)
    loaded = refused = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(MUTATIONS):
        folder = tmp_path / str(number)
        shutil.copytree(original.parent, folder)
        target = folder / file_name
        victim = rng.choice(_files(target))
        data = bytearray(victim.read_bytes())
        for _ in range(rng.choice([1, 1, 2])):
            if data:
                rng.choice(STEPS)(data, rng)
        victim.write_bytes(data)
        limit = rng.choice([None, None, 3])
        outcome = _outcome(target, cache=number % 12 == 0, limit=limit, threads=1 + number % 2)
        if isinstance(outcome, Space):
            _sound(outcome)
            assert limit is None or len(outcome) <= limit
            loaded += 1
        else:
            assert "\n" not in outcome
            assert str(folder) in outcome
            refused += 1
        shutil.rmtree(folder)
    # The mutations neither spare every file nor break every one: otherwise they test nothing.
    assert refused
    assert loaded or name in ("xz", "bz2")  # these check all that they hold
    if sys.platform == "linux":
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000  # kB


def test_random_bytes(tmp_path: Path) -> None:
    rng = random.Random(0)
    for number in range(200):
        path = tmp_path / f"{number}.{rng.choice(['vec', 'bin', 'kv', 'npz', 'tar'])}"
        head = rng.choice([b"", b"\x80\x04", b"PK\x03\x04", b"\x1f\x8b\x08", b"5 4\n", b"\xba\x16O/\x0c\0\0\0"])
        path.write_bytes(head + rng.randbytes(rng.randrange(600)))
        outcome = _outcome(path, cache=False)
        if isinstance(outcome, Space):
            _sound(outcome)
        else:
            assert str(path) in outcome


@pytest.mark.parametrize(
    "head",
    [
        b"999999999999 300\n",
        b"3 60000\n",
        b"999999999999999999 999999999999999999\n",
    ],
)
@pytest.mark.parametrize("body", [b"a 1 2\nb 3 4\n", b"a \x00\x01\x02\x03\x04\x05\x06\x07\nb "])
def test_absurd_headers_allocate_nothing(head: bytes, body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.vec"
    path.write_bytes(head + body)
    load_warm = tmp_path / "warm.vec"
    load_warm.write_bytes(b"a 1 2\nb 3 4\n")
    load_space(load_warm, cache=False)
    tracemalloc.start()
    try:
        outcome = _outcome(path, cache=False)
        assert isinstance(outcome, str) or outcome.vectors.tolist() == [[1, 2], [3, 4]]
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
