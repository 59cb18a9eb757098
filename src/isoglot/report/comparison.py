"""All methods in one table and one chart, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.report.axes import Axis
from isoglot.report.page import Section
from isoglot.report.plots import percent_tips, plot
from isoglot.report.series import Look, Series, look
from isoglot.report.tables import escape, percent, table
from isoglot.tasks import p_text

#: Kinds of supervision, as the legend calls them, and their looks.
_KINDS = {
    "supervised": ("learned from pairs", Look("--src", symbol="circle")),
    "optional": ("pairs optional", Look("--good", symbol="square")),
    "unsupervised": ("without pairs", Look("--tgt", symbol="diamond")),
}


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
    series = []
    for number, row in enumerate(trained):
        values = row["criteria"]
        tips = [f"{row['label']}, {epoch}: {value:.4f}" for epoch, value in enumerate(values)]
        series.append(Series(row["label"], range(len(values)), values, "line", look(number), tips=tips))
    spoken = "; ".join(f"{row['label']} from {row['criteria'][0]:.3f} to {row['criteria'][-1]:.3f}" for row in trained)
    lead = (
        "The mean cosine of the most confident translations that a map induces itself: what iterative methods choose "
        "their epoch or round by. It needs no dictionary, and it can mislead: compare it with the table."
    )
    picture = plot(
        series,
        Axis("epoch or round (0 is the start)", whole=True),
        Axis("semantic criterion (mean cosine)"),
        label=f"Semantic criterion: {spoken}",
        height=360,
    )
    return Section("Criteria while training", picture, lead)


def _dots(rows: Sequence[Mapping[str, Any]], metric: str) -> str:
    series = []
    for kind in dict.fromkeys(row["supervision"] for row in rows):
        name, own = _KINDS.get(kind, (kind, look(len(_KINDS))))
        places = [place for place, row in enumerate(rows) if row["supervision"] == kind]
        values = [100 * rows[place]["mean"] for place in places]
        ends = [_ends(rows[place]["interval"]) for place in places]
        tips = [
            f"{rows[place]['label']}: {told}"
            for place, told in zip(places, percent_tips(values, intervals=ends), strict=True)
        ]
        series.append(Series(name, values, places, "points", own, ends, tips))
    spoken = "; ".join(f"{row['label']} {percent(row['mean'])}%" for row in rows)
    names = tuple(row["label"] for row in rows)
    return plot(series, Axis(f"{metric}, %", zero=True), Axis(names=names), label=f"Methods compared: {spoken}")


def _ends(interval: Sequence[float] | None) -> list[float] | None:
    return None if interval is None else [100 * end for end in interval]
