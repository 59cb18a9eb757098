"""The page itself: head, styles, sections one after the other, and a little script of our own. No request leaves it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from importlib import resources

from isoglot.report.tables import escape

# The browser itself refuses whatever would load from elsewhere.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)


@dataclasses.dataclass(frozen=True)
class Section:
    """One part of the page: a plain-text title and an HTML body, whose texts its builder has escaped.

    `lead` is a plain-text sentence under the title that says how to read what follows.
    """

    title: str
    body: str
    lead: str = ""

    @property
    def anchor(self) -> str:
        return re.sub(r"\W+", "-", self.title.lower()).strip("-") or "section"


def render_page(title: str, header: str, sections: Sequence[Section], *, language: str = "en") -> str:
    """The whole document. `header` is HTML that stands above the sections."""
    anchors = _distinct([section.anchor for section in sections])
    links = "".join(
        f'<a href="#{escape(anchor)}">{escape(section.title)}</a>'
        for anchor, section in zip(anchors, sections, strict=True)
    )
    body = "".join(
        f'<section id="{escape(anchor)}"><h2>{escape(section.title)}</h2>'
        + (f'<p class="lead">{escape(section.lead)}</p>' if section.lead else "")
        + section.body
        + "</section>"
        for anchor, section in zip(anchors, sections, strict=True)
    )
    styles, scripts = _part("page.css"), f"<script>{_part('page.js')}</script>"
    if 'class="plot"' in body:
        styles += _part("plots.css")
        scripts += f"<script>{_part('plots.js')}</script>"
    return (
        f'<!doctype html>\n<html lang="{escape(language)}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{styles}</style></head>\n"
        f"<body><header>{header}</header><nav>{links}</nav>\n<main>{body}</main>\n"
        f"{scripts}</body></html>\n"
    )


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _distinct(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return distinct
