"""X2Static: static vectors trained like CBOW against contexts from an encoder (Gupta & Jaggi 2021).

A word is predicted from the mean of the contextual vectors around it: the loss is log(1 + e^-s) for the word's own
vector and log(1 + e^s) for negatives, drawn by the roots of their counts, where s is the dot product with that mean.
Only the static vectors are learned, by Adam on the rows that a batch touches (the same numbers as torch's SparseAdam).

The mean is over words, each the pooled vector of its subwords; the code that Gupta & Jaggi released takes it over all
tokens, including special ones and the target.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.distill.settings import DistillSettings
from isoglot.distill.shards import Shard
from isoglot.progress import silent
from isoglot.spaces import FloatMatrix, IntVector
from isoglot.threads import available_threads, run_blocks

#: Of Adam, as everywhere.
DECAYS = (0.9, 0.999)
EPSILON = 1e-8
#: Rows that a thread takes at once.
_BLOCK = 32


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Training examples of a shard.

    Args:
        contexts: (n, d) what each target is predicted from.
        words: (n, 1 + negatives) rows: the target, then its negatives.
        steps: (n,) number of each target's batch, from 0, ascending without gaps.
    """

    contexts: FloatMatrix
    words: npt.NDArray[np.int32]
    steps: IntVector

    def __len__(self) -> int:
        return len(self.contexts)


@dataclasses.dataclass(eq=False)
class SparseAdam:
    """Static vectors (V, d) with Adam's running averages after `steps` batches."""

    vectors: FloatMatrix
    means: FloatMatrix
    squares: FloatMatrix
    steps: int = 0

    @classmethod
    def start(cls, words: int, dim: int, seed: int, lang: str = "") -> SparseAdam:
        """Vectors drawn uniformly from -1/d to 1/d.

        Each language has different ones: with the same, words of equal rank would be alike wherever little is learned,
        which would look like an alignment.
        """
        random = np.random.default_rng([seed, 0x1D, *lang.encode()])
        vectors = (random.random((words, dim), dtype=np.float32) * 2 - 1) / np.float32(dim)
        return cls(vectors, np.zeros_like(vectors), np.zeros_like(vectors))


