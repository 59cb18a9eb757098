"""Where the errors are: accuracy and coverage by how frequent the source word is."""

from __future__ import annotations

from typing import Any

import numpy as np

from isoglot.report.page import Section
from isoglot.report.plots import plot
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
    names = [row[0] for row in rows]
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": name,
            "x": names,
            "y": [round(100 * row[column], 2) for row in rows],
            "marker": {"color": colour},
            "hovertemplate": "rank %{x}: %{y:.1f}%<extra>%{fullData.name}</extra>",
        }
        for name, column, colour in ((result.metric, 3, "--src"), ("coverage", 2, "--tgt"))
    ]
    layout = {
        "barmode": "group",
        "xaxis": {"type": "category", "title": {"text": "frequency rank of the source word"}},
        "yaxis": {"title": {"text": "%"}, "range": [0, 100]},
    }
    cells = [[name, f"{n:,}", percent(covered), percent(right)] for name, n, covered, right in rows]
    note = f'<p class="more">{without:,} test words have no vector and stand in no band.</p>' if without else ""
    return Section(
        "By frequency",
        plot(traces, layout, label=f"{result.metric} and coverage by frequency of the source word", height=330)
        + table(
            ["frequency rank", "test words", "coverage, %", f"{result.metric} of covered, %"], cells, numeric=[1, 2, 3]
        )
        + note,
        "Coverage: test words with at least one translation in the target vocabulary. Accuracy: how many of these "
        "are right. Each band holds about as many test words.",
    )
