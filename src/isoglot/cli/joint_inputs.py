"""How the options of `isoglot joint` and `isoglot vectors train` become a job and settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from isoglot.aligners import Aligner
from isoglot.assignments import split_groups
from isoglot.cli.given import refuse
from isoglot.cli.inputs import join_segmenters, open_lexicons, parse_aligner, read_texts, whole_epochs
from isoglot.cli.setting_inputs import read_fields
from isoglot.errors import ConfigError, InputError, locating
from isoglot.pipelines import JointJob
from isoglot.progress import Progress
from isoglot.wordvectors import CorpusSettings, TextFile, Training


def read_aligner(context: typer.Context) -> Aligner | None:
    """The method that aligns, or None; raises for options that would have no effect, before anything is read."""
    options = context.params
    if options.get("variant") == "supervised":
        refuse(context, "with --variant supervised, which keeps the languages' words apart", "gamma")
        if options["model"] != "cbow":
            refuse(context, "with --variant supervised, which trains by cbow", "model")
    method = options["method"] or ("rcsls" if options["lexicon"] else "none")
    settings = _settings(context)[""]
    if method == "none":
        if settings:
            raise ConfigError(f"--set {settings[0]} is for a method, and there is none", remedy="name it by --method")
        if "pivot" in options:
            refuse(context, "without --method: nothing is brought into another space", "pivot")
        _refuse_idle_lexicon(context, "with --method none")
        return None
    aligner = parse_aligner(method, settings, seed=options["seed"], normalise=None, match_dimensions=False)
    if aligner.method.supervision == "unsupervised":
        _refuse_idle_lexicon(context, f"with --method {method}")
    return aligner


def read_job(context: typer.Context, aligner: Aligner | None, progress: Progress) -> JointJob:
    """The job that the options of `joint train` or `joint ablate` describe."""
    options = context.params
    files = read_texts(options["texts"], options["encoding"])
    _refuse_copies(files)
    languages = [file.lang for file in files]
    train, test = (
        open_lexicons(some or [], languages, named=False, lower=options["lower"], progress=progress)
        for some in (options["lexicon"], options["test"])
    )
    lines_of = languages[-1] if options["balance"] and len(languages) > 1 else None
    return JointJob(
        files,
        train,
        test,
        aligner,
        _gamma(options["gamma"]),
        options.get("variant", "joint"),
        options.get("pivot"),
        corpus_settings(options, languages, lines_of=lines_of),
        training_settings(context, _settings(context)["vectors"]),
    )


def _settings(context: typer.Context) -> dict[str, list[str]]:
    with locating("--set"):
        return split_groups(context.params["settings"] or [], ["vectors"])


def _refuse_idle_lexicon(context: typer.Context, why: str) -> None:
    """Raise for a lexicon that neither the method nor the choice of gamma nor the training learns from."""
    options = context.params
    if options["test"] and options["gamma"] != "auto" and options.get("variant") == "joint":
        refuse(context, f"{why}, --gamma and --test: nothing learns from it", "lexicon")


def corpus_settings(
    options: dict[str, Any], languages: Sequence[str], *, lines_of: str | None = None
) -> CorpusSettings:
    return CorpusSettings(
        min_count=options["min_count"],
        max_words=options["limit"],
        lines_of=lines_of,
        segmenter=join_segmenters(options["segmenter"], "spaces", languages),
        lower=options["lower"],
        seed=options["seed"],
    )


def training_settings(context: typer.Context, settings: Sequence[str]) -> Training:
    """How word vectors are trained; settings of subwords are refused without these."""
    options = context.params
    own = read_fields(context, Training, settings, "training", leave_out=("replace", "translate"))
    if not options["subwords"]:
        for name in ("shortest", "longest", "bucket"):
            if name in own:
                raise ConfigError(f"{name} has no effect with --no-subwords", where="--set", remedy="leave it out")
    names = ("model", "dim", "window", "subwords", "seed")
    chosen = {name: options[name] for name in names}
    return Training(**chosen, epochs=whole_epochs(options["epochs"]), **own)


def _refuse_copies(files: Sequence[TextFile]) -> None:
    for i, file in enumerate(files):
        for other in files[:i]:
            if file.path.samefile(other.path):
                raise InputError(f"is given twice, as {other.lang} and as {file.lang}", where=str(file.path))


def _gamma(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"--gamma takes auto or a number from .5 to 1, not {text!r}") from None
