"""Unit rows: the one form in which every backend takes vectors."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError, ShapeError

__all__ = ["Bias", "Candidates", "Found", "UnitRows", "padded_length"]

Bias = npt.NDArray[np.float32]
Candidates = npt.NDArray[np.int32]  # (n, c), -1 marks an empty place
Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]

#: Rows are padded with zeros to a multiple of this, so that BLAS meets no ragged edge: its edge kernels may add up
#: in another order, and the same two vectors would then score differently at different places.
MULTIPLE = 64
_BLOCK = 8192


def padded_length(n: int) -> int:
    """n rounded up to whole chunks, at least one."""
    return max(1, -(-n // MULTIPLE)) * MULTIPLE


@dataclasses.dataclass(frozen=True, eq=False)
class UnitRows:
    """n rows of length 1 (a zero row stays zero), float32, with zero rows appended up to a multiple of 64."""

    padded: npt.NDArray[np.float32]  # (padded_length(n), d)
    n: int

    @property
    def matrix(self) -> npt.NDArray[np.float32]:
        """The rows themselves, without padding."""
        return self.padded[: self.n]

    @property
    def dim(self) -> int:
        return int(self.padded.shape[1])

    @classmethod
    def of(cls, vectors: npt.ArrayLike, name: str, *, dim: int | None = None) -> UnitRows:
        """Normalise a copy of an (n, d) array, a block at a time; memory maps are read once, in order."""
        array: npt.NDArray[Any] = np.asarray(vectors)
        if array.ndim != 2 or array.shape[1] == 0:
            raise ShapeError(f"vectors must be a matrix (n, d), not of shape {array.shape}", where=name)
        if array.dtype.kind not in "fiu":
            raise InputError(f"vectors must be real numbers, not {array.dtype}", where=name)
        if dim is not None and array.shape[1] != dim:
            raise ShapeError(f"vectors have {array.shape[1]} dimensions, expected {dim}", where=name)
        n = len(array)
        padded = np.zeros((padded_length(n), array.shape[1]), dtype=np.float32)
        for begin in range(0, n, _BLOCK):
            # In double precision neither huge nor tiny float32 values overflow or vanish when squared.
            block = array[begin : begin + _BLOCK].astype(np.float64)
            finite = np.isfinite(block).all(axis=1)
            if not finite.all():
                row = begin + int(np.argmin(finite))
                raise InputError(
                    "holds a value that is not a finite number",
                    where=f"{name}, row {row}",
                    remedy="drop such rows or set them to zero",
                )
            # Dividing by the largest component first keeps float64 extremes in range too.
            block /= np.maximum(np.abs(block).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            norms = np.sqrt(np.einsum("ij,ij->i", block, block))
            padded[begin : begin + len(block)] = block / np.where(norms > 0, norms, 1.0)[:, None]
        return cls(padded, n)

    def take(self, rows: npt.NDArray[np.int64]) -> UnitRows:
        """These rows, in this order (a copy)."""
        padded = np.zeros((padded_length(len(rows)), self.dim), dtype=np.float32)
        np.take(self.padded, rows, axis=0, out=padded[: len(rows)])
        return UnitRows(padded, len(rows))
