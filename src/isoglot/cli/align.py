"""`isoglot align`: files of word vectors into one space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.given import refuse, refuse_doubled
from isoglot.cli.options import (
    AlignAll,
    Effort,
    FromVectors,
    Induce,
    Json,
    KeepWork,
    Lexicons,
    Limit,
    Lower,
    MatchDimensions,
    Normalise,
    OptionalHeldOut,
    OptionalMethod,
    OptionalPairs,
    OptionalPivot,
    Output,
    Rerank,
    Score,
    Seed,
    Settings,
    SrcTgt,
    Swap,
    Tests,
    Words,
)

if TYPE_CHECKING:
    from isoglot.aligners import Aligner

#: Only for languages aligned to a pivot without pairs.
_OF_INDUCTION = ("induce", "from_vectors", "criterion", "align_all", "words", "keep_work")


@tabular
def align(
    context: typer.Context,
    files: SrcTgt,
    output: Output,
    lexicons: Lexicons = None,
    identical: Annotated[bool, typer.Option("--identical", help="Learn from words spelled the same in both.")] = False,
    numerals: Annotated[bool, typer.Option("--numerals", help="Learn from numerals found in both.")] = False,
    method: OptionalMethod = None,
    effort: Effort = None,
    settings: Settings = None,
    normalise: Normalise = None,
    match_dimensions: MatchDimensions = False,
    pairs: OptionalPairs = None,
    held_out: OptionalHeldOut = None,
    tests: Tests = None,
    rerank: Rerank = None,
    score: Score = "csls",
    limit: Limit = 200_000,
    lower: Lower = False,
    swap: Swap = False,
    seed: Seed = 0,
    pivot: OptionalPivot = None,
    induce: Induce = None,
    from_vectors: FromVectors = None,
    criterion: Annotated[
        Literal["semantic", "structural", "dictionary"] | None,
        typer.Option("--criterion", help="What decides, without pairs, whether a language is better off aligned."),
    ] = None,
    align_all: AlignAll = False,
    words: Words = 15_000,
    keep_work: KeepWork = False,
    json: Json = False,
) -> None:
    """Align word vectors of two or more languages: one shared space, and a figure for how good it is.

    The default method, auto, compares methods on parts of the pairs and learns from all of them by the best one; its
    figure is that of the comparison. Unless --effort is quick it also learns to re-rank, and with best it learns once
    more from what re-ranking is sure of. Any other method, unless --test or --held-out say otherwise, learns from the
    5,000 pairs of the most frequent source words and is tested on the next 1,500 words; a smaller lexicon gives a tenth
    of its words for testing.

    With --pivot any number of languages, as LANG=FILE, come into the pivot's space, each with its own --lexicon
    en-fr=FILE. Without lexicons a dictionary is induced for each language, vecmap learns from it, and a language that
    is no better off stays as it was (X2S-MA of Hämmerl et al. 2022); a folder of `isoglot encoder distill` may take the
    place of the files. A killed run resumes when the same command is given again.

    Examples:

    \b
      isoglot align wiki.en.vec wiki.fr.vec --lexicon en-fr.txt -o en-fr
      isoglot align vectors/en vectors/fr -l lexicon/en-fr --effort best -o en-fr
      isoglot align vectors/en vectors/fr -l lexicon/en-fr -m contrastive --rerank -o en-fr
      isoglot align en=one.bin de=two.bin --identical --test en-de.test.txt -o en-de
      isoglot align en.vec zh.vec -l en-zh.txt -m cca --set keep=0.9 -o en-zh --json
      isoglot align en=en.vec fr=fr.vec ja=ja.vec --pivot en -l en-fr=a.txt -l en-ja=b.txt -o all
      isoglot align static --pivot en --test en-fr=en-fr.test.txt -o aligned
    """
    from isoglot.aligned import ALIGNED_FOLDER
    from isoglot.cli.align_many import align_languages, align_without_pairs
    from isoglot.cli.inputs import parse_aligner
    from isoglot.cli.outputs import claim
    from isoglot.retrieval import check_score

    with_pairs = bool(lexicons) or identical or numerals
    default = "auto" if with_pairs or pivot is None else "vecmap"
    if effort is not None and (method or default) != "auto":
        refuse(context, f"with --method {method or default}", "effort")
    bound = [] if effort is None else [f"effort={effort}"]
    chosen = parse_aligner(
        method or default,
        [*bound, *(settings or [])],
        seed=seed,
        normalise=normalise,
        match_dimensions=match_dimensions,
    )
    check_score(score)
    _check_options(context, chosen, settings or [])
    claim(output, ALIGNED_FOLDER)
    if pivot is None:
        _align_two(context, chosen)
    elif lexicons or chosen.method.supervision == "unsupervised":
        align_languages(context, chosen)
    else:
        align_without_pairs(context, chosen)


def _align_two(context: typer.Context, chosen: Aligner) -> None:
    from isoglot.aligners import Auto
    from isoglot.cli.console import note, notes, print_json, progress_bars, result_table, say, warn
    from isoglot.cli.inputs import only, open_lexicon, open_pair
    from isoglot.errors import ConfigError, LexiconError
    from isoglot.lexicons import identical_strings, numerals as shared_numerals, split_lexicon
    from isoglot.pipelines import align_pair, choice_lines, estimated_time, without_figure

    values = context.params
    output, lower, held_out = values["output"], values["lower"], values["held_out"]
    identical, numerals = values["identical"], values["numerals"]
    method = chosen.method.name
    if len(values["files"]) > 2:
        raise ConfigError(f"align takes two files, not {len(values['files'])}", remedy="name more with --pivot")
    lexicon, test = only(values["lexicons"], "--lexicon"), only(values["tests"], "--test")
    if sum((lexicon is not None, identical, numerals)) > 1:
        raise ConfigError("--lexicon, --identical and --numerals exclude each other")
    with_pairs = bool(lexicon or identical or numerals)
    automatic = isinstance(chosen, Auto)
    unsupervised = chosen.method.supervision == "unsupervised" or (automatic and not with_pairs)
    if values["rerank"] and (unsupervised or not (lexicon or identical or numerals)):
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
        pairs = None if lexicon is None else open_lexicon(lexicon, lower=lower, progress=progress)
        gold = None if test is None else open_lexicon(test, lower=lower, progress=progress)
        if values["swap"]:
            pairs, gold = (None if one is None else one.invert() for one in (pairs, gold))
        source, target = open_pair(values["files"], limit=values["limit"], lower=lower, progress=progress)
        if identical or numerals:
            pairs = (identical_strings if identical else shared_numerals)(source, target)
            held_out = held_out or 0
        # Words that are spelled alike say little about the others.
        calibrate = gold if pairs is None or identical or numerals else pairs
        if pairs is not None:
            # `auto` tells the figure of its comparison, and learns from everything.
            held = 0 if gold is not None or (automatic and held_out is None) else held_out
            pairs, kept = split_lexicon(pairs, source, target, seeds=values["pairs"], held_out=held)
            gold = kept if gold is None else gold
        if isinstance(chosen, Auto) and pairs is not None:
            note(estimated_time(source, target, pairs, chosen))
        outcome = align_pair(
            source, target, chosen, train=None if unsupervised else pairs, test=gold, calibrate=calibrate,
            score=values["score"],
            checkpoint=state, rerank=values["rerank"], progress=progress,
        )  # fmt: skip
        outcome.aligned.save(output, progress=progress)
    if outcome.test_coverage is not None:
        notes(outcome.test_coverage.notes(), "test lexicon")
    for warning in outcome.warnings:
        warn(warning)
    if values["json"]:
        print_json({"output": str(output), **outcome.aligned.info})
        return
    for line in choice_lines(outcome.aligned.info.get("auto")):
        say(line)
    if outcome.results:
        result_table(outcome.results, f"{method}: {source.lang or 'source'} to {target.lang or 'target'}")
    elif outcome.train is None:
        say(without_figure(outcome))
    else:
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
        refuse(context, "with --pivot, which learns from --lexicon en-fr=FILE or no pairs", "identical", "numerals")
        refuse(context, "with --pivot: it works with two languages", "rerank")
        refuse(context, "with --pivot", "swap", remedy="name the lexicon the other way round: fr-en=FILE")
        if unsupervised:
            refuse(context, f"with --pivot and {method}, which learns from no pairs", "lexicons")
        if unsupervised or not values["lexicons"]:
            refuse(context, "with --pivot and without --lexicon", "pairs", "held_out")
        if unsupervised or values["lexicons"]:
            refuse(context, "with --lexicon or a method that needs no pairs", *_OF_INDUCTION)
        else:
            refuse(context, "with --pivot and without --lexicon", "score", "normalise", "match_dimensions")
        return
    refuse(context, "without --pivot", *_OF_INDUCTION)
    if not values["lexicons"]:
        if not values["tests"]:
            refuse(context, "without --lexicon or --test", "swap")
        if not (values["identical"] or values["numerals"]):
            refuse(context, "without --lexicon", "pairs", "held_out")
    if values["tests"]:
        refuse(context, "with --test, which holds all the test words", "held_out")
        if unsupervised:
            refuse(context, f"with {method}, which learns from no pairs, and --test", "lexicons", "pairs")
    elif values["held_out"] == 0:
        refuse(context, "with --held-out 0: there are no test words to rank", "score")
    elif not values["lexicons"] and not values["held_out"]:
        refuse(context, "without --lexicon, --test or --held-out: there are no test words to rank", "score")
