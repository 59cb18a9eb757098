"""How fast word vectors are trained from text, next to the libraries one would otherwise use.

    python benchmarks/training.py                          # one and all threads, whole words and subwords: 10 minutes
    python benchmarks/training.py --lines 20000 --kinds words    # a smaller part of the text, only whole words
    python benchmarks/training.py --fasttext ./fasttext    # also fastText's own program, built from its source
    python benchmarks/training.py --quality                # WordSim-353 after five epochs on the whole text as well

The text is the English benchmark text if it lies in ../shared/data, else a generated one. A rate is running words a
second: from the time of three epochs less that of one, so that reading and counting do not enter; the best of the
repeats. Libraries that are not installed (gensim, fasttext, floret) are left out and named. Prints tables and writes
benchmarks/results/training.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from isoglot.simulate import simulate_texts
from isoglot.text import read_text
from isoglot.wordvectors import Corpus, TextFile, Training, train

DIM = 300
TEXT = Path(__file__).parents[2] / "shared" / "data" / "text" / "eltec.en.txt.xz"
#: Running words a second and thread of fastText's program without subwords, measured once on a machine of this kind.
QUOTED = 92_000


def ours(text: Path, folder: Path, threads: int, **settings: object) -> Callable[[int], None]:
    corpus = Corpus.build([TextFile("en", text)], folder / "corpus")

    def run(epochs: int) -> None:
        train(corpus, Training(dim=DIM, epochs=epochs, **settings), threads=threads)  # type: ignore[arg-type]

    return run


def gensim(text: Path, threads: int, *, subwords: bool, cbow: bool) -> Callable[[int], None]:
    from gensim.models import FastText, Word2Vec

    def run(epochs: int) -> None:
        common = {
            "corpus_file": str(text), "vector_size": DIM, "window": 5, "min_count": 5, "sg": int(not cbow),
            "alpha": 0.05, "negative": 5, "ns_exponent": 0.5, "sample": 1e-4, "epochs": epochs, "workers": threads,
        }  # fmt: skip
        if subwords:
            FastText(min_n=3, max_n=6, bucket=2_000_000, **common)
        else:
            Word2Vec(**common)

    return run


def library(name: str, text: Path, threads: int, *, subwords: bool, cbow: bool) -> Callable[[int], None]:
    """fasttext and floret have the same interface."""
    module = importlib.import_module(name)

    def run(epochs: int) -> None:
        module.train_unsupervised(
            str(text), model="cbow" if cbow else "skipgram", dim=DIM, epoch=epochs, thread=threads, verbose=0,
            minn=3 if subwords else 0, maxn=6 if subwords else 0,
        )  # fmt: skip

    return run


def program(path: str, text: Path, folder: Path, threads: int, *, subwords: bool, cbow: bool) -> Callable[[int], None]:
    def run(epochs: int) -> None:
        command = [
            path, "cbow" if cbow else "skipgram", "-input", text, "-output", folder / "model", "-dim", DIM, "-epoch",
            epochs, "-thread", threads, "-minn", 3 if subwords else 0, "-maxn", 6 if subwords else 0, "-verbose", 0,
        ]  # fmt: skip
        subprocess.run([str(part) for part in command], check=True, capture_output=True)

    return run


def rate(run: Callable[[int], None], words: int, repeats: int) -> float:
    """Running words a second: two epochs take the quickest time of three less the quickest of one."""
    best = {1: float("inf"), 3: float("inf")}
    for _ in range(repeats):
        for epochs in best:
            best[epochs] = min(best[epochs], _timed(lambda: run(epochs)))  # noqa: B023 (called at once)
    return 2 * words / max(best[3] - best[1], 1e-9)


def sgemm() -> float:
    """GFLOP/s of a float32 product at one thread."""
    a = np.random.default_rng(0).standard_normal((2000, 2000), dtype=np.float32)
    with threadpool_limits(1):
        best = min(_timed(lambda: a @ a) for _ in range(5))
    return 2 * 2000**3 / best / 1e9


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def contenders(text: Path, folder: Path, threads: int, subwords: bool, cbow: bool, binary: str | None) -> dict:
    settings = {"subwords": subwords, "model": "cbow" if cbow else "skipgram"}
    found: dict[str, Callable[[int], None]] = {"isoglot": ours(text, folder, threads, **settings)}
    kinds = {"subwords": subwords, "cbow": cbow}
    if binary:
        found["fastText's program"] = program(binary, text, folder, threads, **kinds)
    if importlib.util.find_spec("gensim"):
        found["gensim"] = gensim(text, threads, **kinds)
    for name in ("fasttext", "floret"):
        if importlib.util.find_spec(name):
            found[name] = library(name, text, threads, **kinds)
    return found


def quality(binary: str | None, folder: Path, lines: list[str]) -> dict[str, float]:
    """Spearman correlation with WordSim-353 after five epochs on the whole text."""
    from gensim.models import KeyedVectors
    from gensim.test.utils import datapath

    text = folder / "whole.txt"
    text.write_text("\n".join(lines) + "\n", "utf-8")
    corpus = Corpus.build([TextFile("en", text)], folder / "whole")
    scores = {}
    for subwords in (False, True):
        vectors = KeyedVectors(DIM)
        vectors.add_vectors(list(corpus.words), train(corpus, Training(dim=DIM, subwords=subwords)))
        name = "subwords" if subwords else "whole words"
        scores[f"isoglot, {name}"] = float(vectors.evaluate_word_pairs(datapath("wordsim353.tsv"))[1][0])
        if binary:
            threads = os.cpu_count() or 1
            program(binary, text, folder, threads, subwords=subwords, cbow=False)(5)
            vectors = KeyedVectors.load_word2vec_format(str(folder / "model.vec"))
            scores[f"fastText, {name}"] = float(vectors.evaluate_word_pairs(datapath("wordsim353.tsv"))[1][0])
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=40_000)
    parser.add_argument("--kinds", nargs="+", default=["words", "subwords", "cbow"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--fasttext", help="path of fastText's own program")
    parser.add_argument("--quality", action="store_true")
    arguments = parser.parse_args()
    results: dict[str, object] = {"machine": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}
    if TEXT.exists():
        everything = [line for block in read_text(TEXT) for line in block]
        print(f"text: {TEXT.name}")
    else:
        everything = list(simulate_texts(60_000, 8000).src)
        print("text: generated (no ../shared/data/text/eltec.en.txt.xz here)")
    absent = [name for name in ("gensim", "fasttext", "floret") if not importlib.util.find_spec(name)]
    if absent or not arguments.fasttext:
        print(
            f"left out: {', '.join([*absent, *([] if arguments.fasttext else ['the fastText program (--fasttext)'])])}"
        )
    limit = sgemm()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        text = folder / "text.txt"
        text.write_text("\n".join(everything[: arguments.lines]) + "\n", "utf-8")
        words = sum(len(line.split()) for line in everything[: arguments.lines])
        print(f"{words:,} running words, {DIM} dimensions, bare sgemm {limit:.0f} GFLOP/s at 1 thread")
        threads_tried = sorted({1, os.cpu_count() or 1})
        for part, threads in itertools.product(arguments.kinds, threads_tried):
            subwords, cbow = part == "subwords", part == "cbow"
            kind = f"{'CBOW' if cbow else 'skip-gram'}, {'subwords' if subwords else 'whole words'}, {threads} threads"
            print(f"\n{kind} (load {os.getloadavg()[0]:.1f})\n  {'':22}{'words/s':>12}{'isoglot / it':>14}")
            speeds: dict[str, float] = {}
            for name, run in contenders(text, folder, threads, subwords, cbow, arguments.fasttext).items():
                try:
                    speeds[name] = rate(run, words, arguments.repeats)
                except RuntimeError as error:  # the fasttext wheel: "Encountered NaN"
                    print(f"  {name:22} failed: {error}")
                    continue
                print(f"  {name:22}{speeds[name]:12,.0f}{speeds['isoglot'] / speeds[name]:14.2f}", flush=True)
            results[kind] = speeds
        if arguments.quality:
            results["wordsim353"] = quality(arguments.fasttext, folder, everything)
            print("\nSpearman correlation with WordSim-353, five epochs on the whole text")
            for name, score in results["wordsim353"].items():  # type: ignore[attr-defined]
                print(f"  {name:28}{score:.3f}")
    print(f"\nfastText's program, quoted from another machine of this kind: {QUOTED:,} words/s a thread")
    place = Path(__file__).parent / "results" / "training.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(results, indent=2) + "\n")
    print(f"written to {place.relative_to(Path(__file__).parents[1])}")


if __name__ == "__main__":
    main()
