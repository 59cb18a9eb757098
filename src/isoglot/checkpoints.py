"""State of an iterative fit on disk, so that a killed run resumes where it was.

A method calls `load` once, `save` after each step, and derives the randomness of a step from (seed, step), never from
how it got there: a resumed run then gives the same result as an uninterrupted one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from isoglot.errors import FormatError, InputError
from isoglot.files import atomic_path
from isoglot.manifests import TensorFile, parse_json

Tensors = Mapping[str, npt.NDArray[Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class SavedState:
    """What `save` was given: how many steps are done, arrays, and plain facts (numbers, lists, strings)."""

    step: int
    tensors: Tensors
    facts: Mapping[str, Any]


class Checkpoint:
    """One file. `key` identifies the run: one with another method, other settings or other data never resumes from it.

    >>> Checkpoint(None, "any").load() is None
    True
    """

    #: A saved state is replaced only when it is older than this.
    seconds: ClassVar[float] = 30.0

    def __init__(self, path: Path | None, key: str) -> None:
        self._path = path
        self._key = key
        self._last = time.monotonic()

    def load(self) -> SavedState | None:
        """The state that an earlier run saved, or None."""
        if self._path is None or not self._path.exists():
            return None
        where = str(self._path)
        try:
            file = TensorFile.read(self._path, finite=False)
            state = file.metadata.get("state", "null")
            content = parse_json(state, where)
            tensors = {name: file[name] for name in file if name != "_"}
            if file.metadata.get("sha256") != _digest(state, tensors):
                raise FormatError("checksum mismatch")
        except InputError as error:
            raise InputError(
                f"not a checkpoint: {error.what}", where=where, remedy="remove it to start over"
            ) from error
        if content["key"] != self._key:
            raise InputError(
                "belongs to a run with different data or settings, or to another Isoglot release",
                where=where,
                remedy="remove it to start over, or repeat the earlier command to finish that run",
            )
        return SavedState(content["step"], tensors, content["facts"])

    def save(self, step: int, tensors: Tensors, facts: Mapping[str, Any] | None = None) -> None:
        """Save this state, unless one was saved a moment ago."""
        if self._path is None or time.monotonic() - self._last < self.seconds:
            return
        state = json.dumps({"key": self._key, "step": step, "facts": dict(facts or {})})
        arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
        metadata = {"state": state, "sha256": _digest(state, arrays)}
        with atomic_path(self._path, own=True) as temporary:
            # safetensors refuses an empty file, and some states are facts only.
            save_file({"_": np.zeros(1, dtype=np.int8), **arrays}, temporary, metadata=metadata)
        self._last = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the fit is complete, there is nothing to resume."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _digest(state: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(state.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()