class X2Static:
    """Learns shard by shard. All its state is in `tensors` and `facts`.

    Args:
        counts: of each word of the vocabulary.
        dim: dimensions of the encoder's vectors.
        lang: language of the text; it determines the initial vectors.
    """

    def __init__(
        self, counts: IntVector, dim: int, settings: DistillSettings, threads: int | None = None, lang: str = ""
    ) -> None:
        self._settings = settings
        self._keep = keep_probabilities(counts, settings.sample)
        from isoglot.wordvectors.steps import alias_table

        self._table = alias_table(counts.astype(np.float64) ** settings.power)
        self._threads = available_threads(threads)
        self._adam = SparseAdam.start(len(counts), dim, settings.seed, lang)
        self._targets = 0
        self._losses: list[float] = []

    def needs(self, shard: Shard) -> Shard:
        """All of the shard: every word is part of a context."""
        return shard

    def learn(self, shard: Shard, vectors: FloatMatrix, random: np.random.Generator) -> None:
        """Learn from a shard whose running words have these vectors, (words, d)."""
        for _ in range(self._settings.repeats):
            examples = draw_examples(shard, vectors, self._keep, self._table, self._settings, random)
            if len(examples):
                self._losses.append(train_examples(self._adam, examples, self._settings, threads=self._threads))
                self._targets += len(examples)

    def vectors(self) -> FloatMatrix:
        """The static vectors (V, d)."""
        return self._adam.vectors

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        return {"vectors": self._adam.vectors, "means": self._adam.means, "squares": self._adam.squares}

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers of targets and batches, and the mean loss of a target and its negatives for each shard."""
        return {"targets": self._targets, "steps": self._adam.steps, "losses": self._losses}

    def restore(self, tensors: Any, facts: Any) -> None:
        """Restore the state from `tensors` and `facts`."""
        self._adam = SparseAdam(tensors["vectors"], tensors["means"], tensors["squares"], facts["steps"])
        self._targets, self._losses = facts["targets"], list(facts["losses"])


def keep_probabilities(counts: IntVector, sample: float) -> npt.NDArray[np.float64]:
    """The probability that an occurrence of each word becomes a target.

    >>> keep_probabilities(np.array([96, 4]), 0.01).round(3).tolist()
    [0.112, 0.75]
    """
    share = counts / counts.sum()
    probabilities: npt.NDArray[np.float64] = np.minimum(np.sqrt(sample / share) + sample / share, 1.0)
    return probabilities


def contexts_of(vectors: FloatMatrix, groups: IntVector, targets: IntVector, *, leave_out: bool) -> FloatMatrix:
    """The mean over each target's group (n, d), with `leave_out` without the target itself.

    `groups` are the ascending numbers (words,) of sentences or paragraphs; `targets` are positions of words.

    >>> words = np.array([[1, 0], [3, 0], [5, 0], [0, 7]], dtype=np.float32)
    >>> contexts_of(words, np.array([0, 0, 0, 1]), np.array([1]), leave_out=True).tolist()
    [[3.0, 0.0]]
    >>> contexts_of(words, np.array([0, 0, 0, 1]), np.array([2, 3]), leave_out=False).tolist()
    [[3.0, 0.0], [0.0, 7.0]]
    """
    sizes = np.bincount(groups)
    sums = np.add.reduceat(vectors, np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=0)
    contexts: FloatMatrix = sums[groups[targets]]
    members = sizes[groups[targets]]
    if leave_out:
        contexts -= vectors[targets]
        members = members - 1
    contexts /= members[:, None].astype(np.float32)
    return contexts


def draw_examples(
    shard: Shard,
    vectors: FloatMatrix,
    keep: npt.NDArray[np.float64],
    table: tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]],
    settings: DistillSettings,
    random: np.random.Generator,
) -> Examples:
    """Subsample the words of a shard, batch the targets in random order, and draw negatives for them."""
    groups = shard.of_unit if settings.context == "paragraph" else shard.of_sentence
    known = shard.rows >= 0
    if settings.leave_out:
        known &= np.bincount(groups)[groups] > 1  # a single word has no context
    is_target = known & (random.random(len(known)) < keep[shard.rows])
    place = random.permutation(int(shard.of_unit[-1]) + 1)  # of each unit
    targets = np.flatnonzero(is_target)
    batches = place[shard.of_unit[targets]] // settings.batch
    targets = targets[np.argsort(batches, kind="stable")]
    steps = np.unique(np.sort(batches), return_inverse=True)[1]  # batches without a target make no step
    words = np.empty((len(targets), 1 + settings.negatives), dtype=np.int32)
    words[:, 0] = shard.rows[targets]
    words[:, 1:] = _draw(table, (len(targets), settings.negatives), random)
    return Examples(contexts_of(vectors, groups, targets, leave_out=settings.leave_out), words, steps)


def train_examples(adam: SparseAdam, examples: Examples, settings: DistillSettings, *, threads: int = 1) -> float:
    """Train batch by batch; returns the mean loss of a target and its negatives, before each step."""
    from isoglot.distill._kernels import train_rows

    per_step = np.bincount(examples.steps)
    numbers = adam.steps + np.arange(1, len(per_step) + 1)
    sizes = settings.rate * np.sqrt(1 - DECAYS[1] ** numbers) / (1 - DECAYS[0] ** numbers)
    flat = examples.words.ravel()
    order = np.argsort(flat, kind="stable")  # by row, and within a row in the order of steps
    rows, starts = np.unique(flat[order], return_index=True)
    starts = np.append(starts, len(flat))
    losses = np.zeros(len(rows))

    def work(worker: int, begin: int, end: int) -> None:
        train_rows(
            begin, end, rows, starts, order, examples.steps, examples.contexts, 1.0 / per_step, sizes,
            adam.vectors, adam.means, adam.squares, losses, examples.words.shape[1], settings.clamp, DECAYS, EPSILON,
        )  # fmt: skip

    run_blocks(len(rows), _BLOCK, work, threads=threads, step="training", progress=silent)
    adam.steps += len(per_step)
    return float(losses.sum() / len(examples))


def _draw(
    table: tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]], shape: tuple[int, ...], random: np.random.Generator
) -> npt.NDArray[np.int32]:
    threshold, alias = table
    words = random.integers(len(threshold), size=shape, dtype=np.int32)
    kept = random.integers(2**32, size=shape, dtype=np.uint32) <= threshold[words]
    return np.where(kept, words, alias[words])
