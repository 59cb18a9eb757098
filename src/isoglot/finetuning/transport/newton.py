"""Entropic transport plans for a batch of costs, to full precision, by Newton's method on one side's potentials.

Sinkhorn's updates need hundreds of rounds when sentences have unequal lengths and epsilon is small. A loss can do with
potentials near their optimum; successive linearisations, each starting from the last plan, cannot. If the column
potentials g(f) always give columns their weights, f is optimal when the row sums r equal the weights a, and
dr/df = (diag(r) - P diag(1 / b) P') / epsilon: a matrix as small as the sentence, solved directly (this dual is in
section 3 of Cuturi and Peyré 2018). It takes about fifty updates, all in double precision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

#: No potential moves by more than so many epsilons at once: as far as exponentials are told by their slopes.
FARTHEST = 2.0
#: Mass that may be misplaced before epsilon is reduced. With more, the next epsilon starts many epsilons away from its
#: optimum, in a plan of ones and zeros without a useful slope, as seen with two words against fifteen.
ROUGH = 1e-4
#: Ridge added to the matrix, constant and per unit of misplaced mass: disconnected parts of the plan can shift against
#: each other, which would make it singular.
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
    """Plans (N, n, m) that minimise sum C P + epsilon KL(P | a b), and potentials (N, n, 1) for a warm start.

    Columns sum to `b`, rows to `a` within the tolerance. No result depends on the other problems of the batch.

    Args:
        C: costs (N, n, m) in double precision, finite even for padding.
        a, b: weights (N, n) and (N, m), 0 for padding, rows summing to 1.
        largest: the initial epsilon (N,): the largest cost or, with a start, the largest change of a cost.
        start: potentials of similar problems.
        scaling: ratio of successive epsilons.
        updates: maximum number at each epsilon.
        tolerance: mass that may be misplaced in the end.

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
        # One Sinkhorn round, which is right for words with hardly any mass, where slopes are useless.
        f = _where(live, _softmin(C, g, logs[1], now, 2), f)
        g = _where(live, _softmin(C, f, logs[0], now, 1), g)
        for _ in range(updates):
            P = _plans(C, f, g, logs, now)
            lack = a - P.sum(2)
            moving = live & (lack.abs().sum(1) > goal)
            if not moving.any():
                break
            f = _where(moving, f + now[:, None, None] * _newton_step(P, lack, a, b), f)
            g = _where(moving, _softmin(C, f, logs[0], now, 1), g)
    return _plans(C, f, g, logs, torch.full_like(largest, epsilon)), f


def _newton_step(P: Tensor, lack: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The change of potentials (N, n, 1), in epsilons, that would make up what rows lack (N, n)."""
    import torch

    there, wrong = a > 0, lack.abs().sum(1, keepdim=True)
    # Scaled by the roots of the weights, the matrix is a normalised graph Laplacian, however small some weights are.
    root = torch.where(there, a, 1).sqrt()[..., None]
    shares = (P / root) / torch.where(b > 0, b, 1).sqrt()[:, None, :]
    S = -shares @ shares.mT
    own = torch.where(there, P.sum(2) / root[..., 0].square() + HELD + HELD_FAR * wrong, 1)
    S.diagonal(dim1=1, dim2=2).add_(own)
    step: Tensor = torch.linalg.solve(S, lack[..., None] / root) / root
    step = step - (step * a[..., None]).sum(1, keepdim=True)  # a constant shift has no effect
    step = step.masked_fill(~there[..., None], 0)
    step *= FARTHEST / step.abs().amax(1, keepdim=True).clamp_min(FARTHEST)
    return step


def _softmin(C: Tensor, potentials: Tensor, logs: Tensor, epsilon: Tensor, dim: int) -> Tensor:
    """The potentials of the other side that follow from these and the logs of their weights."""
    import torch

    epsilon = epsilon[:, None, None]
    return -epsilon * torch.logsumexp(logs + (potentials - C) / epsilon, dim, keepdim=True)


def _plans(C: Tensor, f: Tensor, g: Tensor, logs: tuple[Tensor, Tensor], epsilon: Tensor) -> Tensor:
    return ((f + g - C) / epsilon[:, None, None] + logs[0] + logs[1]).exp()


def _where(which: Tensor, new: Tensor, old: Tensor) -> Tensor:
    import torch

    return torch.where(which[:, None, None], new, old)
