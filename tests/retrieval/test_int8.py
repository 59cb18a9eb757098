from __future__ import annotations

import re

import numpy as np
import pytest
from llvmlite import binding, ir

from isoglot.retrieval import Retriever, _int8_micro
from isoglot.retrieval._int8_micro import MICROKERNELS, emit, fastest
from isoglot.retrieval._rows import UnitRows
from isoglot.retrieval.int8 import Int8Backend

from .conftest import recall

needs_kernel = pytest.mark.skipif(fastest() is None, reason="this CPU has no int8 kernel")


@needs_kernel
@pytest.mark.parametrize("score", ["cosine", "csls", "inverted_softmax"])
def test_finds_the_exact_neighbours_of_word_like_vectors(word_like, score):
    X, Y = word_like
    truth = Retriever(X, Y, score=score, threads=1).top_both(10)
    found = Retriever(X, Y, score=score, backend="int8", threads=1).top_both(10)
    for a, b in zip(truth, found, strict=True):
        assert recall(a, b) >= 0.999
        same = a.indices == b.indices
        np.testing.assert_allclose(a.scores[same], b.scores[same], atol=1e-4)


def _shapes_of_trouble():
    generator = np.random.default_rng(9)
    plain = generator.standard_normal((1500, 64))
    yield "a few huge dimensions", plain * np.r_[np.full(2, 40.0), np.ones(62)]
    yield "far from the origin", plain * 0.3 + 5
    yield "sparse", plain * (generator.random(plain.shape) < 0.05)
    yield "few dimensions", plain[:, :6]
    yield "one far outlier", np.r_[plain * 0.01 + 1, -np.ones((1, 64))]


@needs_kernel
@pytest.mark.parametrize(
    ("name", "X"), list(_shapes_of_trouble()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_finds_neighbours_in_awkward_geometry(name, X):
    Y = X[::-1] + 0.05 * np.random.default_rng(3).standard_normal(X.shape)
    for score in ("cosine", "csls"):
        truth = Retriever(X, Y, score=score, threads=1).top_both(10)
        found = Retriever(X, Y, score=score, backend="int8", threads=1).top_both(10)
        assert min(recall(a, b) for a, b in zip(truth, found, strict=True)) >= 0.999, name


@needs_kernel
@pytest.mark.parametrize("lane_bits", [16, 32])
@pytest.mark.parametrize(("n", "m", "d"), [(5, 33, 7), (500, 700, 300), (13, 64, 1024)])
def test_integer_search_is_exact_on_its_codes(lane_bits, n, m, d):
    """Candidates are the best by the integer product of the codes themselves: nothing wraps or is skipped."""
    generator = np.random.default_rng(d)
    X = UnitRows.of(generator.standard_normal((n, d)) + 0.2, "X")
    Y = UnitRows.of(generator.standard_normal((m, d)) + 0.2, "Y")
    kernel = fastest(lane_bits)
    assert kernel is not None
    backend = Int8Backend(X, Y, threads=1, kernel=kernel)
    scale = backend._query_scale(X)
    codes = backend._code_queries(X.matrix, scale)[..., : kernel.group].astype(np.int64) - 64
    queries = codes.transpose(0, 2, 1, 3).reshape(-1, codes.shape[1] * kernel.group)[:n, :d]
    targets = backend._packed.astype(np.int64).transpose(0, 2, 1, 3)
    targets = targets.reshape(-1, backend._steps * kernel.group)[:m, :d]
    products = queries @ targets.T
    if lane_bits == 16:
        assert np.abs(products).max() < 2**15
    # The codes stand for the centred rows.
    unit = scale * backend._target_scale
    centred = (X.matrix - backend._query_mean) @ (Y.matrix - backend._target_mean).T
    np.testing.assert_allclose(products / unit, centred, atol=0.02)

    shift = np.rint((backend._column_shift - backend._column_shift.max()) * unit).astype(np.int64)
    scores = products + shift
    there, back = backend._search(X, np.zeros(n, np.float32), np.zeros(m, np.float32), 3, both=True, progress=_ignore)
    found = there.candidates.astype(np.int64)
    best = -np.sort(-scores, axis=1)[:, : found.shape[1]]
    np.testing.assert_array_equal(np.take_along_axis(scores, found, axis=1), best)
    row_shift = X.matrix @ backend._target_mean
    scores = (products + np.rint((row_shift - row_shift.max()) * unit).astype(np.int64)[:, None]).T
    found = back.candidates.astype(np.int64)
    best = -np.sort(-scores, axis=1)[:, : found.shape[1]]
    np.testing.assert_array_equal(np.take_along_axis(scores, found, axis=1), best)


def _ignore(step, done, total):
    pass


@pytest.mark.skipif(not binding.get_process_triple().startswith("x86_64"), reason="assembles for x86")
@pytest.mark.parametrize(
    ("kernel", "cpu", "instruction"),
    list(
        zip(
            MICROKERNELS,
            ["icelake-server", "skylake-avx512", "alderlake", "haswell", "haswell"],
            ["vpdpbusd", "vpmaddubsw", "vpdpbusd", "vpmaddubsw", "vpmaddubsw"],
            strict=True,
        )
    ),
    ids=lambda value: getattr(value, "name", None),
)
def test_every_kernel_assembles_to_its_instruction(kernel, cpu, instruction):
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = ir.Module()
    module.triple = binding.get_process_triple()
    byte = ir.IntType(8).as_pointer()
    names = _int8_micro._NAMES
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [byte] * len(names) + [ir.IntType(64)]), "micro")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(emit(builder, kernel, dict(zip(names, function.args, strict=False)), function.args[-1]))
    parsed = binding.parse_assembly(str(module))
    parsed.verify()
    machine = binding.Target.from_default_triple().create_target_machine(cpu=cpu, opt=3)
    assembly = machine.emit_assembly(parsed)
    register = "zmm" if kernel.vector_bytes == 64 else "ymm"
    lines = [line for line in assembly.splitlines() if instruction in line]
    assert len(lines) >= kernel.rows * kernel.vectors
    assert all(re.search(register, line) for line in lines)
