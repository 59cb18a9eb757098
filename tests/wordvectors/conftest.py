"""Text of two invented languages, and what training on it gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.joint import JointSpace
from isoglot.lexicons import Lexicon
from isoglot.simulate import SimulatedTexts, simulate_texts
from isoglot.wordvectors import Corpus, CorpusSettings, TextFile, Training, train


@pytest.fixture(scope="session")
def texts() -> SimulatedTexts:
    return simulate_texts()


@pytest.fixture(scope="session")
def folder(texts, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("texts")
    texts.save(place)
    return place


@pytest.fixture(scope="session")
def files(folder) -> list[TextFile]:
    return [TextFile("north", folder / "north.txt"), TextFile("south", folder / "south.txt")]


@pytest.fixture(scope="session")
def corpus(files, tmp_path_factory) -> Corpus:
    return Corpus.build(files, tmp_path_factory.mktemp("corpus") / "c", CorpusSettings())


@pytest.fixture(scope="session")
def joint(corpus) -> JointSpace:
    vectors = train(corpus, Training(dim=24, epochs=5, sample=1e-2, subwords=False), threads=1)
    return JointSpace(corpus.langs, corpus.words, vectors, corpus.counts)


@pytest.fixture(scope="session")
def lexicons(texts) -> tuple[Lexicon, Lexicon]:
    """Every third pair tests."""
    pairs = texts.lexicon.pairs
    taught = [pair for i, pair in enumerate(pairs) if i % 3]
    return Lexicon(taught, "north", "south"), Lexicon(pairs[::3], "north", "south")
