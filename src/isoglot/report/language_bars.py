"""Figures by language: bars above a table, and a page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import isoglot
from isoglot.report.alignment_report import Report, write_report
from isoglot.report.page import Section
from isoglot.report.plots import plot
from isoglot.report.tables import Table, escape, percent, table

_COLOURS = ("--line", "--src", "--tgt", "--good", "--bad", "--text")


def write_table_page(
    path: str | Path, title: str, subtitle: str, found: Table, *, lead: str, settings: Mapping[str, Any]
) -> None:
    """One HTML page: the table, and bars of its numbers where they are shares by language."""
    section = table_section(title, found, lead, bars=found[0][0] == "alignment")
    versions = {"isoglot": isoglot.__version__}
    write_report(path, Report(title, subtitle, settings=settings, versions=versions, sections=[section]))


def table_section(title: str, found: Table, lead: str = "", *, bars: bool = False) -> Section:
    """A section with the table, all columns but the first set as numbers; without rows its body is empty.

    Args:
        bars: draw them first, of a table with a row for each method, a column for each language, and the mean.
    """
    head, rows = found
    if not rows:
        return Section(title, "", lead)
    picture = language_bars(head[1:-1], rows) if bars else ""
    return Section(title, picture + table(head, rows, numeric=range(1, len(head))), lead)


def language_bars(languages: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Bars of P@1 by language; a row is a name, a share for each language ("-" for none) and their mean."""
    traces = []
    for row, colour in zip(rows, _COLOURS * len(rows), strict=False):
        values = [None if cell == "-" else 100 * float(cell) for cell in row[1 : 1 + len(languages)]]
        traces.append(
            {
                "type": "bar",
                "name": escape(row[0]),
                "x": list(languages),
                "y": values,
                "marker": {"color": colour},
                "hovertemplate": "%{y:.1f}%<extra>" + escape(row[0]) + "</extra>",
            }
        )
    layout = {
        "barmode": "group",
        "yaxis": {"title": {"text": "P@1, %"}, "range": [0, 100]},
        "legend": {"orientation": "h", "y": -0.2},
    }
    spoken = "; ".join(f"{row[0]}: mean {percent(float(row[-1]))}%" for row in rows if row[-1] != "-")
    return plot(traces, layout, label=f"Sentences found: {spoken}", height=420)
