"""What a training will take: weights, steps, time, memory and disk, from a few real batches."""

from __future__ import annotations

import dataclasses
import resource
import sys
from typing import Any

from isoglot.pipelines.training_run import Fine


def estimate(fine: Fine) -> Cost:
    """Time a few real batches and count the rest."""
    trainer = fine.trainer
    seconds, tokens = trainer.time_batches()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    steps, settings = trainer.steps, fine.recipe.settings
    return Cost(
        weights=sum(one.numel() for one in trainer.network.parameters()),
        trained=trainer.trained_weights,
        steps=steps,
        sentences=steps * settings.accumulation * settings.batch * trainer.sampler.pairs_of_a_draw,
        tokens=tokens * steps,
        seconds=seconds * steps,
        # What was used so far, and Adam's two averages.
        memory=peak + 8 * trainer.trained_weights,
        disk=trainer.bytes_needed,
    )


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a run will take. `seconds`: of training, without evaluations."""

    weights: int
    trained: int
    steps: int
    sentences: int
    tokens: int
    seconds: float
    memory: int
    disk: int

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return dataclasses.asdict(self)

    def sentence(self) -> str:
        """In words, for people.

        >>> Cost(22_700_000, 22_700_000, 240, 57_600, 3_000_000, 1400.0, 2_000_000_000, 1_500_000_000).sentence()
        '22.7 million of 22.7 million weights are trained, 240 steps over 57,600 sentence pairs (3.0 million tokens): \
about 23 minutes here, 2.0 GB of memory, 1.5 GB on disk while it runs'
        """
        tokens = f"{_count(self.tokens)} tokens"
        over = f"{self.sentences:,} sentence pairs ({tokens})" if self.sentences else tokens
        return (
            f"{_count(self.trained)} of {_count(self.weights)} weights are trained, {self.steps:,} steps over {over}: "
            f"about {duration(self.seconds)} here, {_size(self.memory)} of memory, {_size(self.disk)} on disk while "
            "it runs"
        )


def _count(number: int) -> str:
    """In words.

    >>> _count(12_345), _count(22_700_000)
    ('12,345', '22.7 million')
    """
    return f"{number:,}" if number < 1e6 else f"{number / 1e6:,.1f} million"


def _size(number: int) -> str:
    """In words.

    >>> _size(5_600_000), _size(1_500_000_000)
    ('6 MB', '1.5 GB')
    """
    return f"{number / 1e6:.0f} MB" if number < 1e9 else f"{number / 1e9:.1f} GB"


def duration(seconds: float) -> str:
    """In words.

    >>> duration(42), duration(1400), duration(9000)
    ('42 seconds', '23 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
