"""Optimal transport between words: the plan that carries one vocabulary to the other at least cost, through POT."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, MissingExtraError
from isoglot.spaces import FloatMatrix


def transport_plan(cost: npt.NDArray[np.floating[Any]], epsilon: float, *, iterations: int = 100) -> FloatMatrix:
    """The entropic transport plan (n, m) of uniform words; all its entries sum to 1.

    Rows and columns may be raised or lowered as a whole without changing the plan, so each is brought to a least cost
    of 0 first: the exponentials then neither overflow nor all vanish, and Sinkhorn's quick form is safe. Where it
    fails all the same, the slow form in the log domain answers.

    >>> plan = transport_plan(np.array([[0, 9], [9, 0]], dtype=np.float32), 0.1)
    >>> np.round(plan, 3).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    if not epsilon > 0:
        raise ConfigError(f"must be above 0, not {epsilon}", where="epsilon")
    ot = load_pot()
    shifted = cost.astype(np.float64)
    shifted -= shifted.min(axis=1, keepdims=True)
    shifted -= shifted.min(axis=0)
    enough = 1e-3 / np.sqrt(max(shifted.shape))  # a thousandth of the plan may be in the wrong place
    weights = [np.full(size, 1 / size) for size in shifted.shape]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        plan = ot.sinkhorn(*weights, shifted, epsilon, numItermax=iterations, stopThr=enough)
        if not _sound(plan, weights):
            plan = ot.sinkhorn(*weights, shifted, epsilon, method="sinkhorn_log", numItermax=iterations, stopThr=enough)
    return np.asarray(plan, dtype=np.float32)


def load_pot() -> Any:
    """The POT package, or an error that says how to get it."""
    try:
        import ot
    except ImportError as error:
        raise MissingExtraError("POT", "transport", "optimal transport") from error
    return ot


def _sound(plan: npt.NDArray[np.float64], weights: list[npt.NDArray[np.float64]]) -> bool:
    """A plan of numbers in which no word was lost: rows or columns of zeros mean that exponentials vanished."""
    return bool(np.isfinite(plan).all() and (plan.sum(axis=1) > weights[0] / 2).all() and (plan.sum(0) > 0).all())
