"""The static side against torch's own gradient and SparseAdam, and what is drawn against what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from isoglot.distill import DistillSettings
from isoglot.distill.shards import Shard
from isoglot.distill.x2static import (
    Examples,
    SparseAdam,
    X2Static,
    contexts_of,
    draw_examples,
    keep_probabilities,
    train_examples,
)
from isoglot.wordvectors.steps import alias_table

DIM = 12


def made_up(targets=200, words=15, negatives=4, batches=20, scale=1.0, seed=0):
    """Few words, so that a batch touches a row several times and most rows rest in some batches."""
    random = np.random.default_rng(seed)
    return Examples(
        (scale * random.standard_normal((targets, DIM))).astype(np.float32),
        random.integers(words, size=(targets, 1 + negatives)).astype(np.int32),
        np.sort(np.concatenate([np.arange(batches), random.integers(batches, size=targets - batches)])),
    )


def by_torch(start, examples, settings):
    """The same with autograd, batch after batch; the loss is the mean over targets, summed over their negatives."""
    table = torch.nn.Embedding.from_pretrained(torch.from_numpy(start.copy()), freeze=False, sparse=True)
    optimiser = torch.optim.SparseAdam(table.parameters(), lr=settings.rate)
    losses = []
    for step in range(examples.steps[-1] + 1):
        own = examples.steps == step
        rows = table(torch.from_numpy(examples.words[own]).long())
        scores = (rows * torch.from_numpy(examples.contexts[own])[:, None]).sum(-1)
        scores = scores.clamp(-settings.clamp, settings.clamp)
        signs = torch.tensor([-1.0] + [1.0] * (scores.shape[1] - 1))
        loss = torch.log(1 + torch.exp(signs * scores)).mean(0).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()) * int(own.sum()))
    return table.weight.detach().numpy(), optimiser.state[table.weight], sum(losses) / len(examples)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("scale", "clamp"), [(1.0, 20.0), (8.0, 2.0)])
def test_steps_are_those_of_torch(threads, scale, clamp):
    """Also where scores leave the clamp and teach nothing, and a touched row still goes on by its average."""
    settings = DistillSettings(rate=0.05, clamp=clamp)
    adam = SparseAdam.start(15, DIM, seed=1)
    examples = made_up(scale=scale)
    vectors, state, loss = by_torch(adam.vectors, examples, settings)
    found = train_examples(adam, examples, settings, threads=threads)
    np.testing.assert_allclose(adam.vectors, vectors, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(adam.means, state["exp_avg"].numpy(), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(adam.squares, state["exp_avg_sq"].numpy(), rtol=1e-3, atol=1e-8)
    assert found == pytest.approx(loss, rel=1e-4)
    assert adam.steps == 20


def test_a_second_shard_goes_on_with_the_count_of_steps():
    """Adam's corrections depend on how many batches there were before."""
    settings = DistillSettings(rate=0.05)
    parts = [made_up(seed=seed) for seed in (1, 2)]
    whole = Examples(
        np.concatenate([part.contexts for part in parts]),
        np.concatenate([part.words for part in parts]),
        np.concatenate([parts[0].steps, parts[1].steps + 20]),
    )
    one, two = (SparseAdam.start(15, DIM, seed=1) for _ in range(2))
    train_examples(one, whole, settings)
    for part in parts:
        train_examples(two, part, settings)
    np.testing.assert_array_equal(one.vectors, two.vectors)


def test_one_step_worked_by_hand():
    """One target, one negative: Adam's first step goes the full rate against the gradient's sign."""
    adam = SparseAdam.start(3, DIM, seed=0)
    before = adam.vectors.copy()
    context = np.linspace(-1, 1, DIM, dtype=np.float32)[None]
    examples = Examples(context, np.array([[0, 2]], dtype=np.int32), np.array([0]))
    loss = train_examples(adam, examples, DistillSettings(rate=0.01, negatives=1))
    scores = before @ context[0]
    assert loss == pytest.approx(np.log1p(np.exp(-scores[0])) + np.log1p(np.exp(scores[2])), rel=1e-5)
    np.testing.assert_allclose(adam.vectors[0] - before[0], 0.01 * np.sign(context[0]), rtol=1e-3)
    np.testing.assert_allclose(adam.vectors[2] - before[2], -0.01 * np.sign(context[0]), rtol=1e-3)
    np.testing.assert_array_equal(adam.vectors[1], before[1])
    np.testing.assert_allclose(adam.means[0], 0.1 * -context[0] / (1 + np.exp(scores[0])), rtol=1e-3)


def test_contexts_are_means_without_the_target():
    random = np.random.default_rng(0)
    vectors = random.standard_normal((9, DIM)).astype(np.float32)
    groups = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2])
    targets = np.array([0, 3, 5, 7])
    for leave_out in (True, False):
        found = contexts_of(vectors, groups, targets, leave_out=leave_out)
        for row, target in zip(found, targets, strict=True):
            others = [i for i in range(9) if groups[i] == groups[target] and not (leave_out and i == target)]
            np.testing.assert_allclose(row, vectors[others].mean(axis=0), atol=1e-6)


