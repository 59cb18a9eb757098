"""What all transports of a batch share: settings, potentials, and the way from plans to gradients.

A loss of words X and Y by any of them is `divergence` of a `Problem`, or of what else keeps the promises of
`Transports`. Words of both sentences stand below each other in Z (B, 2L, d), L the longer padded length, and so one
symmetric matrix of costs, seen as (B, side, L, side, L), holds the transports of x to y, of x to x and of y to y;
potentials are (B, side, L, other side).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from isoglot.errors import ConfigError, InputError, ShapeError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "COSTS",
    "ROUNDING",
    "Problem",
    "Settings",
    "Transports",
    "check_finite",
    "check_shapes",
    "cost_blocks",
    "divergence",
    "precision",
    "stack",
    "to_unit_length",
    "with_margins",
    "word_costs",
    "word_weights",
]

#: Name of a ground cost -> the power p of the distance that it grows with; epsilon is blur ** p.
COSTS = {"half-squared": 2, "euclidean": 1, "cosine": 2}
#: Rounding of potentials, in units of what their type resolves: a change below it is none.
ROUNDING = 8
#: Share of the new potentials in further updates: more than half is quicker, all would swing for ever.
FURTHER = 0.9


class Transports(Protocol):
    """The transports of a batch, of which `divergence` makes a loss."""

    def solve(self) -> None:
        """Find the plans."""

    def values(self) -> Tensor:
        """What they cost (B,)."""

    def slopes(self) -> Tensor:
        """G (B, 2L, 2L) such that G Z is the gradient of the values with respect to Z."""


def divergence(
    X: Tensor,
    Y: Tensor,
    x_mask: Tensor,
    y_mask: Tensor,
    weights: tuple[Tensor, Tensor] | None,
    cost: str,
    make: Callable[[Tensor, Tensor], Transports],
) -> Tensor:
    """Values (B,) with gradients, of the transports that `make` makes of Z (B, 2L, d) and weights of words (B, 2, L).

    Plans are constants to the gradient (the envelope theorem), and so it is one batched product.
    """
    check_shapes(X, Y, x_mask, y_mask, weights)
    if cost == "cosine":
        X, Y = to_unit_length(X, x_mask), to_unit_length(Y, y_mask)
    value: Tensor = _divergence().apply(X, Y, word_weights(X, Y, x_mask, y_mask, weights), make)
    return value


@dataclasses.dataclass(frozen=True)
class Settings:
    """Arguments of `sinkhorn_divergence`, checked."""

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


class Problem:
    """The transports of a batch: costs, the iterations on their potentials, and what follows from them.

    Args:
        C: costs (B, 2, L, 2, L), or (B, 2, L, 1, L) if not debiased, see `cost_blocks`.
        words: weights (B, 2, L).
        largest: the cost (B,) that epsilon falls from.
    """

    def __init__(self, C: Tensor, words: Tensor, settings: Settings, largest: Tensor) -> None:
        import torch

        self.settings, self.words, self.C, self.largest = settings, words, C, largest
        L = words.shape[2]
        some = words.amax(dim=2, keepdim=True) > 0
        logs = torch.where(some, words, 1.0).log_()  # (B, 2, L); -inf for padding
        self._logs = logs[:, None] if settings.debias else logs.flip(1)[:, :, None]
        self._T, self._log_shares = torch.empty_like(self.C), torch.empty_like(self.C)
        # Log-sums are read off a column that is a word: the first one, but for sentences padded on the left.
        self._column: Tensor | None = None
        if not (self._logs[..., 0] > -math.inf).all():
            first = (self._logs > -math.inf).to(torch.uint8).argmax(dim=-1)  # (B, 1 or 2, sides)
            rows = torch.arange(0, self.C.numel(), L, device=C.device).view(self.C.shape[:-1])
            self._column = rows + first[:, :, None]
        self.F: Tensor

    @classmethod
    def of_words(cls, Z: Tensor, words: Tensor, settings: Settings) -> Problem:
        """That of carrying the words themselves."""
        C, largest = cost_blocks(Z, settings)
        return cls(C, words, settings, largest)

    def solve(self, start: Tensor | None = None) -> None:
        """Potentials F (B, 2, L, sides) by epsilon scaling, up to and with the last extrapolation.

        Args:
            start: potentials of a problem like this one.
        """
        settings = self.settings
        epsilons, shares = self._schedule()
        inverses = epsilons.reciprocal()
        gains = -epsilons if settings.rho is None else -epsilons / (1 + epsilons / settings.rho)
        F = self._softmin(None, inverses[0], gains[0]) if start is None else start.clone()
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
        costs = check_finite(self.largest)
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
        F = self._worth()
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

        return torch.softmax(self._T, -1).mul_(self._carried()[..., None])

    def _worth(self) -> Tensor:
        """What a unit of each word's weight adds to the values, in the shape of the potentials."""
        rho = self.settings.rho
        if rho is None:
            return self.F
        # Séjourné et al. 2019, proposition 12; 1 is what balances an exponential of the other sign.
        return -(rho + self.settings.epsilon / 2) * (-self.F / rho).expm1()

    def _carried(self) -> Tensor:
        """How much of each word leaves it, in the shape of the potentials."""
        mass = self.words[..., None]
        return mass if self.settings.rho is None else mass * (-self.F / self.settings.rho).exp()

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
        def forward(
            ctx: Any, X: Tensor, Y: Tensor, words: Tensor, make: Callable[[Tensor, Tensor], Transports]
        ) -> Tensor:
            # Half precision, as autocast would have it, cannot hold differences of epsilon's size.
            with torch.autocast(X.device.type, enabled=False):
                Z = stack(X, Y, words)
                problem = make(Z, words)
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


