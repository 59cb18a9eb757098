"""`isoglot audit`, which is also `isoglot encoder audit`: how cross-lingual is an encoder, layer by layer?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.cli.commands import tabular
from isoglot.cli.encoder_inputs import check_encoder
from isoglot.cli.options import (
    Cache,
    EncoderName,
    Gold,
    Json,
    Limit,
    OptionalBase,
    Output,
    Parallel,
    Seed,
    Segmenters,
    Words,
)

if TYPE_CHECKING:
    from isoglot.pipelines import Audit, Figure


@tabular
def audit(
    texts: Parallel,
    encoder: EncoderName,
    limit: Limit = 1000,
    words: Words = 5000,
    segmenter: Segmenters = None,
    gold: Gold = None,
    base: OptionalBase = None,
    output: Output = Path("audit"),
    seed: Seed = 0,
    cache: Cache = None,
    json: Json = False,
) -> None:
    """Measure how cross-lingual an encoder is, layer by layer, which layer is best, and what aligning would bring.

    Measures sentence retrieval as it is and after a rotation, word matching, how well a linear probe tells the
    languages apart, anisotropy, hubness and isomorphism; with gold word links, how well vectors find these. Longer
    texts are sampled at random. The output folder gets audit.json and report.html, a page with the curves.

    `isoglot audit` and `isoglot encoder audit` are the same command.

    Examples:

    \b
      isoglot audit news.en.txt news.de.txt --encoder bert-base-multilingual-cased
      isoglot audit parallel/en-de -e encoder/use-multilingual --limit 300 -o use-en-de
      isoglot encoder audit en=gold.e de=gold.d -e ./labse --segmenter spaces --gold gold.links --base 1 --json
    """
    from isoglot.cli.console import note, print_json, progress_bars, say
    from isoglot.cli.encoder_inputs import open_parallel
    from isoglot.cli.inputs import join_segmenters
    from isoglot.cli.outputs import claim, write_json
    from isoglot.encoders import Encoder
    from isoglot.errors import ConfigError
    from isoglot.pipelines import audit_encoder, expected_megabytes, write_audit_page
    from isoglot.text import segmenter_name
    from isoglot.wordalign import read_links

    if (gold is None) != (base is None):
        raise ConfigError(
            "--gold and --base go together", remedy="--base says what the file calls a first word: 0 or 1"
        )
    check_encoder(encoder)
    claim(output)
    with progress_bars() as progress:
        # What can go wrong is found before the encoder is loaded.
        text = open_parallel(texts, progress)
        names = join_segmenters(segmenter, "icu", [text.src_lang, text.tgt_lang])
        split = segmenter_name(names, text.src_lang), segmenter_name(names, text.tgt_lang)
        links = None if gold is None or base is None else read_links(gold, base=base)
        model = Encoder(encoder, layer="all", cache=cache, progress=progress)
        needed = expected_megabytes(
            len(model.layers.numbers), model.dim // len(model.layers.numbers), sentences=limit, words=words
        )
        say(f"{len(model.layers.numbers)} layers; vectors take at most about {needed:,.0f} MB beside the model")
        found = audit_encoder(
            model, text, links=links, links_name=str(gold), segmenter=split, limit=limit, words=words, seed=seed,
            progress=progress,
        )  # fmt: skip
    for line in found.notes:
        note(line)
    write_audit_page(output / "report.html", found)
    record = found.record()
    write_json(output / "audit.json", record)
    if json:
        print_json(record)
        return
    _print(found)
    say(f"written: {output / 'audit.json'}, {output / 'report.html'}")
    layer = f"--layer {found.best_aligned.layer}"
    say(f"try: isoglot encoder align {shlex.join(texts)} -e {shlex.quote(encoder)} {layer} -o aligned")


def _print(found: Audit) -> None:
    from isoglot.cli import display
    from isoglot.cli.console import print_line, say, table
    from isoglot.cli.wording import in_options

    retrieval, others = [], []
    for one in found.layers:
        marks = [("as is", found.best_as_is), ("aligned", found.best_aligned)]
        p1, half, aligned = (kind["csls"].mean for kind in (one.as_is, one.halved, one.aligned))
        retrieval.append(
            [
                str(one.layer), f"{one.as_is['cosine'].mean.value:.3f}", _about(p1), f"{half.value:.3f}",
                _about(aligned), ", ".join(name for name, best in marks if best.layer == one.layer),
            ]
        )  # fmt: skip
        others.append(
            [
                str(one.layer), _value(one.word_match), f"{one.probe.value:.3f}",
                "-" if one.anisotropy is None else f"{one.anisotropy[2]:.3f}",
                f"{one.skewness:.2f}", f"{one.relational_similarity:.3f}",
            ]
        )  # fmt: skip
        if found.settings["word_links"]:
            others[-1].append(_value(None if one.word_links is None else one.word_links["F1"]))
    head = ["layer", "cosine", "CSLS", "CSLS, half", "aligned", "best"]
    more = ["layer", "words", "probe", "cos across", "hubs", "relational"]
    more += ["links F1"] if found.settings["word_links"] else []
    languages = " to ".join(lang or "?" for lang in found.languages)
    title = f"{found.encoder}, {languages}: {found.verdict} (P@1 among {found.sentences:,}; aligned among half)"
    if display.tables == "text":
        table(title, head, retrieval, right=range(5))
        table("words matched, languages told apart, geometry", more, others, right=range(len(more)))
    else:
        rows = [[*one, *other[1:]] for one, other in zip(retrieval, others, strict=True)]
        table(title, [*head, *more[1:]], rows, right=[i for i in range(len(rows[0])) if i != 5])
    for sentence in found.sentences_of_verdict():
        (print_line if display.tables == "text" else say)(in_options(sentence))


def _value(figure: Figure | None) -> str:
    return "-" if figure is None else f"{figure.value:.3f}"


def _about(figure: Figure) -> str:
    """Value and half of its interval; the JSON has both ends."""
    low, high = figure.interval or (figure.value, figure.value)
    return f"{figure.value:.3f} ± {(high - low) / 2:.3f}"
