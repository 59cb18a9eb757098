"""Where a frozen head's vectors come from: an encoder, an aligned encoder, or static vectors of each language."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol, get_args

import numpy as np

from isoglot import catalogue
from isoglot.aligned import ALIGNED_FOLDER, Aligned
from isoglot.aligners import Side
from isoglot.encoders import AlignedEncoder, Encoder, WordVectors, check_encoder, is_aligned_folder, parse_layers
from isoglot.encoders.gguf import gguf_file
from isoglot.encoders.names import find_model
from isoglot.errors import ConfigError, InputError
from isoglot.progress import Progress, silent
from isoglot.resumable import digest
from isoglot.spaces import FloatMatrix, IntVector, Space
from isoglot.transfer.settings import HeadSettings

_SIDES: tuple[Side, ...] = get_args(Side)


class TextVectors(Protocol):
    """Vectors of words and sentences, by language."""

    @property
    def name(self) -> str: ...

    @property
    def languages(self) -> tuple[str, ...] | None:
        """The languages that it has vectors or maps for; None if it takes any text."""

    def identity(self, lang: str) -> str:
        """Tells its vectors of a language from those of all others."""

    def words(self, sentences: Sequence[Sequence[str]], lang: str, *, progress: Progress = silent) -> WordVectors: ...

    def sentences(self, texts: Sequence[str], lang: str, *, progress: Progress = silent) -> FloatMatrix: ...


#: What `run_transfer` and `fit_head` take as an encoder.
Source = str | Path | Encoder | AlignedEncoder | Aligned | Space | TextVectors


@dataclasses.dataclass(frozen=True, eq=False)
class EncoderVectors:
    """Of an encoder, in whatever language the text is."""

    encoder: Encoder
    languages: None = None

    def __post_init__(self) -> None:
        if self.encoder.mapped:
            remedy = "give the folder of the aligned encoder, without a language"
            raise ConfigError("this encoder has the map of one language", where=self.name, remedy=remedy)

    @property
    def name(self) -> str:
        return self.encoder.name

    @cached_property
    def _identity(self) -> str:
        return _encoder_identity(self.encoder)

    def identity(self, lang: str) -> str:
        return self._identity

    def words(self, sentences: Sequence[Sequence[str]], lang: str, *, progress: Progress = silent) -> WordVectors:
        return self.encoder.words(sentences, progress=progress)

    def sentences(self, texts: Sequence[str], lang: str, *, progress: Progress = silent) -> FloatMatrix:
        return self.encoder.sentences(texts, progress=progress)


@dataclasses.dataclass(frozen=True, eq=False)
class AlignedVectors:
    """Of an aligned encoder: each language's vectors come out through its own map."""

    encoder: AlignedEncoder

    @property
    def name(self) -> str:
        return self.encoder.encoder.name

    @property
    def languages(self) -> tuple[str, ...]:
        return self.encoder.languages

    @cached_property
    def _identity(self) -> str:
        # What a map does is what it is: maps have no other digest once they are in memory.
        width = self.encoder.encoder.model.width if self.encoder.each else self.encoder.encoder.dim
        rows = np.random.default_rng(0).standard_normal((4, width)).astype(np.float32)
        mapped = [one.transform(rows, side).tobytes().hex() for one in self.encoder.alignments for side in _SIDES]
        return digest(_encoder_identity(self.encoder.encoder), self.encoder.level, mapped)

    def identity(self, lang: str) -> str:
        return digest(self._identity, self.encoder.side(lang))

    def words(self, sentences: Sequence[Sequence[str]], lang: str, *, progress: Progress = silent) -> WordVectors:
        return self.encoder.words(sentences, lang, progress=progress)

    def sentences(self, texts: Sequence[str], lang: str, *, progress: Progress = silent) -> FloatMatrix:
        return self.encoder.sentences(texts, lang, progress=progress)


