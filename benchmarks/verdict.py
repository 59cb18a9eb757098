"""Is the verdict right? Cases with known truth, half of them to calibrate on, the other half to report.

    python benchmarks/verdict.py                      # simulated spaces and the catalogue's en-fr, en-ja
    python benchmarks/verdict.py --vectors FOLDER     # and vectors of little text that lie there, see below
    python benchmarks/verdict.py --fit                # also the coefficients of src/isoglot/aligners/verdict.py

FOLDER may hold mdn.en, mdn.fr, mdn.es (`isoglot vectors train en=mdn.en.txt.xz --dim 200 --epochs 10 -o
mdn.en.safetensors`), half1 and half2 (of odd and even lines of mdn.en, --dim 100), el.en and el.fr (of 10 MB of novels,
--dim 100 --epochs 5); the text is that of ../shared/data/text.

Each pair of spaces has several maps: learned from all of half its dictionary (the supervised one that others are held
against), from few pairs, self-learned from those, half of the way to a random rotation, and what self-learning makes of
random rotations. P@1 is by CSLS among all words, over words of the dictionary's other half. Pairs of spaces without
truth have maps of chance only. Whole pairs of spaces go to one half or the other, so that none is in both.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import procrustes
from isoglot.aligners.self_learning.refinement import PATIENCE, nearest_rotation, refine
from isoglot.aligners.self_learning.rounds import annealed
from isoglot.aligners.verdict import WORDS, Chance, Signs, decide
from isoglot.catalogue import load_lexicon, load_vectors
from isoglot.lexicons import Lexicon, identical_strings
from isoglot.retrieval import Retriever
from isoglot.simulate import simulate_pair
from isoglot.spaces import Normaliser, Space, load_space

#: Words of each side that take part.
VOCABULARY = 8_000
#: A map is good if its P@1 is this share of the supervised one's, and bad below that share.
GOOD, BAD = 2 / 3, 1 / 10


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two matrices and pairs of rows that translate each other, none where nothing does."""

    name: str
    kind: str
    X: np.ndarray
    Y: np.ndarray
    gold: np.ndarray


@dataclasses.dataclass(frozen=True)
class Case:
    """A map with its truth and its signs; `same` where random rotations find it too."""

    pair: str
    kind: str
    map: str
    p1: float
    supervised: float
    signs: Signs | None

    @property
    def truth(self) -> str:
        if not self.supervised:
            return "noise"
        return "good" if self.p1 >= GOOD * self.supervised else "bad" if self.p1 < BAD * self.supervised else "partial"


def normalised(vectors: np.ndarray) -> np.ndarray:
    return Normaliser.fit_transform("unit,centre,unit", np.ascontiguousarray(vectors[:VOCABULARY], np.float32))[1]


def of_spaces(name: str, kind: str, src: Space, tgt: Space, lexicon: Lexicon | None) -> Pair:
    src, tgt = src.most_frequent(VOCABULARY), tgt.most_frequent(VOCABULARY)
    gold = np.zeros((0, 2), np.int64) if lexicon is None else lexicon.indices(src, tgt)
    return Pair(name, kind, normalised(src.vectors), normalised(tgt.vectors), gold)


