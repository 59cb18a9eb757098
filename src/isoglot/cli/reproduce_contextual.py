"""`isoglot reproduce contextual`, `word-alignment` and `rfeval`: an encoder's figures, each table by one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.encoder_inputs import check_encoder
from isoglot.cli.options import Base, DryRun, EncoderName, HeldOut, Json, Languages, Layer, Output, Pairs, Seed, Tatoeba

if TYPE_CHECKING:
    from isoglot.report import Table

_DEFAULT = "encoder/use-multilingual"


@tabular
def contextual(
    encoder: EncoderName = _DEFAULT,
    output: Output = Path("contextual"),
    languages: Languages = "de,es,fr,ru,cs,tr",
    pairs: Pairs = 4000,
    held_out: HeldOut = 1000,
    tatoeba: Tatoeba = None,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Sentence retrieval with an encoder before and after alignment, on the catalogue's parallel text.

    Each of the languages is aligned with English, on --pairs lines of a program's messages, and tested on --held-out
    others, on as many paragraphs of LibreOffice's help, and on Tatoeba's sentences if --tatoeba says where they are.

    Examples:

    \b
      isoglot reproduce contextual --dry-run
      isoglot reproduce contextual -o contextual
      isoglot reproduce contextual --languages de --pairs 1000 --held-out 200 -o quick
    """
    from isoglot.cli.console import print_json, print_line, progress_bars, say
    from isoglot.cli.inputs import split_commas
    from isoglot.cli.outputs import claim
    from isoglot.errors import ConfigError
    from isoglot.reproductions.density.table1 import VARIANTS, retrieval_table
    from isoglot.reproductions.density.table1_report import retrieval_rows
    from isoglot.reproductions.density.texts import help_text, tatoeba_text

    if not held_out:
        raise ConfigError("--held-out 0 leaves nothing to test on", remedy="give a number above 0")
    chosen = split_commas(languages)
    # Measured with MiniLM: about 400 sentences a second on 2 cores, each side once for words and once for sentences.
    minutes = len(chosen) * (pairs + held_out) * 2 * 3 / 400 / 60
    cost = f"{len(chosen) * len(VARIANTS)} alignments; a model like MiniLM takes about {minutes:.0f} minutes on 2 cores"
    if dry_run:
        if json:
            print_json({"alignments": len(chosen) * len(VARIANTS), "minutes": minutes})
        else:
            print_line(cost)
        return
    say(cost)
    check_encoder(encoder)
    claim(output)
    kinds: dict[str, Any] = {"help": lambda lang: help_text(lang, held_out, seed, say)}
    if tatoeba is not None:
        kinds["Tatoeba"] = lambda lang: tatoeba_text(tatoeba, lang, say)
    with progress_bars() as progress:
        records = retrieval_table(
            encoder,
            output,
            languages=chosen,
            train=pairs,
            test=held_out,
            seed=seed,
            elsewhere=kinds,
            progress=progress,
        )
    lead = (
        "P@1 of finding a sentence's translation among those of the test, CSLS, mean of both directions. "
        "Alignments are learned on other lines."
    )
    what = f"{encoder}: {pairs:,} lines to learn from, {held_out:,} to test"
    title = "Sentences found across languages"
    more = {f"{title}: {kind}": retrieval_rows(records, kind=kind) for kind in kinds}
    more = {name: (head, rows) for name, (head, rows) in more.items() if len(head) > 2}
    _finish(output, "contextual", title, what, records, retrieval_rows(records), lead, json, more)


