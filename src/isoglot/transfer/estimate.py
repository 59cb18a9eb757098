"""What a comparison will cost, before it is run: each encoder and head timed on a few examples."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping

import numpy as np

from isoglot.progress import Progress, silent
from isoglot.transfer.feature_store import FeatureStore
from isoglot.transfer.heads import new_head
from isoglot.transfer.protocol import Sources, TransferData, all_sources, head_groups
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.training import TRAINING
from isoglot.transfer.vectors import check_source

#: Batches that are tried, and at least how many examples where the encoder is frozen.
_BATCHES = 4
_FROZEN = 256


@dataclasses.dataclass(frozen=True)
class TransferEstimate:
    """Of one encoder: seconds to encode all examples once (0 where it learns), and at most for all heads."""

    encoder: str
    examples: int
    encoding: float
    training: float

    def sentence(self) -> str:
        """In words, for people.

        >>> TransferEstimate("mini", 12_000, 90.0, 240.0).sentence()
        'mini: 12,000 examples, about 1.5 minutes to encode them, at most 4.0 minutes to train heads'
        """
        training = f"at most {self.training / 60:.1f} minutes to train heads"
        encoding = f"about {self.encoding / 60:.1f} minutes to encode them, " if self.encoding else ""
        return f"{self.encoder}: {self.examples:,} examples, {encoding}{training}"


def estimate_transfer(
    encoders: Mapping[str, Sources],
    data: TransferData,
    settings: HeadSettings | None = None,
    *,
    runs: int = 1,
    progress: Progress = silent,
) -> list[TransferEstimate]:
    """Train a head of each encoder on a few examples for one epoch, and say what all would take.

    Heads that stop early take less.
    """
    settings = settings or HeadSettings()
    for sources in encoders.values():
        for one in all_sources(sources):
            check_source(one, settings)
    random = np.random.default_rng(0)
    size = max(_BATCHES * settings.batch, _FROZEN if settings.weights == "frozen" else 0)
    train, dev = (
        [side[number] for number in random.permutation(len(side))[:size].tolist()] for side in (data.train, data.dev)
    )
    few = dataclasses.replace(settings, epochs=1)
    examples = len(data.train) + len(data.dev) + sum(map(len, data.tests.values()))
    estimates = []
    for name, sources in encoders.items():
        groups = list(head_groups(name, sources, data, settings, {}, progress))
        vectors = groups[0][1]
        timer = _Timer(progress)
        new_head(data.task, vectors, few, FeatureStore(vectors), data.source).fit(
            train, dev, data.source, data.score, 0, progress=timer
        )
        step, scoring = timer.seconds()
        steps = math.ceil(len(data.train) / settings.batch)
        epoch = step * steps + scoring * len(data.dev) / len(dev)
        encoding = 0.0
        if settings.weights == "frozen":
            encoding = max(timer.steps[0] - timer.began - step, 0.0) * examples / (len(train) + len(dev))
        estimates.append(TransferEstimate(name, examples, encoding, epoch * settings.epochs * runs * len(groups)))
    return estimates


class _Timer:
    """Notes when each step of training ended; the last note is the end of training."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.began = time.perf_counter()
        self.steps: list[float] = []

    def __call__(self, step: str, done: float, total: float | None) -> None:
        if step == TRAINING:
            self.steps.append(time.perf_counter())
        self._progress(step, done, total)

    def seconds(self) -> tuple[float, float]:
        """Of a step, and of scoring the development set."""
        *steps, end = self.steps
        alone = max(len(steps) - 1, 1)
        return (steps[-1] - (steps[0] if len(steps) > 1 else self.began)) / alone, end - steps[-1]
