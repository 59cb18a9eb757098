"""Entries whose names hold languages: public vectors and dictionaries, and any two languages of one source."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from isoglot.catalogue.record import Artefact, Entry
from isoglot.suggest import choose


@dataclasses.dataclass(frozen=True)
class Family:
    """Entries for one language or two. Texts hold codes as `{src}` and `{tgt}`, and what `languages` says of these as
    `{source[field]}` and `{target[field]}`.

    Args:
        name: such as "muse/{src}-{tgt}".
        about: one line for people.
        template: fields of each `Entry`.
        languages: those that there are, with a table of texts each.
        codes: where `languages` is empty, a pattern of the codes that may be tried.
        listed: the language whose pairs with all others are fixed entries; `holds` of the other says how much is there.
        url: the address of the one file, where there are no artefacts.
        packages: all artefacts by name; the template's may be named by language: `{target[package]}`.
    """

    name: str
    about: str
    template: Mapping[str, Any]
    languages: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    codes: str = ""
    listed: str = ""
    url: str = ""
    packages: Mapping[str, Artefact] = dataclasses.field(default_factory=dict)

    @property
    def pattern(self) -> str:
        """The name as people write it: "muse/XX-YY"."""
        return self.name.format(src="XX", tgt="YY")

    def entry(self, name: str) -> Entry | None:
        """The entry of this name, if it belongs to the family."""
        code = "|".join(map(re.escape, self.languages)) or self.codes
        match = re.fullmatch(re.sub(r"\\{(\w+)\\}", rf"(?P<\1>{code})", re.escape(self.name)), name)
        if match is None or (self.languages and match["src"] == match["tgt"]):
            return None
        return self._make(*match.groups())

    def listed_entries(self) -> list[Entry]:
        return [
            self._make(self.listed, tgt, holds=about.get("holds", ""))
            for tgt, about in self.languages.items()
            if self.listed not in ("", tgt)
        ]

    def _make(self, *codes: str, **more: str) -> Entry:
        values: dict[str, Any] = dict(zip(("src", "tgt"), codes, strict=False))
        values |= zip(("source", "target"), map(self.languages.get, codes), strict=False)

        def filled(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: filled(one) for key, one in value.items()}
            return value.format_map(values) if isinstance(value, str) else value

        fields = {"name": self.name, **self.template, **more}
        if self.url:
            url = filled(self.url)
            fields["artefacts"] = (Artefact("url", url.rpartition("/")[2], url=url),)
        else:
            names = dict.fromkeys(map(filled, self.template.get("artefacts", ())))
            fields["artefacts"] = tuple(choose("artefact", name, self.packages) for name in names)
        return Entry(languages=codes, **filled(fields))
