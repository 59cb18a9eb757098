"""`isoglot train encoder` trains one on parallel text; `isoglot train resume` resumes a stopped run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.encoder_options import Device
from isoglot.cli.given import refuse, refuse_doubled
from isoglot.cli.options import Json
from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.finetuning import Recipe

#: Exit code of a run that was stopped by Ctrl-C or a polite kill, as shells have it.
_INTERRUPTED = 130

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what training would take: steps, time, memory, disk.")
]
Words = Annotated[bool, typer.Option("--words", help="Look up words in context too when evaluating (CBLI); slower.")]


def train_encoder(
    context: typer.Context,
    recipe: Annotated[
        Path | None, typer.Argument(metavar="RECIPE.toml", help="All options in a file; those given here go first.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder", "-e", help="Where to start: a folder, an installed package, a catalogue or hub name."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option("--preset", help="Objectives by name: best, wordot, subot, l2, mlm, static-dcca, mini-mlm."),
    ] = None,
    objectives: Annotated[
        str | None, typer.Option("--objectives", help='Objectives of your own, e.g. "word_ot + 0.5*anchor".')
    ] = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(
            "--parallel",
            help="LANGUAGE=TEXT; may be repeated. TEXT is two files (de.txt,en.txt), one with a tab between the sides, "
            "or a catalogue name (parallel/de-en).",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="LANGUAGE=FILE, text to guess masked tokens in; more LANGUAGE=FILE may follow."),
    ] = None,
    static: Annotated[
        list[str] | None,
        typer.Option(
            "--static",
            help="LANGUAGE=VECTORS, static vectors in one space; more may follow. A folder of isoglot distill will do.",
        ),
    ] = None,
    fresh: Annotated[
        list[str] | None,
        typer.Option("--fresh", help="Make a new encoder instead of naming one: layers=4 width=256 vocabulary=16000."),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", help="The language that the others are brought to.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder to write.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the training, as key=value, e.g. learning_rate=1e-4; see the guide."),
    ] = None,
    epochs: Annotated[float | None, typer.Option("--epochs", help="Passes over the largest text; default 1.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Learn from so many lines of each text at most.")
    ] = None,
    held_out: Annotated[
        int | None,
        typer.Option("--held-out", min=0, help="Evaluate on so many of the last lines; default a tenth, at most 300."),
    ] = None,
    words: Words = False,
    device: Device = "auto",
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Where all random choices come from.")] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train an encoder on parallel text, or towards static vectors, so that sentences and words of all languages meet.

    Each step takes equally many sentences of every language. The last lines of each text are held out: sentences are
    searched for among them during training, and the weights that are best by the semantic criterion are kept. The
    folder that comes out loads in transformers and in sentence-transformers. A run that was stopped resumes with
    `isoglot train resume FOLDER`, or when the same command is given again.

    Examples:

    \b
      isoglot train --preset best -e encoder/minilm --parallel de=parallel/de-en --parallel tr=parallel/tr-en -o de-tr
      isoglot train --preset wordot -e my-model --parallel de=de.txt,en.txt --set batch=16 --dry-run -o out
      isoglot train --objectives "word_ot + sentence_contrastive" -e my-model --parallel de=de-en.tsv -o out
      isoglot train --preset static-dcca -e my-model --text en=en.txt de=de.txt --static en=en.vec de=de.vec -o out
      isoglot train --preset mini-mlm --text en=en.txt fr=fr.txt de=de.txt -o mini
      isoglot train recipe.toml --seed 1 -o second
      torchrun --nproc-per-node 2 -m isoglot train recipe.toml
    """
    from isoglot.assignments import setting_types
    from isoglot.finetuning import TrainingSettings, read_recipe, recipe_of

    as_text = [name for name, kind in setting_types(TrainingSettings).items() if kind == "str"]
    refuse_doubled(context, settings or [])
    if any(one.partition("=")[0].strip() == "steps" for one in settings or []):
        refuse(context, "with --set steps", "epochs")
    given = _given(
        encoder=encoder,
        preset=preset,
        objectives=objectives,
        target=target,
        output=None if output is None else str(output),
        held_out=held_out,
        limit=limit,
        parallel=_languages(parallel, "--parallel", "TEXT"),
        text=_languages(text, "--text", "FILE"),
        static=_languages(static, "--static", "VECTORS"),
        fresh=read_settings(fresh, "--fresh"),
        training=read_settings(settings, "--set", as_text) | _given(epochs=epochs, seed=seed),
    )
    made = recipe_of(given, "the command") if recipe is None else read_recipe(recipe, given)
    _run(made, words=words, device=device, dry_run=dry_run, json=json)


def resume_training(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The --output of a run that was stopped.")],
    words: Words = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Go on with a run that was stopped, to the very weights that it would have come to.

    Examples:

    \b
      isoglot train resume de-en
    """
    from isoglot.pipelines import resume_recipe

    _run(resume_recipe(folder), words=words, device=device, dry_run=False, json=json)


def _run(recipe: Recipe, *, words: bool, device: str, dry_run: bool, json: bool) -> None:
    import os

    from isoglot.cli.console import print_json, progress_bars, say, table
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
                words=words,
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
                say(cost.sentence())
            return
        try:
            outcome = fine_tune(fine)
        except Stopped as stopped:
            view.close()
            if speaks:
                say(f"isoglot: {stopped.what}; resume with: isoglot train resume {recipe.output}")
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


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, {})}


def _languages(given: Sequence[str] | None, option: str, kind: str) -> dict[str, str]:
    from isoglot.assignments import split_languages
    from isoglot.errors import locating

    with locating(option):
        return split_languages(given or [], kind=kind)


def read_settings(given: Sequence[str] | None, option: str, as_text: Collection[str] = ()) -> dict[str, Any]:
    """Settings given to this option, as key=value."""
    from isoglot.assignments import read_literals
    from isoglot.errors import locating

    with locating(option):
        return read_literals(given or [], as_text=as_text)
