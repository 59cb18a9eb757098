"""What every objective of the table must keep, whatever it asks for."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, InputError
from isoglot.finetuning import (
    PRESETS,
    EncodedBatch,
    PairBatch,
    Predictions,
    Side,
    objective,
    objectives,
    parse_recipe,
    preset,
)
from isoglot.finetuning.batches import WordBatch

torch = pytest.importorskip("torch")

NAMES = list(objectives())
#: Other settings than the defaults that take another way through the code.
FURTHER = [
    ("word_ot", {"pooling": "mean", "mass": "norm", "cost": "cosine"}),
    ("word_ot", {"mass": "tfidf", "reach": 2.0, "debias": False}),
    ("subword_ot", {"cost": "euclidean", "iterations": 3, "mass": "norm"}),
    ("word_ot", {"structure": 0.5}),
    ("word_ot", {"span": "batch", "mass": "tfidf"}),
    ("subword_ot", {"span": "batch", "cost": "euclidean"}),
    ("l2", {"pooling": "first"}),
    ("l2", {"reduction": "sum"}),
    ("anchor", {"reduction": "sum"}),
    ("contrastive", {"variant": "weak", "pooling": "mean"}),
    ("teacher", {"keep": 0.0}),
    ("static_dcca", {"components": 2, "regulariser": 0.5}),
]
ALL = [(name, {}) for name in NAMES] + FURTHER
#: Each item is compared with the others of its batch, so a part of a batch has other losses.
COMPARING = {"contrastive", "sentence_contrastive"}
#: The whole batch is one item.
WHOLE = {"static_dcca"}
#: 0 if both sides, and the start, are the same.
ZERO = {"word_ot", "subword_ot", "l2", "anchor", "teacher"}
WIDTH, VOCABULARY = 4, 7


@dataclasses.dataclass
class Sentence:
    """Tokens of a sentence on one side: number of its word and states of each."""

    words: list[int]
    hidden: torch.Tensor
    start: torch.Tensor
    logits: torch.Tensor
    labels: torch.Tensor
    idf: torch.Tensor


def sentence(pieces, random):
    """A sentence of words of so many tokens each, with special tokens around."""
    words = [-1, *(number for number, count in enumerate(pieces) for _ in range(count)), -1]

    def draw(*shape):
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    labels = torch.randint(VOCABULARY, (len(words),), generator=random)
    labels[torch.rand(len(words), generator=random) < 0.5] = -100
    size = len(words)
    return Sentence(
        words, draw(size, WIDTH), draw(size, WIDTH), draw(size, VOCABULARY), labels, draw(len(pieces)).abs()
    )


@st.composite
def parallels(draw):
    """Sentence pairs with links, at least one of which has words on both sides."""
    pieces = st.lists(st.integers(1, 3), max_size=5)
    filled = st.lists(st.integers(1, 3), min_size=1, max_size=5)
    shapes = [draw(st.tuples(filled, filled)), *draw(st.lists(st.tuples(pieces, pieces), max_size=4))]
    random = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    pairs = []
    for src, tgt in draw(st.permutations(shapes)):
        most = min(len(src), len(tgt))
        links = list(zip(torch.randperm(len(src), generator=random)[:most].tolist(), range(most), strict=True))
        pairs.append((sentence(src, random), sentence(tgt, random), links))
    return pairs


def assemble(pairs, more=0, junk=0.0, same=False):
    """The batch of these pairs, with so much extra padding, which holds junk."""
    sides, hidden, extra = [], [], {}
    for which in (0, 1):
        own = [pair[which] for pair in pairs]
        shape = len(own), max(len(one.words) for one in own) + more
        words, mask = torch.full(shape, -1), torch.zeros(shape, dtype=torch.bool)
        counts = torch.tensor([max(one.words) + 1 for one in own])
        idf = torch.zeros(len(own), int(counts.max()), dtype=torch.float64)
        states = {name: torch.full((*shape, WIDTH), junk, dtype=torch.float64) for name in ("hidden", "start")}
        states["logits"] = torch.full((*shape, VOCABULARY), 5.0, dtype=torch.float64)
        labels = torch.full(shape, -100)
        for row, one in enumerate(own):
            size = len(one.words)
            words[row, :size], mask[row, :size], labels[row, :size] = torch.tensor(one.words), True, one.labels
            idf[row, : len(one.idf)] = one.idf
            for name in states:
                states[name][row, :size] = getattr(one, name)
        sides.append(Side(torch.zeros_like(words), mask, words, counts, idf))
        hidden.append(states["hidden"].requires_grad_())
        extra = {"start": states["hidden"].detach() if same else states["start"].requires_grad_()}
        extra["masked"] = Predictions(states["logits"].requires_grad_(), labels)
    found = [(row, i, j) for row, (_, _, links) in enumerate(pairs) for i, j in links]
    links = tuple(torch.tensor([link[k] for link in found], dtype=torch.long) for k in range(3))
    masked = dict.fromkeys(("mlm", "tlm"), extra["masked"])
    # A teacher's vectors: the means of the target's states, as the student has them or from before training.
    own = [pair[1].hidden if same else pair[1].start for pair in pairs]
    teacher = torch.stack([states.mean(0) for states in own])
    return EncodedBatch(PairBatch("aa-bb", *sides, links, teacher), *hidden, extra["start"], masked)


def batch_of(one, pairs, more=0, junk=0.0, same=False):
    """The batch of these pairs that the objective takes: if it wants static vectors, the source's words and some."""
    whole = assemble(pairs, more, junk, same)
    if "static" not in one.needs:
        return whole
    vectors = torch.stack([tgt.start.mean(0) for _, tgt, _ in pairs])
    return EncodedBatch(WordBatch(whole.pair.src, vectors), alone=whole.src)


