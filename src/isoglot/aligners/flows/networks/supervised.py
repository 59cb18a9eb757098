"""The training loop of maps that learn from pairs: Real-NVP and the plain network."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from isoglot.aligners.base import Problem
from isoglot.aligners.flows.networks.optimiser import Flat
from isoglot.aligners.flows.networks.stacks import tensor
from isoglot.aligners.flows.selection import Selection
from isoglot.errors import ConfigError
from isoglot.settings import check_settings
from isoglot.spaces import FloatMatrix
from isoglot.threads import few_threads

__all__ = ["PairTraining", "as_map", "in_blocks", "prefixed", "without_prefix"]

#: Rows that are mapped at a time.
BLOCK = 8192
#: No step goes further than a gradient of this length would, which keeps a bad batch from undoing all others.
LARGEST_GRADIENT = 100.0

Arrays = dict[str, npt.NDArray[Any]]


@dataclasses.dataclass(frozen=True)
class PairTraining:
    """How to train: see the settings of `isoglot.aligners.flows.realnvp.RealNVP`, which have the same names.

    least_steps: an epoch of few pairs goes through them several times, up to so many steps; 0 for once.
    """

    batch: int
    rate: float
    epochs: int
    optimiser: str
    decay: bool
    seed: int
    least_steps: int = 0

    def __post_init__(self) -> None:
        check_settings(self, otherwise="(-inf, inf)")
        if self.batch < 1 or self.epochs < 0 or self.rate <= 0 or self.least_steps < 0:
            raise ConfigError("batch and rate must be above 0, epochs and least_steps not below")
        if self.optimiser not in ("rmsprop", "adam"):
            raise ConfigError(f"unknown optimiser {self.optimiser!r}", where="optimiser", remedy="rmsprop or adam")

    def run(
        self, module: Any, loss: Callable[[Tensor, Tensor], Tensor], problem: Problem, selection: Selection, what: str
    ) -> Arrays:
        """Train `module` on the pairs, judge it after each epoch, and give the weights of the best one.

        `module` has `there`, `arrays` and `fill`; `loss` takes the two sides of a batch of pairs.
        """
        X, Y = tensor(problem.X[selection.learn[:, 0]]), tensor(problem.Y[selection.learn[:, 1]])
        optimiser = Flat(module, self.rate, self.optimiser, largest=LARGEST_GRADIENT)
        saved = problem.checkpoint.load()
        if saved is None:
            best: Arrays = module.arrays()
            selection.look(as_map(module.there))
        else:
            module.fill(without_prefix(saved.tensors, "now."))
            optimiser.fill(without_prefix(saved.tensors, "optimiser."))
            best = without_prefix(saved.tensors, "best.")
            selection.history = list(saved.facts["history"])
        weights = sum(one.numel() for one in module.parameters())
        for epoch in range(len(selection.history), self.epochs + 1):
            problem.progress(what, epoch - 1, self.epochs)
            with few_threads(torch, self.batch * weights):
                mean, skipped = self._epoch(epoch, optimiser, loss, X, Y)
            if selection.look(as_map(module.there), loss=mean, skipped_steps=skipped):
                best = module.arrays()
            tensors = prefixed("now.", module.arrays()) | prefixed("best.", best)
            tensors |= prefixed("optimiser.", optimiser.arrays())
            problem.checkpoint.save(epoch, tensors, {"history": selection.history})
        problem.progress(what, self.epochs, self.epochs)
        return best

    def _epoch(
        self, epoch: int, optimiser: Flat, loss: Callable[[Tensor, Tensor], Tensor], X: Tensor, Y: Tensor
    ) -> tuple[float, int]:
        """The mean loss, and how many steps were left out because they were not finite."""
        batches = -(-len(X) // self.batch)
        steps = max(batches, self.least_steps)
        random = np.random.default_rng([self.seed, epoch])
        total, skipped, order = 0.0, 0, np.zeros(0, dtype=np.int64)
        for step in range(steps):
            if step % batches == 0:
                order = random.permutation(len(X))
            rows = torch.from_numpy(order[step % batches * self.batch :][: self.batch])
            if self.decay:
                optimiser.rate = self.rate * (1 - ((epoch - 1) * steps + step) / (self.epochs * steps))
            value = loss(X[rows], Y[rows])
            if optimiser.step(value):
                total += value.item()
            else:
                skipped += 1
        return total / max(steps - skipped, 1), skipped


def as_map(there: Callable[[Tensor], Tensor]) -> Callable[[FloatMatrix], FloatMatrix]:
    """A map of tensors as a map of matrices."""
    return partial(in_blocks, there)


def in_blocks(function: Callable[[Tensor], Tensor], X: FloatMatrix) -> FloatMatrix:
    """What `function` gives for the rows of X, some at a time and without gradients; vectors become one column."""
    with torch.no_grad():
        blocks = [function(tensor(X[begin : begin + BLOCK])).numpy() for begin in range(0, len(X), BLOCK)]
    if not blocks:
        return np.zeros((0, X.shape[1]), dtype=np.float32)
    result: FloatMatrix = np.concatenate([block.reshape(len(block), -1) for block in blocks])
    return result


def prefixed(prefix: str, arrays: Any) -> Arrays:
    return {prefix + name: array for name, array in arrays.items()}


def without_prefix(arrays: Any, prefix: str) -> Arrays:
    return {name[len(prefix) :]: np.array(array) for name, array in arrays.items() if name.startswith(prefix)}
