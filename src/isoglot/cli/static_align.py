"""`isoglot static-align`: distilled vectors of several languages closer to a pivot's, where that helps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.given import refuse_doubled
from isoglot.cli.options import FoldCase, Json, Limit

if TYPE_CHECKING:
    from isoglot.pipelines import StaticAlignment


def static_align(
    context: typer.Context,
    vectors: Annotated[
        list[str],
        typer.Argument(metavar="DIR | LANG=FILE...", help="A folder of `isoglot distill`, or vectors as en=FILE."),
    ],
    pivot: Annotated[str, typer.Option("--pivot", help="The language that the others are aligned to.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    induce: Annotated[
        str | None,
        typer.Option(
            "--induce",
            help="What finds the dictionary: as-is (mutual neighbours of the vectors where they are), or a method that "
            "needs no pairs, such as vecmap-unsupervised or cognates. Default: as-is; with --from-vectors "
            "vecmap-unsupervised.",
        ),
    ] = None,
    from_vectors: Annotated[
        list[str] | None,
        typer.Option("--from-vectors", help="Other vectors to induce the dictionary on, as fr=FILE; repeatable."),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="Learns from the induced dictionary; see `isoglot methods`.")
    ] = "vecmap",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the method, as key=value; repeatable.")
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            "--criterion",
            help="What chooses between aligned and not: semantic, structural or, the default with --from-vectors, "
            "dictionary.",
        ),
    ] = None,
    align_all: Annotated[
        bool, typer.Option("--align-all", help="Align every language, whatever the criterion says.")
    ] = False,
    frequent: Annotated[
        int, typer.Option("--frequent", min=20, help="Most frequent words in dictionaries and the criterion.")
    ] = 15_000,
    lexicons: Annotated[
        list[str] | None,
        typer.Option("--lexicon", "-l", help="Test dictionary, as en-fr=FILE, only to measure P@1; repeatable."),
    ] = None,
    limit: Limit = 200_000,
    fold_case: FoldCase = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Where all random choices come from.")] = 0,
    keep_work: Annotated[bool, typer.Option("--keep-work", help="Keep OUT.work, the finished languages.")] = False,
    json: Json = False,
) -> None:
    """Align distilled vectors to a pivot without supervision, language by language: X2S-MA of Hämmerl et al. 2022.

    A dictionary is induced, VecMap learns from it, and where the translations that are found are no closer than before
    the language is kept as it was. OUT has one file a language, as `isoglot distill` writes them, and is an aligned
    folder too: `isoglot translate`, `lexicon`, `export` and `evaluate bli` take it. A killed run resumes where it was
    when the same command is given again.

    Examples:

    \b
      isoglot static-align static --pivot en -o aligned
      isoglot static-align static --pivot en --lexicon en-fr=en-fr.test.txt -o aligned
      isoglot static-align static --pivot en --from-vectors en=cc.en.vec --from-vectors fr=cc.fr.vec -o aligned
      isoglot static-align en=en.safetensors fr=fr.safetensors --pivot en --induce cognates -o aligned
    """
    from isoglot.aligned import ALIGNED_FOLDER
    from isoglot.assignments import split_languages
    from isoglot.cli.console import note, print_json, progress_bars, say
    from isoglot.cli.inputs import check_different, open_lexicons, open_space, parse_aligner
    from isoglot.cli.outputs import claim
    from isoglot.errors import ConfigError, locating
    from isoglot.pipelines import CRITERIA, align_static, check_inducer, remove_work

    refuse_doubled(context, settings or [])
    files = _files(vectors)
    check_different(list(files.values()))
    if pivot not in files:
        raise ConfigError(f"the pivot {pivot!r} is not among the languages", remedy=f"one of: {', '.join(files)}")
    with locating("--from-vectors"):
        others = split_languages(from_vectors or [])
    chosen = parse_aligner(method, settings or [], seed=seed, normalise=None, match_dimensions=False)
    if induce is not None:
        check_inducer(induce)
    if criterion is not None and criterion not in CRITERIA:
        raise ConfigError(f"unknown criterion {criterion!r}", remedy=f"choose one of: {', '.join(CRITERIA)}")
    claim(output, ALIGNED_FOLDER)
    work = output.with_name(f"{output.name}.work")
    with progress_bars() as progress:
        tests = open_lexicons(lexicons or [], list(files), pivot=pivot, fold_case=fold_case, progress=progress)
        spaces, given = (
            {
                lang: open_space(file, lang=lang, limit=limit, fold_case=fold_case, progress=progress)
                for lang, file in some.items()
            }
            for some in (files, others)
        )
        outcome = align_static(
            spaces, pivot, inducer=induce, aligner=chosen, dictionary_from=given, lexicons=tests, criterion=criterion,
            align_all=align_all, frequent=frequent, seed=seed, work=work, progress=progress, tell=note,
        )  # fmt: skip
        outcome.save(output, progress=progress)
    if not keep_work:
        remove_work(work)
    if json:
        print_json({"output": str(output), **outcome.record()})
        return
    _print(outcome, chosen.method.name)
    for choice in outcome.choices.values():
        if choice.told or not choice.aligned:
            say(choice.note)
    say(f"written to {output}; try: isoglot translate {output} --from {pivot} WORD")


def _print(outcome: StaticAlignment, method: str) -> None:
    from isoglot.cli.console import table

    rows = []
    for lang, choice in outcome.choices.items():
        figures = ["-" if value is None else f"{value:.3f}" for value in (choice.before, choice.after)]
        tested = [
            "" if figure is None else f"{figure['before']:.3f} / {figure['after']:.3f}"
            for figure in (choice.bli.get(name) for name in (f"{outcome.pivot}-{lang}", f"{lang}-{outcome.pivot}"))
        ]
        kept = "aligned" if choice.aligned else "as it was"
        induced = [choice.induction.by, f"{choice.induction.pairs:,}"]
        rows.append([lang, *induced, choice.criterion, *figures, kept, *tested])
    head = ["", "induced by", "pairs", "criterion", "before", "aligned", "kept"]
    head += [f"P@1 from {outcome.pivot}: before / aligned", f"P@1 to {outcome.pivot}"]
    if not any(choice.bli for choice in outcome.choices.values()):
        head, rows = head[:7], [row[:7] for row in rows]
    table(f"{method}, languages in the space of {outcome.pivot}", head, rows, right=(2, 4, 5))


def _files(arguments: Sequence[str]) -> dict[str, str]:
    """The vectors' files by language."""
    from isoglot.assignments import split_languages
    from isoglot.distill import DISTILLED_FOLDER
    from isoglot.errors import ConfigError
    from isoglot.manifests import Fields

    if len(arguments) > 1 or "=" in arguments[0]:
        return split_languages(arguments)
    manifest = DISTILLED_FOLDER.read(Path(arguments[0]))
    listed = {"languages": list(manifest.mapping("languages"))}
    languages = Fields(listed, manifest.where, remedy=manifest.remedy).names("languages")
    if len(languages) < 2:
        raise ConfigError("holds one language only", where=arguments[0], remedy="distil more, or name files as en=FILE")
    return {lang: str(manifest.file(f"{lang}.safetensors")) for lang in languages}
