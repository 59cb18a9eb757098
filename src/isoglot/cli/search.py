"""`isoglot search`: ask in one language, find lines of text in others."""

from __future__ import annotations

from typing import Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import (
    Cache,
    Device,
    Dtype,
    Echo,
    EncoderName,
    From,
    Json,
    Layer,
    OptionalLimit,
    Prompt,
    Score,
    Texts,
    Top,
)


@tabular
def search(
    context: typer.Context,
    texts: Texts,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            metavar="TEXT",
            help="What to search for; may be repeated; default: lines of standard input.",
        ),
    ] = None,
    encoder: EncoderName = "encoder/use-multilingual",
    source: From = None,
    k: Top = 5,
    score: Score = "cosine",
    layer: Layer = "-1",
    limit: OptionalLimit = None,
    prompt: Prompt = None,
    echo: Echo = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    json: Json = False,
) -> None:
    """Search text across languages: the lines nearest in meaning to a query in any language of the encoder.

    The default encoder knows 16 languages and needs no torch. With an aligned encoder, files are LANG=FILE, and --from
    is the language of the queries.

    Examples:

    \b
      isoglot search help.de.txt help.fr.txt --query "how do I change my password"
      isoglot search de=de.txt -e de-en --from en --query "a house" -k 10
    """
    from isoglot.assignments import language_and_name
    from isoglot.cli.console import print_json, progress_bars, table
    from isoglot.cli.encoder_inputs import encoder_settings, language_encoders, refuse_for_aligned
    from isoglot.cli.streams import standard_input_lines
    from isoglot.errors import InputError
    from isoglot.pipelines import Line, SearchText, encode_lines
    from isoglot.text import read_lines

    refuse_for_aligned(context, encoder)
    asked = queries or standard_input_lines()
    if not any(one.strip() for one in asked):
        raise InputError("no query given", remedy="give --query, or one per line on standard input")
    with progress_bars() as progress:
        named = [language_and_name(text) for text in texts]
        languages = [*(lang for lang, _ in named), source]
        *models, asking = language_encoders(encoder, languages, progress, **encoder_settings(context))
        parts = []
        for (_, name), model in zip(named, models, strict=True):
            lines = [Line(name, number, line) for number, line in enumerate(read_lines(name), start=1)]
            parts.append(encode_lines(lines[:limit], model, progress))
        vectors = asking.sentences(asked, step="encoding queries", progress=progress)
        answers = SearchText.joined(parts).ask(asked, vectors, k, score)
    if json:
        print_json([answer.record() for answer in answers])
        return
    for answer in answers:
        rows = [[f"{value:.3f}", f"{line.source}:{line.number}", line.text] for line, value in answer.hits]
        table(answer.question, ["score", "line", "text"], rows)
