"""What a comparison will cost, before it is run: each encoder and head timed on a few examples."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

import numpy as np

from isoglot.progress import Progress, silent
from isoglot.transfer.feature_store import FeatureStore
from isoglot.transfer.heads import new_head
from isoglot.transfer.protocol import Sources, TransferData, all_sources
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.vectors import check_source, open_vectors

#: Examples that are tried where the encoder is frozen, and where it learns.
_SAMPLES = {"frozen": 256, "lora": 32, "all": 32}


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
    """Train a head of each encoder on a few examples for one epoch and for three, and say what all would take.

    Heads that stop early take less.
    """
    settings = settings or HeadSettings()
    for sources in encoders.values():
        for one in all_sources(sources):
            check_source(one, settings)
    random = np.random.default_rng(0)
    size = _SAMPLES[settings.train]
    train, dev = (
        [side[number] for number in random.permutation(len(side))[:size].tolist()] for side in (data.train, data.dev)
    )
    examples = len(data.train) + len(data.dev) + sum(map(len, data.tests.values()))
    estimates = []
    for name, sources in encoders.items():
        own = all_sources(sources)
        vectors = open_vectors(own[0], settings, progress=progress)
        seconds = []
        # The first run of a model is slow.
        for epochs in (1, 1, 3):
            few = dataclasses.replace(settings, epochs=epochs, patience=0)
            head = new_head(data.task, vectors, few, FeatureStore(vectors))
            began = time.perf_counter()
            head.fit(train, dev, data.source, lambda *_: 0.0, 0, progress=progress)
            seconds.append(time.perf_counter() - began)
        epoch = max(seconds[2] - seconds[1], 0.0) / 2
        start = max(seconds[1] - epoch, 0.0)
        encoding = start * examples / (len(train) + len(dev)) if settings.train == "frozen" else 0.0
        training = epoch * (len(data.train) + len(data.dev)) / (len(train) + len(dev)) * settings.epochs * runs
        estimates.append(TransferEstimate(name, examples, encoding, training * len(own)))
    return estimates
