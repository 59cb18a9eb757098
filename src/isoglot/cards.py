"""Model cards: the README.md of what we save, as people and model hubs read it.

Writers give plain data and this module gives it its form, so that all cards look alike: front matter, what it is, made
from what, how, how measured, how to use, limits, licences. What was not measured is not claimed, and a licence that
is not known is said not to be known.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.card_content import CARD, Source, Table, Usage, hub_licence, inline, shown
from isoglot.languages import short_code


@dataclasses.dataclass(frozen=True)
class Card:
    """All that a card says.

    Args:
        title, summary: what it is.
        languages: codes; those that are no known codes are left out of the front matter.
        library: the hub's name for what loads it.
        pipeline: the hub's name for what it does, if it has one.
        method: how it was made, in a sentence or two.
        figures: empty if nothing was measured, which the card then says.
        usage: how to load and use it.
        limits: what it cannot do, and what its makers were warned of.
    """

    title: str
    summary: str
    languages: Sequence[str]
    usage: Sequence[Usage]
    method: str = ""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    sources: Sequence[Source] = ()
    figures: Sequence[Table] = ()
    limits: Sequence[str] = ()
    versions: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    library: str = "isoglot"
    pipeline: str = ""
    tags: Sequence[str] = ()

    def text(self) -> str:
        """The whole card."""
        parts = [
            *self._front_matter(),
            "",
            f"# {inline(self.title)}",
            "",
            self.summary,
            "",
            "## How to use it",
            "",
            *self._how_to_use(),
            "## What it was made from",
            "",
            *self._made_from(),
            "",
            "## How it was made",
            "",
            *self._how_made(),
            "## How it was measured",
            "",
            *self._how_measured(),
            "## Limits",
            "",
            *(f"- {inline(limit)}" for limit in self.limits),
            "",
            "## Licence",
            "",
            self._licence(),
            "",
        ]
        return "\n".join(parts)

    def write(self, folder: Path) -> None:
        """Put the card into a folder that is being written."""
        (folder / CARD).write_text(self.text(), "utf-8", errors="backslashreplace")

    def _front_matter(self) -> list[str]:
        codes = list(dict.fromkeys(code for lang in self.languages if (code := _code(lang))))
        licence = hub_licence([source.licence for source in self.sources])
        fields: list[str] = []
        for name, values in (("language", codes), ("tags", ["isoglot", *self.tags])):
            # JSON's quotes are also those of YAML, where a bare `no` would not be Norwegian.
            fields += [f"{name}:", *(f"- {json.dumps(value)}" for value in values)] if values else []
        fields.append(f"license: {licence}")
        fields += ["license_name: see-the-sources"] if licence == "other" else []
        fields.append(f"library_name: {self.library}")
        fields += [f"pipeline_tag: {self.pipeline}"] if self.pipeline else []
        return ["---", *fields, "---"]

    def _how_to_use(self) -> list[str]:
        lines = []
        for usage in self.usage:
            lines += [usage.text, "", "```python", *usage.code, "```", ""]
        return lines

    def _made_from(self) -> list[str]:
        if not self.sources:
            return ["This was not recorded."]
        rows = [
            (one.what, f"`{one.name}`" if one.name else "given in memory", one.content, one.fingerprint, one.licence)
            for one in self.sources
        ]
        return _table(
            ["what", "name", "content", "fingerprint", "licence"],
            [[*row, licence or "not known"] for *row, licence in rows],
        )

    def _how_made(self) -> list[str]:
        lines = [self.method or "This was not recorded.", ""]
        settings = {**_flat(self.settings), **{f"version of {name}": value for name, value in self.versions.items()}}
        return [*lines, *_table(["setting", "value"], list(settings.items())), ""] if settings else lines

    def _how_measured(self) -> list[str]:
        if not self.figures:
            return ["Nothing was measured when this was saved.", ""]
        return [line for one in self.figures for line in (one.caption, "", *_table(one.head, one.rows), "")]

    def _licence(self) -> str:
        unknown = [one for one in self.sources if not one.licence]
        if not self.sources:
            return "Not known: it was not recorded what this was made from."
        if unknown:
            names = ", ".join(dict.fromkeys(f"`{one.name}`" if one.name else f"the {one.what}" for one in unknown))
            return f"Not known: check the licences of {inline(names)} before you share this."
        return "The licences of its sources apply, as listed above."


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Settings within settings as `outer.inner`."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found.update(_flat(value, f"{before}{name}."))
        else:
            found[f"{before}{name}"] = value
    return found


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(shown(cell).replace("|", "\\|") for cell in line) + " |" for line in lines]


def _code(lang: str) -> str:
    """A language's code as hubs know it, whatever stands behind it (zh-Hant, en.src)."""
    return short_code(re.split("[-_.]", lang)[0])
