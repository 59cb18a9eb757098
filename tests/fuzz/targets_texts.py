"""Lexicons, parallel text, links, labelled text, similarity sets, WMT folders, recipes, plain text."""

from __future__ import annotations

import gzip
import json
import lzma
import math
from collections.abc import Callable
from pathlib import Path

import zstandard

from isoglot.finetuning import open_corpus, open_text, read_recipe
from isoglot.lexicons import Lexicon
from isoglot.tasks import read_similarity, read_wmt
from isoglot.text import ParallelText, read_conll, read_text
from isoglot.transfer import read_examples
from isoglot.wordalign import read_links

from .target import Unsound, check_finite, check_text, target

LEXICON = "".join(f"cat{i}\tchat{i % 17}\t0.{i}\n" for i in range(30)) + "猫\tcat\nNew York\tla grosse pomme\n"
SENTENCES = "".join(f"The {i}th cat sleeps, naïvely .\n" for i in range(30))
OTHERS = "".join(f"Le chat {i} dort , très doucement .\n" for i in range(30))
LINKS = "0-0 1-1 2p3/0.5\n\n" + "".join(f"{i}-{i + 1} 0-0\n" for i in range(20))
CONLL = "-DOCSTART- O\n\n" + "".join(f"Ada{i} B-PER\nsleeps O\n# O\n\n" for i in range(10))
CONLLU = "# sent_id = 1\n" + "".join(f"{i}\tword{i}\tlemma\tNOUN\t_\t_\t0\troot\t_\t_\n" for i in range(1, 9)) + "\n"
NLI = "".join(f"The {i}th cat sleeps.\tNo. {i} is awake.\tcontradiction\n" for i in range(12))
QUESTIONS = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": f"Ada {i} schläft.",
                    "qas": [{"id": i, "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}],
                }
            ]
        }
        for i in range(4)
    ]
}
SIMILARITY = "word1\tword2\tPOS\tSimLex999\n" + "".join(f"tiger{i}\tcat\tN\t{i}.35\n" for i in range(12))
RECIPE = """objectives = "word_ot + 0.5*anchor"
encoder = "some/encoder"
output = "out"
target = "en"
limit = 40
held_out = 10
[parallel]
de = "de.txt,en.txt"
[text]
de = "de.txt"
[static]
de = "de.safetensors"
[training]
steps = 3
batch = 4
learning_rate = 1e-4
segmenter = "spaces"
layer = 3
"""
FRESH = """preset = "mlm"
output = "out"
[text]
de = "de.txt"
[fresh]
layers = 2
width = 64
vocabulary = 4000
[training]
steps = 10
"""


def _writer(**files: str | bytes) -> Callable[[Path], None]:
    """Write these files; `__` in a name stands for a dot."""

    def make(folder: Path) -> None:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (folder / name.replace("__", ".")).write_bytes(data)

    return make


