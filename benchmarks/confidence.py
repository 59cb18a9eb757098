"""Do confidences of an induced dictionary mean what they say? Shares of a softmax against calibrated confidences.

    python benchmarks/confidence.py                       # en-fr, en-ja and en-zh of the catalogue
    python benchmarks/confidence.py fr --method contrastive --rerank

A map learns from 5,000 pairs of the most frequent words, as `isoglot align` does. Half of the lexicon's other words,
drawn by chance, calibrate (2,000 of them, and 150 as a small lexicon has), the other half is fresh: nothing was learned
from it. Features were chosen on en-fr and en-ja, with other halves; en-zh was not looked at. "Right" means that the
lexicon lists the translation, over all fresh words with a vector. Prints tables, writes
benchmarks/results/confidence.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import isoglot
from isoglot.aligned import Aligned, calibration_error
from isoglot.lexicons import Lexicon, split_lexicon
from isoglot.small_tables import text_table

BINS = 5


def measure(lang: str, method: str, rerank: bool, seed: int) -> list[dict[str, Any]]:
    """One record for shares and one for each number of words to calibrate on."""
    src, tgt = (isoglot.Space.load(f"vectors/{one}", limit=50_000) for one in ("en", lang))
    lexicon = Lexicon.load(f"lexicon/en-{lang}").restrict(src)
    train, _ = split_lexicon(lexicon, src, tgt)
    unseen = [word for word in lexicon.by_source if word not in train.by_source]
    drawn = np.random.default_rng(seed).permutation(len(unseen))
    calibrating, fresh = (_of(lexicon, [unseen[i] for i in part]) for part in np.array_split(drawn, 2))
    aligned = isoglot.align(src, tgt, train, method=method, held_out=0, rerank=rerank, match_dimensions=True)
    records = [_record(lang, "share", 0, aligned, fresh)]
    for words in (150, 2000):
        some = calibrating.head(words)
        records.append(_record(lang, "calibrated", words, aligned.calibrated(some, both=False), fresh))
    return records


def _of(lexicon: Lexicon, words: list[str]) -> Lexicon:
    return Lexicon([(word, target) for word in words for target in lexicon.by_source[word]])


def _record(lang: str, kind: str, words: int, aligned: Aligned, fresh: Lexicon) -> dict[str, Any]:
    entries = [one for one in aligned.lexicon().entries if one.source in fresh.by_source]
    sure = np.array([one.confidence for one in entries])
    right = np.array([one.target in fresh.by_source[one.source] for one in entries])
    numbers = np.minimum((sure * BINS).astype(int), BINS - 1)
    bins: list[dict[str, float] | None] = []
    for number in range(BINS):
        inside = numbers == number
        figures = {"n": int(inside.sum()), "confidence": sure[inside].mean(), "right": right[inside].mean()}
        bins.append({name: float(value) for name, value in figures.items()} if inside.any() else None)
    return {
        "pair": f"en-{lang}",
        "confidence": kind,
        "words": words,
        "fresh": len(right),
        "right": float(right.mean()),
        "error": calibration_error(sure, right),
        "bins": bins,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("languages", nargs="*", default=["fr", "ja", "zh"])
    parser.add_argument("--method", default="procrustes")
    parser.add_argument("--rerank", action="store_true")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    records = [one for lang in given.languages for one in measure(lang, given.method, given.rerank, given.seed)]
    bands = [f"{b / BINS:.1f} to {(b + 1) / BINS:.1f}" for b in range(BINS)]
    rows = []
    for one in records:
        told = ["-" if b is None else f"{b['confidence']:.2f} -> {b['right']:.2f} ({b['n']:.0f})" for b in one["bins"]]
        figures = [f"{one['right']:.3f}", f"{one['error']:.3f}"]
        rows.append([one["pair"], one["confidence"], one["words"] or "", one["fresh"], *figures, *told])
    head = ["pair", "confidence", "words", "fresh", "right", "error", *bands]
    print(text_table(head, rows, numeric=range(2, 6)))
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    document = {"method": given.method, "rerank": given.rerank, "seed": given.seed, "records": records}
    (folder / "confidence.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
