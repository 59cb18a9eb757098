"""A training recipe from end to end, and all that is looked at before the work begins."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections import namedtuple

import numpy as np
import pytest
from tests.test_cards import run_lines

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.finetuning import open_corpus, recipe_of
from isoglot.pipelines import Evaluation, estimate, fine_tune, prepare, resume_recipe, training_run
from isoglot.pipelines.training_run import open_texts

pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def recipe(text_files, tiny_folder, tmp_path):
    """A recipe of a short run; what is given goes before."""

    def make(training=None, **changes):
        settings = {"batch": 8, "accumulation": 1, "steps": 4, "learning_rate": 2e-3, "segmenter": "spaces"}
        content = {
            "encoder": str(tiny_folder),
            "output": str(tmp_path / "out"),
            "target": "south",
            "parallel": {"north": f"{text_files / 'north.txt'}, {text_files / 'south.txt'}"},
            "limit": 100,
            "held_out": 40,
            "training": {**settings, "links": "ibm1", **(training or {})},
            **changes,
        }
        return recipe_of(content if "objectives" in changes else {"preset": "wordot", **content}, "test")

    return make


def test_from_text_to_a_folder(recipe, text_files, tmp_path, monkeypatch):
    monkeypatch.chdir(text_files)
    made = recipe(parallel={"north": "north.txt,south.txt"}, training={"evaluate_every": 2})
    outcome = fine_tune(prepare(made, device="cpu"))
    assert outcome.before["kept"] == pytest.approx(1, abs=1e-5)
    assert outcome.before["spread"] == pytest.approx(1)
    assert outcome.after["semantic"] > outcome.before["semantic"]
    assert outcome.after["kept"] < 1
    assert json.loads((tmp_path / "out" / "training" / "result.json").read_text()) == outcome.record()
    text = open_texts(made)[0]
    figures = Evaluation([text])(Encoder(made.output, device="cpu"))
    assert figures["semantic"] == pytest.approx(outcome.after["semantic"], abs=1e-5)
    # From another working folder it is the same run, at its end.
    monkeypatch.chdir(tmp_path)
    weights = (made.output / "model.safetensors").read_bytes()
    again = resume_recipe(tmp_path / "out")
    assert again.parallel == {"north": f"{text_files / 'north.txt'},{text_files / 'south.txt'}"}
    repeated = fine_tune(prepare(again, device="cpu"))
    assert dataclasses.replace(repeated, seconds=0) == dataclasses.replace(outcome, seconds=0)
    assert (made.output / "model.safetensors").read_bytes() == weights
    assert not (made.output / "README.md.kept").exists()


def test_the_encoder_has_a_card(recipe, text_files, tmp_path, monkeypatch):
    made = recipe()
    outcome = fine_tune(prepare(made, device="cpu"))
    card = made.output / "README.md"
    text = card.read_text("utf-8")
    assert f"| {outcome.before['retrieval']:.3f} | {outcome.after['retrieval']:.3f} |" in text
    assert "`north.txt`" in text
    assert "By the objectives `word_ot`" in text
    assert str(tmp_path.parent) not in text
    assert run_lines(made.output, monkeypatch)["vectors"].shape == (1, 64)
    card.write_text("my own words")
    fine_tune(prepare(made, device="cpu"))
    assert card.read_text("utf-8") == text
    assert (made.output / "README.md.kept").read_text() == "my own words"


def test_a_run_with_other_settings_is_refused_and_may_still_go_on(recipe, text_files, lines, tmp_path):
    fine_tune(prepare(recipe(), device="cpu"))
    kept = (tmp_path / "out" / "training" / "recipe.json").read_text()
    with pytest.raises(InputError, match=r"holds a run with another batch \(8, now 4\)"):
        fine_tune(prepare(recipe({"batch": 4}), device="cpu"))
    with pytest.raises(InputError, match=r"holds a run with another objective \(word_ot, anchor, mlm\)"):
        fine_tune(prepare(recipe(objectives="anchor + mlm"), device="cpu"))
    changed = tmp_path / "changed.txt"
    changed.write_text("\n".join(["another line", *lines[0][1:]]), "utf-8")
    with pytest.raises(InputError, match=r"holds a run with another text \(north-south\)"):
        fine_tune(prepare(recipe(parallel={"north": f"{changed},{text_files / 'south.txt'}"}), device="cpu"))
    assert (tmp_path / "out" / "training" / "recipe.json").read_text() == kept
    assert resume_recipe(tmp_path / "out").record() == {
        **recipe().record(),
        **{name: value for name, value in json.loads(kept).items() if name != "format"},
    }


def test_an_estimate_writes_nothing(recipe, tmp_path):
    fine = prepare(recipe(objectives="l2 + anchor"), device="cpu", dry=True)
    cost = estimate(fine)
    assert not (tmp_path / "out").exists()
    assert (cost.steps, cost.sentences) == (4, 32)
    assert cost.trained == cost.weights > 100_000
    assert cost.seconds > 0
    assert cost.tokens > 32 * 4
    assert cost.memory > 50_000_000
    assert 11 * 4 * cost.weights <= cost.disk < 20 * 4 * cost.weights
    assert json.loads(json.dumps(cost.record()))["steps"] == 4


def test_links_are_kept_for_a_run_that_begins_again(recipe, tmp_path):
    prepare(recipe(objectives="l2 + anchor"), device="cpu")
    links = list((tmp_path / "out" / "training").iterdir())
    assert [path.suffix for path in links] == [".pharaoh"]
    before = links[0].stat().st_mtime_ns
    prepare(recipe(objectives="l2 + anchor"), device="cpu")
    assert links[0].stat().st_mtime_ns == before


# All of these before an encoder is loaded.


@pytest.fixture
def no_encoder(monkeypatch):
    def load(*args, **options):
        raise AssertionError("too late")

    monkeypatch.setattr(training_run, "Encoder", load)


@pytest.mark.usefixtures("no_encoder")
def test_a_place_that_cannot_be_written_to(recipe, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is not a folder"):
        prepare(recipe(output=str(tmp_path / "file" / "out")))
    with pytest.raises(InputError, match="is a file, not a folder"):
        prepare(recipe(output=str(tmp_path / "file")))
    with pytest.raises(InputError, match="holds other files"):
        prepare(recipe(output=str(tmp_path)))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="no permission to write here; choose another output path"):
        prepare(recipe())


@pytest.mark.usefixtures("no_encoder")
@pytest.mark.parametrize(
    ("place", "kind", "message"),
    [
        ("missing.txt,south.txt", InputError, r"missing\.txt"),
        ("missing.tsv", InputError, r"missing\.tsv"),
        ("north.txt", FormatError, r"north\.txt:1: 1 columns instead of a sentence, a tab and its translation"),
        (
            "north.txt,short.txt",
            InputError,
            r"short\.txt: 2 lines, but the other side has 500; both files need one sentence per line",
        ),
        ("north.txt,south.txt,south.txt", ConfigError, "names more than two files"),
        ("parallel/de-en", ConfigError, "parallel/de-en is not a text of north and south"),
    ],
)
def test_texts_that_are_none(recipe, text_files, place, kind, message, monkeypatch, tmp_path):
    for name in ("north.txt", "south.txt"):
        (tmp_path / name).symlink_to(text_files / name)
    (tmp_path / "short.txt").write_text("one\ntwo\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        prepare(recipe(parallel={"north": place}))


@pytest.mark.usefixtures("no_encoder")
def test_an_encoder_that_is_aligned_by_maps(recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(training_run, "is_aligned_folder", lambda path: True)
    with pytest.raises(ConfigError, match=r"is aligned by maps.*name the encoder in it: maps/encoder"):
        prepare(recipe(encoder="maps"))


def test_a_full_disk_is_noticed_before_training(recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 1000))
    with pytest.raises(
        InputError, match=r"the run may write up to \d+ MB, but only 0 MB are free; free some disk space"
    ):
        prepare(recipe(), device="cpu")
    assert not (tmp_path / "out").exists()


def test_one_file_with_both_sides(recipe, text_files):
    two, one = (
        open_texts(recipe(parallel={"north": place}))[0]
        for place in (f"{text_files / 'north.txt'},{text_files / 'south.txt'}", str(text_files / "both.tsv"))
    )
    assert two.digest == one.digest
    assert two.text(two.rows) == one.text(one.rows)


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(InputError, match="holds no training run; name the output folder of a run"):
        resume_recipe(tmp_path)


# Figures.


class Still:
    """An encoder of given vectors."""

    def __init__(self, vectors):
        self.vectors = vectors

    def sentences(self, texts):
        return np.stack([self.vectors[text] for text in texts])


def test_figures_of_an_encoder():
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(30)]
    src, tgt = ([f"{side} {word}" for word in words] for side in "st")
    text = open_corpus([*src, "s x"], [*tgt, "t x"], "s", "t", held_out=30)
    meaning = rng.normal(size=(31, 8)).astype(np.float32)
    meets = dict(zip([*src, "s x", *tgt, "t x"], np.concatenate([meaning, meaning]), strict=True))
    evaluation = Evaluation([text])
    assert evaluation
    evaluation.remember(Still(meets))
    figures = evaluation(Still(meets))
    for name in ("retrieval", "retrieval csls", "semantic", "kept", "spread", "retrieval s-t"):
        assert figures[name] == pytest.approx(1, abs=1e-5), name
    # A space that shrinks to a point is not taken for a good one.
    shrunk = {name: one * 0.01 for name, one in meets.items()}
    figures = evaluation(Still(shrunk))
    assert figures["spread"] == pytest.approx(1e-4, rel=1e-3)
    apart = {name: one + 5 * name.startswith("s") for name, one in meets.items()}
    assert evaluation(Still(apart))["semantic"] < 0.9
    assert not Evaluation([open_corpus(src, tgt, "s", "t", held_out=0)])
