"""`isoglot encoder extract`: words in context as vectors that every aligner can learn from."""

from __future__ import annotations

import shlex

import typer

from isoglot.cli.encoder_inputs import check_encoder, refuse_for_links
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
    OptionalBase,
    OptionalLimit,
    Output,
    Parallel,
    Pooling,
    Prompt,
    Segmenters,
    Settings,
    WordMethod,
)


def extract(
    context: typer.Context,
    texts: Parallel,
    encoder: EncoderName,
    output: Output,
    layer: Layer = "-1",
    pooling: Pooling = "mean",
    word_method: WordMethod = "itermax",
    settings: Settings = None,
    links: Links = None,
    base: OptionalBase = None,
    segmenter: Segmenters = None,
    limit: OptionalLimit = None,
    prompt: Prompt = None,
    echo: Echo = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Turn parallel text into matched vectors of words in context, which every aligner can learn from.

    The folder holds src.safetensors and tgt.safetensors, whose entries are occurrences (word@line:position), and the
    rows that translate each other. Vectors are streamed to disk, so the text may be larger than memory.

    Settings for --set are those of the word alignment, as KEY=VALUE or word.KEY=VALUE: null=0.4 leaves words unlinked
    whose best cosine is lower.

    Examples:

    \b
      isoglot encoder extract en.txt de.txt -e encoder/use-multilingual -o pairs
      isoglot encoder extract parallel/en-de -e encoder/minilm --layer 0 --word-method hmm -o pairs
      isoglot encoder extract en.tok de.tok -e my-model --links gold.pharaoh --base 1 --segmenter spaces -o pairs
    """
    from isoglot.cli.console import note, print_cost, print_json, progress_bars, say
    from isoglot.cli.encoder_inputs import (
        encoder_settings,
        open_encoder,
        open_links,
        open_parallel,
        split_word_settings,
    )
    from isoglot.cli.inputs import join_segmenters
    from isoglot.cli.outputs import claim
    from isoglot.encoders import estimate_encoding
    from isoglot.pipelines import PAIRS_FOLDER, extract_to, tokenise
    from isoglot.wordalign import check_linking

    check_encoder(encoder)
    refuse_for_links(context, "word_method", "settings")
    claim(output, PAIRS_FOLDER)
    _, linking = split_word_settings(settings, main=True)
    check_linking(word_method, linking)
    known = open_links(links, base)
    with progress_bars() as progress:
        text = open_parallel(texts, progress, limit=limit)
        known = known if known is None or limit is None else known[:limit]
        split = join_segmenters(segmenter, "icu", [text.src_lang, text.tgt_lang])
        tokenised = tokenise(text, split, links=known, links_name=str(links))
        model = open_encoder(encoder, progress, **encoder_settings(context))
        if dry_run:
            print_cost(estimate_encoding(model, [*tokenised.src, *tokenised.tgt]), json=json)
            return
        pairs = extract_to(output, model, tokenised, method=word_method, settings=linking, progress=progress)
    facts = {
        "output": str(output),
        "pairs": len(pairs),
        "occurrences": [len(pairs.src), len(pairs.tgt)],
        "dim": pairs.src.dim,
        "left_out": len(text) - len(tokenised),
        **pairs.info,
    }
    if json:
        print_json(facts)
        return
    if facts["left_out"]:
        note(f"{facts['left_out']:,} lines are blank on one side and were left out")
    say(f"{len(pairs):,} pairs of occurrences x {pairs.src.dim} from {len(tokenised):,} sentences, written to {output}")
    say(f"try: isoglot evaluate cbli {shlex.quote(str(output))}")
