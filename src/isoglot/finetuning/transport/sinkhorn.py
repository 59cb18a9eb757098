"""The Sinkhorn divergence of all sentence pairs of a batch, as a loss that pulls translations together.

Each sentence is a set of word vectors; the loss is the cost of carrying one set to the other, minus the blur that the
entropy adds: S(x, y) = OT(x, y) - OT(x, x) / 2 - OT(y, y) / 2. Alqahtani et al. 2021 (WordOT) fine-tune encoders with
it, using geomloss (Feydy et al. 2019), whose steps and defaults are followed here for each pair. Unlike there, the
transports of all pairs are one masked problem in the log domain, and the gradient is one batched product: by the
envelope theorem, dS/dx_i = sum_j P_ij dc(x_i, y_j)/dx_i minus the same for the plan from x to x, where the plans P are
constants. No gradient goes through the iterations, which are in `plans`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from isoglot.finetuning.transport.plans import Problem, TransportSettings, with_margins
from isoglot.finetuning.transport.words import check_shapes, precision, stack, to_unit_length, word_weights

if TYPE_CHECKING:
    from torch import Tensor


def sinkhorn_divergence(
    X: Tensor,
    Y: Tensor,
    x_mask: Tensor,
    y_mask: Tensor,
    settings: TransportSettings = TransportSettings(),
    *,
    weights: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """The divergence (B,) of each of B sentence pairs; gradients flow to `X` and `Y`, not to the weights.

    For each pair separately, epsilon falls from D ** p to blur ** p, where D is the largest distance between two of the
    pair's words: one update at D ** p, one at (D * scaling ** k) ** p for each k = 0, 1, ... that leaves it above
    blur ** p, and one at blur ** p. An update replaces all potentials of both sides by the mean of their old values and
    Sinkhorn's formula; a last one without averaging gives the value. This is the schedule of geomloss except for the
    diameter: geomloss takes that of the box around all words of the batch, which is larger. A pair that needs fewer
    steps than others waits at its start, so that no result depends on the other pairs of the batch.

    With so few updates the potentials are near their optimum but not at it (as in geomloss), especially for sentences
    of unequal lengths; `iterations` brings them closer, as does `scaling` nearer to 1. A sentence without words, or
    without weight, gives 0 and no gradient.

    Args:
        X, Y: word vectors (B, n, d) and (B, m, d), padded with arbitrary values.
        x_mask, y_mask: (B, n) and (B, m), true for words.
        weights: of words, (B, n) and (B, m), scaled to sum to 1 in each sentence; uniform by default.

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
    make = functools.partial(Problem, settings=settings)
    return divergence(X, Y, x_mask, y_mask, weights, settings.cost, make)


class Transports(Protocol):
    """The transports of a batch, which `divergence` turns into a loss."""

    def solve(self) -> None:
        """Find the plans."""

    def values(self) -> Tensor:
        """Their costs (B,)."""

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
    """Values (B,) with gradients, of the transports that `make` returns for Z (B, 2L, d) and word weights (B, 2, L).

    The gradient treats plans as constants (the envelope theorem), so it is one batched product.
    """
    check_shapes(X, Y, x_mask, y_mask, weights)
    if cost == "cosine":
        X, Y = to_unit_length(X, x_mask), to_unit_length(Y, y_mask)
    value: Tensor = _divergence().apply(X, Y, word_weights(X, Y, x_mask, y_mask, weights), make)
    return value


def transport_plan(
    X: Tensor,
    Y: Tensor,
    x_mask: Tensor,
    y_mask: Tensor,
    settings: TransportSettings = TransportSettings(iterations=100),
    *,
    weights: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """The plans (B, n, m) between the words of each sentence pair, that is, soft word alignments; no gradient.

    Rows and columns sum to the weights; any remaining error is corrected as in Altschuler et al. 2017. With a `reach`
    they may sum to less, and nothing is corrected. Computed in double precision. Arguments are those of
    `sinkhorn_divergence`.

    >>> import torch
    >>> X, Y = torch.tensor([[[0.0, 0.0], [4.0, 0.0]]]), torch.tensor([[[4.0, 2.0], [0.0, 2.0]]])
    >>> mask = torch.ones(1, 2, dtype=torch.bool)
    >>> transport_plan(X, Y, mask, mask).tolist()
    [[[0.0, 0.5], [0.5, 0.0]]]
    """
    import torch

    settings = dataclasses.replace(settings, debias=False)
    check_shapes(X, Y, x_mask, y_mask, weights)
    with torch.no_grad(), torch.autocast(X.device.type, enabled=False):
        dtype = precision(X, Y)
        # Rounding in single precision, divided by a small epsilon, would show in the margins.
        X, Y = X.double(), Y.double()
        if settings.cost == "cosine":
            X, Y = to_unit_length(X, x_mask), to_unit_length(Y, y_mask)
        words = word_weights(X, Y, x_mask, y_mask, weights)
        problem = Problem(stack(X, Y, words), words, settings)
        problem.solve()
        a, b = words[:, 0, : X.shape[1]], words[:, 1, : Y.shape[1]]
        plan = problem.plans()[:, 0, : X.shape[1], 0, : Y.shape[1]]
        return (plan if settings.reach is not None else with_margins(plan, a, b)).to(dtype)


@functools.cache
def _divergence() -> Any:
    """The autograd function; defined here because its class needs torch."""
    import torch

    class Divergence(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, X: Tensor, Y: Tensor, words: Tensor, make: Callable[[Tensor, Tensor], Transports]
        ) -> Tensor:
            # Autocast would use half precision, which cannot represent differences of epsilon's size.
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
                # Two products instead of one, whose slices autograd would copy.
                dX, dY = torch.bmm(G[:, :n], Z), torch.bmm(G[:, L : L + m], Z)
            return dX.to(ctx.dtypes[0]), dY.to(ctx.dtypes[1]), None, None

    return Divergence
