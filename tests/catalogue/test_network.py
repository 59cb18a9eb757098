"""Real downloads, only on demand: `pytest -m network`. Unreachable sources skip, wrong ones fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from isoglot.catalogue import entry, fetch, load_parallel, load_similarity, load_vectors, provenance
from isoglot.errors import OfflineError

pytestmark = pytest.mark.network


def really_fetch(name: str) -> Path:
    try:
        return fetch(name)
    except OfflineError as error:
        pytest.skip(str(error))


def test_english_vectors(cache: Path) -> None:
    really_fetch("vectors/en")
    space = load_vectors("en")
    assert f"{len(space):,} x {space.dim}" == entry("vectors/en").holds
    assert "house" in space


@pytest.mark.parametrize("name", ["lexicon/en-sv", "lexicon/en-sq"])
def test_a_wordnet_dictionary(cache: Path, name: str) -> None:
    really_fetch(name)
    record = provenance(entry(name))
    assert record is not None
    assert f"{record['facts']['pairs']:,} pairs" == entry(name).holds


def test_similarity_scores(cache: Path) -> None:
    really_fetch("similarity/simlex999")
    assert len(load_similarity("simlex999")) == 999


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt-get on this machine")
def test_a_debian_dictionary(cache: Path) -> None:
    path = really_fetch("lexicon/en-es-freedict")
    assert len(path.read_text(encoding="utf-8").splitlines()) > 5000


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt-get on this machine")
def test_help_pages(cache: Path) -> None:
    really_fetch("parallel/en-fi-help")
    text = load_parallel("fi", "en", name="parallel/en-fi-help")
    assert len(text) > 10_000
    assert all(finnish != english for finnish, english in text)


def test_a_multilingual_encoder(cache: Path) -> None:
    folder = really_fetch("encoder/use-multilingual")
    with np.load(folder / "weights.npz", allow_pickle=False) as weights:
        assert len(weights.files) > 10
    assert (folder / "sp.model").is_file()


def test_public_sources(cache: Path) -> None:
    path = really_fetch("muse/en-fr.test")
    assert len(path.read_text(encoding="utf-8").splitlines()) > 1500
