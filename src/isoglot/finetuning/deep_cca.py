"""Deep CCA (Andrew et al. 2013): how strongly the vectors of an encoder correlate with given ones, as a loss.

Hämmerl et al. 2022 use it to pull an encoder towards well aligned static vectors of any dimension. With X and Y centred
and ridges a and b, the canonical correlations are the singular values s of
T = (X'X + aI)^(-1/2) X'Y (Y'Y + bI)^(-1/2); the loss is minus the sum of the largest s. Singular vectors U, V of T give
the canonical directions
P = (X'X + aI)^(-1/2) U and Q = (Y'Y + bI)^(-1/2) V; as the ridge is a share r of the mean variance, the gradient is

    d(sum s) / dX = (Y Q - X P diag(s)) P' - (r / d) sum_i s_i |p_i|^2 X

that is, each variate X p is pulled towards its partner Y q. Unlike autograd through a decomposition, it does not divide
by differences of singular values, so they need not be distinct. Where the sum has a kink (an s of 0, or the last s that
counts if it equals the next), this is one of its subgradients. Everything is computed in double precision.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.finetuning.transport.words import precision

if TYPE_CHECKING:
    from torch import Tensor

#: Ridges below this share of the mean variance would drown in the rounding of the variances.
SMALLEST = 1e-10
#: A side that varies by less does not vary: in single precision, its gradient would not be finite.
STILL = 1e-30
#: Correlations below this are 0 but for rounding, and pull nowhere.
NONE = 1e-8
#: What the released code keeps of each side, and what it adds to squared singular values.
RELEASED_COMPONENTS, RELEASED_EPSILON = 10, 1e-8
#: Share of the largest singular value by which two others must differ to be told apart.
APART = 1e-10


def cca_loss(X: Tensor, Y: Tensor, *, components: int | None = None, regulariser: float = 0.1) -> Tensor:
    """Minus the sum of the largest canonical correlations of X and Y, a scalar; gradients flow to `X` only.

    Rows are samples; columns are centred. A ridge is added to the covariance of each side:
    S + regulariser * mean(diag(S)) * I, so the loss does not depend on the scale or rotation of X or Y. Without the
    ridge it would not depend on any invertible linear map of either side; but then any samples correlate perfectly in
    some directions unless there are more of them than dimensions of both sides together, and batches are rarely larger.

    One sample, or a side that does not vary, gives 0 and no gradient. Two samples always correlate: nearly -1, and no
    gradient. The value has single precision, or double if X does.

    Args:
        X: vectors of the encoder (n, d).
        Y: the vectors to correlate with (n, k), constants; k may differ from d.
        components: number of correlations to sum; all min(d, k) by default.
        regulariser: the ridge as a share of the mean variance of a column, at least 1e-10. On generated vectors whose
            variances follow a power law, as those of real ones do, directions learned from 256 to 1,024 samples
            generalised best, or nearly so, with .1 to 1; smaller batches need more.

    >>> import torch
    >>> X = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 4.0]], requires_grad=True)
    >>> Y = torch.tensor([[9.0], [7.0], [5.0], [3.0]])  # 9 - 2 x, x the first column of X
    >>> round(cca_loss(X, Y, regulariser=1e-8).item(), 4)
    -1.0
    >>> loss = cca_loss(X, Y)
    >>> loss.backward()
    >>> round(loss.item(), 4), X.grad.shape, Y.grad
    (-0.9002, torch.Size([4, 2]), None)
    """
    _check(X, Y)
    _check_regulariser(regulariser)
    if components is not None and not 1 <= components <= min(X.shape[1], Y.shape[1]):
        raise ConfigError(
            f"must be between 1 and {min(X.shape[1], Y.shape[1])}, the smaller dimension, not {components}",
            where="components",
        )

    def solve(X: Tensor, slope: bool) -> tuple[Tensor, Tensor | None]:
        x, y = _Side.of(X, regulariser), _Side.of(Y.double(), regulariser)
        if x is None or y is None:
            return X.new_zeros(()), None
        pair = _Correlated.of(x, y)
        return -pair.s[:components].sum(), -pair.slope(components) if slope else None

    loss: Tensor = _loss().apply(X, solve)
    return loss


def canonical_correlations(X: Tensor, Y: Tensor, regulariser: float = 0.1) -> Tensor:
    """All min(d, k) canonical correlations that `cca_loss` sums, largest first; no gradient.

    >>> import torch
    >>> X = torch.tensor([[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]])
    >>> [round(value, 4) for value in canonical_correlations(X, X[:, [1, 0]] * 5, 1e-8).tolist()]
    [1.0, 1.0]
    """
    import torch

    _check(X, Y)
    _check_regulariser(regulariser)
    with torch.no_grad(), torch.autocast(X.device.type, enabled=False):
        correlations = torch.zeros(min(X.shape[1], Y.shape[1]), dtype=precision(X), device=X.device)
        x, y = _Side.of(X.double(), regulariser), _Side.of(Y.double(), regulariser)
        if x is not None and y is not None:
            s = _Correlated.of(x, y).s  # fewer, if there are fewer samples
            correlations[: len(s)] = s
        return correlations


def released_cca_loss(X: Tensor, Y: Tensor) -> Tensor:
    """The loss that the code of Hämmerl et al. 2022 minimises as CCA, a scalar; gradients flow to `X` only.

    It compares the ten strongest directions of both sides, not the ten most correlated ones. For each side (n, d):

    1. The means m of the n rows are subtracted, but as an array of n by d that repeats m_1, ..., m_n, m_1, ... row
       by row: element (i, j) loses the mean of row (i d + j) modulo n. If n divides d, all rows shift alike, column j
       by the mean of row j modulo n. This never centres columns, nor (unless n = 1) rows.
    2. The ten largest singular values s of the result and their left vectors a (n,) are kept (all, if there are fewer),
       and scaled to t a, t^2 = max(s^2 / (s^2 + 1e-8), 1e-8): for ordinary vectors t is 1.

    The loss is minus the sum of the ten largest singular values of these vectors of both sides, side by side (n, 20):
    for t = 1 the sum of sqrt(1 + c) over the cosines c of the angles between the two ten-dimensional spaces, and so
    between 10 and 14.1. If both sides have fewer than ten dimensions or samples, the sum also includes sqrt(1 - c) and
    is largest where nothing correlates, so the loss is useless there.

    There is no regulariser; the code sets one and does not use it. Value and gradient are those of the code, in double
    precision, except where its gradient is infinite or pure rounding: if the tenth singular value of X equals the
    eleventh, there is no pull to swap them, and a singular value of 0 in the sum has no gradient. Without samples or
    dimensions the loss is 0.

    >>> import torch
    >>> X = torch.randn(50, 30, generator=torch.Generator().manual_seed(0))
    >>> round(released_cca_loss(X, X).item(), 4)  # ten times the root of 2
    -14.1421
    """
    _check(X, Y)

    def solve(X: Tensor, slope: bool) -> tuple[Tensor, Tensor | None]:
        if not X.numel() or not Y.numel():
            return X.new_zeros(()), None
        x, y = _Strongest.of(X), _Strongest.of(Y.double())
        return _nearness(x, y, slope)

    loss: Tensor = _loss().apply(X, solve)
    return loss


@functools.cache
def _loss() -> Any:
    """The autograd function of a value with a closed-form gradient; defined here because its class needs torch."""
    import torch

    class Loss(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, X: Tensor, solve: Callable[[Tensor, bool], tuple[Tensor, Tensor | None]]) -> Tensor:
            # Autocast would use half precision, which cannot tell a small variance from 0.
            with torch.autocast(X.device.type, enabled=False):
                value, gradient = solve(X.double(), ctx.needs_input_grad[0])
            ctx.save_for_backward(None if gradient is None else gradient.to(precision(X)))
            ctx.shape, ctx.dtype = X.shape, X.dtype
            return value.to(precision(X))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None]:
            (gradient,) = ctx.saved_tensors
            if gradient is None:
                return outer.new_zeros(ctx.shape, dtype=ctx.dtype), None
            return (gradient * outer).to(ctx.dtype), None

    return Loss


@dataclasses.dataclass(frozen=True, eq=False)
class _Side:
    """One side of a batch, ready to be correlated.

    Args:
        C: centred and scaled (n, p); with fewer samples than dimensions, in coordinates of the space they span, so that
            all further matrices are no larger than the batch.
        L: lower triangle with L L' = C'C + ridge (p, p). L^-1 replaces the inverse root above; it only rotates T and U.
        Z: C whitened with L, C L'^-1 (n, p).
        ridge: share of C's squared norm that is added to each dimension.
        basis: (p, d) of the coordinates, if any.
        scale: what C was divided by, so that squares neither overflow nor underflow.
    """

    C: Tensor
    L: Tensor
    Z: Tensor
    ridge: float
    basis: Tensor | None
    scale: Tensor

    @classmethod
    def of(cls, X: Tensor, regulariser: float) -> _Side | None:
        """The side of these vectors; None if they do not vary."""
        import torch

        n, d = X.shape
        if n < 2 or d == 0:
            return None
        C = X - X[0]  # exactly 0 for constant columns, whatever the mean's rounding
        C -= C.mean(0)
        scale = C.abs().amax()
        if not scale.isfinite():
            raise InputError(
                "vectors of the batch are not finite, or too large",
                where="X, Y",
                remedy="lower the learning rate or check the encoder's output",
            )
        if scale <= STILL:
            return None
        C /= scale
        basis = None
        if n < d:
            Q, R = torch.linalg.qr(C.T)
            C, basis = R.T, Q.T
        S = C.T @ C
        ridge = regulariser / d
        S.diagonal().add_(ridge * S.trace())
        L = torch.linalg.cholesky(S)
        # From the samples, not their products, whose rounding may be as large as a small ridge.
        Z = torch.linalg.solve_triangular(L.T, C, upper=True, left=False)
        return cls(C, L, Z, ridge, basis, scale)


@dataclasses.dataclass(frozen=True, eq=False)
class _Correlated:
    """Two sides and the singular value decomposition U diag(s) V' of T."""

    x: _Side
    y: _Side
    U: Tensor
    s: Tensor
    V: Tensor

    @classmethod
    def of(cls, x: _Side, y: _Side) -> _Correlated:
        import torch

        U, s, Vh = torch.linalg.svd(x.Z.T @ y.Z, full_matrices=False)
        return cls(x, y, U, s.clamp_max(1), Vh.T)

    def slope(self, components: int | None) -> Tensor:
        """Gradient (n, d) of the sum of the largest correlations with respect to X."""
        import torch

        x, y = self.x, self.y
        count = int((self.s[:components] > NONE).sum())
        U, s, V = self.U[:, :count], self.s[:count], self.V[:, :count]
        P: Tensor = torch.linalg.solve_triangular(x.L.T, U, upper=True)
        # Partners minus their prediction. All sides are centred, so centring adds nothing to the gradient.
        G = (y.Z @ V - x.Z @ (U * s)) @ P.T
        G -= x.ridge * (P.square().sum(0) @ s) * x.C
        return (G if x.basis is None else G @ x.basis) / x.scale


