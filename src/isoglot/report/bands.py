"""Where the errors are: accuracy and coverage by how frequent the source word is."""

from __future__ import annotations

from typing import Any

import numpy as np

from isoglot.report.axes import Axis
from isoglot.report.page import Section
from isoglot.report.plots import percent_tips, plot
from isoglot.report.series import Series, look
from isoglot.report.tables import percent, table
from isoglot.tasks import Result


def bands_section(result: Result, *, bands: int = 6) -> Section:
    """Bands of about equally many test words, by frequency rank. Takes a `bli` result over the full test set."""
    ranked = sorted(
        (item for item in result.per_item if item["frequency_rank"] is not None),
        key=lambda item: int(item["frequency_rank"]),
    )
    without = len(result.per_item) - len(ranked)
    rows: list[list[Any]] = []
    for chosen in np.array_split(np.arange(len(ranked)), max(1, min(bands, len(ranked)))):
        band = [ranked[i] for i in chosen]
        if not band:
            continue
        asked = [item for item in band if item["status"] == "asked"]
        hits = sum(bool(item["hit"]) for item in asked)
        first, last = (int(band[i]["frequency_rank"]) + 1 for i in (0, -1))
        rows.append(
            [
                f"{first:,} – {last:,}" if first != last else f"{first:,}",
                len(band),
                len(asked) / len(band),
                hits / len(asked) if asked else 0.0,
            ]
        )
    names = tuple(row[0] for row in rows)
    series = []
    for number, (name, column) in enumerate(((f"{result.metric} of covered words", 3), ("coverage", 2))):
        values = [100 * row[column] for row in rows]
        tips = [f"rank {band}: {told} ({name})" for band, told in zip(names, percent_tips(values), strict=True)]
        series.append(Series(name, range(len(rows)), values, "bars", look(number), tips=tips))
    chart = plot(
        series,
        Axis("frequency rank of the source word (1 is the most frequent)", names=names),
        Axis("share of test words, %", low=0, high=100),
        label=f"{result.metric} and coverage by frequency of the source word",
        height=300,
    )
    cells = [[name, f"{n:,}", percent(covered), percent(right)] for name, n, covered, right in rows]
    note = f'<p class="more">{without:,} test words have no vector and stand in no band.</p>' if without else ""
    return Section(
        "By frequency",
        (chart if rows else "")
        + table(
            ["frequency rank", "test words", "coverage, %", f"{result.metric} of covered, %"], cells, numeric=[1, 2, 3]
        )
        + note,
        "Coverage: test words with at least one translation in the target vocabulary. Accuracy: how many of these "
        "are right. Each band holds about as many test words.",
    )
