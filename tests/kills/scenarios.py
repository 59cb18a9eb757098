"""The commands that are killed, small enough to end within seconds."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["SCENARIOS", "Scenario", "make_inputs"]

_TEXT = "segmenter=spaces"


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One command.

    Args:
        arguments: of `isoglot`, in a folder that holds the inputs.
        output: what it writes; with `old` it stands there before, from another command.
        first: commands that run unharmed before it, as it reads what they write.
        inputs: files of the shared inputs that it needs.
        whole: whether the output is one thing; else each of its files is, and some may be older than others.
        resume: another command that goes on with it, once the file `resumable` is there.
        prepare: called in the command's process before it starts.
    """

    name: str
    arguments: tuple[str, ...]
    output: str
    inputs: tuple[str, ...]
    old: tuple[str, ...] = ()
    first: tuple[tuple[str, ...], ...] = ()
    whole: bool = True
    resume: tuple[str, ...] = ()
    resumable: str = ""
    prepare: Callable[[Path], None] | None = None

    def given(self) -> set[str]:
        """Names in the working folder that no command of ours writes to."""
        return set(self.inputs)

    def fill(self, inputs: Path, work: Path) -> None:
        work.mkdir()
        for name in self.inputs:
            source = inputs / name
            if source.is_dir():
                shutil.copytree(source, work / name)
            else:
                shutil.copy2(source, work / name)


def make_inputs(folder: Path, *names: str) -> None:
    """Vectors, texts, an encoder, distilled vectors and a package: all that any scenario reads, or these only."""
    folder.mkdir(parents=True)
    for make in _INPUTS:
        if not names or set(_INPUTS[make]) & set(names):
            make(folder)


def _make_vectors(folder: Path) -> None:
    from isoglot.distill import DISTILLED_FOLDER as DISTILLED
    from isoglot.simulate import simulate_pair
    from isoglot.spaces import Space

    pair = simulate_pair(n_words=200, dim=8, noise=0.3, seed=1)
    for lang, space in (("north", pair.src), ("south", pair.tgt), ("east", pair.tgt)):
        Space(lang, space.words, space.vectors, space.counts).save(folder / f"{lang}.vec")
    pair.lexicon.save(folder / "pairs.txt")
    pair.lexicon.invert().save(folder / "pairs2.txt")
    with DISTILLED.replacing(folder / "static") as place:
        for lang, space in (("north", pair.src), ("south", pair.tgt)):
            Space(lang, space.words, space.vectors, space.counts).save(place / f"{lang}.safetensors")
        DISTILLED.write_manifest(place, {"languages": {"north": {}, "south": {}}})


def _make_texts(folder: Path) -> None:
    from isoglot.simulate import simulate_texts

    (folder / "texts").mkdir()
    simulate_texts(600, 60, shared=6).save(folder / "texts")


def _make_encoder(folder: Path) -> None:
    from isoglot.simulate import simulate_encoder, simulate_parallel

    parallel = simulate_parallel(sentences=200, words=30, seed=3)
    (folder / "parallel").mkdir()
    for lang, side in (("north", parallel.src), ("south", parallel.tgt)):
        lines = [" ".join(words) + "\n" for words in side]
        (folder / "parallel" / f"{lang}.txt").write_text("".join(lines), "utf-8")
    pairs = [f"{' '.join(a)}\t{' '.join(b)}\n" for a, b in zip(parallel.src, parallel.tgt, strict=True)]
    (folder / "parallel" / "both.tsv").write_text("".join(pairs), "utf-8")
    for lang, side in (("north", parallel.src), ("south", parallel.tgt)):
        # What a word is called by its first letter: something to learn.
        tagged = ["".join(f"{word}\t{'NOUN' if word[0] < 'm' else 'VERB'}\n" for word in words) for words in side[:60]]
        (folder / "parallel" / f"{lang}.tags.tsv").write_text("\n".join(tagged), "utf-8")
    texts = {"north": parallel.src[:100], "south": parallel.tgt[100:]}
    simulate_encoder(folder / "encoder", texts, layers=2, width=16, heads=2, steps=2)


def _make_head(folder: Path) -> None:
    from isoglot.transfer import HeadSettings, fit_head, open_vectors, read_tags, save_head

    tags, settings = read_tags(folder / "parallel" / "north.tags.tsv", "pos"), HeadSettings(hidden=4, epochs=1)
    head = fit_head("pos", folder / "encoder", tags, tags, lambda *_: 0.0, settings, lang="north")
    encoder = folder / "encoder"
    save_head(folder / "head", head, "pos", "north", encoder, open_vectors(encoder), settings)


def _make_package(folder: Path) -> None:
    (folder / "packages").mkdir()
    (folder / "packages" / PACKAGE).write_bytes(_package())


#: What writes which inputs.
_INPUTS = {
    _make_vectors: ("north.vec", "south.vec", "east.vec", "pairs.txt", "pairs2.txt", "static"),
    _make_texts: ("texts",),
    _make_encoder: ("parallel", "encoder", "head"),
    _make_head: ("head",),
    _make_package: ("packages",),
}
PACKAGE = "invented_vectors-1.0-py3-none-any.whl"


