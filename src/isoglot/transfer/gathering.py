"""Examples from files: several to train on, a development set of their own, and few of each for a quick look."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from isoglot.errors import InputError
from isoglot.transfer.examples import Example
from isoglot.transfer.readers import read_examples

#: Without a development set, the last one of this many parts of the training examples.
_PARTS = 10


@dataclasses.dataclass(frozen=True)
class Few:
    """How many examples to use at most: to train on, to choose on, and of each language to test on."""

    train: int
    dev: int
    test: int


#: Enough to see large differences, few enough for a slow encoder.
QUICK = Few(2000, 500, 500)


@dataclasses.dataclass(frozen=True)
class Gathered:
    """Examples of one language to train and choose on, and to test of each language; None where it has none."""

    train: Sequence[Example]
    dev: Sequence[Example]
    tests: Mapping[str, Sequence[Example] | None]


def gather_examples(
    task: str,
    train: Sequence[str | Path],
    dev: str | Path | None,
    tests: Mapping[str, str | Path | None],
    *,
    few: Few | None = None,
) -> Gathered:
    """Read all files of a task.

    Args:
        train: files of one language, taken together.
        dev: None for the last tenth of the examples to train on, which then is not learned from.
        tests: by language, None for one without data.
        few: use at most so many, spread evenly over each set.
    """
    learned = [example for path in train for example in read_examples(task, path)]
    if dev is None:
        cut = len(learned) - max(1, len(learned) // _PARTS)
        if cut < 1:
            raise InputError("one example cannot be learned from and chosen on", where="train", remedy="give `dev`")
        learned, chosen = learned[:cut], learned[cut:]
    else:
        chosen = list(read_examples(task, dev))
    tested = {lang: None if path is None else read_examples(task, path) for lang, path in tests.items()}
    if few is None:
        return Gathered(learned, chosen, tested)
    return Gathered(
        spread_evenly(learned, few.train),
        spread_evenly(chosen, few.dev),
        {lang: None if one is None else spread_evenly(one, few.test) for lang, one in tested.items()},
    )


def spread_evenly(examples: Sequence[Example], most: int) -> Sequence[Example]:
    """At most so many of the examples, from beginning to end: parallel test sets stay parallel.

    >>> spread_evenly("abcdefgh", 3)
    ['a', 'c', 'f']
    """
    n = len(examples)
    return examples if n <= most else [examples[number * n // most] for number in range(most)]
