"""Entropic transport plans of a batch of costs, to full precision, by Newton's method on the potentials of one side.

Sinkhorn's updates need hundreds of rounds where sentences have unequal lengths and epsilon is small. A loss can live
with potentials that are near their optimum; linearisations of which each starts from the plan of the last cannot.
With the columns' potentials g(f) always those that give them their weights, f is at its optimum when the rows' sums r
are their weights a, and dr/df = (diag(r) - P diag(1 / b) P') / epsilon: as small as the sentence, and solved directly
(Cuturi and Peyré 2018, section 3, have this dual). About fifty updates, all in double precision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

#: No potential moves by more than so many epsilons at once: as far as exponentials are told by their slopes.
FARTHEST = 2.0
#: Mass that may be at a wrong word before epsilon falls. With more, a small epsilon begins many epsilons away from its
#: optimum, in a plan of ones and zeros that has no slope to find it by: seen where two words meet fifteen.
ROUGH = 1e-4
#: Share of the diagonal that is added to the matrix, of its own and for each unit of mass at a wrong word: parts of
#: the plan that do not touch can be moved against each other, which would make it singular.
HELD, HELD_FAR = 1e-10, 1e-3


def entropic_plans(
    C: Tensor,
    a: Tensor,
    b: Tensor,
    *,
    epsilon: float,
    largest: Tensor,
    start: Tensor | None = None,
    scaling: float = 0.5,
    updates: int = 100,
    tolerance: float = 1e-6,
) -> tuple[Tensor, Tensor]:
    """Plans (N, n, m) that minimise sum C P + epsilon KL(P | a b), and potentials (N, n, 1) to start others from.

    Columns sum to `b`, rows to `a` but for the tolerance. No result depends on the other problems of the batch.

    Args:
        C: costs (N, n, m), finite also where there is padding, in double precision.
        a, b: weights (N, n) and (N, m), 0 for padding, with a sum of 1 in each row.
        largest: what epsilon falls from (N,): the largest cost or, with a start, its largest change.
        start: potentials of problems like these.
        scaling: ratio of successive epsilons.
        updates: at each epsilon, at most.
        tolerance: mass that may be at a wrong word in the end.

    >>> import torch
    >>> C = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)
    >>> half, one = torch.full((1, 2), 0.5, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    >>> entropic_plans(C, half, half, epsilon=1.0, largest=one)[0].round(decimals=3).tolist()
    [[[0.366, 0.134], [0.134, 0.366]]]
    """
    import torch

    logs = a.log()[:, :, None], b.log()[:, None, :]
    falls = ((largest / epsilon).clamp_min(1).log() / -math.log(scaling)).ceil()  # (N,)
    f = C.new_zeros(*C.shape[:2], 1) if start is None else start
    g = _softmin(C, f, logs[0], largest.clamp_min(epsilon), 1)
    for k in range(int(falls.max()) + 1):
        live = falls >= k
        now = torch.where(falls > k, largest * scaling**k, epsilon)
        goal = torch.where(falls > k, max(ROUGH, tolerance), tolerance)
        # One round of Sinkhorn's, which is right about words that have nearly no mass, where slopes say nothing.
        f = _chosen(live, _softmin(C, g, logs[1], now, 2), f)
        g = _chosen(live, _softmin(C, f, logs[0], now, 1), g)
        for _ in range(updates):
            P = _plans(C, f, g, logs, now)
            lack = a - P.sum(2)
            moving = live & (lack.abs().sum(1) > goal)
            if not moving.any():
                break
            f = _chosen(moving, f + now[:, None, None] * _newton_step(P, lack, a, b), f)
            g = _chosen(moving, _softmin(C, f, logs[0], now, 1), g)
    return _plans(C, f, g, logs, torch.full_like(largest, epsilon)), f


def _newton_step(P: Tensor, lack: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The change of potentials (N, n, 1), in epsilons, that would bring rows what they lack (N, n)."""
    import torch

    there, wrong = a > 0, lack.abs().sum(1, keepdim=True)
    # In units of the weights' roots the matrix is a graph's normalised Laplacian, however small some weights are.
    root = torch.where(there, a, 1).sqrt()[..., None]
    shares = (P / root) / torch.where(b > 0, b, 1).sqrt()[:, None, :]
    S = -shares @ shares.mT
    own = torch.where(there, P.sum(2) / root[..., 0].square() + HELD + HELD_FAR * wrong, 1)
    S.diagonal(dim1=1, dim2=2).add_(own)
    step: Tensor = torch.linalg.solve(S, lack[..., None] / root) / root
    step = step - (step * a[..., None]).sum(1, keepdim=True)  # a constant would only move what both sides share
    step = step.masked_fill(~there[..., None], 0)
    step *= FARTHEST / step.abs().amax(1, keepdim=True).clamp_min(FARTHEST)
    return step


def _softmin(C: Tensor, potentials: Tensor, logs: Tensor, epsilon: Tensor, dim: int) -> Tensor:
    """What the potentials of one side, with the logs of its weights, demand of the other side's."""
    import torch

    epsilon = epsilon[:, None, None]
    return -epsilon * torch.logsumexp(logs + (potentials - C) / epsilon, dim, keepdim=True)


def _plans(C: Tensor, f: Tensor, g: Tensor, logs: tuple[Tensor, Tensor], epsilon: Tensor) -> Tensor:
    return ((f + g - C) / epsilon[:, None, None] + logs[0] + logs[1]).exp()


def _chosen(which: Tensor, new: Tensor, old: Tensor) -> Tensor:
    import torch

    return torch.where(which[:, None, None], new, old)
