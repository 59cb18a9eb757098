"""The figures: a table of all results and a dot plot with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoglot.report.page import Section
from isoglot.report.plots import plot, whiskers
from isoglot.report.tables import escape, percent, table
from isoglot.tasks import Result

_COLOURS = ("--src", "--tgt", "--good", "--soft")
_SYMBOLS = ("circle", "diamond", "square", "triangle-up")


def figures_section(results: Sequence[Result]) -> Section:
    """All results, one line each; groups that share a protocol share a colour and a shape in the plot."""
    rows = [
        [
            _group(result),
            result.metric,
            percent(result.value),
            "" if result.interval is None else f"{percent(result.interval[0])} – {percent(result.interval[1])}",
            f"{result.n:,}",
            percent(result.coverage),
        ]
        for result in results
    ]
    head = ["counted over", "metric", "value, %", "95% interval", "n", "covered, %"]
    lead = (
        "In-vocabulary figures are shares of the test words that could be asked; full figures are shares of all "
        "test words, where a word without a vector is right only if it is its own translation. Intervals are "
        "bootstraps over test words."
    )
    return Section(
        "Figures",
        f'<div class="pair uneven">{_dots(results)}{table(head, rows, numeric=[2, 3, 4, 5])}</div>',
        lead if any("denominator" in result.protocol for result in results) else "",
    )


def _dots(results: Sequence[Result]) -> str:
    groups = list(dict.fromkeys(_group(result) for result in results))
    metrics = list(dict.fromkeys(result.metric for result in results))
    traces: list[dict[str, Any]] = []
    for number, group in enumerate(groups):
        chosen = [result for result in results if _group(result) == group]
        values = [100 * result.value for result in chosen]
        # Groups are set apart by a little height, so that their error bars do not lie on each other.
        shift = 0.14 * (number - (len(groups) - 1) / 2)
        bounds = [[100 * end for end in result.interval or (result.value, result.value)] for result in chosen]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": escape(group),
                "x": values,
                "y": [metrics.index(result.metric) + shift for result in chosen],
                "text": [escape(f"{result.metric}: {percent(result.value)}%, n = {result.n:,}") for result in chosen],
                "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
                "marker": {
                    "color": _COLOURS[number % len(_COLOURS)],
                    "symbol": _SYMBOLS[number % len(_SYMBOLS)],
                    "size": 10,
                },
                "error_x": whiskers(values, bounds, thickness=2, width=4),
            }
        )
    layout = {
        "xaxis": {"title": {"text": "%"}, "range": [0, 100], "zeroline": False},
        "yaxis": {
            "tickvals": list(range(len(metrics))),
            "ticktext": [escape(metric) for metric in metrics],
            "range": [len(metrics) - 0.5, -0.5],
            "zeroline": False,
        },
    }
    spoken = "; ".join(f"{_group(result)} {result.metric} {percent(result.value)}%" for result in results)
    return plot(traces, layout, label=f"Figures with intervals: {spoken}", height=120 + 52 * len(metrics))


def _group(result: Result) -> str:
    return result.denominator or result.task
