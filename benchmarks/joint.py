"""Joint-Align on the benchmark text: which step brings what, and how that changes with the size of the text.

    python benchmarks/joint.py                   # en-fr, en-it, en-de, all of the text: half an hour at 2 cores
    python benchmarks/joint.py --pairs fr --megabytes 2.5 10 40
    python benchmarks/joint.py --pairs fr --no-subwords --refine procrustes

Reads ../shared/data (ELTeC novels, XLING dictionaries: 5,000 pairs to learn from, 2,000 to test); says so and stops
where that is missing. Trained vectors are kept in the folder of --work, so that a second run only evaluates. Prints one
table a pair and size and writes benchmarks/results/joint.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from isoglot.aligners import aligner
from isoglot.lexicons import Lexicon
from isoglot.pipelines import JointJob
from isoglot.reproductions.joint_align.ablation import Ablation, run_ablation
from isoglot.text import read_text
from isoglot.wordvectors import CorpusSettings, TextFile, Training

DATA = Path(__file__).parents[2] / "shared" / "data"


def shortened(lang: str, megabytes: float, folder: Path) -> Path:
    """The first megabytes of a language's text, whole lines; written once."""
    place = folder / f"{lang}.{megabytes:g}.txt"
    if not place.exists():
        lines, size = [], 0.0
        for block in read_text(DATA / "text" / f"eltec.{lang}.txt.xz"):
            for line in block:
                size += len(line.encode()) + 1
                if size > megabytes * 1e6:
                    break
                lines.append(line)
        place.write_text("\n".join(lines) + "\n", "utf-8")
    return place


def ablation(lang: str, megabytes: float, work: Path, method: str, settings: Training) -> Ablation:
    texts = [TextFile(code, shortened(code, megabytes, work)) for code in ("en", lang)]
    lexicons = DATA / "lexicons" / "xling"
    pair = ("en", lang)
    train, test = (
        Lexicon.load(lexicons / f"en-{lang}.{part}.tsv", *pair).fold_case() for part in ("train.5k", "test.2k")
    )
    job = JointJob(
        texts,
        {pair: train},
        {pair: test},
        aligner(method),
        training=settings,
        corpus=CorpusSettings(lines_of=lang),
    )
    kind = "subwords" if settings.subwords else "words"
    return run_ablation(job, work / f"{lang}-{megabytes:g}-{kind}", tell=lambda line: print(f"  {line}", flush=True))


def show(outcome: Ablation) -> None:
    print(f"\n{outcome.title}; words {outcome.kinds['trained']} -> {outcome.kinds['reallocated']}")
    for identical, pairs in (("keep", "all pairs"), ("remove", "pairs of different form")):
        head, rows = outcome.table(identical)
        for row in [[pairs, *head[1:]], *rows]:
            print(f"  {row[0]:38}" + "".join(f"{cell:>16}" for cell in row[1:]))
    print(f"  moved: {outcome.moved_words} test words were reallocated")
    for line in outcome.sentences():
        print(f"  {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", default=["fr", "it", "de"], help="languages beside English")
    parser.add_argument("--megabytes", nargs="+", type=float, default=[40.0])
    parser.add_argument("--refine", default="rcsls")
    parser.add_argument("--no-subwords", action="store_true")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path(__file__).parent / "results" / "joint-work")
    arguments = parser.parse_args()
    if not (DATA / "text").is_dir():
        print("the benchmark text (../shared/data/text) is not here: nothing to measure")
        sys.exit(0)
    arguments.work.mkdir(parents=True, exist_ok=True)
    settings = Training(epochs=arguments.epochs, subwords=not arguments.no_subwords)
    results = []
    for lang in arguments.pairs:
        for megabytes in arguments.megabytes:
            started = time.perf_counter()
            outcome = ablation(lang, megabytes, arguments.work, arguments.refine, settings)
            minutes = (time.perf_counter() - started) / 60
            show(outcome)
            print(f"  {minutes:.1f} minutes, load {os.getloadavg()[0]:.1f}", flush=True)
            results.append({"pair": f"en-{lang}", "megabytes": megabytes, "minutes": minutes, **outcome.record()})
    place = Path(__file__).parent / "results" / "joint.json"
    place.parent.mkdir(exist_ok=True)  # it is not there with --work elsewhere
    place.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nwritten to {place.relative_to(Path(__file__).parents[1])}")


if __name__ == "__main__":
    main()
