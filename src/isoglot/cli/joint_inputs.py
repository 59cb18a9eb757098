"""How the options of `isoglot joint` and `isoglot train` become a job and settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.cli.console import print_json, say
from isoglot.cli.inputs import open_lexicons, parse_aligner, read_texts
from isoglot.errors import ConfigError, InputError
from isoglot.pipelines import JointJob
from isoglot.progress import Progress
from isoglot.wordvectors import CorpusSettings, TextFile, Training, estimate


def read_job(options: Mapping[str, Any], progress: Progress) -> JointJob:
    """The job that the options of a command describe, by their names."""
    files = read_texts(options["texts"], options["encoding"])
    _refuse_copies(files)
    languages = [file.lang for file in files]
    lexicons, settings = options["lexicon"] or [], options["settings"] or []
    method = options["refine"] or ("rcsls" if lexicons else "none")
    if settings and method == "none":
        raise ConfigError("--set is for the method of --refine, and there is none")
    aligner = None
    if method != "none":
        aligner = parse_aligner(method, settings, seed=options["seed"], normalise=None, match_dimensions=False)
    train, test = (
        open_lexicons(some, languages, named=False, fold_case=options["lower"], progress=progress)
        for some in (lexicons, options["test"] or [])
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
        corpus_settings(options, lines_of=lines_of),
        training_settings(options),
    )


def corpus_settings(options: Mapping[str, Any], *, lines_of: str | None = None) -> CorpusSettings:
    names = ("min_count", "segmenter", "lower", "seed")
    return CorpusSettings(max_words=options["limit"], lines_of=lines_of, **{name: options[name] for name in names})


def training_settings(options: Mapping[str, Any]) -> Training:
    return Training(**{name: options[name] for name in ("model", "dim", "epochs", "window", "subwords", "seed")})


def tell_cost(
    texts: Sequence[TextFile], corpus: CorpusSettings, training: Training, threads: int | None, json: bool
) -> None:
    """What training would take, on standard error or as JSON."""
    cost = estimate(texts, corpus, training, threads=threads)
    if json:
        print_json(dataclasses.asdict(cost))
        return
    for lang, words in cost.running_words.items():
        say(f"{lang}: about {words:,} running words")
    say(f"about {cost.minutes:.1f} minutes of training at {cost.words_per_second:,.0f} running words/s")


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