def pairs(vectors: Path | None) -> Iterator[Pair]:
    """Small ones first."""
    rng = np.random.default_rng(0)
    nothing = np.zeros((0, 2), np.int64)
    small = {path.stem: load_space(path) for path in sorted(vectors.glob("*.safetensors"))} if vectors else {}
    if "half1" in small and "half2" in small:
        gold = identical_strings(small["half1"], small["half2"])
        yield of_spaces("halves of mdn.en", "real", small["half1"], small["half2"], gold)
    if "half1" in small and "el.fr" in small:
        # Real numbers, but those of each dimension shuffled: what they say of words is gone.
        mixed = rng.permuted(small["el.fr"].vectors, axis=0)
        yield of_spaces("mdn.en half, fr shuffled", "noise", small["half1"], small["el.fr"].with_vectors(mixed), None)
    trained = [("el.en", "el.fr", "fr"), ("mdn.en", "mdn.fr", "fr"), ("mdn.en", "mdn.es", "es")]
    for src, tgt, lexicon in trained:
        if src in small and tgt in small:
            yield of_spaces(f"{src} {tgt}", "real", small[src], small[tgt], load_lexicon("en", lexicon))
    for dim in (50, 100, 150):
        one, other = (simulate_pair(2500, dim, 0.5, seed) for seed in (dim, dim + 1))
        yield of_spaces(f"unrelated simulated, {dim}-d", "noise", one.src, other.tgt, None)
    for seed, (noise, dim) in enumerate([(0.3, 50), (0.6, 100), (0.9, 100), (1.2, 100), (1.5, 150), (1.8, 100)]):
        made = simulate_pair(2500, dim, noise, seed, untranslated=0.1 * (seed % 4 + 1))
        yield of_spaces(f"simulated, noise {noise}, {dim}-d", "simulated", made.src, made.tgt, made.lexicon)
    for dim in (50, 100, 150, 200):
        drawn = [normalised(rng.normal(size=(2500, dim)) * np.linspace(1.5, 0.5, dim)) for _ in range(2)]
        yield Pair(f"normal noise, {dim}-d", "noise", *drawn, nothing)
    for clusters in (40, 400):
        middles = [rng.normal(size=(clusters, 100))[rng.integers(0, clusters, 2500)] for _ in range(2)]
        grouped = [normalised(one + 0.7 * rng.normal(size=one.shape)) for one in middles]
        yield Pair(f"{clusters} unrelated groups", "noise", *grouped, nothing)
    en = load_vectors("en")
    for lang in ("fr", "ja"):
        yield of_spaces(f"catalogue en-{lang}", "real", en, load_vectors(lang), load_lexicon("en", lang))
    turned = en.vectors[:3000].std(axis=0) * rng.normal(size=(3000, en.dim))
    yield Pair("catalogue en, noise of its spread", "noise", normalised(en.vectors[:3000]), normalised(turned), nothing)


def rotation(d: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0].astype(np.float32)


def self_learned(X: np.ndarray, Y: np.ndarray, W: np.ndarray, seed: int) -> np.ndarray:
    X, Y = X[:WORDS], Y[:WORDS]
    return refine(X, Y, annealed(X, Y, W, seed=seed), rounds=20, patience=PATIENCE).best


