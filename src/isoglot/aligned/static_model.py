"""Export Spaces that share one vector space as a static model: a folder that sentence-transformers and model2vec load.

The words of all languages become one vocabulary of a word-level tokenizer; a text's vector is the mean of its words'
vectors. A form that several languages share gets the mean of its vectors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from isoglot.cards import Card
from isoglot.errors import InputError, ShapeError
from isoglot.folders import FolderKind
from isoglot.spaces import FloatMatrix, Space, unit_rows

#: Text is cut into words by the tokenizer itself; what it does not know adds nothing (a zero vector).
UNKNOWN = "[UNK]"
_KIND = FolderKind("isoglot-static-model", "a static model of ours", "`isoglot export`")


def write_static_model(spaces: Sequence[Space], folder: str | Path, card: Card | None = None) -> int:
    """Write the folder, with this card, and return the size of its vocabulary."""
    if not spaces:
        raise InputError("a static model needs at least one space")
    if len({space.dim for space in spaces}) != 1:
        raise ShapeError(f"spaces of one model need one dimension, got {sorted({space.dim for space in spaces})}")
    vocabulary, vectors = _join(spaces)
    lower = all(word == word.lower() for word in vocabulary if word != UNKNOWN)
    with _KIND.replacing(folder) as temporary:
        save_file({"embeddings": vectors}, temporary / "model.safetensors")
        _write(temporary / "tokenizer.json", _tokenizer(vocabulary, lower))
        _write(
            temporary / "config.json",
            {
                "model_type": "model2vec",
                "architectures": ["StaticModel"],
                "normalize": True,
                "hidden_dim": int(vectors.shape[1]),
                "seq_length": 1_000_000,
                "embedding_dtype": "float32",
                "languages": [space.lang for space in spaces],
            },
        )
        _write(
            temporary / "modules.json",
            [
                {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"},
                {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
            ],
        )
        (temporary / "1_Normalize").mkdir()
        if card is not None:
            card.write(temporary)
    return len(vocabulary)


def _join(spaces: Sequence[Space]) -> tuple[dict[str, int], FloatMatrix]:
    """One vocabulary for all; a shared form gets the mean of its unit vectors."""
    vocabulary = {UNKNOWN: 0}
    for space in spaces:
        for word in space.words:
            vocabulary.setdefault(word, len(vocabulary))
    vectors = np.zeros((len(vocabulary), spaces[0].dim), dtype=np.float32)
    for space in spaces:
        rows = np.fromiter((vocabulary[word] for word in space.words), dtype=np.int64, count=len(space))
        np.add.at(vectors, rows, unit_rows(space.vectors))
    vectors[0] = 0
    return vocabulary, unit_rows(vectors, out=vectors)


def _tokenizer(vocabulary: dict[str, int], lower: bool) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"type": "NFC"}]
    if lower:
        steps.append({"type": "Lowercase"})
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
    }


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
