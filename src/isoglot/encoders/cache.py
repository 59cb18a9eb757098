"""Vectors kept on disk by model, layer and text, so that nothing is encoded twice and a killed run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from isoglot.errors import InputError
from isoglot.files import atomic_path
from isoglot.manifests import TensorFile
from isoglot.spaces import FloatMatrix
from isoglot.verified import digest_of_array

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
        """What was kept under this key; a file that is not as it was written counts as absent."""
        try:
            file = TensorFile.read(self._folder / f"{key}.safetensors")
            found: FloatMatrix = file.take("vectors")
        except InputError:
            return None
        # Every time: hashing takes a small part of the time of encoding, and of reading from disk.
        return found if digest_of_array(found) == file.metadata.get("sha256") else None

    def put(self, key: str, vectors: FloatMatrix) -> None:
        vectors = np.ascontiguousarray(vectors)
        with atomic_path(self._folder / f"{key}.safetensors", own=True) as temporary:
            save_file({"vectors": vectors}, temporary, metadata={"sha256": digest_of_array(vectors)})
