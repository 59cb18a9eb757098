"""What an aligned encoder's folder says: the encoder, its layers, and the learned map or maps of each language."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np

from isoglot.aligners import Alignment, Side
from isoglot.encoders.layers import Combination, combine_layers, parse_layers
from isoglot.errors import ConfigError, FormatError, locating
from isoglot.folders import FolderKind, Manifest
from isoglot.spaces import FloatMatrix

ALIGNED_ENCODER_FOLDER = FolderKind("isoglot-aligned-encoder", "an aligned encoder", "`isoglot encoder align`")
#: More layers than any encoder has.
_MOST_LAYERS = 1000
_MOST_DIMENSIONS = 1_000_000

Level = Literal["word", "sentence"]


@dataclasses.dataclass(frozen=True, eq=False)
class LayerMaps:
    """The maps of one language.

    Args:
        encoder: folder of the encoder itself.
        layers: as a text, see `isoglot.encoders.layers`.
        alignments: one for the combined vector, or one for each layer, whose results are put together as `layers` says.
        each: whether there is one for each layer.
        level: "word" if learned on words in context, "sentence" if learned on sentence vectors.
        side: which side of the alignments this language is.
        prompt, echo: how texts are shown to the encoder, see `Encoder`.
    """

    encoder: str
    layers: str
    pooling: str
    sentence_pooling: str
    level: Level
    each: bool
    alignments: tuple[Alignment, ...]
    side: Side
    prompt: str = ""
    echo: bool = False

    def apply(self, states: FloatMatrix) -> FloatMatrix:
        """Map states (k, n, d) of all layers, or (1, n, d) already combined, to (n, d')."""
        if len(states) != len(self.alignments):
            raise FormatError(f"{len(self.alignments)} maps for {len(states)} layers", where=self.encoder)
        with np.errstate(all="ignore"):  # NaN and infinity of a damaged encoder are told with the text that gave them
            mapped = [
                alignment.transform(layer, self.side) for alignment, layer in zip(self.alignments, states, strict=True)
            ]
        return combine_layers(mapped, self._combination)

    def apply_tokens(self, states: FloatMatrix) -> FloatMatrix:
        """The same as (1, n, d')."""
        return self.apply(states)[None]

    @cached_property
    def dim(self) -> int:
        """Dimensions of mapped vectors."""
        dims = [_mapped_dim(alignment, self.side) for alignment in self.alignments]
        return sum(dims) if self._combination == "concatenate" else dims[0]

    @property
    def _combination(self) -> Combination:
        return parse_layers(self.layers, _MOST_LAYERS).combination


def is_aligned_folder(folder: Path) -> bool:
    """Whether `AlignedEncoder.save` wrote this folder."""
    return ALIGNED_ENCODER_FOLDER.owns(folder)


def read_alignments(manifest: Manifest) -> tuple[Alignment, ...]:
    """The maps of a folder, one or one for each layer."""
    number = manifest.integer("alignments", least=1, most=_MOST_LAYERS)
    folders = [manifest.folder / "alignments" / str(i) for i in range(number)]
    found = []
    for folder in folders:
        alignment = Alignment.load(folder)
        with locating(str(folder)):
            for side in get_args(Side):
                _mapped_dim(alignment, side)  # raises if its figures and its maps do not fit
        found.append(alignment)
    return tuple(found)


def _mapped_dim(alignment: Alignment, side: Side) -> int:
    """Dimensions of vectors after the map of one side."""
    figures = alignment.info.get(side)
    width = figures.get("dim") if isinstance(figures, Mapping) else None
    if type(width) is not int or not 1 <= width <= _MOST_DIMENSIONS:
        raise FormatError(f"does not say how many dimensions {side} vectors have")
    return int(alignment.transform(np.ones((1, width), dtype=np.float32), side).shape[1])


def read_level(manifest: Manifest) -> Level:
    return cast(Level, manifest.one_of("level", get_args(Level)))


def read_maps(folder: Path, lang: str | None) -> LayerMaps:
    """The maps of one language of the folder."""
    manifest = ALIGNED_ENCODER_FOLDER.read(folder)
    src, tgt = manifest.names("languages", exactly=2)
    if lang not in (src, tgt):
        what = "has two languages" if lang is None else f"knows no {lang!r}"
        raise ConfigError(f"this aligned encoder {what}", where=str(folder), remedy=f"choose lang {src!r} or {tgt!r}")
    return LayerMaps(
        encoder=str(folder / "encoder"),
        layers=manifest.text("layers"),
        pooling=manifest.text("pooling"),
        sentence_pooling=manifest.text("sentence_pooling"),
        level=read_level(manifest),
        each=manifest.flag("each"),
        alignments=read_alignments(manifest),
        side="src" if lang == src else "tgt",
        prompt=manifest.optional_text("prompt") or "",
        echo="echo" in manifest.content and manifest.flag("echo"),
    )
