"""The pictures of the density simulation: the languages, quality over frequency and distance, all alignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.report import (
    Axis,
    Cloud,
    Look,
    Section,
    Series,
    cloud_plot,
    escape,
    percent,
    percent_tips,
    plot,
    table,
)

#: Looks of each alignment: linear ones solid, non-linear ones dashed; rotations and flows with pairs in the source's
#: colour, without pairs in the target's.
_LOOKS = {
    "Rotation": Look("--src", "solid", "circle"),
    "FCNN": Look("--good", "dash", "square"),
    "Real-NVP": Look("--src", "dash", "triangle"),
    "MUSE": Look("--tgt", "solid", "diamond"),
    "GAN-Real-NVP": Look("--tgt", "dash", "circle"),
}


def languages_section(pictures: Sequence[tuple[str, Any, Any]]) -> Section:
    """Figure 1: source and target points of a few words, one picture for each (label, source, target)."""
    body = "".join(f"<div><h3>{escape(label)}</h3>{_clouds(label, A, B)}</div>" for label, A, B in pictures)
    lead = (
        "Each cloud is a word, each dot an occurrence. With t = 1 the target is "
        "the source turned as a whole, with larger t groups of words move on their own. After the paper's Figure 1."
    )
    return Section("Simulated languages", f'<div class="pair">{body}</div>', lead)


def overlaps_section(pictures: Sequence[tuple[str, Any, Any]]) -> Section:
    """Figure 3, left: the mapped source over the target, for each (label, mapped, target)."""
    body = "".join(
        f"<div><h3>{escape(label)}</h3>{_clouds(label, A, B, 'source' if label == 'before' else 'mapped source')}</div>"
        for label, A, B in pictures
    )
    lead = "One simulated pair, t = 5, the test set: the mapped source over the target."
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


def _clouds(label: str, A: Any, B: Any, source: str = "source") -> str:
    clouds = [Cloud(source, A, "--src", symbol="dot"), Cloud("target", B, "--tgt", symbol="square")]
    titles = ("first dimension", "second dimension")
    return cloud_plot(clouds, label=f"{label}: points of both languages", titles=titles, square=True)


def _curves(lines: Mapping[str, Sequence[float]], x: Sequence[float], title: str, label: str) -> str:
    series = []
    for name, curve in lines.items():
        values = [100 * value for value in curve]
        series.append(Series(name, x, values, "line", _LOOKS[name], tips=percent_tips(values, f"{name}: ")))
    ends = "; ".join(f"{name} from {percent(curve[0])} to {percent(curve[-1])}%" for name, curve in lines.items())
    return plot(series, Axis(title), Axis("P@1, %", zero=True), label=f"P@1 over {title}, {label}: {ends}", height=300)


def _bars(
    names: Sequence[str],
    bars: Mapping[tuple[str, int], tuple[float, float, float]],
    t: int,
    paper: Mapping[str, float],
) -> str:
    shown = tuple(name for name in names if (name, t) in bars)
    values = [100 * bars[name, t][0] for name in shown]
    ends = [[100 * (mean - error), 100 * (mean + error)] for mean, error, _ in (bars[name, t] for name in shown)]
    known = [place for place, name in enumerate(shown) if name in paper]
    printed = [100 * paper[shown[place]] for place in known]
    series = [
        Series("ours", values, range(len(shown)), "bars", Look("--src"), ends, percent_tips(values, "ours: ")),
        Series(
            "paper", printed, known, "points", Look("--tgt", symbol="diamond"), tips=percent_tips(printed, "paper: ")
        ),
    ]
    return plot(
        series,
        Axis(f"P@1, % (t = {t}, eps = 0)", zero=True),
        Axis(names=shown),
        label="All alignments: " + "; ".join(f"{name} {percent(bars[name, t][0])}%" for name in shown),
        intervals="± the standard error over simulated pairs",
    )
