"""Objectives by transport: one transport a sentence pair or a batch, and the masses of words."""

from __future__ import annotations

import math

import pytest

from isoglot.errors import ConfigError
from isoglot.finetuning import EncodedBatch, PairBatch, Side, SubwordOT, TransportSettings, WordOT, sinkhorn_divergence
from isoglot.finetuning.transport.gromov import gromov_divergence

torch = pytest.importorskip("torch")


def sentences(*lengths, seed):
    """One sentence a length, of random words."""
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(n, 5, generator=random, dtype=torch.float64) for n in lengths]


def run(xs, ys, weights=None, structure=0.0, **options):
    """Values, and the gradient of their sum with respect to the source words, of sentences of any lengths."""
    pad = torch.nn.utils.rnn.pad_sequence
    X, Y = pad(xs, batch_first=True).requires_grad_(), pad(ys, batch_first=True)
    masks = [pad([torch.ones(len(s), dtype=torch.bool) for s in side], batch_first=True) for side in (xs, ys)]
    both = None if weights is None else (pad(weights[0], batch_first=True), pad(weights[1], batch_first=True))
    settings = TransportSettings(**options)
    if structure:
        values = gromov_divergence(X, Y, *masks, settings, structure=structure, weights=both)
    else:
        values = sinkhorn_divergence(X, Y, *masks, settings, weights=both)
    values.sum().backward()
    return values.detach(), X.grad[masks[0]]


@pytest.fixture(scope="module")
def batch():
    """Three pairs of 4, 2 and 3 words to 3, 3 and no words, between special tokens."""
    sides, hidden = [], []
    for seed, counts in ((0, [4, 2, 3]), (1, [3, 3, 0])):
        words = torch.full((3, 6), -1)
        for row, count in enumerate(counts):
            words[row, 1 : count + 1] = torch.arange(count)
        idf = 1 + torch.rand(3, max(counts), generator=torch.Generator().manual_seed(seed))
        sides.append(Side(torch.zeros_like(words), torch.ones_like(words).bool(), words, torch.tensor(counts), idf))
        hidden.append(torch.stack(sentences(6, 6, 6, seed=seed)).requires_grad_())
    return EncodedBatch(PairBatch("aa-bb", *sides), *hidden)


def words_of(batch, side):
    hidden, own = (batch.src, batch.pair.src) if side == "src" else (batch.tgt, batch.pair.tgt)
    return [row[words >= 0].detach() for row, words in zip(hidden, own.words, strict=True)]


@pytest.mark.parametrize("objective", [WordOT, SubwordOT])
def test_each_pair_has_a_transport_of_its_own(objective, batch):
    xs, ys = words_of(batch, "src")[:2], words_of(batch, "tgt")[:2]
    for options in ({}, {"cost": "cosine", "blur": 0.2, "scaling": 0.7, "reach": 2.0, "iterations": 3}):
        expected = run(xs, ys, **options)[0].mean().item()
        assert objective(**options).loss(batch).item() == pytest.approx(expected, rel=1e-9)
    expected = run(xs, ys, structure=0.4, cost="cosine")[0].mean().item()
    assert objective(structure=0.4, cost="cosine").loss(batch).item() == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    ("mass", "variant"), [("uniform", {}), ("norm", {"reach": 2.0}), ("tfidf", {"structure": 0.5})]
)
def test_a_batch_can_be_one_transport(mass, variant, batch):
    """All words flattened; those of the pair that lacks a side go nowhere."""
    xs, ys = words_of(batch, "src")[:2], words_of(batch, "tgt")[:2]
    weights = None
    if mass == "norm":
        weights = [[torch.cat([s.norm(dim=1) for s in side])] for side in (xs, ys)]
    elif mass == "tfidf":
        weights = [
            [torch.cat([own.idf[row, : own.counts[row]] for row in (0, 1)])] for own in (batch.pair.src, batch.pair.tgt)
        ]
    values, dX = run([torch.cat(xs)], [torch.cat(ys)], weights, **variant)
    one = WordOT(span="batch", mass=mass, **variant)
    total, count = one.total(batch)
    assert count == 1
    assert total.item() == pytest.approx(values.item(), rel=1e-6)
    (gradient,) = torch.autograd.grad(one.loss(batch), batch.src)
    torch.testing.assert_close(gradient[batch.pair.src.words >= 0][:6], dX, rtol=1e-4, atol=1e-6)
    assert not gradient[2].any()
    assert total.item() != pytest.approx(WordOT(mass=mass, **variant).loss(batch).item(), rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"span": "page"}, "word_ot: span: unknown span 'page'; choose one of: sentence, batch"),
        ({"mass": "tf-idf"}, "word_ot: mass: unknown mass 'tf-idf'; did you mean 'tfidf'?"),
        ({"reach": 0.0}, "word_ot: reach must be above 0, got 0.0"),
        ({"blur": math.nan}, "word_ot: blur must be above 0 and finite, got nan"),
        ({"scaling": 1.0}, "word_ot: scaling must be above 0 and below 1, got 1.0"),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong, complaint):
    with pytest.raises(ConfigError) as raised:
        WordOT(**wrong)
    assert complaint in str(raised.value)


def test_tokens_have_no_inverse_frequencies():
    with pytest.raises(ConfigError, match="subword_ot: mass: unknown mass 'tfidf'"):
        SubwordOT(mass="tfidf")
