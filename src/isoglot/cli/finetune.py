"""`isoglot encoder finetune` trains an encoder; `isoglot encoder resume` resumes a run that was stopped."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.given import refuse, refuse_doubled
from isoglot.cli.options import (
    Cbli,
    Device,
    DryRun,
    Json,
    Lexicons,
    MonolingualTexts,
    OptionalEncoder,
    OptionalEpochs,
    OptionalHeldOut,
    OptionalOutput,
    OptionalPairs,
    OptionalPivot,
    OptionalSeed,
    Preset,
    Segmenters,
    Settings,
)
from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.finetuning import Recipe

#: Exit code of a run that was stopped by Ctrl-C or a polite kill, as shells have it.
_INTERRUPTED = 130


@tabular
def finetune(
    context: typer.Context,
    recipe: Annotated[
        Path | None,
        typer.Argument(metavar="RECIPE.toml", help="A file with all of this; options on the command line win."),
    ] = None,
    encoder: OptionalEncoder = None,
    preset: Preset = None,
    objectives: Annotated[
        str | None,
        typer.Option("--objectives", help='Objectives of your own, with their weights: "word_ot + 0.5*anchor".'),
    ] = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(
            "--parallel",
            metavar="LANG=TEXT",
            help="Parallel text of a language and the pivot: two files (de.txt,en.txt), one with a tab between the "
            "sides, or a catalogue name (parallel/de-en); several may follow.",
        ),
    ] = None,
    text: MonolingualTexts = None,
    static: Annotated[
        list[str] | None,
        typer.Option(
            "--static",
            metavar="LANG=VECTORS",
            help="Static vectors of each language in one space, to learn towards: files, or a folder of aligned or "
            "distilled vectors; several may follow.",
        ),
    ] = None,
    lexicon: Lexicons = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            "--teacher", metavar="NAME", help="Encoder whose vectors of the pivot to learn; default: --encoder itself."
        ),
    ] = None,
    pivot: OptionalPivot = None,
    output: OptionalOutput = None,
    settings: Settings = None,
    epochs: OptionalEpochs = None,
    pairs: OptionalPairs = None,
    held_out: OptionalHeldOut = None,
    segmenter: Segmenters = None,
    cbli: Cbli = False,
    device: Device = "auto",
    seed: OptionalSeed = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train an encoder on parallel text, or towards static vectors, so that its languages align.

    Each step takes equally many sentences of every language. The last lines of each text (by default a tenth, at most
    300) are held out: during training the command searches for translations among them, and keeps the weights that
    find most of them. The folder loads in transformers and in sentence-transformers. A run that was
    stopped resumes with `isoglot encoder resume FOLDER`, or when the same command is given again.

    Settings for --set: batch=24 (sentence pairs of each language in a batch), accumulation=2 (batches in a step),
    learning_rate=5e-5, warmup=0.1 (share of the steps), schedule=linear (or constant), steps=0 (instead of epochs),
    max_length=128, layer=-1 (the one that is trained), dropout=no, freeze= (embeddings,0-3), lora=0 (rank of adapters),
    precision=no (bf16, fp16), clip=1, blocks=64 and block_length=128 (of monolingual text in a step), words=1024 (with
    static vectors in a step), new_head=no, links=hmm, mixed=no, upsample=yes, evaluate_every=0 and checkpoint_every=0
    (steps; 0: ten times a run), patience=0, choose=retrieval (semantic, mlm, last), explode=100. Presets change some of
    them. OBJECTIVE.KEY=VALUE sets an objective's own: word_ot.span=sentence, anchor.weight=0.5.

    Presets: best, teach, wordot, subot, l2, mlm, mini-mlm, language-adapter, static-dcca and static-mse.

    --preset teach teaches languages that the encoder does not know: their words get pieces of their own in its
    vocabulary (pieces.most=64000), whose vectors start at those of the pivot's words that stand in the same lines
    (pieces.start=links, or mean), and only these learn (freeze=old), towards what --teacher makes of the translation.
    Entries of a --lexicon (LANG-PIVOT=FILE, or a catalogue name) are learned like lines.

    --preset language-adapter trains low-rank adapters on the text of one language, for `isoglot transfer -e
    NAME=en:A,de:B`; they are merged into the encoder that is written.

    new.KEY=VALUE makes a new encoder instead of starting from one: new.vocabulary=16000, new.layers=4, new.width=256,
    new.heads=4, new.longest=128 (tokens), new.lower (default: as the text), new.lines=100000 (to learn the vocabulary
    from), new.warm=5 (passes of skip-gram for the first vectors).

    Examples:

    \b
      isoglot encoder finetune --preset best -e encoder/minilm --parallel de=parallel/de-en tr=parallel/tr-en -o de-tr
      isoglot encoder finetune --preset teach -e encoder/use-multilingual --parallel cs=parallel/en-cs -o with-cs
      isoglot encoder finetune --preset wordot -e my-model --parallel de=de.txt,en.txt --set batch=16 --dry-run -o out
      isoglot encoder finetune --objectives "word_ot + sentence_contrastive" -e my-model --parallel de=de-en.tsv -o out
      isoglot encoder finetune --preset static-dcca -e mini --text en=a.txt de=b.txt --static en=a.vec de=b.vec -o out
      isoglot encoder finetune --preset mini-mlm --text en=en.txt fr=fr.txt de=de.txt --set new.layers=6 -o mini
      isoglot encoder finetune --preset language-adapter -e my-model --text de=de.txt -o adapted-de
      isoglot encoder finetune recipe.toml --seed 1 -o second
      torchrun --nproc-per-node 2 -m isoglot encoder finetune recipe.toml
    """
    from isoglot.assignments import read_literals, setting_types, split_groups
    from isoglot.errors import locating
    from isoglot.finetuning import TrainingSettings, objectives as known_objectives, read_recipe, recipe_of

    as_text = [name for name, kind in setting_types(TrainingSettings).items() if kind == "str"]
    refuse_doubled(context, settings or [])
    if any(one.partition("=")[0].strip() == "steps" for one in settings or []):
        refuse(context, "with --set steps", "epochs")
    with locating("--set"):
        groups = split_groups(settings or [], ["new", "pieces", *known_objectives()])
        training, new = read_literals(groups[""], as_text=as_text), read_literals(groups["new"])
        pieces = read_literals(groups["pieces"])
        adjust = {name: read_literals(groups[name]) for name in known_objectives() if groups[name]}
    given = _given(
        encoder=encoder,
        preset=preset,
        objectives=objectives,
        target=pivot,
        output=None if output is None else str(output),
        held_out=held_out,
        limit=pairs,
        parallel=_languages(parallel, "--parallel", "TEXT"),
        text=_languages(text, "--text", "FILE"),
        static=_languages(static, "--static", "VECTORS"),
        lexicon=_dictionaries(lexicon, parallel, pivot or "en"),
        teacher=teacher,
        fresh=new,
        pieces=pieces,
        adjust=adjust,
        training=training | _given(epochs=epochs, seed=seed),
    )
    whole = recipe_of(given, "the command") if recipe is None else read_recipe(recipe, given)
    _run(_segmented(whole, segmenter), cbli=cbli, device=device, dry_run=dry_run, json=json)


