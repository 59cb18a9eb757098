"""All methods in one table and one plot, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.report.page import Section
from isoglot.report.plots import line, plot, whiskers
from isoglot.report.tables import escape, percent, table
from isoglot.tasks import p_text


def comparison_section(title: str, rows: Sequence[Mapping[str, Any]], metric: str) -> Section:
    """`rows`: records of a comparison (`label`, `supervision`, `mean`, `values`, `interval`, `spread`, `deviation`,
    `seconds`, `megabytes`, `p_value`, `note`, `brief`), best first."""
    measured = [row for row in rows if row["mean"] is not None]
    head = ["method", "pairs", f"{metric}, %", "95% interval", "runs", "lowest to highest run", "SD"]
    head += ["seconds", "MB", "p against best", "note"]
    lines = [
        [
            row["label"],
            row["supervision"],
            "" if row["mean"] is None else percent(row["mean"]),
            "" if row["interval"] is None else f"{percent(row['interval'][0])} – {percent(row['interval'][1])}",
            len(row["values"]) or "",
            "" if row["spread"] is None else f"{percent(row['spread'][0])} – {percent(row['spread'][1])}",
            "" if row["deviation"] is None else percent(row["deviation"]),
            "" if row["seconds"] is None else f"{row['seconds']:.1f}",
            "" if row["megabytes"] is None else f"{row['megabytes']:,.0f}",
            "" if row["p_value"] is None else p_text(row["p_value"]).removeprefix("= "),
            row["brief"],
        ]
        for row in rows
    ]
    lead = (
        "Supervised methods saw the same pairs, the others none; all were asked the same words. The figure is the mean "
        "over runs with different seeds. Intervals are bootstraps of that mean over test words; what depends on "
        "the seed is told by the lowest and the highest run and the standard deviation between runs (SD). p is that of "
        "a paired test against the first line."
    )
    picture = _dots(measured, metric) if measured else ""
    notes = [f"<p>{escape(row['label'])}: {escape(row['note'])}.</p>" for row in rows if row["note"] != row["brief"]]
    return Section(title, picture + table(head, lines, numeric=list(range(2, 10))) + "".join(notes), lead)


def criteria_section(rows: Sequence[Mapping[str, Any]]) -> Section | None:
    """How the semantic criterion went while methods trained (`criteria` of each row); None where none did."""
    trained = [row for row in rows if len(row.get("criteria", ())) > 1]
    if not trained:
        return None
    traces = [
        line(row["label"], range(len(row["criteria"])), row["criteria"])
        | {"hovertemplate": "%{y:.4f}<extra>" + escape(row["label"]) + "</extra>"}
        for row in trained
    ]
    layout = {
        "xaxis": {"title": {"text": "epoch or round, 0 is the start"}, "zeroline": False},
        "yaxis": {"title": {"text": "semantic criterion"}},
        "legend": {"orientation": "h", "y": -0.25},
    }
    spoken = "; ".join(f"{row['label']} from {row['criteria'][0]:.3f} to {row['criteria'][-1]:.3f}" for row in trained)
    lead = (
        "The mean cosine of the most confident translations that a map induces itself: what iterative methods choose "
        "their epoch or round by. It needs no dictionary, and it can mislead: compare it with the table."
    )
    picture = plot(traces, layout, label=f"Semantic criterion: {spoken}", height=420)
    return Section("Criteria while training", picture, lead)


def _dots(rows: Sequence[Mapping[str, Any]], metric: str) -> str:
    values = [100 * row["mean"] for row in rows]
    bounds = [[100 * end for end in row["interval"] or (row["mean"], row["mean"])] for row in rows]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": values,
        "y": list(range(len(rows))),
        "text": [escape(f"{row['label']}: {percent(row['mean'])}%") for row in rows],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": 10,
            "color": ["--src" if row["supervision"] == "supervised" else "--tgt" for row in rows],
        },
        "error_x": whiskers(values, bounds, thickness=2, width=4),
        "showlegend": False,
    }
    layout = {
        "xaxis": {"title": {"text": f"{metric}, % (orange: without pairs)"}, "rangemode": "tozero", "zeroline": False},
        "yaxis": {
            "tickvals": list(range(len(rows))),
            "ticktext": [escape(row["label"]) for row in rows],
            "range": [len(rows) - 0.5, -0.5],
            "zeroline": False,
            "automargin": True,
        },
    }
    spoken = "; ".join(f"{row['label']} {percent(row['mean'])}%" for row in rows)
    return plot([trace], layout, label=f"Methods compared: {spoken}", height=110 + 28 * len(rows))
