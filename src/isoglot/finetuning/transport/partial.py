"""Partial transport of all sentence pairs of a batch: only a share of each sentence is carried, the best of it.

Translations are seldom word for word: what has no counterpart is left behind, instead of being carried to wherever
there is room. Unlike with a `reach`, how much stays is given, and no scale of distances has to be known. The plan has
margins of at most the weights and a sum of the share (Caffarelli and McCann 2010; with an entropy, Benamou et al.
2015): its potentials are those of `sinkhorn_divergence`, cut off at a height that lets just the share pass. That height
is found exactly at each update, as how high a given amount of water stands in a vessel of known shape. To send the rest
to a point "nowhere" instead would be a balanced transport, but one that takes some hundreds of updates to settle.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from isoglot.errors import ConfigError
from isoglot.finetuning.transport.plans import Problem, Settings, cost_blocks, divergence

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["partial_divergence"]

#: Further updates at each epsilon, at most: who is left behind is settled late, and a wrong one has no gradient at all.
UPDATES = 50


def partial_divergence(
    X: Tensor,
    Y: Tensor,
    x_mask: Tensor,
    y_mask: Tensor,
    *,
    share: float,
    cost: str = "half-squared",
    blur: float = 0.05,
    scaling: float = 0.5,
    weights: tuple[Tensor, Tensor] | None = None,
    debias: bool = True,
    iterations: int = 0,
    tolerance: float = 0.01,
) -> Tensor:
    """What it costs (B,) to carry this share of each sentence to its translation; gradients as `sinkhorn_divergence`.

    The value is not divided by the share. It is debiased like the balanced one, by half of what it costs to carry the
    share of each side to itself, which without blur is nothing: a sentence costs nothing to carry to itself, and what
    blur adds to the pull between words is taken off. That it is never negative is proven for balanced transport alone
    (Feydy et al. 2019); here it may fall below 0 by the order of epsilon, where parts of the sentences are the same.

    Args:
        share: how much of each side's weight is carried, above 0 and at most 1, which is `sinkhorn_divergence`.
        debias: False for the transport of x to y alone, which is then too large by the order of epsilon.
        iterations: how many updates there may be at each epsilon, beyond those that mostly suffice.
        X, Y, x_mask, y_mask, cost, blur, scaling, weights, tolerance: see `sinkhorn_divergence`.

    >>> import torch
    >>> X, Y = torch.tensor([[[0.0, 0.0], [4.0, 0.0]]]), torch.tensor([[[4.0, 2.0], [90.0, 90.0]]])
    >>> mask = torch.ones(1, 2, dtype=torch.bool)
    >>> round(partial_divergence(X, Y, mask, mask, share=0.5).item(), 2)
    1.0
    """
    if not 0 < share <= 1:
        raise ConfigError(f"must be above 0 and at most 1, not {share}", where="share")
    iterations += UPDATES if share < 1 else 0
    settings = Settings(cost, blur, scaling, None, iterations, tolerance, debias)
    make: Callable[[Tensor, Tensor], Problem] = functools.partial(Problem.of_words, settings=settings)
    if share < 1:
        make = functools.partial(_Partial, settings=settings, share=share)
    return divergence(X, Y, x_mask, y_mask, weights, cost, make)


class _Partial(Problem):
    """A transport whose potentials have a cap: words that would pay more are left behind, in whole or in part."""

    def __init__(self, Z: Tensor, words: Tensor, settings: Settings, share: float) -> None:
        C, largest = cost_blocks(Z, settings)
        super().__init__(C, words, settings, largest)
        self._share = share
        self._free: Tensor
        self._cap: Tensor

    def _softmin(self, F: Tensor | None, inverse: Tensor, gain: Tensor) -> Tensor:
        import torch

        self._free = super()._softmin(F, inverse, gain)
        self._cap = _water_level(self._free * inverse, self.words[..., None], self._share) / inverse
        # The level in an empty vessel has no bound.
        self._cap = torch.minimum(self._cap, self._free.amax(dim=2, keepdim=True))
        return torch.minimum(self._free, self._cap)

    def _worth(self) -> Tensor:
        # The sum of P (c + eps log(P / (share a b))), of which only carried mass pays the potential in full. With the
        # share in it, the entropy is never negative, and 0 for sentences of one word.
        share = self._share
        return self.F - ((1 - share) * self._cap + self.settings.epsilon * share * math.log(share) / 2)

    def _carried(self) -> Tensor:
        return self.words[..., None] * ((self.F - self._free) / self.settings.epsilon).exp()


def _water_level(u: Tensor, a: Tensor, share: float) -> Tensor:
    """The height t (B, 2, 1, s) with sum_i a_i min(1, exp(t - u_i)) = share, for u (B, 2, L, s) and a (B, 2, L, 1).

    If the k words of smallest u have their minimum at 1, the others' sum to a known multiple of exp(t); k is the number
    of words whose own height would let pass less than the share.
    """
    import torch

    u, order = u.sort(dim=2)
    a = a.expand_as(u).gather(2, order)
    ahead = a.cumsum(2)
    behind = (a.log() - u).flip(2).logcumsumexp(2).flip(2)
    first, none = torch.zeros_like(ahead[:, :, :1]), torch.full_like(ahead[:, :, :1], -math.inf)
    ahead, behind = torch.cat([first, ahead], dim=2), torch.cat([behind, none], dim=2)  # for k = 0, ..., L
    k = (ahead[:, :, 1:] + (u + behind[:, :, 1:]).exp() < share).sum(2, keepdim=True)
    return (share - ahead.gather(2, k)).log() - behind.gather(2, k)
