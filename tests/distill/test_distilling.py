"""Whole runs on the tiny encoder: right numbers, the same again, also after a kill, and vectors that mean something."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from tests.test_cards import run_lines

from isoglot.checkpoints import Checkpoint
from isoglot.distill import DistillSettings, distill_text, distill_texts, distill_together, estimate_distilling
from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, InputError
from isoglot.spaces import Space
from isoglot.wordvectors import TextFile

QUICK = DistillSettings(segmenter="spaces", min_tokens=5, min_count=3, sample=1e-2, rate=1e-2, batch=16)
MEAN = dataclasses.replace(QUICK, method="aggregate")


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr("isoglot.distill.shards.SHARD_SENTENCES", 64)


def chosen_by_hand(text):
    """Sentences of the fixture's texts: five words or more (all paragraphs have five sentences)."""
    lines = text.path.read_text("utf-8").split("\n")
    return [line.split() for line in lines if len(line.split()) >= 5]


def test_aggregates_are_means_over_all_occurrences(tiny, north):
    space = distill_text(tiny, north, MEAN)
    sentences = chosen_by_hand(north)
    found = tiny.words(sentences)
    words = np.array([word for words in sentences for word in words])
    assert len(space) > 50
    assert space.counts.tolist() == [int((words == word).sum()) for word in space.words]
    assert (np.diff(space.counts) <= 0).all()
    for row in range(0, len(space), 7):
        own = found.vectors[words == space.words[row]].astype(np.float64)
        np.testing.assert_allclose(space.vectors[row], own.mean(axis=0), atol=2e-5)


def test_a_paragraph_can_be_read_at_once(tiny, north):
    """The encoder then sees all five sentences (those long enough) as one text."""
    space = distill_text(tiny, north, dataclasses.replace(MEAN, reads="paragraph"))
    paragraphs = [
        [word for line in block.split("\n") if len(line.split()) >= 5 for word in line.split()]
        for block in north.path.read_text("utf-8").split("\n\n")
    ]
    paragraphs = [words for words in paragraphs if words]
    found = tiny.words(paragraphs)
    words = np.array([word for words in paragraphs for word in words])
    for row in (0, 10, 40):
        own = found.vectors[words == space.words[row]].astype(np.float64)
        np.testing.assert_allclose(space.vectors[row], own.mean(axis=0), atol=2e-5)
    assert np.abs(space.vectors - distill_text(tiny, north, MEAN).vectors).max() > 1e-3


def test_no_more_occurrences_than_asked_are_encoded(tiny, north, tmp_path, small_shards):
    few = dataclasses.replace(MEAN, occurrences=3)
    done = distill_texts(tiny, [north], tmp_path / "few", few)["north"]
    assert done.figures["occurrences"] == 3 * len(done.space)
    assert done.figures["encoded"] < done.figures["kept"] / 2
    all_of = distill_text(tiny, north, MEAN)
    assert done.space.words == all_of.words
    np.testing.assert_array_equal(done.space.counts, all_of.counts)  # of the text, not of what was looked at
    cosines = (done.space.vectors * all_of.vectors).sum(axis=1)
    cosines /= np.linalg.norm(done.space.vectors, axis=1) * np.linalg.norm(all_of.vectors, axis=1)
    assert np.median(cosines) > 0.8


def agreement(spaces, lexicon):
    """How well similarities within the two languages agree over words that translate each other; nothing learned: 0."""
    north, south = spaces
    pairs = [(a, b) for a, b in lexicon if a in north and b in south]
    assert len(pairs) > 40
    sides = []
    for space, own in ((north, [a for a, _ in pairs]), (south, [b for _, b in pairs])):
        X = space.vectors[space.rows(own)]
        X = X - X.mean(axis=0)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        sides.append((X @ X.T)[np.triu_indices(len(own), 1)])
    return np.corrcoef(*sides)[0, 1]


@pytest.mark.parametrize("leave_out", [True, False])
def test_words_that_mean_the_same_have_the_same_neighbours(tiny, north, south, all_text, leave_out):
    settings = dataclasses.replace(QUICK, leave_out=leave_out)
    learned = [distill_text(tiny, text, settings) for text in (north, south)]
    assert agreement(learned, all_text.lexicon) > 0.35
    start = [distill_text(tiny, text, dataclasses.replace(settings, rate=1e-9)) for text in (north, south)]
    assert abs(agreement(start, all_text.lexicon)) < 0.1


