"""What a chart draws: series of numbers with their looks, as SVG marks and as keys of its legend.

Places are percentages of the plot's area and sizes are pixels, so that a picture fills whatever width a screen has
without any text or dot being stretched. Curves, which know no percentages, lie in a square of 1000 units that is
stretched over the area while its strokes are not. Every mark names the legend's keys it belongs to (`data-key`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Literal

from isoglot.report.axes import Scale
from isoglot.report.labels import safe

Symbol = Literal["circle", "diamond", "square", "triangle", "ring", "none"]
Dash = Literal["solid", "dash", "dot", "dashdot"]

#: Side of the square that is stretched over the area.
UNITS = 1000
#: The key of whiskers in a legend.
WHISKERS = "whiskers"

_DASHES: dict[Dash, str] = {"solid": "", "dash": "7 4", "dot": "1.5 4", "dashdot": "8 4 1.5 4"}
_SHAPES: dict[Symbol, str] = {
    "diamond": "M0 -5.5L5.5 0L0 5.5L-5.5 0Z",
    "square": "M-4 -4H4V4H-4Z",
    "triangle": "M0 -5.2L5.2 4H-5.2Z",
}
_PALETTE = ("--src", "--tgt", "--good", "--series-4", "--series-5", "--series-6", "--series-7", "--series-8")
_SYMBOLS: tuple[Symbol, ...] = ("circle", "diamond", "square", "triangle")
_CYCLE: tuple[Dash, ...] = ("solid", "dash", "dot", "dashdot")
_OVER_BARS = 'style="color:var(--text)"'


@dataclasses.dataclass(frozen=True)
class Look:
    """How a series is told from others; all of it is shown in the legend. `opacity` is that of bars."""

    colour: str = "--src"
    dash: Dash = "solid"
    symbol: Symbol = "circle"
    opacity: float = 1.0

    @property
    def paint(self) -> str:
        return f'style="color:var({self.colour})"'

    @property
    def fill(self) -> str:
        return self.paint + ("" if self.opacity == 1 else f' fill-opacity="{self.opacity:g}"')

    @property
    def dashes(self) -> str:
        return f' stroke-dasharray="{_DASHES[self.dash]}"' if _DASHES[self.dash] else ""


PLAIN = Look()


def look(number: int) -> Look:
    """A look for the series of this number: distinct in colour among eight, and otherwise among thirty-two.

    >>> len({look(number) for number in range(32)})
    32
    """
    turn, place = divmod(number, len(_PALETTE))
    return Look(
        _PALETTE[place],
        _CYCLE[turn % len(_CYCLE)],
        _SYMBOLS[(turn + place) % len(_SYMBOLS)],
        (1.0, 0.6, 0.35, 0.2)[turn % 4],
    )


@dataclasses.dataclass(frozen=True)
class Series:
    """Numbers that share a look.

    Args:
        name: what the legend calls it.
        x, y: places; a value that is None or not finite leaves a gap.
        kind: a curve through its points, points alone, or bars from 0.
        intervals: (low, high) around each value, drawn as whiskers; None for none.
        tips: what is shown where one points at a value.
    """

    name: str
    x: Sequence[float | None]
    y: Sequence[float | None]
    kind: Literal["line", "points", "bars"] = "line"
    look: Look = PLAIN
    intervals: Sequence[Sequence[float] | None] = ()
    tips: Sequence[str] = ()

    @property
    def known(self) -> list[int]:
        """Places that have both values."""
        return [
            i
            for i, (x, y) in enumerate(zip(self.x, self.y, strict=True))
            if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
        ]

    def point(self, i: int) -> tuple[float, float]:
        x, y = self.x[i], self.y[i]
        assert x is not None
        assert y is not None
        return float(x), float(y)

    def interval(self, i: int) -> tuple[float, float] | None:
        """What is drawn around value i; nothing where its ends are the same."""
        ends = self.intervals[i] if self.intervals else None
        if ends is None or not all(map(math.isfinite, ends)) or ends[0] == ends[1]:
            return None
        return float(ends[0]), float(ends[1])

    def tip(self, i: int) -> str:
        return f' data-tip="{safe(self.tips[i])}"' if self.tips else ""


def curve(series: Series, key: int, across: Scale, up: Scale) -> str:
    """The path of a curve, broken where a value is missing; empty for other kinds."""
    if series.kind != "line":
        return ""
    steps = []
    before = None
    for i in series.known:
        x, y = series.point(i)
        step = f"{_number(UNITS * across.place(x))} {_number(UNITS * (1 - up.place(y)))}"
        steps.append(("L" if before == i - 1 else "M") + step)
        before = i
    if not steps:
        return ""
    return f'<path class="curve" data-key="{key}" {series.look.paint}{series.look.dashes} d="{"".join(steps)}"/>'


def bars(series: Series, key: int, across: Scale, up: Scale, slot: tuple[float, float], lying: bool) -> Iterator[str]:
    """Bars from 0; `slot` is where they lie beside each other, as shares of the room between two names."""
    for i in series.known if series.kind == "bars" else ():
        x, y = series.point(i)
        values, value = (across, x) if lying else (up, y)
        begin, end = sorted(_inside(values.place(level)) for level in (0.0, value))
        if lying:
            first, last = sorted(1 - up.place(y + shift) for shift in slot)
            box = (begin, first, end - begin, last - first)
        else:
            first, last = sorted(across.place(x + shift) for shift in slot)
            box = (first, 1 - end, last - first, end - begin)
        shape = " ".join(
            f'{side}="{percentage(share)}"' for side, share in zip(("x", "y", "width", "height"), box, strict=True)
        )
        yield f'<rect class="bar" data-key="{key}" {series.look.fill} {shape}{series.tip(i)}/>'


def points(series: Series, key: int, across: Scale, up: Scale) -> Iterator[str]:
    """A symbol at each value; values of a curve without symbols can still be pointed at."""
    for i in series.known if series.kind != "bars" else ():
        x, y = series.point(i)
        place = percentage(across.place(x)), percentage(1 - up.place(y))
        if series.look.symbol == "none" and not series.tips:
            continue
        yield _symbol(series.look, *place, f' data-key="{key}"{series.tip(i)}')


def whiskers(series: Series, key: int, across: Scale, up: Scale, shift: float, lying: bool) -> Iterator[str]:
    """Thin lines from the low to the high end of each interval."""
    for i in series.known:
        ends = series.interval(i)
        if ends is None:
            continue
        x, y = series.point(i)
        if lying:
            first, second = ((_inside(across.place(end)), 1 - up.place(y + shift)) for end in ends)
        else:
            first, second = ((across.place(x + shift), 1 - _inside(up.place(end))) for end in ends)
        place = "".join(f' x{n}="{percentage(a)}" y{n}="{percentage(b)}"' for n, (a, b) in ((1, first), (2, second)))
        # Over bars, lines of their own colour could not be seen.
        paint = _OVER_BARS if series.kind == "bars" else series.look.paint
        yield f'<line class="whisker" data-key="{key} {WHISKERS}" {paint}{place}/>'


def key_picture(series: Series) -> str:
    """What stands for the series in a legend."""
    if series.kind == "bars":
        return _key(f'<rect class="bar" {series.look.fill} x="6" y="2" width="14" height="12"/>')
    line = ""
    if series.kind == "line":
        line = f'<path class="curve" {series.look.paint}{series.look.dashes} d="M0 8H26"/>'
    return _key(line + ("" if series.look.symbol == "none" else _symbol(series.look, "13", "8", "")))


def whisker_picture() -> str:
    return _key(f'<line class="whisker" {_OVER_BARS} x1="4" y1="8" x2="22" y2="8"/>')


def stretched(paths: str) -> str:
    """Paths of the square of 1000 units, over the whole area."""
    return f'<svg class="stretched" viewBox="0 0 {UNITS} {UNITS}" preserveAspectRatio="none">{paths}</svg>'


def percentage(share: float) -> str:
    """A share as SVG and CSS have it, the shortest way.

    >>> percentage(0.25), percentage(1 / 3)
    ('25%', '33.33%')
    """
    return f"{_number(100 * share)}%"


def _key(body: str) -> str:
    return f'<svg width="26" height="16" aria-hidden="true">{body}</svg>'


def _symbol(look: Look, x: str, y: str, more: str) -> str:
    if look.symbol in _SHAPES:
        shape = f'<path d="{_SHAPES[look.symbol]}"/>'
        return f'<svg class="symbol" x="{x}" y="{y}" overflow="visible" {look.paint}{more}>{shape}</svg>'
    radius = {"ring": 8, "none": 3}.get(look.symbol, 4)
    return f'<circle class="symbol {look.symbol}" cx="{x}" cy="{y}" r="{radius}" {look.paint}{more}/>'


def _inside(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _number(value: float) -> str:
    """Two decimals at most, and never -0."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")