@tabular
def word_alignment(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder of NAME.src-tgt (src ||| tgt) and NAME.gold (Pharaoh), e.g. enfr.gold."
        ),
    ],
    base: Base,
    encoder: EncoderName = _DEFAULT,
    layer: Layer = "-1",
    align: Annotated[bool, typer.Option("--align/--no-align", help="Measure again after aligning the encoder.")] = True,
    output: Output = Path("word-alignment"),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Word alignment by every method against gold links, beside statistical models of the same sentences.

    Examples:

    \b
      isoglot reproduce word-alignment gold --base 1
      isoglot reproduce word-alignment gold --base 1 --layer 3 --no-align -o layer-3
    """
    from isoglot import catalogue
    from isoglot.cli.console import progress_bars
    from isoglot.cli.outputs import claim
    from isoglot.errors import InputError
    from isoglot.reproductions.density.table1 import TRAIN, shuffled, word_alignment_table
    from isoglot.reproductions.density.table1_report import word_alignment_rows
    from isoglot.text import ParallelText
    from isoglot.wordalign import read_links

    check_encoder(encoder)
    claim(output)
    found = sorted(folder.glob("*.src-tgt"))
    if not found:
        raise InputError(
            "no file NAME.src-tgt here", where=str(folder), remedy="name a folder with texts and gold links"
        )
    sets = {}
    texts = {}
    with progress_bars() as progress:
        for path in found:
            name = path.stem
            src, tgt = name[:2], name[-2:]
            sets[name] = (ParallelText.load_joined(path, src, tgt), read_links(path.with_suffix(".gold"), base=base))
            if align:
                texts[name] = shuffled(catalogue.load_parallel(src, tgt, progress=progress), TRAIN, seed)
        records = word_alignment_table(encoder, sets, output, layer=layer, aligned=texts, seed=seed, progress=progress)
    lead = "Links found against gold links: F1 (higher is better) and alignment error rate (lower is better)."
    sizes = ", ".join(f"{name} {len(text):,}" for name, (text, _) in sets.items())
    what = f"{encoder}, layer {layer}; sentences: {sizes}"
    _finish(output, "word-alignment", "Word alignment", what, records, word_alignment_rows(records), lead, json)


@tabular
def rfeval(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a WMT metrics task (DA-seglevel.csv, ...).")],
    encoder: EncoderName = _DEFAULT,
    layer: Layer = "-1",
    languages: Languages = "cs-en,de-en,fi-en",
    output: Output = Path("rfeval"),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Reference-free evaluation of translations, before and after aligning the encoder on the catalogue's text.

    Examples:

    \b
      isoglot reproduce rfeval wmt17
      isoglot reproduce rfeval wmt17 --languages de-en --layer 3 -o layer-3
    """
    from isoglot.cli.console import progress_bars
    from isoglot.cli.inputs import split_commas
    from isoglot.cli.outputs import claim
    from isoglot.reproductions.density.table1 import evaluation_table
    from isoglot.reproductions.density.table1_report import evaluation_rows

    check_encoder(encoder)
    claim(output)
    with progress_bars() as progress:
        records = evaluation_table(
            encoder, folder, output, pairs=split_commas(languages), layer=layer, seed=seed, progress=progress
        )
    lead = "Correlation of word mover's scores between source and translation with people's scores, over segments."
    what = f"{encoder}, layer {layer}"
    _finish(output, "rfeval", "Reference-free evaluation", what, records, evaluation_rows(records), lead, json)


def _finish(
    output: Path,
    name: str,
    title: str,
    subtitle: str,
    records: Sequence[Any],
    found: Table,
    lead: str,
    json: bool,
    more: Mapping[str, Table] = {},
) -> None:
    """JSON, page and tables of what was measured."""
    from isoglot.cli.console import finish, table
    from isoglot.report import write_table_page
    from isoglot.resumable import to_plain

    seconds = sum(record.seconds for record in records)
    settings = {"rows": len(records), "time of all rows": f"{seconds / 60:.1f} minutes"}
    write_table_page(output / "report.html", title, subtitle, found, lead=lead, settings=settings, more=more)
    document = {"title": title, "what": subtitle, "rows": to_plain(records)}
    head, rows = found
    finish(output, name, document, json=json, title=title, head=head, rows=rows, right=range(1, len(head)))
    for other, (head, rows) in more.items() if not json else ():
        table(other, head, rows, right=range(1, len(head)))
