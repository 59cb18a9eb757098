"""`isoglot reproduce density`: Zhao & Eger 2022, in simulation and on a real encoder, claims shown or not shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.given import refuse
from isoglot.cli.options import (
    DryRun,
    Json,
    Layer,
    OptionalBase,
    OptionalEncoder,
    OptionalLanguages,
    OptionalRuns,
    Output,
    Quick,
    Seed,
    Settings,
    Tatoeba,
)
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
    real: Annotated[
        bool, typer.Option("--real", help="Run Table 1, Table 2 and Figure 4 on a real encoder instead.")
    ] = False,
    encoder: OptionalEncoder = None,
    languages: OptionalLanguages = None,
    layer: Layer = "-1",
    tatoeba: Tatoeba = None,
    wmt: Annotated[
        Path | None,
        typer.Option("--wmt", metavar="DIR", help="Folder of a WMT metrics task: judge its translations too."),
    ] = None,
    gold_links: Annotated[
        Path | None,
        typer.Option("--gold-links", metavar="DIR", help="Folder of enfr.src-tgt, enfr.gold, ...: link its words too."),
    ] = None,
    base: OptionalBase = None,
    infoxlm: Annotated[
        str | None, typer.Option("--infoxlm", metavar="ENCODER", help="The encoder of the row InfoXLM, if you have it.")
    ] = None,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Zhao & Eger 2022: the simulation, or with --real the 16 alignments of Table 1 on the tasks of a real encoder.

    Finished alignments are kept in the output folder: a killed grid resumes where it was. A run is one simulated pair
    of languages of each kind: 10 of them, 2 with --quick.

    Settings for --set, lists separated by commas: t=1,5 (degrees of isomorphism), k=5,10,...,100 (occurrences of a
    word), eps=0,0.2,...,5 (distances of the test), epochs=100 (of training with pairs), matching=8 (epochs of training
    without pairs), steps=50 (of such an epoch), rounds=10 (of bootstrapping), reading=groups (or affine, smooth: how
    languages differ), bound=0 (degrees that their shared rotation may have; 0: any rotation or reflection).

    With --real words of the catalogue's parallel text teach, and others of it are CBLI's test; --tatoeba, --wmt and
    --gold-links bring the other three tasks. Settings are then sentences=20000 (lines of each language), points=20000
    (occurrences), held_out=1000 (lines for CBLI), cbli=10000 (pairs it asks for), epochs=20, few=5 (the paper's rows of
    5 epochs), looked=1,2,3,5,8,13,20 (when tasks are measured), rounds=3, steps=100, joint_align=0 (lines of each
    language to fine-tune the encoder on for the row Joint-Align), and METHOD.KEY=VALUE for those of a method.

    Examples:

    \b
      isoglot reproduce density --dry-run
      isoglot reproduce density --quick -o density-quick
      isoglot reproduce density --runs 5 --set k=5,20,50,100 reading=smooth -o density
      isoglot reproduce density --real --quick -o real-quick
      isoglot reproduce density --real --languages cs,fr --tatoeba DIR --wmt DIR --gold-links DIR --base 1 -o real
    """
    only_real = ("encoder", "languages", "layer", "tatoeba", "wmt", "gold_links", "base", "infoxlm", "seed")
    if real:
        from isoglot.cli.reproduce_real import run_real_part

        refuse(context, "with --real, which runs one alignment after the other", "runs", "workers")
        run_real_part(
            context, output, quick=quick, dry_run=dry_run, json=json, settings=settings or [],
            **{name: context.params[name] for name in only_real},
        )  # fmt: skip
        return
    refuse(context, "in simulation", *only_real, remedy="give --real too")
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
