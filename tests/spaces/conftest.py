"""Every test of this room has a cache folder of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoglot.spaces import Space, SubwordTable


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ISOGLOT_CACHE", str(folder))
    return folder


@pytest.fixture
def space() -> Space:
    rng = np.random.default_rng(7)
    words = ["the", "Zürich", "naïve", "猫", "don't", "1999", "a\u00a0b", "</s>", "{", "<"]
    words += [f"word{i}" for i in range(30)]
    vectors = rng.normal(size=(len(words), 6)).astype(np.float32)
    counts = np.arange(1000, 1000 - len(words), -1)
    return Space("xx", words, vectors, counts)


@pytest.fixture
def subword_space(space: Space) -> Space:
    table = np.random.default_rng(3).normal(size=(50, space.dim)).astype(np.float32)
    return Space(space.lang, space.words, space.vectors, space.counts, SubwordTable(3, 5, 50, table))
