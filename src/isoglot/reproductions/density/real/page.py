"""The page of Table 1, Table 2 and Figure 4 on a real encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import isoglot
from isoglot.report import (
    Axis,
    Look,
    Report,
    Section,
    Series,
    Table,
    decimals,
    look,
    percent,
    percent_tips,
    plot,
    table,
    table_section,
    write_report,
)
from isoglot.reproductions.claims import claim_table, run_interval
from isoglot.reproductions.density.real.findings import CRITERIA, RealFindings, rows_of, trained
from isoglot.reproductions.density.real.plan import CURVES, ROWS, TABLE, TASKS
from isoglot.tasks import p_text


def main_table(found: RealFindings) -> Table:
    """Table 1: means over languages as percentages, the paper's for mBERT and XLM-R beside them."""
    shown = [task for task in TASKS if task in found.best]
    rows = []
    for row in TABLE:
        if (row.name, TASKS[2]) not in found.means and not found.missing.get(row.name):
            continue
        cells = [_cell(found, row.name, task) for task in shown]
        paper = [_paper(row.bert, row.xlmr, TASKS.index(task)) for task in shown]
        rows.append([row.name, *cells, *paper])
    return ["alignment", *shown, *(f"paper: {task}" for task in shown)], rows


def language_table(found: RealFindings) -> Table:
    """Table 4: every language."""
    columns = [
        (task, lang)
        for task in TASKS
        for lang in found.languages
        if any(one.job.language == lang and task in one.scores for one in found.outcomes)
    ]
    by_row = rows_of(found.plan, found.outcomes)
    rows = [
        [name, *("-" if (one := of.get(lang)) is None else _figure(one.scores, task) for task, lang in columns)]
        for name, of in by_row.items()
    ]
    return ["alignment", *(f"{task} {lang}" for task, lang in columns)], rows


def difference_table(found: RealFindings) -> Table:
    """Paired tests over items."""
    rows = [
        [
            f"{one.a} - {one.b}",
            one.task,
            f"{100 * one.mean:+.1f}",
            f"{100 * one.interval[0]:+.1f} to {100 * one.interval[1]:+.1f}",
            p_text(one.p_value).removeprefix("= "),
            f"{one.items:,}",
        ]
        for one in found.differences
    ]
    return ["compared", "task", "points", "95%", "p", "items"], rows


def criteria_table(found: RealFindings) -> Table:
    """Figure 4, below: Pearson's r of each criterion with the tasks over epochs."""
    rows = []
    for name, paper in CRITERIA.items():
        values = list(found.criteria[name].values())
        interval = run_interval(values)
        mean = f"{np.mean(values):+.2f}" if values else "-"
        told = "-" if interval is None else f"{interval[0]:+.2f} to {interval[1]:+.2f}"
        rows.append([name, mean, told, str(len(values)), f"{paper:+.2f}"])
    return ["criterion", "r with the tasks", "95%", "curves", "paper (Real-NVP)"], rows


def spread_table(found: RealFindings) -> Table:
    """Table 2: how often pairs of tasks correlate in three ranges."""
    r = np.array(found.tasks)
    shares = [(r <= 0).sum(), ((r > 0) & (r <= 0.4)).sum(), (r > 0.4).sum()]
    told = [f"{share / len(r):.0%}" if len(r) else "-" for share in shares]
    return ["curves and pairs of tasks", "[-1, 0]", "(0, .4]", "(.4, 1]"], [[str(len(r)), *told]]


