"""The page of the density simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import isoglot
from isoglot.aligners import aligner
from isoglot.report import Report, Section, table, write_report
from isoglot.reproductions.claims import claim_table
from isoglot.reproductions.density.claims import PAPER, Findings
from isoglot.reproductions.density.pictures import (
    curves_section,
    languages_section,
    overlaps_section,
    suite_section,
)
from isoglot.reproductions.density.simulation import CURVES, SUITE, SUPERVISED, Grid, onto_target_side
from isoglot.simulate import simulate_occurrences

#: Degrees of isomorphism that are drawn, and words of those pictures.
DRAWN, DRAWN_WORDS = (1, 2, 5, 10), 10


def write_density_page(path: str | Path, found: Findings) -> None:
    """One HTML page: claims, all alignments, curves, pictures."""
    grid = found.grid
    shown = sum(claim.verdict == "shown" for claim in found.claims)
    tested = sum(claim.verdict != "not tested" for claim in found.claims)
    lead = "Claims of the paper about its simulation, and what came out here. Intervals are over simulated pairs."
    sections = [
        Section("Claims", table(*claim_table(found.claims)), lead),
        suite_section(found.bars, PAPER, found.place),
        curves_section(found.over_eps, found.over_k, found.correlations, grid.eps, sorted(grid.k)),
        overlaps_section(_overlaps(found)),
        languages_section([_language(grid, t) for t in DRAWN]),
    ]
    write_report(
        path,
        Report(
            "Density alignment in simulation",
            f"Zhao & Eger 2022 run again: {shown} of {tested} claims shown, {grid.runs} simulated pairs of each kind",
            settings={
                "pairs of languages of each kind": grid.runs,
                "how languages differ": grid.reading,
                "shared rotation": f"at most {grid.bound:g} degrees" if grid.bound else "any, or a reflection",
                "occurrences k": ", ".join(map(str, sorted(grid.k))),
                "distances eps": ", ".join(f"{eps:g}" for eps in grid.eps),
                "training": f"{grid.epochs} epochs with pairs, {grid.matching} without, {grid.rounds} rounds",
                "time of all alignments": f"{found.seconds / 60:.0f} minutes of one core",
            },
            versions={"isoglot": isoglot.__version__},
            sections=sections,
        ),
    )


def _language(grid: Grid, t: int) -> tuple[str, Any, Any]:
    pair = simulate_occurrences(30, t, words=DRAWN_WORDS, seed=1, reading=grid.reading, bound=grid.bound)
    return f"t = {t}", pair.train.src.vectors, pair.train.tgt.vectors


def _overlaps(found: Findings) -> list[tuple[str, Any, Any]]:
    """The quick ones among the alignments, fitted again for the picture; and both ends for comparison."""
    pair = found.grid.pair(30, max(found.grid.t), 0)
    pictures = [("before", pair.test.src.vectors, pair.test.tgt.vectors)]
    for name in CURVES:
        settings = {**found.grid.settings(name), "seed": 0}
        method = aligner(SUITE[name][0], **settings)
        known = pair.train.pairs if name in SUPERVISED else None
        alignment = method.fit(pair.train.src, pair.train.tgt, known)
        mean = found.bars[name, max(found.grid.t)][0]
        mapped = onto_target_side(alignment, pair.test.src.vectors)
        pictures.append((f"{name} ({100 * mean:.1f}% over all runs)", mapped, pair.test.tgt.vectors))
    return pictures
