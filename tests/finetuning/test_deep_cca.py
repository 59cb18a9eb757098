"""Losses of canonical correlations against scipy, textbook CCA and autograd, and where these give up."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.finetuning.deep_cca import canonical_correlations, cca_loss, released_cca_loss

torch = pytest.importorskip("torch")

LOSSES = [cca_loss, released_cca_loss]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def normal(*shape, seed=0, dtype=torch.float64):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=random, dtype=torch.float64).to(dtype)


def related(n, d, k, seed=0, dtype=torch.float64):
    """Two sides that share some of what they vary by, with means and unequal variances."""
    Z = normal(n, 3, seed=seed)
    sides = []
    for i, p in enumerate((d, k), start=1):
        M = Z @ normal(3, p, seed=seed + 10 * i) + normal(n, p, seed=seed + 20 * i)
        sides.append((M * torch.arange(1, p + 1) ** -0.5 + normal(p, seed=seed + 30 * i)).to(dtype))
    return sides


def slope(loss, X, Y, **options):
    """Value and gradient."""
    X = X.clone().requires_grad_()
    value = loss(X, Y, **options)
    value.backward()
    return value.detach(), X.grad


def finite_difference(loss, X, Y, direction, step=1e-5, **options):
    ahead, behind = loss(X + step * direction, Y, **options), loss(X - step * direction, Y, **options)
    return (ahead - behind) / (2 * step)


def plain(X, Y, components, regulariser):
    """The loss as the textbook has it; autograd finds its way back if singular values are distinct."""
    roots = []
    X, Y = X - X.mean(0), Y - Y.mean(0)
    for M in (X, Y):
        S = M.T @ M / (len(M) - 1)
        w, V = torch.linalg.eigh(S + regulariser * S.diagonal().mean() * torch.eye(len(S), dtype=S.dtype))
        roots.append(V / w.sqrt() @ V.T)
    T = roots[0] @ (X.T @ Y / (len(X) - 1)) @ roots[1]
    return -torch.linalg.svdvals(T)[:components].sum()


def by_scipy(X, Y, regulariser):
    """Correlations as eigenvalues of a generalised problem."""
    X, Y = X.numpy(), Y.numpy()
    d, k = X.shape[1], Y.shape[1]
    S = np.cov(np.hstack([X, Y]), rowvar=False)
    left, right = np.zeros_like(S), np.zeros_like(S)
    left[:d, d:], left[d:, :d] = S[:d, d:], S[d:, :d]
    for part in (slice(d), slice(d, None)):
        block = S[part, part]
        right[part, part] = block + regulariser * np.diag(block).mean() * np.eye(len(block))
    return scipy.linalg.eigh(left, right, eigvals_only=True)[::-1][: min(d, k)]


def by_angles(X, Y):
    """Correlations without a regulariser: cosines of the angles between the spaces that the columns span."""
    Q, _ = np.linalg.qr(X.numpy() - X.numpy().mean(0))
    R, _ = np.linalg.qr(Y.numpy() - Y.numpy().mean(0))
    return np.linalg.svd(Q.T @ R, compute_uv=False)


@pytest.mark.parametrize(
    ("n", "d", "k"), [(50, 6, 4), (50, 4, 6), (40, 5, 5), (5, 8, 7), (5, 3, 9), (6, 9, 1), (6, 6, 5)]
)
@pytest.mark.parametrize("regulariser", [1e-6, 0.1, 10.0])
def test_correlations_are_those_of_scipy(n, d, k, regulariser):
    X, Y = related(n, d, k)
    expected = by_scipy(X, Y, regulariser)
    found = canonical_correlations(X, Y, regulariser)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    for components in (None, 1, min(d, k)):
        loss = cca_loss(X, Y, components=components, regulariser=regulariser)
        assert loss.item() == pytest.approx(-expected[:components].sum(), abs=1e-7)


@pytest.mark.parametrize(("d", "k"), [(6, 4), (4, 6), (5, 5), (1, 3)])
def test_without_regulariser_correlations_are_those_of_the_textbook(d, k):
    X, Y = related(60, d, k)
    np.testing.assert_allclose(canonical_correlations(X, Y, 1e-10), by_angles(X, Y), atol=1e-7)


@pytest.mark.parametrize(("n", "d", "k"), [(30, 5, 4), (30, 4, 6), (12, 4, 4)])
@pytest.mark.parametrize("components", [None, 1, 2])
@pytest.mark.parametrize("regulariser", [1e-6, 0.1, 3.0])
def test_gradient_is_that_of_autograd(n, d, k, components, regulariser):
    X, Y = related(n, d, k)
    value, gradient = slope(cca_loss, X, Y, components=components, regulariser=regulariser)
    expected, other = slope(plain, X, Y, components=components, regulariser=regulariser)
    torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-9)
    assert (gradient - other).norm() <= 1e-8 * other.norm()


@pytest.mark.parametrize(("n", "d", "k"), [(9, 3, 2), (4, 6, 3), (4, 3, 7), (5, 5, 5), (3, 6, 6)])
@pytest.mark.parametrize("components", [1, 2])
def test_gradient_is_that_of_finite_differences(n, d, k, components):
    X, Y = related(n, d, k)
    assert torch.autograd.gradcheck(
        lambda X: 3 * cca_loss(X, Y, components=components, regulariser=0.1), X.requires_grad_(), eps=1e-6, atol=1e-7
    )


def test_repeated_correlations_have_a_gradient():
    """Autograd through a decomposition divides by the difference of equal singular values."""
    C = torch.linalg.qr(normal(40, 8) - normal(40, 8).mean(0))[0]
    X, Y = C[:, :4], 0.6 * C[:, :4] + 0.8 * C[:, 4:]
    np.testing.assert_allclose(canonical_correlations(X, Y, 1e-3), [0.6 / 1.001] * 4)
    value, gradient = slope(cca_loss, X, Y, regulariser=1e-3)
    assert value.item() == pytest.approx(-2.4 / 1.001)
    for seed in range(3):
        direction = normal(40, 4, seed=seed)
        expected = finite_difference(cca_loss, X, Y, direction, regulariser=1e-3)
        assert (gradient * direction).sum().item() == pytest.approx(expected.item(), rel=1e-6)
    # Some of the equal ones: a kink, at which any of them may be pulled.
    _, part = slope(cca_loss, X, Y, components=2, regulariser=1e-3)
    assert part.isfinite().all()
    better = cca_loss(X - 1e-3 * part, Y, components=2, regulariser=1e-3)
    assert better < cca_loss(X, Y, components=2, regulariser=1e-3)


def test_repeated_variances_have_a_gradient():
    """As above, of the covariance: autograd through its eigenvectors would divide by 0."""
    X, Y = torch.linalg.qr(normal(30, 4) - normal(30, 4).mean(0))[0], normal(30, 3, seed=1)
    _, gradient = slope(cca_loss, X, Y)
    direction = normal(30, 4, seed=2)
    expected = finite_difference(cca_loss, X, Y, direction)
    assert (gradient * direction).sum().item() == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.parametrize(("n", "d", "k"), [(40, 6, 4), (4, 6, 5), (7, 6, 5)])
@pytest.mark.parametrize(
    "kind", ["constant", "all constant", "duplicate rows", "duplicate columns", "rank one", "zeros"]
)
@pytest.mark.parametrize("where", ["X", "Y", "XY"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("regulariser", [1e-10, 0.1])
def test_degenerate_batches_are_finite(n, d, k, kind, where, dtype, regulariser):
    X, Y = related(n, d, k, dtype=dtype)
    for name, M in (("X", X), ("Y", Y)):
        if name not in where:
            continue
        if kind == "constant":
            M[:, 1] = 0.1
        elif kind == "all constant":
            M[:] = M[0].clone()
        elif kind == "duplicate rows":
            M[n // 2 :] = M[: n - n // 2].clone()
        elif kind == "duplicate columns":
            M[:, 1] = M[:, 0]
        elif kind == "rank one":
            M[:] = M[:, :1] * M[:1]
        else:
            M[:] = 0
    for loss, options in ((cca_loss, {"regulariser": regulariser}), (released_cca_loss, {})):
        value, gradient = slope(loss, X, Y, **options)
        assert value.isfinite()
        assert gradient.isfinite().all()
    value, gradient = slope(cca_loss, X, Y, regulariser=regulariser)
    found = canonical_correlations(X, Y, regulariser)
    assert -found.sum().item() == pytest.approx(value.item(), abs=1e-5)
    assert 0 <= found.min() <= found.max() <= 1
    if kind in ("all constant", "zeros"):
        assert value == 0
        assert not gradient.any()


@pytest.mark.parametrize("regulariser", [1e-9, 0.1])
def test_directions_that_do_not_vary_get_no_gradient(regulariser):
    """A kink: any variance that correlates would be a gain there, but which one the data do not tell."""
    X, Y = related(40, 6, 6)
    X[:, 2] = Y[:, 2] = 5.0
    rest = [0, 1, 3, 4, 5]
    value, gradient = slope(cca_loss, X, Y, regulariser=regulariser)
    fewer = regulariser * 5 / 6  # the same ridge, of a larger mean variance
    expected, without = slope(cca_loss, X[:, rest], Y[:, rest], regulariser=fewer)
    assert value.item() == pytest.approx(expected.item(), rel=1e-7)
    assert gradient[:, 2].abs().max() < 1e-10
    torch.testing.assert_close(gradient[:, rest], without, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n", [0, 1])
def test_one_sample_correlates_with_nothing(n):
    value, gradient = slope(cca_loss, normal(n, 5), normal(n, 3))
    assert value == 0
    assert gradient.shape == (n, 5)
    assert not gradient.any()
    assert canonical_correlations(normal(n, 5), normal(n, 3)).tolist() == [0, 0, 0]


def test_two_samples_always_correlate():
    value, gradient = slope(cca_loss, normal(2, 5), normal(2, 3))
    assert value.item() == pytest.approx(-1 / math.sqrt((1 + 0.1 / 5) * (1 + 0.1 / 3)))
    assert gradient.abs().max() < 1e-12


def test_without_dimensions_there_is_nothing():
    for loss in LOSSES:
        value, gradient = slope(loss, normal(4, 0), normal(4, 3))
        assert value == 0
        assert gradient.shape == (4, 0)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 20),
    d=st.integers(1, 8),
    k=st.integers(1, 8),
    regulariser=st.sampled_from([1e-8, 1e-3, 0.1, 10.0]),
    scales=st.tuples(st.sampled_from([-1e-6, 1.0, 1e6]), st.sampled_from([-1e-6, 1.0, 1e6])),
)
def test_neither_units_rotations_shifts_nor_order_matter(seed, n, d, k, regulariser, scales):
    X, Y = related(n, d, k, seed=seed)
    value, gradient = slope(cca_loss, X, Y, regulariser=regulariser)
    R = torch.linalg.qr(normal(d, d, seed=seed + 1))[0]
    Q = torch.linalg.qr(normal(k, k, seed=seed + 2))[0]
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    moved_X = (scales[0] * (X + normal(d, seed=seed + 3)) @ R)[order]
    moved_Y = (scales[1] * (Y + normal(k, seed=seed + 4)) @ Q)[order]
    moved, moved_gradient = slope(cca_loss, moved_X, moved_Y, regulariser=regulariser)
    assert moved.item() == pytest.approx(value.item(), abs=1e-6)
    assert moved_gradient.isfinite().all()
    if regulariser >= 1e-3:
        torch.testing.assert_close(moved_gradient * scales[0], (gradient @ R)[order], rtol=1e-5, atol=1e-6)
    assert -min(d, k, n - 1) - 1e-9 <= value <= 0


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 1000), d=st.integers(1, 6), k=st.integers(1, 6))
def test_without_regulariser_no_linear_map_matters(seed, d, k):
    X, Y = related(40, d, k, seed=seed)
    A = normal(d, d, seed=seed + 1) + 3 * torch.eye(d)
    B = normal(k, k, seed=seed + 2) + 3 * torch.eye(k)
    if max(torch.linalg.cond(A), torch.linalg.cond(B)) < 100:
        options = {"regulariser": 1e-10}
        assert cca_loss(X @ A, Y @ B, **options).item() == pytest.approx(cca_loss(X, Y, **options).item(), abs=1e-4)


@pytest.mark.parametrize(("d", "k"), [(4, 7), (7, 4), (5, 5)])
def test_what_is_told_by_the_other_side_correlates_perfectly(d, k):
    Z = normal(50, max(d, k))
    X, Y = Z[:, :d], (Z @ normal(max(d, k), max(d, k), seed=1))[:, :k]
    if d < k:
        X, Y = Y @ normal(k, d, seed=2), Y
    value, gradient = slope(cca_loss, X, Y, regulariser=1e-10)
    assert value.item() == pytest.approx(-min(d, k), abs=1e-5)
    assert gradient.abs().max() < 1e-4  # nothing more to gain
    with_ridge = [cca_loss(X, Y, regulariser=r).item() for r in (1e-10, 1e-4, 1e-2, 1.0)]
    assert with_ridge == sorted(with_ridge)


@pytest.mark.parametrize("scales", [(1e-6, 1e6), (1e6, 1e-6), (1e-18, 1e18), (1e30, 1e-25)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_huge_and_tiny_vectors(scales, dtype):
    X, Y = related(20, 5, 4, dtype=dtype)
    value, gradient = slope(cca_loss, X, Y)
    other, other_gradient = slope(cca_loss, X * scales[0], Y * scales[1])
    torch.testing.assert_close(other, value, rtol=1e-5, atol=0)
    torch.testing.assert_close(other_gradient * scales[0], gradient, rtol=1e-3, atol=1e-4)


def test_a_common_offset_costs_no_precision():
    """Contextual vectors share most of their length."""
    X, Y = related(50, 6, 4)
    value, gradient = slope(cca_loss, X, Y)
    far, far_gradient = slope(cca_loss, X + 1e6, Y - 1e6)
    torch.testing.assert_close(far, value, rtol=1e-8, atol=0)
    torch.testing.assert_close(far_gradient, gradient, rtol=1e-6, atol=1e-8)


def test_vectors_of_many_dimensions_and_low_rank_with_hardly_a_ridge():
    X = normal(300, 2) @ normal(2, 200, seed=1)
    Y = X[:, :150] + 0
    value, gradient = slope(cca_loss, X, Y, regulariser=1e-10)
    assert value.item() == pytest.approx(-2, abs=1e-6)
    assert gradient.isfinite().all()
    assert gradient.abs().max() < 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_steps_along_the_gradient_raise_correlations(loss):
    X, Y = related(64, 40, 30, dtype=torch.float32)
    X.requires_grad_()
    optimiser = torch.optim.Adam([X], lr=0.05)
    values = []
    for _ in range(100):
        value = loss(X, Y)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < values[30] < values[0]
    best = -canonical_correlations(Y, Y).sum().item() if loss is cca_loss else -10 * math.sqrt(2)
    assert values[-1] < values[0] + 0.5 * (best - values[0])


@pytest.mark.parametrize("loss", LOSSES)
def test_no_gradient_reaches_the_given_vectors(loss):
    X, Y = related(20, 5, 4)
    assert not loss(X, Y).requires_grad
    Y.requires_grad_()
    assert not loss(X, Y).requires_grad
    X.requires_grad_()
    loss(X, Y).backward()
    assert X.grad.any()
    assert Y.grad is None
    with torch.no_grad():
        assert not loss(X, Y).requires_grad
    assert not canonical_correlations(X, Y).requires_grad


@pytest.mark.parametrize("loss", LOSSES)
def test_precision_is_that_of_the_encoder_and_at_least_single(loss):
    X, Y = related(30, 12, 11)
    value, gradient = slope(loss, X, Y)
    for dtype, close in ((torch.float32, 1e-5), (torch.bfloat16, 0.1)):
        rounded, rounded_gradient = slope(loss, X.to(dtype), Y.float())
        assert rounded.dtype == torch.float32
        assert rounded_gradient.dtype == dtype
        assert rounded.item() == pytest.approx(value.item(), abs=close)
        assert (rounded_gradient - gradient).norm() < 4 * close * gradient.norm()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside, gradient_inside = slope(loss, X.float(), Y.float())
    outside, gradient_outside = slope(loss, X.float(), Y.float())
    assert inside == outside
    assert torch.equal(gradient_inside, gradient_outside)


def released(X, Y):
    """What is in the docstring, word by word, for autograd to go through."""
    both = []
    for M in (X, Y):
        n, d = M.shape
        means = M.mean(1)
        row = torch.tensor([[(i * d + j) % n for j in range(d)] for i in range(n)])
        A, s, _ = torch.linalg.svd(M - means[row], full_matrices=False)
        t2 = (s**2 / (s**2 + 1e-8)).clamp(min=1e-8)
        both.append((A * t2.sqrt())[:, :10])
    return -torch.linalg.svdvals(torch.cat(both, dim=1))[:10].sum()


@pytest.mark.parametrize(("n", "d", "k"), [(40, 15, 12), (16, 32, 20), (14, 30, 12), (30, 30, 11), (25, 12, 30)])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-4])
def test_released_loss_is_that_of_the_code(n, d, k, scale):
    X, Y = related(n, d, k)
    X = X * scale  # where the epsilon is felt
    value, gradient = slope(released_cca_loss, X, Y)
    expected, other = slope(released, X, Y)
    torch.testing.assert_close(value, expected, rtol=1e-10, atol=0)
    assert (gradient - other).norm() <= 1e-6 * other.norm()
    direction = normal(n, d, seed=9) * scale
    slight = finite_difference(released_cca_loss, X, Y, direction, step=1e-6)
    assert (gradient * direction).sum().item() == pytest.approx(slight.item(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("n", "d", "k"), [(20, 4, 3), (20, 12, 3), (5, 4, 12)])
def test_released_loss_of_few_dimensions_or_samples(n, d, k):
    X, Y = related(n, d, k)
    value, _ = slope(released_cca_loss, X, Y)
    assert value.item() == pytest.approx(released(X, Y).item(), rel=1e-7)
    assert torch.autograd.gradcheck(lambda X: released_cca_loss(X, Y), X.requires_grad_(), atol=1e-5)


def test_released_loss_sums_roots_of_one_plus_cosines():
    X, Y = related(60, 20, 15)
    spaces = []
    for M in (X, Y):
        M = M.numpy()
        M = M - np.resize(M.mean(1), M.shape)
        spaces.append(np.linalg.svd(M)[0][:, :10])
    cosines = np.cos(scipy.linalg.subspace_angles(*spaces))
    assert released_cca_loss(X, Y).item() == pytest.approx(-np.sqrt(1 + cosines).sum(), rel=1e-8)


def test_released_loss_of_few_dimensions_is_best_without_correlation():
    C = torch.linalg.qr(normal(40, 8))[0]
    values = [
        released_cca_loss(C[:, :4], c * C[:, :4] + math.sqrt(1 - c**2) * C[:, 4:]).item() for c in (0.0, 0.5, 1.0)
    ]
    assert values == sorted(values)


def test_released_loss_does_not_centre_columns():
    X, Y = related(60, 20, 15)
    assert abs(released_cca_loss(X, Y) - released_cca_loss(X + normal(20, seed=5), Y)) > 1e-3


def test_released_loss_with_equal_singular_values_is_finite():
    """The tenth equals the eleventh, where the released gradient is not a number."""
    X = torch.zeros(24, 12, dtype=torch.float64)
    X[torch.arange(12), torch.arange(12)] = 1
    X[torch.arange(12) + 12, torch.arange(12)] = -1  # means cancel wherever they are subtracted: 12 divides 24
    Y = normal(24, 12)
    _, other = slope(released, X, Y)
    assert not other.isfinite().all() or other.abs().max() > 1e6
    value, gradient = slope(released_cca_loss, X, Y)
    assert -math.sqrt(200) <= value <= -10
    assert gradient.isfinite().all()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_released_loss_of_hardly_any_samples(n):
    value, gradient = slope(released_cca_loss, normal(n, 5), normal(n, 3))
    assert value.isfinite()
    assert gradient.shape == (n, 5)
    assert gradient.isfinite().all()
    if n == 1:
        assert value.item() == pytest.approx(-math.sqrt(2))


def test_bad_input_is_refused():
    X, Y = related(8, 4, 3)
    for function in (*LOSSES, canonical_correlations):
        for wrong in (Y[:5], Y[0], Y[None]):
            with pytest.raises(ShapeError):
                function(X, wrong)
        with pytest.raises(InputError, match="floating"):
            function(X.long(), Y)
        for worse in (math.nan, math.inf):
            broken = X.clone()
            broken[2, 1] = worse
            with pytest.raises(InputError, match="not finite"):
                function(broken, Y)
            with pytest.raises(InputError, match="not finite"):
                function(Y, broken)
    for components in (0, 4, -1):
        with pytest.raises(ConfigError, match="between 1 and 3"):
            cca_loss(X, Y, components=components)
    for regulariser in (0.0, -1.0, 1e-11, math.nan, math.inf):
        with pytest.raises(ConfigError, match="regulariser"):
            cca_loss(X, Y, regulariser=regulariser)
        with pytest.raises(ConfigError, match="regulariser"):
            canonical_correlations(X, Y, regulariser)


def test_importing_the_file_does_not_import_torch():
    code = "import sys, isoglot.finetuning.deep_cca; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
