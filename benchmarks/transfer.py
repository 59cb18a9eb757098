"""Does aligning help to find names in a language without labelled text? Joint-Align's claims (Wang et al. 2020).

    python benchmarks/transfer.py layers                    # CoNLL-2002, es-nl: a map for each of the last four layers
    python benchmarks/transfer.py words                     # and how well these maps bring words together
    python benchmarks/transfer.py static                    # PAN-X, en-fr: catalogue vectors, by method

Reads ../shared/data (names) and the catalogue's texts, vectors and lexicon; says so and
stops where the former is missing. Heads are BiLSTM-CRFs on vectors that stay as they are. The epoch is chosen on a part
of the training language that is neither learned from nor tested; nothing else was chosen. What --work holds already is
not computed again. Prints tables, tests every alignment against the first row, and writes
benchmarks/results/transfer.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import isoglot
from isoglot import catalogue
from isoglot.aligned import Aligned
from isoglot.aligners import Aligner, aligner
from isoglot.encoders import AlignedEncoder, Encoder
from isoglot.pipelines import align_encoder, tokenise
from isoglot.pipelines.contextual_pairs import extract_layers
from isoglot.spaces import parse_occurrence
from isoglot.tasks import tatoeba
from isoglot.text import ParallelText
from isoglot.transfer import Few, HeadSettings, TransferTable, gather_examples, read_tags, run_transfer
from isoglot.transfer.vectors import StaticVectors
from isoglot.wordalign import WordLinks, read_links, statistical_align, write_links

DATA = Path(__file__).parents[2] / "shared" / "data" / "ner"
#: Encoders, and the layers whose maps are summed. USE has an embedding and one layer.
ENCODERS = {
    "minilm": ("encoder/minilm", "last4"),
    "use": ("encoder/use-multilingual", "sum:all"),
    "gemma": ("encoder/gemma-3-270m", "last4"),
}
#: Ways to align an encoder: method, its normalisation, and whether every layer has a map of its own. The first is the
#: plain sum of the layers. Without a map, centring tells what of a gain is due to the language's mean alone.
WAYS = {
    "raw": ("identity", "none", True),
    "per layer": ("procrustes", "none", True),
    "centred": ("identity", "centre", True),
    "per layer, centred": ("procrustes", "centre", True),
    "one map": ("procrustes", "none", False),
}
#: Ways to align word vectors: method, and whether it is given the lexicon. The second is what methods do before they
#: map: French vectors are far longer than English ones (length 1), so that a gain could be due to that alone.
STATIC = {
    "as they come": ("identity,normalise=none", False),
    "unit length, centred": ("identity,normalise=unit,centre,unit", False),
    "procrustes": ("procrustes", True),
    "rcsls": ("rcsls", True),
    "contrastive": ("contrastive", True),
    "vecmap": ("vecmap", True),
    "cognates": ("cognates", False),
}
#: Of Joint-Align's reallocation, as in the paper's script.
GAMMA = 0.9
#: PAN-X's sentences are short: this many for one of CoNLL's.
PANX = 2
FILES = {"es": "esp", "nl": "ned"}
#: Lines whose words are linked; maps are learned from as many of them as --lines says.
LINES = 8000
#: Longer paragraphs cost the word alignment much and teach it little.
LONGEST = 30


def parallel_text(lines: int) -> ParallelText:
    """Messages and help pages of programs in Spanish and Dutch, shuffled."""
    texts = [catalogue.load_parallel("es", "nl", name=f"parallel/es-nl{kind}") for kind in ("", "-help")]
    short = [pair for text in texts for pair in text if max(len(side.split()) for side in pair) <= LONGEST]
    chosen = [short[number] for number in np.random.default_rng(0).permutation(len(short))[:lines]]
    return ParallelText("es", "nl", tuple(es for es, _ in chosen), tuple(nl for _, nl in chosen))


def linked(text: ParallelText, work: Path) -> list[WordLinks]:
    place = work / f"links.{text.fingerprint()[:12]}.pharaoh"
    if not place.exists():
        words = tokenise(text)
        write_links(place, statistical_align(words.src, words.tgt, "hmm"), base=0)
    return read_links(place, base=0)


def aligned_encoder(
    encoder: Encoder, text: ParallelText, links: list[WordLinks], way: tuple[str, str, bool], lines: int
) -> AlignedEncoder:
    method, normalise, per_layer = way
    part = ParallelText("es", "nl", text.src[:lines], text.tgt[:lines])
    several = per_layer and len(encoder.layers.numbers) > 1
    one: Aligner = aligner(method, normalise=normalise)
    return align_encoder(encoder, part, one, level="word", per_layer=several, links=links[:lines])


def names_table(
    encoders: Mapping[str, Any],
    source: str,
    files: Mapping[str, tuple[Path, Path]],
    few: Few,
    options: Any,
    place: Path,
) -> TransferTable:
    train, _ = files[source]
    data = gather_examples("ner", [train], None, {lang: test for lang, (_, test) in files.items()}, few=few)
    settings = HeadSettings(
        hidden=options.hidden, epochs=options.epochs, patience=options.patience, learning_rate=options.rate
    )
    return run_transfer(
        "ner", encoders, data.train, data.dev, data.tests, source=source, runs=options.runs, settings=settings,
        output=place,
    )  # fmt: skip


def shown(table: TransferTable, title: str) -> dict[str, Any]:
    """Print a table with the difference of each encoder from the first, and give it as plain data."""
    print(f"\n{title}: {table.title}, {len(table[table.encoders[0], table.source].runs)} seeds")
    rows = {}
    for name in table.encoders:
        row: dict[str, Any] = {lang: dataclasses.asdict(table[name, lang]) for lang in table.languages}
        cells = [f"{lang} {100 * row[lang]['value']:5.1f} {spread(row[lang]['over_seeds'])}" for lang in row]
        if name != table.encoders[0]:
            test = table.compare(name, table.encoders[0])
            row["difference"] = {**test.record(), "claim": claim(table, name)}
            low, high = test.interval
            cells.append(f"{100 * test.difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}) {claim(table, name)}")
        print(f"  {name:24}{'   '.join(cells)}", flush=True)
        rows[name] = row
    return {"source": table.source, "settings": dict(table.settings), "rows": rows}


def spread(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"


def claim(table: TransferTable, name: str) -> str:
    """Whether the encoder does better than the first in the other languages, by the interval and by the runs."""
    first = table.encoders[0]
    low, high = table.compare(name, first).interval
    better, worse = table.mean(name, source=False), table.mean(first, source=False)
    assert better is not None
    assert worse is not None
    if low > 0 and min(better.runs) > max(worse.runs):
        return "better"
    if high < 0 and max(better.runs) < min(worse.runs):
        return "worse"
    return "undecided"


def layers_part(options: Any, results: dict[str, Any]) -> None:
    """CoNLL-2002 in both directions; the epoch is chosen on the last tenth of training, testa is the test."""
    text = parallel_text(LINES)
    links = linked(text, options.work)
    folder = DATA / "conll2002"
    files = {lang: (folder / f"{stem}.train.gz", folder / f"{stem}.testa.gz") for lang, stem in FILES.items()}
    few = Few(options.train, options.train // 5, options.test)
    print(f"{options.lines:,} lines of es-nl to learn maps from, {options.train:,} sentences to train heads on")
    for short in options.encoders:
        name, layer = ENCODERS[short]
        place = options.work / f"layers-{short}"
        lines = options.lines
        encoder = Encoder(name, layer=layer, cache=options.work / "vectors")
        encoders = {label: aligned_encoder(encoder, text, links, WAYS[label], lines) for label in options.ways}
        for source in options.sources:
            title = f"{short}, layer {encoder.layers}, {lines:,} lines"
            own = place / f"{encoder.layers}-{lines}-{source}".replace(":", "-")
            table = names_table(encoders, source, files, few, options, own)
            record(results, "layers", f"{title}, from {source}", shown(table, title), options)


def words_part(options: Any, results: dict[str, Any]) -> None:
    """Why: how many words of lines that maps did not see find their translation, by layer and by lines learned from."""
    text = parallel_text(LINES)
    lines = options.lines
    part = ParallelText("es", "nl", text.src[:lines], text.tgt[:lines])
    tokenised = tokenise(part, links=linked(text, options.work)[:lines])
    for short in options.encoders:
        name, layer = ENCODERS[short]
        encoder = Encoder(name, layer=layer, cache=options.work / "vectors")
        rows = {}
        for number, found in zip(encoder.layers.numbers, extract_layers(encoder, tokenised), strict=True):
            spoken = [[parse_occurrence(space.words[row]) for row in found.pairs[:, side]]
                      for side, space in enumerate((found.src, found.tgt))]  # fmt: skip
            line = np.array([one[1] for one in spoken[0]])
            # Each pair of words once; those that are written alike need no map.
            first = {(a[0].lower(), b[0].lower()): place for place, (a, b) in enumerate(zip(*spoken, strict=True))
                     if line[place] >= 0.9 * lines and a[0].lower() != b[0].lower()}  # fmt: skip
            tested = found.pairs[list(first.values())[:1000]]
            X, Y = found.src.vectors[tested[:, 0]], found.tgt.vectors[tested[:, 1]]
            figures = {"raw": retrieval(X, Y)}
            for most in (200, 1000, round(0.9 * lines)):
                fitted = aligner("procrustes", normalise="none").fit(found.src, found.tgt, found.pairs[line < most])
                figures[f"{most:,} lines"] = retrieval(fitted.transform(X, "src"), Y)
            rows[str(number)] = figures
            print(f"  {short}, layer {number}: {len(tested):,} words, P@1 "
                  + ", ".join(f"{key} {value:.3f}" for key, value in figures.items()), flush=True)  # fmt: skip
        record(results, "words", short, rows, options)


def retrieval(X: Any, Y: Any) -> float:
    return float(tatoeba(X, Y, score="csls", neighbourhood=10)[0].value)


def static_part(options: Any, results: dict[str, Any]) -> None:
    """PAN-X, trained on English, tested on both dev files; the epoch is chosen on the last tenth of training."""
    spaces: dict[str, StaticVectors] = {}
    for label in options.methods:
        method, uses = STATIC[label]
        place = options.work / f"static-{label.replace(' ', '-').replace(',', '')}"
        if not place.exists():
            name, _, steps = method.partition(",normalise=")
            pairs = "lexicon/en-fr" if uses else None
            test = None if uses else "lexicon/en-fr"
            settings = {"normalise": steps} if steps else {}
            made = isoglot.align("vectors/en", "vectors/fr", pairs, method=name, test=test, **settings)
            made.save(place)
        loaded = Aligned.load(place)
        spaces[label] = StaticVectors(label, loaded.spaces)
        results.setdefault("P@1", {})[label] = loaded.info["results"]
    static_table(spaces, "catalogue vectors", options, results)


def static_table(vectors: Mapping[str, StaticVectors], title: str, options: Any, results: dict[str, Any]) -> None:
    panx = DATA / "panx"
    files = {lang: (panx / "train.en.tsv.xz", panx / f"dev.{lang}.tsv.xz") for lang in ("en", "fr")}
    few = Few(PANX * options.train, options.train // 2, options.test)
    first = next(iter(vectors.values()))
    for lang, (_, path) in files.items():
        covered = first.coverage([one.words for one in read_tags(path, "ner")], lang)
        print(f"{title}: {100 * covered:.1f}% of the {lang} test words have a vector")
        results.setdefault("coverage", {})[f"{title}, {lang}"] = covered
    table = names_table(vectors, "en", files, few, options, options.work / title.replace(" ", "-"))
    record(results, "static", title, shown(table, f"{title}, en-fr"), options)


def record(results: dict[str, Any], part: str, name: str, content: dict[str, Any], options: Any) -> None:
    results.setdefault(part, {})[name] = {**content, "load": round(os.getloadavg()[0], 1)}
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


PARTS = {"layers": layers_part, "words": words_part, "static": static_part}


def main() -> None:
    own = Path(__file__).parent / "results"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=["minilm", "use"])
    parser.add_argument("--sources", nargs="+", choices=FILES, default=list(FILES), help="languages to train on")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--methods", nargs="+", choices=STATIC, default=list(STATIC))
    parser.add_argument("--lines", type=int, default=LINES, help="lines of es-nl to learn maps from")
    parser.add_argument("--train", type=int, default=1000, help="sentences to train heads on; a fifth as many choose")
    parser.add_argument("--test", type=int, default=1000, help="sentences of each language to test on")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--patience", type=int, default=2)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", type=Path, default=own / "transfer-work")
    parser.add_argument("--output", type=Path, default=own / "transfer.json")
    options = parser.parse_args()
    if not DATA.is_dir():
        print("the benchmark text (../shared/data/ner) is not here: nothing to measure")
        sys.exit(0)
    options.work.mkdir(parents=True, exist_ok=True)
    results = json.loads(options.output.read_text("utf-8")) if options.output.exists() else {}
    for part in options.parts:
        PARTS[part](options, results)


if __name__ == "__main__":
    main()
