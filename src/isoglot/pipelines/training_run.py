"""A training recipe from end to end: texts, encoder, trainer with its evaluations, and the folder that comes out."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from isoglot import catalogue
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
    finetuned_card,
    make_encoder,
    open_corpus,
    open_text,
    read_json,
    recipe_of,
    save_encoder,
    write_card,
    write_json,
)
from isoglot.pipelines.training_figures import Evaluation
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.text import read_lines

Watch = Callable[[StepRecord], None]


@dataclasses.dataclass(frozen=True, eq=False)
class Fine:
    """A run that is ready to go."""

    recipe: Recipe
    trainer: Trainer
    sources: Sources
    evaluation: Evaluation


def open_texts(recipe: Recipe, progress: Progress = silent) -> list[Corpus]:
    """The texts that a recipe names."""
    corpora = []
    for lang, place in recipe.parallel.items():
        src: Any
        tgt: Any
        if place.startswith("parallel/") and not Path(place).exists():
            with locating("parallel"):
                text = catalogue.load_parallel(lang, recipe.target, name=place, progress=progress)
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
    """Train, or resume training, and write the encoder."""
    output = fine.recipe.output
    if fine.trainer.main:
        (output / RUN).mkdir(parents=True, exist_ok=True)
        write_json(output / RUN / "recipe.json", {"format": RUN_FORMAT, **_located(fine.recipe)})
        # Before a resumed run has its weights back.
        fine.evaluation.remember(fine.trainer.encoder)
    outcome = fine.trainer.run()
    if fine.trainer.main:
        save_encoder(fine.trainer.encoder, output)
        write_card(finetuned_card(fine.recipe, outcome), output)
        write_json(output / RUN / "result.json", outcome.record())
    return outcome


def resume_recipe(folder: Path) -> Recipe:
    """The recipe of a run that was stopped."""
    place = folder / RUN / "recipe.json"
    if not place.exists():
        raise InputError("holds no training run", where=str(folder), remedy="name the output folder of a run")
    content = read_json(place)
    if content.pop("format", None) != RUN_FORMAT:
        raise FormatError("not the recipe of a training run", where=str(place))
    # Wherever the folder is now, the run is in it.
    with locating(str(place)):
        return recipe_of({**content, "output": str(folder)}, str(place))


def _located(recipe: Recipe) -> dict[str, Any]:
    """The recipe as plain data, with files by their full names: a run may be resumed from another working folder."""

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
    """Of a file, or of a folder with a file for each language, as `isoglot encoder distill` writes it."""
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
