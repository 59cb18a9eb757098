"""Word vectors out of a `Corpus`: skip-gram or CBOW with negative sampling, with or without subwords.

Mikolov et al. 2013, "Distributed representations of words and phrases"; Bojanowski et al. 2017, "Enriching word vectors
with subword information". Settings are fastText's. How the loops differ from fastText's is told in `_kernels`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.checkpoints import Checkpoint
from isoglot.errors import ConfigError
from isoglot.progress import Progress, silent
from isoglot.resumable import run_key
from isoglot.settings import Limits, check_settings
from isoglot.spaces import FloatMatrix, IntVector, fasttext_hash, ngrams
from isoglot.threads import available_threads, run_blocks
from isoglot.verified import digest_of_array
from isoglot.wordvectors.corpus import Corpus

#: Lines a worker takes at once; the learning rate and the randomness are set anew for each such block.
_BLOCK = 250
#: Lines that stay together when an epoch's order is drawn: neighbours on disk, and of one language.
_TOGETHER = 1000
#: Running words after which the state may be saved.
_SLICE = 2_000_000
_MODELS = ("skipgram", "cbow")
_LIMITS: Limits = {
    **dict.fromkeys(("dim", "window", "negatives", "epochs", "shortest", "bucket"), "[1, inf)"),
    **dict.fromkeys(("rate", "sample"), "(0, inf)"),
    "replace": "[0, 1]",
    "model": _MODELS,
}


@dataclasses.dataclass(frozen=True)
class Training:
    """Settings, by default fastText's but for dimensions (300, as in the papers).

    Args:
        model: "skipgram" or "cbow".
        dim: dimensions.
        window: words to each side, at most; each position draws its own reach.
        negatives: negative samples a position (skip-gram of whole words, CBOW) or a pair (skip-gram with subwords).
        epochs: passes over the text.
        rate: learning rate at the start; it falls to zero in a straight line.
        sample: frequent words are thinned out: one with share f of the text stays with probability
            sqrt(sample / f) + sample / f.
        subwords: whether a word's vector is the mean of its own and its character n-grams' vectors.
        shortest, longest: n-grams, in characters.
        bucket: n-grams are hashed into this many rows; only rows that are used cost memory.
        replace: probability with which a running word is swapped for a random translation (Joint-Replace).
        translate: CBOW also predicts a translation of each word, chosen by the context (supervised joint training).
        seed: where all random choices come from. With one thread a seed repeats exactly; more threads write into the
            same rows without waiting for each other, so their results differ in the last digits and drift apart.
    """

    model: str = "skipgram"
    dim: int = 300
    window: int = 5
    negatives: int = 5
    epochs: int = 5
    rate: float = 0.05
    sample: float = 1e-4
    subwords: bool = True
    shortest: int = 3
    longest: int = 6
    bucket: int = 2_000_000
    replace: float = 0.0
    translate: bool = False
    seed: int = 0

    models: ClassVar[tuple[str, ...]] = _MODELS

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)
        if self.longest < self.shortest:
            raise ConfigError(f"longest n-grams ({self.longest}) are shorter than the shortest ({self.shortest})")
        if self.translate and self.model != "cbow":
            raise ConfigError("translate needs the cbow model", remedy="set model=cbow")


@dataclasses.dataclass(frozen=True, eq=False)
class Translations:
    """For each row of a vocabulary the rows that translate it: rows[starts[i]:starts[i + 1]]."""

    starts: IntVector
    rows: npt.NDArray[np.int32]

    @classmethod
    def of(cls, words: int, pairs: npt.ArrayLike) -> Translations:
        """From pairs of rows, (p, 2); both directions. A word is no translation of itself.

        >>> table = Translations.of(4, [(0, 1), (0, 2), (3, 3)])
        >>> table.starts.tolist(), table.rows.tolist()
        ([0, 2, 3, 4, 4], [1, 2, 0, 0])
        """
        given = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        both = np.unique(np.concatenate([given, given[:, ::-1]]), axis=0)
        both = both[both[:, 0] != both[:, 1]]
        starts = np.zeros(words + 1, dtype=np.int64)
        np.cumsum(np.bincount(both[:, 0], minlength=words), out=starts[1:])
        return cls(starts, both[:, 1].astype(np.int32))


@dataclasses.dataclass(frozen=True, eq=False)
class _State:
    """All that training changes. `inputs` holds a row a word, then a row for each n-gram row in use."""

    inputs: FloatMatrix
    outputs: FloatMatrix
    resumed: int  # steps that an earlier run had done


def train(
    corpus: Corpus,
    settings: Training | None = None,
    *,
    translations: Translations | None = None,
    checkpoint: str | Path | None = None,
    threads: int | None = None,
    progress: Progress = silent,
    resumed: Callable[[str], None] | None = None,
) -> FloatMatrix:
    """A vector for each word of the corpus, (V, dim).

    `checkpoint` is a file in which the state is kept every half a minute; a run that was killed resumes from there and
    `resumed` is told from where. `translations` are needed for `replace` and `translate`.
    """
    settings = settings or Training()
    if (settings.replace > 0 or settings.translate) and (translations is None or not len(translations.rows)):
        raise ConfigError("replace and translate need translation pairs within the vocabulary", remedy="give a lexicon")
    table = translations or Translations.of(len(corpus.words), np.zeros((0, 2), dtype=np.int64))
    part_starts, parts, rows = _parts(corpus, settings)
    keeper = Checkpoint(None if checkpoint is None else Path(checkpoint), training_key(corpus, settings, translations))
    state = _start(corpus, settings, rows, keeper)
    workers = available_threads(threads)
    arguments = _kernel_arguments(corpus, settings, table)
    all_lines = sum(len(own) for own in corpus.lines)
    slices = max(1, round(corpus.total / _SLICE))
    bounds = np.linspace(0, all_lines, slices + 1).astype(np.int64)
    whole = float(settings.epochs * corpus.total)
    if state.resumed and resumed is not None:
        epoch, part = divmod(state.resumed, slices)
        resumed(f"training resumes in epoch {epoch + 1} of {settings.epochs}, at {part / slices:.0%}")
    for step in range(state.resumed, settings.epochs * slices):
        epoch, part = divmod(step, slices)
        if part == 0 or step == state.resumed:
            order = _order(corpus, settings.seed, epoch)
            before = np.zeros(len(order) + 1, dtype=np.int64)  # running words before each line
            np.cumsum(corpus.starts[order + 1] - corpus.starts[order], out=before[1:])
        first = int(bounds[part])

        def work(worker: int, begin: int, end: int) -> None:
            at = first + begin  # noqa: B023 (run_blocks returns before the next round)
            done = epoch * corpus.total + int(before[at])  # noqa: B023
            rate = np.float32(settings.rate * max(1e-4, 1.0 - done / whole))
            random = np.random.SeedSequence([settings.seed, epoch, at]).generate_state(1, np.uint64)[0]  # noqa: B023
            lines = order[at : first + end]  # noqa: B023
            _kernel(settings, state, arguments, lines, rate, random, part_starts, parts)

        def tell(name: str, lines_done: float, _: float | None) -> None:
            words = epoch * corpus.total + before[first + int(lines_done)]  # noqa: B023
            progress(name, float(words), whole)

        n = int(bounds[part + 1]) - first
        run_blocks(n, _BLOCK, work, threads=workers, step="training (running words)", progress=tell)
        keeper.save(step + 1, {"inputs": state.inputs, "outputs": state.outputs})
    keeper.remove()
    return _word_vectors(corpus, settings, state.inputs, part_starts, parts)


def _kernel(
    settings: Training,
    state: _State,
    shared: Mapping[str, Any],
    lines: IntVector,
    rate: np.float32,
    seed: np.uint64,
    part_starts: IntVector,
    parts: npt.NDArray[np.int32],
) -> None:
    common = (
        shared["tokens"],
        shared["starts"],
        lines,
        state.inputs,
        state.outputs,
        shared["keep"],
        shared["threshold"],
        shared["alias"],
        shared["swap_starts"],
        shared["swaps"],
        shared["swap_below"],
        settings.window,
        settings.negatives,
        rate,
        seed | np.uint64(1),  # xorshift stays at zero for ever
    )
    from isoglot.wordvectors._kernels import train_cbow, train_subwords, train_words

    if settings.model == "cbow":
        train_cbow(*common, part_starts, parts, settings.translate)
    elif settings.subwords:
        train_subwords(*common, part_starts, parts)
    else:
        train_words(*common)


def _kernel_arguments(corpus: Corpus, settings: Training, table: Translations) -> dict[str, Any]:
    from isoglot.wordvectors.steps import alias_table

    totals = corpus.counts.sum(axis=1).astype(np.float64)
    share = totals / totals.sum()
    with np.errstate(divide="ignore"):
        keep = np.sqrt(settings.sample / share) + settings.sample / share
    threshold, alias = alias_table(np.sqrt(totals))
    return {
        "tokens": np.asarray(corpus.tokens),
        "starts": corpus.starts,
        "keep": (np.minimum(keep, 1.0) * 0xFFFFFFFF).astype(np.uint32),
        "threshold": threshold,
        "alias": alias,
        "swap_starts": table.starts,
        "swaps": table.rows,
        "swap_below": int(settings.replace * 2**32),
    }


def _order(corpus: Corpus, seed: int, epoch: int) -> IntVector:
    """The epoch's lines: languages mixed, some neighbours left together."""
    groups = [own[i : i + _TOGETHER] for own in corpus.lines for i in range(0, len(own), _TOGETHER)]
    shuffled = np.random.default_rng([seed, epoch]).permutation(len(groups))
    return np.concatenate([groups[i] for i in shuffled])


