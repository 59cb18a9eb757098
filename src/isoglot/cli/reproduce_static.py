"""`isoglot reproduce static-contextual`: static vectors out of an encoder and back into it, from text alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import (
    AlignAll,
    Cache,
    Device,
    DryRun,
    FromVectors,
    Induce,
    Json,
    Method,
    MonolingualTexts,
    OptionalEncoder,
    OptionalLayer,
    OptionalLimit,
    Output,
    Pivot,
    Runs,
    Seed,
    Sentences,
    Settings,
    Tatoeba,
    Tests,
    Words,
)
from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.lexicons import Lexicon
    from isoglot.progress import Progress
    from isoglot.reproductions.static_contextual.words import Judged
    from isoglot.text import ParallelText

#: Exit code of a run that was stopped by Ctrl-C or a polite kill, as shells have it.
_INTERRUPTED = 130


@tabular
def static_contextual(
    text: MonolingualTexts = None,
    output: Output = Path("static-contextual"),
    encoder: OptionalEncoder = None,
    pivot: Pivot = "en",
    layer: OptionalLayer = None,
    sentences: Sentences = 1_000_000,
    induce: Induce = None,
    from_vectors: FromVectors = None,
    method: Method = "vecmap",
    align_all: AlignAll = False,
    towards: Annotated[
        str,
        typer.Option("--towards", help="Whose aligned vectors the encoder is trained towards, or a folder of others."),
    ] = "x2static",
    settings: Settings = None,
    limit: OptionalLimit = None,
    test: Tests = None,
    tatoeba: Tatoeba = None,
    semeval: Annotated[
        Path | None,
        typer.Option("--semeval", metavar="DIR", help="Folder of SemEval-2017 task 2: en.test.data.txt, ..."),
    ] = None,
    retrieval_layer: Annotated[
        str | None,
        typer.Option("--retrieval-layer", help="Layer that sentences are searched with; default: as 7 of 12."),
    ] = None,
    words: Words = 20_000,
    runs: Runs = 3,
    seed: Seed = 0,
    device: Device = "auto",
    cache: Cache = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Hämmerl et al. 2022 from end to end, without parallel text: distil, align, train the encoder, test all of it.

    Static vectors by X2Static and as means over contexts, each as distilled and aligned to the pivot; the encoder is
    then trained further with masked tokens only, with MSE and with DCCA towards these vectors. Without --encoder a
    small one is trained on the texts first. Finished work is kept in the output folder: a killed run resumes when the
    same command is given again. Lexicons (--test en-de=FILE, or a folder of en-de.test.tsv, ...) and sentences with
    translations are only tested with.

    Settings for --set: those of the trainings (steps=500, the paper has 7,500; batch, learning_rate, ...), of
    distilling (distill.epochs, distill.sample, distill.min_count, ...), of a new encoder (new.layers, new.width,
    new.vocabulary, ...) and of its training (encoder.steps, ...).

    Examples:

    \b
      isoglot reproduce static-contextual --text en=en.txt de=de.txt --test xling --tatoeba tatoeba --dry-run
      isoglot reproduce static-contextual --text en=en.txt de=de.txt fr=fr.txt --test xling --set new.layers=4 steps=750
      isoglot reproduce static-contextual -e xlm-roberta-base --layer 6 --retrieval-layer 7 --text en=en.xz de=de.xz
    """
    from isoglot.cli.console import finish, print_json, print_line, progress_bars, say
    from isoglot.cli.inputs import read_texts
    from isoglot.cli.outputs import claim
    from isoglot.cli.training_view import TrainingView
    from isoglot.finetuning import Stopped
    from isoglot.reproductions.claims import claim_table
    from isoglot.reproductions.static_contextual.cost import experiment_cost
    from isoglot.reproductions.static_contextual.plan import Experiment, Trials
    from isoglot.reproductions.static_contextual.report import write_static_page
    from isoglot.reproductions.static_contextual.stages import static_contextual as run
    from isoglot.reproductions.static_contextual.words import Aligning

    files = read_texts(text or [], None)
    langs = [file.lang for file in files]
    groups = _settings(settings or [])
    experiment = Experiment(
        texts={file.lang: file.path for file in files},
        encoder=encoder,
        aligning=Aligning(pivot, induce, method, _existing(from_vectors or []), align_all),
        layer=layer,
        test_layer=retrieval_layer,
        distill={"max_sentences": sentences, **groups["distill"]},
        training={name: value for name, value in groups[""].items() if name != "steps"},
        fresh=groups["new"],
        pretraining=groups["encoder"],
        towards=towards,
        steps=groups[""].get("steps", 500),
        lines=limit,
        words=words,
        seeds=runs,
        seed=seed,
        device=device,
        cache=cache,
    )
    require("training", "training an encoder")
    claim(output)
    others = [lang for lang in langs if lang != pivot]
    with TrainingView() as view, progress_bars() as progress:
        tests = Trials(
            _lexicons(others, pivot, test or [], progress),
            _sentences(tatoeba, others, pivot),
            _judged(semeval, langs),
        )
        if dry_run:
            cost = experiment_cost(experiment, progress=progress)
        else:
            try:
                findings = run(experiment, tests, output, watch=view.show, tell=view.tell, progress=progress)
            except Stopped as stopped:
                view.close()
                say(f"isoglot: {stopped.what}; give the same command again to resume")
                raise typer.Exit(_INTERRUPTED) from None
    if dry_run:
        if json:
            print_json(cost.record())
            return
        for line in cost.lines():
            print_line(line)
        return
    write_static_page(output / "report.html", findings)
    head, rows = claim_table(findings.claims)
    finish(output, "static-contextual", findings.record(), json=json, title="Hämmerl et al. 2022", head=head, rows=rows)


