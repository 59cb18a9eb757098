"""A comparison as files: for spreadsheets (CSV), papers (LaTeX, SVG), and people (a page)."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from isoglot.files import atomic_path
from isoglot.pipelines.compare_pairs import Comparisons
from isoglot.pipelines.comparison import Comparison, Row
from isoglot.report import (
    Report,
    Section,
    comparison_picture,
    comparison_section,
    criteria_section,
    escape,
    table,
    write_picture,
    write_report,
)
from isoglot.small_tables import latex_lines

_HEAD = [
    "source", "target", "method", "supervision", "metric", "mean", "low", "high", "runs", "deviation", "lowest",
    "highest", "values", "seconds", "megabytes", "p", "n", "note",
]  # fmt: skip


def write_comparison(outcome: Comparison | Comparisons, folder: str | Path) -> list[Path]:
    """Write comparison.csv (one line for each method and pair), .tex, .svg and report.html; returns the files."""
    folder = Path(folder)
    several = outcome if isinstance(outcome, Comparisons) else Comparisons({outcome.languages: outcome})
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / name for name in ("comparison.csv", "comparison.tex", "comparison.svg", "report.html")]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    writer.writerows(_cells(one, row) for one in several for row in one)
    head, rows, numeric = outcome.table()
    for file, content in ((files[0], text.getvalue()), (files[1], _latex(outcome.title, head, rows, numeric))):
        with atomic_path(file) as temporary:
            temporary.write_text(content, encoding="utf-8", newline="\n")
    metric = next(iter(several)).metric
    figures = {name: one.record()["rows"] for name, one in several.named().items()}
    write_picture(files[2], comparison_picture(figures, metric, outcome.title), outcome.title)
    _write_page(outcome, several, files[3])
    return files


def _cells(one: Comparison, row: Row) -> list[object]:
    low, high = row.interval or ("", "")
    lowest, highest = row.spread or ("", "")
    known = [one.metric, row.mean, low, high, len(row.values), row.deviation, lowest, highest]
    values = ";".join(f"{value:.6g}" for value in row.values)
    told = [*known, values, row.seconds, row.megabytes, row.p_value, one.n, row.note]
    shown = ["" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else cell for cell in told]
    return [*one.languages, row.label, row.supervision, *shown]


def _latex(title: str, head: list[str], rows: list[list[str]], numeric: list[int]) -> str:
    return "".join(f"{line}\n" for line in latex_lines(title, head, rows, numeric))


def _write_page(outcome: Comparison | Comparisons, several: Comparisons, path: Path) -> None:
    sections = []
    if isinstance(outcome, Comparisons):
        head, rows, numeric = outcome.table()
        sections.append(Section("All pairs", table(head, rows, numeric=numeric)))
    for name, one in several.named().items():
        rows_of = one.record()["rows"]
        suffix = f", {name}" if len(several) > 1 else ""
        sections.append(comparison_section(f"Methods compared{suffix}", rows_of, one.metric))
        criteria = criteria_section(rows_of)
        if criteria is not None:
            sections.append(Section(escape(f"{criteria.title}{suffix}"), criteria.body, criteria.lead))
    languages = ", ".join(" to ".join(name or "?" for name in one.languages) for one in several)
    counts = ", ".join(f"{one.n:,}" for one in several)
    write_report(path, Report(f"Methods compared: {languages}", f"{counts} test words.", sections=sections))
