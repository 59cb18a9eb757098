"""Figures by language: bars above a table, and a page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import isoglot
from isoglot.report.alignment_report import Report, write_report
from isoglot.report.axes import Axis
from isoglot.report.page import Section
from isoglot.report.plots import percent_tips, plot
from isoglot.report.series import Series, look
from isoglot.report.tables import Table, percent, table


def write_table_page(
    path: str | Path,
    title: str,
    subtitle: str,
    found: Table,
    *,
    lead: str,
    settings: Mapping[str, Any],
    more: Mapping[str, Table] = {},
) -> None:
    """One HTML page: the table, bars of its numbers where they are shares by language, and more tables by title."""
    bars = found[0][0] == "alignment"
    sections = [table_section(title, found, lead, bars=bars)]
    sections += [table_section(name, other, bars=bars) for name, other in more.items()]
    versions = {"isoglot": isoglot.__version__}
    write_report(path, Report(title, subtitle, settings=settings, versions=versions, sections=sections))


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
    series = []
    for number, row in enumerate(rows):
        values = [None if cell == "-" else 100 * float(cell) for cell in row[1 : 1 + len(languages)]]
        tips = [f"{lang}: {told}" for lang, told in zip(languages, percent_tips(values, f"{row[0]} "), strict=True)]
        series.append(Series(row[0], range(len(languages)), values, "bars", look(number), tips=tips))
    spoken = "; ".join(f"{row[0]}: mean {percent(float(row[-1]))}%" for row in rows if row[-1] != "-")
    return plot(
        series,
        Axis("language", names=tuple(languages)),
        Axis("P@1, %", low=0, high=100),
        label=f"Sentences found: {spoken}",
        height=360,
    )
