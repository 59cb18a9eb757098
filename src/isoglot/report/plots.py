"""Charts as HTML and SVG: drawn here, complete without any script, and as wide as the screen they are shown on.

The page's script adds what a still picture cannot do: it shows the value one points at, and hides what one clicks on
in the legend. The legend is made of the very series that are drawn, so that it cannot tell of anything else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from isoglot.report.axes import Axis, Scale, Tick
from isoglot.report.labels import FONT, safe, text_width
from isoglot.report.series import (
    WHISKERS,
    Series,
    bars,
    curve,
    key_picture,
    percentage,
    points,
    stretched,
    whisker_picture,
    whiskers,
)

#: Pixels of the narrowest plot, on a phone, and of the column that names of rows have there and on wider screens.
NARROW, _NARROW_NAMES, _WIDE_NAMES = 260, 104, 230
#: Pixels of a row, of a line of its name, and of what stands around that.
_ROW, _LINE, _AROUND = 30, 16, 10
#: How much of the room between two names bars fill.
_FILLED = 0.72


def plot(
    series: Sequence[Series], x: Axis, y: Axis, *, label: str, height: int = 340, intervals: str = "95% interval"
) -> str:
    """HTML of one chart.

    Args:
        series: drawn one over the other; bars stand beside each other.
        y: with names, the chart lies: a row for each name, from the top, and values run along x.
        label: describes it to those who cannot see it.
        height: of the area in pixels; rows have a height of their own.
        intervals: what whiskers are, for the legend.

    >>> text = plot([Series("P@1", [1, 2], [30, 40])], Axis("layer"), Axis("P@1, %"), label="two points")
    >>> text.count('class="symbol circle"')  # one of them in the legend
    3
    """
    lying = bool(y.names)
    across = x.scale(_along(series, 0, lying))
    up = y.scale(_along(series, 1, not lying), downwards=lying)
    beside = [one for one in series if one.kind == "bars"]
    curves: list[str] = []
    boxes: list[str] = []
    marks: list[str] = []
    for key, one in enumerate(series):
        slot = _slot(beside.index(one), len(beside)) if one.kind == "bars" else (0.0, 0.0)
        curves.append(curve(one, key, across, up))
        boxes += bars(one, key, across, up, slot, lying)
        marks += whiskers(one, key, across, up, sum(slot) / 2, lying)
        marks += points(one, key, across, up)
    entries = [(str(key), one.name, key_picture(one)) for key, one in enumerate(series) if one.known]
    if any(one.interval(i) for one in series for i in one.known):
        entries.append((WHISKERS, intervals, whisker_picture()))
    # Bars lie under curves, and what is small on top.
    drawing = "".join(_grid(across, up, x, y)) + "".join(boxes) + stretched("".join(curves)) + "".join(marks)
    return figure(drawing, legend(entries), x, y, across.ticks, up.ticks, label=label, height=height)


def figure(
    drawing: str,
    keys: str,
    x: Axis,
    y: Axis,
    x_ticks: Sequence[Tick] = (),
    y_ticks: Sequence[Tick] = (),
    *,
    label: str,
    height: int,
    kind: str = "",
    more: str = "",
) -> str:
    """A drawing with its legend, titles and ticks; `kind` is a class of the frame, `more` stands in the area too."""
    style = f"--h:{height}px"
    if y.names:
        kind = "rows"
        wide, narrow = (_row_height(y.names, room) for room in (_WIDE_NAMES, _NARROW_NAMES))
        style = f"--wide:{wide * len(y.names)}px;--narrow:{narrow * len(y.names)}px"
    steep = " steep" if x.names and _crowded(x.names) else ""
    share = f' style="--share:{percentage(1 / len(x.names))}"' if x.names else ""
    x_labels = "".join(
        f'<span{_extra(tick)} dir="auto" style="left:{percentage(tick.place)}">{safe(tick.label)}</span>'
        for tick in x_ticks
    )
    y_labels = "".join(
        f'<span{_extra(tick)} dir="auto" style="--at:{_share(1 - tick.place)}">{safe(tick.label)}</span>'
        for tick in y_ticks
    )
    named = " named" if x.names else ""
    return (
        f'<figure class="plot">{keys}<div class="frame{f" {kind}" if kind else ""}" style="{style}">'
        f'<div class="y-title">{safe(y.title)}</div><div class="y-ticks" aria-hidden="true">{y_labels}</div>'
        f'<div class="area"><svg class="drawing" role="img" aria-label="{safe(label)}">{drawing}</svg>{more}</div>'
        f'<div class="x-ticks{named}{steep}" aria-hidden="true"{share}>{x_labels}</div>'
        f'<div class="x-title">{safe(x.title)}</div></div></figure>'
    )


def legend(entries: Sequence[tuple[str, str, str]]) -> str:
    """Of (key, name, picture); each is a button that hides what it tells of."""
    buttons = "".join(
        f'<li><button type="button" data-key="{key}" aria-pressed="true">{picture}<bdi>{safe(name)}</bdi></button></li>'
        for key, name, picture in entries
    )
    return f'<ul class="legend">{buttons}</ul>'


def percent_tips(
    values: Sequence[float | None], before: str = "", intervals: Sequence[Sequence[float] | None] = ()
) -> list[str]:
    """What one reads of values in %.

    >>> percent_tips([25.0, None], "full: ", [(20.0, 30.0), None])
    ['full: 25.0% (20.0 – 30.0)', 'full: none']
    """
    tips = []
    for i, value in enumerate(values):
        ends = intervals[i] if intervals else None
        told = "none" if value is None else f"{value:.1f}%"
        tips.append(before + told + ("" if ends is None else f" ({ends[0]:.1f} – {ends[1]:.1f})"))
    return tips


def _along(series: Sequence[Series], side: int, with_intervals: bool) -> list[float]:
    """All values along an axis, with the ends of intervals if they run along it, and with the foot of bars."""
    values: list[float] = []
    for one in series:
        for i in one.known:
            values.append(one.point(i)[side])
            values += (one.interval(i) or ()) if with_intervals else ()
    if with_intervals and any(one.kind == "bars" for one in series):
        values.append(0.0)
    return values


def _slot(number: int, count: int) -> tuple[float, float]:
    width = _FILLED / count
    begin = -_FILLED / 2 + number * width
    # A gap between neighbours, if they are wide enough for one.
    return begin + 0.04 * width, begin + 0.96 * width


def _grid(across: Scale, up: Scale, x: Axis, y: Axis) -> list[str]:
    lines = []
    for tick in across.ticks if not x.names else ():
        place = percentage(tick.place)
        lines.append(f'<line class="grid" x1="{place}" x2="{place}" y1="0" y2="100%"/>')
    for tick in up.ticks if not y.names else ():
        place = percentage(1 - tick.place)
        lines.append(f'<line class="grid" x1="0" x2="100%" y1="{place}" y2="{place}"/>')
    return lines


def _row_height(names: Sequence[str], room: int) -> int:
    """Pixels that each row needs where names are broken into lines of this width."""
    # Lines break between words, so that some room at their ends stays empty.
    lines = max(math.ceil(1.15 * text_width(name) / room) for name in names)
    return max(_ROW, _AROUND + _LINE * lines)


def _crowded(names: Sequence[str]) -> bool:
    """Whether names beside each other do not fit on a phone, even if broken at spaces."""
    longest = max((text_width(part) for name in names for part in name.split()), default=0.0)
    return longest * 11 / FONT > NARROW / len(names)


def _extra(tick: Tick) -> str:
    return ' class="extra"' if tick.extra else ""


def _share(value: float) -> str:
    return f"{round(value, 4) + 0.0:g}"