def _existing(given: Sequence[str]) -> dict[str, Path]:
    from isoglot.assignments import split_languages
    from isoglot.errors import InputError, locating

    with locating("--from-vectors"):
        files = split_languages(given)
    for file in files.values():
        if not Path(file).is_file():
            raise InputError("no such file", where=file)
    return {lang: Path(file) for lang, file in files.items()}


def _settings(given: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings of the trainings, and those of the groups distill, new and encoder."""
    from isoglot.assignments import read_literals, setting_types, split_groups
    from isoglot.errors import locating
    from isoglot.finetuning import TrainingSettings

    as_text = [name for name, kind in setting_types(TrainingSettings).items() if kind == "str"]
    with locating("--set"):
        groups = split_groups(given, ["distill", "new", "encoder"])
        return {
            group: read_literals(texts, as_text=as_text if group in ("", "encoder") else ())
            for group, texts in groups.items()
        }


def _lexicons(langs: Sequence[str], pivot: str, given: Sequence[str], progress: Progress) -> dict[str, Lexicon]:
    """By language, from the pivot; lower-cased, as the words with static vectors are."""
    from isoglot.cli.inputs import open_lexicon, two_languages
    from isoglot.errors import ConfigError

    files: dict[str, tuple[str, bool]] = {}
    for text in given:
        if Path(text).is_dir():
            files |= _lexicon_files(Path(text), langs, pivot)
    for text in given:
        if Path(text).is_dir():
            continue
        label, equals, file = text.partition("=")
        source, target = two_languages(label, [pivot, *langs]) if equals else ("", "")
        if {source, target} - {pivot} != {source, target} & set(langs) or source == target:
            pairs = ", ".join(f"{pivot}-{lang}" for lang in langs)
            raise ConfigError(
                f"is given as {pivot}-{langs[0]}=FILE or as a folder, not {text!r}",
                where="--test",
                remedy=f"the pairs are: {pairs}",
            )
        files[target if source == pivot else source] = file, target == pivot
    found = {}
    for lang, (file, inverted) in files.items():
        names = (lang, pivot) if inverted else (pivot, lang)
        lexicon = open_lexicon(file, lower=True, progress=progress, languages=names)
        found[lang] = lexicon.invert() if inverted else lexicon
    return found


def _lexicon_files(folder: Path, langs: Sequence[str], pivot: str) -> dict[str, tuple[str, bool]]:
    """The test part of each language's dictionary, and whether it goes the other way."""
    from isoglot.errors import ConfigError, InputError

    found: dict[str, tuple[str, bool]] = {}
    for lang in langs:
        for name, inverted in ((f"{lang}-{pivot}", True), (f"{pivot}-{lang}", False)):
            # MUSE calls its test part by the rows that it has.
            files = [one for mark in ("test", "5000-6500") for one in sorted(folder.glob(f"{name}.{mark}*"))]
            if len(files) > 1:
                raise ConfigError(
                    f"{files[0].name} or {files[1].name}?", where=str(folder), remedy=f"name it: {name}=FILE"
                )
            if files:
                found[lang] = str(files[0]), inverted
    if not found:
        raise InputError(f"no file like {pivot}-{langs[0]}.test.tsv here", where=str(folder))
    return found


def _sentences(folder: Path | None, langs: Sequence[str], pivot: str) -> dict[str, ParallelText]:
    from isoglot.cli.reproduce_finetune import tatoeba_texts
    from isoglot.errors import ConfigError

    if folder is None:
        return {}
    if pivot != "en":
        raise ConfigError("its sentences are translations of English", where="--tatoeba", remedy="leave it out")
    return tatoeba_texts(folder, set(langs))


def _judged(folder: Path | None, langs: Sequence[str]) -> Judged:
    """Sets of word similarity in these languages: the English ones that are at hand, and SemEval's if given."""
    from isoglot.errors import InputError, MissingExtraError
    from isoglot.tasks import SIMILARITY_SETS, read_similarity, similarity_set

    found = {}
    for name in SIMILARITY_SETS if "en" in langs else ():
        try:
            found[name] = ("en", "en"), similarity_set(name)
        except MissingExtraError:
            continue
    if folder is None:
        return found
    before = len(found)
    for first in langs:
        for second in langs:
            label = first if first == second else f"{first}-{second}"
            files = [next(iter(sorted(folder.rglob(f"{label}.test.{part}.txt"))), None) for part in ("data", "gold")]
            if files[0] is not None and files[1] is not None:
                found[f"SemEval {label}"] = (first, second), read_similarity(files[0], files[1])
    if len(found) == before:
        raise InputError(f"no file like {langs[0]}.test.data.txt here", where=str(folder))
    return found
