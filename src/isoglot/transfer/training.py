"""One loop for all heads: epochs over shuffled examples, the best epoch by the development set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.errors import InputError
from isoglot.progress import Progress, silent
from isoglot.transfer.head import Fitting
from isoglot.transfer.settings import HeadSettings

if TYPE_CHECKING:
    from torch import nn

#: What steps of training are called in progress.
TRAINING = "training the head"
#: The largest norm of a gradient.
_CLIP = 1.0
#: Batches whose examples are sorted by length together: enough for little padding, few enough to stay random.
_POOL = 16


def train_network(
    network: nn.Module,
    count: int,
    loss: Callable[[list[int]], Any],
    score: Callable[[], float],
    settings: HeadSettings,
    seed: int,
    *,
    lengths: Sequence[int] | None = None,
    accelerator: Any = None,
    schedule: bool = False,
    progress: Progress = silent,
) -> Fitting:
    """Train until the epochs are done or patience has run out; the network ends with the weights of the best epoch.

    Args:
        count: number of examples.
        loss: of these examples, in one batch.
        score: of the network on the development set; higher is better.
        lengths: of the examples, of a network that takes as many steps as the longest in a batch: like go together.
        accelerator: takes the backward pass and the step, where the network was prepared by one.
        schedule: whether the learning rate rises and falls; else it is constant.
    """
    import torch

    trained = [one for one in network.parameters() if one.requires_grad]
    optimiser: Any = torch.optim.AdamW(trained, lr=settings.rate, weight_decay=0.01)
    if accelerator is not None:
        optimiser = accelerator.prepare(optimiser)
    random = np.random.default_rng(seed)
    steps = math.ceil(count / settings.batch) * settings.epochs
    best: Fitting | None = None
    weights: dict[str, Any] = {}
    done = 0
    for epoch in range(1, settings.epochs + 1):
        network.train()
        for numbers in _batches(random, count, settings.batch, lengths):
            if schedule:
                for group in optimiser.param_groups:
                    group["lr"] = settings.rate * _rate(done, steps, settings.warmup)
            value = loss(numbers)
            if not math.isfinite(value.item()):
                what = f"the loss is {value.item()} after {done:,} steps"
                raise InputError(what, remedy="set a smaller `learning_rate`")
            optimiser.zero_grad(set_to_none=True)
            value.backward() if accelerator is None else accelerator.backward(value)
            torch.nn.utils.clip_grad_norm_(trained, _CLIP)
            optimiser.step()
            done += 1
            progress(TRAINING, done, steps)
        network.eval()
        with torch.inference_mode():
            figure = score()
        if best is None or figure > best.dev:
            best = Fitting(epoch, figure, epoch)
            weights = {name: one.detach().clone() for name, one in network.named_parameters() if one.requires_grad}
        # A head that has not got anything right yet has just not begun: names take some epochs.
        elif best.dev > 0 and 0 < settings.patience <= epoch - best.epoch:
            break
    assert best is not None, "settings ask for one epoch or more"
    with torch.no_grad():
        for name, one in network.named_parameters():
            if name in weights:
                one.copy_(weights[name])
    progress(TRAINING, steps, steps)
    return Fitting(best.epoch, best.dev, epoch)


def _batches(
    random: np.random.Generator, count: int, size: int, lengths: Sequence[int] | None = None
) -> list[list[int]]:
    """All examples in random batches; with `lengths`, of like length, in random order.

    >>> sorted(sorted(batch) for batch in _batches(np.random.default_rng(0), 4, 2, [5, 90, 6, 80]))
    [[0, 2], [1, 3]]
    """
    order = random.permutation(count).tolist()
    if lengths is None:
        return [order[begin : begin + size] for begin in range(0, count, size)]
    batches = []
    for begin in range(0, count, _POOL * size):
        pool = sorted(order[begin : begin + _POOL * size], key=lengths.__getitem__)
        batches += [pool[start : start + size] for start in range(0, len(pool), size)]
    random.shuffle(batches)
    return batches


def _rate(step: int, steps: int, warmup: float) -> float:
    """Share of the learning rate: a rise, then a fall to 0.

    >>> [round(_rate(step, 10, 0.2), 2) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.12]
    """
    rise = warmup * steps
    return (step + 1) / rise if step + 1 <= rise else (steps - step) / (steps - rise)
