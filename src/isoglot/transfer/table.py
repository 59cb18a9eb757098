"""What transfer came to: encoders by languages, means with and without the training language, what differs."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class TransferRun:
    """What one trained head predicted for the test set of one language.

    Args:
        encoder: its name in the table.
        language: of the test set.
        seed: of the run.
        predictions: one for each test example, in order: a label ("nli"), a label per word ("ner", "pos"), or an
            answer ("qa"; "" for none).
        seconds: what training and predicting took.
    """

    encoder: str
    language: str
    seed: int
    predictions: tuple[Any, ...]
    seconds: float = 0.0
