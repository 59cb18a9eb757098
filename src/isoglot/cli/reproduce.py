"""`isoglot reproduce density`: the simulation of Zhao & Eger 2022, with the paper's claims shown or not shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.options import Json
from isoglot.extras import require


def density(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for finished runs, JSON and page.")] = Path(
        "density"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A small grid with short trainings: minutes.")] = False,
    runs: Annotated[int | None, typer.Option("--runs", min=1, help="Simulated pairs of each kind.")] = None,
    k: Annotated[
        str | None, typer.Option("--k", help="Occurrences of a word, separated by commas, e.g. 5,20,100.")
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; default: one a core.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would run and how long it takes.")] = False,
    json: Json = False,
) -> None:
    """The simulation of Zhao & Eger 2022: 14 alignments over isomorphism t, frequency k and distance eps.

    Finished alignments are kept in the output folder: a killed grid resumes where it was.

    Examples:

    \b
      isoglot reproduce density --quick -o density-quick
      isoglot reproduce density --dry-run
      isoglot reproduce density --runs 5 --k 5,20,50,100 -o density
    """
    from isoglot.cli.console import finish, print_json, progress_bars, say
    from isoglot.cli.outputs import claim
    from isoglot.reproductions.claims import claim_table
    from isoglot.reproductions.density.claims import findings
    from isoglot.reproductions.density.report import write_density_page
    from isoglot.reproductions.density.simulation import FULL, QUICK, run_grid
    from isoglot.threads import available_threads

    grid = QUICK if quick else FULL
    if runs is not None:
        grid = dataclasses.replace(grid, runs=runs)
    if k is not None:
        grid = dataclasses.replace(grid, k=_numbers(k))
    count = available_threads(workers)
    say(f"{len(list(grid.jobs())):,} alignments, about {grid.minutes() / count:.0f} minutes with {count} processes")
    if dry_run:
        if json:
            print_json({"alignments": len(list(grid.jobs())), "minutes": grid.minutes() / count})
        return
    require("flows", "the density methods")
    claim(output)
    with progress_bars() as progress:
        outcomes = run_grid(grid, output, workers=count, progress=progress)
        progress("drawing", 0, 1)
        found = findings(grid, outcomes)
        write_density_page(output / "report.html", found)
        progress("drawing", 1, 1)
    head, rows = claim_table(found.claims)
    title = "Zhao & Eger 2022, simulation"
    finish(output, "density", found.record(), json=json, title=title, head=head, rows=rows)


def _numbers(text: str) -> tuple[int, ...]:
    from isoglot.errors import ConfigError

    try:
        numbers = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1:
        raise ConfigError(f"must be whole numbers above 0, separated by commas, not {text!r}", where="--k")
    return numbers
