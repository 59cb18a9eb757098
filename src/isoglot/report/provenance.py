"""Where the data came from, and what is needed to run this again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.report.page import Section
from isoglot.report.tables import escape, table


@dataclasses.dataclass(frozen=True)
class DataSource:
    """One file or package that went into the run. `size` in bytes; `content` says what was taken from it."""

    name: str
    content: str = ""
    licence: str = ""
    origin: str = ""
    sha256: str = ""
    size: int | None = None


def provenance_section(
    data: Sequence[DataSource], settings: Mapping[str, Any], versions: Mapping[str, str], seed: int | None
) -> Section:
    """Tables of data, settings and versions; empty ones are left out."""
    parts = []
    if data:
        rows = [[one.name, one.content, one.licence, one.origin, _size(one.size), one.sha256[:16]] for one in data]
        parts.append(table(["data", "content", "licence", "from", "size", "sha256"], rows, numeric=[4]))
        digests = "".join(f"<code>{escape(one.sha256)}</code> {escape(one.name)}<br>" for one in data if one.sha256)
        if digests:
            parts.append(f'<details><summary class="more">full checksums</summary>{digests}</details>')
    run = dict(settings) if seed is None else {**settings, "seed": seed}
    columns = [
        table([title, ""], [[name, value] for name, value in entries.items()])
        for title, entries in (("settings", run), ("versions", versions))
        if entries
    ]
    if columns:
        parts.append(f'<div class="pair" style="margin-top:14px">{"".join(columns)}</div>')
    return Section("Data and settings", "".join(parts))


def _size(size: int | None) -> str:
    if size is None:
        return ""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
