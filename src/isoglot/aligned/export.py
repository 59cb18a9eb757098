"""Aligned vectors for other tools: one file for each language, or one static model of all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from isoglot.aligned.static_model import write_static_model
from isoglot.cards import Card
from isoglot.extras import require
from isoglot.progress import Progress, silent
from isoglot.spaces import Space, save_space
from isoglot.suggest import unknown

#: Name of the format, its name among the formats of spaces, and the ending of its files.
EXPORTS = {
    "text": ("text", ".vec"),
    "glove": ("glove", ".glove"),
    "binary": ("word2vec-binary", ".bin"),
    "kv": ("gensim", ".kv"),
    "safetensors": ("safetensors", ".safetensors"),
    "npz": ("npz", ".npz"),
    "static-model": (),
}


def check_export_format(format: str) -> None:
    """Raise unless vectors can be exported in this format here: to be asked before any work."""
    if format not in EXPORTS:
        raise unknown("export format", format, EXPORTS)
    if format == "kv":
        require("gensim", "writing gensim KeyedVectors")


def export_spaces(
    spaces: Mapping[str, Space],
    folder: Path,
    format: str = "text",
    *,
    card: Card | None = None,
    progress: Progress = silent,
) -> list[Path]:
    """Write all Spaces, which share one vector space; returns the files or the folder written. A model has a card."""
    check_export_format(format)
    if format == "static-model":
        write_static_model(list(spaces.values()), folder, card)
        return [folder]
    name, ending = EXPORTS[format]
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for lang, space in spaces.items():
        written.append(folder / f"{lang}{ending}")
        save_space(space, written[-1], format=name, progress=progress)
    return written
