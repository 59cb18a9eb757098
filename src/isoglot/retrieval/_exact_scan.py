"""One look at a tile of inner products updates the best candidates of its rows and of its columns.

Most of a tile beats no threshold, so 64 columns at a time are compared and only the hits are walked. The
comparison is spelled in LLVM vector instructions, which every target knows: left to itself the compiler
takes the columns one by one.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

#: Columns compared at once. Tiles and column arrays are padded to a multiple of it.
CHUNK = 64
_LANES = 8


def _find_hits(typing_context: Any, addresses: Any, row_threshold: Any, row_bias: Any) -> Any:
    """Bit c is set if column c of the chunk beats the row's threshold or its own.

    Addresses: tile, column bias, column threshold.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        i32, i64 = ir.IntType(32), ir.IntType(64)
        vector = ir.VectorType(ir.FloatType(), _LANES)
        zeros = ir.Constant(ir.VectorType(i32, _LANES), [0] * _LANES)

        def splat(scalar: ir.Value) -> ir.Value:
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, i32(0))
            return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)

        bases = cgutils.unpack_tuple(builder, arguments[0], 3)
        threshold, bias = splat(arguments[1]), splat(arguments[2])
        found = []
        for part in range(CHUNK // _LANES):
            offset = i64(part * _LANES * 4)
            value, column_bias, column_threshold = (
                builder.load(builder.inttoptr(builder.add(base, offset), vector.as_pointer()), align=4)
                for base in bases
            )
            by_row = builder.fcmp_ordered(">", builder.fadd(value, column_bias), threshold)
            by_column = builder.fcmp_ordered(">", builder.fadd(value, bias), column_threshold)
            found.append(builder.or_(by_row, by_column))
        any_found = found[0]
        for other in found[1:]:
            any_found = builder.or_(any_found, other)
        mask = ir.IntType(_LANES)
        result = cgutils.alloca_once_value(builder, i64(0))
        with builder.if_then(builder.icmp_unsigned("!=", builder.bitcast(any_found, mask), mask(0)), likely=False):
            bits = i64(0)
            for part, hit in enumerate(found):
                some = builder.zext(builder.bitcast(hit, mask), i64)
                bits = builder.or_(bits, builder.shl(some, i64(part * _LANES)))
            builder.store(bits, result)
        return builder.load(result)

    return types.uint64(types.UniTuple(types.int64, 3), types.float32, types.float32), generate


_hits: Any = intrinsic(_find_hits)


def _trailing_zeros(typing_context: Any, bits: Any) -> Any:
    """The number of the lowest set bit."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


lowest_bit: Any = intrinsic(_trailing_zeros)


@njit(nogil=True)
def insert(scores: Any, indices: Any, score: Any, index: Any) -> None:
    """Put a score into a list sorted best first, dropping the last. Equals stay in order of arrival."""
    at = scores.shape[0] - 1
    while at > 0 and scores[at - 1] < score:
        scores[at] = scores[at - 1]
        indices[at] = indices[at - 1]
        at -= 1
    scores[at] = score
    indices[at] = index


@njit(nogil=True, cache=True)
def scan_tile(
    tile: Any,  # (rows, width), width a multiple of CHUNK
    rows: int,
    row: int,
    column: int,
    row_bias: Any,
    column_bias: Any,
    row_scores: Any,  # (rows of the tile, depth)
    row_indices: Any,
    column_scores: Any,  # (all columns, depth), or no rows if columns are not wanted
    column_indices: Any,
    column_threshold: Any,
) -> None:
    """Rank `tile[r, c] + column_bias[c]` within rows and `tile[r, c] + row_bias[r]` within columns.

    `row` and `column` are the indices of the tile's first row and column; biases and column lists cover all.
    """
    width = tile.shape[1]
    both = column_scores.shape[0] > 0
    for r in range(rows):
        mine = row_scores[r]
        threshold = mine[-1]
        bias = row_bias[row + r]
        for begin in range(0, width, CHUNK):
            j = column + begin
            addresses = (
                tile.ctypes.data + 4 * (r * width + begin),
                column_bias.ctypes.data + 4 * j,
                column_threshold.ctypes.data + 4 * j,
            )
            hits = _hits(addresses, threshold, bias)
            while hits != 0:
                c = begin + lowest_bit(hits)
                hits &= hits - np.uint64(1)
                j = column + c
                value = tile[r, c] + column_bias[j]
                if value > threshold:
                    insert(mine, row_indices[r], value, j)
                    threshold = mine[-1]
                value = tile[r, c] + bias
                if both and value > column_threshold[j]:
                    insert(column_scores[j], column_indices[j], value, row + r)
                    column_threshold[j] = column_scores[j, -1]
