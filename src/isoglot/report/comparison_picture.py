"""A comparison as one picture for a paper: methods down the side, a dot with its interval for each pair of languages.

Plain SVG, complete in itself, as `alignment_picture` draws it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.report.axes import Axis, Scale
from isoglot.report.labels import FONT, safe, shortened, text_width
from isoglot.report.tables import percent

#: Colours that people who see few colours tell apart too (Okabe & Ito); shapes tell apart what is left.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_SHAPES = (
    '<circle r="4.5"/>',
    '<path d="M0 -5.5L5.5 0L0 5.5L-5.5 0Z"/>',
    '<path d="M-4 -4H4V4H-4Z"/>',
    '<path d="M0 -5.2L5.2 4H-5.2Z"/>',
)
_INK, _PALE, _LINE = "#1f2933", "#616e7c", "#d9dee3"
#: Pixels: the area of dots, a dot's row within a method, around a method, and around everything.
_WIDTH, _DOT, _AROUND, _GAP = 460, 13, 9, 12
_LETTERS, _TITLE_LETTERS = 40, 100


def comparison_picture(pairs: Mapping[str, Sequence[Mapping[str, Any]]], metric: str, title: str) -> str:
    """The text of an SVG file.

    Args:
        pairs: by the pair's name, records of a comparison's rows (`label`, `mean`, `interval`, `values`), best first.
            Methods stand in the order of their mean over the pairs; single runs are small ticks.

    >>> rows = [{"label": "procrustes", "mean": 0.5, "interval": [0.45, 0.55], "values": [0.49, 0.51]}]
    >>> text = comparison_picture({"en-fr": rows, "en-ja": rows}, "P@1", "two pairs")
    >>> text.startswith("<svg "), text.count('class="dot"'), text.count('class="run"')
    (True, 2, 4)
    """
    measured = {name: [row for row in rows if row["mean"] is not None] for name, rows in pairs.items()}
    methods = _order(measured)
    if not methods:
        methods = ["no method could run"]
    ends = [
        end
        for rows in measured.values()
        for row in rows
        for end in (row["mean"], *(row["interval"] or ()), *row["values"])
    ]
    scale = Axis(zero=True).scale([100 * end for end in ends])
    labels = [shortened(method, _LETTERS) for method in methods]
    heading = shortened(title, _TITLE_LETTERS)
    left = math.ceil(_GAP + max(map(text_width, labels)) + _GAP / 2)
    top = _GAP + 2 * FONT
    step = _DOT * max(len(pairs), 1) + _AROUND
    foot = top + step * len(methods)
    legend, legend_right = _legend(list(pairs), left, foot + 4 * FONT + 2) if len(pairs) > 1 else ([], 0.0)
    width = math.ceil(max(left + _WIDTH, _GAP + 1.1 * text_width(heading), legend_right) + _GAP)
    height = math.ceil(foot + (6 if legend else 4) * FONT)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-size="{FONT}" font-family="system-ui, \'Noto Sans\', \'DejaVu Sans\', sans-serif">',
        f"<title>{safe(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_GAP}" y="{_GAP + FONT * 0.8:g}" font-weight="600" fill="{_INK}">{safe(heading)}</text>',
    ]
    for tick in scale.ticks:
        x = left + _WIDTH * tick.place
        parts.append(f'<path d="M{x:.1f} {top}V{foot}" stroke="{_LINE}"/>')
        below = f'x="{x:.1f}" y="{foot + FONT * 1.3:.1f}" text-anchor="middle"'
        parts.append(f'<text {below} fill="{_PALE}">{safe(tick.label)}</text>')
    parts.append(
        f'<text x="{left + _WIDTH / 2:.1f}" y="{foot + FONT * 2.7:.1f}" text-anchor="middle" fill="{_INK}">'
        f"{safe(metric)}, %</text>"
    )
    for place, (method, label) in enumerate(zip(methods, labels, strict=True)):
        middle = top + step * (place + 0.5)
        parts.append(
            f'<text x="{left - _GAP / 2:g}" y="{middle + FONT * 0.35:.1f}" text-anchor="end" fill="{_INK}">'
            f"{safe(label)}</text>"
        )
        for number, (name, rows) in enumerate(measured.items()):
            y = middle + _DOT * (number - (len(pairs) - 1) / 2)
            parts += [
                mark for row in rows if row["label"] == method for mark in _marks(row, name, number, scale, left, y)
            ]
    return "\n".join([*parts, *legend, "</svg>"]) + "\n"


def _order(pairs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Methods, the best mean first; those that failed on some pair come after those that did not."""
    means: dict[str, list[float]] = {}
    for rows in pairs.values():
        for row in rows:
            means.setdefault(row["label"], []).append(row["mean"])
    return sorted(means, key=lambda label: (-len(means[label]), -sum(means[label]) / len(means[label])))


def _marks(row: Mapping[str, Any], name: str, number: int, scale: Scale, left: int, y: float) -> list[str]:
    """Interval, single runs, and the dot above them."""

    def at(value: float) -> float:
        return left + _WIDTH * scale.place(100 * value)

    colour = _COLOURS[number % len(_COLOURS)]
    marks = []
    if row["interval"]:
        low, high = (at(end) for end in row["interval"])
        marks.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="{colour}" stroke-width="1.6"/>')
    if len(row["values"]) > 1:
        marks += [
            f'<path class="run" d="M{at(value):.1f} {y - 5:.1f}v10" stroke="{colour}" stroke-opacity=".6"/>'
            for value in row["values"]
        ]
    told = safe(f"{row['label']}, {name}: {percent(row['mean'])}%")
    shape = _SHAPES[number % len(_SHAPES)]
    marks.append(
        f'<g class="dot" transform="translate({at(row["mean"]):.1f} {y:.1f})" fill="{colour}"><title>{told}</title>'
        f"{shape}</g>"
    )
    return marks


def _legend(names: Sequence[str], left: float, y: float) -> tuple[list[str], float]:
    """Keys of the pairs in one line, and where it ends."""
    parts, x = [], float(left)
    for number, name in enumerate(names):
        colour, shape = _COLOURS[number % len(_COLOURS)], _SHAPES[number % len(_SHAPES)]
        parts.append(f'<g transform="translate({x + 6:.1f} {y - FONT * 0.35:.1f})" fill="{colour}">{shape}</g>')
        parts.append(f'<text x="{x + 16:.1f}" y="{y:.1f}" fill="{_INK}">{safe(name)}</text>')
        x += 16 + text_width(name) + _GAP
    return parts, x
