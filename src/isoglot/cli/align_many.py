"""`isoglot align ... --pivot en`: more than two languages in one space, with pairs or without."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isoglot.errors import ConfigError, locating

if TYPE_CHECKING:
    from isoglot.aligners import Aligner
    from isoglot.lexicons import Lexicon
    from isoglot.pipelines import StaticAlignment
    from isoglot.progress import Progress
    from isoglot.spaces import Space


def align_languages(context: typer.Context, chosen: Aligner) -> None:
    """Each language by its lexicon, or by a method that needs none; see `isoglot.pipelines.pivot`."""
    from isoglot.cli.console import print_json, progress_bars, say, table, warn
    from isoglot.cli.inputs import open_lexicons
    from isoglot.pipelines import align_to_pivot

    values = context.params
    output, pivot, lower = values["output"], values["pivot"], values["lower"]
    files = _files(values["files"], pivot)
    with progress_bars() as progress:
        lexicons = {}
        if values["lexicons"]:
            lexicons = _lexicons(list(files), pivot, values["lexicons"], lower, progress)
        tests = open_lexicons(values["tests"] or [], list(files), lower=lower, progress=progress)
        outcome = align_to_pivot(
            _spaces(files, values["limit"], lower, progress), pivot, chosen, lexicons, tests=tests,
            seeds=values["pairs"], held_out=values["held_out"], score=values["score"], progress=progress,
        )  # fmt: skip
        outcome.aligned.save(output, progress=progress)
    for warning in outcome.warnings:
        warn(warning)
    if values["json"]:
        print_json({"output": str(output), **outcome.aligned.info})
        return
    rows = []
    for (source, target), results in outcome.results.items():
        direct = outcome.direct.get((source, target))
        low, high = results[0].interval or (0.0, 0.0)
        rows.append(
            [
                f"{source} to {target}",
                f"{results[0].value:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{results[0].n:,}",
                "" if direct is None else f"{direct.value:.3f}",
                "" if direct is None else f"{direct.value - results[0].value:+.3f}",
            ]
        )
    if rows:
        head = ["pair", "P@1", "95% interval", "n", "direct", "loss"]
        table(f"{chosen.method.name}, all languages in the space of {pivot}", head, rows, right=(1, 3, 4, 5))
    if outcome.direct:
        say(f"direct: the two languages aligned with each other; loss: what the way through {pivot} costs")
    say(f"written to {output}; try: isoglot translate {output} --from {pivot} WORD")


def align_without_pairs(context: typer.Context, chosen: Aligner) -> None:
    """Each language by a dictionary that is induced, where that helps; see `isoglot.pipelines.static_alignment`."""
    from isoglot.assignments import split_languages
    from isoglot.cli.console import note, print_json, progress_bars, say
    from isoglot.cli.inputs import open_lexicons
    from isoglot.pipelines import align_static, check_inducer, remove_work

    values = context.params
    output, pivot, lower, limit = values["output"], values["pivot"], values["lower"], values["limit"]
    files = _files(values["files"], pivot)
    with locating("--from-vectors"):
        others = split_languages(values["from_vectors"] or [])
    if values["induce"] is not None:
        check_inducer(values["induce"])
    work = output.with_name(f"{output.name}.work")
    with progress_bars() as progress:
        tests = open_lexicons(values["tests"] or [], list(files), pivot=pivot, lower=lower, progress=progress)
        outcome = align_static(
            _spaces(files, limit, lower, progress), pivot, inducer=values["induce"], aligner=chosen,
            dictionary_from=_spaces(others, limit, lower, progress), lexicons=tests, criterion=values["criterion"],
            align_all=values["align_all"], frequent=values["words"], seed=values["seed"], work=work,
            progress=progress, tell=note,
        )  # fmt: skip
        outcome.save(output, progress=progress)
    if not values["keep_work"]:
        remove_work(work)
    if values["json"]:
        print_json({"output": str(output), **outcome.record()})
        return
    _print_choices(outcome, chosen.method.name)
    for choice in outcome.choices.values():
        if choice.told or not choice.aligned:
            say(choice.note)
    say(f"written to {output}; try: isoglot translate {output} --from {pivot} WORD")


def _print_choices(outcome: StaticAlignment, method: str) -> None:
    from isoglot.cli.console import table

    pivot, rows, tested = outcome.pivot, [], []
    for lang, choice in outcome.choices.items():
        figures = ["-" if value is None else f"{value:.3f}" for value in (choice.before, choice.after)]
        kept = "aligned" if choice.aligned else "as it was"
        induced = [choice.induction.by, f"{choice.induction.pairs:,}"]
        rows.append([lang, *induced, choice.criterion, *figures, kept])
        for name, pair in ((f"{pivot} to {lang}", f"{pivot}-{lang}"), (f"{lang} to {pivot}", f"{lang}-{pivot}")):
            figure = choice.bli.get(pair)
            if figure is not None:
                tested.append([name, f"{figure['before']:.3f}", f"{figure['after']:.3f}", kept])
    head = ["", "induced by", "pairs", "criterion", "before", "aligned", "kept"]
    table(f"{method}, languages in the space of {pivot}", head, rows, right=(2, 4, 5))
    if tested:
        table("P@1 on the test dictionaries", ["pair", "before", "aligned", "kept"], tested, right=(1, 2))


def _files(arguments: Sequence[str], pivot: str) -> dict[str, str]:
    """The vectors' files by language: named as LANG=FILE, or those of a folder of distilled vectors."""
    from isoglot.assignments import split_languages
    from isoglot.cli.inputs import check_different

    if len(arguments) == 1 and "=" not in arguments[0]:
        files = _distilled(arguments[0])
    else:
        with locating("with --pivot a file"):
            files = split_languages(arguments)
    if pivot not in files:
        raise ConfigError(f"the pivot {pivot!r} is not among the languages", remedy=f"one of: {', '.join(files)}")
    check_different(list(files.values()))
    return files


