"""The batched Sinkhorn divergence against geomloss pair by pair, against POT, and against itself."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.finetuning.word_clouds import pad, sentences

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.finetuning import TransportSettings, sinkhorn_divergence, transport_plan

torch = pytest.importorskip("torch")

#: Values and gradients agree with geomloss', relative to their size. Potentials of some hundreds are known to 3e-5 in
#: single precision, which at an epsilon of .0025 moves the plan, and with it the gradient, by a percent where words
#: compete; the value hardly feels it.
CLOSE = {torch.float64: (1e-9, 1e-7), torch.float32: (3e-6, 1e-2)}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def divergence(xs, ys, weights=None, **options):
    """Values, and lists of the gradients of their sum with respect to each sentence."""
    (X, x_mask), (Y, y_mask) = pad(xs), pad(ys)
    X.requires_grad_()
    Y.requires_grad_()
    both = None if weights is None else (pad(weights[0])[0], pad(weights[1])[0])
    values = sinkhorn_divergence(X, Y, x_mask, y_mask, TransportSettings(**options), weights=both)
    values.sum().backward()
    return (
        values.detach(),
        [g[m] for g, m in zip(X.grad, x_mask, strict=True)],
        [g[m] for g, m in zip(Y.grad, y_mask, strict=True)],
    )


def by_geomloss(xs, ys, weights=None, own_diameter=False, **options):
    """The same, one pair after the other; with our diameter, unless geomloss shall find its own."""
    geomloss = pytest.importorskip("geomloss")
    values, dX, dY = [], [], []
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
        words = torch.cat([x, y]).detach().double()
        diameter = None if own_diameter else float((words[:, None] - words).norm(dim=-1).max())
        loss = geomloss.SamplesLoss("sinkhorn", backend="tensorized", diameter=diameter, **options)
        value = loss(x, y) if weights is None else loss(weights[0][i], x, weights[1][i], y)
        value.backward()
        values.append(value.detach())
        dX.append(x.grad)
        dY.append(y.grad)
    return torch.stack(values), dX, dY


def assert_agree(ours, theirs, value, gradient):
    torch.testing.assert_close(ours[0], theirs[0], rtol=value, atol=value)
    for one, other in zip(ours[1] + ours[2], theirs[1] + theirs[2], strict=True):
        assert (one - other).norm() <= gradient * other.norm() + 1e-9


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("scaling", [0.5, 0.9])
@pytest.mark.parametrize(("d", "size"), [(3, 1.0), (768, 0.7)])
def test_agrees_with_geomloss(d, size, scaling, dtype):
    xs = sentences(7, 1, 12, 1, 5, d=d, size=size, dtype=dtype)
    ys = sentences(5, 4, 12, 1, 9, d=d, size=size, dtype=dtype, seed=1)
    xs[4][3] = xs[4][1]  # the same word twice, and once more on the other side
    ys[4][2] = xs[4][1]
    ours = divergence(xs, ys, scaling=scaling)
    theirs = by_geomloss(xs, ys, p=2, blur=0.05, scaling=scaling, debias=True)
    assert_agree(ours, theirs, *CLOSE[dtype])


@pytest.mark.parametrize("scaling", [0.5, 0.9])
def test_is_near_geomloss_with_its_own_diameter(scaling):
    """Their box around the words is larger than the largest distance, and so no update is at the same epsilon."""
    xs, ys = sentences(9, 12, d=30), sentences(12, 12, d=30, seed=1)
    values, _, _ = divergence(xs, ys, scaling=scaling)
    theirs, _, _ = by_geomloss(xs, ys, own_diameter=True, p=2, blur=0.05, scaling=scaling)
    torch.testing.assert_close(values, theirs, rtol=0.01 if scaling == 0.5 else 0.001, atol=0)


def test_weights_agree_with_geomloss():
    xs, ys = sentences(6, 3, d=3), sentences(4, 8, d=3, seed=1)
    weights = tuple([torch.softmax(s[:, 0], 0) for s in side] for side in (xs, ys))
    theirs = by_geomloss(xs, ys, weights, p=2, blur=0.05, scaling=0.5)
    assert_agree(divergence(xs, ys, weights), theirs, *CLOSE[torch.float64])
    tenfold = tuple([10 * w for w in side] for side in weights)  # only ratios count
    assert_agree(divergence(xs, ys, tenfold), theirs, *CLOSE[torch.float64])


@pytest.mark.parametrize("debias", [True, False])
@pytest.mark.parametrize(("blur", "reach"), [(0.05, 0.5), (0.05, 5.0), (0.5, 0.5)])
def test_unbalanced_agrees_with_geomloss(blur, reach, debias):
    xs, ys = sentences(6, 3, d=3), sentences(4, 8, d=3, seed=1)
    ours = divergence(xs, ys, blur=blur, reach=reach, debias=debias)
    values, *gradients = by_geomloss(xs, ys, p=2, blur=blur, scaling=0.5, reach=reach, debias=debias)
    # geomloss means to scale gradients by rho + eps, but does it in a method that torch never calls: its own stay
    # those of the forward factor rho + eps / 2. Finite differences, below, side with ours.
    factor = (reach**2 + blur**2) / (reach**2 + blur**2 / 2)
    assert_agree(ours, (values, *([g * factor for g in side] for side in gradients)), 1e-9, 1e-7)


def test_euclidean_agrees_with_geomloss():
    xs, ys = sentences(6, 3, d=3), sentences(4, 8, d=3, seed=1)
    ours = divergence(xs, ys, cost="euclidean")
    # It holds a word to be 1e-4 away from itself.
    assert_agree(ours, by_geomloss(xs, ys, p=1, blur=0.05, scaling=0.5), 3e-4, 1e-4)


@pytest.mark.parametrize("cost", ["half-squared", "euclidean", "cosine"])
def test_approaches_exact_transport_as_the_blur_goes(cost):
    ot = pytest.importorskip("ot")
    xs, ys = sentences(8, 6), sentences(8, 4, seed=1)
    exact = np.array([ot.emd2([], [], pot_cost(x, y, cost)) for x, y in zip(xs, ys, strict=True)])
    errors = []
    for blur in (0.5, 0.1, 0.02):
        values, _, _ = divergence(xs, ys, cost=cost, blur=blur, debias=False, iterations=500, tolerance=1e-4)
        errors.append(np.abs(values.numpy() - exact).max())
    assert errors[0] > errors[1] > errors[2]
    epsilon = 0.02 if cost == "euclidean" else 0.02**2
    assert errors[2] < 4 * epsilon  # the entropy of a plan of 8 words is at most log 64


@pytest.mark.parametrize("cost", ["half-squared", "euclidean", "cosine"])
def test_plan_is_that_of_pot(cost):
    ot = pytest.importorskip("ot")
    xs, ys = sentences(8, 6), sentences(7, 4, seed=1)
    (X, x_mask), (Y, y_mask) = pad(xs), pad(ys)
    blur = 0.5
    epsilon = blur if cost == "euclidean" else blur**2
    plans = transport_plan(X, Y, x_mask, y_mask, TransportSettings(cost, blur, iterations=1000, tolerance=1e-7))
    for x, y, plan in zip(xs, ys, plans, strict=True):
        theirs = ot.sinkhorn([], [], pot_cost(x, y, cost), epsilon, method="sinkhorn_log", stopThr=1e-12)
        np.testing.assert_allclose(plan[: len(x), : len(y)], theirs, atol=1e-6)


def pot_cost(x, y, cost):
    import ot

    metric = {"half-squared": "sqeuclidean", "euclidean": "euclidean", "cosine": "cosine"}[cost]
    return ot.dist(x.numpy(), y.numpy(), metric) / (2 if cost == "half-squared" else 1)


@pytest.mark.parametrize("cost", ["half-squared", "euclidean", "cosine"])
@pytest.mark.parametrize("reach", [None, 1.0])
def test_identical_sentences_cost_nothing(cost, reach):
    xs = sentences(7, 1, 4)
    ys = [x.flip(0) for x in xs]
    values, dX, dY = divergence(xs, ys, cost=cost, reach=reach, iterations=500, tolerance=1e-6)
    assert values.abs().max() < 1e-6
    assert max(g.abs().max() for g in dX + dY) < 1e-4


@pytest.mark.parametrize("cost", ["half-squared", "euclidean", "cosine"])
@pytest.mark.parametrize("reach", [None, 1.0])
@pytest.mark.parametrize("debias", [True, False])
def test_gradient_is_that_of_finite_differences(cost, reach, debias):
    """At the optimum, where the potentials' own change does not count."""
    (X, x_mask), (Y, y_mask) = pad(sentences(3, 1, d=2)), pad(sentences(2, 2, d=2, seed=1))
    weights = (torch.rand(2, 3, dtype=torch.float64) + 0.5, torch.rand(2, 2, dtype=torch.float64) + 0.5)
    options = {"cost": cost, "blur": 0.5, "reach": reach, "debias": debias, "iterations": 500, "tolerance": 1e-8}

    def values(X, Y):
        return sinkhorn_divergence(X, Y, x_mask, y_mask, TransportSettings(**options), weights=weights)

    assert torch.autograd.gradcheck(values, (X.requires_grad_(), Y.requires_grad_()), eps=1e-5, atol=1e-6, rtol=1e-4)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    lengths=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4),
    more=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    left=st.tuples(st.booleans(), st.booleans()),
    junk=st.sampled_from([0.0, 7.0, 1e30, float("inf"), float("nan")]),
    cost=st.sampled_from(["half-squared", "euclidean", "cosine"]),
    debias=st.booleans(),
)
def test_padding_does_not_matter(seed, lengths, more, left, junk, cost, debias):
    xs = sentences(*(n for n, _ in lengths), d=3, seed=seed)
    ys = sentences(*(m for _, m in lengths), d=3, seed=seed + 1)
    values, dX, dY = divergence(xs, ys, cost=cost, debias=debias)
    (X, x_mask), (Y, y_mask) = pad(xs, more[0], junk, left[0]), pad(ys, more[1], junk, left[1])
    X.requires_grad_()
    Y.requires_grad_()
    padded = sinkhorn_divergence(X, Y, x_mask, y_mask, TransportSettings(cost, debias=debias))
    padded.sum().backward()
    torch.testing.assert_close(padded.detach(), values, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(X.grad[x_mask], torch.cat(dX), rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(Y.grad[y_mask], torch.cat(dY), rtol=1e-6, atol=1e-8)
    assert not X.grad[~x_mask].any()
    assert not Y.grad[~y_mask].any()
    plan = transport_plan(X, Y, x_mask, y_mask, TransportSettings(cost, iterations=100))
    assert not plan[~(x_mask[:, :, None] & y_mask[:, None, :])].any()


@settings(deadline=None, max_examples=40)
@given(order=st.permutations(range(5)), iterations=st.sampled_from([0, 20]))
def test_neither_order_nor_company_matters(order, iterations):
    """Sentences of other sizes in the batch have other schedules, which must not spill over."""
    xs = [x * 10.0**i for i, x in enumerate(sentences(4, 2, 6, 3, 5, d=3))]
    ys = [y * 10.0**i for i, y in enumerate(sentences(3, 5, 6, 1, 2, d=3, seed=1))]
    options = {"iterations": iterations}
    values, dX, _ = divergence(xs, ys, **options)
    shuffled, shuffled_dX, _ = divergence([xs[i] for i in order], [ys[i] for i in order], **options)
    torch.testing.assert_close(shuffled, values[list(order)], rtol=1e-12, atol=1e-12)
    for place, i in enumerate(order):
        torch.testing.assert_close(shuffled_dX[place], dX[i], rtol=1e-6, atol=1e-9)
    alone, alone_dX, _ = divergence(xs[:1], ys[:1], **options)
    torch.testing.assert_close(alone, values[:1], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(alone_dX[0], dX[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("cost", ["half-squared", "euclidean", "cosine"])
@pytest.mark.parametrize("debias", [True, False])
@pytest.mark.parametrize("reach", [None, 1.0])
def test_empty_sentences_give_nothing(cost, debias, reach):
    X, Y = (torch.randn(4, 3, 2, requires_grad=True) for _ in range(2))
    x_mask = torch.tensor([[True, True, False], [False] * 3, [True] * 3, [False] * 3])
    y_mask = torch.tensor([[True] * 3, [True] * 3, [False] * 3, [False] * 3])
    values = sinkhorn_divergence(X, Y, x_mask, y_mask, TransportSettings(cost, debias=debias, reach=reach))
    values.sum().backward()
    assert values[0] != 0
    assert values[1:].tolist() == [0, 0, 0]
    for gradient in (X.grad, Y.grad):
        assert gradient.isfinite().all()
        assert gradient[0].any()
        assert not gradient[1:].any()
    plan = transport_plan(X, Y, x_mask, y_mask, TransportSettings(cost, reach=reach, iterations=100))
    assert plan.isfinite().all()
    assert not plan[1:].any()


@pytest.mark.parametrize(("B", "n", "m"), [(0, 3, 2), (2, 0, 3), (2, 3, 0), (2, 0, 0)])
def test_nothing_at_all_is_no_error(B, n, m):
    X, Y = torch.zeros(B, n, 4, requires_grad=True), torch.zeros(B, m, 4)
    masks = torch.ones(B, n, dtype=torch.bool), torch.ones(B, m, dtype=torch.bool)
    values = sinkhorn_divergence(X, Y, *masks)
    values.sum().backward()
    assert values.tolist() == [0] * B
    assert X.grad.shape == X.shape
    assert transport_plan(X, Y, *masks).shape == (B, n, m)


def test_words_without_weight_are_as_if_absent():
    xs, ys = sentences(4, 3), sentences(3, 3, seed=1)
    (X, x_mask), (Y, y_mask) = pad(xs), pad(ys)
    a, b = x_mask.double(), y_mask.double()
    a[:, 0], b[1] = 0, 0
    values = sinkhorn_divergence(X, Y, x_mask, y_mask, weights=(a, b))
    without, _, _ = divergence([x[1:] for x in xs], ys)
    torch.testing.assert_close(values[0], without[0], rtol=1e-9, atol=0)
    assert values[1] == 0


@pytest.mark.parametrize("length", [10.0, 30.0])
@pytest.mark.parametrize("shared", [0.0, 0.99])
def test_long_vectors_stay_finite_and_right_in_single_precision(length, shared):
    """Vectors of encoders: long, unnormalised, and with `shared` of their squared length in one direction."""
    d = 768
    (direction,) = sentences(1, d=d, size=length * (shared / d) ** 0.5)
    size = length * ((1 - shared) / d) ** 0.5
    xs, ys = ([s + direction for s in sentences(30, 24, d=d, size=size, seed=seed)] for seed in (1, 2))
    xs[0][7] = xs[0][3]
    exact, *slopes = divergence(xs, ys)
    values, *gradients = divergence([x.float() for x in xs], [y.float() for y in ys])
    torch.testing.assert_close(values.double(), exact, rtol=2e-6, atol=0)
    for side, double in zip(gradients, slopes, strict=True):
        for one, other in zip(side, double, strict=True):
            assert (one - other).norm() < 5e-3 * other.norm()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_single(dtype):
    xs, ys = sentences(6, 3, d=16, dtype=dtype), sentences(5, 4, d=16, seed=1, dtype=dtype)
    single, dX, _ = divergence([x.float() for x in xs], [y.float() for y in ys])
    values, half_dX, _ = divergence(xs, ys)
    torch.testing.assert_close(values, single, rtol=1e-5, atol=1e-5)
    assert half_dX[0].dtype == dtype
    torch.testing.assert_close(half_dX[0].float(), dX[0], rtol=0.02, atol=0.01)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside, dX_inside, _ = divergence([x.float() for x in xs], [y.float() for y in ys])
    torch.testing.assert_close(inside, single)
    torch.testing.assert_close(dX_inside[0], dX[0])


@pytest.mark.parametrize("blur", [0.05, 0.5])
def test_margins_of_plans_are_the_weights(blur):
    (X, x_mask), (Y, y_mask) = (pad(s) for s in (sentences(20, 3, 9, d=64), sentences(13, 8, 9, d=64, seed=1)))
    a, b = torch.rand(x_mask.shape) + 0.1, torch.rand(y_mask.shape) + 0.1
    for weights in (None, (a, b)):
        plan = transport_plan(X, Y, x_mask, y_mask, TransportSettings(blur=blur, iterations=100), weights=weights)
        for mask, margin, given_ in ((x_mask, plan.sum(2), a), (y_mask, plan.sum(1), b)):
            expected = mask * (1.0 if weights is None else given_)
            torch.testing.assert_close(margin, (expected / expected.sum(1, keepdim=True)).double(), rtol=0, atol=1e-6)
        assert (plan >= 0).all()
    assert transport_plan(X.float(), Y.float(), x_mask, y_mask).dtype == torch.float32


def test_plan_finds_the_translation_of_each_word():
    (x,) = sentences(20, d=768, size=0.7)
    (other,) = sentences(26, d=768, size=0.7, seed=1)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(2))
    y = torch.cat([x[order] * 0.6 + other[:20] * 0.4, other[20:]])
    masks = torch.ones(1, 20, dtype=torch.bool), torch.ones(1, 26, dtype=torch.bool)
    plan = transport_plan(x[None].float(), y[None].float(), *masks)[0]
    assert (plan[:, :20].argmax(dim=0) == order).all()


def test_unbalanced_plan_leaves_strangers_behind():
    X, Y = torch.tensor([[[0.0, 0], [5, 0], [90, 90]]]), torch.tensor([[[0.0, 1], [5, 1]]])
    masks = torch.ones(1, 3, dtype=torch.bool), torch.ones(1, 2, dtype=torch.bool)
    kept = transport_plan(X, Y, *masks, TransportSettings(reach=2.0, iterations=100))[0].sum(1) * 3
    assert kept[2] < 1e-6
    assert (kept[:2] > 0.8).all()


def test_iterations_bring_unequal_lengths_to_the_optimum():
    xs, ys = sentences(12, d=20), sentences(8, d=20, seed=1)
    best, dX, _ = divergence(xs, ys, iterations=3000, tolerance=1e-4)
    errors = []
    for iterations in (0, 10, 1000):
        values, gradient, _ = divergence(xs, ys, iterations=iterations)
        errors.append(float((gradient[0] - dX[0]).norm() / dX[0].norm()))
        assert abs(values - best) < 0.05 * best
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


def test_only_asked_for_gradients_are_given():
    (X, x_mask), (Y, y_mask) = pad(sentences(4, 2)), pad(sentences(3, 3, seed=1))
    assert not sinkhorn_divergence(X, Y, x_mask, y_mask).requires_grad
    X.requires_grad_()
    values = sinkhorn_divergence(X, Y, x_mask, y_mask)
    values[0].backward()
    assert X.grad[0].any()
    assert not X.grad[1].any()
    assert not transport_plan(X, Y, x_mask, y_mask).requires_grad


def test_bad_input_is_refused():
    X, Y = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)
    x_mask, y_mask = torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 5, dtype=torch.bool)
    for wrong in (Y[:1], Y[0], Y[..., :3]):
        with pytest.raises(ShapeError):
            sinkhorn_divergence(X, wrong, x_mask, y_mask)
    with pytest.raises(ShapeError, match="y_mask"):
        sinkhorn_divergence(X, Y, x_mask, x_mask)
    with pytest.raises(InputError, match="bool"):
        sinkhorn_divergence(X, Y, x_mask.float(), y_mask)
    with pytest.raises(InputError, match="floating"):
        sinkhorn_divergence(X.long(), Y, x_mask, y_mask)
    with pytest.raises(ShapeError, match="weights"):
        transport_plan(X, Y, x_mask, y_mask, weights=(x_mask.float(), x_mask.float()))
    with pytest.raises(InputError, match="not negative"):
        sinkhorn_divergence(X, Y, x_mask, y_mask, weights=(-x_mask.float(), y_mask.float()))
    X[1, 2, 0] = float("nan")
    with pytest.raises(InputError, match="pair 1 "):
        sinkhorn_divergence(X, Y, x_mask, y_mask)
    for options in (
        {"cost": "manhattan"},
        {"blur": 0.0},
        {"blur": float("nan")},
        {"scaling": 1.0},
        {"scaling": 0.0},
        {"reach": 0.0},
        {"iterations": -1},
        {"tolerance": -0.1},
    ):
        with pytest.raises(ConfigError):
            TransportSettings(**options)


def test_importing_the_room_does_not_import_torch():
    code = "import sys, isoglot.finetuning; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
