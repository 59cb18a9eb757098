"""What `align` gives by itself: `auto` on the catalogue's vectors with few, many and foreign pairs.

    python benchmarks/auto.py                       # all settings, effort best: about 7 CPU minutes each
    python benchmarks/auto.py few --effort normal

`xling` reads ../shared/data/lexicons/xling and is left out, with a word, where that is absent.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from isoglot import catalogue
from isoglot.aligners import EFFORTS, Auto
from isoglot.lexicons import Lexicon
from isoglot.pipelines import align_pair
from isoglot.spaces import Space

XLING = Path(__file__).resolve().parents[2] / "shared" / "data" / "lexicons" / "xling"
FREQUENT = 10_000


def words_of(lexicon: Lexicon, words: Sequence[str], most: int | None = None) -> Lexicon:
    """The pairs of these words, at most so many translations each."""
    pairs = [(word, target) for word in words for target in lexicon.by_source[word][:most]]
    return dataclasses.replace(lexicon, pairs=pairs)


def setting(name: str, src: Space, tgt: Space, seed: int) -> tuple[Lexicon, Lexicon] | None:
    """Pairs to learn from and pairs to test on, all within both vocabularies."""
    if name == "xling":
        if not XLING.is_dir():
            return None
        parts = (XLING / f"{src.lang}-{tgt.lang}.{part}.tsv" for part in ("train.5k", "test.2k"))
        train, test = (Lexicon.load(part, src.lang, tgt.lang).restrict(src, tgt) for part in parts)
        return train, test
    lexicon = catalogue.load_lexicon(src.lang, tgt.lang).restrict(src, tgt)
    words = sorted(lexicon.by_source, key=lambda word: src.index[word])
    if name == "many":
        return words_of(lexicon, words[:5000], 1), words_of(lexicon, words[5000:6500])
    frequent = [word for word in words if src.index[word] < FREQUENT]
    drawn = [frequent[i] for i in np.random.default_rng(seed).permutation(len(frequent))]
    return words_of(lexicon, drawn[:300], 1), words_of(lexicon, drawn[300:1800])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", default=["few", "many", "xling"])
    parser.add_argument("--languages", default="en-fr")
    parser.add_argument("--effort", default="best", choices=EFFORTS)
    parser.add_argument("--seed", type=int, default=0, help="of the words that are drawn")
    given = parser.parse_args()
    src, tgt = (catalogue.load_vectors(lang) for lang in given.languages.split("-"))
    rows = []
    for name in given.settings:
        lexicons = setting(name, src, tgt, given.seed)
        if lexicons is None:
            print(f"{name}: no data in {XLING.name}, left out")
            continue
        outcome = align_pair(src, tgt, Auto(effort=given.effort), train=lexicons[0], test=lexicons[1])
        choice = outcome.aligned.info["auto"]
        figures = {r.denominator: round(r.value, 3) for r in outcome.results if r.metric == "P@1"}
        rows.append({"setting": name, "chosen": choice["chosen"], "told": choice.get("p_at_1"), **figures})
        print(json.dumps(rows[-1]), flush=True)
    target = Path(__file__).parent / "results" / "auto.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
