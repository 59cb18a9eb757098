"""Optimal transport between words: the plan that carries one vocabulary to the other at least cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, MissingExtraError
from isoglot.spaces import FloatMatrix

#: The kernel is written anew when scalings leave these bounds, as logarithms: float32 ends at 87.
_BOUND = 40.0
#: Iterations between looks at the marginals.
_LOOK = 10


def transport_plan(cost: npt.NDArray[np.floating[Any]], epsilon: float, *, iterations: int = 100) -> FloatMatrix:
    """The entropic transport plan (n, m) of uniform words; all its entries sum to 1.

    Sinkhorn's scaling in float32, which is what bounds it is reading the kernel. Scalings that grow too large or small
    go into potentials in float64 and the kernel is written anew (Schmitzer 2019), so that no exponential overflows
    and none that matters vanishes, at any `epsilon`.

    >>> plan = transport_plan(np.array([[0, 9], [9, 0]], dtype=np.float32), 0.1)
    >>> np.round(plan, 3).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    if not epsilon > 0:
        raise ConfigError(f"must be above 0, not {epsilon}", where="epsilon")
    n, m = cost.shape
    # Raising or lowering rows and columns as a whole changes no plan: each has a least cost of 0 to begin with.
    rows = cost.min(axis=1).astype(np.float64)
    columns = (cost - rows[:, None]).min(axis=0).astype(np.float64)
    enough = 1e-3 / np.sqrt(max(n, m))  # a thousandth of the plan may be in the wrong place
    kernel = _kernel(cost, rows, columns, epsilon)
    u, v = np.ones(n, dtype=np.float32), np.ones(m, dtype=np.float32)
    for step in range(iterations):
        u = np.float32(1 / n) / np.maximum(kernel @ v, _TINY)
        v = np.float32(1 / m) / np.maximum(u @ kernel, _TINY)
        if max(np.abs(np.log(u)).max(), np.abs(np.log(v)).max()) > _BOUND:
            rows += epsilon * np.log(u, dtype=np.float64)
            columns += epsilon * np.log(v, dtype=np.float64)
            kernel = _kernel(cost, rows, columns, epsilon)
            u, v = np.ones_like(u), np.ones_like(v)
        elif step % _LOOK == _LOOK - 1 and np.linalg.norm(u * (kernel @ v) - 1 / n) < enough:
            break
    kernel *= u[:, None]
    kernel *= v
    return kernel


#: Smaller sums are taken for this: with its bound on scalings, their row or column comes back with the next kernel.
_TINY = np.float32(np.exp(-2 * _BOUND))


def _kernel(
    cost: npt.NDArray[np.floating[Any]], rows: npt.NDArray[np.float64], columns: npt.NDArray[np.float64], epsilon: float
) -> FloatMatrix:
    """exp((rows + columns - cost) / epsilon), (n, m)."""
    exponents = cost / np.float32(-epsilon) if cost.dtype == np.float32 else cost / -epsilon
    exponents += (rows / epsilon)[:, None].astype(exponents.dtype)
    exponents += (columns / epsilon).astype(exponents.dtype)
    # Potentials may be ahead of their partners for a moment.
    np.minimum(exponents, _BOUND, out=exponents)
    kernel: FloatMatrix = np.exp(exponents, out=exponents).astype(np.float32, copy=False)
    return kernel


def load_pot() -> Any:
    """The POT package, or an error that says how to get it."""
    try:
        import ot
    except ImportError as error:
        raise MissingExtraError("POT", "transport", "optimal transport") from error
    return ot
