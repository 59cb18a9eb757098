"""The words of a batch of sentence pairs as one padded tensor: shapes, weights and costs.

The words of both sentences are stacked in Z (B, 2L, d), where L is the longer padded length, so that one symmetric cost
matrix, viewed as (B, side, L, side, L), holds the costs from x to y, from x to x and from y to y.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.errors import InputError, ShapeError

if TYPE_CHECKING:
    from torch import Tensor


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
            raise InputError(f"must be bool, not {mask.dtype}", where=name, remedy="use mask.bool()")
    for one, vectors in zip(weights or (), (X, Y), strict=weights is not None):
        if one.shape != vectors.shape[:2]:
            raise ShapeError(f"must be {tuple(vectors.shape[:2])}, not {tuple(one.shape)}", where="weights")


def precision(*tensors: Tensor) -> Any:
    import torch

    return torch.float64 if any(one.dtype == torch.float64 for one in tensors) else torch.float32


def to_unit_length(X: Tensor, mask: Tensor) -> Tensor:
    """Rows scaled to unit length, with gradients; padding becomes 0."""
    import torch

    X = torch.where(mask[..., None], X, 0).to(precision(X))
    return torch.nn.functional.normalize(X, dim=-1)


def word_weights(X: Tensor, Y: Tensor, x_mask: Tensor, y_mask: Tensor, weights: tuple[Tensor, Tensor] | None) -> Tensor:
    """Weights (B, 2, L) that sum to 1 on each side, 0 for padding; all 0 for a pair with an empty side."""
    import torch

    words = torch.zeros(len(X), 2, max(X.shape[1], Y.shape[1], 1), dtype=precision(X, Y), device=X.device)
    for side, mask in enumerate((x_mask, y_mask)):
        own = mask if weights is None else torch.where(mask, weights[side].detach(), 0)
        words[:, side, : mask.shape[1]] = own
    if weights is not None and not ((words >= 0) & (words < math.inf)).all():
        raise InputError("word weights must be finite and not negative", where="weights")
    sums = words.sum(-1, keepdim=True)
    return torch.where((sums > 0).all(1, keepdim=True), words / sums, 0)


def stack(X: Tensor, Y: Tensor, words: Tensor) -> Tensor:
    """The words of both sides, stacked (B, 2L, d), relative to the pair's first word of X.

    Costs do not depend on the origin, but their rounding does: contextual vectors have a large common part.
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
        Z[missing] = 0  # padding now equals the first word
    return Z


def word_costs(Z: Tensor, cost: str) -> Tensor:
    """Costs (B, 2, L, 2, L), exactly 0 between a word and itself."""
    import torch

    products = torch.bmm(Z, Z.mT)
    half = products.diagonal(dim1=1, dim2=2) / 2
    costs = (half[:, :, None] - products).add_(half[:, None, :]).clamp_min_(0)
    L = Z.shape[1] // 2
    return (costs.mul_(2).sqrt_() if cost == "euclidean" else costs).view(len(Z), 2, L, 2, L)


def check_finite(largest: Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The largest cost of each pair; raises if the vectors are not finite."""
    costs: np.ndarray[Any, np.dtype[np.float64]] = largest.cpu().double().numpy()
    if not np.isfinite(costs).all():
        raise InputError(
            f"vectors of sentence pair {np.argmin(np.isfinite(costs))} of the batch are not finite, or too large",
            where="X, Y",
            remedy="lower the learning rate or check the encoder's output",
        )
    return costs
