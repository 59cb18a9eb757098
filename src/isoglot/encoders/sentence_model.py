"""An aligned encoder in sentence-transformers' own modules, so that it loads there without Isoglot and without trust.

A route a language: transformer, then the learned map as dense layers, on tokens before pooling if it was learned on
words, after pooling if on sentences. The last step brings vectors to length one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners import Alignment, LinearAlignment, LocalAlignment, Side
from isoglot.encoders.encoder import Encoder
from isoglot.encoders.maps import Level
from isoglot.encoders.sentence_pooling import pooling_modules
from isoglot.errors import MissingExtraError
from isoglot.spaces import Normaliser


class Affine(NamedTuple):
    """`x @ matrix + bias`, where asked with ELU after it: x above zero, exp(x) - 1 below."""

    matrix: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    elu: bool = False


#: None brings rows to length one.
Step = Affine | None


def cannot_export(encoder: Encoder, alignments: Sequence[Alignment]) -> str | None:
    """Why sentence-transformers could not load this, or None if it could."""
    if len(alignments) > 1 or len(encoder.layers.numbers) > 1:
        return "sentence-transformers takes one layer of an encoder, not several"
    # The kernel of a local map is a dense layer only for rows of length one.
    local = isinstance(alignments[0], LocalAlignment) and alignments[0].src_normaliser.steps[-1:] == ("unit",)
    if not (local or isinstance(alignments[0], LinearAlignment)):
        return f"sentence-transformers has no module for the map of {alignments[0].method}"
    if encoder.prompt or encoder.echo:
        return "sentence-transformers cannot leave a prompt or a first copy of the text out of the mean"
    number = encoder.layers.numbers[0]
    if number != encoder.model.depth and (not encoder.model.can_be_cut or number == 0):
        return f"layer {number} of a {encoder.model.config.model_type} cannot be made its last"
    return None


class SentenceModel:
    """Writes the modules into the folder of an aligned encoder, which holds the model already."""

    def __init__(self, encoder: Encoder, alignment: Alignment, languages: tuple[str, str], level: Level) -> None:
        self._encoder = encoder
        self._alignment = alignment
        self._languages = languages
        self._level = level

    def write_into(self, folder: Path) -> None:
        """Write all modules around the model, which lies in the subfolder `encoder`."""
        try:
            from sentence_transformers import SentenceTransformer
            from sentence_transformers.base.modules import Normalize, Router
            from sentence_transformers.base.modules.transformer import Transformer
        except ImportError as error:
            raise MissingExtraError(
                "sentence-transformers (6 or newer)", "encoders", "saving an aligned encoder"
            ) from error
        shared = Transformer(str(folder / "encoder"))
        shared.max_seq_length = self._encoder.max_length
        routes = {}
        for side, lang in zip(("src", "tgt"), self._languages, strict=True):
            at = "token_embeddings" if self._level == "word" else "sentence_embedding"
            mapped = [_module(step, at) for step in steps_of(self._alignment, side)]  # type: ignore[arg-type]
            if self._level == "word":
                width = _width(mapped, self._encoder.model.width)
                # As in `Encoder.sentences`: maps learned on words know nothing of special tokens.
                pooled = pooling_modules(self._encoder, special=False, width=width)
                routes[lang] = [shared, *mapped, *pooled, Normalize()]
            else:
                routes[lang] = [shared, *pooling_modules(self._encoder), *mapped, Normalize()]
        # Text whose language is not told gets no vector, unless both languages have the same map anyway: that of the
        # wrong language would look right and find little.
        default = self._languages[1] if same_route(self._alignment) else None
        router = Router(routes, default_route=default, allow_empty_key=False)
        SentenceTransformer(modules=[router], device="cpu").save(str(folder), create_model_card=False)
        _keep_weights_once(folder, f"{self._languages[0]}_0_Transformer")


def same_route(alignment: Alignment) -> bool:
    """Whether both languages go the same way, so that sentence-transformers does not need to know which one it is.

    >>> from isoglot.aligners import Identity, Procrustes
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> same_route(Identity().fit(X, X + 1)), same_route(Procrustes().fit(X, X + 1, [[i, i] for i in range(20)]))
    (True, False)
    """
    first, second = (steps_of(alignment, side) for side in ("src", "tgt"))
    return len(first) == len(second) and all(
        (a is None and b is None)
        or (a is not None and b is not None and np.array_equal(a.matrix, b.matrix) and np.array_equal(a.bias, b.bias))
        for a, b in zip(first, second, strict=True)
    )


def _keep_weights_once(folder: Path, written: str) -> None:
    """sentence-transformers writes the model once more, under a name of its own: let it be `encoder` instead."""
    shutil.rmtree(folder / "encoder")
    (folder / written).rename(folder / "encoder")
    path = folder / "router_config.json"
    content = json.loads(path.read_text("utf-8"))
    content["types"]["encoder"] = content["types"].pop(written)
    for modules in content["structure"].values():
        modules[:] = ["encoder" if name == written else name for name in modules]
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def steps_of(alignment: Alignment, side: Side) -> list[Step]:
    """Normalisation and map of an alignment as affine steps and steps to length one, neighbours joined.

    >>> from isoglot.aligners import Procrustes
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> [step is None for step in steps_of(Procrustes().fit(X, X[:, ::-1], [[i, i] for i in range(20)]), "src")]
    [True, False, True, False]
    """
    steps = _normalising(alignment.normaliser(side))
    if isinstance(alignment, LocalAlignment):
        return _joined([*steps, *(_local(alignment) if side == "src" else ())])
    assert isinstance(alignment, LinearAlignment)
    W, b = (alignment.W_src, alignment.b_src) if side == "src" else (alignment.W_tgt, alignment.b_tgt)
    if W is not None or b is not None:
        d = len(W) if W is not None else len(b) if b is not None else 0
        matrix = np.eye(d, dtype=np.float32) if W is None else W
        steps.append(Affine(matrix, np.zeros(matrix.shape[1], dtype=np.float32) if b is None else b))
    return _joined(steps)


def _local(alignment: LocalAlignment) -> list[Step]:
    """x + k(x, C) A for rows of length one, as two layers.

    The kernel is exp(z) with z = (2 x c - |c|² - 1) / spread, never above zero, so that ELU gives k - 1; and x itself
    passes as x + 1, never below zero.
    """
    centres, d = alignment.centres, alignment.centres.shape[1]
    spread = alignment.spread[0]
    bias = -(np.einsum("ij,ij->i", centres, centres) + 1) / spread
    ones = np.ones(d, dtype=np.float32)
    first = np.hstack([np.eye(d, dtype=np.float32), 2 * centres.T / spread])  # (d, d + m)
    second = np.vstack([np.eye(d, dtype=np.float32), alignment.moves])
    # What the two ones add, taken back in float64: there are thousands of moves.
    shift = (alignment.moves.sum(axis=0, dtype=np.float64) - 1).astype(np.float32)
    return [Affine(first, np.concatenate([ones, bias]).astype(np.float32), elu=True), Affine(second, shift)]


def _joined(steps: Sequence[Step]) -> list[Step]:
    joined: list[Step] = []
    for step in steps:
        before = joined[-1] if joined else None
        if step is not None and before is not None and not before.elu:
            joined[-1] = Affine(before.matrix @ step.matrix, before.bias @ step.matrix + step.bias, step.elu)
        else:
            joined.append(step)
    return joined


def _normalising(normaliser: Normaliser) -> list[Step]:
    steps: list[Step] = []
    for name, learned in zip(normaliser.steps, normaliser.state, strict=True):
        kind = name.partition(":")[0]
        if kind == "unit":
            steps.append(None)
        elif kind == "centre":
            steps.append(_shift(learned[0]))
        elif kind == "iterative":
            for mean in learned:
                steps += [None, _shift(mean)]
        elif kind == "reduce":
            steps.append(Affine(learned, np.zeros(learned.shape[1], dtype=np.float32)))
        else:
            mean, rest = learned[0], learned[1:]
            if kind == "standardise":
                rest = np.diag(learned[1])
            matrix = np.eye(len(mean), dtype=np.float32) - rest.T @ rest if kind == "abtt" else rest
            steps.append(Affine(matrix, -mean @ matrix))
    return steps


def _shift(mean: npt.NDArray[np.float32]) -> Step:
    return Affine(np.eye(len(mean), dtype=np.float32), -mean)


def _module(step: Step, at: str) -> Any:
    import torch
    from sentence_transformers.base.modules import Dense, Normalize

    if step is None:
        return Normalize(module_input_name=at)
    matrix, bias, elu = step
    return Dense(
        matrix.shape[0],
        matrix.shape[1],
        activation_function=torch.nn.ELU() if elu else None,
        init_weight=torch.from_numpy(np.ascontiguousarray(matrix.T)),
        init_bias=torch.from_numpy(np.ascontiguousarray(bias)),
        module_input_name=at,
    )


def _width(modules: Sequence[Any], width: int) -> int:
    for module in modules:
        width = getattr(module, "out_features", width)
    return width