@tabular
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The --output of a run that was stopped.")],
    cbli: Cbli = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Resume a run of `isoglot encoder finetune` that was stopped; it ends with the same weights.

    Examples:

    \b
      isoglot encoder resume de-en
    """
    from isoglot.pipelines import resume_recipe

    _run(resume_recipe(folder), cbli=cbli, device=device, dry_run=False, json=json)


def _run(recipe: Recipe, *, cbli: bool, device: str, dry_run: bool, json: bool) -> None:
    import os

    from isoglot.cli.console import print_json, print_line, progress_bars, say, table
    from isoglot.cli.outputs import claim
    from isoglot.cli.training_view import TrainingView
    from isoglot.finetuning import Stopped
    from isoglot.pipelines import estimate, fine_tune, prepare

    require("training", "training an encoder")
    if recipe.settings.lora:
        require("adapters", "training with low-rank adapters")
    # Of several processes one speaks.
    speaks = os.environ.get("RANK", "0") == "0"
    if speaks and not dry_run:
        claim(recipe.output)
    with TrainingView(speaks) as view:
        with progress_bars() as progress:
            fine = prepare(
                recipe,
                words=cbli,
                device=device,
                dry=dry_run,
                watch=view.show,
                tell=view.tell,
                **({"progress": progress} if speaks else {}),
            )
        if speaks:
            for corpus in fine.sources.corpora:
                left = f", {corpus.repeated:,} blank or repeated ones left out" if corpus.repeated else ""
                say(f"{corpus.name}: {len(corpus):,} lines to learn from, {len(corpus.held_out):,} held out{left}")
            for text in fine.sources.texts:
                say(f"text {text.lang}: {len(text):,} lines to learn from, {len(text.held_out):,} held out")
            for lang, space in fine.sources.static.items():
                say(f"static {lang}: {len(space):,} words, {space.dim} dimensions")
        if dry_run:
            cost = estimate(fine)
            if json:
                print_json(cost.record())
            else:
                print_line(cost.sentence())
            return
        try:
            outcome = fine_tune(fine)
        except Stopped as stopped:
            view.close()
            if speaks:
                say(f"isoglot: {stopped.what}; resume with: isoglot encoder resume {shlex.quote(str(recipe.output))}")
            raise typer.Exit(_INTERRUPTED) from None
    if not speaks:
        return
    if json:
        print_json({"output": str(recipe.output), **outcome.record()})
        return
    names = ["retrieval", "retrieval csls", "cbli", "semantic", "structural", "kept", "spread", "mlm"]
    if len(fine.sources.corpora) > 1:
        names += [f"retrieval {corpus.name}" for corpus in fine.sources.corpora]
    if len(fine.sources.texts) > 1:
        names += [f"mlm {text.lang}" for text in fine.sources.texts]
    rows = [
        [name, f"{outcome.before[name]:.3f}", f"{outcome.after[name]:.3f}"]
        for name in names
        if name in outcome.before and name in outcome.after
    ]
    if rows:
        title = f"held out lines, with the weights of step {outcome.chosen:,} of {outcome.steps:,}"
        table(title, ["figure", "before", "after"], rows, right=(1, 2))
    say(f"written to {recipe.output}: load it with transformers or sentence-transformers")
    command = _next_command(recipe)
    if command is not None:
        say(f"try: {command}")


def _next_command(recipe: Recipe) -> str | None:
    """What to do with the new encoder, as a command that runs as it stands; None if its text is in no such form."""
    encoder = f"-e {shlex.quote(str(recipe.output))}"
    for lang, place in recipe.parallel.items():
        src, comma, tgt = (part.strip() for part in place.partition(","))
        if comma:
            return f"isoglot audit {shlex.join([f'{lang}={src}', f'{recipe.target}={tgt}'])} {encoder}"
        if not Path(place).exists():
            return f"isoglot audit {shlex.quote(place)} {encoder}"
    for lang, place in recipe.text.items():
        return f"isoglot encoder distill {shlex.quote(f'{lang}={place}')} {encoder} --layer -1 -o {lang}-static"
    return None


def _segmented(recipe: Recipe, names: Sequence[str] | None) -> Recipe:
    """The recipe with the segmenters that the command line asks for, if it does."""
    import dataclasses

    from isoglot.cli.inputs import join_segmenters

    if not names:
        return recipe
    languages = [*recipe.parallel, *([recipe.target] if recipe.parallel else []), *recipe.text]
    segmenter = join_segmenters(names, recipe.settings.segmenter, languages)
    return dataclasses.replace(recipe, settings=dataclasses.replace(recipe.settings, segmenter=segmenter))


def _dictionaries(given: Sequence[str] | None, parallel: Sequence[str] | None, pivot: str) -> dict[str, str]:
    """Dictionaries by language, those of one language separated by commas."""
    from isoglot.catalogue import entry, has_entry
    from isoglot.errors import ConfigError

    languages = [one.partition("=")[0] for one in parallel or []]
    found: dict[str, str] = {}
    for text in given or []:
        label, equals, place = text.partition("=")
        if not equals and has_entry(text):
            lang, place = next((one for one in entry(text).languages if one != pivot), ""), text
        elif not equals and len(languages) == 1:
            lang, place = languages[0], text
        else:
            lang = label.removesuffix(f"-{pivot}") if equals else ""
        if lang not in languages:
            names = [f"{one}-{pivot}=FILE" for one in languages or ["LANG"]]
            what = f"a dictionary for training is {names[0]}, its first column {languages[0] if languages else 'LANG'}"
            raise ConfigError(f"{what}, not {text!r}", where="--lexicon", remedy=f"or: {', '.join(names[1:])}")
        found[lang] = f"{found[lang]},{place}" if lang in found else place
    return found


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, {})}


def _languages(given: Sequence[str] | None, option: str, kind: str) -> dict[str, str]:
    from isoglot.assignments import split_languages
    from isoglot.errors import locating

    with locating(option):
        return split_languages(given or [], kind=kind)
