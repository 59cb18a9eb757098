"""From texts and an encoder to static vectors, one Space a language: shard by shard encoded and learned from.

    OUT/config.json           encoder, settings, versions, and of each language what was used, left out, and how long
    OUT/en.safetensors        words, vectors and counts of each language

While it runs, OUT.work/en holds the chosen sentences and, every half a minute, the state: a killed run goes on to the
same vectors. Vectors of running words are never stored, unless the encoder has a cache.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import isoglot
from isoglot.aligners.checkpoint import Checkpoint
from isoglot.distill.aggregate import Aggregate
from isoglot.distill.sentences import Sentences
from isoglot.distill.settings import DistillSettings
from isoglot.distill.shards import read_shard, shard_bounds, shuffled_units
from isoglot.distill.x2static import X2Static
from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, InputError
from isoglot.files import atomic_directory, atomic_path, check_replaceable, remove_kept
from isoglot.joint import TextFile
from isoglot.progress import Progress, silent
from isoglot.spaces import Space

__all__ = ["Distilled", "check_output", "choose_sentences", "distill_text", "distill_texts", "remove_work"]

Tell = Callable[[str], None]
_MARKER = "config.json"
_FORMAT = "isoglot-distilled"
_VERSION = 1
_SENTENCES, _STATE, _VECTORS = "sentences", "state.checkpoint", "vectors.safetensors"


@dataclasses.dataclass(frozen=True, eq=False)
class Distilled:
    """A language's static vectors, and figures: what was used and left out, seconds, loss."""

    space: Space
    figures: Mapping[str, Any]


def distill_text(
    encoder: Encoder,
    text: TextFile,
    settings: DistillSettings | None = None,
    work: str | Path | None = None,
    *,
    threads: int | None = None,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> Space:
    """The static vectors of one language's text.

    Args:
        work: a folder for the state; a run that was killed goes on from there. None: a temporary one.
        threads: for the static side; the result does not depend on it.
        tell: is told in a line what one may want to know.
    """
    settings = settings or DistillSettings()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()) if work is None else work)
        sentences = choose_sentences(text, settings, folder, progress=progress, tell=tell)
        return _distill(encoder, sentences, settings, folder, threads, progress, tell).space


def distill_texts(
    encoder: Encoder,
    texts: Sequence[TextFile],
    output: str | Path,
    settings: DistillSettings | None = None,
    *,
    threads: int | None = None,
    keep_work: bool = False,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> dict[str, Distilled]:
    """The static vectors of each text, written to the folder `output`. All texts are read before any is encoded."""
    output = Path(output)
    settings = settings or DistillSettings()
    check_output(output)
    langs = [text.lang for text in texts]
    if len(set(langs)) < len(langs) or not langs:
        raise ConfigError(f"each text needs a language of its own, not {', '.join(langs)}")
    work = output.with_name(f"{output.name}.work")
    chosen = {
        text.lang: choose_sentences(text, settings, work / text.lang, progress=progress, tell=tell) for text in texts
    }
    for lang, sentences in chosen.items():
        # Another run's state stops this one: better now than after the languages before it.
        Checkpoint(work / lang / _STATE, _key(encoder, sentences, settings)).load()
    done = {
        lang: _distill(encoder, sentences, settings, work / lang, threads, progress, tell)
        for lang, sentences in chosen.items()
    }
    with atomic_directory(output, marker=_MARKER) as temporary:
        for lang, one in done.items():
            one.space.save(temporary / f"{lang}.safetensors", progress=progress)
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "encoder": _identity(encoder),
            "settings": dataclasses.asdict(settings),
            "languages": {
                lang: {"text": chosen[lang].facts["text"], "fingerprint": one.space.fingerprint(), **one.figures}
                for lang, one in done.items()
            },
            "versions": _versions(),
        }
        (temporary / _MARKER).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
    if not keep_work:
        remove_work(work, langs)
    return done


def check_output(output: Path) -> None:
    """Raise unless the folder is free or holds what an earlier run wrote: `config.json` alone is no proof of that."""
    check_replaceable(output, marker=_MARKER)
    marker = output / _MARKER
    if marker.exists():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if json.loads(marker.read_text("utf-8")).get("format") == _FORMAT:
                return
        raise InputError(
            "this folder holds another model and will not be overwritten",
            where=str(output),
            remedy="choose another output path",
        )


