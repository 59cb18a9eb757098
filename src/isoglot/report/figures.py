"""The figures: a table of all results and a dot plot with their intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from isoglot.report.axes import Axis
from isoglot.report.page import Section
from isoglot.report.plots import plot
from isoglot.report.series import Series, look
from isoglot.report.tables import percent, table
from isoglot.small_tables import agreed
from isoglot.tasks import Result


def figures_section(results: Sequence[Result]) -> Section:
    """All results, one line each, or one for both denominators where they agree.

    Groups that share a protocol share a colour and a shape in the chart.
    """
    each = [
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
    rows = agreed(each, 0)
    drawn = results
    if all(str(row[0]).startswith("both") for row in rows):
        first = [one for one in results if one.protocol["denominator"] == "in-vocabulary"]
        drawn = [dataclasses.replace(one, protocol={**one.protocol, "denominator": "both"}) for one in first]
    head = ["counted over", "metric", "value, %", "95% interval", "n", "covered, %"]
    lead = (
        "In-vocabulary figures are shares of the test words that could be asked; full figures are shares of all "
        "test words, where a word without a vector is right only if it is its own translation. Intervals are "
        "bootstraps over test words."
    )
    return Section(
        "Figures",
        f'<div class="pair uneven">{_dots(drawn)}{table(head, rows, numeric=[2, 3, 4, 5])}</div>',
        lead if any("denominator" in result.protocol for result in results) else "",
    )


def _dots(results: Sequence[Result]) -> str:
    groups = list(dict.fromkeys(_group(result) for result in results))
    metrics = list(dict.fromkeys(result.metric for result in results))
    series = []
    for number, group in enumerate(groups):
        chosen = [result for result in results if _group(result) == group]
        # Groups are set apart by a little height, so that their intervals do not lie on each other.
        shift = min(0.2, 0.6 / len(groups)) * (number - (len(groups) - 1) / 2)
        series.append(
            Series(
                group,
                [100 * result.value for result in chosen],
                [metrics.index(result.metric) + shift for result in chosen],
                "points",
                look(number),
                [None if one.interval is None else [100 * end for end in one.interval] for one in chosen],
                [f"{one.metric}, {group}: {percent(one.value)}%, n = {one.n:,}" for one in chosen],
            )
        )
    spoken = "; ".join(f"{_group(result)} {result.metric} {percent(result.value)}%" for result in results)
    return plot(
        series,
        Axis("value, %", low=0, high=100),
        Axis(names=tuple(metrics)),
        label=f"Figures with intervals: {spoken}",
    )


def _group(result: Result) -> str:
    return result.denominator or result.task