def maps(pair: Pair, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    d = pair.X.shape[1]
    yield "self-learned from chance", self_learned(pair.X, pair.Y, rotation(d, 100 + seed), seed)
    if not len(pair.gold):
        yield "random", rotation(d, 200 + seed)
        return
    learn = pair.gold[pair.gold[:, 0] % 2 == 0]
    order = np.random.default_rng(seed).permutation(len(learn))

    def few(n: int) -> np.ndarray:
        chosen = learn[order[:n]]
        return procrustes(pair.X[chosen[:, 0]], pair.Y[chosen[:, 1]])

    best = few(len(learn))
    yield "all pairs", best
    yield "1,000 pairs", few(1000)
    yield "100 pairs", few(100)
    yield "self-learned from 100 pairs", self_learned(pair.X, pair.Y, few(100), seed)
    half = nearest_rotation((0.5 * best + 0.5 * rotation(d, seed)).astype(np.float32))
    yield "half of the way to random", half


def precision(pair: Pair, W: np.ndarray) -> float:
    asked = pair.gold[pair.gold[:, 0] % 2 == 1]
    if not len(asked):
        return 0.0
    rows = np.unique(asked[:, 0])
    nearest = Retriever(pair.X @ W, pair.Y).top(1, rows=rows).indices[:, 0]
    right = {(int(i), int(j)) for i, j in asked}
    return float(np.mean([(int(i), int(j)) in right for i, j in zip(rows, nearest, strict=True)]))


def measured(vectors: Path | None, minutes: float) -> list[Case]:
    cases: list[Case] = []
    began = time.perf_counter()
    for number, pair in enumerate(pairs(vectors)):
        started = time.perf_counter()
        if started - began > 60 * minutes:
            print(f"time is up: {pair.name} and those after it are left out")
            break
        X, Y = pair.X[:WORDS], pair.Y[:WORDS]
        chance = Chance.of(X, Y, seed=0)
        candidates = dict(maps(pair, number))
        supervised = precision(pair, candidates["all pairs"]) if len(pair.gold) else 0.0
        for name, W in candidates.items():
            mutual = Retriever(X @ W, Y).mutual().pairs
            signs = chance.signs(mutual)
            cases.append(Case(pair.name, pair.kind, name, precision(pair, W), supervised, signs))
            case = cases[-1]
            shown = "-" if signs is None else " ".join(f"{gain:+.3f}" for gain in (*signs.gains, signs.kept))
            print(f"{pair.name:40} {name:32} {case.p1:.3f} of {supervised:.3f} {case.truth:8} {shown}", flush=True)
        print(f"  {time.perf_counter() - started:.0f} s", flush=True)
    return cases


def restored(record: dict[str, Any]) -> Case:
    """A case as it was written."""
    signs = record["signs"] and Signs(**record["signs"])
    return Case(**{field.name: record[field.name] for field in dataclasses.fields(Case)} | {"signs": signs})


def halves(cases: list[Case]) -> tuple[list[Case], list[Case]]:
    """Every other pair of spaces of each kind to calibrate on, the others to report."""
    calibration: set[str] = set()
    for kind in ("simulated", "noise", "real"):
        calibration |= set(list(dict.fromkeys(case.pair for case in cases if case.kind == kind))[::2])
    return [case for case in cases if case.pair in calibration], [c for c in cases if c.pair not in calibration]


def fitted(cases: list[Case]) -> dict[str, Any]:
    """What the gains must add up to: twice the most of chance and wrong maps."""
    seen = [case for case in cases if case.signs is not None]
    signs = [case.signs for case in seen if case.signs is not None]
    G = np.array([one.gains for one in signs])
    truth = np.array([case.truth for case in seen])
    total = G.sum(axis=1)
    never = total[np.isin(truth, ["noise", "bad"])].max()
    return {"needed": float(2 * never)}


def interval(cases: list[Case]) -> tuple[float, float, float, float]:
    """P@1 as a share of `Signs.found`: the middle, both ends, and the slack for maps that find nothing.

    The middle is that of real pairs, where there are any: simulated ones find more.
    """
    seen = [(case.p1, case.signs.found, case.kind == "real") for case in cases if case.signs is not None]
    p1, found, real = (np.array(column) for column in zip(*seen, strict=True))
    some = found > 0.1
    ratio = p1[some] / found[some]
    middle = float(np.median(p1[some & real] / found[some & real] if (some & real).any() else ratio))
    low, high = np.quantile(ratio, [0.05, 0.95]) / middle
    # What the ends leave out, of nine in ten cases.
    outside = np.maximum(p1 - np.minimum(1, middle * high * found), middle * low * found - p1)
    return middle, float(low), float(high), float(np.quantile(np.maximum(outside, 0), 0.9))


def left_out(cases: list[Case]) -> tuple[int, int]:
    """Of all cases, how many lie inside the interval that the other pairs of spaces give."""
    inside, number = 0, 0
    for pair in dict.fromkeys(case.pair for case in cases):
        middle, low, high, slack = interval([case for case in cases if case.pair != pair])
        for case in cases:
            if case.pair == pair and case.signs is not None:
                value = middle * case.signs.found
                inside += low * value - slack <= case.p1 <= high * value + slack
                number += 1
    return inside, number


def table(cases: list[Case]) -> list[dict[str, Any]]:
    """One row per truth: how many, how many called aligned, and how the expected P@1 did."""
    rows = []
    for truth in ("good", "partial", "bad", "noise"):
        own = [case for case in cases if case.truth == truth]
        verdicts = [None if case.signs is None else decide(case.signs) for case in own]
        yes = sum(verdict is None or verdict.aligned for verdict in verdicts)
        off, inside = [], []
        for case, verdict in zip(own, verdicts, strict=True):
            if verdict is not None and verdict.expected is not None:
                value, low, high = verdict.expected
                off.append(abs(value - case.p1))
                inside.append(low <= case.p1 <= high)
        rows.append({"truth": truth, "cases": len(own), "aligned": yes, "not aligned": len(own) - yes,
                     "mean error of P@1": float(np.mean(off)) if off else None,
                     "inside the interval": int(np.sum(inside))})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, help="folder of vectors of little text")
    parser.add_argument("--cases", type=Path, help="take the cases from what an earlier run has written")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no pair of spaces after these")
    parser.add_argument("--fit", action="store_true", help="print coefficients from the calibration half")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "verdict.json")
    options = parser.parse_args()
    if options.cases:
        cases = [restored(one) for one in json.loads(options.cases.read_text())["cases"]]
    else:
        cases = measured(options.vectors, options.minutes)
    calibration, report = halves(cases)
    result: dict[str, Any] = {"load_average": os.getloadavg()[0]}
    if options.fit:
        result["fitted"] = fitted(calibration)
        result["interval"] = {"calibration": interval(calibration), "all": interval(cases)}
        inside, number = left_out(cases)
        result["left_out"] = {"inside": int(inside), "cases": number}
        print(result["fitted"], result["interval"])
        print(f"inside the interval of the other pairs of spaces: {inside} of {number}")
    for name, own in (("calibration", calibration), ("report", report)):
        result[name] = table(own)
        print(f"{name}: {len(own)} cases")
        for row in result[name]:
            print("  " + ", ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
    result["cases"] = [{**dataclasses.asdict(case), "truth": case.truth} for case in cases]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
