"""The inner loop of the int8 backend, written as LLVM instructions for the vector unit at hand.

One call multiplies a panel of `rows` coded queries with a panel of `vectors * lanes` coded targets over all
dimensions, keeping every sum in a register, and compares the sums with the thresholds of both directions
before anything is written to memory. Only when some sum beats a threshold are sums and bit masks stored.

Queries are unsigned bytes, targets signed ones, as `vpmaddubsw` and `vpdpbusd` ask. Without VNNI the sums live
in 16-bit lanes that may wrap on the way: addition modulo 2**16 still ends at the right value, because
`int8.quantise` scales the vectors so that the final inner product fits (by Cauchy-Schwarz).
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import dataclasses
from typing import Any

from llvmlite import ir
from llvmlite.binding import llvm_version_info
from numba.core import cgutils, types
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic


@dataclasses.dataclass(frozen=True)
class Microkernel:
    """A register blocking for one kind of vector unit.

    Args:
        name: what it is called in messages.
        feature: the CPU feature it needs, in LLVM's spelling.
        lane_bits: width of a sum: 16 (multiply-add to int16) or 32 (VNNI dot product).
        vector_bytes: width of a register.
        rows: queries in a panel; `rows * vectors` registers hold sums.
        vectors: registers of targets in a panel.
        emulated: spell the VNNI dot product in AVX2 instructions.
    """

    name: str
    feature: str
    lane_bits: int
    vector_bytes: int
    rows: int
    vectors: int = 2
    emulated: bool = False

    @property
    def lanes(self) -> int:
        """Sums in a register."""
        return self.vector_bytes * 8 // self.lane_bits

    @property
    def columns(self) -> int:
        """Targets in a panel."""
        return self.vectors * self.lanes

    @property
    def group(self) -> int:
        """Dimensions that one instruction folds into a lane."""
        return self.lane_bits // 8


#: Best first. 16 registers of 256 bits hold 6 x 2 sums, 32 registers of 512 bits hold 12 x 2. The last one does
#: in three instructions what VNNI does in one: it exists so that the 32-bit path can be tested without VNNI.
MICROKERNELS = (
    Microkernel("AVX-512 VNNI", "avx512vnni", lane_bits=32, vector_bytes=64, rows=12),
    Microkernel("AVX-512", "avx512bw", lane_bits=16, vector_bytes=64, rows=12),
    Microkernel("AVX-VNNI", "avxvnni", lane_bits=32, vector_bytes=32, rows=6),
    Microkernel("AVX2", "avx2", lane_bits=16, vector_bytes=32, rows=6),
    Microkernel("AVX2 in place of VNNI", "avx2", lane_bits=32, vector_bytes=32, rows=6, emulated=True),
)


def fastest(lane_bits: int | None = None) -> Microkernel | None:
    """The best microkernel (with sums of this width) for the CPU numba compiles for, or None if there is none."""
    features = set(get_host_cpu_features().split(","))
    for kernel in MICROKERNELS:
        if f"+{kernel.feature}" in features and lane_bits in (None, kernel.lane_bits):
            return kernel
    return None


def emit(builder: ir.IRBuilder, kernel: Microkernel, pointers: dict[str, ir.Value], steps: ir.Value) -> ir.Value:
    """Write the kernel into `builder` and return its i32 result: 1 if any sum beat a threshold.

    `pointers` (all `i8*`): queries, targets, start (sum each column begins with), row_bias, column_bias,
    row_threshold, column_threshold; and, written only on a hit, sums (rows x columns lanes), row_hits and
    column_hits (rows x vectors masks of 64 bits).
    """
    i32, i64 = ir.IntType(32), ir.IntType(64)
    lane = ir.IntType(kernel.lane_bits)
    lanes = kernel.lanes
    vector = ir.VectorType(lane, lanes)
    size = kernel.vector_bytes
    tile = [(row, v) for row in range(kernel.rows) for v in range(kernel.vectors)]

    def load(base: ir.Value, byte: ir.Value | int, type_: ir.Type) -> ir.Value:
        offset = i64(byte) if isinstance(byte, int) else byte
        address = builder.bitcast(builder.gep(base, [offset]), type_.as_pointer())
        return builder.load(address, align=1)

    def splat(scalar: ir.Value, type_: ir.VectorType) -> ir.Value:
        one = builder.insert_element(ir.Constant(type_, ir.Undefined), scalar, i32(0))
        zeros = ir.Constant(ir.VectorType(i32, type_.count), [0] * type_.count)
        return builder.shuffle_vector(one, ir.Constant(type_, ir.Undefined), zeros)

    sums = {at: cgutils.alloca_once(builder, vector) for at in tile}
    for row, v in tile:
        builder.store(load(pointers["start"], v * size, vector), sums[row, v])

    words = ir.VectorType(i32, size // 4)
    with cgutils.for_range(builder, steps, intp=i64) as loop:
        target_at = builder.mul(loop.index, i64(kernel.vectors * size))
        query_at = builder.mul(loop.index, i64(kernel.rows * 4))
        targets = [
            load(pointers["targets"], builder.add(target_at, i64(v * size)), words) for v in range(kernel.vectors)
        ]
        for row in range(kernel.rows):
            query = splat(load(pointers["queries"], builder.add(query_at, i64(row * 4)), i32), words)
            for v in range(kernel.vectors):
                total = _multiply_add(builder, kernel, builder.load(sums[row, v]), query, targets[v])
                builder.store(total, sums[row, v])

    row_bias = pointers["row_bias"]
    beats_row, beats_column = {}, {}
    any_hit = None
    lane_bytes = kernel.lane_bits // 8
    for row, v in tile:
        total = builder.load(sums[row, v])
        by_row = _add(builder, kernel, total, load(pointers["column_bias"], v * size, vector))
        by_column = _add(builder, kernel, total, splat(load(row_bias, row * lane_bytes, lane), vector))
        row_threshold = splat(load(pointers["row_threshold"], row * lane_bytes, lane), vector)
        beats_row[row, v] = builder.icmp_signed(">", by_row, row_threshold)
        column_threshold = load(pointers["column_threshold"], v * size, vector)
        beats_column[row, v] = builder.icmp_signed(">", by_column, column_threshold)
        hit = builder.or_(beats_row[row, v], beats_column[row, v])
        any_hit = hit if any_hit is None else builder.or_(any_hit, hit)

    mask = ir.IntType(lanes)
    found = builder.icmp_unsigned("!=", builder.bitcast(any_hit, mask), mask(0))
    with builder.if_then(found, likely=False):
        for number, at in enumerate(tile):
            address = builder.gep(pointers["sums"], [i64(number * size)])
            builder.store(builder.load(sums[at]), builder.bitcast(address, vector.as_pointer()), align=1)
            for name, beats in (("row_hits", beats_row), ("column_hits", beats_column)):
                address = builder.gep(pointers[name], [i64(number * 8)])
                bits = builder.zext(builder.bitcast(beats[at], mask), i64)
                builder.store(bits, builder.bitcast(address, i64.as_pointer()), align=1)
    return builder.zext(found, i32)


def _multiply_add(
    builder: ir.IRBuilder, kernel: Microkernel, total: ir.Value, query: ir.Value, target: ir.Value
) -> ir.Value:
    """total + query * target, folding `group` neighbouring bytes into each lane."""
    size, lanes = kernel.vector_bytes, total.type
    octets = ir.VectorType(ir.IntType(8), size)
    module = builder.module
    if kernel.lane_bits == 32 and not kernel.emulated:
        # LLVM 22 gave the operands their true type; before, they were declared as 32-bit integers.
        operand = octets if llvm_version_info[0] >= 22 else lanes
        multiply = _declare(module, f"llvm.x86.avx512.vpdpbusd.{size * 8}", lanes, [lanes, operand, operand])
        return builder.call(multiply, [total, builder.bitcast(query, operand), builder.bitcast(target, operand)])
    shorts = ir.VectorType(ir.IntType(16), size // 2)
    name = "llvm.x86.avx2.pmadd.ub.sw" if size == 32 else "llvm.x86.avx512.pmaddubs.w.512"
    multiply = _declare(module, name, shorts, [octets, octets])
    product = builder.call(multiply, [builder.bitcast(query, octets), builder.bitcast(target, octets)])
    if kernel.lane_bits == 32:
        widen = _declare(module, "llvm.x86.avx2.pmadd.wd", lanes, [shorts, shorts])
        product = builder.call(widen, [product, ir.Constant(shorts, [1] * shorts.count)])
    return builder.add(total, product)


def _add(builder: ir.IRBuilder, kernel: Microkernel, total: ir.Value, bias: ir.Value) -> ir.Value:
    """Add a bias. 16-bit lanes saturate; biases are at most 0, so only hopeless scores ever do."""
    if kernel.lane_bits == 32:
        return builder.add(total, bias)
    saturating = _declare(builder.module, f"llvm.sadd.sat.v{kernel.lanes}i16", total.type, [total.type] * 2)
    return builder.call(saturating, [total, bias])


def _declare(module: ir.Module, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
    return cgutils.get_or_insert_function(module, ir.FunctionType(result, arguments), name)


_NAMES = (
    "queries",
    "targets",
    "start",
    "row_bias",
    "column_bias",
    "row_threshold",
    "column_threshold",
    "sums",
    "row_hits",
    "column_hits",
)


def _micro(typing_context: Any, sums: Any, addresses: Any, steps: Any) -> Any:
    """micro(sums, (ten addresses in the order of `_NAMES`), steps) -> int32; the type of `sums` picks the kernel."""
    kernel = fastest(sums.dtype.bitwidth)
    if kernel is None:
        raise TypeError("no int8 kernel for this CPU")

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        values = cgutils.unpack_tuple(builder, arguments[1], len(_NAMES))
        byte = ir.IntType(8).as_pointer()
        pointers = {name: builder.inttoptr(value, byte) for name, value in zip(_NAMES, values, strict=True)}
        return emit(builder, kernel, pointers, arguments[2])

    return types.int32(sums, types.UniTuple(types.int64, len(_NAMES)), types.int64), generate


micro: Any = intrinsic(_micro)