@pytest.mark.parametrize(
    ("context", "reads", "least", "most"),
    [
        ("sentence", "sentence", -0.1, 0.3),
        ("sentence", "paragraph", 0.1, 0.4),
        ("paragraph", "sentence", 0.4, 1),
        ("paragraph", "paragraph", 0.4, 1),
    ],
)
def test_paragraphs_tell_what_their_sentences_are_about(
    tiny, north, south, all_text, tmp_path, context, reads, least, most
):
    """Sentences are cut into lines of two words, too short to tell alone; the lines of one are a paragraph."""
    spaces = []
    for text in (north, south):
        path = tmp_path / text.path.name
        paragraphs = ("\n".join(" ".join(w[i : i + 2]) for i in range(0, len(w), 2)) for w in chosen_by_hand(text))
        path.write_text("\n\n".join(paragraphs) + "\n", "utf-8")
        settings = dataclasses.replace(QUICK, min_tokens=1, context=context, reads=reads)
        spaces.append(distill_text(tiny, TextFile(text.lang, path), settings))
    assert least < agreement(spaces, all_text.lexicon) < most


def test_a_seed_repeats_and_the_order_of_languages_does_not_matter(tiny, north, south, tmp_path):
    one = distill_texts(tiny, [north, south], tmp_path / "one", QUICK, threads=1)
    two = distill_texts(tiny, [south, north], tmp_path / "two", QUICK, threads=2)
    for lang in ("north", "south"):
        np.testing.assert_array_equal(one[lang].space.vectors, two[lang].space.vectors)
    alone = distill_text(tiny, south, QUICK)
    np.testing.assert_array_equal(one["south"].space.vectors, alone.vectors)
    other = distill_text(tiny, south, dataclasses.replace(QUICK, seed=1))
    assert (other.vectors != alone.vectors).any()


def test_the_folder_can_be_read(tiny, north, south, tmp_path, monkeypatch):
    done = distill_texts(tiny, [north, south], tmp_path / "out", QUICK)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.md",
        "config.json",
        "north.safetensors",
        "south.safetensors",
    ]
    assert not (tmp_path / "out.work").exists()
    space = Space.load(tmp_path / "out" / "north.safetensors")
    assert space.lang == "north"
    assert space.words == done["north"].space.words
    np.testing.assert_array_equal(space.vectors, done["north"].space.vectors)
    np.testing.assert_array_equal(space.counts, done["north"].space.counts)
    config = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    assert config["settings"] == dataclasses.asdict(QUICK)
    assert config["encoder"]["fingerprint"] == tiny.model.fingerprint()
    assert config["encoder"]["layer"] == "3"
    of_north = config["languages"]["north"]
    assert of_north["fingerprint"] == space.fingerprint()
    assert of_north["seen"] == 600
    assert of_north["kept"] == len(chosen_by_hand(north)) == of_north["encoded"]
    assert of_north["kept"] + of_north["too_short"] + of_north["alone"] == 600
    assert of_north["encoder_seconds"] > 0
    assert of_north["last_loss"] > 0
    assert run_lines(tmp_path / "out", monkeypatch)["space"].words == space.words
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert f"| text of north | `{north.path.name}` | {of_north['kept']} sentences |" in card
    assert tiny.model.fingerprint() in card
    # A second run may replace it.
    distill_texts(tiny, [south], tmp_path / "out", QUICK)
    assert not (tmp_path / "out" / "north.safetensors").exists()


def test_another_models_folder_is_not_overwritten(tiny, north, tmp_path):
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text('{"model_type": "bert"}', "utf-8")
    with pytest.raises(InputError, match="will not be overwritten"):
        distill_texts(tiny, [north], tmp_path / "bert", QUICK)


class Killed(BaseException):
    """Stands for a kill."""


def kill_at(lang, share):
    def kill(step, done, total):
        if step.startswith(f"distilling {lang}") and done >= share * total:
            raise Killed

    return kill


