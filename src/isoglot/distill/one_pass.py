"""One pass over the sentences of a language, encoded shard by shard; one or more runs learn from it.

Vectors of running words are not stored unless the encoder has a cache. Each run has a folder for its state and its
finished vectors, so that a killed pass resumes and a finished run is not repeated.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.checkpoints import Checkpoint
from isoglot.distill.aggregate import Aggregate
from isoglot.distill.sentences import Sentences
from isoglot.distill.settings import DistillSettings
from isoglot.distill.shards import Shard, read_shard, shard_bounds, shuffled_units
from isoglot.distill.x2static import X2Static
from isoglot.encoders import Encoder
from isoglot.errors import InputError
from isoglot.manifests import parse_json
from isoglot.progress import Progress, silent, within
from isoglot.resumable import run_key
from isoglot.spaces import FloatMatrix, Space
from isoglot.verified import keep_vectors, kept_vectors

Tell = Callable[[str], None]
STATE, VECTORS = "state.checkpoint", "vectors.safetensors"
#: Above this share of the first loss vectors are mostly those that training began with.
_LEARNED = 0.9


@dataclasses.dataclass(frozen=True, eq=False)
class Distilled:
    """A language's static vectors, and figures: sentences used and left out, seconds, loss."""

    space: Space
    figures: Mapping[str, Any]


