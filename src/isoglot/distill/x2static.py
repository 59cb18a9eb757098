"""X2Static: static vectors trained CBOW-like against contexts that an encoder gives (Gupta & Jaggi 2021).

A word is predicted from the mean of the contextual vectors around it: log(1 + e^-s) for the word's own vector and
log(1 + e^s) for those of words drawn by the roots of their counts, s being the product with that mean. Only the static
vectors are learned, by Adam on the rows that a batch touches (the same numbers as torch's SparseAdam).

The mean is over words, each the pooled vector of its subwords; the code that Gupta & Jaggi released takes it over all
tokens, special ones and the target among them.
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
    """What a shard teaches, batch after batch.

    Args:
        contexts: (n, d) what each target is predicted from.
        words: (n, 1 + negatives) rows: the target, then its negatives.
        steps: (n,) number of each target's batch, from 0, rising without gaps.
    """

    contexts: FloatMatrix
    words: npt.NDArray[np.int32]
    steps: IntVector

    def __len__(self) -> int:
        return len(self.contexts)


@dataclasses.dataclass(eq=False)
class SparseAdam:
    """Static vectors (V, d) with Adam's running averages; `steps` batches are done."""

    vectors: FloatMatrix
    means: FloatMatrix
    squares: FloatMatrix
    steps: int = 0

    @classmethod
    def start(cls, words: int, dim: int, seed: int, lang: str = "") -> SparseAdam:
        """Vectors drawn evenly from -1/d to 1/d.

        Each language has its own: the same ones would make words of one rank alike wherever little is learned, which
        looks like an alignment and is none.
        """
        random = np.random.default_rng([seed, 0x1D, *lang.encode()])
        vectors = (random.random((words, dim), dtype=np.float32) * 2 - 1) / np.float32(dim)
        return cls(vectors, np.zeros_like(vectors), np.zeros_like(vectors))


class X2Static:
    """Learns from one shard after the other. Its state is all in `tensors` and `facts`.

    Args:
        counts: of each word of the vocabulary.
        dim: dimensions of the encoder's vectors.
        lang: of the text, for the vectors to begin with.
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
        """What was learned, (V, d)."""
        return self._adam.vectors

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        return {"vectors": self._adam.vectors, "means": self._adam.means, "squares": self._adam.squares}

    @property
    def facts(self) -> dict[str, Any]:
        """Figures: targets, batches, and the mean loss of a target and its negatives, shard by shard."""
        return {"targets": self._targets, "steps": self._adam.steps, "losses": self._losses}

    def restore(self, tensors: Any, facts: Any) -> None:
        """Go on from what `tensors` and `facts` were."""
        self._adam = SparseAdam(tensors["vectors"], tensors["means"], tensors["squares"], facts["steps"])
        self._targets, self._losses = facts["targets"], list(facts["losses"])


def keep_probabilities(counts: IntVector, sample: float) -> npt.NDArray[np.float64]:
    """How probably an occurrence of each word becomes a target.

    >>> keep_probabilities(np.array([96, 4]), 0.01).round(3).tolist()
    [0.112, 0.75]
    """
    share = counts / counts.sum()
    kept: npt.NDArray[np.float64] = np.minimum(np.sqrt(sample / share) + sample / share, 1.0)
    return kept


def contexts_of(vectors: FloatMatrix, groups: IntVector, targets: IntVector, *, leave_out: bool) -> FloatMatrix:
    """The mean over each target's group, (n, d), without the target itself if so asked.

    `groups` are the rising numbers (words,) of sentences or paragraphs; `targets` are places among the words.

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
    """Thin out the words of a shard, batch what is left in random order, and draw negatives for it."""
    groups = shard.of_unit if settings.context == "paragraph" else shard.of_sentence
    known = shard.rows >= 0
    if settings.leave_out:
        known &= np.bincount(groups)[groups] > 1  # a word alone has no context
    chosen = known & (random.random(len(known)) < keep[shard.rows])
    place = random.permutation(int(shard.of_unit[-1]) + 1)  # of each unit, among all
    targets = np.flatnonzero(chosen)
    batches = place[shard.of_unit[targets]] // settings.batch
    targets = targets[np.argsort(batches, kind="stable")]
    steps = np.unique(np.sort(batches), return_inverse=True)[1]  # batches without a target make no step
    words = np.empty((len(targets), 1 + settings.negatives), dtype=np.int32)
    words[:, 0] = shard.rows[targets]
    words[:, 1:] = _draw(table, (len(targets), settings.negatives), random)
    return Examples(contexts_of(vectors, groups, targets, leave_out=settings.leave_out), words, steps)


def train_examples(adam: SparseAdam, examples: Examples, settings: DistillSettings, *, threads: int = 1) -> float:
    """Go down the loss, batch after batch; the mean loss of a target and its negatives, before each step."""
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
    drawn = random.integers(len(threshold), size=shape, dtype=np.int32)
    kept = random.integers(2**32, size=shape, dtype=np.uint32) <= threshold[drawn]
    return np.where(kept, drawn, alias[drawn])
