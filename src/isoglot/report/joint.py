"""The pictures of joint training: the space by kinds of words, step after step, and the ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isoglot.joint import JointSpace
from isoglot.report.maps import first_two_components
from isoglot.report.page import Section
from isoglot.report.plots import plot, whiskers
from isoglot.report.tables import escape, percent, table

_COLOURS = ("--src", "--tgt", "--good", "--bad")


def kinds_section(stages: Sequence[tuple[str, JointSpace]], words: int = 600) -> Section:
    """One picture a stage: the most frequent words of each kind in the plane, shared words in grey."""
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
    traces = []
    begin = 0
    for name, rows, total, colour in chosen:
        own = points[begin : begin + len(rows)]
        begin += len(rows)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": escape(f"{name} ({total:,})"),
                "x": own[:, 0].round(4).tolist(),
                "y": own[:, 1].round(4).tolist(),
                "text": [escape(space.words[row]) for row in rows],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"size": 5, "color": colour, "opacity": 0.6},
            }
        )
    bare = {"showticklabels": False, "zeroline": False, "ticks": ""}
    layout = {"xaxis": bare, "yaxis": bare, "hovermode": "closest", "margin": {"l": 8, "r": 8, "t": 10, "b": 8}}
    spoken = ", ".join(f"{total:,} {name}" for name, _, total, _ in chosen)
    return plot(traces, layout, label=f"{label}: {spoken} words", height=420, zoom=True)


def _bars(rows: Sequence[Mapping[str, Any]]) -> str:
    traces = []
    for identical, name, colour in (("keep", "all pairs", "--src"), ("remove", "pairs of different form", "--tgt")):
        figures = [row["figures"][f"{identical}/full"] for row in rows]
        bounds = [[100 * end for end in figure["interval"] or [figure["value"]] * 2] for figure in figures]
        values = [100 * figure["value"] for figure in figures]
        traces.append(
            {
                "type": "bar",
                "name": name,
                "orientation": "h",
                "y": [escape(row["name"]) for row in rows],
                "x": values,
                "marker": {"color": colour},
                "error_x": whiskers(values, bounds),
                "hovertemplate": "%{x:.1f}%<extra>" + name + "</extra>",
            }
        )
    layout = {
        "barmode": "group",
        "xaxis": {"title": {"text": "P@1, %"}, "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed", "automargin": True},
    }
    spoken = "; ".join(f"{row['name']} {percent(row['figures']['keep/full']['value'])}%" for row in rows)
    return plot(traces, layout, label=f"Steps compared: {spoken}", height=120 + 52 * len(rows))