def _distilled(folder: str) -> dict[str, str]:
    from isoglot.distill import DISTILLED_FOLDER
    from isoglot.manifests import Fields

    manifest = DISTILLED_FOLDER.read(Path(folder))
    listed = {"languages": list(manifest.mapping("languages"))}
    languages = Fields(listed, manifest.where, remedy=manifest.remedy).names("languages")
    if len(languages) < 2:
        raise ConfigError("holds one language only", where=folder, remedy="distil more, or name files as en=FILE")
    return {lang: str(manifest.file(f"{lang}.safetensors")) for lang in languages}


def _spaces(files: dict[str, str], limit: int, lower: bool, progress: Progress) -> dict[str, Space]:
    from isoglot.cli.inputs import open_space

    return {
        lang: open_space(file, lang=lang, limit=limit, lower=lower, progress=progress) for lang, file in files.items()
    }


def _lexicons(
    names: Sequence[str], pivot: str, files: Sequence[str], lower: bool, progress: Progress
) -> dict[tuple[str, str], Lexicon]:
    """Lexicons given as `en-fr=FILE`; for pairs without one, the catalogue's, where it has one."""
    from isoglot import catalogue
    from isoglot.cli.console import note
    from isoglot.cli.inputs import open_lexicon, open_lexicons

    lexicons = open_lexicons(files, names, lower=lower, progress=progress)
    for a, b in itertools.combinations([pivot, *(name for name in names if name != pivot)], 2):
        name = f"lexicon/{a}-{b}"
        if (a, b) not in lexicons and (b, a) not in lexicons and catalogue.has_entry(name):
            note(f"using {name} of the catalogue for {a} and {b}")
            lexicons[a, b] = open_lexicon(name, lower=lower, progress=progress, languages=(a, b))
    return lexicons