def write_real_page(path: str | Path, found: RealFindings) -> None:
    """One HTML page."""
    plan = found.plan
    shown = sum(claim.verdict == "shown" for claim in found.claims)
    tested = sum(claim.verdict != "not tested" for claim in found.claims)
    lead = (
        "Means over language pairs, as percentages. A dot marks figures that are not shown to be below the best of "
        "their column (paired t-test over items at .05). The paper's figures are for mBERT / XLM-R and other texts: "
        "what can be compared is the order of rows."
    )
    claims_lead = "Intervals are over cells, that is a language pair and a task, or over curves."
    sections = [
        table_section("All alignments", main_table(found), lead),
        Section("Gain over the vectors as they come", _bars(found)),
        Section("Claims", table(*claim_table(found.claims)), claims_lead),
        table_section("Compared item by item", difference_table(found)),
        Section("Epoch by epoch", _curves(found), "Means over language pairs after so many epochs."),
        table_section("Criteria and tasks", criteria_table(found)),
        table_section("Tasks among themselves", spread_table(found)),
        table_section("Every language pair", language_table(found)),
    ]
    if found.missing:
        rows = [[name, why] for name, why in found.missing.items()]
        sections.append(Section("Left out", table(["row", "why"], rows)))
    write_report(
        path,
        Report(
            "Density alignment of a real encoder",
            f"Zhao & Eger 2022, Table 1, Table 2 and Figure 4 on {found.encoder}: {shown} of {tested} claims shown",
            settings={
                "language pairs": ", ".join(f"{lang}-en" for lang in found.languages),
                "lines to learn from, at most": f"{plan.sentences:,}",
                "occurrences of each side": f"{plan.points:,}",
                "epochs": f"{plan.epochs}, and {plan.few} where the row says so",
                "time of all fits": f"{sum(one.seconds for one in found.outcomes) / 60:.0f} minutes",
            },
            versions={"isoglot": isoglot.__version__},
            sections=sections,
        ),
    )


def _cell(found: RealFindings, row: str, task: str) -> str:
    value = found.means.get((row, task))
    if value is None:
        return "-"
    mark = " ·" if row in found.level.get(task, ()) or found.best.get(task) == row else ""
    return f"{percent(value)}{mark}"


def _paper(bert: Sequence[float] | None, xlmr: Sequence[float] | None, task: int) -> str:
    if bert is None and xlmr is None:
        return "-"
    return " / ".join("-" if one is None else f"{one[task]:.1f}" for one in (bert, xlmr))


def _figure(scores: Any, task: str) -> str:
    return decimals(scores[task].figure.value) if task in scores else "-"


def _bars(found: RealFindings) -> str:
    names = tuple(name for name in ROWS if (name, "CBLI") in found.means and name != "Original")
    series = []
    for number, task in enumerate(task for task in TASKS if task in found.best):
        start = found.means.get(("Original", task))
        if start is None:
            continue
        values = [100 * (found.means[name, task] - start) if (name, task) in found.means else None for name in names]
        series.append(Series(task, values, range(len(names)), "points", look(number), tips=_tips(task, values)))
    if not series:
        return ""
    label = "Gain of each alignment over the vectors as they come, in points, task by task"
    return plot(series, Axis("points above the vectors as they come"), Axis(names=names), label=label)


def _tips(task: str, values: Sequence[float | None]) -> list[str]:
    return ["" if value is None else f"{task} {value:+.1f}" for value in values]


def _curves(found: RealFindings) -> str:
    body = ""
    for method in CURVES:
        curves = [trained(found.plan, found.outcomes, method, lang) for lang in found.languages]
        epochs = sorted({one.job.epochs for curve in curves for one in curve})
        series = []
        for number, task in enumerate(task for task in TASKS if task in found.best):
            means = []
            for epoch in epochs:
                known = [one.scores[task].figure.value for c in curves for one in c
                         if one.job.epochs == epoch and task in one.scores]  # fmt: skip
                means.append(100 * float(np.mean(known)) if known else None)
            series.append(Series(task, epochs, means, "line", look(number), tips=percent_tips(means, f"{task} ")))
        semantic = [
            100 * float(np.mean([one.criteria["semantic"] for c in curves for one in c
                                 if one.job.epochs == epoch and "semantic" in one.criteria] or [0.0]))
            for epoch in epochs
        ]  # fmt: skip
        series.append(
            Series("semantic criterion, x 100", epochs, semantic, "line", Look("--good", "dash"),
                   tips=percent_tips(semantic, "semantic "))
        )  # fmt: skip
        if epochs:
            label = f"{method}: tasks and the semantic criterion over epochs"
            body += f"<div><h3>{method}</h3>{plot(series, Axis('epochs'), Axis('%'), label=label, height=280)}</div>"
    return f'<div class="pair">{body}</div>'
