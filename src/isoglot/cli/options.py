"""Every option that more than one command has, said once: one name, one type, one help text.

A command that needs an option of another meaning needs another name: `tests/cli/test_grammar.py` checks it. Options
whose metavar holds "=" take several values at once: `--set rounds=3 seed=7`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer


def _methods(incomplete: str) -> list[str]:
    from isoglot.aligners import methods

    return [name for name in methods() if name.startswith(incomplete)]


def _word_methods(incomplete: str) -> list[str]:
    from isoglot.wordalign import COMBINED, METHODS, MODELS

    return [name for name in (*METHODS, COMBINED, *MODELS) if name.startswith(incomplete)]


def _entries(kind: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        from isoglot import catalogue

        return [one.name for one in catalogue.entries() if one.kind == kind and one.name.startswith(incomplete)]

    return complete


# What is read.
SrcTgt = Annotated[
    list[str],
    typer.Argument(
        metavar="SRC TGT",
        help="Two files of vectors, as FILE or LANG=FILE, or catalogue names such as vectors/en.",
        autocompletion=_entries("vectors"),
    ),
]
Parallel = Annotated[
    list[str],
    typer.Argument(
        metavar="SRC TGT",
        help="Two files that translate each other line by line, as FILE or LANG=FILE; or one catalogue name such as "
        "parallel/en-de.",
        autocompletion=_entries("parallel"),
    ),
]
Texts = Annotated[
    list[str],
    typer.Argument(metavar="TEXT", help="Texts, one sentence per line, as FILE or LANG=FILE."),
]
AlignedFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder written by `isoglot align`.")]
_LEXICON = typer.Option(
    "--lexicon",
    "-l",
    metavar="FILE",
    help="Translation pairs: a file, a catalogue name (lexicon/en-fr), or LANG-LANG=FILE.",
    autocompletion=_entries("lexicon"),
)
LexiconName = Annotated[str, _LEXICON]
OptionalLexicon = Annotated[str | None, _LEXICON]
Lexicons = Annotated[list[str] | None, _LEXICON]
_TEST_HELP = (
    "What to test on, which nothing is learned from: translation pairs (a file, a catalogue name, or LANG-LANG=FILE), "
    "or examples of a task (LANG=FILE)."
)
_TEST = typer.Option(
    "--test",
    metavar="FILE",
    help=_TEST_HELP,
    autocompletion=_entries("lexicon"),
)
Test = Annotated[str, _TEST]
OptionalTest = Annotated[str | None, _TEST]
Tests = Annotated[list[str] | None, _TEST]
TaskTests = Annotated[list[str], typer.Option("--test", metavar="LANG=FILE", help=_TEST_HELP)]
_ENCODER = typer.Option(
    "--encoder",
    "-e",
    metavar="ENCODER",
    help="A folder, a GGUF file, an installed package, a catalogue name (encoder/use-multilingual) or a hub name.",
    autocompletion=_entries("encoder"),
)
EncoderName = Annotated[str, _ENCODER]
OptionalEncoder = Annotated[str | None, _ENCODER]
Encoders = Annotated[list[str], _ENCODER]
MonolingualTexts = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="LANG=FILE", help="Text of a language, one sentence per line; several may follow."),
]
FromVectors = Annotated[
    list[str] | None,
    typer.Option(
        "--from-vectors",
        metavar="LANG=FILE",
        help="Other vectors of the same languages, to induce dictionaries on; several may follow.",
    ),
]
Tatoeba = Annotated[
    Path | None,
    typer.Option("--tatoeba", metavar="DIR", help="Folder of tatoeba.deu-eng.deu, ...: search its sentences too."),
]
Links = Annotated[
    Path | None,
    typer.Option("--links", metavar="FILE", help="Word links in Pharaoh format, instead of aligning words."),
]
Gold = Annotated[
    Path | None,
    typer.Option("--gold", metavar="FILE", help="Gold standard: word links, or one score per line."),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="COLUMN",
        help="Column of the labels or scores: its heading, or its number from 0 (negative: from the end).",
    ),
]
_BASE = typer.Option("--base", min=0, max=1, help="Number of a sentence's first word in files of links: 0 or 1.")
Base = Annotated[int, _BASE]
OptionalBase = Annotated[int | None, _BASE]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of the texts, if not UTF-8, such as latin-1.")
]

# How much of it.
_LIMIT = typer.Option(
    "--limit", min=1, help="Read at most this many words (the most frequent ones) or lines of each file."
)
Limit = Annotated[int, _LIMIT]
OptionalLimit = Annotated[int | None, _LIMIT]
_PAIRS = typer.Option(
    "--pairs", min=1, help="Learn from this many pairs: those of the most frequent words, or the first lines."
)
Pairs = Annotated[int, _PAIRS]
OptionalPairs = Annotated[int | None, _PAIRS]
_HELD_OUT = typer.Option(
    "--held-out", min=0, help="Keep this many source words, or lines, for the test; 0: learn from all of them."
)
HeldOut = Annotated[int, _HELD_OUT]
OptionalHeldOut = Annotated[int | None, _HELD_OUT]
Words = Annotated[int, typer.Option("--words", min=1, help="Use at most this many words of each language.")]
Sentences = Annotated[
    int, typer.Option("--sentences", min=1, help="Use at most this many sentences of each text, the first ones.")
]
MinCount = Annotated[int, typer.Option("--min-count", min=1, help="Leave out words that occur less often than this.")]
MinTokens = Annotated[int, typer.Option("--min-tokens", min=1, help="Leave out sentences of fewer words than this.")]
_SEED = typer.Option("--seed", min=0, help="Seed of all random choices.")
Seed = Annotated[int, _SEED]
OptionalSeed = Annotated[int | None, _SEED]
Runs = Annotated[int, typer.Option("--runs", min=1, help="Number of runs, each with its own seed.")]
OptionalRuns = Annotated[int | None, typer.Option("--runs", min=1, help="Number of runs, each with its own seed.")]
_EPOCHS = typer.Option("--epochs", min=0, help="Number of passes over the text.")
Epochs = Annotated[float, _EPOCHS]
OptionalEpochs = Annotated[float | None, _EPOCHS]
Dim = Annotated[int, typer.Option("--dim", min=1, help="Number of dimensions.")]

# Languages and words.
From = Annotated[
    str | None, typer.Option("--from", metavar="LANG", help="Source language; default: the first of the folder.")
]
_TO = typer.Option("--to", metavar="LANG", help="Target language; default: the others of the folder.")
To = Annotated[str | None, _TO]
Targets = Annotated[list[str] | None, _TO]
_PIVOT = typer.Option("--pivot", metavar="LANG", help="Bring all languages into the space of this one.")
Pivot = Annotated[str, _PIVOT]
OptionalPivot = Annotated[str | None, _PIVOT]
_LANGUAGES = typer.Option(
    "--languages", help="Languages (de,fr) or pairs of languages (de-en,fi-en), separated by commas."
)
Languages = Annotated[str, _LANGUAGES]
OptionalLanguages = Annotated[str | None, _LANGUAGES]
Segmenters = Annotated[
    list[str] | None,
    typer.Option(
        "--segmenter",
        metavar="NAME",
        help="How text becomes words: spaces (tokenised already), icu (any language), jieba, fugashi or pythainlp; "
        "for one language: zh=jieba; may be repeated.",
    ),
]
Lower = Annotated[
    bool, typer.Option("--lower/--no-lower", help="Lower-case texts, the words of vector files, and lexicons.")
]
Swap = Annotated[bool, typer.Option("--swap", help="Reverse the lexicons: their first column is the target language.")]

Top = Annotated[
    int, typer.Option("--top", "-k", min=1, help="Number of candidates, translations or lines for each query.")
]

# How it is done.
_METHOD = typer.Option(
    "--method",
    "-m",
    metavar="METHOD",
    help="Method of alignment (`isoglot methods`), as NAME or NAME,key=value,...",
    autocompletion=_methods,
)
Method = Annotated[str, _METHOD]
OptionalMethod = Annotated[str | None, _METHOD]
Methods = Annotated[list[str] | None, _METHOD]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting; may be repeated, and several may follow."),
]
Normalise = Annotated[
    str | None,
    typer.Option(
        "--normalise",
        metavar="STEPS",
        help="Steps before aligning or comparing: unit,centre,unit or standardise or none.",
    ),
]
MatchDimensions = Annotated[
    bool,
    typer.Option("--match-dimensions", help="Reduce the side with more dimensions if the method needs them equal."),
]
Score = Annotated[
    Literal["csls", "cosine", "inverted_softmax", "euclidean", "csls-euclidean", "margin"],
    typer.Option("--score", help="How neighbours are ranked."),
]
Backend = Annotated[
    Literal["exact", "int8", "faiss", "usearch"], typer.Option("--backend", help="What searches for neighbours.")
]
Rerank = Annotated[
    bool | None,
    typer.Option("--rerank/--no-rerank", help="Re-rank candidates by spelling too, with a small model of the pairs."),
]
Effort = Annotated[
    Literal["quick", "normal", "best"] | None,
    typer.Option("--effort", help="How long --method auto may look: seconds, minutes, or as long as it helps."),
]
_WORD_METHOD = typer.Option(
    "--word-method",
    metavar="METHOD",
    help="How words are linked. By similarity of an encoder's vectors: itermax, intersection, union, "
    "grow-diag-final-and, match, softmax, transport, unbalanced-transport, ot. By these and the text's statistics: "
    "combined. Statistical, without an encoder: ibm1, hmm, fast_align, eflomal, ...",
    autocompletion=_word_methods,
)
WordMethod = Annotated[str, _WORD_METHOD]
_LAYER = typer.Option(
    "--layer",
    metavar="LAYER",
    help="Layers of the encoder: -1 (the last), 8, 0,6 (side by side), last4 (summed), sum:5,6 or mean:all.",
)
Layer = Annotated[str, _LAYER]
OptionalLayer = Annotated[str | None, _LAYER]
Preset = Annotated[
    str | None,
    typer.Option("--preset", metavar="NAME", help="The settings of a paper or for a purpose, by name, see above."),
]
Pooling = Annotated[
    Literal["mean", "first", "last"], typer.Option("--pooling", help="How a word's subwords become one vector.")
]
Prompt = Annotated[
    str | None,
    typer.Option("--prompt", metavar="TEXT", help="Text to show the encoder before each text; it is not pooled."),
]
Echo = Annotated[
    bool | None,
    typer.Option("--echo/--no-echo", help="Show the encoder each text twice and pool the second: for causal models."),
]
Cbli = Annotated[bool, typer.Option("--cbli", help="Also look up words in context when evaluating; slower.")]
Device = Annotated[str, typer.Option("--device", help="Where the encoder runs: auto, cpu, cuda, ...")]
Dtype = Annotated[
    Literal["auto", "float32", "float16", "bfloat16"], typer.Option("--dtype", help="Number type of the encoder.")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Number of threads; default: all cores. Word vectors repeat only with 1."),
]
Induce = Annotated[
    str | None,
    typer.Option(
        "--induce",
        metavar="METHOD",
        help="What finds dictionaries: as-is (mutual neighbours of the vectors as they are) or a method that needs no "
        "pairs, such as cognates.",
    ),
]
AlignAll = Annotated[
    bool, typer.Option("--align-all", help="Keep the alignment of every language, even where the criterion fell.")
]

# Training word vectors.
Model = Annotated[Literal["skipgram", "cbow"], typer.Option("--model", help="Model of the word vectors.")]
Window = Annotated[int, typer.Option("--window", min=1, help="Words of context on each side.")]
Subwords = Annotated[
    bool,
    typer.Option("--subwords/--no-subwords", help="Learn from character n-grams: slower, far better on little text."),
]
Balance = Annotated[
    bool, typer.Option("--balance/--no-balance", help="Bring every text to as many lines as the last one has.")
]
Gamma = Annotated[
    str, typer.Option("--gamma", help="How unevenly a shared word may be spread: .5 to 1, or auto to choose.")
]

# What is written and shown.
_OUTPUT = typer.Option("--output", "-o", metavar="PATH", help="File or folder to write.")
Output = Annotated[Path, _OUTPUT]
OptionalOutput = Annotated[Path | None, _OUTPUT]
Format = Annotated[
    Literal[
        "text",
        "glove",
        "binary",
        "fasttext",
        "kv",
        "safetensors",
        "npz",
        "spacy",
        "static-model",
        "tsv",
        "csv",
        "stardict",
        "tmx",
    ]
    | None,
    typer.Option(
        "--format", "-f", help="Format to write, of vectors or of a dictionary; default: by the output's name."
    ),
]
PerItem = Annotated[
    Path | None,
    typer.Option("--per-item", metavar="FILE", help="Also write one JSON object per test item to this file."),
]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Keep vectors in this folder: the same text is not encoded twice."),
]
KeepWork = Annotated[bool, typer.Option("--keep-work", help="Keep the intermediate files beside the output.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="A small run with little data or short trainings: minutes instead of hours.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done and how long it would take.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else.")]
