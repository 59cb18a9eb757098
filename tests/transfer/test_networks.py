"""Networks of heads against independent computations: the field by enumeration, batches against single sentences."""

from __future__ import annotations

import itertools

import pytest
import torch

from isoglot.transfer.networks import BilstmCrf, PairClassifier, SpanReader, Standardise, WordTagger

LABELS = 3


@pytest.fixture
def sample():
    torch.manual_seed(0)
    return torch.randn(50, 6) * 3 + 1


@pytest.fixture
def tagger(sample):
    return BilstmCrf(sample, LABELS, hidden=5, layers=2, dropout=0.5).eval()


def sequence_score(crf, scores, labels):
    """By definition: the scores of labels and of what follows what."""
    total = crf.start_transitions[labels[0]] + crf.end_transitions[labels[-1]]
    total = total + sum(scores[place, label] for place, label in enumerate(labels))
    return total + sum(crf.transitions[a, b] for a, b in itertools.pairwise(labels))


@pytest.mark.parametrize("lengths", [(4,), (1,), (3, 1, 4)])
def test_crf_agrees_with_enumeration(tagger, lengths):
    torch.manual_seed(1)
    for weights in tagger.crf.parameters():
        torch.nn.init.normal_(weights)
    words = torch.randn(sum(lengths), 6)
    labels = torch.randint(LABELS, (sum(lengths),))
    scores, mask = tagger(words, lengths)
    assert mask.sum(1).tolist() == list(lengths)
    likelihood, begin = torch.zeros(()), 0
    for row, length in enumerate(lengths):
        every = list(itertools.product(range(LABELS), repeat=length))
        each = torch.stack([sequence_score(tagger.crf, scores[row], one) for one in every])
        gold = sequence_score(tagger.crf, scores[row], labels[begin : begin + length].tolist())
        likelihood = likelihood + gold - each.logsumexp(0)
        assert tagger.decode(words, lengths)[row] == list(every[int(each.argmax())])
        begin += length
    assert tagger.loss(words, lengths, labels).item() == pytest.approx(-likelihood.item() / sum(lengths), rel=1e-4)


def test_sentences_do_not_depend_on_what_they_are_batched_with(tagger, sample):
    reader = SpanReader(sample, hidden=5, dropout=0.5).eval()
    words, lengths = torch.randn(9, 6), (2, 4, 3)
    asked, asked_lengths = torch.randn(6, 6), (3, 1, 2)
    together, _ = tagger(words, lengths)
    both = reader(words, lengths, asked, asked_lengths)
    parts = zip(words.split(lengths), asked.split(asked_lengths), strict=True)
    for row, (alone, question) in enumerate(parts):
        length = lengths[row]
        torch.testing.assert_close(together[row, :length], tagger(alone, [length])[0][0], rtol=1e-4, atol=1e-5)
        one = reader(alone, [length], question, [len(question)])[0]
        torch.testing.assert_close(both[row, :length], one, rtol=1e-4, atol=1e-5)
        assert both[row, length:].eq(-torch.inf).all()


def test_training_vectors_are_standardised_and_others_by_the_same_figures(sample):
    sample[:, 2] = 7.0  # a dimension that says nothing
    standard = Standardise(sample)
    found = standard(sample)
    torch.testing.assert_close(found.mean(0), torch.zeros(6), rtol=0, atol=1e-5)
    torch.testing.assert_close(found.var(0, correction=0), torch.tensor([1.0, 1, 0, 1, 1, 1]), rtol=0, atol=1e-4)
    assert (standard(sample + 10) - found)[:, 0].min() > 1


def test_a_linear_head_is_linear(sample):
    tagger = WordTagger(sample, LABELS, hidden=0, dropout=0.0).eval()
    assert sum(one.numel() for one in tagger.parameters()) == LABELS * 6 + LABELS


def test_pairs_are_seen_by_both_sentences_their_distance_and_product(sample):
    network = PairClassifier(sample, 2, hidden=0, dropout=0.0).eval()
    u, v = network.standardise(sample[:4]), network.standardise(sample[4:8])
    weights, bias = network.scores[1].weight, network.scores[1].bias
    expected = torch.cat([u, v, (u - v).abs(), u * v], 1) @ weights.T + bias
    torch.testing.assert_close(network(sample[:4], sample[4:8]), expected)
