"""Axes of a chart: what they span, where their ticks are, and where a value lies between their ends."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

#: Room left at either end, as a share of what the data span.
_PAD = 0.04
#: Ticks of a linear axis, about; of more than this many, every second gives way on a narrow screen.
_TICKS, _NARROW_TICKS = 6, 7


@dataclasses.dataclass(frozen=True)
class Tick:
    """A place on an axis, from 0 to 1, and its label; an `extra` one is left out where there is little room."""

    place: float
    label: str
    extra: bool = False


@dataclasses.dataclass(frozen=True)
class Axis:
    """What is asked of an axis.

    Args:
        title: what is shown along it, with the unit.
        low, high: its ends; default those of the data and a little more.
        zero: let it begin at 0, or end there if all values are negative.
        names: labels of the places 0, 1, 2, ... of an axis without numbers.
        log: equal ratios are equally far apart.
        whole: ticks at whole numbers only.
        bare: no ticks.
    """

    title: str = ""
    low: float | None = None
    high: float | None = None
    zero: bool = False
    names: tuple[str, ...] = ()
    log: bool = False
    whole: bool = False
    bare: bool = False

    def scale(self, values: Iterable[float], *, downwards: bool = False) -> Scale:
        """The axis for these values; `downwards` puts the first name at the high end, which is the top.

        >>> scale = Axis(low=0, high=100).scale([])
        >>> scale.place(25.0), [tick.label for tick in scale.ticks]
        (0.25, ['0', '20', '40', '60', '80', '100'])
        """
        if self.names:
            count = len(self.names)
            low, high = (count - 0.5, -0.5) if downwards else (-0.5, count - 0.5)
            scale = Scale(low, high, ())
            return Scale(low, high, tuple(Tick(scale.place(i), name) for i, name in enumerate(self.names)))
        if self.log:
            low, high = self._ends([math.log10(value) for value in values if value > 0])
            return Scale(low, high, _log_ticks(low, high), log=True)
        low, high = self._ends(list(values))
        return Scale(low, high, () if self.bare else _linear_ticks(low, high, self.whole))

    def _ends(self, values: list[float]) -> tuple[float, float]:
        low, high = min(values, default=0.0), max(values, default=1.0)
        pad = _PAD * (high - low)
        if self.zero:
            low, high = (0.0, high + pad) if low >= 0 else (min(low - pad, 0.0), max(high + pad, 0.0))
        else:
            low, high = low - pad, high + pad
        low, high = (low if self.low is None else self.low), (high if self.high is None else self.high)
        # One value throughout stands in the middle of something.
        return (low, high) if high > low else (low - 0.5, low + 0.5)


@dataclasses.dataclass(frozen=True)
class Scale:
    """An axis with its ends; of a logarithmic one they are exponents."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high one."""
        if self.log:
            value = math.log10(value)
        return (value - self.low) / (self.high - self.low)


def _linear_ticks(low: float, high: float, whole: bool) -> tuple[Tick, ...]:
    step = _step((high - low) / _TICKS)
    if whole:
        # Layers and epochs: each has its tick while there are few.
        step = 1.0 if high - low < 17 else max(1.0, step)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    many = last - first + 1 > _NARROW_TICKS
    return tuple(
        Tick((k * step - low) / (high - low), f"{k * step + 0.0:,.{digits}f}", many and k % 2 == 1)
        for k in range(first, last + 1)
    )


def _step(rough: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is no smaller."""
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _log_ticks(low: float, high: float) -> tuple[Tick, ...]:
    """Powers of ten, and twice and five times these where the axis is short."""
    factors = (1, 2, 5) if high - low < 3 else (1,)
    ticks = []
    for exponent in range(math.floor(low), math.ceil(high) + 1):
        for factor in factors:
            place = (exponent + math.log10(factor) - low) / (high - low)
            if -1e-9 <= place <= 1 + 1e-9:
                ticks.append(Tick(place, f"{factor * 10.0**exponent:,g}", factor != 1 and high - low > 1))
    return tuple(ticks)
