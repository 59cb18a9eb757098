"""Fused Gromov-Wasserstein transport, and the entropic plans it is made of: against POT, and against itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.finetuning.word_clouds import pad, sentences

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.finetuning import TransportSettings, WordOT, sinkhorn_divergence
from isoglot.finetuning.transport.gromov import gromov_divergence
from isoglot.finetuning.transport.newton import entropic_plans

torch = pytest.importorskip("torch")

COSTS = ["half-squared", "euclidean", "cosine"]
STRUCTURES = pytest.mark.parametrize("structure", [0.5, 1.0])


def fused(*words, structure, weights=None, steps=30, **options):
    return gromov_divergence(*words, TransportSettings(**options), structure=structure, weights=weights, steps=steps)


def plain(*words, weights=None, **options):
    return sinkhorn_divergence(*words, TransportSettings(**options), weights=weights)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(divergence, xs, ys, weights=None, padding=({}, {}), **options):
    """Values, and the gradients of their sum with respect to the words, one sentence after the other."""
    (X, x_mask), (Y, y_mask) = pad(xs, **padding[0]), pad(ys, **padding[1])
    X.requires_grad_()
    Y.requires_grad_()
    both = None if weights is None else (pad(weights[0])[0], pad(weights[1])[0])
    values = divergence(X, Y, x_mask, y_mask, weights=both, **options)
    values.sum().backward()
    assert not X.grad[~x_mask].any()
    assert not Y.grad[~y_mask].any()
    return values.detach(), X.grad[x_mask], Y.grad[y_mask]


def costs(x, y, cost="half-squared"):
    if cost == "cosine":
        return 1 - (x / x.norm(dim=1, keepdim=True)) @ (y / y.norm(dim=1, keepdim=True)).T
    distances = (x[:, None] - y).norm(dim=-1)
    return distances if cost == "euclidean" else distances**2 / 2


def distances(x, cost="half-squared"):
    if cost == "cosine":
        x = x / x.norm(dim=1, keepdim=True)
    return (x[:, None] - x).norm(dim=-1)


def translations(lengths, d=5, noise=0.3, seed=0):
    """Sentences, and shuffled and noisy copies of so many of their words."""
    xs = sentences(*(n for n, _ in lengths), d=d, seed=seed)
    noises = sentences(*(m for _, m in lengths), d=d, seed=seed + 1)
    random = torch.Generator().manual_seed(seed)
    picks = [torch.randperm(n, generator=random)[torch.arange(m) % n] for n, m in lengths]
    return xs, [(1 - noise) * x[pick] + noise * other for x, pick, other in zip(xs, picks, noises, strict=True)]


@pytest.mark.parametrize(("n", "m"), [(6, 6), (9, 5), (2, 15), (1, 4), (5, 1)])
def test_plans_are_those_of_pot(n, m):
    ot = pytest.importorskip("ot")
    random = torch.Generator().manual_seed(0)
    C = torch.stack([costs(x, y) for x, y in zip(sentences(*[n] * 4), sentences(*[m] * 4, seed=1), strict=True)])
    a, b = (torch.softmax(torch.randn(4, k, dtype=torch.float64, generator=random), 1) for k in (n, m))
    largest = C.flatten(1).amax(1)
    plans, _ = entropic_plans(C, a, b, epsilon=0.05, largest=largest, tolerance=1e-12)
    theirs = [
        ot.sinkhorn(*(one.numpy() for one in (p, q, c)), 0.05, method="sinkhorn_log", numItermax=100000, stopThr=1e-12)
        for p, q, c in zip(a, b, C, strict=True)
    ]
    np.testing.assert_allclose(plans, theirs, atol=1e-8)
    sharp, _ = entropic_plans(C, a, b, epsilon=1e-4, largest=largest)
    exact = [ot.emd2(*(one.numpy() for one in three)) for three in zip(a, b, C, strict=True)]
    np.testing.assert_allclose((sharp * C).sum((1, 2)), exact, atol=1e-3)
    np.testing.assert_allclose(sharp.sum(2), a, atol=1e-6)
    np.testing.assert_allclose(sharp.sum(1), b, atol=1e-6)


def test_plans_of_one_problem_are_the_same_in_any_company():
    C = torch.stack([costs(x, y) for x, y in zip(sentences(6, 6, 6), sentences(5, 5, 5, seed=1), strict=True)])
    C = C * torch.tensor([1.0, 100.0, 0.01]).double()[:, None, None]
    a, b = torch.full((3, 6), 1 / 6).double(), torch.full((3, 5), 0.2).double()
    together, _ = entropic_plans(C, a, b, epsilon=0.01, largest=C.flatten(1).amax(1))
    for i in range(3):
        own = slice(i, i + 1)
        alone, _ = entropic_plans(C[own], a[own], b[own], epsilon=0.01, largest=C[own].flatten(1).amax(1))
        torch.testing.assert_close(together[own], alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("structure", "cost"), [(0.2, COSTS[1]), (0.7, COSTS[2]), (0.7, COSTS[0]), (1.0, COSTS[0])])
def test_fused_is_that_of_pot_as_the_blur_goes(structure, cost):
    """Both start from the product of the margins, and at a small blur take the same way."""
    ot = pytest.importorskip("ot")
    xs, ys = translations([(6, 6), (8, 5), (5, 7), (1, 4), (2, 9)])
    exact = []
    for x, y in zip(xs, ys, strict=True):
        D, E = (distances(s, cost).numpy() / math.sqrt(2) for s in (x, y))
        options = {"alpha": structure, "tol_rel": 1e-12, "tol_abs": 1e-12}
        exact.append(ot.gromov.fused_gromov_wasserstein2(costs(x, y, cost).numpy(), D, E, **options))
    blur = {"half-squared": 0.003, "euclidean": 1e-5, "cosine": 0.003}[cost]
    for debias in (True, False):
        values, _, _ = run(fused, xs, ys, structure=structure, cost=cost, blur=blur, debias=debias)
        np.testing.assert_allclose(values, exact, atol=1e-4, rtol=1e-4)


def test_fused_is_that_of_pot_at_the_same_epsilon():
    """Distances alone have many local optima, of which ours and POT's are sometimes two."""
    ot = pytest.importorskip("ot")
    xs, ys = translations([(5, 4)])
    structure, epsilon = 0.5, 0.3**2
    values, dX, _ = run(fused, xs, ys, structure=structure, blur=0.3, debias=False, steps=500, tolerance=1e-6)
    for value, gradient, x, y in zip(values, dX.split([len(x) for x in xs]), xs, ys, strict=True):
        C, D, E = costs(x, y), distances(x), distances(y)
        P = ot.gromov.entropic_fused_gromov_wasserstein(
            *(one.numpy() for one in (C, D / math.sqrt(2), E / math.sqrt(2))),
            epsilon=epsilon,
            alpha=structure,
            max_iter=5000,
            tol=1e-12,
            stopThr=1e-12,
            numItermax=10000,
            warn=False,  # rounding keeps it from 1e-12
        )
        P = torch.from_numpy(P)
        # The definition, four indices at a time, and its gradient with the plan held.
        x = x.clone().requires_grad_()
        squares = (torch.cdist(x, x)[:, None, :, None] - E[None, :, None, :]) ** 2 / 2
        objective = (1 - structure) * (costs(x, y) * P).sum()
        objective = objective + structure * (squares * P[:, :, None, None] * P).sum()
        entropy = torch.xlogy(P, P * len(x) * len(y)).sum()
        assert value.item() == pytest.approx((objective + epsilon * entropy).item(), abs=1e-6)
        objective.backward()
        torch.testing.assert_close(gradient, x.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("structure", "cost"), [(0.0, COSTS[0]), (0.5, COSTS[1]), (0.5, COSTS[2]), (1.0, COSTS[0])])