def _lexicon(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        lexicon = Lexicon.load(folder / name, "en", "fr")
        pairs = list(lexicon)
        if not pairs or len(set(pairs)) < len(pairs):
            raise Unsound("no pairs, or some that stand twice")
        check_text(word for pair in pairs for word in pair)
        if not all(word.strip() for pair in pairs for word in pair):
            raise Unsound("words that are blank")

    return read


target("lexicon", "texts", _writer(x__txt=LEXICON), _lexicon("x.txt"))
target("lexicon-spaces", "texts", _writer(x__txt=LEXICON.replace("\t", " ").split("猫")[0]), _lexicon("x.txt"))
target("lexicon-gz", "texts", _writer(x__txt__gz=gzip.compress(LEXICON.encode(), mtime=0)), _lexicon("x.txt.gz"))
target("lexicon-xz", "texts", _writer(x__txt__xz=lzma.compress(LEXICON.encode())), _lexicon("x.txt.xz"))


def _parallel(folder: Path) -> None:
    text = ParallelText.load(folder / "x.en", folder / "x.fr", "en", "fr")
    if len(text.src) != len(text.tgt):
        raise Unsound("sides of different length")
    check_text(text.src)


target("parallel", "texts", _writer(x__en=SENTENCES, x__fr=OTHERS), _parallel)
JOINED = "".join(f"{a} ||| {b}\n" for a, b in zip(SENTENCES.splitlines(), OTHERS.splitlines(), strict=True))
target(
    "parallel-joined",
    "texts",
    _writer(x__tsv=JOINED),
    lambda folder: check_text(ParallelText.load_joined(folder / "x.tsv", "en", "fr").src),
)


def _links(folder: Path) -> None:
    for pair in read_links(folder / "x.links", base=0):
        if any(min(link) < 0 for link in pair.all):
            raise Unsound("links below zero")
        check_finite(list(pair.scores.values()))


target("links", "texts", _writer(x__links=LINKS), _links)
target("conll", "texts", _writer(x__conll=CONLL), lambda folder: len(read_conll(folder / "x.conll")))
target(
    "conllu",
    "texts",
    _writer(x__conllu=CONLLU),
    lambda folder: len(read_conll(folder / "x.conllu", column=3, word_column=1)),
)


def _examples(task: str, name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        examples = read_examples(task, folder / name)
        if not examples:
            raise Unsound("no examples")
        if task == "nli":
            check_text(one.first for one in examples)
        elif task == "qa":
            for one in examples:
                if any(one.context[a : a + len(text)] != text for a, text in zip(one.starts, one.answers, strict=True)):
                    raise Unsound("an answer that is not at its place")

    return read


target("nli", "texts", _writer(x__tsv=NLI), _examples("nli", "x.tsv"))
target("nli-heading", "texts", _writer(x__tsv="premise\thypo\tlabel\n" + NLI), _examples("nli", "x.tsv"))
target("names", "texts", _writer(x__tsv=CONLL.replace("-DOCSTART- O\n\n", "")), _examples("ner", "x.tsv"))
target("parts-of-speech", "texts", _writer(x__conllu=CONLLU), _examples("pos", "x.conllu"))
target("questions", "texts", _writer(x__json=json.dumps(QUESTIONS)), _examples("qa", "x.json"))
target(
    "questions-xz",
    "texts",
    _writer(x__json__xz=lzma.compress(json.dumps(QUESTIONS).encode())),
    _examples("qa", "x.json.xz"),
)


def _similarity(folder: Path) -> None:
    gold = folder / "x.gold.txt"
    for pair in read_similarity(folder / "x.txt", gold if gold.exists() else None):
        if not math.isfinite(pair.score):
            raise Unsound("a score that is not finite")


target("similarity", "texts", _writer(x__txt=SIMILARITY), _similarity)
target(
    "similarity-gold",
    "texts",
    _writer(x__txt="".join(f"tiger{i}\tbig cat\n" for i in range(9)), x__gold__txt="1\n2.5\n3\n" * 3),
    _similarity,
)


WMT = "LP DATA SYSTEM SID HUMAN\nde-en n17 A.0 3 0.25\nfi-en n17 A.0 1 0.5\nde-en n17 K+A.0 1 -1.5\n"


def _make_wmt(folder: Path) -> None:
    files = {
        "DA-seglevel.csv": WMT,
        "source/n17-deen-src.de": "eins\nzwei\nWörter „drei“\n",
        "system-outputs/de-en/n17.A.0.de-en": "one\ntwo\nthree\n",
        "system-outputs/de-en/n17.K.de-en": "one\n\nthree K\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def _read_wmt(folder: Path) -> None:
    for segment in read_wmt(folder, "de-en"):
        check_finite(segment.human)


target("wmt", "texts", _make_wmt, _read_wmt)


def _read_recipe(folder: Path) -> None:
    recipe = read_recipe(folder / "x.toml")
    check_finite(recipe.settings.learning_rate)
    repr(recipe.record())


target("recipe", "texts", _writer(x__toml=RECIPE), _read_recipe)
target("recipe-fresh", "texts", _writer(x__toml=FRESH), _read_recipe)


def _raw(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        for block in read_text(folder / name):
            check_text(block)

    return read


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}
target("text", "texts", _writer(x__txt=SENTENCES), _raw("x.txt"))
target("text-utf16", "texts", _writer(x__txt=SENTENCES.encode("utf-16")), _raw("x.txt"))
for _name, _pack in PACKED.items():
    target(f"text-{_name}", "texts", _writer(**{f"x__txt__{_name}": _pack(SENTENCES.encode())}), _raw(f"x.txt.{_name}"))


def _read_corpora(folder: Path) -> None:
    check_text(open_text(folder / "x.en", "en")[:])
    corpus = open_corpus(folder / "x.en", folder / "x.fr", "en", "fr")
    check_text(corpus.src[int(row)] for row in corpus.rows)


target("training-text", "texts", _writer(x__en=SENTENCES, x__fr=OTHERS), _read_corpora)
