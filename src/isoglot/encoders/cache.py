"""Vectors kept on disk by model, layer and text, so that nothing is encoded twice and a killed run resumes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot.spaces import FloatMatrix
from isoglot.verified import keep_vectors, kept_vectors


class VectorCache:
    """A folder of safetensors files, one for each shard of text."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder / model

    def key(self, what: Sequence[Any], texts: Sequence[Any]) -> str:
        """Tells apart what was asked of which text."""
        content = json.dumps([list(what), list(texts)], ensure_ascii=False)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def get(self, key: str) -> FloatMatrix | None:
        """What was kept under this key; a file that is not as it was written counts as absent."""
        found = kept_vectors(self._folder / f"{key}.safetensors")
        return None if found is None else found[0]

    def put(self, key: str, vectors: FloatMatrix) -> None:
        keep_vectors(self._folder / f"{key}.safetensors", vectors)