@pytest.mark.parametrize("debias", [True, False])
def test_fused_gradient_is_that_of_finite_differences(structure, cost, debias):
    xs, ys = translations([(3, 2), (2, 3)], d=2)
    (X, x_mask), (Y, y_mask) = pad(xs), pad(ys)
    weights = (torch.rand(2, 3, dtype=torch.float64) + 0.5, torch.rand(2, 3, dtype=torch.float64) + 0.5)
    options = {"cost": cost, "blur": 0.5, "debias": debias, "steps": 500, "tolerance": 1e-7}

    def values(X, Y):
        return fused(X, Y, x_mask, y_mask, weights=weights, structure=structure, **options)

    assert torch.autograd.gradcheck(values, (X.requires_grad_(), Y.requires_grad_()), eps=1e-5, atol=1e-5, rtol=1e-3)


def test_without_structure_it_is_the_plain_transport():
    xs, ys = translations([(6, 6), (8, 5), (1, 4)])
    ours = run(fused, xs, ys, structure=0.0, blur=0.3)
    theirs = run(plain, xs, ys, blur=0.3, iterations=1000, tolerance=1e-6)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("debias", [True, False])
def test_structure_alone_does_not_feel_rotations(cost, debias):
    xs, ys = translations([(6, 6), (8, 5), (2, 2)])
    turn, _ = torch.linalg.qr(torch.randn(5, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64))
    options = {"structure": 1.0, "cost": cost, "debias": debias}
    values, dX, dY = run(fused, xs, ys, **options)
    turned, turned_dX, turned_dY = run(fused, xs, [y @ turn for y in ys], **options)
    torch.testing.assert_close(turned, values, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(turned_dX, dX, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(turned_dY, dY @ turn, rtol=1e-4, atol=1e-6)
    moved, _, _ = run(fused, xs, [3 + y @ turn for y in ys], **{**options, "structure": 0.9})
    assert ((moved - turned).abs() > 1e-3).all()


def test_a_copy_elsewhere_is_recognised_by_its_distances():
    xs = sentences(5, 7, 2, size=3.0)
    turn, _ = torch.linalg.qr(torch.randn(5, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64))
    values, dX, _ = run(fused, xs, [x.flip(0) @ turn + 1 for x in xs], structure=1.0)
    assert values.abs().max() < 1e-6
    assert dX.abs().max() < 1e-4


@pytest.mark.parametrize("cost", COSTS)
def test_a_sentence_costs_nothing_to_itself(cost):
    xs = sentences(7, 1, 4, 2)
    values, dX, dY = run(fused, xs, [x.flip(0) for x in xs], structure=0.5, cost=cost)
    assert values.abs().max() < 1e-9
    assert max(dX.abs().max(), dY.abs().max()) < 1e-6


def test_steps_never_lead_upwards():
    xs, ys = sentences(9, 6, 3, d=3), sentences(5, 6, 8, d=3, seed=1)
    options = {"structure": 0.9, "blur": 0.2, "debias": False}
    found = torch.stack([run(fused, xs, ys, steps=k, **options)[0] for k in (1, 2, 3, 5, 30)])
    # The first step is told apart by order, and may be wrong by that.
    assert (found[1:] <= found[:-1] + torch.tensor([[0.2**2], [1e-6], [1e-6], [1e-6]])).all()
    assert (found[0] - found[-1]).max() > 0.01


@STRUCTURES
@settings(deadline=None, max_examples=12)
@given(
    seed=st.integers(0, 1000),
    lengths=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4),
    more=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    left=st.tuples(st.booleans(), st.booleans()),
    junk=st.sampled_from([0.0, 1e30, float("nan")]),
    cost=st.sampled_from(COSTS),
    debias=st.booleans(),
)
def test_neither_padding_nor_company_matters(structure, seed, lengths, more, left, junk, cost, debias):
    xs = sentences(*(n for n, _ in lengths), d=3, seed=seed)
    ys = sentences(*(m for _, m in lengths), d=3, seed=seed + 1)
    options = {"structure": structure, "cost": cost, "debias": debias}
    padding = tuple({"more": k, "value": junk, "left": side} for k, side in zip(more, left, strict=True))
    values, dX, dY = run(fused, xs, ys, padding=padding, **options)
    alone = [run(fused, [x], [y], **options) for x, y in zip(xs, ys, strict=True)]
    torch.testing.assert_close(values, torch.cat([one[0] for one in alone]), rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(dX, torch.cat([one[1] for one in alone]), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(dY, torch.cat([one[2] for one in alone]), rtol=1e-5, atol=1e-5)


@STRUCTURES
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("debias", [True, False])
def test_empty_sentences_give_nothing(structure, cost, debias):
    X, Y = (torch.randn(4, 3, 2, requires_grad=True) for _ in range(2))
    x_mask = torch.tensor([[True, True, False], [False] * 3, [True] * 3, [False] * 3])
    y_mask = torch.tensor([[True] * 3, [True] * 3, [False] * 3, [False] * 3])
    values = fused(X, Y, x_mask, y_mask, cost=cost, debias=debias, structure=structure)
    values.sum().backward()
    assert values[0] != 0
    assert values[1:].tolist() == [0, 0, 0]
    for gradient in (X.grad, Y.grad):
        assert gradient.isfinite().all()
        assert gradient[0].any()
        assert not gradient[1:].any()


@STRUCTURES
@pytest.mark.parametrize(("B", "n", "m"), [(0, 3, 2), (2, 0, 3), (2, 3, 0), (2, 0, 0)])
def test_nothing_at_all_is_no_error(structure, B, n, m):
    X, Y = torch.zeros(B, n, 4, requires_grad=True), torch.zeros(B, m, 4)
    masks = torch.ones(B, n, dtype=torch.bool), torch.ones(B, m, dtype=torch.bool)
    values = fused(X, Y, *masks, structure=structure)
    values.sum().backward()
    assert values.tolist() == [0] * B
    assert X.grad.shape == X.shape


@STRUCTURES
@pytest.mark.parametrize("cost", COSTS)
def test_single_precision_holds_at_a_small_blur(structure, cost):
    """Long vectors, as encoders have them, with words that are there twice, and sentences of very unequal lengths."""
    xs, ys = translations([(14, 14), (20, 3), (1, 12), (9, 1)], d=256)
    xs, ys = ([20 / 16 * s for s in side] for side in (xs, ys))
    xs[0][7], ys[0][4], ys[0][5] = xs[0][3], xs[0][3], xs[0][3]
    xs, ys = ([s.float() for s in side] for side in (xs, ys))
    single = run(fused, xs, ys, cost=cost, structure=structure)
    double = run(fused, [x.double() for x in xs], [y.double() for y in ys], cost=cost, structure=structure)
    torch.testing.assert_close(single[0].double(), double[0], rtol=1e-5, atol=1e-5)
    for one, other in zip(single[1:], double[1:], strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 5e-3 * other.norm()


@STRUCTURES
def test_words_without_weight_are_as_if_absent(structure):
    xs, ys = sentences(4, 3), sentences(3, 3, seed=1)
    weights = [[torch.ones(len(s)) for s in side] for side in (xs, ys)]
    for one in weights[0]:
        one[0] = 0
    values, dX, _ = run(fused, xs, ys, weights, structure=structure)
    without, _, _ = run(fused, [x[1:] for x in xs], ys, structure=structure)
    torch.testing.assert_close(values, without, rtol=1e-7, atol=1e-7)
    assert not dX[0].any()


@STRUCTURES
def test_bad_input_is_refused(structure):
    X, mask = torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(ShapeError):
        fused(X, X[:1], mask, mask, structure=structure)
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ConfigError, match="structure"):
            fused(X, X, mask, mask, structure=wrong)
    with pytest.raises(ConfigError, match="reach"):
        fused(X, X, mask, mask, structure=structure, reach=1.0)
    with pytest.raises(ConfigError, match="blur"):
        fused(X, X, mask, mask, blur=0.0, structure=structure)
    X[1, 2, 0] = math.nan
    with pytest.raises(InputError, match="pair 1 "):
        fused(X, X, mask, mask, structure=structure)
    with pytest.raises(ConfigError, match="steps"):
        fused(X, X, mask, mask, steps=0, structure=structure)
    with pytest.raises(ConfigError, match="word_ot: `structure` cannot be combined with `reach`"):
        WordOT(structure=structure, reach=2.0)