def learn_in_one_pass(
    encoder: Encoder,
    sentences: Sentences,
    runs: Sequence[tuple[DistillSettings, Path]],
    *,
    threads: int | None = None,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> list[Distilled]:
    """Encode and learn, resume, or reopen finished runs, each given as settings and a folder.

    All runs must read the sentences in the same way. The figures of every run have the encoder's seconds of the pass.
    """
    lang = sentences.lang
    keys = [_key(encoder, sentences, settings) for settings, _ in runs]
    done = [_finished(folder / VECTORS, key, sentences) for (_, folder), key in zip(runs, keys, strict=True)]
    for (_, folder), result in zip(runs, done, strict=True):
        if result is not None:
            tell(f"{lang} is already finished: {folder / VECTORS}")
    reading = runs[0][0]
    units = shuffled_units(sentences, paragraphs=reading.by_paragraph)
    bounds = shard_bounds(sentences, units)
    sizes = [sum(len(unit) for unit in units[a:b]) for a, b in itertools.pairwise(bounds)]
    pending = {
        number: _Learning(encoder, sentences, settings, folder, keys[number], len(sizes), threads)
        for number, (settings, folder) in enumerate(runs)
        if done[number] is None
    }
    for one in pending.values():
        if one.begin:
            tell(f"{lang}: resuming after {one.begin:,} of {one.end:,} shards")
    spans = [(one.begin, one.end) for one in pending.values() if one.begin < one.end]
    first, last = min((begin for begin, _ in spans), default=0), max((end for _, end in spans), default=0)
    step = f"distilling {lang} (sentences)"
    total = sum(sizes) * last // len(sizes)
    passed = sum(size for _, size in zip(range(first), itertools.cycle(sizes), strict=False))
    for number in range(first, last):
        epoch, part = divmod(number, len(sizes))
        # A killed pass may have left runs at different shards: each resumes from its own.
        active = [one for one in pending.values() if one.begin <= number < one.end]
        passed += sizes[part]
        if not active:
            continue
        began = time.perf_counter()
        shard = read_shard(sentences, units[bounds[part] : bounds[part + 1]])
        if len(active) == 1:
            shard = active[0].learner.needs(shard)
        prepared = time.perf_counter()
        if len(shard):
            read = shard.units() if reading.reads == "paragraph" else shard.sentences
            # A shard is not done until it has been learned from.
            inner = within(progress, passed - sizes[part], 0.99 * sizes[part], total)
            vectors = encoder.words(read, step=step, progress=inner).vectors
        encoded = time.perf_counter()
        for one in active:
            one.spent["encoder_seconds"] += encoded - prepared
            one.spent["static_seconds"] += prepared - began
            if len(shard):
                one.learn(shard, vectors, epoch, part)
            one.save(number + 1)
        progress(step, passed, total)
    return [result or pending[number].finish(sentences) for number, result in enumerate(done)]


def check_states(encoder: Encoder, sentences: Sentences, runs: Sequence[tuple[DistillSettings, Path]]) -> None:
    """Raise if one of the folders holds the state of another run."""
    for settings, folder in runs:
        Checkpoint(folder / STATE, _key(encoder, sentences, settings)).load()


class _Learning:
    """A run in progress: its learner, its figures so far, and the range of shards it still needs."""

    def __init__(
        self,
        encoder: Encoder,
        sentences: Sentences,
        settings: DistillSettings,
        folder: Path,
        key: str,
        shards: int,
        threads: int | None,
    ) -> None:
        self.learner: X2Static | Aggregate
        if settings.method == "x2static":
            self.learner = X2Static(sentences.counts, encoder.dim, settings, threads, sentences.lang)
        else:
            self.learner = Aggregate(sentences.counts, encoder.dim, settings, threads)
        self.begin, self.end = 0, settings.epochs * shards
        self.spent = {"encoded": 0, "encoder_seconds": 0.0, "static_seconds": 0.0}
        self._seed, self._key, self._place = settings.seed, key, folder / VECTORS
        self._negatives = settings.negatives
        self._keeper = Checkpoint(folder / STATE, key)
        saved = self._keeper.load()
        if saved is not None:
            self.learner.restore(saved.tensors, saved.facts["learner"])
            self.begin, self.spent = saved.step, dict(saved.facts["spent"])

    def learn(self, shard: Shard, vectors: FloatMatrix, epoch: int, part: int) -> None:
        began = time.perf_counter()
        self.learner.learn(shard, vectors, np.random.default_rng([self._seed, epoch, part]))
        self.spent["static_seconds"] += time.perf_counter() - began
        self.spent["encoded"] += len(shard)

    def save(self, shards: int) -> None:
        self._keeper.save(shards, self.learner.tensors, {"learner": self.learner.facts, "spent": self.spent})

    def finish(self, sentences: Sentences) -> Distilled:
        """The result, saved until the folders of all languages are written."""
        figures = {**_figures(sentences, self.learner.facts), **self.spent}
        if isinstance(self.learner, X2Static):
            figures |= {"warning": _hardly_learned(figures, self._negatives)}
        vectors = self.learner.vectors()
        keep_vectors(self._place, vectors, {"key": self._key, "figures": json.dumps(figures)})
        self._keeper.remove()
        return Distilled(Space(sentences.lang, sentences.words, vectors, counts=sentences.counts), figures)


def _hardly_learned(figures: Mapping[str, Any], negatives: int) -> str | None:
    """A warning if the loss has hardly changed: the vectors are then still the random initial ones.

    >>> _hardly_learned({"last_loss": 7.47, "targets": 613}, negatives=10)
    'hardly anything was learned: a loss of 7.47 from 613 targets, where random vectors have 7.62; add more text, or \
raise sample, repeats or epochs'
    """
    start = (1 + negatives) * math.log(2)  # all products are about 0
    loss = figures.get("last_loss", start)
    if loss < _LEARNED * start:
        return None
    return (
        f"hardly anything was learned: a loss of {loss:.2f} from {figures['targets']:,} targets, where random vectors "
        f"have {start:.2f}; add more text, or raise sample, repeats or epochs"
    )


def _figures(sentences: Sentences, facts: Mapping[str, Any]) -> dict[str, Any]:
    names = ("seen", "kept", "too_short", "alone", "parted", "running_words", "types")
    figures = {name: sentences.facts[name] for name in names}
    figures |= {"words": len(sentences.words), "coverage": int(sentences.counts.sum()) / sentences.running_words}
    learned = dict(facts)
    losses = learned.pop("losses", None)
    if losses:
        learned |= {"first_loss": losses[0], "last_loss": losses[-1]}
    return {**figures, **learned}


def _finished(path: Path, key: str, sentences: Sentences) -> Distilled | None:
    saved = kept_vectors(path)
    if saved is None:
        return None
    vectors, facts = saved
    if facts.get("key") != key or vectors.ndim != 2 or len(vectors) != len(sentences.words):
        return None  # damaged or from another run: do it again
    try:
        figures = parse_json(facts.get("figures", ""), str(path))
    except InputError:
        return None
    if not isinstance(figures, dict):
        return None
    return Distilled(Space(sentences.lang, sentences.words, vectors, counts=sentences.counts), figures)


def identity_of(encoder: Encoder) -> dict[str, Any]:
    """Everything that the encoder's vectors depend on, for JSON."""
    return {
        "name": encoder.name,
        "fingerprint": encoder.model.fingerprint(),
        "layer": str(encoder.layers),
        "pooling": encoder.pooling,
        "max_length": encoder.max_length,
        "dim": encoder.dim,
    }


def _key(encoder: Encoder, sentences: Sentences, settings: DistillSettings) -> str:
    """The key of a run: the same encoder, text and settings give the same key."""
    identity = identity_of(encoder)
    if not encoder.mapped:
        identity.pop("name")  # the same weights in another place are the same encoder
    return run_key(identity, sentences.facts["text"], dataclasses.asdict(settings))