def _parts(corpus: Corpus, settings: Training) -> tuple[IntVector, npt.NDArray[np.int32], int]:
    """The input rows of each word (its own, then its n-grams'), and how many rows there are in all."""
    words = len(corpus.words)
    if not settings.subwords:
        return np.arange(words + 1), np.arange(words, dtype=np.int32), words
    hashed = [
        [fasttext_hash(gram.encode("utf-8", "surrogatepass")) % settings.bucket for gram in grams]
        for grams in (ngrams(word, settings.shortest, settings.longest) for word in corpus.words)
    ]
    starts = np.zeros(words + 1, dtype=np.int64)
    np.cumsum([1 + len(own) for own in hashed], out=starts[1:])
    used, compact = np.unique(np.concatenate([np.array(own, dtype=np.int64) for own in hashed]), return_inverse=True)
    parts = np.empty(starts[-1], dtype=np.int32)
    own_place = np.zeros(len(parts), dtype=bool)
    own_place[starts[:-1]] = True
    parts[own_place] = np.arange(words)
    parts[~own_place] = words + compact
    return starts, parts, words + len(used)


def _start(corpus: Corpus, settings: Training, rows: int, keeper: Checkpoint) -> _State:
    saved = keeper.load()
    if saved is not None:
        return _State(saved.tensors["inputs"], saved.tensors["outputs"], saved.step)
    width = -(-settings.dim // 8) * 8
    inputs = np.zeros((rows, width), dtype=np.float32)
    random = np.random.default_rng([settings.seed, 0x1D])
    for begin in range(0, rows, 65_536):  # a part at a time: the generator's numbers take as much memory again
        block = inputs[begin : begin + 65_536, : settings.dim]
        block[:] = (random.random(block.shape, dtype=np.float32) * 2 - 1) / settings.dim
    return _State(inputs, np.zeros((len(corpus.words), width), dtype=np.float32), 0)


def _word_vectors(
    corpus: Corpus, settings: Training, inputs: FloatMatrix, starts: IntVector, parts: npt.NDArray[np.int32]
) -> FloatMatrix:
    if not settings.subwords:
        return np.ascontiguousarray(inputs[: len(corpus.words), : settings.dim])
    vectors = np.empty((len(corpus.words), settings.dim), dtype=np.float32)
    for word in range(len(vectors)):
        vectors[word] = inputs[parts[starts[word] : starts[word + 1]], : settings.dim].mean(axis=0)
    return vectors


def training_key(corpus: Corpus, settings: Training, table: Translations | None) -> str:
    """Tells runs apart: the same texts, settings and translations give the same key."""
    translated = None if table is None else [digest_of_array(table.starts), digest_of_array(table.rows)]
    facts = [corpus.facts.get("texts"), corpus.facts.get("settings"), dataclasses.asdict(settings)]
    return run_key(*facts, corpus.words, translated)