def leaves(batch):
    """What a loss may have a gradient with respect to, and where."""
    if batch.alone is not None:
        return [batch.alone], [batch.batch.side.words >= 0]
    predicted = batch.masked["mlm"]
    states = [batch.src, batch.tgt, predicted.logits]
    return states, [batch.pair.src.mask, batch.pair.tgt.mask, predicted.labels != -100]


def gradients(one, batch):
    """The loss and its gradients with respect to the source and target states and the predictions."""
    loss = one.loss(batch)
    states, _ = leaves(batch)
    found = torch.autograd.grad(loss, states, allow_unused=True)
    return loss.detach(), [torch.zeros_like(x) if g is None else g for x, g in zip(states, found, strict=True)]


each = pytest.mark.parametrize(
    "one", [pytest.param(objective(*one), id="-".join([one[0], *map(str, one[1].values())])) for one in ALL]
)


@each
@given(pairs=parallels())
@settings(deadline=None, max_examples=12)
def test_a_loss_is_one_number_with_gradients(one, pairs):
    batch = batch_of(one, pairs)
    loss = one.loss(batch)
    assert loss.shape == ()
    assert loss.isfinite()
    assert loss.requires_grad
    value, found = gradients(one, batch)
    assert value == loss  # again, the same
    assert all(g.isfinite().all() for g in found)
    assert value > -1e-9


@each
@given(pairs=parallels(), more=st.integers(0, 4))
@settings(deadline=None, max_examples=12)
def test_padding_changes_nothing_and_gets_no_gradient(one, pairs, more):
    value, found = gradients(one, batch_of(one, pairs))
    batch = batch_of(one, pairs, more, math.nan)
    padded, wider = gradients(one, batch)
    assert torch.allclose(padded, value, rtol=1e-9, atol=1e-12)
    for narrow, wide, mask in zip(found, wider, leaves(batch)[1], strict=True):
        assert (wide[~mask] == 0).all()
        assert torch.allclose(wide[:, : narrow.shape[1]], narrow, atol=1e-9)


@each
@given(pairs=parallels(), data=st.data())
@settings(deadline=None, max_examples=12)
def test_the_order_of_sentences_does_not_matter(one, pairs, data):
    order = data.draw(st.permutations(range(len(pairs))))
    value, found = gradients(one, batch_of(one, pairs))
    other, turned = gradients(one, batch_of(one, [pairs[k] for k in order]))
    assert torch.allclose(other, value, rtol=1e-9, atol=1e-12)
    for a, b in zip(found, turned, strict=True):
        assert torch.allclose(a[order], b, atol=1e-9)


