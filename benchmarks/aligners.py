"""How long the iterative aligners take, next to the bare float32 products that they cannot do without.

    python benchmarks/aligners.py                # one round of self-learning and one of refinement, at 1 thread
    python benchmarks/aligners.py --long         # whole runs without pairs as well, at 2 threads: up to 20 minutes
    python benchmarks/aligners.py --only vecmap  # one part: self-learning, refinement, vecmap or muse

Rounds are measured several times in one run, in turns with the product; the minimum counts. A round of refinement
is measured on a slice of the sources (10,000 of 200,000), as a whole one takes minutes: the ratio is what counts.
Vectors are generated. Prints tables and writes benchmarks/results/aligners.json. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from isoglot.aligners import Aligner, Muse, VecMapUnsupervised, procrustes
from isoglot.aligners.self_learning.refinement import refine
from isoglot.aligners.self_learning.rounds import SelfLearning, induce_pairs
from isoglot.retrieval import Retriever, available_backends
from isoglot.simulate import simulate_pair

Matrix = npt.NDArray[np.float32]
DIM = 300
CUTOFF, VOCABULARY, FREQUENT = 20_000, 200_000, 75_000
#: Seconds of one round of the VecMap script at cutoff 20,000 and 1 thread, measured once on a machine of this kind.
REFERENCE_ROUND = 28.7
#: What we want to keep to: seconds a self-learning round, retrieval passes a refinement round, minutes a whole run.
BARS = {"self-learning": 4.0, "refinement": 2.0, "vecmap": 10.0, "muse": 10.0}


def rotated_twins(n: int, m: int, seed: int = 0) -> tuple[Matrix, Matrix, Matrix]:
    """Clustered unit rows X (n, d), Y (m, d) of which the first n are X's, turned and noisy, and the rotation."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((5000, DIM), dtype=np.float32)
    rows = 0.7 * centres[random.integers(0, len(centres), m)]
    rows += 0.7 * random.standard_normal((m, DIM), dtype=np.float32)
    rows *= (np.arange(1, DIM + 1) ** -0.4).astype(np.float32)
    turn = np.linalg.qr(random.standard_normal((DIM, DIM)))[0].astype(np.float32)
    noise = np.float32(0.5 * rows.std())
    X = rows[:n].copy()
    Y = rows @ turn + noise * random.standard_normal((m, DIM), dtype=np.float32)
    for matrix in (X, Y):
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return X, Y, turn


@dataclasses.dataclass
class Entry:
    """One line of a table: work, and the least wall and CPU time it took."""

    what: str
    work: Callable[[], Any]
    seconds: float = float("inf")
    cpu_seconds: float = float("inf")

    def measure(self) -> None:
        start, cpu_start = time.perf_counter(), time.process_time()
        self.work()
        self.seconds = min(self.seconds, time.perf_counter() - start)
        self.cpu_seconds = min(self.cpu_seconds, time.process_time() - cpu_start)


@contextlib.contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Everything inside uses so many cores: BLAS, and the searches, which ask what the process may use."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:threads])
    try:
        with threadpool_limits(threads):
            yield
    finally:
        os.sched_setaffinity(0, before)


def bare_product(X: Matrix, Y: Matrix, block: Matrix) -> None:
    """The product alone, into a buffer that is used again and again: one retrieval pass can do no less."""
    rows, columns = block.shape
    for begin in range(0, len(X), rows):
        for column in range(0, len(Y), columns):
            x, y = X[begin : begin + rows], Y[column : column + columns]
            np.matmul(x, y.T, out=block[: len(x), : len(y)])


def measure_in_turns(product: Entry, entries: list[Entry], repeats: int) -> list[dict[str, Any]]:
    # In turns, not each on its own, so that a busy minute of the machine touches all alike.
    for _ in range(repeats):
        for entry in (product, *entries):
            entry.measure()
    rows = []
    for entry in (product, *entries):
        row = {
            "what": entry.what,
            "seconds": entry.seconds,
            "cpu_seconds": entry.cpu_seconds,
            "of_product": entry.seconds / product.seconds,
            "cpu_of_product": entry.cpu_seconds / product.cpu_seconds,
        }
        rows.append(row)
        print(
            f"  {entry.what:<48}{entry.seconds:>9.2f} s {row['of_product']:>7.2f} {row['cpu_of_product']:>8.2f}",
            flush=True,
        )
    return rows


def header(title: str) -> None:
    print(f"\n{title} (load average {os.getloadavg()[0]:.2f})")
    print(f"  {'what':<48}{'time':>11} {'/ sgemm':>7} {'CPU time':>8}")