def choose_sentences(
    text: TextFile,
    settings: DistillSettings,
    folder: Path,
    *,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> Sentences:
    """Filter and count, or reopen what an earlier run has left in the folder."""
    sentences = Sentences.build(text, folder / _SENTENCES, settings, progress=progress)
    if not sentences.parted:
        if settings.by_paragraph:
            raise ConfigError(
                "no blank line parts this text into paragraphs", where=str(text.path), remedy="use sentences"
            )
        if settings.min_sentences > 1:
            tell(f"{text.path.name} has no paragraphs (no blank lines): sentences are chosen by their length alone")
    return sentences


def remove_work(work: str | Path, langs: Sequence[str]) -> None:
    """Remove what was kept of these languages, and the folder if it holds nothing else."""
    for lang in langs:
        remove_kept(Path(work) / lang, (_SENTENCES, _STATE, _VECTORS))
    remove_kept(work, ())


def _distill(
    encoder: Encoder,
    sentences: Sentences,
    settings: DistillSettings,
    folder: Path,
    threads: int | None,
    progress: Progress,
    tell: Tell,
) -> Distilled:
    """Encode and learn, go on with, or reopen."""
    key = _key(encoder, sentences, settings)
    finished = folder / _VECTORS
    found = _finished(finished, key, sentences)
    if found is not None:
        tell(f"{sentences.lang} was finished earlier: {finished}")
        return found
    kind = X2Static if settings.method == "x2static" else Aggregate
    learner: X2Static | Aggregate = kind(sentences.counts, encoder.dim, settings, threads)
    units = shuffled_units(sentences, settings.seed, paragraphs=settings.by_paragraph)
    bounds = shard_bounds(sentences, units)
    sizes = [sum(len(unit) for unit in units[a:b]) for a, b in itertools.pairwise(bounds)]
    keeper = Checkpoint(folder / _STATE, key)
    saved = keeper.load()
    begin, spent = 0, {"encoded": 0, "encoder_seconds": 0.0, "static_seconds": 0.0}
    if saved is not None:
        learner.restore(saved.tensors, saved.facts["learner"])
        begin, spent = saved.step, dict(saved.facts["spent"])
        tell(f"{sentences.lang} goes on after {begin:,} of {settings.epochs * len(sizes):,} shards")
    total = settings.epochs * sum(sizes)
    done = sum(size for _, size in zip(range(begin), sizes * settings.epochs, strict=False))
    step = f"distilling {sentences.lang} (sentences)"
    for number in range(begin, settings.epochs * len(sizes)):
        epoch, part = divmod(number, len(sizes))
        size = sizes[part]
        began = time.perf_counter()
        shard = learner.needs(read_shard(sentences, units[bounds[part] : bounds[part + 1]]))
        prepared = time.perf_counter()
        spent["static_seconds"] += prepared - began
        if len(shard):
            read = shard.units() if settings.reads == "paragraph" else shard.sentences
            vectors = encoder.words(read, step=step, progress=_within(progress, done, size, total)).vectors
            encoded = time.perf_counter()
            learner.learn(shard, vectors, np.random.default_rng([settings.seed, epoch, part]))
            spent["encoder_seconds"] += encoded - prepared
            spent["static_seconds"] += time.perf_counter() - encoded
            spent["encoded"] += len(shard)
        done += size
        progress(step, done, total)
        keeper.save(number + 1, learner.tensors, {"learner": learner.facts, "spent": spent})
    figures = {**_figures(sentences, learner.facts), **spent}
    vectors = learner.vectors()
    with atomic_path(finished) as temporary:
        save_file({"vectors": vectors}, temporary, metadata={"key": key, "figures": json.dumps(figures)})
    keeper.remove()
    return Distilled(Space(sentences.lang, sentences.words, vectors, counts=sentences.counts), figures)


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
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("key") != key:
                return None
            space = Space(sentences.lang, sentences.words, file.get_tensor("vectors"), counts=sentences.counts)
            return Distilled(space, json.loads(metadata["figures"]))
    except (SafetensorError, OSError, ValueError, KeyError):
        return None  # absent or damaged: made again


def _within(progress: Progress, begin: int, size: int, total: int) -> Progress:
    """Progress over all sentences, from that within a shard."""

    def inner(step: str, done: float, of: float | None) -> None:
        # A shard is not done before it is learned from.
        progress(step, begin + 0.99 * size * (done / of if of else 0.0), total)

    return inner


def _identity(encoder: Encoder) -> dict[str, Any]:
    return {
        "name": encoder.name,
        "fingerprint": encoder.model.fingerprint(),
        "layer": str(encoder.layers),
        "pooling": encoder.pooling,
        "max_length": encoder.max_length,
        "dim": encoder.dim,
    }


def _key(encoder: Encoder, sentences: Sentences, settings: DistillSettings) -> str:
    """Tells runs apart: the same encoder, text and settings give the same key."""
    identity = _identity(encoder)
    if not encoder.mapped:
        identity.pop("name")  # the same weights in another place are the same encoder
    facts = [identity, sentences.facts["text"], dataclasses.asdict(settings)]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _versions() -> dict[str, str]:
    import torch
    import transformers

    return {
        "isoglot": isoglot.__version__,
        "numpy": np.__version__,
        "torch": str(torch.__version__),
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }
