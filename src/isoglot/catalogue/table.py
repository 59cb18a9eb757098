"""The table of the catalogue, read from `data/*.toml`, and finding an entry in it by name.

A file holds `[artefact.NAME]`, `[entry."KIND/NAME"]` or `[[family]]` tables; what they have in common stands in
`[common]`, and the languages of its families in `[languages]`.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from isoglot.assignments import check_known
from isoglot.catalogue.families import Family
from isoglot.catalogue.record import KINDS, Artefact, Entry
from isoglot.errors import ConfigError, FormatError, locating
from isoglot.settings import check_settings
from isoglot.suggest import choose, hint

T = TypeVar("T", Artefact, Entry)

_TABLES = ("common", "artefact", "entry", "family", "languages")


def entries() -> tuple[Entry, ...]:
    """All fixed entries, by kind and name."""
    return tuple(_catalogue().entries.values())


def families() -> tuple[Family, ...]:
    """Entries that are made when they are asked for, by kind."""
    return _catalogue().families


def entry(name: str) -> Entry:
    """The entry of this name; a wrong name is an error that suggests the nearest known one.

    >>> entry("vectors/fr").languages, entry("muse/en-fr.train").source
    (('fr',), 'https://dl.fbaipublicfiles.com/arrival/dictionaries/en-fr.0-5000.txt')
    """
    found = _catalogue().find(name)
    if found is None:
        remedy = hint(name, _catalogue().entries, "`isoglot data list` shows all names")
        raise ConfigError(f"no entry {name!r}", where="catalogue", remedy=remedy)
    return found


def has_entry(name: str) -> bool:
    """Whether `entry(name)` would find something.

    >>> has_entry("lexicon/fr-it"), has_entry("lexicon/fr-xx")
    (True, False)
    """
    return _catalogue().find(name) is not None


def is_shared(artefact: Artefact) -> bool:
    """Whether several entries are read from this file, so that it is worth keeping."""
    return _uses()[artefact.filename] > 1


@dataclasses.dataclass(frozen=True)
class Catalogue:
    """Fixed entries by name, and families."""

    entries: Mapping[str, Entry]
    families: tuple[Family, ...]

    def find(self, name: str) -> Entry | None:
        return self.entries.get(name) or next((made for one in self.families if (made := one.entry(name))), None)


def read_catalogue(folder: Path) -> Catalogue:
    """What the TOML files of a folder describe; a field that is unknown, missing or wrong is an error."""
    files = {path: tomllib.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.toml"))}
    artefacts: dict[str, Artefact] = {}
    for path, content in files.items():
        with locating(str(path)):
            check_known(content, _TABLES, "a file of the catalogue")
            for name, table in content.get("artefact", {}).items():
                artefacts[name] = _record(Artefact, {"package": name, **content["common"], **table})
    fixed: list[Entry] = []
    families: list[Family] = []
    for path, content in files.items():
        with locating(str(path)):
            for name, table in content.get("entry", {}).items():
                fields = {**content.get("common", {}), **table}
                used = tuple(choose("artefact", one, artefacts) for one in fields.get("artefacts", ()))
                fields |= {"artefacts": used, "languages": tuple(fields.get("languages", ()))}
                fixed.append(_record(Entry, {"name": name, **fields}))
            for table in content.get("family", []):
                fields = {**content.get("common", {}), **table}
                own = {key: fields.pop(key) for key in ("name", "about", "codes", "listed", "url") if key in fields}
                check_known(fields, _names(Entry), own["name"])
                languages = content.get("languages", {})
                families.append(Family(**own, template=fields, languages=languages, packages=artefacts))
                fixed += families[-1].listed_entries()
    fixed.sort(key=lambda item: (KINDS.index(item.kind), item.name))
    families.sort(key=lambda family: KINDS.index(family.template["kind"]))
    return Catalogue({item.name: item for item in fixed}, tuple(families))


def _record(kind: type[T], fields: Mapping[str, Any]) -> T:
    name = fields.get("name", fields.get("package"))
    check_known(fields, _names(kind), str(name))
    for field in dataclasses.fields(kind):
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and not fields.get(field.name):
            raise FormatError(f"{name} has no {field.name}")
    record = kind(**fields)
    check_settings(record, {"kind": KINDS, "channel": ("package", "debian", "url")})
    return record


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


@functools.lru_cache(maxsize=1)
def _catalogue() -> Catalogue:
    return read_catalogue(Path(__file__).parent / "data")


@functools.lru_cache(maxsize=1)
def _uses() -> Counter[str]:
    return Counter(artefact.filename for item in entries() for artefact in item.artefacts)