def _package() -> bytes:
    import struct

    vectors = b"2 3\n" + b"".join(word + b" " + struct.pack("<3f", 1, 2, 3) + b"\n" for word in (b"a", b"b"))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("data/v.bin"), vectors)
    return stream.getvalue()


def _own_catalogue(work: Path) -> None:
    """A catalogue of one entry, whose package lies in a folder."""
    from isoglot.catalogue import Artefact, Entry, fetching, table
    from isoglot.catalogue.pipconfig import PipSettings

    body = (work / "packages" / PACKAGE).read_bytes()
    digest = hashlib.sha256(body).hexdigest()
    artefact = Artefact("package", PACKAGE, "invented-vectors", "1.0", len(body), digest)
    settings = {"files": "data/v.bin=copy.bin", "open": "copy.bin"}
    one = Entry(
        "vectors/xx", "vectors", ("xx",), "", "CC0", "", (artefact,), "packed_vectors", settings, "v.safetensors"
    )
    places = PipSettings((), (str(work / "packages"),))
    fetching.pip_settings = lambda: places  # type: ignore[assignment]
    import isoglot.catalogue as catalogue

    for module in (catalogue, table, fetching):
        for name in ("entry", "find_entry"):
            if hasattr(module, name):
                setattr(module, name, lambda _name: one)


_VECTORS = ("north.vec", "south.vec", "pairs.txt")
_ALIGN = ("align", "north.vec", "south.vec", "-l", "pairs.txt", "-o", "out")
_PIVOT = (
    *("align", "north=north.vec", "south=south.vec", "--pivot", "north"),
    *("-l", "south-north=pairs2.txt", "-o", "out"),
)
_JOINT = (
    *("joint", "train", "north=texts/north.txt", "south=texts/south.txt", "-l", "texts/north-south.tsv", "-o", "out"),
    *("--dim", "8", "--epochs", "2", "--threads", "1", "--no-subwords", "--method", "procrustes", "--min-count", "1"),
)
_DISTILL = (
    *("encoder", "distill", "north=parallel/north.txt", "--encoder", "encoder", "-o", "out", "--layer", "2"),
    *("--segmenter", "spaces", "--min-tokens", "3", "--min-count", "2", "--set", "sample=0.01"),
)
_CONTEXTUAL = ("parallel/north.txt", "parallel/south.txt", "-e", "encoder", "--device", "cpu", "-o", "out")
_REPRODUCE = (
    *("reproduce", "static-contextual", "--device", "cpu", "-e", "encoder", "-o", "out"),
    *("--text", "en=parallel/north.txt", "de=parallel/south.txt", "--method", "procrustes"),
    *("--set", f"distill.{_TEXT}", "distill.min_tokens=3", "distill.min_count=3", "--runs", "1", "--words", "100"),
    *("--set", "steps=1", "blocks=4", "block_length=32", "words=32"),
)
_TRAIN = tuple(
    part
    for one in ("steps=4", "batch=6", "accumulation=1", _TEXT, "evaluate_every=2", "checkpoint_every=1", "links=ibm1")
    for part in ("--set", one)
)

