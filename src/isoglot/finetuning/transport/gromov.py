"""Fused Gromov-Wasserstein transport for all sentence pairs of a batch (Vayer et al. 2019).

A plan is good if it carries words to nearby ones, as in `sinkhorn_divergence`, and if it preserves distances: two words
of a sentence go to two words of the translation that are as far apart. The second part needs no common space. It is
quadratic in the plan P: sum_ijkl (D_ik - E_jl)^2 / 2 P_ij P_kl = const - tr(D P E P'), with distances D and E within
the sentences. For Euclidean distances it is concave on plans with fixed margins, so its linearisation at any plan is an
upper bound, and minimising that plus the entropy, which is an ordinary transport problem, never increases the cost. A
few of these steps, each starting from the previous potentials, lead to a local optimum. There the gradient treats the
plan as constant (the envelope theorem) and reaches the words through the costs and the distances of both sides.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from isoglot.errors import ConfigError
from isoglot.finetuning.transport.newton import entropic_plans
from isoglot.finetuning.transport.plans import ROUNDING, TransportSettings, with_margins
from isoglot.finetuning.transport.sinkhorn import divergence
from isoglot.finetuning.transport.words import check_finite, word_costs

if TYPE_CHECKING:
    from torch import Tensor

#: Updates of the potentials at each epsilon of each step, at most; and mass that may be wrong, for each of tolerance.
UPDATES, WRONG = 20, 1e-4
#: Which sides the transports are between: x to y, and, if debiased, x to x and y to y.
CROSS, SELF = (0, 1), ((0, 0), (1, 1))


def gromov_divergence(
    X: Tensor,
    Y: Tensor,
    x_mask: Tensor,
    y_mask: Tensor,
    settings: TransportSettings = TransportSettings(),
    *,
    structure: float,
    weights: tuple[Tensor, Tensor] | None = None,
    steps: int = 30,
) -> Tensor:
    """The fused Gromov-Wasserstein cost (B,) of each of B sentence pairs; gradients as in `sinkhorn_divergence`.

    It is the local minimum, found from the plan a b, of (1 - structure) sum_ij c(x_i, y_j) P_ij + structure
    sum_ijkl (|x_i - x_k| - |y_j - y_l|)^2 / 2 P_ij P_kl + epsilon KL(P | a b) over plans P with margins a and b. Half
    the square has the scale of half-squared costs; distances are Euclidean whatever the cost, for "cosine" those of
    unit vectors. Where the first linearisation leaves a tie, as it does for two words on each side with a structure of
    1, word order breaks it. The derivative of the distance between identical words is taken to be 0. Everything is in
    double precision and takes ten to forty times as long as `sinkhorn_divergence`.

    If debiased, half the cost of carrying each side to itself is subtracted, starting from the plan that leaves every
    word in place (as Bunne et al. 2019 do). A sentence then costs nothing to carry to itself, if the steps find that
    plan; with distances alone they sometimes do not. It is not proven that the difference is never negative.

    Args:
        settings: here `scaling` is that of epsilon, `iterations` are extra updates at each epsilon of each step, and a
            pair stops when a step would change the linearised costs by less than `tolerance`, as a share of epsilon.
            There is no `reach`.
        structure: weight of distances, from 0 to 1 (Gromov-Wasserstein alone, which ignores rotations of X).
        steps: maximum number of linearisations.
        X, Y, x_mask, y_mask, weights: see `sinkhorn_divergence`.

    >>> import torch
    >>> X = torch.tensor([[[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]])
    >>> Y = torch.tensor([[[9.0, 4.0], [9.0, 1.0], [5.0, 1.0]]])
    >>> mask = torch.ones(1, 3, dtype=torch.bool)
    >>> abs(round(gromov_divergence(X, Y, mask, mask, structure=1.0).item(), 3))
    0.0
    """
    if not 0 <= structure <= 1:
        raise ConfigError(f"must be between 0 and 1, not {structure}", where="structure")
    if steps < 1:
        raise ConfigError(f"must be at least 1, not {steps}", where="steps")
    if settings.reach is not None:
        raise ConfigError("must be None", where="reach")
    make = functools.partial(_Gromov, settings=settings, structure=structure, steps=steps)
    return divergence(X, Y, x_mask, y_mask, weights, settings.cost, make)


class _Gromov:
    """The N transports of a batch: from x to y, then from x to x and from y to y if debiased."""

    def __init__(self, Z: Tensor, words: Tensor, settings: TransportSettings, structure: float, steps: int) -> None:
        import torch

        self._settings, self._structure, self._steps, self._dtype = settings, structure, steps, Z.dtype
        B, _, L = words.shape
        # In single precision, rounding of large squares divided by a small epsilon would determine the plans.
        Z, words = Z.double(), words.double()
        words = words / words.sum(-1, keepdim=True).clamp_min(1e-30)
        costs = word_costs(Z, settings.cost)
        check_finite(costs.flatten(1).amax(1))
        distances = costs if settings.cost == "euclidean" else (2 * costs).sqrt()
        # Exactly 0 where they may be mere rounding, as gradients are divided by them.
        squares = ROUNDING * torch.finfo(self._dtype).eps * Z.square().sum(-1).view(B, 2, L)
        noise = squares[:, :, :, None, None] + squares[:, None, None]
        distances = torch.where(distances.square() > noise, distances, 0.0)
        costs = distances if settings.cost == "euclidean" else costs
        self._sides = (CROSS, *SELF) if settings.debias else (CROSS,)
        self.C = torch.cat([costs[:, i, :, j] for i, j in self._sides])  # (N, L, L)
        self.D = torch.cat([distances[:, i, :, i] for i, _ in self._sides])
        self.E = torch.cat([distances[:, j, :, j] for _, j in self._sides])
        self.words = torch.cat([words[:, [i, j]] for i, j in self._sides])  # (N, 2, L)
        a, b = self.words.unbind(1)
        self.P = a[:, :, None] * b[:, None, :]
        self.P[B:] = torch.diag_embed(a[B:])
        # Row and column terms of the linearised costs, fixed by the margins; they keep the costs small and positive.
        self._fixed = (self.D.square() @ a[..., None]) + (self.E.square() @ b[..., None]).mT

    def solve(self) -> None:
        """Find the plans P (N, L, L)."""
        import torch

        settings, (a, b) = self._settings, self.words.unbind(1)
        there = (a[:, :, None] > 0) & (b[:, None, :] > 0)
        C, potentials = torch.zeros_like(self.C), None
        for step in range(self._steps):
            new = self._linearised()
            if step == 0:
                new += self._ties()
            new.masked_fill_(~there, 0)
            change, size = (new - C).abs().amax((1, 2)), new.abs().amax((1, 2))
            moving = change > settings.tolerance * settings.epsilon + ROUNDING * torch.finfo(C.dtype).eps * size
            # A pair that has converged keeps its plan: no result depends on the other pairs of the batch.
            rows = moving.nonzero()[:, 0]
            if not len(rows):
                break
            C = new
            plans, new_potentials = entropic_plans(
                C[rows],
                a[rows],
                b[rows],
                epsilon=settings.epsilon,
                largest=change[rows],  # the largest error of the potentials
                start=None if potentials is None else potentials[rows],
                scaling=settings.scaling,
                updates=UPDATES + settings.iterations,
                tolerance=WRONG * settings.tolerance,
            )
            self.P[rows] = with_margins(plans, a[rows], b[rows])
            potentials = C.new_zeros(*C.shape[:2], 1) if potentials is None else potentials
            potentials[rows] = new_potentials

    def _linearised(self) -> Tensor:
        """(1 - s) c_ij + s sum_kl (D_ik - E_jl)^2 P_kl."""
        quadratic = self._fixed - 2 * (self.D @ self.P @ self.E)
        return quadratic.mul_(self._structure).add_(self.C, alpha=1 - self._structure)

    def _ties(self) -> Tensor:
        """Costs below epsilon for words at different positions: enough to leave a saddle point."""
        words = self.words > 0
        places = words.cumsum(2) / words.sum(2, keepdim=True).clamp_min(1)
        a, b = places.to(self.C).unbind(1)
        return (a[:, :, None] - b[:, None, :]).square().mul_(self._settings.epsilon)

    def values(self) -> Tensor:
        import torch

        logs = torch.where(self.words > 0, self.words, 1).log()
        # The entropy in parts, as products of small weights may underflow.
        entropy = torch.xlogy(self.P, self.P) - self.P * (logs[:, 0, :, None] + logs[:, 1, None, :])
        quadratic = self._fixed / 2 - self.D @ self.P @ self.E
        costs = self._structure * quadratic + (1 - self._structure) * self.C
        values = (self.P * costs + self._settings.epsilon * entropy).sum((1, 2))
        cross, *selves = values.chunk(len(self._sides))
        for one in selves:
            cross = cross - one / 2
        return cross.to(self._dtype)

    def slopes(self) -> Tensor:
        P, (a, b), s = self.P, self.words.unbind(1), self._structure
        pull = P
        if self._settings.cost == "euclidean":  # dc/dx = (x - y) / c, and 0 where the words are the same
            pull = _along(P, self.C)
        N, L, _ = P.shape
        G = P.new_zeros(N, 2, L, 2, L)
        G[:, 0, :, 1], G[:, 1, :, 0] = (s - 1) * pull, (s - 1) * pull.mT
        # Each distance occurs twice in the sum; its derivative is sum_jl (D_ik - E_jl) P_ij P_kl.
        G[:, 0, :, 0] = -2 * s * _along(a[:, :, None] * a[:, None, :] * self.D - P @ self.E @ P.mT, self.D)
        G[:, 1, :, 1] = -2 * s * _along(b[:, :, None] * b[:, None, :] * self.E - P.mT @ self.D @ P, self.E)
        cross, *selves = G.chunk(len(self._sides))
        for (side, _), one in zip(SELF, selves, strict=False):
            cross[:, side, :, side] -= one.sum((1, 3)) / 2  # both sides have the same words
        G = cross.reshape(len(cross), 2 * L, 2 * L)
        G.diagonal(dim1=1, dim2=2).sub_(G.sum(-1))
        return G.to(self._dtype)


def _along(slope: Tensor, distances: Tensor) -> Tensor:
    """The factor for differences of words, given the derivative with respect to their distances."""
    import torch

    return torch.where(distances > 0, slope / distances, 0.0)
