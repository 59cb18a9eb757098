"""Languages that an encoder does not know, taught by `--preset teach`: what it learned from, and Tatoeba afterwards.

Text is the catalogue's: program messages and LibreOffice's help, lines of any length, shuffled together; `--captions`
takes Multi30k's instead. With `--lexicon` the catalogue's dictionaries are learned from too. Tatoeba, which nothing
learns from, and the captions lie beside the repository, for measuring only. P@1 from the language to English, by cosine
and by CSLS, over the 1,000 pairs; and of four languages that the multilingual encoder knows, to see what is lost.

Prints a line per run and adds it to a JSON Lines file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from isoglot import catalogue, finetune
from isoglot.encoders import Encoder
from isoglot.tasks import tatoeba

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
#: The names of Tatoeba's files.
NAMES = {"cs": "ces", "fi": "fin", "de": "deu", "fr": "fra", "it": "ita", "tr": "tur"}
KNOWN = ("de", "fr", "it", "tr")
LEXICONS = {"cs": "lexicon/en-cs", "fi": "lexicon/en-fi,lexicon/en-fi-freedict"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="+", choices=["cs", "fi", "de", "fr", "tr"])
    parser.add_argument("--encoder", default="encoder/use-multilingual")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--lines", type=int, nargs="+", default=[0], help="of text to learn from; 0 for all")
    parser.add_argument("--lexicon", action="store_true")
    parser.add_argument("--captions", action="store_true")
    parser.add_argument("--preset", default="teach")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="of the training")
    parser.add_argument("--start", choices=["links", "mean"], default="links", help="of new pieces' vectors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=Path("teach.jsonl"))
    arguments = parser.parse_args()
    if not (arguments.data / "tatoeba").is_dir():
        sys.exit(f"no Tatoeba pairs in {arguments.data}: name the folder with --data")
    torch.set_num_threads(1)
    settings = {key: json.loads(value) for key, _, value in (one.partition("=") for one in arguments.set)}
    for lang in arguments.languages:
        lines = captions(arguments.data, lang) if arguments.captions else program_text(lang)
        random.Random(arguments.seed).shuffle(lines)
        for count in arguments.lines:
            run(lang, lines, count, arguments, settings)


def run(
    lang: str, lines: list[tuple[str, str]], count: int, arguments: argparse.Namespace, settings: dict[str, object]
) -> None:
    """Teach, measure, tell."""
    began, load = time.process_time(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.tsv"
        text.write_text("".join(f"{src}\t{tgt}\n" for src, tgt in lines), encoding="utf-8")
        taught = finetune(
            arguments.encoder,
            {lang: text},
            Path(folder) / "taught",
            preset=arguments.preset,
            lexicon={lang: LEXICONS[lang]} if arguments.lexicon else None,
            pieces={"start": arguments.start} if arguments.preset == "teach" else None,
            limit=count or None,
            device="cpu",
            seed=arguments.seed,
            **settings,
        )
        found = {one: retrieval(taught.encoder, arguments.data, one) for one in (lang, *KNOWN)}
    record = {
        "encoder": arguments.encoder,
        "preset": arguments.preset,
        "language": lang,
        "text": "captions" if arguments.captions else "messages and help",
        "lines": count or len(lines),
        "lexicon": arguments.lexicon,
        "start": arguments.start,
        "settings": settings,
        "seed": arguments.seed,
        "held out before": taught.before["retrieval"],
        "held out": taught.after["retrieval"],
        "tatoeba": found,
        "load": load,
        "CPU seconds": round(time.process_time() - began),
    }
    with arguments.json.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    figures = "  ".join(f"{one} {cosine:.3f}/{csls:.3f}" for one, (cosine, csls) in found.items())
    print(f"{lang} {record['lines']:>6} lines{' + lexicon' if arguments.lexicon else '':10} {figures}", flush=True)


def retrieval(encoder: Encoder, data: Path, lang: str) -> tuple[float, float]:
    """P@1 from the language to English, by cosine and by CSLS."""
    name = data / "tatoeba" / f"tatoeba.{NAMES[lang]}-eng"
    sides = [Path(f"{name}.{end}").read_text(encoding="utf-8").splitlines() for end in (NAMES[lang], "eng")]
    X, Y = (encoder.sentences(side) for side in sides)
    cosine, csls = (
        {one.metric: one.value for one in tatoeba(X, Y, score=score, bootstrap=0)} for score in ("cosine", "csls")
    )
    return cosine["P@1 src->tgt"], csls["P@1 src->tgt"]


def program_text(lang: str) -> list[tuple[str, str]]:
    """Different lines of both texts of the catalogue."""
    lines: list[tuple[str, str]] = []
    for name in (f"parallel/en-{lang}", f"parallel/en-{lang}-help"):
        for short in (False, True):
            text = catalogue.load_parallel(lang, "en", name=name, short=short)
            sides = ([" ".join(line.split()) for line in side] for side in (text.src, text.tgt))
            lines += zip(*sides, strict=True)
    return [one for one in dict.fromkeys(lines) if one[0] != one[1] and all(one)]


def captions(data: Path, lang: str) -> list[tuple[str, str]]:
    """Multi30k's training lines."""
    sides = []
    for one in (lang, "en"):
        with gzip.open(data / "parallel" / "multi30k" / f"train.{one}.gz", "rt", encoding="utf-8") as file:
            sides.append([" ".join(line.split()) for line in file])
    return [pair for pair in zip(*sides, strict=True) if all(pair)]


if __name__ == "__main__":
    main()
