"""What was encoded once is read again, and only that."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.encoders import Encoder


class Encoded(Exception):
    """The model ran."""


@pytest.fixture
def place(tmp_path):
    return tmp_path / "vectors"


@pytest.fixture
def reopened(tiny_folder, place, monkeypatch):
    """Another encoder on the same cache, whose model refuses to run."""

    def refuse(*_, **__):
        raise Encoded

    def reopen(**settings):
        encoder = Encoder(tiny_folder, cache=place, **settings)
        monkeypatch.setattr(encoder.model, "run", refuse)
        return encoder

    return reopen


@pytest.fixture
def sentences(parallel):
    return [list(words) for words in parallel.src[:5]] + [[], ["🙂", "\ud800"]]


def test_the_second_run_reads(tiny_folder, place, sentences, lines, reopened):
    first = Encoder(tiny_folder, cache=place)
    words, texts = first.words(sentences), first.sentences(lines[0][:5])
    layered = Encoder(tiny_folder, layer="1,2", cache=place)
    layers, text_layers = layered.word_layers(sentences), layered.sentence_layers(lines[0][:5])

    again = reopened()
    np.testing.assert_array_equal(again.words(sentences).vectors, words.vectors)
    np.testing.assert_array_equal(again.sentences(lines[0][:5]), texts)
    # Size of batches changes nothing in the result, so it is no part of the key.
    np.testing.assert_array_equal(reopened(batch_tokens=50).words(sentences).vectors, words.vectors)
    layered = reopened(layer="1,2")
    for found, wanted in zip(layered.word_layers(sentences), layers, strict=True):
        np.testing.assert_array_equal(found.vectors, wanted.vectors)
    np.testing.assert_array_equal(layered.sentence_layers(lines[0][:5]), text_layers)


@pytest.mark.parametrize(
    "settings",
    [{"layer": 1}, {"layer": "sum:2,3"}, {"pooling": "first"}, {"max_length": 50}, {"overlap": 3}],
    ids=str,
)
def test_another_setting_is_encoded_anew(tiny_folder, place, sentences, reopened, settings):
    Encoder(tiny_folder, cache=place).words(sentences)
    with pytest.raises(Encoded):
        reopened(**settings).words(sentences)


def test_another_text_is_encoded_anew(tiny_folder, place, sentences, lines, reopened):
    first = Encoder(tiny_folder, cache=place)
    first.words(sentences)
    first.sentences(lines[0][:2])
    again = reopened()
    changed = [*sentences[:-1], ["🙂", "x"]]
    joined = [sentences[0] + sentences[1], [], *sentences[2:]]  # the same running words
    for other in (changed, joined, sentences[::-1], sentences[:-1]):
        with pytest.raises(Encoded):
            again.words(other)
    for texts in (lines[0][1:2], lines[0][:2][::-1], [lines[0][0], lines[0][1] + " "]):
        with pytest.raises(Encoded):
            again.sentences(texts)
    with pytest.raises(Encoded):
        reopened(sentence_pooling="cls").sentences(lines[0][:2])


def test_another_model_is_encoded_anew(tiny_folder, place, sentences, reopened, tmp_path):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    Encoder(tiny_folder, cache=place).words(sentences)
    model = AutoModelForMaskedLM.from_pretrained(tiny_folder)
    model.bert.encoder.layer[0].output.dense.weight.data.mul_(1.01)
    model.save_pretrained(tmp_path / "other")
    AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(tmp_path / "other")
    Encoder(tmp_path / "other", cache=place).words(sentences)
    assert len(list(place.iterdir())) == 2
    reopened().words(sentences)


@pytest.mark.parametrize(
    "damage",
    [
        lambda old: b"",
        lambda old: old[:-7],
        lambda old: b"\xff" * 80,
        lambda old: old[:4],
        lambda old: old[:-1] + bytes([old[-1] ^ 1]),
    ],
)
def test_a_damaged_file_is_made_again(tiny_folder, place, sentences, reopened, damage):
    first = Encoder(tiny_folder, cache=place)
    wanted = first.words(sentences).vectors
    (file,) = place.rglob("*.safetensors")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(Encoded):
        reopened().words(sentences)
    np.testing.assert_array_equal(first.words(sentences).vectors, wanted)
    np.testing.assert_array_equal(reopened().words(sentences).vectors, wanted)


def test_a_killed_run_goes_on(tiny_folder, place, sentences, monkeypatch):
    """Shards that were finished are not encoded again."""
    monkeypatch.setattr("isoglot.encoders.encoder.SHARD", 2)
    encoder = Encoder(tiny_folder, cache=place)
    run, runs = encoder.model.run, []

    def counted(*args, **kwargs):
        runs.append(1)
        if len(runs) == 3:
            raise KeyboardInterrupt
        return run(*args, **kwargs)

    monkeypatch.setattr(encoder.model, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        encoder.words(sentences)
    assert len(list(place.rglob("*.safetensors"))) == 2
    assert not list(place.rglob("*.part"))
    runs[:] = [1, 1, 1]
    encoder.words(sentences)
    assert len(runs) == 3 + 2  # four shards, two of them kept


def test_nothing_is_kept_unless_asked(tiny, sentences, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny.words(sentences)
    assert not list(tmp_path.iterdir())
