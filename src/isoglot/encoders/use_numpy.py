"""The universal sentence encoder, multilingual, computed with numpy: for machines without torch.

The same network as in `use_model`, with the same tokenizer (the tokenizers library is all that it needs), behind the
same face as `LoadedModel`. Sentences of a batch lie one after the other, with rows of zeros between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders.layers import Layers, combine_layers
from isoglot.encoders.pieces import Piece, TokenMap, batches
from isoglot.encoders.sentencepiece import tokenizer_json
from isoglot.encoders.use_weights import LONGEST, ORDERS, PADDING, PIECES, read_use_weights
from isoglot.errors import MissingExtraError
from isoglot.files import sha256_of_file
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix

#: Rows of zeros between sentences: as far as the widest convolution looks.
_GAP = max(max(before, order - 1 - before) for order, before in ORDERS)


class NumpyTokenizer:
    """As much of a tokenizer of transformers as `Tokens` asks for."""

    is_fast = True
    model_max_length = LONGEST

    def __init__(self, path: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError("tokenizers", "use", "this encoder") from error
        self._tokenizer = Tokenizer.from_str(tokenizer_json(path))
        self.unk_token_id = self._tokenizer.token_to_id("<unk>")
        self.pad_token_id = self._tokenizer.token_to_id(PADDING)

    def __call__(
        self, text: Any, *, add_special_tokens: bool = True, is_split_into_words: bool = False, **_: Any
    ) -> Any:
        single = isinstance(text, str)
        encoded = self._tokenizer.encode_batch(
            [text] if single else text, is_pretokenized=is_split_into_words, add_special_tokens=add_special_tokens
        )
        return _Encodings({"input_ids": encoded[0].ids if single else [one.ids for one in encoded]}, encoded)


class _Encodings(dict[str, Any]):
    def __init__(self, content: dict[str, Any], encoded: list[Any]) -> None:
        super().__init__(content)
        self._encoded = encoded

    def word_ids(self, number: int) -> list[int | None]:
        ids: list[int | None] = self._encoded[number].word_ids
        return ids


class NumpyUse:
    """Model and tokenizer; see `LoadedModel`."""

    device, dtype, depth, longest = "cpu", "float32", 1, LONGEST
    causal, has_sentence_vectors = False, True

    def __init__(self, folder: str | Path, progress: Progress = silent) -> None:
        progress("loading the encoder", 0, 1)
        self.folder = str(folder)
        self.tokenizer = NumpyTokenizer(Path(folder) / PIECES)
        self._weights = read_use_weights(Path(folder))
        self.width = int(self._weights.table.shape[1])
        self._projection, self._shift, *self._scales = (
            self._weights.joined(name) for name in ("proj", "proj_b", "ln_g", "ln_b")
        )
        progress("loading the encoder", 1, 1)

    def fingerprint(self) -> str:
        """A short digest that tells models apart."""
        digest = hashlib.sha256(b"numpy")
        for path in sorted(Path(self.folder).iterdir()):
            if path.is_file():
                digest.update(sha256_of_file(path).encode())
        return digest.hexdigest()[:16]

    def run(
        self,
        pieces: Sequence[Piece],
        rows: int,
        layers: Layers,
        *,
        most_tokens: int,
        stacked: bool = False,
        token_map: TokenMap | None = None,
        whole: bool = False,
        step: str = "encoding",
        progress: Progress = silent,
    ) -> FloatMatrix:
        """As `LoadedModel.run`."""
        kept = len(layers.numbers) if stacked and token_map is None else 1
        width = self.width if stacked else layers.dim(self.width)
        out = np.zeros((kept, rows, width if token_map is None else token_map.dim), dtype=np.float32)
        total = max(sum(len(piece.ids) for piece in pieces), 1)
        done = 0
        progress(step, 0, total)
        for numbers in batches(pieces, most_tokens):
            chosen = [pieces[number] for number in numbers]
            embedded, tokens = self._states([piece.ids for piece in chosen])
            if whole:
                lengths = np.array([len(piece.ids) for piece in chosen])
                for piece, vector in zip(chosen, self._sentence_vectors(tokens, lengths), strict=True):
                    out[0, piece.rows[0]] += sum(piece.weights) * vector
            else:
                states = _combined([(embedded, tokens)[number] for number in layers.numbers], layers, stacked)
                _add(out, states, chosen, token_map)
            done += sum(len(piece.ids) for piece in chosen)
            progress(step, done, total)
        progress(step, total, total)
        return out

    def _states(self, sentences: Sequence[Sequence[int]]) -> tuple[FloatMatrix, FloatMatrix]:
        """Embeddings and vectors (all tokens, d) of sentences, one after the other."""
        plain = self._weights.arrays
        inside = np.concatenate([np.r_[np.ones(len(ids), dtype=bool), np.zeros(_GAP, dtype=bool)] for ids in sentences])
        embedded = self._weights.embeddings(np.concatenate([np.asarray(ids, dtype=np.int64) for ids in sentences]))
        normed = self._normed(embedded @ self._projection + self._shift, *self._scales)
        features = [embedded]
        for (order, before), part in zip(ORDERS, np.split(normed, len(ORDERS), axis=1), strict=True):
            states = np.zeros((len(inside), part.shape[1]), dtype=np.float32)
            states[inside] = part
            for name in ("1", "2"):
                padded = np.pad(states, ((before, order - 1 - before), (0, 0)))
                seen = np.lib.stride_tricks.sliding_window_view(padded, order, axis=0)  # (n, width, order)
                seen = seen.transpose(0, 2, 1).reshape(len(states), -1)
                states += np.maximum(seen @ plain[f"w{name}_{order}"] + plain[f"b{name}_{order}"], 0)
                states[~inside] = 0
            features.append(states[inside])
        normed = self._normed(np.concatenate(features, axis=1), plain["ln_g"], plain["ln_b"])
        return embedded, normed @ plain["cnn_W"] + plain["cnn_b"]

    def _normed(self, rows: FloatMatrix, scale: FloatMatrix, shift: FloatMatrix) -> FloatMatrix:
        rows = rows - rows.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", rows, rows) / rows.shape[1]
        rows /= np.sqrt(variance + self._weights.eps)[:, None]
        normed: FloatMatrix = rows * scale + shift
        return normed

    def _sentence_vectors(self, tokens: FloatMatrix, lengths: Any) -> FloatMatrix:
        plain = self._weights.arrays
        starts = np.r_[0, np.cumsum(lengths)[:-1]]
        mean = np.add.reduceat(tokens, starts, axis=0) / np.sqrt(lengths).astype(np.float32)[:, None]
        inner = np.maximum(mean @ plain["p1"] + np.maximum(mean @ plain["d0"], 0) @ plain["d1"], 0)
        outer = np.tanh(inner @ plain["p3"] + np.maximum(inner @ plain["d2"], 0) @ plain["d3"])
        vectors: FloatMatrix = outer / np.maximum(np.linalg.norm(outer, axis=1, keepdims=True), 1e-12)
        return vectors


def _combined(chosen: list[FloatMatrix], layers: Layers, stacked: bool) -> FloatMatrix:
    return np.stack(chosen) if stacked else combine_layers(chosen, layers.combination)[None]


def _add(out: FloatMatrix, states: FloatMatrix, pieces: Sequence[Piece], token_map: TokenMap | None) -> None:
    """Add each token's states (k, tokens, d) with its weight to its row of `out`."""
    rows = np.concatenate([piece.rows for piece in pieces])
    weights = np.concatenate([piece.weights for piece in pieces]).astype(np.float32)
    used = np.flatnonzero((rows >= 0) & (weights > 0))
    if not len(used):
        return
    chosen = states[:, used]
    if token_map is not None:
        chosen = token_map.apply(chosen)
    for layer in range(len(out)):
        np.add.at(out[layer], rows[used], chosen[layer] * weights[used, None])
