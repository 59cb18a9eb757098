"""The pictures of the density simulation: the languages, quality over frequency and distance, all alignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isoglot.report import Section, escape, line, percent, plot, table

#: Colour and line of each alignment: linear ones solid, non-linear ones dashed; with pairs in the source's colour.
_LOOKS = {
    "Rotation": ("--src", "solid"),
    "FCNN": ("--good", "dash"),
    "Real-NVP": ("--src", "dash"),
    "MUSE": ("--tgt", "solid"),
    "GAN-Real-NVP": ("--tgt", "dash"),
}
_BARE = {"showticklabels": False, "zeroline": False, "ticks": ""}


def languages_section(pictures: Sequence[tuple[str, Any, Any]]) -> Section:
    """Figure 1: source and target points of a few words, one picture for each (label, source, target)."""
    body = "".join(f"<div><h3>{escape(label)}</h3>{_clouds(label, A, B)}</div>" for label, A, B in pictures)
    lead = (
        "Each cloud is a word, each dot an occurrence; blue is the source, orange the target. With t = 1 the target is "
        "the source turned as a whole, with larger t groups of words move on their own. After the paper's Figure 1."
    )
    return Section("Simulated languages", f'<div class="pair">{body}</div>', lead)


def overlaps_section(pictures: Sequence[tuple[str, Any, Any]]) -> Section:
    """Figure 3, left: the mapped source over the target, for each (label, mapped, target)."""
    body = "".join(f"<div><h3>{escape(label)}</h3>{_clouds(label, A, B)}</div>" for label, A, B in pictures)
    lead = "One simulated pair, t = 5, the test set: the mapped source (blue) over the target (orange)."
    return Section("How well the languages overlap", f'<div class="pair">{body}</div>', lead)


def curves_section(
    over_eps: Mapping[tuple[str, int], Sequence[float]],
    over_k: Mapping[tuple[str, int], Sequence[float]],
    correlations: Mapping[tuple[str, int], tuple[float | None, float | None]],
    eps: Sequence[float],
    k: Sequence[int],
) -> Section:
    """Figure 2: P@1 over the distance of the test set and over frequency, with correlations."""
    body = ""
    for t in sorted({t for _, t in over_k}):
        far = _curves({name: over_eps[name, u] for name, u in over_k if u == t}, eps, "distance eps", f"t = {t}")
        often = _curves({name: curve for (name, u), curve in over_k.items() if u == t}, k, "occurrences k", f"t = {t}")
        body += f'<div class="pair"><div><h3>t = {t}, over the distance of the test set</h3>{far}</div>'
        body += f"<div><h3>t = {t}, over frequency</h3>{often}</div></div>"
    rows = [
        [name, t, *("–" if r is None else f"{r:+.2f}" for r in both)]
        for (name, t), both in sorted(correlations.items())
    ]
    told = table(["alignment", "t", "r with k", "r with eps"], rows, numeric=[1, 2, 3])
    lead = "Means over simulated pairs; at the largest k on the left, at eps = 0 on the right. After Figure 2."
    return Section("Frequency and distance", body + told, lead)


def suite_section(
    bars: Mapping[tuple[str, int], tuple[float, float, float]], paper: Mapping[str, float], place: float
) -> Section:
    """Figure 3, right: all alignments, ours beside the paper's figures."""
    degrees = sorted({t for _, t in bars})
    names = list(dict.fromkeys(name for name, _ in bars))
    bent = max(degrees)
    names.sort(key=lambda name: -bars[name, bent][0] if (name, bent) in bars else 0.0)
    rows = []
    for name in names:
        row = [name]
        for t in degrees:
            value = bars.get((name, t))
            row += ["", ""] if value is None else [f"{percent(value[0])} ± {percent(value[1])}", percent(value[2])]
        rows.append([*row, percent(paper[name]) if name in paper else ""])
    head = ["alignment"]
    for t in degrees:
        head += [f"P@1 %, t = {t}", f"very twin %, t = {t}"]
    chart = _bars(names, bars, bent, paper)
    note = (
        f"<p>A map that takes every occurrence to exactly the right place, but meets other occurrences there than its "
        f"own, gets {percent(place)}%: what lies above that comes from finding the very twin.</p>"
    )
    lead = (
        "A hit: the nearest target occurrence is of the same word. ± is the standard error over simulated pairs. "
        "The paper prints two of these figures (t = 5); the others are only drawn there."
    )
    told = table([*head, "paper, t = 5"], rows, numeric=range(1, len(head) + 1))
    return Section("All alignments", chart + note + told, lead)


def _clouds(label: str, A: Any, B: Any) -> str:
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": np.asarray(points)[:, 0].round(2).tolist(),
            "y": np.asarray(points)[:, 1].round(2).tolist(),
            "hoverinfo": "skip",
            "marker": {"size": 4, "color": colour, "opacity": 0.5},
        }
        for name, points, colour in (("source", A, "--src"), ("target", B, "--tgt"))
    ]
    layout = {
        "xaxis": _BARE,
        "yaxis": {**_BARE, "scaleanchor": "x"},
        "showlegend": False,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    }
    return plot(traces, layout, label=f"{label}: points of both languages", height=300)


def _curves(lines: Mapping[str, Sequence[float]], x: Sequence[float], title: str, label: str) -> str:
    traces = [line(name, x, [100 * value for value in curve], *_LOOKS[name]) for name, curve in lines.items()]
    layout = {
        "xaxis": {"title": {"text": title}, "zeroline": False},
        "yaxis": {"title": {"text": "P@1, %"}, "rangemode": "tozero"},
        "legend": {"orientation": "h", "y": -0.3},
    }
    ends = "; ".join(f"{name} from {percent(curve[0])} to {percent(curve[-1])}%" for name, curve in lines.items())
    return plot(traces, layout, label=f"P@1 over {title}, {label}: {ends}", height=380)


def _bars(
    names: Sequence[str],
    bars: Mapping[tuple[str, int], tuple[float, float, float]],
    t: int,
    paper: Mapping[str, float],
) -> str:
    shown = [name for name in names if (name, t) in bars]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": "ours",
            "y": [escape(name) for name in shown],
            "x": [100 * bars[name, t][0] for name in shown],
            "marker": {"color": "--src"},
            "error_x": {"type": "data", "array": [100 * bars[name, t][1] for name in shown]},
            "hovertemplate": "%{x:.1f}%<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "paper",
            "y": [escape(name) for name in shown if name in paper],
            "x": [100 * paper[name] for name in shown if name in paper],
            "marker": {"color": "--tgt", "size": 12, "symbol": "diamond"},
            "hovertemplate": "paper: %{x:.1f}%<extra></extra>",
        },
    ]
    layout = {
        "xaxis": {"title": {"text": f"P@1, %, t = {t}, eps = 0"}, "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed", "automargin": True},
    }
    spoken = "; ".join(f"{name} {percent(bars[name, t][0])}%" for name in shown)
    return plot(traces, layout, label=f"All alignments: {spoken}", height=130 + 28 * len(shown))
