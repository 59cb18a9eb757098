"""Vectors kept on disk by model, layer and text, so that nothing is encoded twice and a killed run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from isoglot.files import atomic_path
from isoglot.spaces import FloatMatrix

__all__ = ["VectorCache"]


class VectorCache:
    """A folder of safetensors files, one for each shard of text."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder / model

    def key(self, what: Sequence[Any], texts: Sequence[Any]) -> str:
        """Tells apart what was asked of which text."""
        content = json.dumps([list(what), list(texts)], ensure_ascii=False)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def get(self, key: str) -> FloatMatrix | None:
        """What was kept under this key; a damaged file counts as absent."""
        try:
            found: FloatMatrix = load_file(self._folder / f"{key}.safetensors")["vectors"]
        except (OSError, SafetensorError, KeyError):
            return None
        return found

    def put(self, key: str, vectors: FloatMatrix) -> None:
        with atomic_path(self._folder / f"{key}.safetensors") as temporary:
            save_file({"vectors": np.ascontiguousarray(vectors)}, temporary)
