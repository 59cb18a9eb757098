"""What an aligned encoder's folder says: the encoder, its layers, and the learned map or maps of each language."""

from __future__ import annotations

import dataclasses
import json
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from isoglot.aligners import Alignment
from isoglot.aligners.alignment import Side
from isoglot.errors import ConfigError, FormatError
from isoglot.spaces import FloatMatrix

__all__ = ["FORMAT", "MARKER", "LayerMaps", "Level", "is_aligned_folder", "read_config", "read_maps"]

FORMAT = "isoglot-aligned-encoder"
VERSION = 1
MARKER = "isoglot.json"

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
    """

    encoder: str
    layers: str
    pooling: str
    sentence_pooling: str
    level: Level
    each: bool
    alignments: tuple[Alignment, ...]
    side: Side

    def apply(self, states: FloatMatrix) -> FloatMatrix:
        """Map states (k, n, d) of all layers, or (1, n, d) already combined, to (n, d')."""
        if len(states) != len(self.alignments):
            raise FormatError(f"{len(self.alignments)} maps for {len(states)} layers", where=self.encoder)
        mapped = [
            alignment.transform(layer, self.side) for alignment, layer in zip(self.alignments, states, strict=True)
        ]
        if len(mapped) == 1:
            only: FloatMatrix = mapped[0]
            return only
        if self._side_by_side:
            return np.ascontiguousarray(np.concatenate(mapped, axis=1))
        total: FloatMatrix = np.sum(mapped, axis=0, dtype=np.float32)
        return total / np.float32(len(mapped)) if self.layers.startswith("mean") else total

    def apply_tokens(self, states: FloatMatrix) -> FloatMatrix:
        """The same as (1, n, d')."""
        return self.apply(states)[None]

    @cached_property
    def dim(self) -> int:
        """Dimensions of mapped vectors."""
        dims = []
        for alignment in self.alignments:
            width = int(alignment.info[self.side]["dim"])
            dims.append(int(alignment.transform(np.ones((1, width), dtype=np.float32), self.side).shape[1]))
        return sum(dims) if self._side_by_side else dims[0]

    @property
    def _side_by_side(self) -> bool:
        return not self.layers.startswith(("sum", "mean"))


def is_aligned_folder(folder: Path) -> bool:
    """Whether `AlignedEncoder.save` wrote this folder."""
    try:
        content = json.loads((folder / MARKER).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's own description, checked."""
    where = str(folder / MARKER)
    remedy = "name a folder written by `isoglot contextual align`"
    try:
        content = json.loads((folder / MARKER).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError("no aligned encoder here", where=str(folder), remedy=remedy) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != VERSION:
        raise FormatError("not an aligned encoder of this version", where=where, remedy=remedy)
    missing = {"languages", "layers", "pooling", "sentence_pooling", "level", "each", "alignments"} - set(content)
    if missing:
        raise FormatError(f"incomplete: no {', '.join(sorted(missing))}", where=where, remedy="align again")
    return content


def read_maps(folder: Path, lang: str | None) -> LayerMaps:
    """The maps of one language of the folder."""
    content = read_config(folder)
    src, tgt = content["languages"]
    if lang not in (src, tgt):
        what = "has two languages" if lang is None else f"knows no {lang!r}"
        raise ConfigError(f"this aligned encoder {what}", where=str(folder), remedy=f"choose lang {src!r} or {tgt!r}")
    alignments = tuple(Alignment.load(folder / "alignments" / str(i)) for i in range(int(content["alignments"])))
    return LayerMaps(
        encoder=str(folder / "encoder"),
        layers=content["layers"],
        pooling=content["pooling"],
        sentence_pooling=content["sentence_pooling"],
        level=cast(Level, content["level"]),
        each=bool(content["each"]),
        alignments=alignments,
        side="src" if lang == src else "tgt",
    )
