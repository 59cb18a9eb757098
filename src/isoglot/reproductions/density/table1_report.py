"""The page of the tables on encoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import isoglot
from isoglot.report import Report, Section, escape, percent, plot, table, write_report

__all__ = ["evaluation_rows", "language_bars", "retrieval_rows", "word_alignment_rows", "write_tables_page"]

Record = Mapping[str, Any]
Table = tuple[list[str], list[list[str]]]
_COLOURS = ("--line", "--src", "--tgt", "--good", "--bad", "--text")


def retrieval_rows(records: Sequence[Record], score: str = "csls") -> Table:
    """Head and rows of sentence retrieval: a row a variant, a column a language, and the mean."""
    figure = f"P@1 {score}"
    languages = list(dict.fromkeys(record["language"] for record in records))
    variants = list(dict.fromkeys(record["variant"] for record in records))
    found = {(record["variant"], record["language"]): record["after"][figure]["value"] for record in records}
    # The encoder as it comes, at its last layer: the same whatever is learned at that layer.
    for record in reversed(records):
        found["as it comes", record["language"]] = record["before"][figure]["value"]
    rows = []
    for variant in ("as it comes", *variants):
        values = [found.get((variant, lang)) for lang in languages]
        known = [value for value in values if value is not None]
        cells = ["-" if value is None else f"{value:.3f}" for value in values]
        rows.append([variant, *cells, f"{sum(known) / len(known):.3f}"])
    return ["alignment", *languages, "mean"], rows


def word_alignment_rows(records: Sequence[Record]) -> Table:
    """Head and rows of word alignment: F1 and AER of each method on each set."""
    sets = list(dict.fromkeys(record["set"] for record in records))
    found = {(record["kind"], record["method"], record["set"]): record for record in records}
    rows = []
    for kind, method in dict.fromkeys((record["kind"], record["method"]) for record in records):
        row = [method, kind]
        for name in sets:
            record = found.get((kind, method, name))
            if record is None or "missing" in record:
                row += ["-", "-"]
            else:
                row += [f"{record['F1']['value']:.3f}", f"{record['AER']['value']:.3f}"]
        rows.append(row)
    return ["method", "vectors", *(f"{name} {metric}" for name in sets for metric in ("F1", "AER"))], rows


def evaluation_rows(records: Sequence[Record]) -> Table:
    """Head and rows of reference-free evaluation: Pearson and Kendall before and after."""
    rows = []
    for record in records:
        low, high = record["Pearson"]["interval"]
        rows.append(
            [
                record["pair"],
                str(record["ngram"]),
                "after" if record["remapped"] else "before",
                f"{record['Pearson']['value']:.3f} ({low:.3f} to {high:.3f})",
                f"{record['Kendall']['value']:.3f}",
            ]
        )
    return ["pair", "n-gram", "aligning", "Pearson (95%)", "Kendall"], rows


def write_tables_page(
    path: str | Path, title: str, subtitle: str, found: Table, *, lead: str, settings: Mapping[str, Any]
) -> None:
    """One HTML page: the table, and bars of its numbers where they are shares by language."""
    head, rows = found
    body = table(head, rows, numeric=range(1, len(head)))
    if head[0] == "alignment":
        body = language_bars(head[1:-1], rows) + body
    write_report(
        path,
        Report(
            title,
            subtitle,
            settings=settings,
            versions={"isoglot": isoglot.__version__},
            sections=[Section(title, body, lead)],
        ),
    )


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
