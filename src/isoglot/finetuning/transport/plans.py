"""Entropic transports of a whole batch in the log domain: settings, iterations on potentials, and plans.

Words are as in `isoglot.finetuning.transport.words`; potentials are (B, side, L, other side).
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from isoglot.finetuning.transport.words import check_finite, word_costs
from isoglot.settings import Limits, check_settings

if TYPE_CHECKING:
    from torch import Tensor

#: Name of a ground cost -> the power p of the distance that it grows with; epsilon is blur ** p.
COSTS = {"half-squared": 2, "euclidean": 1, "cosine": 2}
#: Rounding of potentials, in units of what their type resolves: a change below it is none.
ROUNDING = 8
#: Share of the new potentials in further updates: more than half is quicker, all would swing for ever.
FURTHER = 0.9


@dataclasses.dataclass(frozen=True)
class TransportSettings:
    """How a batch of transports is solved; the defaults are those of geomloss.

    Args:
        cost: "half-squared" distances |x - y|^2 / 2, "euclidean" |x - y|, or "cosine" 1 - cos(x, y), which is half the
            squared distance of unit vectors.
        blur: the distance below which words are not distinguished; epsilon is its square, for "euclidean" blur itself.
        scaling: ratio of successive blurs, between 0 and 1: how slowly epsilon falls.
        reach: the distance beyond which words are left behind rather than carried (unbalanced transport: margins may
            differ from the weights at a cost of reach ** p times their divergence).
        debias: False for OT(x, y) alone.
        iterations: maximum number of extra updates at each epsilon.
        tolerance: a pair stops these when no potential would change by more than this share of epsilon.
    """

    cost: str = "half-squared"
    blur: float = 0.05
    scaling: float = 0.5
    reach: float | None = None
    debias: bool = True
    iterations: int = 0
    tolerance: float = 0.01

    limits: ClassVar[Limits] = {
        "cost": tuple(COSTS),
        "blur": "(0, inf)",
        "scaling": "(0, 1)",
        "reach": "(0, inf)",
    }

    def __post_init__(self) -> None:
        check_settings(self, self.limits)

    @property
    def power(self) -> int:
        return COSTS[self.cost]

    @property
    def epsilon(self) -> float:
        return self.blur**self.power

    @property
    def rho(self) -> float | None:
        """Cost of mass that is left behind."""
        return None if self.reach is None else self.reach**self.power


class Problem:
    """The transports of a batch: costs, iterations on their potentials, and the resulting plans, values and slopes.

    Args:
        Z: words (B, 2L, d), see `stack`.
        words: their weights (B, 2, L).
    """

    def __init__(self, Z: Tensor, words: Tensor, settings: TransportSettings) -> None:
        import torch

        self.settings, self.words = settings, words
        C = word_costs(Z, settings.cost)
        self._largest = C.flatten(1).amax(1)  # padding equals the first word, which adds no distance
        if not settings.debias:
            # Only the other side's words matter, so the axis of column sides has length one.
            C = torch.stack([C[:, 0, :, 1:], C[:, 1, :, :1]], dim=1)
        self.C = C  # (B, 2, L, 2, L), or (B, 2, L, 1, L) if not debiased
        L = words.shape[2]
        some = words.amax(dim=2, keepdim=True) > 0
        logs = torch.where(some, words, 1.0).log_()  # (B, 2, L); -inf for padding
        self._logs = logs[:, None] if settings.debias else logs.flip(1)[:, :, None]
        self._T, self._log_shares = torch.empty_like(self.C), torch.empty_like(self.C)
        # Log-sums are read from a column that is a word: the first one, unless sentences are padded on the left.
        self._column: Tensor | None = None
        if not (self._logs[..., 0] > -math.inf).all():
            first = (self._logs > -math.inf).to(torch.uint8).argmax(dim=-1)  # (B, 1 or 2, sides)
            rows = torch.arange(0, self.C.numel(), L, device=C.device).view(self.C.shape[:-1])
            self._column = rows + first[:, :, None]
        self.F: Tensor

    def solve(self) -> None:
        """Find potentials F (B, 2, L, sides) by epsilon scaling, including the last extrapolation."""
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
        """Epsilon and the share of the new potentials, for each update of each pair (updates, B, 1, 1, 1); the share is
        0 while a pair waits for those with more updates."""
        import torch

        settings, p = self.settings, self.settings.power
        costs = check_finite(self._largest)
        start = np.maximum((p * costs) ** (1 / p), settings.blur)  # the diameters
        falls = np.ceil(np.log(settings.blur / start) / math.log(settings.scaling))
        waits = falls.max(initial=0) - falls
        k = np.arange(falls.max(initial=0) + 2)[:, None] - waits  # each pair's own update count; it waits while below 0
        # Two updates at the diameter, then one per fall; the last is at exactly the blur.
        blurs = start * settings.scaling ** np.maximum(k - 1, 0)
        blurs[-1] = settings.blur
        table = np.stack([blurs**p, np.where(k < 0, 0.0, 0.5)])[..., None, None, None]
        epsilons, shares = torch.from_numpy(table).to(self.C)
        return epsilons, shares

    def _softmin(self, F: Tensor | None, inverse: Tensor, gain: Tensor) -> Tensor:
        """Sinkhorn's formula at 1 / epsilon: each word's new potential, given the potentials F of all words."""
        import torch

        h = self._logs if F is None else torch.addcmul(self._logs, self._across(F), inverse).contiguous()
        torch.addcmul(h[:, :, None], self.C, inverse[..., None], value=-1, out=self._T)
        # The log-sum-exp of a row is an entry minus its log-softmax, which torch computes in one pass.
        torch.log_softmax(self._T, -1, out=self._log_shares)
        return torch.sub(self._read(self._T), self._read(self._log_shares)).mul_(gain)

    def _change(self, F: Tensor, new: Tensor) -> Tensor:
        """The largest change of a word's potential (B, 1, 1, 1), minus possible rounding."""
        import torch

        change = ((new - F) * (self.words > 0)[..., None]).abs().amax((1, 2, 3), keepdim=True)
        return change - ROUNDING * torch.finfo(F.dtype).eps * F.abs().amax((1, 2, 3), keepdim=True)

    def _read(self, A: Tensor) -> Tensor:
        return A[..., 0] if self._column is None else A.take(self._column)

    def _across(self, F: Tensor) -> Tensor:
        """F arranged like the columns of the costs: the potential of word j of side s towards side r, at (r, s, j)."""
        return F.permute(0, 3, 1, 2) if self.settings.debias else F.flip(1).permute(0, 1, 3, 2)

    def values(self) -> Tensor:
        """Divergences (B,), or plain transport costs if not debiased."""
        F, rho = self.F, self.settings.rho
        if rho is not None:
            # Séjourné et al. 2019, proposition 12.
            F = -(rho + self.settings.epsilon / 2) * (-F / rho).expm1()
        if self.settings.debias:
            gains = F.clone()
            gains[:, 0, :, 0].neg_()
            gains[:, 1, :, 1].neg_()
            return (self.words * gains.sum(-1)).sum((1, 2))
        return (self.words * F[..., 0]).sum((1, 2))

    def plans(self) -> Tensor:
        """Mass carried between words, in the shape of the costs; rows use the potentials of the last extrapolation,
        columns those before it."""
        import torch

        carried = self.words[..., None]
        if self.settings.rho is not None:
            carried = carried * (-self.F / self.settings.rho).exp()
        return torch.softmax(self._T, -1).mul_(carried[..., None])

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
        G.diagonal(dim1=1, dim2=2).sub_(G.sum(-1))  # sum_j P_ij (x_i - y_j)
        return G


def with_margins(plan: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """A plan (B, n, m) with margins a (B, n) and b (B, m): excess is cut, then missing mass is spread."""
    for dim, margin in ((2, a), (1, b)):
        sums = plan.sum(dim)
        plan = plan * (margin / sums.clamp_min(1e-30)).clamp_max(1).unsqueeze(dim)
    lack_a, lack_b = (a - plan.sum(2)).clamp_min(0), (b - plan.sum(1)).clamp_min(0)
    share = lack_a / lack_a.sum(1, keepdim=True).clamp_min(1e-30)
    return plan + share[:, :, None] * lack_b[:, None, :]