_all = (
    Scenario("align", (*_ALIGN, "-m", "procrustes"), "out", _VECTORS, old=(*_ALIGN, "-m", "cca")),
    Scenario("align-rerank", (*_ALIGN, "--rerank"), "out", _VECTORS, old=(*_ALIGN, "-m", "cca")),
    Scenario("align-iterative", (*_ALIGN, "-m", "vecmap-semi"), "out", _VECTORS),
    Scenario(
        "align-pivot",
        (*_PIVOT, "east=east.vec", "-l", "east-north=pairs2.txt"),
        "out",
        ("north.vec", "south.vec", "east.vec", "pairs2.txt"),
        old=_PIVOT,
    ),
    Scenario(
        "compare",
        ("compare", "north.vec", "south.vec", "-l", "pairs.txt", "-m", "procrustes", "-m", "cca", "-o", "out"),
        "out",
        _VECTORS,
    ),
    Scenario("joint", _JOINT, "out", ("texts",), old=(*_JOINT, "--seed", "5")),
    Scenario(
        "train",
        ("encoder", "finetune", "--encoder", "encoder", "--preset", "wordot", "--pivot", "south", "--parallel",
         "north=parallel/both.tsv", "--held-out", "20", "--device", "cpu", "-o", "out", *_TRAIN),
        "out",
        ("encoder", "parallel"),
        resume=("encoder", "resume", "out", "--device", "cpu"),
        resumable="out/training/recipe.json",
    ),
    Scenario(
        "train-vectors",
        ("vectors", "train", "north=texts/north.txt", "-o", "out.vec", "--dim", "8", "--epochs", "1", "--threads", "1",
         "--no-subwords"),
        "out.vec",
        ("texts",),
        old=("vectors", "train", "north=texts/north.txt", "-o", "out.vec", "--dim", "4", "--epochs", "1",
             "--threads", "1", "--no-subwords"),
    ),
    Scenario(
        "distill",
        (*_DISTILL[:3], "south=parallel/south.txt", *_DISTILL[3:]),
        "out",
        ("encoder", "parallel"),
        old=_DISTILL,
    ),
    Scenario(
        "static-align",
        ("align", "static", "--pivot", "north", "-m", "procrustes", "--align-all", "-o", "out"),
        "out",
        ("static",),
        old=("align", "static", "--pivot", "south", "-m", "procrustes", "--align-all", "-o", "out"),
    ),
    Scenario(
        "contextual-align",
        ("encoder", "align", *_CONTEXTUAL, "-m", "vecmap-semi", "--held-out", "50"),
        "out",
        ("encoder", "parallel"),
        old=("encoder", "align", *_CONTEXTUAL, "-m", "procrustes", "--held-out", "50"),
    ),
    Scenario(
        "contextual-extract",
        ("encoder", "extract", *_CONTEXTUAL, "--segmenter", "spaces", "--word-method", "ibm1"),
        "out",
        ("encoder", "parallel"),
        old=("encoder", "extract", *_CONTEXTUAL, "--segmenter", "spaces", "--word-method", "ibm1", "--limit", "50"),
    ),
    Scenario(
        "transfer",
        ("transfer", "pos", "-e", "encoder", "-e", "again=encoder", "--train", "north=parallel/north.tags.tsv",
         "--test", "north=parallel/north.tags.tsv", "south=parallel/south.tags.tsv", "--runs", "2",
         "--set", "epochs=2", "hidden=8", "-o", "out"),
        "out",
        ("encoder", "parallel"),
    ),
    Scenario(
        "transfer-predict",
        ("transfer", "predict", "head", "south=parallel/south.txt", "-o", "out.conll"),
        "out.conll",
        ("encoder", "parallel", "head"),
        old=("transfer", "predict", "head", "north=parallel/north.txt", "-o", "out.conll"),
    ),
    Scenario("reproduce", _REPRODUCE, "out", ("encoder", "parallel")),
    Scenario("data-get", ("data", "get", "vectors/xx"), "cache", ("packages",), prepare=_own_catalogue),
    Scenario(
        "text",
        ("text", "north=texts/north.txt", "south=texts/south.txt", "--segmenter", "spaces", "-o", "out"),
        "out",
        ("texts",),
        old=("text", "north=texts/south.txt", "south=texts/north.txt", "--segmenter", "spaces", "-o", "out"),
        whole=False,
    ),
    Scenario("simulate", ("simulate", "--set", "k=5", "-o", "out"), "out", ()),
    Scenario("demo", ("demo", "--offline", "-o", "out"), "out", ()),
    Scenario(
        "audit",
        ("audit", "parallel/north.txt", "parallel/south.txt", "--encoder", "encoder", "--segmenter",
         "spaces", "--limit", "60", "-o", "out"),
        "out",
        ("encoder", "parallel"),
    ),
    Scenario(
        "wordalign",
        ("wordalign", "parallel/north.txt", "parallel/south.txt", "--word-method", "ibm1", "-o", "out.links"),
        "out.links",
        ("parallel",),
        old=("wordalign", "parallel/north.txt", "parallel/south.txt", "--word-method", "ibm1", "--base", "1",
             "-o", "out.links"),
    ),
    Scenario(
        "export",
        ("export", "aligned", "-o", "out", "-f", "static-model"),
        "out",
        _VECTORS,
        old=("export", "aligned2", "-o", "out", "-f", "static-model"),
        first=((*_ALIGN[:-1], "aligned"), (*_ALIGN[:-1], "aligned2", "-m", "cca")),
    ),
    Scenario(
        "export-kv",
        ("export", "aligned", "-o", "out", "-f", "kv"),
        "out",
        _VECTORS,
        old=("export", "aligned2", "-o", "out", "-f", "kv"),
        first=((*_ALIGN[:-1], "aligned"), (*_ALIGN[:-1], "aligned2", "-m", "cca")),
        whole=False,
    ),
    Scenario(
        "convert-spacy",
        ("convert", "north.vec", "-o", "out", "--format", "spacy"),
        "out",
        _VECTORS,
        old=("convert", "south.vec", "-o", "out", "--format", "spacy"),
    ),
    Scenario("export-text", ("export", "aligned", "-o", "out"), "out", _VECTORS, first=((*_ALIGN[:-1], "aligned"),)),
    Scenario(
        "lexicon",
        ("lexicon", "aligned", "-o", "out.tsv"),
        "out.tsv",
        _VECTORS,
        old=("lexicon", "aligned", "--limit", "20", "-o", "out.tsv"),
        first=((*_ALIGN[:-1], "aligned"),),
    ),
)  # fmt: skip

SCENARIOS = {one.name: one for one in _all}
