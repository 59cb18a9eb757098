"""`isoglot encoder align`: parallel text in, an encoder with one space for two languages out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.encoder_inputs import check_encoder, refuse_for_links
from isoglot.cli.given import fill, refuse, refuse_doubled
from isoglot.cli.options import (
    Cache,
    Device,
    DryRun,
    Dtype,
    Echo,
    EncoderName,
    Json,
    Layer,
    Links,
    Method,
    Normalise,
    OptionalBase,
    OptionalHeldOut,
    OptionalLimit,
    Output,
    Parallel,
    Pooling,
    Preset,
    Prompt,
    Seed,
    Segmenters,
    Settings,
    WordMethod,
)
from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.pipelines import CheckOutcome
    from isoglot.tasks import Result


@tabular
def align(
    context: typer.Context,
    texts: Parallel,
    encoder: EncoderName,
    output: Output,
    preset: Preset = None,
    method: Method = "anchored-local",
    settings: Settings = None,
    normalise: Normalise = None,
    level: Annotated[
        Literal["sentence", "word"],
        typer.Option("--level", help="Learn on vectors of sentences, or of words in context."),
    ] = "sentence",
    layer: Layer = "-1",
    per_layer: Annotated[
        bool, typer.Option("--per-layer", help="Learn a map for each of several layers, as with --layer last4.")
    ] = False,
    pooling: Pooling = "mean",
    word_method: WordMethod = "itermax",
    links: Links = None,
    base: OptionalBase = None,
    segmenter: Segmenters = None,
    held_out: OptionalHeldOut = None,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            metavar="LANG=FILE",
            help="Parallel text of another kind, one file for each language: say whether the alignment hurts there, "
            "and choose its strength so that it does not; may be repeated.",
        ),
    ] = None,
    check_text: Annotated[
        list[str] | None,
        typer.Option(
            "--check-text",
            metavar="LANG=FILE",
            help="The same with texts that are no translations of each other, one for each language.",
        ),
    ] = None,
    limit: OptionalLimit = None,
    prompt: Prompt = None,
    echo: Echo = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Align an encoder across two languages: parallel text in, an encoder with one space for both out.

    The folder loads as `Encoder(folder, lang=...)`, as `AlignedEncoder.load(folder)` and, where the map is linear and
    the layer a single one, as `SentenceTransformer(folder)`, with `encode(texts, task=LANGUAGE)`. The last lines, by
    default a fifth, are held out; the command measures how many of them find their translation, before and after.

    Text of another kind may lose by a map. The default method moves only text that is near what it has seen. With
    --check or --check-text other kinds are measured too: every second line helps to choose how much is changed, the
    others are reported.

    --preset joint-align-contextual is the recipe of Wang et al. 2020: --level word --layer last4 --per-layer
    --word-method hmm -m procrustes --normalise none. Options that are given beside it win: an encoder with fewer layers
    takes --layer sum:all.

    Settings for --set are those of the method (`isoglot methods NAME`) and, with --level word, word.KEY=VALUE for the
    word alignment, such as word.null=0.4.

    Examples:

    \b
      isoglot encoder align cs.txt en.txt -e encoder/use-multilingual -o cs-en
      isoglot encoder align de.txt en.txt -e my-model --check de=talks.de en=talks.en --check-text de=a en=b -o de-en
      isoglot encoder align parallel/de-en -e encoder/minilm --layer 0,6 -m cca -o de-en
      isoglot encoder align de=a.txt en=b.txt -e my-model --level word --layer last4 --per-layer -o de-en
      isoglot encoder align es=a.txt nl=b.txt -e my-model --preset joint-align-contextual -o es-nl
    """
    from isoglot.aligners import AnchoredLocal
    from isoglot.cli.console import note, print_cost, print_json, progress_bars, say, warn
    from isoglot.cli.encoder_inputs import (
        encoder_settings,
        open_checks,
        open_encoder,
        open_links,
        open_parallel,
        split_word_settings,
    )
    from isoglot.cli.inputs import join_segmenters, parse_aligner
    from isoglot.cli.outputs import claim
    from isoglot.cli.wording import in_options
    from isoglot.encoders import ALIGNED_ENCODER_FOLDER, estimate_encoding
    from isoglot.errors import ConfigError
    from isoglot.pipelines import ALIGN_PRESETS, align_and_test, tokenise
    from isoglot.suggest import choose
    from isoglot.wordalign import check_linking

    if preset is not None:
        fill(context, choose("preset", preset, ALIGN_PRESETS, where="--preset"))
        chosen = context.params
        method, normalise, level = chosen["method"], chosen["normalise"], chosen["level"]
        per_layer, word_method = chosen["per_layer"], chosen["word_method"]
    own, linking = split_word_settings(settings)
    aligner = parse_aligner(method, own, seed=seed, normalise=normalise, match_dimensions=False)
    check_encoder(encoder)
    refuse_doubled(context, own)
    check_linking(word_method, linking)
    if level == "sentence":
        why = "with --level sentence, which looks at no words"
        refuse(context, why, "word_method", "links", "base", "segmenter", remedy="give --level word too")
        if linking:
            raise ConfigError(f"--set word.{min(linking)} has no effect {why}", remedy="give --level word too")
    refuse_for_links(context, "word_method")
    if links is not None and linking:
        raise ConfigError(f"--set word.{min(linking)} has no effect with --links", remedy="leave it out")
    claim(output, ALIGNED_ENCODER_FOLDER)
    known = open_links(links, base)
    with progress_bars() as progress:
        text = open_parallel(texts, progress, limit=limit)
        split = join_segmenters(segmenter, "icu", [text.src_lang, text.tgt_lang])
        checks = open_checks(check, check_text, (text.src_lang, text.tgt_lang))
        model = open_encoder(encoder, progress, **encoder_settings(context))
        if len(model.layers.numbers) == 1 and (aligner.method.linear or isinstance(aligner, AnchoredLocal)):
            require("sentence-models", "saving an aligned encoder")
        if dry_run:
            tokenised = tokenise(text, split)
            print_cost(estimate_encoding(model, [*tokenised.src, *tokenised.tgt]), json=json)
            return
        outcome = align_and_test(
            model,
            text,
            aligner,
            level=level,
            held_out=held_out,
            per_layer=per_layer,
            segmenter=split,
            method=word_method,
            settings=linking,
            links=known if known is None or limit is None else known[:limit],
            links_name=str(links),
            checks=checks,
            # Beside the output, so that the same command finds it again after a kill.
            checkpoint=output.with_name(f".{output.name}.checkpoint") if aligner.method.iterative else None,
            seed=seed,
            progress=progress,
        )
        reason = outcome.aligned.save(output)
    if outcome.left_out:
        note(f"{outcome.left_out:,} lines are blank on one side and were left out")
    for warning in outcome.warnings:
        warn(in_options(warning))
    if json:
        print_json({"output": str(output), "sentence_transformers": reason is None, **outcome.record()})
        return
    src, tgt = outcome.aligned.languages
    if outcome.before:
        title = f"{src} and {tgt}: {len(text) - outcome.left_out - outcome.learned:,} held-out sentences"
        _print_change(outcome.before, outcome.after, f"{title}, {aligner.method.name} of {outcome.learned:,}")
    else:
        say("no figure: all lines were used for learning; give --held-out to measure")
    if outcome.checks:
        _print_checks(outcome.checks)
    say(f"written to {output}")
    if reason is not None:
        note(f"it loads as an Isoglot encoder only: {reason}")
    if reason is None:
        say(f'in sentence-transformers: SentenceTransformer("{output}").encode(texts, task="{src}"), or task="{tgt}"')
    say(f"try: isoglot wordalign {shlex.join(texts)} -e {shlex.quote(str(output))} --segmenter icu -o links.pharaoh")


def _print_change(before: Sequence[Result], after: Sequence[Result], title: str) -> None:
    """One row per figure: the encoder as it comes, and aligned."""
    from isoglot.cli.console import table

    rows = []
    for old, new in zip(before, after, strict=True):
        interval = "" if new.interval is None else f"{new.interval[0]:.3f} to {new.interval[1]:.3f}"
        rows.append([f"{new.metric}, {new.protocol['score']}", f"{old.value:.3f}", f"{new.value:.3f}", interval])
    table(title, ["figure", "before", "aligned", "95% interval"], rows, right=(1, 2))


def _print_checks(checks: Sequence[CheckOutcome]) -> None:
    """One row per text of another kind: the encoder as it comes, and aligned."""
    from isoglot.cli.console import table

    rows = []
    for one in checks:
        change = f"{one.interval[0]:+.3f} to {one.interval[1]:+.3f}"
        figures = [f"{one.lines:,}", f"{one.before:.3f}", f"{one.after:.3f}", change]
        rows.append([one.name, one.metric, *figures, "hurts" if one.hurts else "no harm shown"])
    head = ["text", "figure", "lines", "before", "aligned", "95% of the change", "verdict"]
    table("text of other kinds", head, rows, right=(2, 3, 4))
