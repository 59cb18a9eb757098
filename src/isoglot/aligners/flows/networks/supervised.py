"""The training loop of maps that learn from pairs: Real-NVP and the plain network."""

from __future__ import annotations

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
from isoglot.aligners.flows.selection import PairTrained, Selection
from isoglot.spaces import FloatMatrix
from isoglot.threads import few_threads

#: Rows that are mapped at a time.
BLOCK = 8192
#: No step goes further than a gradient of this length would, which keeps a bad batch from undoing all others.
LARGEST_GRADIENT = 100.0

Arrays = dict[str, npt.NDArray[Any]]


def train_on_pairs(
    settings: PairTrained,
    module: Any,
    loss: Callable[[Tensor, Tensor], Tensor],
    problem: Problem,
    selection: Selection,
    what: str,
) -> Arrays:
    """Train `module` on the pairs, judge it after each epoch, and give the weights of the best one.

    `module` has `there`, `arrays` and `fill`; `loss` takes the two sides of a batch of pairs.
    """
    X, Y = tensor(problem.X[selection.learn[:, 0]]), tensor(problem.Y[selection.learn[:, 1]])
    optimiser = Flat(module, settings.rate, settings.optimiser, largest=LARGEST_GRADIENT)
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
    for epoch in range(len(selection.history), settings.epochs + 1):
        problem.progress(what, epoch - 1, settings.epochs)
        with few_threads(torch, settings.batch * weights):
            mean, skipped = _train_epoch(settings, epoch, optimiser, loss, X, Y)
        if selection.look(as_map(module.there), loss=mean, skipped_steps=skipped):
            best = module.arrays()
        tensors = prefixed("now.", module.arrays()) | prefixed("best.", best)
        tensors |= prefixed("optimiser.", optimiser.arrays())
        problem.checkpoint.save(epoch, tensors, {"history": selection.history})
    problem.progress(what, settings.epochs, settings.epochs)
    return best


def _train_epoch(
    settings: PairTrained,
    epoch: int,
    optimiser: Flat,
    loss: Callable[[Tensor, Tensor], Tensor],
    X: Tensor,
    Y: Tensor,
) -> tuple[float, int]:
    """The mean loss, and how many steps were left out because they were not finite."""
    batches = -(-len(X) // settings.batch)
    steps = max(batches, settings.least_steps)
    random = np.random.default_rng([settings.seed, epoch])
    total, skipped, order = 0.0, 0, np.zeros(0, dtype=np.int64)
    for step in range(steps):
        if step % batches == 0:
            order = random.permutation(len(X))
        rows = torch.from_numpy(order[step % batches * settings.batch :][: settings.batch])
        if settings.decay:
            optimiser.rate = settings.rate * (1 - ((epoch - 1) * steps + step) / (settings.epochs * steps))
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