def cost_blocks(Z: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    """Costs as `Problem` takes them, and the largest one of each pair (B,)."""
    import torch

    B, L = len(Z), Z.shape[1] // 2
    costs = word_costs(Z, settings.cost).view(B, 2, L, 2, L)
    largest = costs.flatten(1).amax(1)  # padding lies at the first word, which adds no distance
    if not settings.debias:
        # Only the other side's words matter, and the axis of column sides shrinks to one.
        costs = torch.stack([costs[:, 0, :, 1:], costs[:, 1, :, :1]], dim=1)
    return costs, largest


def check_finite(largest: Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The largest cost of each pair, or a complaint about the vectors."""
    costs: np.ndarray[Any, np.dtype[np.float64]] = largest.cpu().double().numpy()
    if not np.isfinite(costs).all():
        raise InputError(
            f"vectors of sentence pair {np.argmin(np.isfinite(costs))} of the batch are not finite, or too long",
            where="X, Y",
            remedy="lower the learning rate or look at the encoder's output",
        )
    return costs


def word_costs(Z: Tensor, cost: str) -> Tensor:
    """(B, N, N), exactly 0 between a word and itself."""
    import torch

    products = torch.bmm(Z, Z.mT)
    half = products.diagonal(dim1=1, dim2=2) / 2
    costs = (half[:, :, None] - products).add_(half[:, None, :]).clamp_min_(0)
    return costs.mul_(2).sqrt_() if cost == "euclidean" else costs


def stack(X: Tensor, Y: Tensor, words: Tensor) -> Tensor:
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


def to_unit_length(X: Tensor, mask: Tensor) -> Tensor:
    """Rows of length 1, with gradients; padding is 0, as its length may be anything."""
    import torch

    X = torch.where(mask[..., None], X, 0).to(precision(X))
    return torch.nn.functional.normalize(X, dim=-1)


def word_weights(X: Tensor, Y: Tensor, x_mask: Tensor, y_mask: Tensor, weights: tuple[Tensor, Tensor] | None) -> Tensor:
    """(B, 2, L) with a sum of 1 on each side, 0 for padding; all 0 for a pair that lacks a side."""
    import torch

    words = torch.zeros(len(X), 2, max(X.shape[1], Y.shape[1], 1), dtype=precision(X, Y), device=X.device)
    for side, mask in enumerate((x_mask, y_mask)):
        given = mask if weights is None else torch.where(mask, weights[side].detach(), 0)
        words[:, side, : mask.shape[1]] = given
    if weights is not None and not ((words >= 0) & (words < math.inf)).all():
        raise InputError("weights of words must be finite and not negative", where="weights")
    sums = words.sum(-1, keepdim=True)
    return torch.where((sums > 0).all(1, keepdim=True), words / sums, 0)


def with_margins(plan: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """A plan (B, n, m) with margins a (B, n) and b (B, m): too much is cut, what then lacks is spread."""
    for dim, margin in ((2, a), (1, b)):
        sums = plan.sum(dim)
        plan = plan * (margin / sums.clamp_min(1e-30)).clamp_max(1).unsqueeze(dim)
    lack_a, lack_b = (a - plan.sum(2)).clamp_min(0), (b - plan.sum(1)).clamp_min(0)
    share = lack_a / lack_a.sum(1, keepdim=True).clamp_min(1e-30)
    return plan + share[:, :, None] * lack_b[:, None, :]


def precision(*tensors: Tensor) -> Any:
    import torch

    return torch.float64 if any(one.dtype == torch.float64 for one in tensors) else torch.float32


def check_shapes(X: Tensor, Y: Tensor, x_mask: Tensor, y_mask: Tensor, weights: tuple[Tensor, Tensor] | None) -> None:
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
