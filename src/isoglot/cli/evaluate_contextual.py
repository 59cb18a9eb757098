"""`isoglot evaluate tatoeba`, `cbli`, `word-alignment` and `rfeval`: what an encoder's vectors are good for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.encoder_inputs import check_encoder, refuse_for_aligned
from isoglot.cli.options import (
    Base,
    Cache,
    Device,
    Dtype,
    Echo,
    EncoderName,
    HeldOut,
    Json,
    Languages,
    Layer,
    Normalise,
    OptionalLimit,
    OptionalMethod,
    Parallel,
    PerItem,
    Pooling,
    Prompt,
    Score,
    Seed,
    Segmenters,
    Settings,
)

if TYPE_CHECKING:
    from isoglot.tasks import Result


@tabular
def tatoeba(
    context: typer.Context,
    texts: Parallel,
    encoder: EncoderName,
    score: Score = "cosine",
    normalise: Normalise = None,
    layer: Layer = "-1",
    limit: OptionalLimit = None,
    per_item: PerItem = None,
    prompt: Prompt = None,
    echo: Echo = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Sentence retrieval: is the nearest sentence of the other file the translation? P@1 in both directions.

    Any two line-parallel files will do. Blank lines are left out. Sentences are ranked by cosine, margin or csls.
    --normalise adapts an encoder, aligned or not, to the very texts, without translations: unit,centre takes the mean
    of each text away, standardise also makes huge dimensions as small as others.

    Examples:

    \b
      isoglot evaluate tatoeba tatoeba.deu-eng.deu tatoeba.deu-eng.eng -e encoder/use-multilingual
      isoglot evaluate tatoeba de.txt en.txt -e my-aligned-encoder --score margin --per-item found.jsonl
    """
    import dataclasses

    from isoglot.cli.console import progress_bars
    from isoglot.cli.encoder_inputs import encoder_settings, open_encoders, open_parallel
    from isoglot.errors import ConfigError, InputError
    from isoglot.spaces import parse_steps
    from isoglot.tasks import TATOEBA_SCORES, tatoeba as measure

    if score not in TATOEBA_SCORES:
        remedy = f"choose {' or '.join(TATOEBA_SCORES)}"
        raise ConfigError(f"sentence retrieval has no --score {score}", remedy=remedy)
    steps = "" if normalise in (None, "none") else ",".join(parse_steps(str(normalise)))
    check_encoder(encoder)
    refuse_for_aligned(context, encoder)
    _check_per_item(per_item)
    with progress_bars() as progress:
        text = open_parallel(texts, progress, limit=limit)
        kept = [(src, tgt) for src, tgt in text if src.strip() and tgt.strip()]
        if not kept:
            raise InputError("no line has text on both sides", where=texts[0])
        text = dataclasses.replace(text, src=tuple(src for src, _ in kept), tgt=tuple(tgt for _, tgt in kept))
        languages = (text.src_lang, text.tgt_lang)
        models = open_encoders(encoder, languages, progress, **encoder_settings(context))
        X = models[0].sentences(text.src, step=f"encoding {languages[0]}", progress=progress)
        Y = models[1].sentences(text.tgt, step=f"encoding {languages[1]}", progress=progress)
        results = measure(
            X, Y, score=score, normalise=steps, sentences=(text.src, text.tgt), seed=seed, progress=progress
        )
    how = f"{score}, {steps}" if steps else score
    _report(results, f"{encoder}: {languages[0]} and {languages[1]}, {how}", per_item, json)