@dataclasses.dataclass(frozen=True, eq=False)
class StaticVectors:
    """Of words, each always the same; those without a vector are zero and carry a flag, the last dimension.

    A word that is not known as it is written is looked up in lower case.

    >>> space = Space("en", ["a", "cat"], np.eye(2, dtype=np.float32))
    >>> toy = StaticVectors("toy", {"en": space})
    >>> toy.words([["A", "dog"]], "en")[0].tolist(), toy.coverage([["A", "dog"]], "en")
    ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 0.5)
    """

    name: str
    spaces: Mapping[str, Space]

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.spaces)

    def identity(self, lang: str) -> str:
        return digest("static", self._space(lang).fingerprint())

    def words(self, sentences: Sequence[Sequence[str]], lang: str, *, progress: Progress = silent) -> WordVectors:
        space, rows = self._space(lang), self._rows(sentences, lang)
        vectors = np.zeros((len(rows), space.dim + 1), dtype=np.float32)
        known = rows >= 0
        vectors[known, :-1] = space.vectors[rows[known]]
        vectors[~known, -1] = 1.0
        offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
        progress("looking words up", 1, 1)
        return WordVectors(sentences, vectors, offsets)

    def sentences(self, texts: Sequence[str], lang: str, *, progress: Progress = silent) -> FloatMatrix:
        words = self.words([text.split() for text in texts], lang, progress=progress)
        means = [rows.mean(axis=0) if len(rows) else np.zeros(words.dim, dtype=np.float32) for rows in words]
        return np.array(means, dtype=np.float32).reshape(len(texts), words.dim)

    def coverage(self, sentences: Sequence[Sequence[str]], lang: str) -> float:
        """The share of the words, as often as they occur, that have a vector."""
        rows = self._rows(sentences, lang)
        return float((rows >= 0).mean()) if len(rows) else 0.0

    def _rows(self, sentences: Sequence[Sequence[str]], lang: str) -> IntVector:
        """The row of every word; -1 if it has none."""
        space = self._space(lang)
        flat = [word for words in sentences for word in words]
        rows = space.rows(flat)
        unknown = np.flatnonzero(rows < 0)
        rows[unknown] = space.rows(flat[place].lower() for place in unknown.tolist())
        return rows

    def _space(self, lang: str) -> Space:
        if lang not in self.spaces:
            known = ", ".join(self.spaces)
            raise ConfigError(
                f"there are no vectors of {lang!r}", where=self.name, remedy=f"there are those of {known}"
            )
        return self.spaces[lang]


def open_vectors(source: Source, settings: HeadSettings | None = None, *, progress: Progress = silent) -> TextVectors:
    """The vectors of an encoder (see `Encoder`), an aligned encoder, aligned spaces or one Space; a folder, file or
    name of any of these will do."""
    settings = settings or HeadSettings()
    chosen = {key: getattr(settings, key) for key in ("layer", "pooling", "sentence_pooling")}
    chosen = {key: value for key, value in chosen.items() if value}
    if isinstance(source, Encoder):
        return EncoderVectors(source)
    if isinstance(source, AlignedEncoder):
        return AlignedVectors(source)
    if isinstance(source, Aligned):
        return StaticVectors("aligned spaces", source.spaces)
    if isinstance(source, Space):
        return StaticVectors(source.source or source.lang, {source.lang: source})
    if not isinstance(source, str | Path):
        return source
    folder = Path(source).expanduser()
    if ALIGNED_FOLDER.owns(folder):
        return StaticVectors(str(source), Aligned.load(folder).spaces)
    if is_aligned_folder(folder):
        aligned = AlignedEncoder.load(folder, progress=progress)
        _check_same(aligned.encoder, chosen, str(source))
        return AlignedVectors(aligned)
    if _is_space(source):
        space = Space.load(source, progress=progress)
        if not space.lang:
            raise InputError(
                "does not say which language it is of", where=str(source), remedy="name it like wiki.en.vec"
            )
        return StaticVectors(str(source), {space.lang: space})
    return EncoderVectors(Encoder(source, progress=progress, **chosen))


def check_source(source: Source, settings: HeadSettings) -> None:
    """Raise before any work for what cannot be found, or cannot be trained."""
    static = isinstance(source, Aligned | Space | StaticVectors)
    mapped = isinstance(source, AlignedEncoder | AlignedVectors)
    if isinstance(source, str | Path):
        folder = Path(source).expanduser()
        static, mapped = ALIGNED_FOLDER.owns(folder) or _is_space(source), is_aligned_folder(folder)
        if not static and not mapped:
            check_encoder(source)
            find_model(source)
    if (static or mapped) and settings.weights != "frozen":
        what = f"{'static vectors' if static else 'an aligned encoder'} cannot be trained"
        where = str(source) if isinstance(source, str | Path) else None
        raise ConfigError(what, where=where, remedy="set `weights` to frozen")


def _check_same(encoder: Encoder, chosen: Mapping[str, str], where: str) -> None:
    """What is chosen must be what an aligned encoder has already, so that it can stand beside the encoder as it is."""
    for key, value in chosen.items():
        own = encoder.layers if key == "layer" else getattr(encoder, key)
        if own != (parse_layers(value, encoder.model.depth) if key == "layer" else value):
            what = f"the maps of this aligned encoder are for `{key}` {own}, not {value}"
            raise ConfigError(what, where=where, remedy=f"set `{key}` to {own}")


def _is_space(source: str | Path) -> bool:
    if Path(source).expanduser().is_file():
        return gguf_file(Path(source)) is None
    return catalogue.has_entry(str(source)) and catalogue.entry(str(source)).kind == "vectors"


def _encoder_identity(encoder: Encoder) -> str:
    parts = [str(encoder.layers), encoder.pooling, encoder.sentence_pooling, encoder.max_length, encoder.overlap]
    return digest(encoder.model.fingerprint(), *parts, encoder.prompt, encoder.echo)
