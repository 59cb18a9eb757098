"""For tests of training: short runs over the tiny languages, on one thread so that a repetition has the same bits."""

from __future__ import annotations

import dataclasses

import pytest

from isoglot.encoders import Encoder
from isoglot.finetuning import Trainer, TrainingSettings, open_corpus, parse_recipe

#: Seldom is never: runs of tests are shorter.
SELDOM = 10_000
SHORT = TrainingSettings(
    batch=8,
    accumulation=1,
    steps=6,
    learning_rate=5e-3,
    segmenter="spaces",
    links="ibm1",
    evaluate_every=SELDOM,
    checkpoint_every=SELDOM,
)


@pytest.fixture(autouse=True)
def seeded():
    """Random numbers of a test do not depend on the tests before it."""
    pytest.importorskip("torch").manual_seed(0)


@pytest.fixture(scope="session")
def short():
    """Settings of a short run."""
    return SHORT


@pytest.fixture(scope="session")
def one_thread():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def corpus(lines):
    return open_corpus(*lines, "north", "south", held_out=100)


@pytest.fixture
def trainer(tiny_folder, corpus, one_thread):
    """Make a trainer of this recipe in this folder; settings are those of a short run but for the given ones."""
    pytest.importorskip("accelerate")

    def make(recipe, folder, *, encoder=None, corpora=None, evaluate=None, watch=None, tell=None, **changes):
        return Trainer(
            encoder or Encoder(tiny_folder, device="cpu"),
            [corpus] if corpora is None else corpora,
            parse_recipe(recipe),
            dataclasses.replace(SHORT, **changes),
            folder,
            evaluate=evaluate,
            watch=watch or (lambda record: None),
            tell=tell or (lambda line: None),
        )

    return make
