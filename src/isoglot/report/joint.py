"""The pictures of joint training: the space by kinds of words, step after step, and the ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from isoglot.joint import JointSpace
from isoglot.report.axes import Axis
from isoglot.report.clouds import Cloud, cloud_plot
from isoglot.report.maps import COMPONENTS, first_two_components
from isoglot.report.page import Section
from isoglot.report.plots import percent_tips, plot
from isoglot.report.series import Series, look
from isoglot.report.tables import escape, percent, table

_COLOURS = ("--src", "--tgt", "--good", "--series-4", "--series-5", "--series-6", "--series-7")


def kinds_section(stages: Sequence[tuple[str, JointSpace]], words: int = 600) -> Section:
    """One picture a stage: the most frequent words of each kind in the plane."""
    body = "".join(f"<div><h3>{escape(label)}</h3>{_picture(label, space, words)}</div>" for label, space in stages)
    return Section(
        "The space, step by step",
        f'<div class="pair">{body}</div>',
        "Each dot is a frequent word, placed by the first two principal components of its stage. After joint training "
        "a word counts as shared wherever it occurs in both texts; reallocation gives words back to the language they "
        "come from, whose clouds lie apart; refinement lays these clouds on each other and leaves shared words where "
        "they are.",
    )


def ablation_section(rows: Sequence[Mapping[str, Any]], sentences: Sequence[str]) -> Section:
    """Rows of an ablation, pairs of identical form kept and removed, with a plot."""
    head = ["", "P@1, all pairs, %", "95% interval", "in vocabulary", "different form", "95% interval", "in vocabulary"]
    head.append("reallocated words")
    lines = []
    for row in rows:
        line = [row["name"]]
        for identical in ("keep", "remove"):
            full, known = row["figures"][f"{identical}/full"], row["figures"][f"{identical}/in-vocabulary"]
            low, high = full["interval"] or (full["value"], full["value"])
            line += [percent(full["value"]), f"{percent(low)} – {percent(high)}", percent(known["value"])]
        lines.append([*line, "" if row["moved"] is None else percent(row["moved"])])
    notes = "".join(f"<p>{escape(line)}</p>" for line in sentences)
    lead = (
        "All rows were asked the same words. A word that a language does not have counts as right only if it is "
        "spelled like its translation. Intervals are bootstraps over test words. Reallocated words are those that "
        "joint training shares and reallocation takes from one language."
    )
    return Section("What each step brings", _bars(rows) + table(head, lines, numeric=range(1, 8)) + notes, lead)


def _picture(label: str, space: JointSpace, words: int) -> str:
    kinds = [(lang, space.own_rows(lang), _COLOURS[i % len(_COLOURS)]) for i, lang in enumerate(space.langs)]
    shared = space.shared[np.argsort(-space.counts[space.shared].sum(axis=1), kind="stable")]
    kinds.append(("shared", shared, "--soft"))  # last, so that the few that remain are drawn on top
    chosen = [(name, rows[:words], len(rows), colour) for name, rows, colour in kinds if len(rows)]
    points = first_two_components(space.vectors[np.concatenate([rows for _, rows, _, _ in chosen])])
    clouds = []
    begin = 0
    for name, rows, total, colour in chosen:
        own = points[begin : begin + len(rows)]
        begin += len(rows)
        told = f"{name} ({total:,} words)" if total == len(rows) else f"{name} ({len(rows):,} of {total:,} words)"
        symbol: Literal["dot", "square"] = "square" if name == "shared" else "dot"
        clouds.append(Cloud(told, own, colour, [space.words[row] for row in rows], symbol))
    spoken = ", ".join(f"{total:,} {name}" for name, _, total, _ in chosen)
    return cloud_plot(clouds, label=f"{label}: {spoken} words", titles=COMPONENTS, height=400)


def _bars(rows: Sequence[Mapping[str, Any]]) -> str:
    series = []
    for number, (identical, name) in enumerate((("keep", "all pairs"), ("remove", "pairs of different form"))):
        figures = [row["figures"][f"{identical}/full"] for row in rows]
        values = [100 * figure["value"] for figure in figures]
        ends = [None if figure["interval"] is None else [100 * end for end in figure["interval"]] for figure in figures]
        tips = percent_tips(values, f"{name}: ", ends)
        series.append(Series(name, values, range(len(rows)), "bars", look(number), ends, tips))
    spoken = "; ".join(f"{row['name']} {percent(row['figures']['keep/full']['value'])}%" for row in rows)
    names = tuple(row["name"] for row in rows)
    return plot(series, Axis("P@1, %", zero=True), Axis(names=names), label=f"Steps compared: {spoken}")