@tabular
def cbli(
    pairs: Annotated[Path, typer.Argument(metavar="DIR", help="Folder written by `isoglot encoder extract`.")],
    alignment: Annotated[
        Path | None,
        typer.Option("--alignment", "-a", metavar="DIR", help="A saved alignment to map both sides with first."),
    ] = None,
    method: OptionalMethod = None,
    settings: Settings = None,
    score: Score = "csls",
    held_out: HeldOut = 10_000,
    per_item: PerItem = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Contextual lexicon induction: is the nearest word in context of the other language a translation?

    At most --held-out pairs of words are drawn for the test. With --method the words of all other sentences teach;
    settings for --set are those of the method (`isoglot methods NAME`).

    Examples:

    \b
      isoglot encoder extract de.txt en.txt -e encoder/use-multilingual -o pairs
      isoglot evaluate cbli pairs
      isoglot evaluate cbli pairs --method procrustes
      isoglot evaluate cbli pairs --method realnvp --set epochs=5 batch=128
    """
    from isoglot.aligners import Alignment
    from isoglot.cli.console import progress_bars
    from isoglot.cli.inputs import parse_aligner
    from isoglot.errors import ConfigError
    from isoglot.pipelines import ContextualPairs, held_out_words
    from isoglot.tasks import cbli as measure

    if alignment is not None and method is not None:
        raise ConfigError("--alignment and --method exclude each other", remedy="give one of them")
    if settings and method is None:
        raise ConfigError(f"--set {settings[0]} has no effect without --method", remedy="give --method too")
    if held_out == 0:
        raise ConfigError("--held-out 0 leaves nothing to test on", remedy="give a larger number")
    _check_per_item(per_item)
    known = None if alignment is None else Alignment.load(alignment)
    chosen = None
    if method is not None:
        chosen = parse_aligner(method, settings or [], seed=seed, normalise=None, match_dimensions=False)
    found = ContextualPairs.load(pairs)
    with progress_bars() as progress:
        if chosen is not None:
            known, found = held_out_words(chosen, found, test=held_out, seed=seed, progress=progress)
        src, tgt = found.src, found.tgt
        if known is not None:
            src, tgt = known.transform(src, "src"), known.transform(tgt, "tgt")
        results = measure(src, tgt, found.pairs, score=score, limit=held_out, seed=seed, progress=progress)
    _report(results, f"{pairs}: {src.lang} to {tgt.lang}, {method or alignment or 'as they come'}", per_item, json)


@tabular
def word_alignment(
    predicted: Annotated[Path, typer.Argument(metavar="LINKS", help="Links to be judged, in Pharaoh format.")],
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="Gold links: i-j sure, ipj or i:j possible.")],
    base: Base,
    gold_base: Annotated[
        int, typer.Option("--gold-base", min=0, max=1, help="Number of a sentence's first word in GOLD: 0 or 1.")
    ],
    per_item: PerItem = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Word alignment: F1, precision, recall and AER against gold links, with sure and possible ones.

    Examples:

    \b
      isoglot wordalign en.tok fr.tok -e encoder/use-multilingual -o found.pharaoh
      isoglot evaluate word-alignment found.pharaoh en-fr.gold --base 0 --gold-base 1
    """
    from isoglot.tasks import word_alignment as measure
    from isoglot.wordalign import read_links

    results = measure(read_links(predicted, base=base), read_links(gold, base=gold_base), seed=seed)
    _report(results, f"{predicted} against {gold}", per_item, json)


@tabular
def rfeval(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="WMT", help="Folder of a WMT metrics task (DA-seglevel.csv, ...).")],
    encoder: EncoderName,
    languages: Languages,
    ngram: Annotated[int, typer.Option("--ngram", min=1, max=2, help="Move words (1) or pairs of words (2).")] = 1,
    layer: Layer = "-1",
    pooling: Pooling = "mean",
    segmenter: Segmenters = None,
    per_item: PerItem = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Reference-free evaluation: do word mover's distances to the source agree with people's scores of translations?

    With an aligned encoder's folder the words are mapped into one space first.

    Examples:

    \b
      isoglot evaluate rfeval wmt17 --languages de-en -e encoder/use-multilingual
      isoglot evaluate rfeval wmt17 --languages de-en -e my-aligned-encoder --ngram 2
    """
    from isoglot.cli.console import progress_bars
    from isoglot.cli.encoder_inputs import encoder_settings, open_encoders
    from isoglot.cli.inputs import join_segmenters
    from isoglot.errors import ConfigError
    from isoglot.pipelines import judge_translations
    from isoglot.tasks import read_wmt

    check_encoder(encoder)
    refuse_for_aligned(context, encoder)
    _check_per_item(per_item)
    src, dash, tgt = languages.strip().partition("-")
    if not dash or "," in languages:
        raise ConfigError(f"--languages takes one pair here, not {languages!r}", remedy="such as de-en")
    names = join_segmenters(segmenter, "icu", [src, tgt])
    segments = read_wmt(folder, f"{src}-{tgt}", unescape=True)
    with progress_bars() as progress:
        models = open_encoders(encoder, (src, tgt), progress, **encoder_settings(context))
        results = judge_translations(
            models, segments, (src, tgt), ngram=ngram, segmenter=names, seed=seed, progress=progress
        )
    _report(results, f"{encoder}: {src}-{tgt}, {ngram}-grams", per_item, json)


def _check_per_item(path: Path | None) -> None:
    """Before long work: a file that cannot be written."""
    from isoglot.files import check_writable

    if path is not None:
        check_writable(path)


def _report(results: Sequence[Result], title: str, per_item: Path | None, as_json: bool) -> None:
    from isoglot.cli.console import print_json, result_table
    from isoglot.cli.outputs import write_json_lines

    if per_item is not None:
        write_json_lines(per_item, results[0].per_item)
    if as_json:
        print_json({"results": [result.record() for result in results]})
        return
    result_table(results, title)
