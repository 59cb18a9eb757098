"""The Sinkhorn divergence of all sentence pairs of a batch at once, as a loss that pulls translations together.

Each sentence is a pile of word vectors; the loss is what it costs to carry one pile to the other, freed of the blur
that the entropy adds: S(x, y) = OT(x, y) - OT(x, x) / 2 - OT(y, y) / 2. Alqahtani et al. 2021 (WordOT) fine-tune
encoders with it, through geomloss (Feydy et al. 2019), whose steps and defaults are followed here pair by pair. What
is new is that the transports of all pairs are one masked problem in the log domain, and that the gradient is one
batched product: by the envelope theorem, dS/dx_i = sum_j P_ij dc(x_i, y_j)/dx_i - the same for the plan of x to x,
where the plans P are constants. Nothing is propagated back through the iterations.

Words of both sentences stand below each other in Z (B, 2L, d), L the longer padded length, and so one symmetric matrix
of costs, seen as (B, side, L, side, L), holds all three transports; potentials are (B, side, L, other side).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.errors import ConfigError, InputError, ShapeError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["COSTS", "sinkhorn_divergence", "transport_plan"]

#: Name of a ground cost -> the power p of the distance that it grows with; epsilon is blur ** p.
COSTS = {"half-squared": 2, "euclidean": 1, "cosine": 2}
#: Rounding of potentials, in units of what their type resolves: a change below it is none.
ROUNDING = 8
#: Share of the new potentials in further updates: more than half is quicker, all would swing for ever.
FURTHER = 0.9


def sinkhorn_divergence(
    X: Tensor,
    Y: Tensor,
    x_mask: Tensor,
    y_mask: Tensor,
    *,
    cost: str = "half-squared",
    blur: float = 0.05,
    scaling: float = 0.5,
    weights: tuple[Tensor, Tensor] | None = None,
    reach: float | None = None,
    debias: bool = True,
    iterations: int = 0,
    tolerance: float = 0.01,
) -> Tensor:
    """The divergence (B,) of each of B sentence pairs; gradients flow to `X` and `Y`, not to the weights.

    Epsilon falls, for each pair by itself, from D ** p to blur ** p, where D is the largest distance between two of
    the pair's words: one update at D ** p, one at (D * scaling ** k) ** p for each k = 0, 1, ... that leaves it above
    blur ** p, and one at blur ** p. An update replaces all potentials by the mean of themselves and of what Sinkhorn's
    formula gives, both sides at once; a last one without the mean gives the value. This is geomloss' schedule, but for
    the diameter: it takes that of the box around all words of the batch, which is larger. A pair that needs fewer steps
    than others waits for them at its start, so that no result depends on the other pairs of the batch.

    With so few updates the potentials are near their optimum, not at it (nor are geomloss'), mostly so for sentences of
    unequal lengths; `iterations` bring them closer, as does `scaling` nearer to 1. A sentence without words, or without
    weight, gives 0 and no gradient.

    Args:
        X, Y: word vectors (B, n, d) and (B, m, d), padded. What padding holds does not matter.
        x_mask, y_mask: (B, n) and (B, m), true for words.
        cost: "half-squared" distances |x - y|^2 / 2, "euclidean" |x - y|, or "cosine" 1 - cos(x, y), which is half the
            squared distance of vectors brought to length 1.
        blur: the distance within which words are not told apart; epsilon is its square, for "euclidean" blur itself.
        scaling: ratio of successive blurs, between 0 and 1: how slowly epsilon falls.
        weights: of words, (B, n) and (B, m), brought to a sum of 1 in each sentence; uniform by default.
        reach: the distance from which on words are rather left behind than carried (unbalanced transport: margins
            may differ from the weights at the price of reach ** p times their divergence).
        debias: False for OT(x, y) alone.
        iterations: how many further updates there may be at each epsilon.
        tolerance: a pair takes none of these any more when it would change no potential by this share of epsilon.

    >>> import torch
    >>> X = torch.tensor([[[0.0, 0.0], [4.0, 0.0]], [[1.0, 1.0], [9.0, 9.0]]], requires_grad=True)
    >>> Y = torch.tensor([[[4.0, 2.0], [0.0, 2.0]], [[1.0, 1.0], [7.0, 7.0]]])
    >>> mask = torch.tensor([[True, True], [True, False]])
    >>> loss = sinkhorn_divergence(X, Y, mask, mask)
    >>> [round(value, 4) for value in loss.tolist()]
    [2.0, 0.0]
    >>> loss.sum().backward()
    >>> X.grad.round(decimals=4).abs().tolist()
    [[[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]
    """
    settings = _Settings(cost, blur, scaling, reach, iterations, tolerance, debias)
    _check_shapes(X, Y, x_mask, y_mask, weights)
    if cost == "cosine":
        X, Y = _to_unit_length(X, x_mask), _to_unit_length(Y, y_mask)
    value: Tensor = _divergence().apply(X, Y, _word_weights(X, Y, x_mask, y_mask, weights), settings)
    return value


def transport_plan(
    X: Tensor,
    Y: Tensor,
    x_mask: Tensor,
    y_mask: Tensor,
    *,
    cost: str = "half-squared",
    blur: float = 0.05,
    scaling: float = 0.5,
    weights: tuple[Tensor, Tensor] | None = None,
    reach: float | None = None,
    iterations: int = 100,
    tolerance: float = 0.01,
) -> Tensor:
    """The plan (B, n, m) that carries the words of each sentence to the other's: soft word alignments, no gradient.

    Rows and columns sum to the weights; what the potentials miss of that, after so many iterations, is set right as
    in Altschuler et al. 2017. With a `reach` they may sum to less, and nothing is set right. Computed in double
    precision. Arguments are those of `sinkhorn_divergence`.

    >>> import torch
    >>> X, Y = torch.tensor([[[0.0, 0.0], [4.0, 0.0]]]), torch.tensor([[[4.0, 2.0], [0.0, 2.0]]])
    >>> mask = torch.ones(1, 2, dtype=torch.bool)
    >>> transport_plan(X, Y, mask, mask).tolist()
    [[[0.0, 0.5], [0.5, 0.0]]]
    """
    import torch

    settings = _Settings(cost, blur, scaling, reach, iterations, tolerance, debias=False)
    _check_shapes(X, Y, x_mask, y_mask, weights)
    with torch.no_grad(), torch.autocast(X.device.type, enabled=False):
        precision = _precision(X, Y)
        # The rounding of single precision, divided by a small epsilon, would be seen in the margins.
        X, Y = X.double(), Y.double()
        if cost == "cosine":
            X, Y = _to_unit_length(X, x_mask), _to_unit_length(Y, y_mask)
        words = _word_weights(X, Y, x_mask, y_mask, weights)
        problem = _Problem(_stack(X, Y, words), words, settings)
        problem.solve()
        a, b = words[:, 0, : X.shape[1]], words[:, 1, : Y.shape[1]]
        plan = problem.plans()[:, 0, : X.shape[1], 0, : Y.shape[1]]
        return (plan if reach is not None else _with_margins(plan, a, b)).to(precision)


@dataclasses.dataclass(frozen=True)
class _Settings:
    cost: str
    blur: float
    scaling: float
    reach: float | None
    iterations: int
    tolerance: float
    debias: bool

    def __post_init__(self) -> None:
        if self.cost not in COSTS:
            raise ConfigError(f"unknown cost {self.cost!r}", where="cost", remedy=f"one of {', '.join(COSTS)}")
        if not 0 < self.blur < math.inf:
            raise ConfigError(f"must be above 0, not {self.blur}", where="blur")
        if not 0 < self.scaling < 1:
            raise ConfigError(f"must lie between 0 and 1, not {self.scaling}", where="scaling")
        if self.reach is not None and not 0 < self.reach < math.inf:
            raise ConfigError(f"must be above 0, not {self.reach}", where="reach", remedy="None for balanced transport")
        if self.iterations < 0 or not self.tolerance >= 0:
            raise ConfigError("iterations and tolerance must not be negative")

    @property
    def power(self) -> int:
        return COSTS[self.cost]

    @property
    def epsilon(self) -> float:
        return self.blur**self.power

    @property
    def rho(self) -> float | None:
        """Price of mass that is left behind."""
        return None if self.reach is None else self.reach**self.power


class _Problem:
    """The transports of a batch: costs, the iterations on their potentials, and what follows from them."""

    def __init__(self, Z: Tensor, words: Tensor, settings: _Settings) -> None:
        import torch

        self.settings, self.words = settings, words
        B, _, L = words.shape
        costs = _costs(Z, settings.cost).view(B, 2, L, 2, L)
        self._largest = costs.flatten(1).amax(1)  # (B,); padding lies at the first word, which adds no distance
        # Not debiased: only the other side's words matter, and the axis of column sides shrinks to one.
        self.C = costs if settings.debias else torch.stack([costs[:, 0, :, 1:], costs[:, 1, :, :1]], dim=1)
        some = words.amax(dim=2, keepdim=True) > 0
        logs = torch.where(some, words, 1.0).log_()  # (B, 2, L); -inf for padding
        self._logs = logs[:, None] if settings.debias else logs.flip(1)[:, :, None]
        self._T, self._log_shares = torch.empty_like(self.C), torch.empty_like(self.C)
        # Log-sums are read off a column that is a word: the first one, but for sentences padded on the left.
        self._column: Tensor | None = None
        if not (self._logs[..., 0] > -math.inf).all():
            first = (self._logs > -math.inf).to(torch.uint8).argmax(dim=-1)  # (B, 1 or 2, sides)
            rows = torch.arange(0, self.C.numel(), L, device=Z.device).view(self.C.shape[:-1])
            self._column = rows + first[:, :, None]
        self.F: Tensor

    def solve(self) -> None:
        """Potentials F (B, 2, L, sides) by epsilon scaling, up to and with the last extrapolation."""
        settings = self.settings
        epsilons, shares = self._schedule()
        inverses = epsilons.reciprocal()
        gains = -epsilons if settings.rho is None else -epsilons / (1 + epsilons / settings.rho)
        F = self._softmin(None, inverses[0], gains[0])
        for step in zip(*(one.unbind() for one in (epsilons, inverses, gains, shares)), strict=True):
            epsilon, inverse, gain, share = step
            F.lerp_(self._softmin(F, inverse, gain), share)
            for _ in range(settings.iterations):
                new = self._softmin(F, inverse, gain)
                moving = self._change(F, new) > settings.tolerance * epsilon
                moving &= share > 0
                if not moving.any():
                    break
                F.lerp_(new, FURTHER * moving.to(F.dtype))
        self.F = self._softmin(F, inverses[-1], gains[-1])

    def _schedule(self) -> tuple[Tensor, Tensor]:
        """At each update of each pair, (updates, B, 1, 1, 1): epsilon, and the share of the new potentials, which is 0
        while the pair waits for those with more updates."""
        import torch

        settings, p = self.settings, self.settings.power
        costs = self._largest.cpu().double().numpy()
        if not np.isfinite(costs).all():
            raise InputError(
                f"vectors of sentence pair {np.argmin(np.isfinite(costs))} of the batch are not finite, or too long",
                where="X, Y",
                remedy="lower the learning rate or look at the encoder's output",
            )
        start = np.maximum((p * costs) ** (1 / p), settings.blur)  # the diameters
        falls = np.ceil(np.log(settings.blur / start) / math.log(settings.scaling))
        waits = falls.max(initial=0) - falls
        k = np.arange(falls.max(initial=0) + 2)[:, None] - waits  # each pair's own count of updates, below 0: it waits
        # Two updates at the diameter, then one a fall; the last is at the blur, wherever the falls lead.
        blurs = start * settings.scaling ** np.maximum(k - 1, 0)
        blurs[-1] = settings.blur
        table = np.stack([blurs**p, np.where(k < 0, 0.0, 0.5)])[..., None, None, None]
        epsilons, shares = torch.from_numpy(table).to(self.C)
        return epsilons, shares

    def _softmin(self, F: Tensor | None, inverse: Tensor, gain: Tensor) -> Tensor:
        """Sinkhorn's formula at 1 / epsilon: what the potentials F of all words demand of each word's own."""
        import torch

        h = self._logs if F is None else torch.addcmul(self._logs, self._across(F), inverse).contiguous()
        torch.addcmul(h[:, :, None], self.C, inverse[..., None], value=-1, out=self._T)
        # The log-sum-exp of a row is the difference of an entry and its log-softmax, which torch computes in one go.
        torch.log_softmax(self._T, -1, out=self._log_shares)
        return torch.sub(self._read(self._T), self._read(self._log_shares)).mul_(gain)

    def _change(self, F: Tensor, new: Tensor) -> Tensor:
        """The largest change of a word's potential (B, 1, 1, 1), beyond what rounding may have made."""
        import torch

        change = ((new - F) * (self.words > 0)[..., None]).abs().amax((1, 2, 3), keepdim=True)
        return change - ROUNDING * torch.finfo(F.dtype).eps * F.abs().amax((1, 2, 3), keepdim=True)

    def _read(self, A: Tensor) -> Tensor:
        return A[..., 0] if self._column is None else A.take(self._column)

    def _across(self, F: Tensor) -> Tensor:
        """F as the columns of the costs meet it: the potential of word j of side s towards side r, at (r, s, j)."""
        return F.permute(0, 3, 1, 2) if self.settings.debias else F.flip(1).permute(0, 1, 3, 2)

    def values(self) -> Tensor:
        """Divergences, or undebiased transports (B,), of the potentials."""
        rho, F = self.settings.rho, self.F
        if rho is not None:
            # Séjourné et al. 2019, proposition 12; 1 is what balances an exponential of the other sign.
            F = -(rho + self.settings.epsilon / 2) * (-F / rho).expm1()
        if self.settings.debias:
            gains = F.clone()
            gains[:, 0, :, 0].neg_()
            gains[:, 1, :, 1].neg_()
            return (self.words * gains.sum(-1)).sum((1, 2))
        return (self.words * F[..., 0]).sum((1, 2))

    def plans(self) -> Tensor:
        """Mass carried from each word to each other one, in the shape of the costs: each row's own potential is that
        of the last extrapolation, the columns' are those before."""
        import torch

        mass = self.words[..., None]
        if self.settings.rho is not None:
            mass = mass * (-self.F / self.settings.rho).exp()
        return torch.softmax(self._T, -1).mul_(mass[..., None])

    def slopes(self) -> Tensor:
        """G (B, 2L, 2L) such that G Z is the gradient of the values with respect to Z."""
        import torch

        P = self.plans()
        if self.settings.cost == "euclidean":  # dc/dx = (x - y) / c, and 0 where the words are the same
            P = torch.where(self.C > 0, P / self.C, 0.0)
        B, _, L, _, _ = P.shape
        if self.settings.debias:
            G = P
            G[:, 0, :, 1].neg_()
            G[:, 1, :, 0].neg_()
        else:
            G = P.new_zeros(B, 2, L, 2, L)
            G[:, 0, :, 1], G[:, 1, :, 0] = -P[:, 0, :, 0], -P[:, 1, :, 0]
        G = G.view(B, 2 * L, 2 * L)
        G.diagonal(dim1=1, dim2=2).sub_(G.sum(-1))  # what is carried leaves x: sum_j P_ij (x_i - y_j)
        return G


@functools.cache
def _divergence() -> Any:
    """The autograd function; made here because its class needs torch."""
    import torch

    class Divergence(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, X: Tensor, Y: Tensor, words: Tensor, settings: _Settings) -> Tensor:
            # Half precision, as autocast would have it, cannot hold differences of epsilon's size.
            with torch.autocast(X.device.type, enabled=False):
                Z = _stack(X, Y, words)
                problem = _Problem(Z, words, settings)
                problem.solve()
                if any(ctx.needs_input_grad):
                    ctx.save_for_backward(problem.slopes(), Z)
                ctx.lengths, ctx.dtypes = (X.shape[1], Y.shape[1]), (X.dtype, Y.dtype)
                return problem.values()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, Tensor, None, None]:
            G, Z = ctx.saved_tensors
            (n, m), L = ctx.lengths, Z.shape[1] // 2
            with torch.autocast(Z.device.type, enabled=False):
                G = G * outer[:, None, None]
                # Two products and not one: autograd would copy slices of a common one.
                dX, dY = torch.bmm(G[:, :n], Z), torch.bmm(G[:, L : L + m], Z)
            return dX.to(ctx.dtypes[0]), dY.to(ctx.dtypes[1]), None, None

    return Divergence


def _costs(Z: Tensor, cost: str) -> Tensor:
    """(B, N, N), exactly 0 between a word and itself."""
    import torch

    products = torch.bmm(Z, Z.mT)
    half = products.diagonal(dim1=1, dim2=2) / 2
    costs = (half[:, :, None] - products).add_(half[:, None, :]).clamp_min_(0)
    return costs.mul_(2).sqrt_() if cost == "euclidean" else costs


def _stack(X: Tensor, Y: Tensor, words: Tensor) -> Tensor:
    """Both sides' words below each other (B, 2L, d), seen from the pair's first word of X.

    Costs do not depend on the origin, but their rounding does: contextual vectors share most of their length.
    """
    import torch

    (B, n, d), m, L = X.shape, Y.shape[1], words.shape[2]
    there = words > 0
    origin = X[torch.arange(B, device=X.device), there[:, 0].to(torch.uint8).argmax(dim=1)] if n else X.new_zeros(B, d)
    origin = torch.where(there[:, 0].any(dim=1, keepdim=True), origin, 0)[:, None].to(words.dtype)
    Z = words.new_empty(B, 2 * L, d)
    torch.sub(X, origin, out=Z[:, :n])
    torch.sub(Y, origin, out=Z[:, L : L + m])
    missing = ~there.flatten(1)
    if missing.any():
        Z[missing] = 0  # whatever padding held, it is now the first word again
    return Z


def _to_unit_length(X: Tensor, mask: Tensor) -> Tensor:
    """Rows of length 1, with gradients; padding is 0, as its length may be anything."""
    import torch

    X = torch.where(mask[..., None], X, 0).to(_precision(X))
    return torch.nn.functional.normalize(X, dim=-1)


def _word_weights(
    X: Tensor, Y: Tensor, x_mask: Tensor, y_mask: Tensor, weights: tuple[Tensor, Tensor] | None
) -> Tensor:
    """(B, 2, L) with a sum of 1 on each side, 0 for padding; all 0 for a pair that lacks a side."""
    import torch

    words = torch.zeros(len(X), 2, max(X.shape[1], Y.shape[1], 1), dtype=_precision(X, Y), device=X.device)
    for side, mask in enumerate((x_mask, y_mask)):
        given = mask if weights is None else torch.where(mask, weights[side].detach(), 0)
        words[:, side, : mask.shape[1]] = given
    if weights is not None and not ((words >= 0) & (words < math.inf)).all():
        raise InputError("weights of words must be finite and not negative", where="weights")
    sums = words.sum(-1, keepdim=True)
    return torch.where((sums > 0).all(1, keepdim=True), words / sums, 0)


def _with_margins(plan: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """A plan (B, n, m) with margins a (B, n) and b (B, m): too much is cut, what then lacks is spread."""
    for dim, margin in ((2, a), (1, b)):
        sums = plan.sum(dim)
        plan = plan * (margin / sums.clamp_min(1e-30)).clamp_max(1).unsqueeze(dim)
    lack_a, lack_b = (a - plan.sum(2)).clamp_min(0), (b - plan.sum(1)).clamp_min(0)
    share = lack_a / lack_a.sum(1, keepdim=True).clamp_min(1e-30)
    return plan + share[:, :, None] * lack_b[:, None, :]


def _precision(*tensors: Tensor) -> Any:
    import torch

    return torch.float64 if any(one.dtype == torch.float64 for one in tensors) else torch.float32


def _check_shapes(X: Tensor, Y: Tensor, x_mask: Tensor, y_mask: Tensor, weights: tuple[Tensor, Tensor] | None) -> None:
    import torch

    if X.ndim != 3 or Y.ndim != 3 or X.shape[0] != Y.shape[0] or X.shape[2] != Y.shape[2]:
        raise ShapeError(
            f"word vectors must be (B, n, d) and (B, m, d), not {tuple(X.shape)} and {tuple(Y.shape)}", where="X, Y"
        )
    if not (X.is_floating_point() and Y.is_floating_point()):
        raise InputError(f"word vectors must be floating-point numbers, not {X.dtype} and {Y.dtype}", where="X, Y")
    for name, mask, vectors in (("x_mask", x_mask, X), ("y_mask", y_mask, Y)):
        if mask.shape != vectors.shape[:2]:
            raise ShapeError(f"must be {tuple(vectors.shape[:2])}, not {tuple(mask.shape)}", where=name)
        if mask.dtype != torch.bool:
            raise InputError(f"must be bool, not {mask.dtype}", where=name, remedy="mask.bool()")
    for one, vectors in zip(weights or (), (X, Y), strict=weights is not None):
        if one.shape != vectors.shape[:2]:
            raise ShapeError(f"must be {tuple(vectors.shape[:2])}, not {tuple(one.shape)}", where="weights")
