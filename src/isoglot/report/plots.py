"""Plots as data: a placeholder on the page and a JSON figure that plotly.js draws when the page opens.

Figures are plain dictionaries in plotly's schema. A colour may name one of the page's CSS variables ("--src"): the
page's script puts in the value, so that plots follow the reader's light or dark setting.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from isoglot.errors import MissingExtraError
from isoglot.report.tables import escape


def plot(
    traces: Sequence[dict[str, Any]], layout: dict[str, Any], *, label: str, height: int = 360, zoom: bool = False
) -> str:
    """HTML of one plot. `label` describes it to those who cannot see it; `zoom` gives it tools to look closer.

    Words in traces must be escaped: plotly reads tags and entities in its texts.

    >>> "plot" in plot([{"x": [1], "y": [2]}], {}, label="one point")
    True
    """
    # "<" never stands literally inside the script element, so no text can end it.
    data = json.dumps({"data": list(traces), "layout": layout}, ensure_ascii=False, allow_nan=False)
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    mark = " data-zoom" if zoom else ""
    return (
        f'<div class="plot"{mark} role="img" aria-label="{escape(label)}" style="height:{height}px">'
        f'<script type="application/json">{data}</script></div>'
    )


def line(
    name: str, x: Sequence[Any], y: Sequence[Any], colour: str | None = None, dash: str = "solid"
) -> dict[str, Any]:
    """The trace of a curve with markers, its values in %; without a colour plotly chooses one."""
    looks = {} if colour is None else {"line": {"color": colour, "dash": dash}, "marker": {"color": colour, "size": 6}}
    hover = "%{y:.1f}%<extra>" + escape(name) + "</extra>"
    trace = {"type": "scatter", "mode": "lines+markers", "name": escape(name), "x": list(x), "y": list(y)}
    return {**trace, "hovertemplate": hover, **looks}


def whiskers(values: Sequence[float], bounds: Sequence[Sequence[float]], **looks: Any) -> dict[str, Any]:
    """Error bars from intervals (low, high) around values."""
    above = [max(0.0, high - value) for value, (_, high) in zip(values, bounds, strict=True)]
    below = [max(0.0, value - low) for value, (low, _) in zip(values, bounds, strict=True)]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **looks}


def plotly_script() -> str:
    """The text of plotly.js, from the installed Python package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("plotly", "report", "the report page") from error
    return str(get_plotlyjs())
