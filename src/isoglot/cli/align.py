"""`isoglot align` and `isoglot demo`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.given import refuse, refuse_doubled
from isoglot.cli.options import FoldCase, Json, Limit, Score, Swap

if TYPE_CHECKING:
    from isoglot.aligners import Aligner


def align(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SRC TGT",
            help="Two files of vectors or catalogue names (vectors/en); with --pivot, LANGUAGE=FILE ...",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    lexicons: Annotated[
        list[str] | None,
        typer.Option(
            "--lexicon", "-l", help="Pairs: a file or catalogue name (lexicon/en-fr); with --pivot, en-fr=FILE."
        ),
    ] = None,
    pivot: Annotated[
        str | None, typer.Option("--pivot", help="Align any number of languages to this one, all into its space.")
    ] = None,
    identical: Annotated[bool, typer.Option("--identical", help="Learn from words spelled the same in both.")] = False,
    numerals: Annotated[bool, typer.Option("--numerals", help="Learn from numerals found in both.")] = False,
    method: Annotated[str, typer.Option("--method", "-m", help="See `isoglot methods`.")] = "procrustes",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the method, as key=value; may be repeated.")
    ] = None,
    normalise: Annotated[
        str | None,
        typer.Option("--normalise", help="Steps before aligning, e.g. unit,centre,unit or iterative or none."),
    ] = None,
    match_dimensions: Annotated[
        bool,
        typer.Option("--match-dimensions", help="Reduce the side with more dimensions if the method needs them equal."),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, help="Learn from this many pairs, those of the most frequent source words."),
    ] = None,
    held_out: Annotated[
        int | None,
        typer.Option("--held-out", min=0, help="Test on the next this many source words; 0 learns from all of them."),
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", help="A lexicon of its own to test on, instead of holding out.")
    ] = None,
    src_lang: Annotated[
        str | None, typer.Option("--src-lang", help="Language of SRC; guessed from the file's name.")
    ] = None,
    tgt_lang: Annotated[
        str | None, typer.Option("--tgt-lang", help="Language of TGT; guessed from the file's name.")
    ] = None,
    limit: Limit = 200_000,
    fold_case: FoldCase = False,
    swap: Swap = False,
    score: Score = "csls",
    rerank: Annotated[
        bool,
        typer.Option(
            "--rerank", help="Also train a small model on the pairs that re-scores candidates by spelling too."
        ),
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Where all random choices come from.")] = 0,
    json: Json = False,
) -> None:
    """Align two files of word vectors: one shared space, and a figure for how good it is.

    Without --test or --held-out, the 5,000 pairs of the most frequent source words teach and the next 1,500 words test;
    a smaller lexicon gives a tenth of its words for testing.

    Examples:

    \b
      isoglot align wiki.en.vec wiki.fr.vec --lexicon en-fr.txt -o en-fr
      isoglot align vectors/en vectors/fr -l lexicon/en-fr -m least-squares -o en-fr
      isoglot align vectors/en vectors/fr -l lexicon/en-fr --rerank -o en-fr
      isoglot align en.bin de.bin --identical --test en-de.test.txt -o en-de
      isoglot align en.vec zh.vec -l en-zh.txt -m cca --set keep=0.9 -o en-zh --json
      isoglot align en=en.vec fr=fr.vec ja=ja.vec --pivot en -l en-fr=en-fr.txt -l en-ja=en-ja.txt -o all
    """
    from isoglot.aligned import ALIGNED_FOLDER
    from isoglot.cli.console import note, notes, print_json, progress_bars, result_table, say, warn
    from isoglot.cli.inputs import check_different, open_lexicon, open_space, parse_aligner
    from isoglot.cli.outputs import claim
    from isoglot.cli.pivot import align_languages
    from isoglot.errors import ConfigError, LexiconError
    from isoglot.lexicons import identical_strings, numerals as shared_numerals, split_lexicon
    from isoglot.pipelines import align_pair
    from isoglot.retrieval import check_score

    chosen = parse_aligner(method, settings or [], seed=seed, normalise=normalise, match_dimensions=match_dimensions)
    check_score(score)
    _check_options(context, chosen, settings or [])
    claim(output, ALIGNED_FOLDER)
    if pivot is not None:
        align_languages(
            files, pivot, chosen, lexicons or [], output,
            limit=limit, fold_case=fold_case, seeds=seeds, held_out=held_out, score=score, json=json,
        )  # fmt: skip
        return
    if len(files) != 2:
        raise ConfigError(f"align takes two files, not {len(files)}", remedy="name more languages with --pivot")
    if len(lexicons or []) > 1:
        raise ConfigError("align takes one --lexicon", remedy="join the files, or name languages with --pivot")
    src, tgt = files
    check_different(files)
    lexicon = lexicons[0] if lexicons else None
    if sum((lexicon is not None, identical, numerals)) > 1:
        raise ConfigError("--lexicon, --identical and --numerals exclude each other")
    unsupervised = chosen.method.supervision == "unsupervised"
    if rerank and (unsupervised or not (lexicon or identical or numerals)):
        raise ConfigError("--rerank learns from translation pairs: it needs a supervised method and a --lexicon")
    if unsupervised and (identical or numerals):
        raise ConfigError(f"{method} is unsupervised: it takes no --identical or --numerals")
    if chosen.method.supervision == "supervised" and not (lexicon or identical or numerals):
        raise LexiconError(
            f"{method} learns from translation pairs",
            remedy="give --lexicon FILE, or --identical, or choose an unsupervised method (`isoglot methods`)",
        )
    # Beside the output, so that the same command finds it again after a kill.
    state = output.with_name(f".{output.name}.checkpoint") if chosen.method.iterative else None
    if state is not None and state.exists():
        note(f"resuming from {state}, which an earlier run left")
    with progress_bars() as progress:
        pairs = None if lexicon is None else open_lexicon(lexicon, fold_case=fold_case, progress=progress)
        gold = None if test is None else open_lexicon(test, fold_case=fold_case, progress=progress)
        if swap:
            pairs, gold = (None if one is None else one.invert() for one in (pairs, gold))
        source = open_space(src, lang=src_lang, limit=limit, fold_case=fold_case, progress=progress)
        target = open_space(tgt, lang=tgt_lang, limit=limit, fold_case=fold_case, progress=progress)
        if identical or numerals:
            pairs = (identical_strings if identical else shared_numerals)(source, target)
            held_out = held_out or 0
        if pairs is not None and gold is None:
            pairs, gold = split_lexicon(pairs, source, target, seeds=seeds, held_out=held_out)
        elif pairs is not None:
            pairs, _ = split_lexicon(pairs, source, target, seeds=seeds, held_out=0)
        outcome = align_pair(
            source, target, chosen, train=None if unsupervised else pairs, test=gold,
            score=score, checkpoint=state, rerank=rerank, progress=progress,
        )  # fmt: skip
        outcome.aligned.save(output, progress=progress)
    if outcome.test_coverage is not None:
        notes(outcome.test_coverage.notes(), "test lexicon")
    for warning in outcome.warnings:
        warn(warning)
    if json:
        print_json({"output": str(output), **outcome.aligned.info})
        return
    result_table(outcome.results, f"{method}: {source.lang or 'source'} to {target.lang or 'target'}")
    if not outcome.results:
        say("no figure: all pairs were used for learning; give --test or --held-out to measure")
    first = next((word for word in source.words[200:] if len(word) > 3), source.words[0])
    say(f"aligned in {outcome.seconds['align']:.1f} s, written to {output}; try: isoglot translate {output} {first}")


def _check_options(context: typer.Context, chosen: Aligner, settings: Sequence[str]) -> None:
    """Raise for options that the others leave without effect."""
    values = context.params
    unsupervised = chosen.method.supervision == "unsupervised"
    method = f"--method {chosen.method.name}"
    refuse_doubled(context, settings)
    if values["pivot"] is not None:
        refuse(context, "with --pivot, which takes LANGUAGE=FILE", "src_lang", "tgt_lang")
        refuse(context, "with --pivot, which learns from --lexicon en-fr=FILE", "identical", "numerals")
        refuse(context, "with --pivot, which holds words out of each lexicon", "test")
        refuse(context, "with --pivot: it works with two languages", "rerank")
        refuse(context, "with --pivot", "swap", remedy="name the lexicon the other way round: fr-en=FILE")
        if unsupervised:
            refuse(context, f"with --pivot and {method}, which learns from no pairs", "seeds", "held_out")
        return
    found = values["identical"] or values["numerals"]
    if not values["lexicons"]:
        if values["test"] is None:
            refuse(context, "without --lexicon or --test", "swap")
        if not found:
            refuse(context, "without --lexicon", "seeds", "held_out")
    if values["test"] is not None:
        refuse(context, "with --test, which holds all the test words", "held_out")
        if unsupervised:
            refuse(context, f"with {method}, which learns from no pairs, and --test", "lexicons", "seeds")
    elif values["held_out"] == 0:
        refuse(context, "with --held-out 0: there are no test words to rank", "score")
    elif not values["lexicons"] and not values["held_out"]:
        refuse(context, "without --lexicon, --test or --held-out: there are no test words to rank", "score")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the aligned vectors and report.html.")
    ] = Path("demo"),
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not fetch anything: use a generated pair of languages.")
    ] = False,
    json: Json = False,
) -> None:
    """Align English and French from the data catalogue, print figures and translations, write a report page.

    Without a network and with nothing cached it says so and uses a generated pair of languages.

    Examples:

    \b
      isoglot demo
      isoglot demo -o my-demo --json
    """
    from isoglot.cli.console import print_json, progress_bars, result_table, say, table
    from isoglot.cli.outputs import claim
    from isoglot.pipelines import run_demo

    claim(output)
    with progress_bars() as progress:
        outcome = run_demo(output, offline=offline, progress=progress, tell=say)
    if json:
        print_json(outcome.record())
        return
    result_table(outcome.results, outcome.title)
    rows = [
        [answer.word, ", ".join(f"{word} ({value:.2f})" for word, value in answer.candidates), gold]
        for answer, gold in outcome.translations
    ]
    table("Twenty translations of held-out words", ["word", "candidates", "dictionary"], rows)
    say(f"report: {outcome.report}")
    say(f"try: isoglot translate {outcome.folder} music river")
