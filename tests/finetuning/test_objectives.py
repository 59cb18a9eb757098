"""Each objective against a computation of its own: loops, geomloss, torch's cross entropy; and a few steps of Adam."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from scipy.special import logsumexp

from isoglot.encoders import quiet
from isoglot.errors import InputError
from isoglot.finetuning import (
    L2,
    MLM,
    TLM,
    Anchor,
    Contrastive,
    EncodedBatch,
    Predictions,
    SentenceContrastive,
    SubwordOT,
    Vocabulary,
    WordOT,
    inverse_frequencies,
    join_sides,
    make_pair,
    mask_tokens,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def tokenizer(tiny):
    return tiny.model.tokenizer


@pytest.fixture(scope="module")
def start(tiny_folder):
    with quiet():
        return transformers.AutoModel.from_pretrained(tiny_folder).eval()


@pytest.fixture(scope="module")
def pair(parallel, tokenizer):
    src, tgt = [list(words) for words in parallel.src[:40]], [list(words) for words in parallel.tgt[:40]]
    idf = inverse_frequencies(src), inverse_frequencies(tgt)
    return make_pair(tokenizer, src, tgt, 96, pair="north-south", links=parallel.links[:40], idf=idf)


def states(model, side):
    return model(input_ids=side.ids, attention_mask=side.mask.long()).last_hidden_state


@pytest.fixture(scope="module")
def batch(pair, start):
    """The pair as the encoder has it, in double precision; the start is another one."""
    with torch.no_grad():
        src, tgt = states(start, pair.src).double(), states(start, pair.tgt).double()
    moved = tgt + torch.randn(tgt.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return EncodedBatch(pair, src, tgt, moved)


def words_of(hidden, side, row, pooling="last"):
    """Vectors of the words of a sentence, picked one after the other."""
    picked = []
    for word in range(int(side.counts[row])):
        own = hidden[row][side.words[row] == word]
        picked.append({"first": own[0], "last": own[-1], "mean": own.mean(0)}[pooling])
    return torch.stack(picked)


def by_geomloss(xs, ys, weights=None, **options):
    geomloss = pytest.importorskip("geomloss")
    values = []
    for row, (x, y) in enumerate(zip(xs, ys, strict=True)):
        everything = torch.cat([x, y])
        diameter = float(torch.cdist(everything, everything).max())
        loss = geomloss.SamplesLoss("sinkhorn", backend="tensorized", diameter=diameter, **options)
        values.append(loss(x, y) if weights is None else loss(weights[0][row], x, weights[1][row], y))
    return torch.stack(values).mean()


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {"p": 2, "blur": 0.05, "scaling": 0.5, "debias": True}),
        ({"pooling": "mean"}, {}),
        ({"pooling": "first", "blur": 0.3}, {"blur": 0.3}),
        ({"cost": "euclidean", "debias": False}, {"p": 1, "debias": False}),
        ({"reach": 3.0}, {"reach": 3.0}),
    ],
)
def test_word_ot_is_that_of_geomloss(settings, options, batch, pair):
    pooling = settings.get("pooling", "last")
    xs = [words_of(batch.src, pair.src, row, pooling) for row in range(len(pair))]
    ys = [words_of(batch.tgt, pair.tgt, row, pooling) for row in range(len(pair))]
    assert WordOT(**settings).loss(batch).item() == pytest.approx(by_geomloss(xs, ys, **options).item(), rel=1e-8)


@pytest.mark.parametrize("mass", ["norm", "tfidf"])
def test_words_can_have_weights(mass, batch, pair, parallel):
    xs = [words_of(batch.src, pair.src, row) for row in range(len(pair))]
    ys = [words_of(batch.tgt, pair.tgt, row) for row in range(len(pair))]
    weights = []
    for vectors, text in ((xs, parallel.src[:40]), (ys, parallel.tgt[:40])):
        idf = inverse_frequencies(text)
        own = []
        for x, words in zip(vectors, text, strict=True):
            value = x.norm(dim=1) if mass == "norm" else torch.tensor([idf[word] for word in words]).double()
            own.append(value / value.sum())
        weights.append(own)
    found = WordOT(mass=mass).loss(batch).item()
    # Frequencies are kept in single precision; vectors that left a layer norm are almost of the same length.
    assert found == pytest.approx(by_geomloss(xs, ys, weights).item(), rel={"norm": 1e-8, "tfidf": 1e-5}[mass])
    assert found != pytest.approx(WordOT().loss(batch).item(), rel={"norm": 1e-5, "tfidf": 1e-3}[mass])


def test_subword_ot_carries_all_tokens_but_special_ones(batch, pair):
    xs = [hidden[own >= 0] for hidden, own in zip(batch.src, pair.src.words, strict=True)]
    ys = [hidden[own >= 0] for hidden, own in zip(batch.tgt, pair.tgt.words, strict=True)]
    assert sum(map(len, xs)) > int(pair.src.counts.sum())  # some words are more than one token
    assert SubwordOT().loss(batch).item() == pytest.approx(by_geomloss(xs, ys).item(), rel=1e-8)


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_l2_is_the_mean_over_links(pooling, batch, pair):
    distances = []
    for row, i, j in zip(*(one.tolist() for one in pair.links), strict=True):
        x, y = words_of(batch.src, pair.src, row, pooling)[i], words_of(batch.tgt, pair.tgt, row, pooling)[j]
        distances.append(float(((x - y) ** 2).sum()))
    assert len(distances) > 100
    assert L2(pooling=pooling).loss(batch).item() == pytest.approx(np.mean(distances))


@pytest.mark.parametrize("variant", ["weak", "strong"])
def test_contrastive_is_that_of_a_loop(variant, batch, pair):
    s, t = [], []
    for row, i, j in zip(*(one.tolist() for one in pair.links), strict=True):
        s.append(words_of(batch.src, pair.src, row)[i].numpy())
        t.append(words_of(batch.tgt, pair.tgt, row)[j].numpy())
    s, t = ([x / np.linalg.norm(x) for x in side] for side in (s, t))
    n, losses = len(s), []
    for k in range(n):
        for own, other in ((s, t), (t, s)):
            rivals = [own[k] @ x / 0.2 for x in other]
            if variant == "strong":
                rivals += [own[k] @ own[m] / 0.2 for m in range(n) if m != k]
            losses.append(logsumexp(rivals) - own[k] @ other[k] / 0.2)
    found = Contrastive(variant=variant, temperature=0.2).loss(batch)
    assert found.item() == pytest.approx(np.mean(losses))


def test_sentences_are_told_apart_in_both_directions(batch, pair):
    X, Y = (
        torch.stack([states[mask].mean(0) for states, mask in zip(hidden, side.mask, strict=True)])
        for hidden, side in ((batch.src, pair.src), (batch.tgt, pair.tgt))
    )
    scores = torch.nn.functional.cosine_similarity(X[:, None], Y[None], dim=-1) / 0.07
    own = torch.arange(len(pair))
    there = torch.nn.functional.cross_entropy(scores, own)
    back = torch.nn.functional.cross_entropy(scores.T, own)
    found = SentenceContrastive(temperature=0.07).loss(batch)
    assert found.item() == pytest.approx((there + back).item() / 2)


def test_anchor_is_the_mean_over_tokens(batch, pair):
    drifts = [
        float(((batch.tgt[row, place] - batch.start[row, place]) ** 2).sum())
        for row, place in pair.tgt.mask.nonzero().tolist()
    ]
    assert Anchor().loss(batch).item() == pytest.approx(np.mean(drifts))
    assert Anchor().total(batch)[1] == len(drifts)


def test_guesses_are_judged_alike_in_full_and_in_part(pair):
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 4, 9, generator=random)
    labels = torch.tensor([[-100, 2, -100, 5], [-100] * 4, [8, -100, -100, -100]])
    full = MLM().loss(EncodedBatch(pair, masked={"mlm": Predictions(logits, labels)}))
    chosen = labels != -100
    part = MLM().loss(EncodedBatch(pair, masked={"mlm": Predictions(logits[chosen], labels[chosen])}))
    expected = -np.mean([torch.log_softmax(logits[r, c], 0)[labels[r, c]].item() for r, c in chosen.nonzero().tolist()])
    assert full.item() == pytest.approx(part.item()) == pytest.approx(expected)
    nothing = Predictions(logits[:0, 0].requires_grad_(), labels[:0, 0])
    assert MLM().loss(EncodedBatch(pair, masked={"mlm": nothing})).item() == 0
    with pytest.raises(InputError, match="no predictions for tlm"):
        TLM().loss(EncodedBatch(pair, masked={"mlm": Predictions(logits, labels)}))


def test_masks_fall_as_often_as_they_should(pair, tokenizer):
    vocabulary, share, rounds = Vocabulary.of(tokenizer), 0.15, 150
    assert vocabulary.special == (0, 1, 2, 3, 4)
    side, random = pair.src, torch.Generator().manual_seed(0)
    chosen = masked = kept = 0
    put_in = torch.zeros(vocabulary.size)
    for _ in range(rounds):
        made = mask_tokens(side, vocabulary, share, random)
        guess = made.labels != -100
        assert (side.words[guess] >= 0).all()
        assert (made.labels[guess] == side.ids[guess]).all()
        assert (made.side.ids[~guess] == side.ids[~guess]).all()
        assert made.places.tolist() == guess.flatten().nonzero()[:, 0].tolist()
        shown = made.side.ids[guess]
        other = shown[(shown != side.ids[guess]) & (shown != vocabulary.mask)]
        chosen, masked = chosen + int(guess.sum()), masked + int((shown == vocabulary.mask).sum())
        kept += int((shown == side.ids[guess]).sum())
        put_in += torch.bincount(other, minlength=vocabulary.size)
    tokens = rounds * int((side.words >= 0).sum())
    for count, total, expected in ((chosen, tokens, share), (masked, chosen, 0.8), (kept, chosen, 0.1)):
        spread = math.sqrt(expected * (1 - expected) / total)
        # A token that is replaced may be replaced by itself.
        assert abs(count / total - expected) < 4 * spread + 0.1 / (vocabulary.size - 5)
    assert (put_in[list(vocabulary.special)] == 0).all()
    assert put_in.sum() == chosen - masked - kept
    assert (put_in[5:] > 0).float().mean() > 0.8


def test_masks_follow_the_generator(pair, tokenizer):
    vocabulary = Vocabulary.of(tokenizer)
    first, again, other = (
        MLM(share=0.4).inputs(pair, vocabulary, torch.Generator().manual_seed(seed), 96) for seed in (1, 1, 2)
    )
    assert len(first) == 2
    assert all(torch.equal(a.side.ids, b.side.ids) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0].side.ids, other[0].side.ids)
    with pytest.raises(InputError, match="no mask or padding token"):
        Vocabulary.of(transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer))


def test_joined_pairs_are_what_the_tokenizer_makes_of_them(parallel, pair, tokenizer):
    joined = join_sides(pair.src, pair.tgt, tokenizer.pad_token_id, 96)
    for row in range(len(pair)):
        expected = tokenizer(list(parallel.src[row]), list(parallel.tgt[row]), is_split_into_words=True)["input_ids"]
        assert joined.ids[row][joined.mask[row]].tolist() == expected
        assert joined.mask[row].tolist() == [place < len(expected) for place in range(joined.mask.shape[1])]
        own = [word for word in joined.words[row].tolist() if word >= 0]
        assert sorted(set(own)) == list(range(int(joined.counts[row])))
        assert own == sorted(own)
    assert joined.counts.tolist() == (pair.src.counts + pair.tgt.counts).tolist()
    lengths = joined.mask.sum(1)
    middle = int(lengths.median())
    shorter = join_sides(pair.src, pair.tgt, tokenizer.pad_token_id, middle)
    assert shorter.mask.sum(1).tolist() == lengths[lengths <= middle].tolist()
    assert TLM().inputs(pair, Vocabulary.of(tokenizer), torch.Generator(), 3) == []


def test_a_translation_helps_to_guess(pair, tiny_folder, tokenizer):
    """From the batch to the loss, as a loop will go: only masked tokens pass the head."""
    with quiet():
        model = transformers.BertForMaskedLM.from_pretrained(tiny_folder).eval()
    for one, runs in ((MLM(), 2), (TLM(), 1)):
        inputs = one.inputs(pair, Vocabulary.of(tokenizer), torch.Generator().manual_seed(0), 96)
        assert len(inputs) == runs
        logits = torch.cat([model.cls(states(model.bert, x.side).flatten(0, 1)[x.places]) for x in inputs])
        labels = torch.cat([x.labels.flatten()[x.places] for x in inputs])
        found = EncodedBatch(pair, masked={one.objective.name: Predictions(logits, labels)})
        whole = [model(input_ids=x.side.ids, attention_mask=x.side.mask.long(), labels=x.labels) for x in inputs]
        sizes = [len(x.places) for x in inputs]
        expected = sum(out.loss.item() * size for out, size in zip(whole, sizes, strict=True)) / sum(sizes)
        assert one.loss(found).item() == pytest.approx(expected, rel=1e-4)
        one.loss(found).backward()


def trained(start, pair, one, steps=30):
    """An encoder after some steps of Adam on one batch, and the losses on the way."""
    model = copy.deepcopy(start)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    anchor, losses = Anchor(), []  # with a tenth of its weight all words fall into one point
    with torch.no_grad():
        before = states(start, pair.tgt)
    for _ in range(steps):
        batch = EncodedBatch(pair, states(model, pair.src), states(model, pair.tgt), before)
        loss = one.loss(batch)
        losses.append(loss.item())
        optimiser.zero_grad()
        (loss + anchor.weight * anchor.loss(batch)).backward()
        optimiser.step()
    return model, losses


def closeness(model, pair):
    """Mean distance of linked words, relative to that of any two words; and that of any two target words."""
    with torch.no_grad():
        batch = EncodedBatch(pair, states(model, pair.src), states(model, pair.tgt))
        X, Y = batch.linked_words("last")
        return float((X - Y).norm(dim=1).mean() / torch.cdist(X, Y).mean()), float(torch.cdist(Y, Y).mean())


@pytest.mark.parametrize("one", [L2(), Contrastive(), WordOT(), SubwordOT()], ids=lambda one: one.objective.name)
def test_a_few_steps_bring_translations_closer(one, start, pair, parallel, tokenizer):
    """Where links are given, and where the transport has to find them."""
    model, losses = trained(start, pair, one)
    assert losses[-1] < 0.6 * losses[0]
    new = slice(100, 200)  # sentences that it has not seen
    fresh = make_pair(tokenizer, parallel.src[new], parallel.tgt[new], 96, links=parallel.links[new])
    for own in (pair, fresh):
        (before, spread_before), (after, spread_after) = closeness(start, own), closeness(model, own)
        assert after < 0.92 * before
        assert spread_after > 0.5 * spread_before
