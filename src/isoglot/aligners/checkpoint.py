"""State of an iterative fit on disk, so that a killed run goes on where it was.

A method calls `load` once, `save` after each step, and derives the randomness of a step from (seed, step), never from
how it got there: a resumed run then gives the same result as an unbroken one.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from isoglot.errors import InputError
from isoglot.files import atomic_path

__all__ = ["Checkpoint", "SavedState"]

Tensors = Mapping[str, npt.NDArray[Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class SavedState:
    """What `save` was given: how many steps are done, arrays, and plain facts (numbers, lists, strings)."""

    step: int
    tensors: Tensors
    facts: Mapping[str, Any]


class Checkpoint:
    """One file. `key` tells the run apart: another method, setting or data never continues from it.

    >>> Checkpoint(None, "any").load() is None
    True
    """

    #: A state younger than this is not replaced.
    seconds: ClassVar[float] = 30.0

    def __init__(self, path: Path | None, key: str) -> None:
        self._path = path
        self._key = key
        self._last = time.monotonic()

    def load(self) -> SavedState | None:
        """What an earlier run left, or None."""
        if self._path is None or not self._path.exists():
            return None
        where = str(self._path)
        try:
            with safe_open(str(self._path), framework="numpy") as file:
                metadata = file.metadata() or {}
                content = json.loads(metadata.get("state", "null"))
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        except (SafetensorError, OSError, ValueError) as error:
            raise InputError(f"not a checkpoint: {error}", where=where, remedy="remove it to start anew") from error
        if not isinstance(content, dict) or content.get("key") != self._key:
            raise InputError(
                "is the checkpoint of a run with other data or settings",
                where=where,
                remedy="remove it to start anew, or repeat the earlier command to finish that run",
            )
        tensors.pop("_", None)
        return SavedState(content["step"], tensors, content["facts"])

    def save(self, step: int, tensors: Tensors, facts: Mapping[str, Any] | None = None) -> None:
        """Keep this state, unless one was kept a moment ago."""
        if self._path is None or time.monotonic() - self._last < self.seconds:
            return
        state = json.dumps({"key": self._key, "step": step, "facts": dict(facts or {})})
        # safetensors refuses an empty file, and some states are facts only.
        arrays = {"_": np.zeros(1, dtype=np.int8), **{name: np.ascontiguousarray(a) for name, a in tensors.items()}}
        with atomic_path(self._path) as temporary:
            save_file(arrays, temporary, metadata={"state": state})
        self._last = time.monotonic()

    def remove(self) -> None:
        """The fit is complete: nothing to go on with."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
