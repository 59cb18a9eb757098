"""Unit rows: the one form in which every backend takes vectors, and lifted rows, which serve for distances."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError, ShapeError

Bias = npt.NDArray[np.float32]
Candidates = npt.NDArray[np.int32]  # (n, c), -1 marks an empty place
Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]

#: Rows are padded with zeros to a multiple of this, so that BLAS meets no ragged edge: its edge kernels may add up
#: in another order, and the same two vectors would then score differently at different places.
MULTIPLE = 64
_BLOCK = 8192
#: Squared and summed over thousands of dimensions, numbers up to this stay within float32.
_LARGEST = 1e15


def padded_length(n: int) -> int:
    """n rounded up to whole chunks, at least one."""
    return max(1, -(-n // MULTIPLE)) * MULTIPLE


@dataclasses.dataclass(frozen=True, eq=False)
class UnitRows:
    """n rows of length 1 (a zero row stays zero), float32, with zero rows appended up to a multiple of 64.

    Those of `lifted` are not of length 1: they are for the exact backend, which asks for inner products only.
    """

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
        array = _matrix(vectors, name, dim)
        padded = np.zeros((padded_length(len(array)), array.shape[1]), dtype=np.float32)
        for begin, block in _finite_blocks(array, name):
            # Dividing by the largest component first keeps float64 extremes in range too.
            block /= np.maximum(np.abs(block).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            norms = np.sqrt(np.einsum("ij,ij->i", block, block))
            padded[begin : begin + len(block)] = block / np.where(norms > 0, norms, 1.0)[:, None]
        return cls(padded, len(array))

    @classmethod
    def lifted(
        cls, vectors: npt.ArrayLike, name: str, origin: npt.NDArray[np.float64], *, targets: bool = False
    ) -> UnitRows:
        """Rows x' of queries, or y' of targets, whose inner product is -|x - y|^2 / 2.

        With x and y taken from `origin` (d,), x' = [x, 1, 1, -|x|^2 / 2] and y' = [y, -|y|^2 / 2, 1, 1]. Half a squared
        length stands in two numbers, what float32 holds of it and the rest, so that scoring in double precision gives
        the distance of the float32 rows themselves, however small it is next to their length.
        """
        d = len(origin)
        array = _matrix(vectors, name, d)
        padded = np.zeros((padded_length(len(array)), d + 4), dtype=np.float32)
        at, ones = (d, d + 2) if targets else (d + 2, d)
        for begin, block in _finite_blocks(array, name):
            block -= origin
            far = np.abs(block).max(axis=1) > _LARGEST
            if far.any():
                raise InputError(
                    f"lies further than {_LARGEST:g} from the mean of the targets",
                    where=f"{name}, row {begin + int(np.argmax(far))}",
                    remedy="scale both sides down, which changes no neighbour",
                )
            rows = padded[begin : begin + len(block)]
            rows[:, :d] = block
            half = -0.5 * np.square(rows[:, :d], dtype=np.float64).sum(axis=1)
            rows[:, at] = half
            rows[:, at + 1] = half - rows[:, at]
            rows[:, ones : ones + 2] = 1
        return cls(padded, len(array))

    def take(self, rows: npt.NDArray[np.int64]) -> UnitRows:
        """These rows, in this order (a copy)."""
        padded = np.zeros((padded_length(len(rows)), self.dim), dtype=np.float32)
        np.take(self.padded, rows, axis=0, out=padded[: len(rows)])
        return UnitRows(padded, len(rows))


def mean_row(vectors: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """The mean (d,) of an (n, d) array: as origin of `UnitRows.lifted` it keeps the squared lengths small."""
    array = _matrix(vectors, name, None)
    total = np.zeros(array.shape[1])
    for _, block in _finite_blocks(array, name):
        total += block.sum(axis=0)
    return total / max(1, len(array))


def _matrix(vectors: npt.ArrayLike, name: str, dim: int | None) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.asarray(vectors)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ShapeError(f"vectors must be a matrix (n, d), not of shape {array.shape}", where=name)
    if array.dtype.kind not in "fiu":
        raise InputError(f"vectors must be real numbers, not {array.dtype}", where=name)
    if dim is not None and array.shape[1] != dim:
        raise ShapeError(f"vectors have {array.shape[1]} dimensions, expected {dim}", where=name)
    return array


def _finite_blocks(array: npt.NDArray[Any], name: str) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """Copies of some rows at a time, with the index of the first."""
    for begin in range(0, len(array), _BLOCK):
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
        yield begin, block