@dataclasses.dataclass(frozen=True, eq=False)
class _Strongest:
    """One side in the released code: A diag(s) B' is the matrix minus its misplaced means; the first vectors of A,
    scaled by t, are compared."""

    A: Tensor
    s: Tensor
    Bh: Tensor
    t: Tensor

    @classmethod
    def of(cls, X: Tensor) -> _Strongest:
        import torch

        n, d = X.shape
        if not X.isfinite().all():
            raise InputError("vectors of the batch are not finite", where="X, Y")
        A, s, Bh = torch.linalg.svd(X - X.mean(1).repeat(d).view(n, d), full_matrices=False)
        w = s[:RELEASED_COMPONENTS].square()
        return cls(A, s, Bh, (w / (w + RELEASED_EPSILON)).clamp_min(RELEASED_EPSILON).sqrt())

    @property
    def vectors(self) -> Tensor:
        return self.A[:, : len(self.t)] * self.t  # (n, 10)


def _nearness(x: _Strongest, y: _Strongest, slope: bool) -> tuple[Tensor, Tensor | None]:
    """Minus the sum of the largest singular values of both sides' strongest vectors, and its gradient."""
    import torch

    U, lengths, _ = torch.linalg.svd(torch.cat([x.vectors, y.vectors], dim=1), full_matrices=False)
    lengths = lengths[:RELEASED_COMPONENTS]
    if not slope:
        return -lengths.sum(), None
    count = int((lengths > NONE).sum())
    # The squared singular values are the eigenvalues of F(X X') + F(Y Y'), where F maps an eigenvalue w = s^2 to t^2
    # for the strongest directions and to 0 for others. With W = X X' this gives d(sum) = sum(D D' dF(W)).
    D = U[:, :count] / (2 * lengths[:count]).sqrt()
    # dF(W) = A (differences of F over differences of w, times A' dW A) A' (Daleckii and Krein 1965), where only pairs
    # with one of the strongest count. If both are among the strongest, the ratio has a closed form: they may be equal.
    c, w, t2 = len(x.t), x.s.square(), x.t.square()
    gaps = w[:c, None] - w
    apart = (x.s[:c, None] - x.s).abs() > APART * x.s[0]
    F = torch.zeros_like(w)
    F[:c] = t2
    ratios = torch.where(apart, (t2[:, None] - F) / torch.where(apart, gaps, 1), 0)  # (c, q)
    above = t2 > RELEASED_EPSILON
    rises = RELEASED_EPSILON / ((w[:c, None] + RELEASED_EPSILON) * (w[:c] + RELEASED_EPSILON))
    ratios[:, :c] = torch.where(above[:, None] & above, rises, torch.where(above[:, None] | above, ratios[:, :c], 0))
    seen = x.A.T @ D
    K = ratios * (seen[:c] @ seen.T)
    # dX = 2 A K A' X: first the rows of the strongest, then their columns, then what A does not span.
    G = x.A[:, :c] @ ((K * x.s) @ x.Bh)
    rest = x.A[:, c:] @ K[:, c:].T
    clear = x.s[:c] > APART * x.s[0]
    rest += (D - x.A @ seen) @ (seen[:c].T * torch.where(clear, t2 / torch.where(clear, w[:c], 1), 0))
    G += (rest * x.s[:c]) @ x.Bh[:c]
    G *= -2
    n, d = G.shape
    return -lengths.sum(), G - G.reshape(d, n).sum(0)[:, None] / d


def _check(X: Tensor, Y: Tensor) -> None:
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise ShapeError(f"must be (n, d) and (n, k), not {tuple(X.shape)} and {tuple(Y.shape)}", where="X, Y")
    if not (X.is_floating_point() and Y.is_floating_point()):
        raise InputError(f"vectors must be floating-point numbers, not {X.dtype} and {Y.dtype}", where="X, Y")


def _check_regulariser(regulariser: float) -> None:
    if not SMALLEST <= regulariser < math.inf:
        raise ConfigError(f"must be at least {SMALLEST:g}, not {regulariser}", where="regulariser")