def shard_of(rows, per_sentence=8, per_unit=1):
    of_sentence = np.arange(len(rows)) // per_sentence
    sentences = [[f"w{row}" for row in rows[i : i + per_sentence]] for i in range(0, len(rows), per_sentence)]
    return Shard(sentences, np.asarray(rows, dtype=np.int32), of_sentence, of_sentence // per_unit)


def drawn(shard, counts, settings, keep=None, seed=0):
    counts = np.asarray(counts)
    keep = keep_probabilities(counts, settings.sample) if keep is None else keep
    vectors = np.random.default_rng(9).standard_normal((len(shard.rows), DIM)).astype(np.float32)
    table = alias_table(counts.astype(np.float64) ** settings.power)
    return draw_examples(shard, vectors, keep, table, settings, np.random.default_rng(seed)), vectors


def test_negatives_are_drawn_by_the_roots_of_counts():
    counts = np.array([400, 100, 25, 9, 4, 1])
    examples, _ = drawn(shard_of(np.arange(16_000) % 6), counts, DistillSettings(sample=1.0))
    found = np.bincount(examples.words[:, 1:].ravel(), minlength=6)
    expected = found.sum() * np.sqrt(counts) / np.sqrt(counts).sum()
    assert stats.chisquare(found, expected).pvalue > 1e-3


def test_targets_are_thinned_out_as_asked():
    rows = np.random.default_rng(1).choice(3, p=[0.9, 0.09, 0.01], size=80_000)
    counts = np.bincount(rows)
    settings = DistillSettings(sample=1e-3)
    keep = keep_probabilities(counts, settings.sample)
    share = counts / counts.sum()
    np.testing.assert_allclose(keep, np.minimum(1, np.sqrt(1e-3 / share) + 1e-3 / share))
    examples, _ = drawn(shard_of(rows), counts, settings)
    found = np.bincount(examples.words[:, 0], minlength=3)
    spread = np.sqrt(counts * keep * (1 - keep))
    assert (np.abs(found - counts * keep) <= 4 * spread + 1e-9).all()


@pytest.mark.parametrize("context", ["sentence", "paragraph"])
@pytest.mark.parametrize("leave_out", [True, False])
def test_every_target_meets_its_own_context(context, leave_out):
    """All words kept and all distinct, so that a target tells where it stood; two sentences make a paragraph."""
    settings = DistillSettings(sample=1e9, context=context, leave_out=leave_out, batch=3)
    shard = shard_of(np.arange(160), per_unit=2)
    examples, vectors = drawn(shard, np.ones(160, dtype=np.int64), settings)
    places = examples.words[:, 0]
    assert sorted(places) == list(range(160))
    groups = shard.of_unit if context == "paragraph" else shard.of_sentence
    np.testing.assert_array_equal(examples.contexts, contexts_of(vectors, groups, places, leave_out=leave_out))
    # Ten paragraphs in batches of three, each in one batch.
    assert np.bincount(examples.steps).tolist() == [48, 48, 48, 16]
    assert all(len(np.unique(examples.steps[shard.of_unit[places] == unit])) == 1 for unit in range(10))


def test_words_outside_the_vocabulary_are_context_and_no_targets():
    rows = np.arange(24)
    rows[5] = -1
    examples, vectors = drawn(shard_of(rows), np.ones(24, dtype=np.int64), DistillSettings(sample=1e9))
    assert len(examples) == 23
    assert 5 not in examples.words[:, 0]
    own = examples.contexts[examples.words[:, 0].tolist().index(4)]
    np.testing.assert_allclose(own, vectors[[0, 1, 2, 3, 5, 6, 7]].mean(axis=0), atol=1e-6)


def test_a_word_alone_has_no_context_to_be_predicted_from():
    examples, _ = drawn(shard_of([0, 1, 2], per_sentence=2), np.ones(3, dtype=np.int64), DistillSettings(sample=1e9))
    assert sorted(examples.words[:, 0]) == [0, 1]
    kept, _ = drawn(
        shard_of([0, 1, 2], per_sentence=2), np.ones(3, dtype=np.int64), DistillSettings(sample=1e9, leave_out=False)
    )
    assert sorted(kept.words[:, 0]) == [0, 1, 2]


def test_a_shard_without_targets_changes_nothing():
    learner = X2Static(np.array([5, 5]), DIM, DistillSettings(), threads=1)
    before = learner.vectors().copy()
    shard = shard_of([-1] * 16)
    learner.learn(shard, np.ones((16, DIM), dtype=np.float32), np.random.default_rng(0))
    np.testing.assert_array_equal(learner.vectors(), before)
    assert learner.facts == {"targets": 0, "steps": 0, "losses": []}


def test_repeats_draw_again_and_go_on():
    rows = np.random.default_rng(1).integers(30, size=400)
    vectors = np.random.default_rng(2).standard_normal((400, DIM)).astype(np.float32)
    counts, settings = np.bincount(rows, minlength=30), DistillSettings(sample=1e-1, repeats=3)
    repeated = X2Static(counts, DIM, settings, threads=1)
    repeated.learn(shard_of(rows), vectors, np.random.default_rng(0))
    again = X2Static(counts, DIM, DistillSettings(sample=1e-1), threads=1)
    random = np.random.default_rng(0)
    for _ in range(3):
        again.learn(shard_of(rows), vectors, random)
    np.testing.assert_array_equal(repeated.vectors(), again.vectors())
    assert repeated.facts == again.facts
    assert len(set(repeated.facts["losses"])) == 3  # other words are drawn


def test_the_number_of_threads_changes_nothing():
    rows = np.random.default_rng(1).integers(300, size=4000)
    vectors = np.random.default_rng(2).standard_normal((4000, DIM)).astype(np.float32)
    found = []
    for threads in (1, 2, 4):
        learner = X2Static(np.bincount(rows, minlength=300), DIM, DistillSettings(sample=1e-2), threads)
        learner.learn(shard_of(rows), vectors, np.random.default_rng(0))
        found.append(learner.vectors())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_start_is_small_and_even():
    start = SparseAdam.start(2000, 50, seed=3).vectors
    assert np.abs(start).max() <= 1 / 50
    assert stats.kstest(start.ravel() * 50, stats.uniform(-1, 2).cdf).pvalue > 1e-3