@pytest.mark.parametrize("method", ["x2static", "aggregate"])
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_a_killed_run_goes_on_to_the_same_bits(tiny, north, tmp_path, monkeypatch, small_shards, method, share):
    settings = dataclasses.replace(QUICK, method=method, epochs=2 if method == "x2static" else 1)
    monkeypatch.setattr(Checkpoint, "seconds", 0.0)
    unbroken = distill_text(tiny, north, settings, threads=1)
    with pytest.raises(Killed):
        distill_text(tiny, north, settings, tmp_path, progress=kill_at("north", share), threads=1)
    assert (tmp_path / "state.checkpoint").exists()
    calls, told = count_encodings(monkeypatch), []
    resumed = distill_text(tiny, north, settings, tmp_path, tell=told.append, threads=1)
    np.testing.assert_array_equal(resumed.vectors, unbroken.vectors)
    assert "north: resuming after" in told[0]
    whole = settings.epochs * -(-len(chosen_by_hand(north)) // 64)
    assert 0 < len(calls) <= (1 - share) * whole + 1
    # Finished, it is only reopened.
    calls.clear()
    again = distill_text(tiny, north, settings, tmp_path, tell=told.append)
    assert not calls
    np.testing.assert_array_equal(again.vectors, unbroken.vectors)
    place = tmp_path / "vectors.safetensors"
    data = bytearray(place.read_bytes())
    data[-1] ^= 1
    place.write_bytes(data)
    with pytest.raises(Killed):  # damaged, it is made again
        distill_text(tiny, north, settings, tmp_path, progress=kill_at("north", 0.1))


def test_a_killed_run_keeps_the_languages_that_were_done(tiny, north, south, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "seconds", 0.0)
    with pytest.raises(Killed):
        distill_texts(tiny, [north, south], tmp_path / "out", QUICK, progress=kill_at("south", 0.1))
    assert not (tmp_path / "out").exists()
    told = []
    done = distill_texts(tiny, [north, south], tmp_path / "out", QUICK, tell=told.append)
    assert told[0].startswith("north is already finished")
    for text in (north, south):
        np.testing.assert_array_equal(done[text.lang].space.vectors, distill_text(tiny, text, QUICK).vectors)
    assert not (tmp_path / "out.work").exists()


def test_the_state_of_other_settings_is_refused_before_anything_is_encoded(
    tiny, north, south, tmp_path, monkeypatch, small_shards
):
    monkeypatch.setattr(Checkpoint, "seconds", 0.0)
    with pytest.raises(Killed):
        distill_texts(tiny, [south], tmp_path / "out", QUICK, progress=kill_at("south", 0.5))
    monkeypatch.setattr(Encoder, "words", None)
    with pytest.raises(InputError, match="different data or settings"):
        distill_texts(tiny, [north, south], tmp_path / "out", dataclasses.replace(QUICK, seed=5))


def test_a_cache_serves_later_epochs_and_methods(tiny_folder, north, tmp_path, monkeypatch, small_shards):
    cached = Encoder(tiny_folder, cache=tmp_path / "cache")
    plain = distill_text(Encoder(tiny_folder), north, dataclasses.replace(QUICK, epochs=2))
    first = distill_text(cached, north, dataclasses.replace(QUICK, epochs=1))
    monkeypatch.setattr(type(cached.model), "run", None)  # whatever comes now is kept already
    both = distill_text(cached, north, dataclasses.replace(QUICK, epochs=2))
    np.testing.assert_array_equal(both.vectors, plain.vectors)
    assert (both.vectors != first.vectors).any()
    distill_text(cached, north, MEAN)


def test_runs_that_share_a_pass_give_what_they_give_alone(tiny, north, south, tmp_path, monkeypatch, small_shards):
    """Two seeds, more epochs, the means, and one that reads the text in its own way."""
    kinds = {
        "one": QUICK,
        "two": dataclasses.replace(QUICK, seed=1, epochs=2),
        "mean": MEAN,
        "other": dataclasses.replace(QUICK, min_tokens=6),
    }
    alone = {name: distill_texts(tiny, [north, south], tmp_path / name, one) for name, one in kinds.items()}
    calls = count_encodings(monkeypatch)
    runs = {tmp_path / f"{name}-together": one for name, one in kinds.items()}
    together = distill_together(tiny, [north, south], runs)
    for name in kinds:
        found = together[tmp_path / f"{name}-together"]
        for lang in ("north", "south"):
            np.testing.assert_array_equal(found[lang].space.vectors, alone[name][lang].space.vectors)
            assert found[lang].figures["encoded"] == alone[name][lang].figures["encoded"]
        assert Space.load(tmp_path / f"{name}-together" / "south.safetensors").words == found["south"].space.words
    assert not list(tmp_path.glob("*.work"))
    once = {name: sum(-(-one.figures["kept"] // 64) for one in alone[name].values()) for name in ("one", "other")}
    assert len(calls) == 2 * once["one"] + once["other"]  # two epochs for the first three, one for the last


def test_a_killed_pass_goes_on_with_each_of_its_runs(tiny, north, tmp_path, monkeypatch, small_shards):
    runs = {tmp_path / "one": QUICK, tmp_path / "two": dataclasses.replace(QUICK, seed=1, epochs=2)}
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "seconds", 0.0)
        with pytest.raises(Killed):
            distill_together(tiny, [north], runs, progress=kill_at("north", 0.3))
    # The second is further than the first, as if the kill had come between their states.
    (tmp_path / "one.work" / "north" / "state.checkpoint").unlink()
    done = distill_together(tiny, [north], runs)
    for output, settings in runs.items():
        np.testing.assert_array_equal(done[output]["north"].space.vectors, distill_text(tiny, north, settings).vectors)
    assert not list(tmp_path.glob("*.work"))


def count_encodings(monkeypatch):
    calls, words = [], Encoder.words
    monkeypatch.setattr(Encoder, "words", lambda self, *a, **k: calls.append(1) or words(self, *a, **k))
    return calls


def test_paragraphs_are_needed_where_they_are_asked_for(tiny, tmp_path, north):
    path = tmp_path / "shuffled.txt"
    path.write_text("\n".join(" ".join(words) for words in chosen_by_hand(north)) + "\n", "utf-8")
    text = TextFile("north", path)
    told = []
    distill_text(tiny, text, QUICK, tell=told.append)
    assert told == ["shuffled.txt has no paragraphs (no blank lines): sentences are chosen by length alone"]
    for wrong in ({"context": "paragraph"}, {"reads": "paragraph"}):
        with pytest.raises(ConfigError, match="this text has no blank lines"):
            distill_text(tiny, text, dataclasses.replace(QUICK, **wrong))
    distill_text(tiny, text, dataclasses.replace(MEAN, context="paragraph"))  # which an aggregate has no use for


def test_any_layers_and_their_dimensions(tiny_folder, north):
    for layer, dim in ((0, 64), ("sum:1,2", 64), ("1,3", 128)):
        space = distill_text(Encoder(tiny_folder, layer=layer), north, QUICK)
        assert space.dim == dim
        assert np.isfinite(space.vectors).all()


def test_each_text_needs_a_language(tiny, north, tmp_path):
    for texts in ([], [north, north]):
        with pytest.raises(ConfigError, match="a different language"):
            distill_texts(tiny, texts, tmp_path / "out", QUICK)


def test_progress_rises_to_the_end(tiny, north, small_shards):
    calls = []
    distill_text(tiny, north, QUICK, progress=lambda *call: calls.append(call))
    own = [(done, total) for step, done, total in calls if step == "distilling north (sentences)"]
    assert [done for done, _ in own] == sorted(done for done, _ in own)
    assert {total for _, total in own} == {len(chosen_by_hand(north))}
    assert sum(done >= total for done, total in own) == 1


def test_the_cost_is_told_before(tiny, north, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cost = estimate_distilling(tiny, north, QUICK, cached=True)
    assert cost.sentences == len(chosen_by_hand(north))
    assert cost.sentences + cost.left_out == 600
    assert cost.running_words == sum(map(len, chosen_by_hand(north)))
    assert cost.seconds > 0
    assert cost.output_megabytes == pytest.approx(cost.words * 64 * 4 / 1e6)
    assert cost.cache_megabytes == pytest.approx(cost.running_words * 64 * 4 / 1e6)
    assert not list(tmp_path.iterdir())  # nothing is left behind
