"""Vectors from a different encoder for each language: a head is trained on one and tested on the others.

Language adapters need it, and whatever else makes an encoder for each language out of one: only encoders whose vectors
mean the same can share a head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from isoglot.encoders import WordVectors
from isoglot.errors import ConfigError, locating
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.vectors import Source, TextVectors, open_vectors

#: Stands for all languages that have no encoder of their own.
OTHERS = "*"


class LanguageVectors:
    """The encoders of an encoder's name, by language; each is opened when it is needed, and one at a time.

    Args:
        sources: by language; `OTHERS` for all that are not named.
    """

    def __init__(
        self,
        name: str,
        sources: Mapping[str, Source],
        settings: HeadSettings | None = None,
        *,
        progress: Progress = silent,
    ) -> None:
        self.name, self.sources = name, dict(sources)
        self._settings, self._progress = settings, progress
        self._identities: dict[str, str] = {}
        self._opened: tuple[Source, TextVectors] | None = None

    @property
    def languages(self) -> tuple[str, ...] | None:
        return None if OTHERS in self.sources else tuple(self.sources)

    def source(self, lang: str) -> Source:
        """The encoder of a language."""
        source = self.sources.get(lang, self.sources.get(OTHERS))
        if source is None:
            remedy = f"give it one ({lang}:ENCODER), or one to all other languages ({OTHERS}:ENCODER)"
            raise ConfigError(f"has no encoder for {lang}", where=self.name, remedy=remedy)
        return source

    def vectors(self, lang: str) -> TextVectors:
        """Those of a language, opened."""
        source = self.source(lang)
        if self._opened is None or not _same(self._opened[0], source):
            self._opened = None  # before the next one is opened: two may not fit into memory
            with locating(self.name):
                self._opened = source, open_vectors(source, self._settings, progress=self._progress)
        return self._opened[1]

    def identity(self, lang: str) -> str:
        if lang not in self._identities:
            self._identities[lang] = self.vectors(lang).identity(lang)
        return self._identities[lang]

    def words(self, sentences: Sequence[Sequence[str]], lang: str, *, progress: Progress = silent) -> WordVectors:
        return self.vectors(lang).words(sentences, lang, progress=progress)

    def sentences(self, texts: Sequence[str], lang: str, *, progress: Progress = silent) -> FloatMatrix:
        return self.vectors(lang).sentences(texts, lang, progress=progress)


def _same(one: Source, other: Source) -> bool:
    if isinstance(one, str | Path) and isinstance(other, str | Path):
        return str(one) == str(other)
    return one is other
