"""The report page: one HTML file that shows how good an alignment is and why, and loads nothing from elsewhere.

Fill in a `Report` with what a run produced; parts that are empty are left out of the page. Further sections, of any
kind, go into `sections`; the builders in `isoglot.report` make the standard ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.files import atomic_path
from isoglot.report.answers import answers_section
from isoglot.report.bands import bands_section
from isoglot.report.figures import figures_section
from isoglot.report.hubs import HubnessCounts, hubness_section
from isoglot.report.maps import LanguageMap, maps_section
from isoglot.report.page import Section, render_page
from isoglot.report.provenance import DataSource, provenance_section
from isoglot.report.tables import escape, percent
from isoglot.tasks import Result


@dataclasses.dataclass(frozen=True)
class Report:
    """What the page shows.

    Args:
        title, subtitle: plain text.
        languages: source and target, as people call them.
        method: the aligner's name.
        settings: method, retrieval and the like, in readable values.
        notes: sentences a reader must see first, e.g. that the data is generated.
        results: figures; the first is the primary one. Items of a BLI result give the sections by frequency and
            on hits and misses.
        maps: usually two, before and after (`draw_map`).
        hubness: usually two, before and after (`count_hubs`).
        data: what went in.
        sections: further sections, shown before data and settings.

    >>> report = Report("English - French", results=[Result("bli", "P@1", 0.5, 1500, 0.98, {})])
    >>> "50.0" in render_report(report)
    True
    """

    title: str
    subtitle: str = ""
    languages: tuple[str, str] | None = None
    method: str = ""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: Sequence[str] = ()
    results: Sequence[Result] = ()
    maps: Sequence[LanguageMap] = ()
    hubness: Sequence[HubnessCounts] = ()
    data: Sequence[DataSource] = ()
    seed: int | None = None
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    sections: Sequence[Section] = ()


def write_report(path: str | Path, report: Report) -> None:
    """Write the page to `path`, atomically."""
    text = render_report(report)
    with atomic_path(path) as temporary:
        # A lone surrogate, which some vocabularies hold, is shown as a question mark rather than losing the page.
        temporary.write_text(text, encoding="utf-8", errors="replace")


def render_report(report: Report) -> str:
    """The page's HTML."""
    sections = []
    if report.results:
        sections.append(figures_section(report.results))
    if report.maps:
        sections.append(maps_section(report.maps))
    if report.hubness:
        sections.append(hubness_section(report.hubness))
    items = _with_items(report.results)
    if items is not None:
        sections += [bands_section(items), answers_section(items)]
    sections += report.sections
    if report.data or report.settings or report.versions or report.seed is not None:
        sections.append(provenance_section(report.data, report.settings, report.versions, report.seed))
    return render_page(report.title, _header(report), sections)


def _with_items(results: Sequence[Result]) -> Result | None:
    """The BLI result whose items cover most: the full test set, at the primary metric."""
    primary = [r for r in results if r.task == "bli" and r.per_item and r.metric == results[0].metric]
    return max(primary, key=lambda result: result.n, default=None)


def _header(report: Report) -> str:
    parts = [f"<h1>{escape(report.title)}</h1>"]
    if report.subtitle:
        parts.append(f'<p class="subtitle">{escape(report.subtitle)}</p>')
    if report.notes:
        parts.append('<ul class="notes">' + "".join(f"<li>{escape(note)}</li>" for note in report.notes) + "</ul>")
    cards = []
    if report.results:
        first = report.results[0]
        interval = (
            "" if first.interval is None else f", 95% {percent(first.interval[0])} – {percent(first.interval[1])}"
        )
        denominator = str(first.protocol.get("denominator", ""))
        cards.append((f"{percent(first.value)}%", f"{first.metric} {denominator}{interval}"))
        cards.append((f"{percent(first.coverage)}%", f"of the test words can be asked ({first.n:,} words)"))
    if report.languages:
        cards.append((" → ".join(report.languages), "languages"))
    if report.method:
        cards.append((report.method, "method"))
    if cards:
        body = "".join(
            f'<div class="card"><b>{escape(big)}</b><span>{escape(small)}</span></div>' for big, small in cards
        )
        parts.append(f'<div class="cards">{body}</div>')
    return "".join(parts)
