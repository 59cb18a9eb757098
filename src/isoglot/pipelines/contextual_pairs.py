"""Contextual pairs: parallel text and word links to matched occurrences of words, as Spaces.

An entry of such a Space is an occurrence, named `word@sentence:position` (both counted from 0); `pairs` says which
rows translate each other. Large texts are streamed to disk: memory holds one shard of sentences.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from isoglot.encoders import SHARD, Encoder, WordVectors
from isoglot.errors import ConfigError, InputError, LexiconError
from isoglot.folders import FolderKind
from isoglot.progress import Progress, silent
from isoglot.spaces import Content, FloatMatrix, IntVector, NativeWriter, Space, load_space, occurrence_name
from isoglot.wordalign import MODELS, WordLinks, check_linking, check_links, link_words, statistical_align

PAIRS_FOLDER = FolderKind(
    "isoglot-contextual-pairs", "contextual pairs", "`isoglot encoder extract`", manifest="pairs.json"
)
Sentences = Sequence[Sequence[str]]


@dataclasses.dataclass(frozen=True)
class TokenisedPairs:
    """Sentences of two languages as lists of words, line by line translations of each other.

    `numbers` are the lines they came from, as blank ones are left out. `links` may say which words translate.
    """

    src: Sentences
    tgt: Sentences
    src_lang: str = ""
    tgt_lang: str = ""
    numbers: Sequence[int] | None = None
    links: Sequence[WordLinks] | None = None

    def __post_init__(self) -> None:
        if len(self.src) != len(self.tgt):
            raise InputError(f"{len(self.src):,} source sentences but {len(self.tgt):,} target sentences")
        if self.links is not None and len(self.links) != len(self.src):
            raise InputError(f"{len(self.links):,} lines of word links for {len(self.src):,} sentences")
        if self.links is not None:
            # A link past a sentence's end would pass for a word of the next sentence.
            check_links(self.links, [len(words) for words in self.src], [len(words) for words in self.tgt], "links")

    def __len__(self) -> int:
        return len(self.src)

    def line(self, number: int) -> int:
        """The line, counted from 0, of a sentence."""
        return number if self.numbers is None else self.numbers[number]

    def part(self, begin: int, end: int) -> TokenisedPairs:
        """Some of the sentences."""
        return TokenisedPairs(
            self.src[begin:end],
            self.tgt[begin:end],
            self.src_lang,
            self.tgt_lang,
            [self.line(number) for number in range(begin, min(end, len(self)))],
            None if self.links is None else self.links[begin:end],
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ContextualPairs:
    """Occurrences of both languages, each once, and rows (p, 2) that translate each other."""

    src: Space
    tgt: Space
    pairs: IntVector
    info: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def matched(self) -> tuple[FloatMatrix, FloatMatrix]:
        """The matched rows of both sides, (p, d) each."""
        return self.src.vectors[self.pairs[:, 0]], self.tgt.vectors[self.pairs[:, 1]]

    def save(self, folder: str | Path) -> None:
        """Write the folder: a Space a side, the pairs, and how they were made."""
        with PAIRS_FOLDER.replacing(folder) as temporary:
            self.src.save(temporary / "src.safetensors", format="native")
            self.tgt.save(temporary / "tgt.safetensors", format="native")
            _write_pairs(temporary, self.pairs, self.src.lang, self.tgt.lang, self.info)

    @classmethod
    def load(cls, folder: str | Path) -> ContextualPairs:
        """Read what `save` or `extract_to` wrote; vectors are mapped into memory, not read."""
        manifest = PAIRS_FOLDER.read(folder)
        tensors = manifest.tensors("pairs.safetensors")
        pairs = tensors.take("pairs", (None, 2), kind="iu").astype(np.int64)
        languages = manifest.texts("languages", exactly=2, distinct=False)
        src, tgt = (
            load_space(manifest.file(f"{side}.safetensors"), lang=lang, format="native")
            for side, lang in zip(("src", "tgt"), languages, strict=True)
        )
        if not len(pairs) or pairs.min() < 0 or (pairs >= [len(src), len(tgt)]).any():
            raise tensors.wrong("there are no pairs, or one points outside the occurrences")
        return cls(src, tgt, pairs, manifest.mapping("info"))


def extract_pairs(
    encoder: Encoder,
    text: TokenisedPairs,
    *,
    method: str = "itermax",
    settings: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> ContextualPairs:
    """All linked occurrences of a text in memory.

    Without links in `text`, words are aligned by `method`: by the similarity of these very vectors (see
    `isoglot.wordalign.similarity`) or by a statistical model (see `isoglot.wordalign.statistical`).
    """
    (only,) = _gathered(encoder, text, method, settings or {}, False, progress)
    return only


def extract_layers(
    encoder: Encoder,
    text: TokenisedPairs,
    *,
    method: str = "itermax",
    settings: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> list[ContextualPairs]:
    """The same from every layer of the encoder on its own, with the same links."""
    return _gathered(encoder, text, method, settings or {}, True, progress)


def extract_to(
    folder: str | Path,
    encoder: Encoder,
    text: TokenisedPairs,
    *,
    method: str = "itermax",
    settings: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> ContextualPairs:
    """The same straight to disk, shard by shard, for texts whose vectors do not fit into memory."""
    with PAIRS_FOLDER.replacing(folder) as temporary, contextlib.ExitStack() as stack:
        writers = [
            NativeWriter(stack.enter_context((temporary / f"{side}.safetensors").open("wb")), encoder.dim)
            for side in ("src", "tgt")
        ]
        names: tuple[list[str], list[str]] = ([], [])
        pairs = []
        for shard in _shards(encoder, text, method, settings or {}, False, progress):
            pairs.append(shard.pairs + np.array([len(names[0]), len(names[1])]))
            for side in (0, 1):
                names[side].extend(shard.names[side])
                writers[side].append(shard.vectors[side][0])
        for writer, listed, lang in zip(writers, names, (text.src_lang, text.tgt_lang), strict=True):
            writer.finish(Content(listed, None, None, None, lang), {})
        joined = _joined_pairs(pairs)
        _write_pairs(temporary, joined, text.src_lang, text.tgt_lang, _info(encoder, text, method))
    return ContextualPairs.load(folder)


@dataclasses.dataclass(frozen=True, eq=False)
class _Shard:
    names: tuple[list[str], list[str]]
    vectors: tuple[FloatMatrix, FloatMatrix]  # (k, n, d)
    pairs: IntVector


def _gathered(
    encoder: Encoder, text: TokenisedPairs, method: str, settings: Mapping[str, Any], stacked: bool, progress: Progress
) -> list[ContextualPairs]:
    names: tuple[list[str], list[str]] = ([], [])
    vectors: tuple[list[FloatMatrix], list[FloatMatrix]] = ([], [])
    pairs = []
    for shard in _shards(encoder, text, method, settings, stacked, progress):
        pairs.append(shard.pairs + np.array([len(names[0]), len(names[1])]))
        for side in (0, 1):
            names[side].extend(shard.names[side])
            vectors[side].append(shard.vectors[side])
    joined = _joined_pairs(pairs)
    src, tgt = (np.concatenate(blocks, axis=1) for blocks in vectors)
    info = _info(encoder, text, method)
    return [
        ContextualPairs(Space(text.src_lang, names[0], X), Space(text.tgt_lang, names[1], Y), joined, info)
        for X, Y in zip(src, tgt, strict=True)
    ]


def _shards(
    encoder: Encoder, text: TokenisedPairs, method: str, settings: Mapping[str, Any], stacked: bool, progress: Progress
) -> Iterator[_Shard]:
    if encoder.mapped:
        raise ConfigError(
            "this encoder is aligned: it maps one of the languages only", remedy="name the encoder before alignment"
        )
    if text.links is None:
        check_linking(method, settings)
    if text.links is None and method in MODELS:
        # A statistical model learns from the whole text, so it comes before the shards.
        found = statistical_align(text.src, text.tgt, method, progress=progress, **settings)
        text = dataclasses.replace(text, links=found)
    for begin in range(0, len(text), SHARD):
        part = text.part(begin, begin + SHARD)
        of = f" ({begin + len(part):,} of {len(text):,})" if len(text) > SHARD else ""
        if stacked:
            src = encoder.word_layers(part.src, step=f"encoding {text.src_lang or 'source'}{of}", progress=progress)
            tgt = encoder.word_layers(part.tgt, step=f"encoding {text.tgt_lang or 'target'}{of}", progress=progress)
        else:
            src = [encoder.words(part.src, step=f"encoding {text.src_lang or 'source'}{of}", progress=progress)]
            tgt = [encoder.words(part.tgt, step=f"encoding {text.tgt_lang or 'target'}{of}", progress=progress)]
        links = part.links
        if links is None:
            links = link_words(src[-1], tgt[-1], method, progress=progress, **settings)
        yield _linked(part, src, tgt, links)


def _linked(
    text: TokenisedPairs, src: Sequence[WordVectors], tgt: Sequence[WordVectors], links: Sequence[WordLinks]
) -> _Shard:
    """The occurrences that are linked, each once, and the pairs they form."""
    ends = np.array(
        [
            (src[0].offsets[number] + i, tgt[0].offsets[number] + j)
            for number, found in enumerate(links)
            for i, j in sorted(found.all)
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    names, vectors, columns = [], [], []
    for side, (found, sentences) in enumerate(((src, text.src), (tgt, text.tgt))):
        rows, column = np.unique(ends[:, side], return_inverse=True)
        numbers = np.searchsorted(found[0].offsets, rows, side="right") - 1
        places = rows - found[0].offsets[numbers]
        names.append(
            [
                occurrence_name(sentences[number][place], text.line(number), place)
                for number, place in zip(numbers.tolist(), places.tolist(), strict=True)
            ]
        )
        vectors.append(np.stack([layer.vectors[rows] for layer in found]))
        columns.append(column)
    return _Shard((names[0], names[1]), (vectors[0], vectors[1]), np.stack(columns, axis=1).astype(np.int64))


def _joined_pairs(blocks: Sequence[IntVector]) -> IntVector:
    pairs = np.concatenate(blocks) if blocks else np.zeros((0, 2), dtype=np.int64)
    if not len(pairs):
        raise LexiconError(
            "no words of the text are linked",
            remedy="check that the files are translations of each other, line by line",
        )
    return pairs


def _info(encoder: Encoder, text: TokenisedPairs, method: str) -> dict[str, Any]:
    return {
        "encoder": encoder.name,
        "layer": str(encoder.layers),
        "pooling": encoder.pooling,
        "sentences": len(text),
        "word_alignment": method if text.links is None else "given",
    }


def _write_pairs(folder: Path, pairs: IntVector, src: str, tgt: str, info: Mapping[str, Any]) -> None:
    save_file({"pairs": np.ascontiguousarray(pairs)}, folder / "pairs.safetensors")
    PAIRS_FOLDER.write_manifest(folder, {"languages": [src, tgt], "pairs": len(pairs), "info": dict(info)})
