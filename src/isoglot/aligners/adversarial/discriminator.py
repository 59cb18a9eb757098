"""The adversarial game of MUSE: a map against a discriminator, in plain torch.

Settings are those that Lample et al. 2018 publish: two hidden layers with leaky rectifiers, dropout of the input,
smoothed labels, several discriminator steps a step of the map, which is pulled back towards an orthogonal one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix
from isoglot.threads import few_threads, import_torch

#: The input dropout, the label smoothing, the slope of the rectifiers and the pull to orthogonality of the paper.
DROPOUT, SMOOTHING, SLOPE, ORTHOGONALITY = 0.1, 0.1, 0.2, 0.001
#: Steps of the map that share one source of randomness. Between two such blocks a run can be interrupted.
BLOCK = 500


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How long and how large the game is.

    Args:
        hidden: width of the discriminator's two hidden layers.
        batch: words a side and step.
        epochs: how often the map is judged.
        steps: of the map, an epoch.
        critic_steps: of the discriminator, for one of the map.
        rate: of learning. The map's is multiplied by `decay` after each epoch, and by `shrink` from the second time on
            that the criterion falls; the discriminator's stays.
        map_rate: the rate of the map, as a multiple of that of the discriminator.
        orthogonality: beta of the pull towards an orthogonal map, a step.
        looks: no epoch draws more words than so many times the vocabulary; small spaces need no long ones.
    """

    hidden: int
    batch: int
    epochs: int
    steps: int
    critic_steps: int
    rate: float = 0.1
    decay: float = 0.98
    shrink: float = 0.5
    map_rate: float = 1.0
    orthogonality: float = ORTHOGONALITY
    looks: float = np.inf


#: "paper": 5 epochs of a million words. "quick": the same game with a narrower discriminator, fewer and larger batches.
SCHEDULES: Mapping[str, Schedule] = {
    "paper": Schedule(hidden=2048, batch=32, epochs=5, steps=31_250, critic_steps=5),
    "quick": Schedule(
        hidden=256, batch=128, epochs=10, steps=1000, critic_steps=2, map_rate=10, orthogonality=0.01, looks=4
    ),
}


class Adversary:
    """One run of the game between X (n, d) and Y (m, d), epoch by epoch.

    The randomness of a block of steps comes from `seed` and the numbers of its epoch and its first step, so that a run
    can be resumed from `tensors`. `half`: multiply the discriminator's matrices in bfloat16; weights stay float32.
    """

    def __init__(
        self,
        X: FloatMatrix,
        Y: FloatMatrix,
        schedule: Schedule,
        seed: tuple[int, ...],
        tensors: Mapping[str, npt.NDArray[Any]] | None = None,
        *,
        half: bool = False,
    ) -> None:
        self._torch = import_torch("adversarial training")
        self._X, self._Y = self._torch.from_numpy(X), self._torch.from_numpy(Y)
        self._schedule, self._seed, self._half = schedule, seed, half
        d, h = X.shape[1], schedule.hidden
        if tensors is None:
            random = self._random(0)
            self._map = self._torch.eye(d)
            self._critic = []
            for fan_in, fan_out in ((d, h), (h, h), (h, 1)):
                bound = fan_in**-0.5
                for shape in ((fan_in, fan_out), (fan_out,)):
                    self._critic.append((self._torch.rand(shape, generator=random) * 2 - 1) * bound)
        else:
            self._map = self._tensor(tensors["map"])
            self._critic = [self._tensor(tensors[f"critic{i}"]) for i in range(6)]
        for weights in (self._map, *self._critic):
            weights.requires_grad_()

    @property
    def W(self) -> FloatMatrix:
        """The map as it is, (d, d), nearly orthogonal."""
        W: FloatMatrix = self._map.detach().numpy().copy()
        return W

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """The whole state but the randomness."""
        critic = {f"critic{i}": weights.detach().numpy() for i, weights in enumerate(self._critic)}
        return {"map": self.W, **critic}

    def epoch(
        self,
        number: int,
        rate: float,
        progress: Progress = silent,
        *,
        first: int = 0,
        after: Callable[[int], None] = lambda done: None,
    ) -> None:
        """Play one epoch with this rate of the map, from step `first`; `after` is told the steps done, now and then."""
        schedule = self._schedule
        looks = schedule.looks * max(len(self._X), len(self._Y)) / schedule.batch
        steps = int(min(schedule.steps, np.ceil(looks)))
        # Small networks lose more by waiting for threads than they win.
        with few_threads(self._torch, schedule.batch * schedule.hidden**2):
            for begin in range(first, steps, BLOCK):
                random = self._random(number + 1, begin)
                for step in range(begin, min(begin + BLOCK, steps)):
                    self._step(rate, random)
                    if step % 50 == 49:
                        progress("adversarial epoch", step + 1, steps)
                after(min(begin + BLOCK, steps))

    def _step(self, rate: float, random: Any) -> None:
        """Several steps of the discriminator, one of the map."""
        torch, schedule = self._torch, self._schedule
        for _ in range(schedule.critic_steps):
            with torch.no_grad():
                batch = self._batch(random)
            self._descend(self._loss(self._judge(batch, random), SMOOTHING), self._critic, schedule.rate)
        # The map wants each side taken for the other, by a discriminator that sees all of it.
        loss = self._loss(self._judge(self._batch(random)), 1 - SMOOTHING)
        self._descend(loss, [self._map], rate * schedule.map_rate)
        with torch.no_grad():
            beta, W = schedule.orthogonality, self._map
            W.copy_((1 + beta) * W - beta * (W @ W.T @ W))

    def _batch(self, random: Any) -> Any:
        """Mapped source words, then target words."""
        torch, size = self._torch, self._schedule.batch
        i = torch.randint(len(self._X), (size,), generator=random)
        j = torch.randint(len(self._Y), (size,), generator=random)
        return torch.cat([self._X[i] @ self._map, self._Y[j]])

    def _judge(self, batch: Any, random: Any = None) -> Any:
        """Log odds that each row comes from the source, (2 batch,); with randomness after dropout."""
        torch = self._torch
        if random is not None:
            batch = batch * (torch.rand(batch.shape, generator=random) >= DROPOUT) / (1 - DROPOUT)
        weights_in, bias_in, weights, bias, weights_out, bias_out = self._critic
        with torch.autocast("cpu", torch.bfloat16, enabled=self._half):
            hidden = torch.nn.functional.leaky_relu(torch.addmm(bias_in, batch, weights_in), SLOPE)
            hidden = torch.nn.functional.leaky_relu(torch.addmm(bias, hidden, weights), SLOPE)
        return (hidden.float() @ weights_out + bias_out)[:, 0]

    def _loss(self, scores: Any, smoothing: float) -> Any:
        """Cross-entropy with these odds against "source, then target"."""
        labels = self._torch.full_like(scores, smoothing)
        labels[: len(labels) // 2] = 1 - smoothing
        return self._torch.nn.functional.binary_cross_entropy_with_logits(scores, labels)

    def _descend(self, loss: Any, parameters: list[Any], rate: float) -> None:
        gradients = self._torch.autograd.grad(loss, parameters)
        with self._torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=rate)

    def _random(self, *numbers: int) -> Any:
        state = np.random.SeedSequence([*self._seed, *numbers]).generate_state(1, np.uint64)[0]
        return self._torch.Generator().manual_seed(int(state >> 1))

    def _tensor(self, array: npt.NDArray[Any]) -> Any:
        return self._torch.from_numpy(np.array(array, dtype=np.float32))
