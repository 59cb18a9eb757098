"""Training without parallel text: masked tokens of text, and words towards static vectors."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, InputError
from isoglot.finetuning import (
    EncodedBatch,
    Side,
    Stopped,
    Trainer,
    TrainingSettings,
    objective,
    open_text,
    parse_recipe,
)
from isoglot.finetuning.batches import WordBatch
from isoglot.finetuning.deep_cca import cca_loss, released_cca_loss
from isoglot.spaces import Space

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

SHORT = {"steps": 6, "blocks": 8, "block_length": 32, "words": 64, "learning_rate": 2e-3, "evaluate_every": 3}
SHORT |= {"segmenter": "spaces"}


@pytest.fixture(scope="module")
def texts(lines):
    return [open_text(side[:150], lang, held_out=30) for lang, side in zip(("north", "south"), lines, strict=True)]


@pytest.fixture(scope="module")
def static(parallel):
    """Vectors by language, of these dimensions."""

    def make(dim):
        rng = np.random.default_rng(0)
        sides = {"north": parallel.src, "south": parallel.tgt}
        words = {lang: sorted({word for sentence in side for word in sentence}) for lang, side in sides.items()}
        return {lang: Space(lang, own, rng.normal(size=(len(own), dim))) for lang, own in words.items()}

    return make


@pytest.fixture
def train(tiny_folder, texts, one_thread):
    def make(
        recipe, folder, static=None, *, start=tiny_folder, watch=lambda record: None, corpora=(), texts=texts, **changes
    ):
        settings = TrainingSettings(**{**SHORT, **changes})
        encoder = Encoder(start, device="cpu")
        return Trainer(
            encoder, corpora, parse_recipe(recipe), settings, folder, texts=texts, static=static, watch=watch
        )

    return make


def weights(made):
    return {name: one.detach().clone() for name, one in made.network.state_dict().items()}


def words_batch(special=2.0):
    """Three words of one, two and no tokens between special ones, and their batch."""
    words = torch.tensor([[-1, 0, -1, -1], [-1, 0, 0, -1], [-1, -1, -1, -1]])
    mask = torch.tensor([[True, True, True, False], [True] * 4, [True, True, False, False]])
    side = Side(torch.zeros_like(words), mask, words, torch.tensor([1, 1, 0]))
    hidden = torch.full((3, 4, 2), special)
    hidden[0, 1], hidden[1, 1], hidden[1, 2] = torch.tensor([[1.0, 0], [0, 4], [2, 2]])
    return EncodedBatch(WordBatch(side, torch.tensor([[1.0, 1], [1, 3], [9, 9]])), alone=hidden.requires_grad_())


def test_a_word_is_the_mean_of_its_tokens():
    X, Y = words_batch().static_words()
    assert (X.tolist(), Y.tolist()) == ([[1, 0], [1, 3]], [[1, 1], [1, 3]])
    X, _ = words_batch().static_words(special=True)
    assert torch.allclose(X, torch.tensor([[5 / 3, 4 / 3], [1.5, 2.5]]))


def test_static_losses_and_their_gradients():
    batch = words_batch()
    loss = objective("static_mse").loss(batch)
    assert loss.item() == pytest.approx((0.5 + 0) / 2)
    loss.backward()
    assert batch.alone.grad[0, 1].tolist() == [0, -0.5]
    assert not batch.alone.grad[batch.batch.side.words < 0].any()
    random = torch.Generator().manual_seed(0)
    words = torch.tensor([[-1, 0, -1]] * 40)
    side = Side(torch.zeros_like(words), words > -9, words, torch.ones(40, dtype=torch.long))
    hidden = torch.randn(40, 3, 12, generator=random, requires_grad=True)
    Y = torch.randn(40, 5, generator=random)
    batch = EncodedBatch(WordBatch(side, Y), alone=hidden)
    X = hidden.detach()
    found = [objective("static_dcca", one).loss(batch) for one in ({}, {"components": 2}, {"variant": "released"})]
    assert found[0].item() == pytest.approx(5 + cca_loss(X[:, 1], Y).item(), rel=1e-5)
    assert found[1].item() == pytest.approx(2 + cca_loss(X[:, 1], Y, components=2).item(), rel=1e-5)
    assert found[2].item() == pytest.approx(200**0.5 + released_cca_loss(X.mean(1), Y).item(), rel=1e-5)
    gradient = torch.autograd.grad(found[0], hidden, retain_graph=True)[0]
    assert gradient[:, 1].any()
    assert not gradient[:, [0, 2]].any()
    assert torch.autograd.grad(found[2], hidden)[0][:, [0, 2]].any()


@pytest.mark.parametrize(("recipe", "dim"), [("mlm + static_dcca", 7), ("mlm + static_mse", None), ("mlm", 0)])
def test_text_and_static_vectors_train_together(train, static, tiny, tmp_path, recipe, dim):
    records = []
    vectors = None if dim == 0 else static(dim or tiny.model.width)
    made = train(recipe, tmp_path, vectors, watch=records.append, steps=12)
    before = weights(made)
    outcome = made.run()
    names = recipe.split(" + ")
    first = records[0]
    assert set(first.terms) == set(names)
    assert list(first.pairs) == ["text north", "text south"] + ["words"] * (len(names) - 1)
    assert first.loss == pytest.approx(sum(first.terms.values()), rel=0.2)
    assert outcome.after.keys() == outcome.before.keys() == {"mlm", "mlm north", "mlm south"}
    trained = made.network.trained()
    assert sum(not one.equal(before[name]) for name, one in trained.items()) > 0.8 * len(trained)
    for name in names[1:]:
        assert np.mean([one.terms[name] for one in records[-3:]]) < first.terms[name]


def test_the_loss_is_the_mean_over_languages(train, texts, tmp_path):
    records = []
    for number, (own, changes) in enumerate([(texts[:1], {}), (texts[:1], {"accumulation": 1}), (texts, {})]):
        train("mlm", tmp_path / str(number), texts=own, steps=1, watch=records.append, **changes).run()
    for record in records:
        assert record.loss == pytest.approx(record.terms["mlm"], rel=0.2)
    assert records[0].tokens == pytest.approx(8 * 32, rel=0.4)
    assert records[2].tokens == pytest.approx(8 * 32, rel=0.4)


def test_the_weights_that_guess_best_are_kept(train, tmp_path):
    made = train("mlm", tmp_path, evaluate_every=1, steps=5, learning_rate=0.05)
    outcome = made.run()
    log = [json.loads(line)["evaluation"]["mlm"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert outcome.chosen == 1 + int(np.argmin(log))
    assert outcome.after["mlm"] == min(log)
    # Masks are the same each time.
    assert made._best.figures() == pytest.approx(dict(outcome.after))


def test_a_stopped_run_comes_to_the_same_end(train, static, tmp_path):
    vectors = static(7)
    whole = train("mlm + static_dcca", tmp_path / "whole", vectors)
    whole.run()

    def interrupt(record):
        if record.step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Stopped):
        train("mlm + static_dcca", tmp_path / "stopped", vectors, watch=interrupt).run()
    again = train("mlm + static_dcca", tmp_path / "stopped", vectors)
    again.run()
    assert all(one.equal(weights(again)[name]) for name, one in weights(whole).items())
    with pytest.raises(InputError, match=r"another vector \(north, south\)"):
        train("mlm + static_dcca", tmp_path / "stopped", static(8))


@pytest.mark.parametrize(("broken", "key"), [("text south", "lines"), ("words", "words")])
def test_a_loss_that_is_no_number_keeps_its_lines_or_words(train, static, tmp_path, monkeypatch, broken, key):
    made = train("mlm + static_dcca", tmp_path, static(7))
    forward = made.network.forward

    def spoil(data, generator):
        loss, terms = forward(data, generator)
        if data.name == broken:
            terms = {name: (total * float("nan"), count) for name, (total, count) in terms.items()}
        return loss, terms

    monkeypatch.setattr(made.network, "forward", spoil)
    drawn = next(one for one in made.sampler.draw(0) if one.batch.name == broken)
    with pytest.raises(InputError, match=rf"the loss is nan in step 1 \({broken}\); its {key} are saved in "):
        made.run()
    kept = json.loads((tmp_path / "stopped.json").read_text())
    assert kept["batches"] == [{"pair": broken, key: list(drawn.texts[key])}]
    assert len(drawn.texts[key]) > 1
    assert list(kept["terms"]) == ["static_dcca" if broken == "words" else "mlm"]


def test_translations_may_join_in_or_only_be_evaluated_on(train, static, corpus, tmp_path):
    records = []
    made = train("mlm + anchor + static_dcca", tmp_path, static(7), corpora=[corpus], steps=1, watch=records.append)
    made.run()
    assert list(records[0].pairs) == ["north-south", "text north", "text south", "words"]
    made = train("mlm", tmp_path / "evaluated", corpora=[corpus], steps=0, epochs=1)
    assert made.sampler.pairs_of_a_draw == 0
    assert made.steps == -(-made.sampler.draws_of_an_epoch // 2)


def test_timing_counts_words_once(train, static, tmp_path):
    made = train("mlm + static_dcca", tmp_path, static(7), accumulation=4)
    seconds, tokens = made.time_batches()
    step = [one for number in range(4) for one in made.sampler.draw(number)]
    assert [one.batch.name for one in step].count("words") == 1
    assert seconds > 0
    assert tokens == pytest.approx(sum(one.batch.tokens for one in step), rel=0.5)


@pytest.mark.parametrize(
    ("recipe", "dim", "changes", "message"),
    [
        ("mlm + static_mse", 7, {}, "static_mse: vectors of 7 dimensions, but the encoder has"),
        ("mlm + static_dcca", 0, {}, "objectives: static_dcca needs static vectors; set `static`"),
        ("mlm", 7, {}, "static: no objective uses static vectors; add static_dcca or static_mse"),
        ("static_dcca", 7, {}, "text: no objective reads monolingual text; add mlm"),
        ("mlm + tlm", 0, {}, "objectives: tlm needs parallel text; set `parallel`"),
        ("word_ot + mlm", 0, {}, "objectives: word_ot needs parallel text"),
        ("mlm", 0, {"texts": ()}, "objectives: mlm needs text; set `text`"),
        ("static_dcca", 7, {"texts": (), "choose": "mlm"}, "choose: mlm needs held-out monolingual text"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(train, static, tmp_path, recipe, dim, changes, message):
    with pytest.raises(ConfigError, match=message):
        train(recipe, tmp_path / "run", static(dim) if dim else None, **changes)
    assert not (tmp_path / "run").exists()


def test_components_have_a_bound(train, static, tmp_path):
    with pytest.raises(ConfigError, match=r"static_dcca.components: must be at most 7"):
        train({"mlm": 1, "static_dcca": {"components": 8}}, tmp_path, static(7))


def test_an_encoder_without_a_head_learns_one(train, headless_folder, tmp_path, lines):
    """With all else frozen, sentences keep their vectors, and what is saved can be trained as any masked model."""
    made = train("mlm", tmp_path / "run", start=headless_folder, new_head=True, freeze="embeddings,1-3", steps=20)
    before = made.encoder.sentences(lines[0][:5])
    trained = made.run()
    assert trained.after["mlm"] < 0.9 * trained.before["mlm"]
    made.encoder.model.save(tmp_path / "headed")
    again = train("mlm", tmp_path / "again", start=tmp_path / "headed", steps=1)
    np.testing.assert_allclose(again.encoder.sentences(lines[0][:5]), before, atol=1e-6)
    for name, one in made.network.head.state_dict().items():
        assert torch.equal(again.network.head.state_dict()[name], one), name
