"""Real-NVP on real static vectors, beside linear maps, and why it wins or loses there.

    python benchmarks/density_real.py              # catalogue vectors en-fr and en-ja: fetched on first use
    python benchmarks/density_real.py --pairs fr --methods realnvp realnvp,permute=yes

The demo's protocol: 5,000 pairs of the most frequent words to learn from, the next 1,500 words to test, CSLS over all
words. Beside P@1: how far mapped words are from their translations, for words that taught and for test words
(an overfitted map is close only to the former); how much of the map is linear (the share of it that the best matrix
explains on words that no pair touched); and each language's likelihood a dimension, of words that taught and others.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import Alignment, FlowAlignment
from isoglot.catalogue import load_lexicon, load_vectors
from isoglot.lexicons import Lexicon, split_lexicon
from isoglot.pipelines import align_pair, contenders
from isoglot.spaces import Space

METHODS = ("procrustes", "rcsls", "fcnn", "realnvp", "realnvp,permute=yes", "realnvp,batch=256,rate=0.0004")


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)


def closeness(alignment: Alignment, src: Space, tgt: Space, lexicon: Lexicon) -> float:
    """Mean cosine of mapped words and their first translations."""
    pairs = lexicon.indices(src, tgt)
    first = pairs[np.unique(pairs[:, 0], return_index=True)[1]]
    A = alignment.transform(src.vectors[first[:, 0]], "src")
    B = alignment.transform(tgt.vectors[first[:, 1]], "tgt")
    return float(np.einsum("ij,ij->i", unit(A), unit(B)).mean())


def linear_share(alignment: Alignment, src: Space) -> float:
    """The share of variance of the mapped words that the best matrix explains, on every other word of 20,000."""
    X = alignment.normalise(src.vectors[:20_000], "src").astype(np.float64)
    Y = alignment.transform(src.vectors[:20_000], "src").astype(np.float64)
    A = np.hstack([X, np.ones((len(X), 1))])
    W = np.linalg.lstsq(A[::2], Y[::2], rcond=None)[0]
    left = Y[1::2] - A[1::2] @ W
    return float(1 - (left**2).sum() / ((Y[1::2] - Y[1::2].mean(axis=0)) ** 2).sum())


def likelihood(alignment: Alignment, src: Space, tgt: Space, lexicon: Lexicon) -> dict[str, float]:
    """Mean log-density a dimension."""
    if not isinstance(alignment, FlowAlignment):
        return {}
    pairs = lexicon.indices(src, tgt)
    return {
        side: float(alignment.log_prob(space.vectors[np.unique(pairs[:, i])], side).mean() / space.dim)
        for i, (side, space) in enumerate((("src", src), ("tgt", tgt)))
    }


def measure(name: str, src: Space, tgt: Space, train: Lexicon, test: Lexicon) -> dict[str, Any]:
    (one,) = contenders([name])
    started = time.perf_counter()
    outcome = align_pair(src, tgt, one.aligner, train=train, test=test)
    alignment = next(iter(outcome.aligned.alignments.values()))
    history = alignment.info.get("history", [])
    row = {
        "method": name,
        "p_at_1": outcome.results[0].value,
        "interval": outcome.results[0].interval,
        "seconds": outcome.seconds["align"],
        "whole_seconds": time.perf_counter() - started,
        "taught_cosine": closeness(alignment, src, tgt, train),
        "test_cosine": closeness(alignment, src, tgt, test),
        "linear_share": linear_share(alignment, src),
        "taught_likelihood": likelihood(alignment, src, tgt, train),
        "test_likelihood": likelihood(alignment, src, tgt, test),
        "best_epoch": alignment.info.get("best_epoch"),
        "criteria": [{k: r[k] for k in ("semantic", "structural") if k in r} for r in history],
    }
    low, high = row["interval"] or (0, 0)
    told = f"  {name:32} P@1 {row['p_at_1']:.3f} ({low:.3f} to {high:.3f}) {row['seconds']:6.0f} s"
    told += f"  cosine taught {row['taught_cosine']:.3f}, test {row['test_cosine']:.3f}"
    told += f"  linear {row['linear_share']:.3f}"
    if row["taught_likelihood"]:
        told += (
            f"  likelihood taught {row['taught_likelihood']}, test {row['test_likelihood']}, epoch {row['best_epoch']}"
        )
    print(told, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", default=["fr", "ja"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "density_real.json")
    options = parser.parse_args()
    result: dict[str, Any] = {"cores": os.cpu_count()}
    for lang in options.pairs:
        src, tgt = load_vectors("vectors/en"), load_vectors(f"vectors/{lang}")
        train, test = split_lexicon(load_lexicon("en", lang), src, tgt, seeds=5000, held_out=1500)
        assert test is not None
        print(f"\nen-{lang}, load average {os.getloadavg()[0]:.2f}", flush=True)
        result[lang] = [measure(name, src, tgt, train, test) for name in options.methods]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
