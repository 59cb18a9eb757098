"""Clouds: many words as points of a plane, to look into. The page's script zooms, moves and names points.

A cloud is one path however many points it has, with a dot of its own at each: thousands stay quick to draw.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from isoglot.report.axes import Axis
from isoglot.report.labels import safe
from isoglot.report.plots import figure, legend
from isoglot.report.series import UNITS, percentage, stretched

#: The key of lines between points in a legend.
LINKS = "links"
#: Room around all points, as a share of what they span.
MARGIN = 0.06

_BUTTONS = (
    '<div class="zoom" hidden><button type="button" data-zoom="in" aria-label="zoom in">+</button>'
    '<button type="button" data-zoom="out" aria-label="zoom out">−</button>'
    '<button type="button" data-zoom="reset" aria-label="show all">⤢</button></div>'
)

Points = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Cloud:
    """Points of one kind, the most important first; `words` name them, or are empty."""

    name: str
    points: npt.ArrayLike  # (n, 2)
    colour: str
    words: Sequence[str] = ()
    symbol: Literal["dot", "square"] = "dot"


def cloud_plot(
    clouds: Sequence[Cloud],
    *,
    label: str,
    titles: tuple[str, str],
    links: str = "",
    labelled: Collection[tuple[int, int]] = (),
    height: int = 440,
    square: bool = False,
) -> str:
    """HTML of a picture of clouds.

    Args:
        label: describes it to those who cannot see it.
        titles: of the axes.
        links: what lines are that join point i of the first cloud to point i of the second; none without it.
        labelled: (cloud, point) whose words are written from the start.
        square: distances are the same in both directions, whatever the screen.

    >>> text = cloud_plot([Cloud("en", [[0, 0], [1, 2]], "--src", ["a", "b"])], label="x", titles=("first", "second"))
    >>> text.count("h0"), "zoom" in text  # one dot of them in the legend
    (3, True)
    """
    placed = [places(one) for one in frame([np.asarray(cloud.points, dtype=np.float64) for cloud in clouds], square)]
    parts = []
    if links:
        lines = "".join(f"M{a}L{b}" for a, b in zip(placed[0], placed[1], strict=True))
        parts.append(f'<path class="links" data-key="{LINKS}" d="{lines}"/>')
    for key, (cloud, own) in enumerate(zip(clouds, placed, strict=True)):
        dots = "".join(f"M{place}h0" for place in own)
        if dots:
            parts.append(f'<path data-key="{key}" {_look(cloud)} d="{dots}"/>')
    texts = [_label(clouds[key], key, i, placed[key][i]) for key, i in sorted(labelled)]
    drawing = f'{stretched("".join(parts))}<g class="words">{"".join(texts)}</g>'
    dot = '<svg width="16" height="16" aria-hidden="true"><path {} d="M8 8h0"/></svg>'
    entries = [(str(key), cloud.name, dot.format(_look(cloud))) for key, cloud in enumerate(clouds) if len(placed[key])]
    if links:
        picture = '<svg width="26" height="16" aria-hidden="true"><path class="links" d="M1 8H25"/></svg>'
        entries.append((LINKS, links, picture))
    named = [list(cloud.words) for cloud in clouds] if all(cloud.words for cloud in clouds) else []
    more = _words_script(named, bool(links)) + _BUTTONS if named else ""
    kind = "cloud square" if square else "cloud"
    axes = (Axis(titles[0], bare=True), Axis(titles[1], bare=True))
    return figure(drawing, legend(entries), *axes, label=label, height=height, kind=kind, more=more)


def frame(clouds: Sequence[Points], square: bool = False) -> list[Points]:
    """All points as shares of one area with a margin, from the left and from the top."""
    every = np.concatenate(clouds)
    low, high = every.min(axis=0), every.max(axis=0)
    extent = np.maximum(high - low, 1e-9)
    if square:
        extent = np.maximum(extent, extent.max())
    start = (low + high - extent) / 2
    shares = [MARGIN + (1 - 2 * MARGIN) * (points - start) / extent for points in clouds]
    return [np.column_stack([own[:, 0], 1 - own[:, 1]]) for own in shares]


def places(shares: Points) -> list[str]:
    return [f"{x:g} {y:g}" for x, y in (UNITS * shares).round(1).tolist()]


def _look(cloud: Cloud) -> str:
    return f'class="dots {cloud.symbol}" {_paint(cloud)}'


def _paint(cloud: Cloud) -> str:
    return f'style="color:var({cloud.colour})"'


def _label(cloud: Cloud, key: int, i: int, place: str) -> str:
    x, y = (percentage(float(number) / UNITS) for number in place.split())
    return f'<text data-key="{key}" {_paint(cloud)} x="{x}" y="{y}" dy="-6">{safe(cloud.words[i])}</text>'


def _words_script(words: Sequence[Sequence[str]], paired: bool) -> str:
    data = json.dumps({"words": words, "paired": paired}, ensure_ascii=False, separators=(",", ":"))
    # "<" never stands literally inside the script element, so no text can end it.
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f'<script type="application/json">{data}</script>'
