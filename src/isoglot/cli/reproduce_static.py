"""`isoglot reproduce static-contextual`: static vectors out of an encoder and back into it, from text alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.encoder_options import Cache, Device
from isoglot.cli.options import Json
from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.lexicons import Lexicon
    from isoglot.progress import Progress
    from isoglot.reproductions.static_contextual.words import Judged
    from isoglot.text import ParallelText

#: Exit code of a run that was stopped by Ctrl-C or a polite kill, as shells have it.
_INTERRUPTED = 130


def static_contextual(
    text: Annotated[
        list[str], typer.Option("--text", help="LANGUAGE=FILE, monolingual text; more LANGUAGE=FILE may follow.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for vectors, trained encoders, JSON and page.")
    ] = Path("static-contextual"),
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", "-e", help="Where to start; default: a small encoder is trained on the texts."),
    ] = None,
    pivot: Annotated[str, typer.Option("--pivot", help="The language that the others are aligned to.")] = "en",
    layer: Annotated[
        str | None, typer.Option("--layer", help="That static vectors are taken from; default: the middle one.")
    ] = None,
    sentences: Annotated[
        int, typer.Option("--sentences", min=1, help="Of each text at most, for static vectors.")
    ] = 1_000_000,
    distill: Annotated[
        list[str] | None,
        typer.Option("--distill", help="A setting of distilling, as key=value, e.g. epochs=5 sample=1e-4 min_count=5."),
    ] = None,
    induce: Annotated[
        str | None, typer.Option("--induce", help="What finds dictionaries, as in `isoglot static-align`.")
    ] = None,
    from_vectors: Annotated[
        list[str] | None,
        typer.Option("--from-vectors", help="en=FILE, other vectors to induce dictionaries on, as the paper does."),
    ] = None,
    align_method: Annotated[
        str, typer.Option("--align-method", help="Learns from these dictionaries: vecmap, procrustes, ...")
    ] = "vecmap",
    align_all: Annotated[
        bool, typer.Option("--align-all", help="Align every language, whatever the criterion says.")
    ] = False,
    towards: Annotated[
        str,
        typer.Option("--towards", help="Whose aligned vectors the encoder is trained towards, or a folder of others."),
    ] = "x2static",
    steps: Annotated[int, typer.Option("--steps", min=1, help="Of each training; the paper has 7,500.")] = 500,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of these trainings, as for `isoglot train`.")
    ] = None,
    lines: Annotated[
        int | None, typer.Option("--lines", min=1, help="Of each text at most, to train encoders on; default: all.")
    ] = None,
    fresh: Annotated[
        list[str] | None, typer.Option("--fresh", help="Size of the new encoder: layers=4 width=256 vocabulary=16000.")
    ] = None,
    encoder_settings: Annotated[
        list[str] | None, typer.Option("--encoder-set", help="A setting of the new encoder's training: steps=1500.")
    ] = None,
    lexicon: Annotated[
        list[str] | None,
        typer.Option("--lexicon", "-l", help="de=FILE, pairs of a pivot's word and its translation, to test with."),
    ] = None,
    lexicons: Annotated[
        Path | None, typer.Option("--lexicons", help="Folder of en-de.test.2k.tsv, ..., to test with.")
    ] = None,
    tatoeba: Annotated[
        Path | None, typer.Option("--tatoeba", help="Folder of tatoeba.deu-eng.deu, ...: sentences to search for.")
    ] = None,
    semeval: Annotated[
        Path | None, typer.Option("--semeval", help="Folder of SemEval-2017 task 2: en.test.data.txt, ...")
    ] = None,
    retrieval_layer: Annotated[
        str | None,
        typer.Option("--retrieval-layer", help="That sentences are searched with; default: as the paper's 7 of 12."),
    ] = None,
    words: Annotated[
        int, typer.Option("--words", min=100, help="Most frequent words of each language that encoders translate.")
    ] = 20_000,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs of all that depends on chance.")] = 3,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first of them.")] = 0,
    device: Device = "auto",
    cache: Cache = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would run and how long it takes.")] = False,
    json: Json = False,
) -> None:
    """Hämmerl et al. 2022 from end to end, without parallel text: distil, align, train the encoder, test all of it.

    Static vectors by X2Static and as means over contexts, each as distilled and aligned to the pivot; the encoder then
    goes on with masked tokens only, with MSE and with DCCA towards these vectors. Everything that is finished is kept
    in the output folder: a killed run resumes where it was when the same command is given again. Dictionaries and
    sentences with translations are only tested with.

    Examples:

    \b
      isoglot reproduce static-contextual --text en=en.txt de=de.txt --lexicons xling --tatoeba tatoeba --dry-run
      isoglot reproduce static-contextual --text en=en.txt de=de.txt fr=fr.txt --lexicons xling --tatoeba tatoeba
      isoglot reproduce static-contextual -e xlm-roberta-base --layer 6 --retrieval-layer 7 --text en=en.xz de=de.xz
    """
    from isoglot.cli.console import finish, print_json, progress_bars, say
    from isoglot.cli.inputs import read_texts
    from isoglot.cli.outputs import claim
    from isoglot.cli.train_encoder import read_settings
    from isoglot.cli.training_view import TrainingView
    from isoglot.finetuning import Stopped
    from isoglot.reproductions.claims import claim_table
    from isoglot.reproductions.static_contextual.cost import experiment_cost
    from isoglot.reproductions.static_contextual.plan import Experiment, Trials
    from isoglot.reproductions.static_contextual.report import write_static_page
    from isoglot.reproductions.static_contextual.stages import static_contextual as run
    from isoglot.reproductions.static_contextual.words import Aligning

    files = read_texts(text, None)
    langs = [file.lang for file in files]
    experiment = Experiment(
        texts={file.lang: file.path for file in files},
        encoder=encoder,
        aligning=Aligning(pivot, induce, align_method, _existing(from_vectors or []), align_all),
        layer=layer,
        test_layer=retrieval_layer,
        distill={"max_sentences": sentences, **read_settings(distill, "--distill")},
        training=read_settings(settings, "--set"),
        fresh=read_settings(fresh, "--fresh"),
        pretraining=read_settings(encoder_settings, "--encoder-set"),
        towards=towards,
        steps=steps,
        lines=lines,
        words=words,
        seeds=seeds,
        seed=seed,
        device=device,
        cache=cache,
    )
    require("training", "training an encoder")
    claim(output)
    others = [lang for lang in langs if lang != pivot]
    with TrainingView() as view, progress_bars() as progress:
        tests = Trials(
            _lexicons(others, pivot, lexicon or [], lexicons, progress),
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
                say(f"isoglot: {stopped.what}; give the same command again to go on")
                raise typer.Exit(_INTERRUPTED) from None
    if dry_run:
        if json:
            print_json(cost.record())
            return
        for line in cost.lines():
            say(line)
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


def _lexicons(
    langs: Sequence[str], pivot: str, given: Sequence[str], folder: Path | None, progress: Progress
) -> dict[str, Lexicon]:
    """By language, from the pivot; lower-cased, as the words with static vectors are."""
    from isoglot.assignments import split_languages
    from isoglot.cli.inputs import open_lexicon
    from isoglot.errors import locating

    files = {} if folder is None else _lexicon_files(folder, langs, pivot)
    with locating("--lexicon"):
        files |= {lang: (file, False) for lang, file in split_languages(given, known=langs).items()}
    found = {}
    for lang, (file, inverted) in files.items():
        names = (lang, pivot) if inverted else (pivot, lang)
        lexicon = open_lexicon(file, fold_case=True, progress=progress, languages=names)
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
                raise ConfigError(f"{files[0].name} or {files[1].name}?", where=str(folder), remedy="use --lexicon")
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
