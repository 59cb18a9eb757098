"""`isoglot reproduce density`: the simulation of Zhao & Eger 2022, with the paper's claims shown or not shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import DryRun, Json, OptionalRuns, Output, Quick, Settings
from isoglot.extras import require


@tabular
def density(
    context: typer.Context,
    output: Output = Path("density"),
    quick: Quick = False,
    runs: OptionalRuns = None,
    settings: Settings = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Number of processes; default: one per core.")
    ] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """The simulation of Zhao & Eger 2022: 14 alignments over isomorphism t, frequency k and distance eps.

    Finished alignments are kept in the output folder: a killed grid resumes where it was. A run is one simulated pair
    of languages of each kind: 10 of them, 2 with --quick.

    Settings for --set, lists separated by commas: t=1,5 (degrees of isomorphism), k=5,10,...,100 (occurrences of a
    word), eps=0,0.2,...,5 (distances of the test), epochs=100 (of training with pairs), matching=8 (epochs of training
    without pairs), steps=50 (of such an epoch), rounds=10 (of bootstrapping).

    Examples:

    \b
      isoglot reproduce density --dry-run
      isoglot reproduce density --quick -o density-quick
      isoglot reproduce density --runs 5 --set k=5,20,50,100 -o density
    """
    from isoglot.cli.console import finish, print_cost, progress_bars, say
    from isoglot.cli.outputs import claim
    from isoglot.cli.setting_inputs import read_fields
    from isoglot.reproductions.claims import claim_table
    from isoglot.reproductions.density.claims import findings
    from isoglot.reproductions.density.report import write_density_page
    from isoglot.reproductions.density.simulation import FULL, QUICK, Grid, GridCost, run_grid
    from isoglot.threads import available_threads

    own = read_fields(context, Grid, settings or [], "the grid")
    if runs is not None:
        own["runs"] = runs
    grid = dataclasses.replace(QUICK if quick else FULL, **own)
    count = available_threads(workers)
    cost = GridCost(len(list(grid.jobs())), grid.minutes() / count, count)
    if dry_run:
        print_cost(cost, json=json)
        return
    say(cost.sentence())
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
