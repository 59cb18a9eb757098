"""Word alignment by USE's vectors, by statistics and by both, against gold links, with settings chosen elsewhere.

    python benchmarks/word_alignment.py

Needs the gold links in ../shared/data/word-alignment and the encoder `encoder/use-multilingual`. No method sees gold
links. Settings of `combined` are chosen from a grid by F1, once on the other language pair and once on the other half
of the same pair, each half for the other; intervals are 95%, by resampling sentences. Prints a table and writes
benchmarks/results/word_alignment.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders import Encoder
from isoglot.lexicons import Lexicon
from isoglot.tasks import word_alignment
from isoglot.text import ParallelText
from isoglot.wordalign import WordLinks, link_words, read_links, statistical_align

DATA = Path(__file__).parents[2] / "shared" / "data" / "word-alignment"
#: Gold sets and the lexicon of each.
SETS = {"enfr": "lexicon/en-fr", "roen": "lexicon/en-ro"}
GRID = {
    "smoothing": (0.01, 0.03, 0.1, 0.3, 1.0),
    "null": (0.007, 0.05, 0.14),
    "temperature": (0.05, 0.07, 0.1),
    "stem": (0, 6),
}
THRESHOLDS = (0.3, 0.4, 0.5, 0.6)
#: What `combined` hears, one thing more in each row; "counts alone" has no vectors.
KINDS: dict[str, dict[str, Any]] = {
    "counts alone": {"spelling": 0.0, "adapt": 0.0},
    "vectors and counts": {"spelling": 0.0, "adapt": 0.0},
    "and spelling": {"adapt": 0.0},
    "and a map of its own links": {},
    "and a lexicon": {"lexicon": True},
}


class Gold:
    """One set: its words, gold links and similarities, and what `combined` finds with given settings."""

    def __init__(self, name: str, encoder: Encoder) -> None:
        text = ParallelText.load_joined(DATA / f"{name}.src-tgt", name[:2], name[2:])
        self.src, self.tgt = ([line.split() for line in side] for side in (text.src, text.tgt))
        self.links = read_links(DATA / f"{name}.gold", base=1)
        self.vectors = encoder.words(self.src), encoder.words(self.tgt)
        # Each side's words along an axis of its own: all cosines are 0.
        self.flat = [
            dataclasses.replace(side, vectors=np.tile(axis, (len(side.vectors), 1)))
            for side, axis in zip(self.vectors, np.eye(2, dtype=np.float32), strict=True)
        ]
        self.lexicon = Lexicon.load(SETS[name])
        self.halves = np.random.default_rng(0).permutation(len(text)) % 2

    def f1(self, found: Sequence[WordLinks], half: int | None = None) -> float:
        used = [k for k in range(len(found)) if half is None or self.halves[k] == half]
        return word_alignment([found[k] for k in used], [self.links[k] for k in used], bootstrap=0)[0].value

    def row(self, found: Sequence[WordLinks]) -> dict[str, Any]:
        results = word_alignment(found, self.links)
        row = {one.metric: round(one.value, 3) for one in results}
        return {**row, "interval": [round(end, 3) for end in results[0].interval or ()]}

    @functools.cache  # noqa: B019 - lives as long as the program
    def scored(self, kind: str, settings: tuple[tuple[str, float], ...]) -> list[WordLinks]:
        return self.linked(kind, **dict(settings))

    def linked(self, kind: str, **settings: Any) -> list[WordLinks]:
        extra = {**KINDS[kind], **({"lexicon": self.lexicon} if "lexicon" in KINDS[kind] else {})}
        sides = self.flat if kind == "counts alone" else self.vectors
        return link_words(*sides, "combined", **settings, **extra)

    def combined(self, kind: str, settings: tuple[tuple[str, float], ...], threshold: float) -> list[WordLinks]:
        if KINDS[kind].get("adapt") != 0.0:  # the map is learned from what is above the threshold
            return self.scored(kind, (*settings, ("threshold", threshold)))
        found = []
        for links in self.scored(kind, (*settings, ("threshold", min(THRESHOLDS)))):
            good = {link: score for link, score in links.scores.items() if score >= threshold}
            found.append(WordLinks(frozenset(good), scores=good))
        return found


def points(kind: str) -> list[tuple[tuple[tuple[str, float], ...], float]]:
    if kind == "counts alone":
        grid, thresholds = {**GRID, "smoothing": (0.001, *GRID["smoothing"]), "temperature": (0.07,)}, THRESHOLDS
    elif KINDS[kind].get("adapt") != 0.0:  # twice the work, and a threshold changes little
        grid, thresholds = {**GRID, "temperature": (0.07,)}, (0.4, 0.5)
    else:
        grid, thresholds = GRID, THRESHOLDS
    values = (tuple(zip(grid, one, strict=True)) for one in itertools.product(*grid.values()))
    return list(itertools.product(values, thresholds))


def rows_of(gold: Gold, other: Gold, kind: str) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    rows["defaults"] = gold.row(gold.linked(kind))
    best = max(points(kind), key=lambda point: other.f1(other.combined(kind, *point)))
    rows["chosen on the other pair"] = {**gold.row(gold.combined(kind, *best)), "settings": best}
    picked: list[WordLinks] = [WordLinks()] * len(gold.links)
    choices = []
    for half in (0, 1):
        best = max(points(kind), key=lambda point: gold.f1(gold.combined(kind, *point), 1 - half))
        choices.append(best)
        for k, links in enumerate(gold.combined(kind, *best)):
            if gold.halves[k] == half:
                picked[k] = links
    rows["chosen on the other half"] = {**gold.row(picked), "settings": choices}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="encoder/use-multilingual")
    options = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit("no benchmark data here: ../shared/data/word-alignment is absent")
    began = time.perf_counter()
    encoder = Encoder(options.encoder)
    sets = {name: Gold(name, encoder) for name in SETS}
    results: dict[str, Any] = {"encoder": options.encoder}
    for name, gold in sets.items():
        rows: dict[str, Any] = {}
        for method in ("intersection", "itermax", "grow-diag-final-and"):
            rows[f"vectors alone, {method}"] = gold.row(link_words(*gold.vectors, method))
        rows["thot-eflomal"] = gold.row(statistical_align(gold.src, gold.tgt, "thot-eflomal"))
        (other,) = (one for key, one in sets.items() if key != name)
        for kind in KINDS:
            for how, row in rows_of(gold, other, kind).items():
                rows[f"{kind}, {how}"] = row
        results[name] = rows
        for what, row in rows.items():
            low, high = row["interval"]
            print(f"{name}  {what:48} F1 {row['F1']:.3f} ({low:.3f} to {high:.3f})  P {row['precision']:.3f}  "
                  f"R {row['recall']:.3f}  AER {row['AER']:.3f}  {row.get('settings', '')}", flush=True)  # fmt: skip
    results["minutes"] = round((time.perf_counter() - began) / 60, 1)
    output = Path(__file__).parent / "results" / "word_alignment.json"
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
