"""How long exact and int8 search take beside the bare float32 product they cannot do without.

    python benchmarks/search.py                              # a slice, 20,000 x 200,000 x 300
    python benchmarks/search.py --rows 200000                # the full setting (hours at 1 thread, with the references)

Everything is measured in one run, at 1 and 2 threads, several times; the minimum counts. Prints a table
and writes benchmarks/results/search.json. The last part asks CSLS for 1,500 queries of 200,000 x 200,000 in
a process of its own and reports how much its memory grew.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from isoglot.retrieval import Neighbours, available_backends
from isoglot.retrieval._rows import UnitRows
from isoglot.retrieval.backends import make_backend

Matrix = npt.NDArray[np.float32]
FULL = 200_000
K = 10


def word_vectors(n: int, dim: int, seed: int) -> Matrix:
    """Clustered, anisotropic rows: spectrum falling like that of word vectors, a shared mean, tight groups."""
    centres = np.random.default_rng(0).standard_normal((5000, dim), dtype=np.float32)
    generator = np.random.default_rng(seed)
    rows = 0.7 * centres[generator.integers(0, len(centres), n)]
    rows += 0.7 * generator.standard_normal((n, dim), dtype=np.float32)
    rows *= (np.arange(1, dim + 1) ** -0.4).astype(np.float32)
    rows += 0.2 * rows.std()
    return rows


def bare_product(X: Matrix, Y: Matrix, block: Matrix) -> None:
    """The product alone, into a buffer that is used again and again: the least any float32 search must do."""
    rows, columns = block.shape
    for begin in range(0, len(X), rows):
        for column in range(0, len(Y), columns):
            x, y = X[begin : begin + rows], Y[column : column + columns]
            np.matmul(x, y.T, out=block[: len(x), : len(y)])


def blocks_and_argpartition(X: Matrix, Y: Matrix) -> None:
    """The usual way, one direction: a block of rows at a time, then a partial sort of each row."""
    for begin in range(0, len(X), 512):
        scores = X[begin : begin + 512] @ Y.T
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        np.take_along_axis(scores, best, axis=1)


@dataclasses.dataclass
class Entry:
    """One line of the table: work, how often it is repeated, and the least wall and CPU time it took."""

    what: str
    work: Callable[[], Any]
    repeats: int
    seconds: float = float("inf")
    cpu_seconds: float = float("inf")
    value: Any = None

    def measure(self) -> None:
        start, cpu_start = time.perf_counter(), time.process_time()
        self.value = self.work()
        self.seconds = min(self.seconds, time.perf_counter() - start)
        self.cpu_seconds = min(self.cpu_seconds, time.process_time() - cpu_start)


def recall(truth: Neighbours, found: Neighbours) -> float:
    return float((truth.indices[:, :, None] == found.indices[:, None, :]).any(axis=2).mean())


def search(backend_name: str, X: UnitRows, Y: UnitRows, threads: int, *, both: bool) -> list[Neighbours]:
    """Cosine search from unit rows to scored neighbours: coding, candidates and re-ranking all included."""
    backend = make_backend(backend_name, X, Y, threads=threads)
    rows, columns = np.zeros(X.n, np.float32), np.zeros(Y.n, np.float32)
    if not both:
        return [Neighbours(*backend.forward(X, columns, K))]
    return [Neighbours(*found) for found in backend.both(rows, columns, K)]


def run(threads: int, X: UnitRows, Y: UnitRows, repeats: int, references: bool) -> list[dict[str, Any]]:
    x, y = np.ascontiguousarray(X.matrix), np.ascontiguousarray(Y.matrix)

    def limited(work: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
        def call() -> Any:
            with threadpool_limits(threads):
                return work(*arguments)

        return call

    # Two shapes of blocks, of which the better counts: the yardstick is not to blame for a poor choice.
    products = [
        Entry("bare sgemm", limited(bare_product, x, y, np.zeros(shape, np.float32)), repeats)
        for shape in ((4096, 8192), (1024, 2048))
    ]
    exact = Entry("exact, both directions", lambda: search("exact", X, Y, threads, both=True), repeats)
    entries = [exact]
    entries += [Entry("exact, one direction", lambda: search("exact", X, Y, threads, both=False), repeats)]
    int8 = Entry("int8 + re-rank, both directions", lambda: search("int8", X, Y, threads, both=True), repeats)
    if available_backends()["int8"].available:
        entries += [int8]
        entries += [Entry("int8 + re-rank, one direction", lambda: search("int8", X, Y, threads, both=False), repeats)]
    if references:
        entries += [Entry("numpy blocks + argpartition, one direction", limited(blocks_and_argpartition, x, y), 1)]
        if available_backends()["faiss"].available:
            import faiss

            faiss.omp_set_num_threads(threads)
            flat = faiss.IndexFlatIP(X.dim)
            flat.add(y)
            entries += [Entry("faiss flat, one direction", limited(flat.search, x, K), 1)]
    # Round after round, not each on its own, so that a busy minute of the machine touches all alike.
    for repeat in range(repeats):
        for entry in products + entries:
            if repeat < entry.repeats:
                entry.measure()
    product = min(products, key=lambda entry: entry.seconds)
    product.cpu_seconds = min(entry.cpu_seconds for entry in products)
    rows: list[dict[str, Any]] = []
    for entry in [product, *entries]:
        row: dict[str, Any] = {
            "threads": threads,
            "what": entry.what,
            "seconds": entry.seconds,
            "cpu_seconds": entry.cpu_seconds,
            "of_product": entry.seconds / product.seconds,
            "cpu_of_product": entry.cpu_seconds / product.cpu_seconds,
        }
        extra = ""
        if entry is product:
            row["gflops"] = 2e-9 * X.n * Y.n * X.dim / entry.seconds
            extra = f"{row['gflops']:.0f} GFLOP/s"
        if entry is int8:
            row["recall"] = min(recall(a, b) for a, b in zip(exact.value, int8.value, strict=True))
            extra = f"{row['recall']:.5f} of the exact neighbours"
        rows.append(row)
        print(
            f"{threads:>7}  {entry.what:<44}{entry.seconds:>9.2f} s {row['of_product']:>7.2f} "
            f"{row['cpu_of_product']:>8.2f}  {extra}",
            flush=True,
        )
    return rows


def memory_of_csls(n: int, m: int, dim: int, threads: int, backend: str) -> dict[str, float]:
    """Runs in a process of its own: growth of the peak resident set over the two input matrices, and seconds."""
    from isoglot.retrieval import Retriever

    X, Y = word_vectors(n, dim, 1), word_vectors(m, dim, 2)
    Retriever(X[:100], Y[:100], threads=1, backend=backend).top(K)
    # Making the vectors may have peaked higher than they are now: count from what is resident, not from that peak.
    before = _resident()
    Path("/proc/self/clear_refs").write_text("5")
    start = time.perf_counter()
    retriever = Retriever(X, Y, score="csls", backend=backend, threads=threads)
    retriever.top(K, rows=np.arange(0, n, max(1, n // 1500))[:1500])
    return {"gigabytes": (_peak() - before) / 1e9, "seconds": time.perf_counter() - start}


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--cols", type=int, default=FULL)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-references", action="store_true", help="leave out argpartition and faiss flat")
    parser.add_argument("--no-memory", action="store_true", help="leave out the memory of a CSLS evaluation")
    parser.add_argument("--memory-rows", type=int, default=FULL, help="rows of both sides in the memory check")
    parser.add_argument("--memory-backend", default="int8")
    parser.add_argument("--memory-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "search.json")
    options = parser.parse_args()
    if options.memory_only:
        n = options.memory_rows
        print(json.dumps(memory_of_csls(n, n, options.dim, options.threads[0], options.memory_backend)))
        return

    sliced = options.rows < FULL or options.cols < FULL
    shape = f"{options.rows:,} x {options.cols:,} x {options.dim}"
    whole = f"{FULL:,} x {FULL:,} x 300"
    print(f"{shape}, top {K}" + (f" (a slice of {whole}, not the whole)" if sliced else ""))
    print(f"load average {os.getloadavg()[0]:.2f}, {available_backends()['int8'].detail}")
    print(f"threads  {'what':<44}{'time':>11} {'/ sgemm':>7} {'CPU time':>8}")
    X = UnitRows.of(word_vectors(options.rows, options.dim, 1), "X")
    Y = UnitRows.of(word_vectors(options.cols, options.dim, 2), "Y")
    for name in ("exact", "int8"):  # compile before the clock runs
        small = UnitRows.of(X.matrix[:700], "X")
        search(name, small, small, 1, both=True)
    table = []
    for threads in options.threads:
        table += run(threads, X, Y, options.repeats, not options.no_references)
    result: dict[str, Any] = {
        "shape": [options.rows, options.cols, options.dim],
        "slice": sliced,
        "k": K,
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "load_average": os.getloadavg()[0],
        "numpy": np.__version__,
        "rows": table,
    }
    if not options.no_memory and Path("/proc/self/clear_refs").exists():
        del X, Y
        command = [sys.executable, __file__, "--memory-only", "--memory-backend", options.memory_backend]
        command += ["--memory-rows", str(options.memory_rows), "--threads", str(max(options.threads))]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        memory = json.loads(done.stdout)
        n = options.memory_rows
        print(
            f"CSLS of 1,500 queries in {n:,} x {n:,} ({options.memory_backend}): "
            f"{memory['gigabytes']:.2f} GB above the input, {memory['seconds']:.0f} s"
        )
        result["csls_memory"] = {"rows": n, "backend": options.memory_backend, **memory}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
