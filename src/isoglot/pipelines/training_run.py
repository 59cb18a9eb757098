"""A training recipe from end to end: texts, encoder, trainer with its evaluations, and the folder that comes out."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
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
    Trained,
    Trainer,
    add_pieces,
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
from isoglot.lexicons import Lexicon
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
    #: The encoder before training, or, once that has begun, the one that is trained.
    start: Encoder


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
        corpora.append(
            open_corpus(
                src,
                tgt,
                lang,
                recipe.target,
                held_out=recipe.held_out,
                limit=recipe.limit,
                entries=_entries(recipe, lang, progress),
                progress=progress,
            )
        )
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
    encoder = _start(recipe, sources, device, dry, progress)
    original = _original(recipe, device, progress)
    teacher = _load(recipe, recipe.teacher, device, progress) if recipe.teacher else original
    evaluation = Evaluation(sources.corpora, words=words, segmenter=recipe.settings.segmenter)
    trainer = Trainer(
        encoder,
        sources.corpora,
        recipe.objectives,
        recipe.settings,
        recipe.output / RUN,
        texts=sources.texts,
        static=sources.static,
        teacher=teacher,
        original=original if recipe.pieces is not None else None,
        old_pieces=None if recipe.pieces is None or original is None else len(original.model.tokenizer),
        evaluate=evaluation if evaluation else None,
        watch=watch,
        tell=tell,
        keep=not dry,
        progress=progress,
    )
    if trainer.main:
        check_room(recipe.output, trainer.bytes_needed)
    return Fine(recipe, trainer, sources, evaluation, original or encoder)


def fine_tune(fine: Fine) -> Trained:
    """Train, or resume training, and write the encoder."""
    output = fine.recipe.output
    if fine.trainer.main:
        (output / RUN).mkdir(parents=True, exist_ok=True)
        write_json(output / RUN / "recipe.json", {"format": RUN_FORMAT, **_located(fine.recipe)})
        # Before a resumed run has its weights back.
        fine.evaluation.remember(fine.start)
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
    found["lexicon"] = {lang: ",".join(map(full, place.split(","))) for lang, place in recipe.lexicon.items()}
    for key in ("text", "static"):
        found[key] = {lang: full(place) for lang, place in found[key].items()}
    if recipe.teacher:
        found["teacher"] = full(recipe.teacher)
    return found if recipe.fresh is not None else {**found, "encoder": full(recipe.encoder)}


def _load(recipe: Recipe, place: str | Path, device: str, progress: Progress) -> Encoder:
    return Encoder(place, device=device, dtype="float32", layer=recipe.settings.layer, progress=progress)


def _original(recipe: Recipe, device: str, progress: Progress) -> Encoder | None:
    """A second copy of the encoder that stays as it is, where one is needed."""
    taught = any("teacher" in one.needs for one in recipe.objectives) and not recipe.teacher
    return _load(recipe, recipe.encoder, device, progress) if taught or recipe.pieces is not None else None


def _start(recipe: Recipe, sources: Sources, device: str, dry: bool, progress: Progress) -> Encoder:
    """The encoder that a run begins with; what is made for it is made once and kept with the run, unless it is a dry
    one."""
    if recipe.fresh is None and recipe.pieces is None:
        return _load(recipe, recipe.encoder, device, progress)
    made: dict[str, Any] = {}
    if recipe.fresh is not None:
        made |= {"fresh": dataclasses.asdict(recipe.fresh), "seed": recipe.settings.seed}
        made["texts"] = {one.lang: [one.digest, len(one)] for one in sources.texts}
    else:
        assert recipe.pieces is not None
        made |= {"pieces": dataclasses.asdict(recipe.pieces)}
        made["texts"] = {one.name: [one.digest, len(one)] for one in sources.corpora}
    place, note = recipe.output / RUN / START, recipe.output / RUN / f"{START}.json"
    begun = (recipe.output / RUN / "recipe.json").exists()
    if dry and not begun:
        folder = Path(tempfile.mkdtemp())
        encoder = _load(recipe, _make(recipe, sources, folder / START, device, dry, progress), device, progress)
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
            _make(recipe, sources, place, device, dry, progress)
            write_json(note, made)
    return _load(recipe, place, device, progress)


def _make(recipe: Recipe, sources: Sources, place: Path, device: str, dry: bool, progress: Progress) -> Path:
    """A new encoder, or one with new pieces; in a dry run with any vectors, as costs are those of any."""
    if recipe.fresh is not None:
        size = dataclasses.replace(recipe.fresh, warm=0) if dry else recipe.fresh
        lines = {one.lang: one for one in sources.texts}
        return make_encoder(place, lines, size, seed=recipe.settings.seed, progress=progress)
    assert recipe.pieces is not None
    pieces = dataclasses.replace(recipe.pieces, start="mean") if dry else recipe.pieces
    texts = {one.src_lang: one.text(one.rows) for one in sources.corpora}
    sides = {lang: (text.src, text.tgt) for lang, text in texts.items()}
    return add_pieces(_load(recipe, recipe.encoder, device, progress), place, sides, pieces, progress=progress)


def _entries(recipe: Recipe, lang: str, progress: Progress) -> list[tuple[str, str]]:
    """The entries of a language's dictionaries."""
    entries: list[tuple[str, str]] = []
    for place in filter(None, recipe.lexicon.get(lang, "").split(",")):
        lexicon = Lexicon.load(place.strip(), progress=progress)
        if lexicon.src_lang == recipe.target and lexicon.tgt_lang == lang:
            lexicon = lexicon.invert()
        elif lexicon.src_lang and (lexicon.src_lang, lexicon.tgt_lang) != (lang, recipe.target):
            what = f"{place.strip()} is not a dictionary between {lang} and {recipe.target}"
            raise ConfigError(what, where="lexicon")
        entries += lexicon.pairs
    return list(dict.fromkeys(entries))


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
