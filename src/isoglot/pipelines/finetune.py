"""A training recipe from end to end: texts, encoder, loop with its evaluations, and the folder that comes out."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import resource
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot import catalogue
from isoglot.criteria import measure, semantic_criterion
from isoglot.encoders import Encoder, is_aligned_folder
from isoglot.errors import ConfigError, FormatError, InputError, locating
from isoglot.files import check_writable
from isoglot.finetuning import (
    RUN,
    RUN_FORMAT,
    START,
    Corpus,
    Recipe,
    Sources,
    StepRecord,
    TextCorpus,
    Trained,
    Trainer,
    check_export,
    check_output,
    check_room,
    make_encoder,
    open_corpus,
    open_text,
    read_json,
    recipe_of,
    save_encoder,
    write_json,
)
from isoglot.pipelines.contextual_pairs import extract_pairs
from isoglot.pipelines.encoder_alignment import tokenise
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, Space
from isoglot.tasks import cbli, tatoeba
from isoglot.text import read_lines

__all__ = [
    "Cost",
    "Evaluation",
    "Fine",
    "duration",
    "estimate",
    "fine_tune",
    "open_sources",
    "open_texts",
    "prepare",
    "resume_recipe",
]

Watch = Callable[[StepRecord], None]


class Evaluation:
    """Figures of an encoder on held out lines, as means over the pairs of languages.

    - `retrieval`: P@1 of sentences (cosine, mean of both directions), `retrieval csls` the same with CSLS, and both for
      each pair.
    - `semantic`, `structural`: the criteria without a dictionary, on vectors that are centred, as a space that has
      shrunk to one point would otherwise be the best of all.
    - `kept`: mean cosine of target sentences with their vectors before training.
    - `spread`: how far target sentences are from their mean, over the same before training: a fall tells of collapse.
    - `cbli`: P@1 of words in context, where asked for.

    Args:
        words: also look words up, which takes longer.
    """

    def __init__(self, corpora: Sequence[Corpus], *, words: bool = False, segmenter: str = "icu") -> None:
        self._texts = [one.text(one.held_out) for one in corpora if len(one.held_out) > 1]
        self._words = words
        self._segmenter = segmenter
        self._before: list[FloatMatrix] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def remember(self, encoder: Encoder) -> None:
        """Take this encoder for the one before training."""
        self._before = [encoder.sentences(text.tgt) for text in self._texts]

    def __call__(self, encoder: Encoder) -> dict[str, float]:
        found: dict[str, list[float]] = {}
        each: dict[str, float] = {}
        targets = []
        for text in self._texts:
            X, Y = encoder.sentences(text.src), encoder.sentences(text.tgt)
            targets.append(Y)
            pair = f"{text.src_lang}-{text.tgt_lang}"
            for score, name in (("cosine", "retrieval"), ("csls", "retrieval csls")):
                value = tatoeba(X, Y, score=score, sentences=(text.src, text.tgt), bootstrap=0)[0].value
                found.setdefault(name, []).append(value)
                each[f"{name} {pair}"] = value
            middle = np.concatenate([X, Y]).mean(axis=0)
            criteria = measure(X - middle, Y - middle)
            found.setdefault("semantic", []).append(criteria.semantic)
            found.setdefault("structural", []).append(criteria.structural)
            if self._words:
                found.setdefault("cbli", []).append(self._looked_up(encoder, text))
        for Y, Y0 in zip(targets, self._before, strict=bool(self._before)):
            found.setdefault("kept", []).append(semantic_criterion(Y, Y0))
            found.setdefault("spread", []).append(float(Y.var(axis=0).sum() / max(Y0.var(axis=0).sum(), 1e-12)))
        return {name: float(np.mean(values)) for name, values in found.items()} | each

    def _looked_up(self, encoder: Encoder, text: Any) -> float:
        pairs = extract_pairs(encoder, tokenise(text, self._segmenter), method="hmm")
        return cbli(pairs.src, pairs.tgt, pairs.pairs, ks=(1,), bootstrap=0)[0].value


@dataclasses.dataclass(frozen=True, eq=False)
class Fine:
    """A run that is ready to go."""

    recipe: Recipe
    trainer: Trainer
    sources: Sources
    evaluation: Evaluation


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


def open_texts(recipe: Recipe, progress: Progress = silent) -> list[Corpus]:
    """The texts that a recipe names."""
    corpora = []
    for lang, place in recipe.parallel.items():
        src: Any
        tgt: Any
        if place.startswith("parallel/") and not Path(place).exists():
            first, _, second = place.removeprefix("parallel/").partition("-")
            if {first, second} != {lang, recipe.target}:
                raise ConfigError(f"{place} is not a text of {lang} and {recipe.target}", where="parallel")
            text = catalogue.load_parallel(lang, recipe.target, progress=progress)
            src, tgt = text.src, text.tgt
        else:
            parts = [Path(part.strip()).expanduser() for part in place.split(",")]
            if len(parts) > 2:
                raise ConfigError(f"{place!r} names more than two files", where=f"parallel {lang}")
            src, tgt = parts if len(parts) == 2 else _columns(parts[0])
        held, limit = recipe.held_out, recipe.limit
        corpora.append(open_corpus(src, tgt, lang, recipe.target, held_out=held, limit=limit, progress=progress))
    return corpora


def open_sources(recipe: Recipe, progress: Progress = silent) -> Sources:
    """All texts and vectors that a recipe names."""
    held, limit = recipe.held_out, recipe.limit
    return Sources(
        open_texts(recipe, progress),
        [
            open_text(Path(place).expanduser(), lang, held_out=held, limit=limit, progress=progress)
            for lang, place in recipe.text.items()
        ],
        {lang: _vectors(Path(place).expanduser(), lang, progress) for lang, place in recipe.static.items()},
    )


def prepare(
    recipe: Recipe,
    *,
    words: bool = False,
    device: str = "auto",
    dry: bool = False,
    watch: Watch = lambda record: None,
    tell: Callable[[str], None] = lambda line: None,
    progress: Progress = silent,
) -> Fine:
    """Read texts and encoder and check all that can be checked before the work begins.

    Args:
        dry: write nothing, not even the links between words.
    """
    check_output(recipe.output)
    check_writable(recipe.output)
    if recipe.fresh is None and is_aligned_folder(Path(recipe.encoder)):
        remedy = f"name the encoder in it: {Path(recipe.encoder) / 'encoder'}"
        raise ConfigError("is aligned by maps, which training would leave behind", where=recipe.encoder, remedy=remedy)
    sources = open_sources(recipe, progress)
    check_export()
    encoder = _start(recipe, sources.texts, device, dry, progress)
    evaluation = Evaluation(sources.corpora, words=words, segmenter=recipe.settings.segmenter)
    trainer = Trainer(
        encoder,
        sources.corpora,
        recipe.objectives,
        recipe.settings,
        recipe.output / RUN,
        texts=sources.texts,
        static=sources.static,
        evaluate=evaluation if evaluation else None,
        watch=watch,
        tell=tell,
        keep=not dry,
        progress=progress,
    )
    if trainer.main:
        check_room(recipe.output, trainer.bytes_needed)
    return Fine(recipe, trainer, sources, evaluation)


def fine_tune(fine: Fine) -> Trained:
    """Train, or go on training, and write the encoder."""
    output = fine.recipe.output
    if fine.trainer.main:
        (output / RUN).mkdir(parents=True, exist_ok=True)
        write_json(output / RUN / "recipe.json", {"format": RUN_FORMAT, **_located(fine.recipe)})
        # Before a run that goes on has its weights back.
        fine.evaluation.remember(fine.trainer.encoder)
    outcome = fine.trainer.run()
    if fine.trainer.main:
        save_encoder(fine.trainer.encoder, output)
        write_json(output / RUN / "result.json", outcome.record())
    return outcome


def resume_recipe(folder: Path) -> Recipe:
    """The recipe of a run that was stopped."""
    place = folder / RUN / "recipe.json"
    if not place.exists():
        raise InputError("holds no training run", where=str(folder), remedy="name the --output of a run")
    content = read_json(place)
    if content.pop("format", None) != RUN_FORMAT:
        raise FormatError("not the recipe of a training run", where=str(place))
    # Wherever the folder is now, the run is in it.
    with locating(str(place)):
        return recipe_of({**content, "output": str(folder)}, str(place))


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


def _located(recipe: Recipe) -> dict[str, Any]:
    """The recipe as plain data, with files by their full names: a run may go on from another working folder."""

    def full(name: str) -> str:
        path = Path(name.strip()).expanduser()
        return str(path.absolute()) if path.exists() else name

    texts = {lang: ",".join(map(full, place.split(","))) for lang, place in recipe.parallel.items()}
    found = {**recipe.record(), "parallel": texts}
    for key in ("text", "static"):
        found[key] = {lang: full(place) for lang, place in found[key].items()}
    return found if recipe.fresh is not None else {**found, "encoder": full(recipe.encoder)}


def _start(recipe: Recipe, texts: Sequence[TextCorpus], device: str, dry: bool, progress: Progress) -> Encoder:
    """The encoder that a run begins with; a new one is made once and kept with the run, unless it is a dry one."""

    def load(place: str | Path) -> Encoder:
        return Encoder(place, device=device, dtype="float32", layer=recipe.settings.layer, progress=progress)

    if recipe.fresh is None:
        return load(recipe.encoder)
    made = {"fresh": dataclasses.asdict(recipe.fresh), "seed": recipe.settings.seed}
    made["texts"] = {one.lang: [one.digest, len(one)] for one in texts}
    lines = {one.lang: one for one in texts}
    place, note = recipe.output / RUN / START, recipe.output / RUN / f"{START}.json"
    begun = (recipe.output / RUN / "recipe.json").exists()
    if dry and not begun:
        folder = Path(tempfile.mkdtemp())
        size = dataclasses.replace(recipe.fresh, warm=0)  # costs are those of any vectors
        encoder = load(make_encoder(folder / START, lines, size, seed=recipe.settings.seed, progress=progress))
        # The head for masked tokens is loaded later.
        weakref.finalize(encoder, shutil.rmtree, folder, ignore_errors=True)
        return encoder
    with _first_of_all(device):
        same = note.exists() and read_json(note) == made
        if begun and not same:
            raise InputError(
                "this folder holds a run with another new encoder, or other text",
                where=str(recipe.output / RUN),
                remedy="choose another output folder, or give what the run began with",
            )
        if not same:
            make_encoder(place, lines, recipe.fresh, seed=recipe.settings.seed, progress=progress)
            write_json(note, made)
    return load(place)


def _first_of_all(device: str) -> contextlib.AbstractContextManager[None]:
    """Of several processes the first goes ahead, and the others find what it has made."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return contextlib.nullcontext()
    import torch
    from accelerate import PartialState

    alone = device == "cpu" or (device == "auto" and not torch.cuda.is_available())
    found: contextlib.AbstractContextManager[None] = PartialState(cpu=alone).main_process_first()
    return found


def _vectors(path: Path, lang: str, progress: Progress) -> Space:
    """Of a file, or of a folder with a file for each language, as `isoglot distill` writes it."""
    own = path / f"{lang}.safetensors"
    return Space.load(own if own.exists() else path, lang=lang, progress=progress)


def _columns(path: Path) -> tuple[list[str], list[str]]:
    """Both sides of a file with a tab between them."""
    sides: tuple[list[str], list[str]] = ([], [])
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.split("\t")
        if len(parts) != 2:
            raise FormatError(
                f"{len(parts)} columns instead of a sentence, a tab and its translation",
                where=f"{path}:{number}",
                remedy="or give two files with a comma between them",
            )
        for side, part in zip(sides, parts, strict=True):
            side.append(part)
    return sides


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