@each
@given(pairs=parallels(), cut=st.integers(1, 4))
@settings(deadline=None, max_examples=12)
def test_parts_of_a_batch_add_up(one, pairs, cut):
    """So that several processes can get the mean that one would."""
    total, count = one.total(batch_of(one, pairs))
    assert torch.allclose(one.loss(batch_of(one, pairs)), total / max(count, 1))
    summed = getattr(one, "reduction", "mean") == "sum"
    if getattr(one, "span", "sentence") == "batch" or summed or one.objective.name in WHOLE:
        assert count == (1 if total else count)  # nothing to sum is no item
        return
    parts = [one.total(batch_of(one, part)) for part in (pairs[:cut], pairs[cut:]) if part]
    assert sum(n for _, n in parts) == count
    if one.objective.name not in COMPARING:
        assert torch.allclose(sum(value for value, _ in parts), total, rtol=1e-9, atol=1e-12)


@each
@given(pairs=parallels())
@settings(deadline=None, max_examples=12)
def test_the_start_is_left_alone(one, pairs):
    batch = batch_of(one, pairs)
    loss = one.loss(batch)
    if batch.start is not None:
        assert torch.autograd.grad(loss, batch.start, allow_unused=True)[0] is None


@each
@given(pairs=parallels())
@settings(deadline=None, max_examples=12)
def test_nothing_is_left_to_do_where_both_sides_are_the_same(one, pairs):
    twins = [(src, src, [(k, k) for k in range(max(src.words) + 1)]) for src, _, _ in pairs]
    batch = batch_of(one, twins, same=True)
    name = one.objective.name
    value, found = gradients(one, batch)
    if name in ZERO and not (name == "word_ot" and not one.debias):
        assert value == pytest.approx(0, abs=1e-7)  # a distance is the root of rounding errors
        assert all(torch.allclose(g, torch.zeros_like(g), atol=1e-6) for g in found)
    if name in COMPARING:
        # No other word is closer than the own translation.
        assert value <= math.log(max(one.total(batch)[1], 1)) + 1e-9


@each
def test_a_batch_without_words_costs_nothing(one):
    random = torch.Generator().manual_seed(0)
    empty = [(sentence([], random), sentence([], random), []) for _ in range(2)]
    for src, tgt, _ in empty:
        src.labels[:], tgt.labels[:] = -100, -100
    batch = batch_of(one, empty, same=True)
    value, found = gradients(one, batch)
    if one.objective.name == "anchor":
        assert one.total(batch)[1] == (4 if one.reduction == "mean" else 1)  # special tokens are held too
    assert value == 0
    assert all((g == 0).all() for g in found)


@each
def test_a_pair_that_lacks_a_side_counts_nowhere(one):
    random = torch.Generator().manual_seed(0)
    full = [(sentence([1, 2], random), sentence([2], random), [(0, 0)]) for _ in range(3)]
    half = (sentence([2, 1], random), sentence([], random), [])
    if one.needs & {"words", "sentences", "source"}:
        assert torch.allclose(one.loss(batch_of(one, [*full, half])), one.loss(batch_of(one, full)), rtol=1e-9)


@each
def test_what_a_batch_lacks_is_said(one):
    random = torch.Generator().manual_seed(0)
    whole = batch_of(one, [(sentence([1, 2], random), sentence([2], random), [(0, 0)])])
    pair = assemble([(sentence([1, 2], random), sentence([2], random), [])]).pair
    bare = PairBatch("aa-bb", pair.src, pair.tgt)
    with pytest.raises(InputError, match="the batch has no"):
        one.loss(EncodedBatch(bare))
    if "links" in one.needs:
        with pytest.raises(InputError, match="aa-bb: the batch has no links"):
            one.loss(dataclasses.replace(whole, batch=bare))
    if "idf" in one.needs:
        sides = [dataclasses.replace(side, idf=None) for side in (bare.src, bare.tgt)]
        with pytest.raises(InputError, match="inverse document frequencies"):
            one.loss(dataclasses.replace(whole, batch=PairBatch("", *sides)))
    if "start" in one.needs:
        with pytest.raises(InputError, match="start"):
            one.loss(dataclasses.replace(whole, start=None))
    if "teacher" in one.needs:
        with pytest.raises(InputError, match="aa-bb: the batch has no vectors of a teacher"):
            one.loss(dataclasses.replace(whole, batch=bare))
    # What it does not ask for, it does not use.
    kept = {
        "src": bool({"words", "sentences", "source"} & one.needs),
        "tgt": bool({"words", "sentences", "start"} & one.needs),
        "start": "start" in one.needs,
    }
    lean = {field: None for field, needed in kept.items() if not needed}
    assert one.loss(dataclasses.replace(whole, **lean)) == one.loss(whole)


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_checked(name):
    info = objectives()[name].objective
    assert info.name == name
    assert info.summary
    assert info.paper
    assert info.needs
    assert objective(name.replace("_", "-"), {"weight": 2}).weight == 2
    for field in dataclasses.fields(objectives()[name]):
        with pytest.raises(ConfigError, match=field.name):
            objective(name, {field.name: "nonsense"})
        with pytest.raises(ConfigError, match=field.name):
            objective(name, {field.name: -1})
        with pytest.raises(ConfigError, match=f"did you mean '{field.name}'"):
            objective(name, {field.name + "x": 1})
    with pytest.raises(ConfigError, match="weight"):
        objective(name, {"weight": math.nan})


def test_recipes_are_read():
    def read(recipe):
        return [(one.objective.name, one.weight) for one in parse_recipe(recipe)]

    assert read("word_ot + 1.0*anchor") == [("word_ot", 1.0), ("anchor", 1.0)]
    assert read(" 2 * l2+1e+1*anchor + 1e-3*mlm") == [("l2", 2.0), ("anchor", 10.0), ("mlm", 0.001)]
    assert read({"word-ot": {"weight": 0.5}, "anchor": 2}) == [("word_ot", 0.5), ("anchor", 2)]
    assert parse_recipe({"word_ot": {"blur": 0.1}})[0].blur == 0.1
    assert {name: [one.objective.name for one in preset(name)] for name in PRESETS} == {
        "best": ["sentence_contrastive", "anchor"],
        "teach": ["teacher"],
        "wordot": ["word_ot", "anchor"],
        "subot": ["subword_ot", "anchor"],
        "l2": ["l2", "anchor"],
        "mlm": ["mlm"],
        "mini-mlm": ["mlm"],
        "language-adapter": ["mlm"],
        "static-dcca": ["mlm", "static_dcca"],
        "static-mse": ["mlm", "static_mse"],
    }
    assert all(one.weight == 1 for name in PRESETS if name != "best" for one in preset(name))


@pytest.mark.parametrize(
    ("recipe", "complaint"),
    [
        ("word_to", "unknown objective 'word_to'; did you mean 'word_ot'"),
        ("word_ot + ", "cannot read ''"),
        ("", "cannot read ''"),
        ("x*l2", "cannot read 'x[*]l2'"),
        ("l2 anchor", "cannot read 'l2 anchor'"),
        ("l2 - anchor", "cannot read 'l2 - anchor'"),
        ("-1*l2", "weight"),
        ("inf*l2", "weight"),
        ("l2 + 2*l2", "more than once"),
        ({}, "no objectives given"),
        ({"l2": "much"}, "l2: weight takes a number"),
        ({"l2": {"poling": "last"}}, "did you mean 'pooling'"),
    ],
)
def test_recipes_that_cannot_be_read(recipe, complaint):
    with pytest.raises(ConfigError, match=complaint):
        parse_recipe(recipe)


def test_unknown_presets_are_refused():
    with pytest.raises(ConfigError, match="unknown preset 'wordott'; did you mean 'wordot'"):
        preset("wordott")


def test_the_table_is_there_without_torch():
    code = "import sys, isoglot.finetuning as o; o.preset('wordot'); print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
