"""Loading text vectors: Isoglot against gensim and against a Python loop with one `np.fromstring` a line.

    python benchmarks/load_text.py              # 200,000 x 300, about 512 MB of text in a temporary folder
    python benchmarks/load_text.py --rows 20000

Each measurement runs in a process of its own; times are the least of several runs. CPU time counts all threads.
Memory is the rise of the peak resident size over what the process held before loading, divided by the matrix; for
Isoglot this includes numba, which is imported when the first text file is parsed. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results" / "load_text.json"

PREAMBLE = """
import json, os, resource, sys, time
import numpy as np
path, threads = sys.argv[1], int(sys.argv[2])
def memory(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
def measure(run, size):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts anew
    before, wall, used = memory("VmRSS"), time.perf_counter(), cpu()
    held = run()
    found = {"wall": time.perf_counter() - wall, "cpu": cpu() - used}
    print(json.dumps(found | {"memory": (memory("VmHWM") - before) / size(held)}))
"""

RUNS = {
    # Compiled code is on disk from the first run on, as it is for a user; importing it is part of the time.
    "isoglot, no cache": """
from isoglot.spaces import load_space
measure(lambda: load_space(path, cache=False, threads=threads), lambda s: s.vectors.nbytes)
""",
    "isoglot, first load": """
from isoglot.files import cache_directory
from isoglot.spaces import load_space
import shutil; shutil.rmtree(cache_directory(), ignore_errors=True)
measure(lambda: load_space(path, threads=threads), lambda s: s.vectors.nbytes)
""",
    "isoglot, second load": """
from isoglot.spaces import load_space
measure(lambda: load_space(path, threads=threads), lambda s: s.vectors.nbytes)
""",
    "np.load": """
measure(lambda: np.load(os.path.splitext(path)[0] + ".npy"), lambda x: x.nbytes)
""",
    "loop with np.fromstring": """
import warnings; warnings.simplefilter("ignore")
def run():
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        count, dim = map(int, file.readline().split())
        matrix, words = np.empty((count, dim), dtype=np.float32), []
        for i in range(count):
            word, numbers = file.readline().split(" ", 1)
            words.append(word)
            matrix[i] = np.fromstring(numbers, sep=" ", dtype=np.float32)
    return matrix, words
measure(run, lambda held: held[0].nbytes)
""",
    "gensim": """
from gensim.models import KeyedVectors
measure(lambda: KeyedVectors.load_word2vec_format(path), lambda kv: kv.vectors.nbytes)
""",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=3, help="runs of the quick loaders; the slow ones run once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.vec"
        generate(path, options.rows, options.dim)
        rows = []
        for name in RUNS:
            for threads in (1, 2) if name.startswith("isoglot") and "second" not in name else (1,):
                repeat = 1 if name in ("gensim", "loop with np.fromstring") else options.repeat
                rows.append({"loader": name, "threads": threads, **run(name, path, threads, repeat)})
        size = path.stat().st_size
    by_name = {(row["loader"], row["threads"]): row for row in rows}
    gensim, loop = by_name["gensim", 1]["cpu"], by_name["loop with np.fromstring", 1]["cpu"]
    print(f"{options.rows:,} x {options.dim}, {size / 1e6:.0f} MB of text\n")
    print(f"{'loader':26}{'threads':>8}{'wall s':>9}{'CPU s':>9}{'memory':>9}{'of gensim':>11}{'of loop':>9}")
    for row in rows:
        shares = f"1/{gensim / row['cpu']:.1f}", f"1/{loop / row['cpu']:.1f}"
        print(
            f"{row['loader']:26}{row['threads']:8}{row['wall']:9.2f}{row['cpu']:9.2f}{row['memory']:8.2f}x"
            f"{shares[0]:>11}{shares[1]:>9}"
        )
    second = by_name["isoglot, second load", 1]["wall"] / by_name["np.load", 1]["wall"]
    first = by_name["isoglot, first load", 1]
    targets = {
        "CPU of gensim (at most 1/8)": first["cpu"] / gensim,
        "CPU of the loop (at most 1/2.5)": first["cpu"] / loop,
        "second load of np.load (below 1.5)": second,
        "memory of the matrix (below 1.3)": first["memory"],
    }
    print()
    for target, value in targets.items():
        print(f"{target:40}{value:.3f}")
    record = {"rows": options.rows, "dim": options.dim, "bytes": size, "machine": platform.machine()}
    record |= {"cores": os.cpu_count(), "runs": rows, "targets": targets}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=2) + "\n")


def generate(path: Path, rows: int, dim: int) -> None:
    """Random vectors with five decimals, as text and as .npy."""
    rng = np.random.default_rng(0)
    row_format = " ".join(["%.5f"] * dim)
    matrix = np.lib.format.open_memmap(path.with_suffix(".npy"), "w+", np.float32, (rows, dim))
    with path.open("w") as file:
        file.write(f"{rows} {dim}\n")
        for start in range(0, rows, 1000):
            block = rng.normal(0, 0.1, (min(1000, rows - start), dim))
            matrix[start : start + len(block)] = block
            file.writelines(f"word{start + i} {row_format % tuple(row)}\n" for i, row in enumerate(block.tolist()))


def run(name: str, path: Path, threads: int, repeat: int) -> dict[str, float]:
    environment = os.environ | {"ISOGLOT_CACHE": str(path.parent / "cache"), "OMP_NUM_THREADS": str(threads)}
    script = PREAMBLE + RUNS[name]
    if name.startswith("isoglot"):
        # Once on a few lines, so that the compiled code is on disk.
        sample = path.with_name("sample.vec")
        sample.write_text("a 1 2\nb 3 4\n")
        command = [sys.executable, "-c", script, str(sample), "1"]
        if "first" not in name:
            subprocess.run(command, env=environment, check=True, capture_output=True)
    found = []
    for _ in range(repeat):
        command = [sys.executable, "-c", script, str(path), str(threads)]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout))
    return {key: min(result[key] for result in found) for key in ("wall", "cpu", "memory")}


if __name__ == "__main__":
    main()
