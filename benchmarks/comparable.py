"""Without pairs against Procrustes from 5,000 pairs, on vectors that were trained alike, over several seeds.

    python benchmarks/comparable.py                       # en-fr, en-es, ten seeds each: hours on one core
    python benchmarks/comparable.py --pairs en-fr --seeds 2 --vectors FOLDER

Each seed trains vectors of its own (MDN's text in ../shared/data/text, 200 dimensions, 10 epochs, else the defaults of
`isoglot vectors train`, one thread, so that a seed repeats exactly) and keeps them as FOLDER/en.0.vec and so on; those
that lie there are taken as they are. A seed that is written in the results is not run again.

en-fr learns from XLING's train.5k and tests on its test.2k (../shared/data/lexicons/xling); en-es draws words of the
catalogue's lexicon, of any frequency, until they have 5,000 pairs, and tests on the others. P@1 by CSLS among all
target words, over test words that have a vector and a translation with one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import EFFORTS, Aligner, aligner
from isoglot.catalogue import load_lexicon
from isoglot.lexicons import Lexicon
from isoglot.pipelines import align_pair
from isoglot.spaces import Space
from isoglot.wordvectors import CorpusSettings, TextFile, Training, remove_work, train_texts

HERE = Path(__file__).resolve()
DATA = HERE.parents[2] / "shared" / "data"
LEARN = 5_000
#: Draws the words that en-es learns from: the same ones for all seeds of the vectors.
SPLIT = 0


def vectors(lang: str, seed: int, folder: Path) -> Space:
    """Those in the folder, or newly trained ones."""
    path = folder / f"{lang}.{seed}.vec"
    if not path.exists():
        work = folder / f"{lang}.{seed}.work"
        text = TextFile(lang, DATA / "text" / f"mdn.{lang}.txt.xz")
        settings = Training(dim=200, epochs=10, seed=seed)
        trained = train_texts([text], work, CorpusSettings(), settings, threads=1)
        Space(lang, trained.corpus.words, trained.vectors).save(path)
        remove_work(work)
    return Space.load(path, lang=lang)


def lexicons(src: Space, tgt: Space) -> tuple[Lexicon, Lexicon]:
    """Pairs to learn from and pairs to test on."""
    xling = DATA / "lexicons" / "xling"
    parts = [xling / f"{src.lang}-{tgt.lang}.{part}.tsv" for part in ("train.5k", "test.2k")]
    if parts[0].exists():
        train, test = (Lexicon.load(part, src.lang, tgt.lang) for part in parts)
        return train.restrict(src, tgt), test.restrict(src, tgt)
    lexicon = load_lexicon(src.lang, tgt.lang).restrict(src, tgt)
    words = sorted(lexicon.by_source)
    order = [words[i] for i in np.random.default_rng(SPLIT).permutation(len(words))]
    numbers = np.cumsum([len(lexicon.by_source[word]) for word in order])
    learned = set(order[: int(np.searchsorted(numbers, LEARN)) + 1])
    pairs = [pair for pair in lexicon.pairs if pair[0] in learned]
    return Lexicon(pairs), Lexicon([pair for pair in lexicon.pairs if pair[0] not in learned])


def one_seed(name: str, seed: int, folder: Path, effort: str) -> dict[str, Any]:
    """Both P@1, and what the method without pairs says of itself."""
    src, tgt = (vectors(lang, seed, folder) for lang in name.split("-"))
    train, test = lexicons(src, tgt)
    row: dict[str, Any] = {"pair": name, "seed": seed, "effort": effort, "train": len(train)}
    contenders: Sequence[tuple[str, Aligner, Lexicon | None]] = (
        ("procrustes", aligner("procrustes", seed=seed), train),
        ("no_pairs", aligner("auto", effort=effort, seed=seed), None),
    )
    for label, method, pairs in contenders:
        started = time.process_time()
        outcome = align_pair(src, tgt, method, train=pairs, test=test)
        (figure,) = (r for r in outcome.results if r.metric == "P@1" and r.denominator == "in-vocabulary")
        row |= {label: round(figure.value, 4), "test": figure.n, f"{label}_seconds": time.process_time() - started}
    (info, *_) = (one.info for one in outcome.aligned.alignments.values())
    row |= {key: info.get(key) for key in ("start", "aligned", "expected_p1")}
    return row


def table(rows: Sequence[dict[str, Any]]) -> str:
    """One line per seed, and how often no pairs came out above."""
    lines = ["| pair | seed | Procrustes, 5k pairs | no pairs | start | told | test words |", "|" + "---|" * 7]
    for row in rows:
        told = row["expected_p1"]["value"] if row["expected_p1"] else float("nan")
        lines.append(
            f"| {row['pair']} | {row['seed']} | {row['procrustes']:.3f} | {row['no_pairs']:.3f} | {row['start']}"
            f"{'' if row['aligned'] else ' (not aligned)'} | {told:.2f} | {row['test']} |"
        )
    for name in dict.fromkeys(row["pair"] for row in rows):
        own = [row for row in rows if row["pair"] == name]
        above = sum(row["no_pairs"] > row["procrustes"] for row in own)
        lines.append(f"{name}: no pairs above Procrustes for {above} of {len(own)} seeds")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", default=["en-fr", "en-es"])
    parser.add_argument("--seeds", type=int, default=10, help="how many, from 0 on")
    parser.add_argument("--effort", default="normal", choices=EFFORTS, help="of `auto` without pairs")
    parser.add_argument("--vectors", type=Path, default=HERE.parent / "results" / "mdn", help="folder of the vectors")
    parser.add_argument("--output", type=Path, default=HERE.parent / "results" / "comparable.json")
    options = parser.parse_args()
    if not (DATA / "text").is_dir():
        parser.error(f"there is no MDN text in {DATA.name}/text beside this checkout")
    options.vectors.mkdir(parents=True, exist_ok=True)
    rows = json.loads(options.output.read_text("utf-8")) if options.output.exists() else []
    done = {(row["pair"], row["seed"], row["effort"]) for row in rows}
    for seed in range(options.seeds):
        for name in options.pairs:
            if (name, seed, options.effort) in done:
                continue
            rows.append(one_seed(name, seed, options.vectors, options.effort))
            print(json.dumps(rows[-1]), flush=True)
            options.output.parent.mkdir(parents=True, exist_ok=True)
            options.output.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    chosen = [r for r in rows if r["pair"] in options.pairs and r["effort"] == options.effort]
    print(table(sorted(chosen, key=lambda r: (r["pair"], r["seed"]))))


if __name__ == "__main__":
    main()
