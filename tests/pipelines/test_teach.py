"""`--preset teach` from end to end: a language that the encoder does not know, by new pieces alone."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from tests.tiny_models import STRANGE, WORDS, tiny_use

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError
from isoglot.finetuning import Stopped, recipe_of
from isoglot.pipelines import estimate, fine_tune, prepare, resume_recipe
from isoglot.pipelines.training_run import open_texts

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return tiny_use(tmp_path_factory.mktemp("use"))


@pytest.fixture
def recipe(known, tmp_path):
    """A recipe of a short run; what is given goes before."""
    lines = [" ".join(words) for words in itertools.permutations(WORDS, 3)][::2]
    text = tmp_path / "text.tsv"
    rows = (f"{' '.join(STRANGE[word] for word in line.split())}\t{line}\n" for line in lines)
    text.write_text("".join(rows), "utf-8")

    def make(training=None, **changes):
        content = {
            "encoder": str(known),
            "output": str(tmp_path / "out"),
            "parallel": {"xx": str(text)},
            "held_out": 40,
            "pieces": {"most": 60},
            "training": {"batch": 16, "steps": 8, **(training or {})},
            **changes,
        }
        return recipe_of(content if "objectives" in changes else {"preset": "teach", **content}, "test")

    return make


def test_a_language_is_learned_and_nothing_forgotten(recipe, known):
    outcome = fine_tune(prepare(recipe(), device="cpu"))
    assert outcome.before["retrieval"] < 0.3
    assert outcome.after["retrieval"] > 0.6
    assert outcome.after["kept"] == pytest.approx(1, abs=1e-6)
    before, after = Encoder(known, device="cpu"), Encoder(recipe().output, device="cpu")
    assert np.allclose(after.sentences(list(WORDS)), before.sentences(list(WORDS)), atol=1e-6)
    start = Encoder(recipe().output / "training" / "start", device="cpu").model.network.state_dict()
    old = len(before.model.tokenizer)
    for name, weights in after.model.network.state_dict().items():
        if name == "embeddings.weight":
            assert torch.equal(weights[:old], start[name][:old])
            assert not torch.equal(weights[old:], start[name][old:])
        else:
            assert torch.equal(weights, start[name])


def test_a_run_that_was_stopped_comes_to_the_same_weights(recipe, tmp_path):
    whole = fine_tune(prepare(recipe(), device="cpu"))
    weights = (tmp_path / "out" / "model.safetensors").read_bytes()
    made = recipe(output=str(tmp_path / "stopped"))
    begun = prepare(made, device="cpu")
    steps = begun.trainer._step

    def stop(state):
        if state.step == 3:
            raise Stopped("stopped")
        return steps(state)

    begun.trainer._every["checkpoint"] = 2
    begun.trainer._step = stop
    with pytest.raises(Stopped):
        fine_tune(begun)
    resumed = fine_tune(prepare(resume_recipe(tmp_path / "stopped"), device="cpu"))
    assert dataclasses.replace(resumed, seconds=0) == dataclasses.replace(whole, seconds=0)
    assert (tmp_path / "stopped" / "model.safetensors").read_bytes() == weights


def test_entries_of_a_dictionary_are_lines_to_learn_from_only(recipe, tmp_path):
    words = tmp_path / "words.tsv"
    words.write_text("".join(f"{strange}\t{word}\n" for word, strange in STRANGE.items()), "utf-8")
    (plain,), (both,) = open_texts(recipe(limit=10)), open_texts(recipe(limit=10, lexicon={"xx": str(words)}))
    assert (len(plain), len(both)) == (10, 10 + len(WORDS))
    assert both.text(both.held_out).src == plain.text(plain.held_out).src
    assert set(STRANGE.values()) <= set(both.text(both.rows).src)
    with pytest.raises(ConfigError, match="a dictionary of yy, but no parallel text"):
        recipe(lexicon={"yy": str(words)})
    assert resume_recipe_of(recipe(lexicon={"xx": str(words)})).lexicon == {"xx": str(words)}


def resume_recipe_of(made):
    """As a run's folder has it."""
    return recipe_of(made.record(), "test")


def test_the_whole_encoder_can_learn_from_another_teacher(recipe, tmp_path):
    other = tiny_use(tmp_path / "teacher", seed=1)
    made = recipe({"learning_rate": 1e-2}, objectives="teacher", pieces=None, teacher=str(other))
    assert made.pieces is None
    assert resume_recipe_of(made).teacher == str(other)
    fine = prepare(made, device="cpu")
    fine_tune(fine)
    (text,) = open_texts(made)
    lines = list(text.text(text.rows).tgt)[:50]
    goal, was, now = (Encoder(one, device="cpu").sentences(lines) for one in (other, made.encoder, made.output))
    assert ((now - goal) ** 2).sum() < 0.8 * ((was - goal) ** 2).sum()


def test_what_does_not_fit_is_said_before_the_work_begins(recipe, tmp_path):
    narrow = tiny_use(tmp_path / "narrow", width=8)
    with pytest.raises(ConfigError, match="the teacher has 8 dimensions, the encoder 16"):
        prepare(recipe(teacher=str(narrow)), device="cpu")
    with pytest.raises(ConfigError, match="no new pieces, so everything would be frozen"):
        prepare(recipe({"freeze": "old"}, objectives="teacher", pieces=None), device="cpu")
    with pytest.raises(ConfigError, match="new pieces are for an existing encoder"):
        recipe(parallel={}, text={"xx": "some.txt"})


def test_a_dry_run_leaves_nothing_behind(recipe, tmp_path):
    assert estimate(prepare(recipe(), device="cpu", dry=True)).seconds > 0
    assert not (tmp_path / "out").exists()