def self_learning(repeats: int) -> dict[str, Any]:
    """One round, as `learn_dictionary` makes them: a rotation from the last dictionary, then the next dictionary."""
    X, Y, turn = rotated_twins(CUTOFF, CUTOFF)
    dictionary, _ = induce_pairs(X @ turn, Y, 1.0, np.random.default_rng(0), SelfLearning())

    def one_round(keep: float, backend: str) -> Callable[[], Any]:
        def work() -> Any:
            W = procrustes(X[dictionary[:, 0]], Y[dictionary[:, 1]])
            return induce_pairs(X @ W, Y, keep, np.random.default_rng(0), SelfLearning(backend=backend))

        return work

    header(f"One round of self-learning, {CUTOFF:,} x {CUTOFF:,} x {DIM}, 1 thread")
    backends = ("auto", "exact")
    entries = [Entry(f"all candidates, backend {name}", one_round(1.0, name)) for name in backends]
    entries += [Entry(f"a tenth of the candidates, backend {name}", one_round(0.1, name)) for name in backends]
    product = Entry("bare sgemm", lambda: bare_product(X, Y, np.zeros((4096, 8192), np.float32)))
    rows = measure_in_turns(product, entries, repeats)
    usual, wanted = rows[1]["seconds"], BARS["self-learning"]
    print(f"  backend auto, the default: {usual:.2f} s, at most {wanted:g} s wanted")
    print(f"  VecMap's own script: {REFERENCE_ROUND} s, quoted from an earlier measurement, not taken here")
    return {"rows": rows, "seconds": usual, "wanted_seconds": wanted}


def refinement(repeats: int, sources: int) -> dict[str, Any]:
    """One round: means of CSLS, dictionary of both directions, criterion, and the rotation for it."""
    X, Y, turn = rotated_twins(sources, VOCABULARY)
    sliced = f"a slice of {VOCABULARY:,} x {VOCABULARY:,}, " if sources < VOCABULARY else ""
    header(f"One round of refinement, {sources:,} x {VOCABULARY:,} x {DIM}, {sliced}1 thread")
    entries = [
        Entry(f"backend {name}", functools.partial(refine, X, Y, turn, rounds=0, backend=name, threads=1))
        for name in ("auto", "exact")
    ]
    # What a pass costs with the selection of neighbours, for comparison; the bar is in bare products.
    plain = Entry(
        "one exact search both ways, no CSLS",
        lambda: Retriever(X @ turn, Y, score="cosine", backend="exact", threads=1).top_both(1),
    )
    product = Entry("bare sgemm, one retrieval pass", lambda: bare_product(X, Y, np.zeros((4096, 8192), np.float32)))
    rows = measure_in_turns(product, [*entries, plain], repeats)
    passes = rows[1]["of_product"]
    print(f"  backend auto, the default: {passes:.2f} passes, at most {BARS['refinement']:g} wanted")
    return {"rows": rows, "sources": sources, "passes": passes, "wanted_passes": BARS["refinement"]}


def whole_run(title: str, bar: str, n: int, aligner: Aligner) -> dict[str, Any]:
    """From two spaces to the alignment, and whether it is one: P@1 of frequent words among all."""
    print(f"\n{title}, {n:,} x {DIM}, 2 threads (load average {os.getloadavg()[0]:.2f})", flush=True)
    pair = simulate_pair(n, DIM, noise=0.4)
    start, cpu_start = time.perf_counter(), time.process_time()
    alignment = aligner.fit(pair.src, pair.tgt)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    # The lexicon's pairs come in order of frequency.
    gold = pair.lexicon.indices(pair.src, pair.tgt)[:5000]
    queries = np.unique(gold[:, 0])
    mapped = alignment.transform(pair.src.vectors, "src"), alignment.transform(pair.tgt.vectors, "tgt")
    found = Retriever(*mapped, score="cosine").top(1, rows=queries).indices[:, 0]
    right = set(map(tuple, gold.tolist()))
    hits = [(source, target) in right for source, target in zip(queries.tolist(), found.tolist(), strict=True)]
    precision = float(np.mean(hits))
    told = {name: alignment.info[name] for name in ("rounds", "start", "aligned") if name in alignment.info}
    print(f"  {seconds / 60:.1f} minutes ({cpu_seconds / 60:.1f} of CPU), at most {BARS[bar]:g} wanted")
    print(f"  P@1 of {len(queries):,} frequent words by cosine {precision:.3f}; {told}", flush=True)
    row = {"what": title, "words": n, "seconds": seconds, "cpu_seconds": cpu_seconds, "precision": precision}
    return {**row, "told": told, "wanted_seconds": 60 * BARS[bar], "load_average": os.getloadavg()[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="whole runs without pairs as well")
    parser.add_argument("--only", choices=list(BARS), nargs="+", help="these parts and no others")
    parser.add_argument("--sources", type=int, default=10_000, help="source words of the refinement round")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "aligners.json")
    options = parser.parse_args()
    parts = options.only or (list(BARS) if options.long else ["self-learning", "refinement"])
    print(f"{os.cpu_count()} cores, {available_backends()['int8'].detail}")
    result: dict[str, Any] = {
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "load_average": os.getloadavg()[0],
        "numpy": np.__version__,
        "reference_round_seconds": REFERENCE_ROUND,
    }
    with at_most(1):
        small = rotated_twins(700, 700)
        names = [name for name in ("exact", "int8") if available_backends()[name].available]
        for name in names:  # compile before the clock runs
            refine(*small, rounds=0, backend=name)
        if "self-learning" in parts:
            result["self_learning"] = self_learning(options.repeats)
        if "refinement" in parts:
            result["refinement"] = refinement(options.repeats, options.sources)
    with at_most(2):
        if "vecmap" in parts:
            result["vecmap"] = whole_run("VecMap without pairs", "vecmap", VOCABULARY, VecMapUnsupervised())
        if "muse" in parts:
            adversarial = Muse(starts="adversarial", restarts=1)
            result["muse"] = whole_run("MUSE with one adversarial start", "muse", FREQUENT, adversarial)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
