"""`isoglot align en=... fr=... ja=... --pivot en`: more than two languages in one space."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.errors import ConfigError, locating

if TYPE_CHECKING:
    from isoglot.aligners import Aligner
    from isoglot.lexicons import Lexicon
    from isoglot.progress import Progress


def align_languages(
    arguments: Sequence[str],
    pivot: str,
    chosen: Aligner,
    lexicons: Sequence[str],
    output: Path,
    *,
    limit: int,
    fold_case: bool,
    seeds: int | None,
    held_out: int | None,
    score: str,
    json: bool,
) -> None:
    """Parse, run, print; see `isoglot.pipelines.pivot`."""
    from isoglot.assignments import split_languages
    from isoglot.cli.console import print_json, progress_bars, say, table, warn
    from isoglot.cli.inputs import check_different, open_space
    from isoglot.pipelines import align_to_pivot

    with locating("with --pivot a file"):
        files = split_languages(arguments)
    if pivot not in files:
        raise ConfigError(f"the pivot {pivot!r} is not among the languages", remedy=f"one of: {', '.join(files)}")
    check_different(list(files.values()))
    with progress_bars() as progress:
        pairs = _lexicons(list(files), pivot, lexicons, fold_case, progress)
        spaces = {
            name: open_space(file, lang=name, limit=limit, fold_case=fold_case, progress=progress)
            for name, file in files.items()
        }
        outcome = align_to_pivot(
            spaces, pivot, chosen, pairs, seeds=seeds, held_out=held_out, score=score, progress=progress
        )
        outcome.aligned.save(output, progress=progress)
    for warning in outcome.warnings:
        warn(warning)
    if json:
        print_json({"output": str(output), **outcome.aligned.info})
        return
    rows = []
    for (source, target), results in outcome.results.items():
        direct = outcome.direct.get((source, target))
        low, high = results[0].interval or (0.0, 0.0)
        rows.append(
            [
                f"{source} to {target}",
                f"{results[0].value:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{results[0].n:,}",
                "" if direct is None else f"{direct.value:.3f}",
                "" if direct is None else f"{direct.value - results[0].value:+.3f}",
            ]
        )
    head = ["pair", "P@1", "95% interval", "n", "aligned directly", "loss through pivot"]
    table(f"{chosen.method.name}, all languages in the space of {pivot}", head, rows, right=(1, 3, 4, 5))
    say(f"written to {output}; try: isoglot translate {output} --from {pivot} WORD")


def _lexicons(
    names: Sequence[str], pivot: str, given: Sequence[str], fold_case: bool, progress: Progress
) -> dict[tuple[str, str], Lexicon]:
    """Lexicons given as `en-fr=FILE`; for pairs without one, the catalogue's, where it has one."""
    from isoglot import catalogue
    from isoglot.cli.console import note
    from isoglot.cli.inputs import open_lexicon, open_lexicons

    found = open_lexicons(given, names, fold_case=fold_case, progress=progress)
    for a, b in itertools.combinations([pivot, *(name for name in names if name != pivot)], 2):
        name = f"lexicon/{a}-{b}"
        if (a, b) not in found and (b, a) not in found and catalogue.has_entry(name):
            note(f"using {name} of the catalogue for {a} and {b}")
            found[a, b] = open_lexicon(name, fold_case=fold_case, progress=progress, languages=(a, b))
    return found
