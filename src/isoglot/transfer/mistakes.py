"""What predictions get wrong: which label is taken for which, and the examples that fare worst."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isoglot.text import LabelledSentence
from isoglot.transfer.entities import entities
from isoglot.transfer.examples import Example, PairExample, Question
from isoglot.transfer.metrics import Tally


@dataclasses.dataclass(frozen=True)
class Confusion:
    """How often each label (rows) was taken for each (columns), summed over runs; names by word, without B- and I-.

    >>> Confusion(("LOC", "O"), ((3, 1), (0, 9))).share("LOC", "O")
    0.25
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def share(self, gold: str, predicted: str) -> float:
        """Of the words or pairs with one label, the share that got the other."""
        row = self.counts[self.labels.index(gold)]
        return row[self.labels.index(predicted)] / max(1, sum(row))


def confusion(tallies: Sequence[Tally]) -> Confusion | None:
    """Of all runs together; None for tasks without labels."""
    if tallies[0].task == "qa":
        return None
    counts: Counter[tuple[str, str]] = Counter()
    for tally in tallies:
        for item in tally.items:
            gold, predicted = (
                [item[side]] if isinstance(item[side], str) else item[side] for side in ("gold", "predicted")
            )
            counts.update(zip(map(_kind, gold), map(_kind, predicted), strict=True))
    labels = tuple(sorted({label for pair in counts for label in pair}))
    return Confusion(labels, tuple(tuple(counts[gold, predicted] for predicted in labels) for gold in labels))


@dataclasses.dataclass(frozen=True)
class Mistake:
    """An example that went wrong: what it says, what is right, and what each encoder predicted in its first run."""

    index: int
    text: str
    gold: str
    predicted: Mapping[str, str]
    value: float


def worst(
    examples: Sequence[Example], tallies: Mapping[str, Sequence[Tally]], encoder: str, *, most: int = 10
) -> list[Mistake]:
    """The examples in which an encoder does worst, mean over its runs; of equally bad ones, the shortest.

    Args:
        tallies: the runs of each encoder on these examples.
    """
    values = np.mean([tally.values for tally in tallies[encoder]], axis=0)
    order = sorted(range(len(examples)), key=lambda index: (values[index], _length(examples[index]), index))
    return [
        Mistake(
            index,
            _text(examples[index]),
            _shown(examples[index], tallies[encoder][0].items[index]["gold"], tallies[encoder][0].task),
            {
                name: _shown(examples[index], runs[0].items[index]["predicted"], runs[0].task)
                for name, runs in tallies.items()
            },
            float(values[index]),
        )
        for index in order[:most]
        if values[index] < 1
    ]


def _kind(label: str) -> str:
    return label.partition("-")[2] or label


def _length(example: Example) -> int:
    return len(example.context) if isinstance(example, Question) else len(_text(example))


def _text(example: Example) -> str:
    if isinstance(example, PairExample):
        return f"{example.first} / {example.second}"
    return example.question if isinstance(example, Question) else " ".join(example.words)


def _shown(example: Example, labels: Any, task: str) -> str:
    """Labels or answers for people: of names those found, of parts of speech all words with theirs."""
    if isinstance(labels, str):
        return labels or "(no answer)"
    if isinstance(example, LabelledSentence) and task == "ner":
        found = entities(labels)
        return "; ".join(f"{' '.join(example.words[a : b + 1])} ({kind})" for kind, a, b in found) or "(none)"
    if isinstance(example, LabelledSentence):
        return " ".join(f"{word}/{label}" for word, label in zip(example.words, labels, strict=True))
    return " | ".join(labels) or "(no answer)"
