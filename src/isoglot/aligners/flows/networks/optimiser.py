"""RMSprop and Adam over all weights of a module as one long vector, in one pass through memory.

With batches of 32 and a few million weights, torch's own RMSprop takes as long as the forward and backward pass
together: it goes through the weights five times. Formulas and constants are torch's, which the tests compare with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch

__all__ = ["Flat"]

Vector = npt.NDArray[np.float32]

#: torch's defaults.
RMSPROP_DECAY, ADAM_DECAYS, EPSILON = 0.99, (0.9, 0.999), 1e-8


class Flat:
    """The trained weights of a module in one vector, their gradients in another, and a rule to go down.

    From now on the weights of `module` are views into the vector. `kind`: "rmsprop" or "adam". `largest`: gradients
    longer than this are shortened to it first, None for never.
    """

    def __init__(
        self, module: torch.nn.Module, rate: float, kind: str = "rmsprop", *, largest: float | None = None
    ) -> None:
        self.rate, self.kind, self.largest = rate, kind, largest
        weights = [weights for weights in module.parameters() if weights.requires_grad]
        self._weights = torch.cat([one.detach().reshape(-1) for one in weights])
        self._gradient = torch.zeros_like(self._weights)
        place = 0
        for one in weights:
            end = place + one.numel()
            one.data = self._weights[place:end].view_as(one)
            one.grad = self._gradient[place:end].view_as(one)
            place = end
        self.square = np.zeros(place, dtype=np.float32)
        self.momentum = np.zeros(place if kind == "adam" else 0, dtype=np.float32)
        self.steps = 0

    def step(self, loss: Any) -> bool:
        """Go down the gradient of `loss`. False, and nothing done, if one of both is not finite."""
        self._gradient.zero_()
        loss.backward()
        gradient = self._gradient.numpy()
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.sqrt(np.dot(gradient, gradient)))
        if not np.isfinite(length) or not np.isfinite(loss.item()):
            return False
        shrink = 1.0 if self.largest is None or length <= self.largest else self.largest / length
        self.steps += 1
        weights = self._weights.numpy()
        if self.kind == "adam":
            first, second = ADAM_DECAYS
            scale = self.rate / (1 - first**self.steps)
            root = np.sqrt(1 - second**self.steps)
            _adam(
                weights, gradient, self.momentum, self.square, np.float32(scale), np.float32(root), np.float32(shrink)
            )
        else:
            _rmsprop(weights, gradient, self.square, np.float32(self.rate), np.float32(shrink))
        return True

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What a resumed run needs besides the weights."""
        return {"square": self.square, "momentum": self.momentum, "steps": np.array([self.steps])}

    def fill(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `arrays` gave."""
        self.square[:] = arrays["square"]
        self.momentum[:] = arrays["momentum"]
        self.steps = int(arrays["steps"][0])


_FAST = {"nsz", "arcp", "contract", "afn"}  # all but the rules for NaN and infinity


@numba.njit(cache=True, fastmath=_FAST)
def _rmsprop(weights: Vector, gradient: Vector, square: Vector, rate: np.float32, shrink: np.float32) -> None:
    keep, epsilon = np.float32(RMSPROP_DECAY), np.float32(EPSILON)
    for i in range(len(weights)):
        g = gradient[i] * shrink
        v = keep * square[i] + (np.float32(1) - keep) * g * g
        square[i] = v
        weights[i] -= rate * g / (np.sqrt(v) + epsilon)


@numba.njit(cache=True, fastmath=_FAST)
def _adam(
    weights: Vector,
    gradient: Vector,
    momentum: Vector,
    square: Vector,
    scale: np.float32,
    root: np.float32,
    shrink: np.float32,
) -> None:
    first, second, epsilon = np.float32(ADAM_DECAYS[0]), np.float32(ADAM_DECAYS[1]), np.float32(EPSILON)
    for i in range(len(weights)):
        g = gradient[i] * shrink
        m = first * momentum[i] + (np.float32(1) - first) * g
        v = second * square[i] + (np.float32(1) - second) * g * g
        momentum[i], square[i] = m, v
        weights[i] -= scale * m / (np.sqrt(v) / root + epsilon)
