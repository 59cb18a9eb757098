"""An aligned encoder in sentence-transformers' own modules, so that it loads there without Isoglot and without trust.

A route a language: transformer, then the learned map as dense layers, on tokens before pooling if it was learned on
words, after pooling if on sentences. The last step brings vectors to length one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners import Alignment, LinearAlignment, Side
from isoglot.encoders.encoder import Encoder
from isoglot.encoders.maps import Level
from isoglot.encoders.sentence_pooling import pooling_modules
from isoglot.errors import MissingExtraError
from isoglot.spaces import Normaliser

#: An affine step `x @ M + b`, or None for bringing rows to length one.
Step = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]] | None


def cannot_export(encoder: Encoder, alignments: Sequence[Alignment]) -> str | None:
    """Why sentence-transformers could not load this, or None if it could."""
    if len(alignments) > 1 or len(encoder.layers.numbers) > 1:
        return "sentence-transformers takes one layer of an encoder, not several"
    if not isinstance(alignments[0], LinearAlignment):
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
        or (a is not None and b is not None and all(np.array_equal(m, n) for m, n in zip(a, b, strict=True)))
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
    """Normalisation and map of a linear alignment as affine steps and steps to length one, neighbours joined.

    >>> from isoglot.aligners import Procrustes
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> [step is None for step in steps_of(Procrustes().fit(X, X[:, ::-1], [[i, i] for i in range(20)]), "src")]
    [True, False, True, False]
    """
    assert isinstance(alignment, LinearAlignment)
    steps = _normalising(alignment.normaliser(side))
    W, b = (alignment.W_src, alignment.b_src) if side == "src" else (alignment.W_tgt, alignment.b_tgt)
    if W is not None or b is not None:
        d = len(W) if W is not None else len(b) if b is not None else 0
        matrix = np.eye(d, dtype=np.float32) if W is None else W
        steps.append((matrix, np.zeros(matrix.shape[1], dtype=np.float32) if b is None else b))
    joined: list[Step] = []
    for step in steps:
        before = joined[-1] if joined else None
        if step is not None and before is not None:
            joined[-1] = (before[0] @ step[0], before[1] @ step[0] + step[1])
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
            steps.append((learned, np.zeros(learned.shape[1], dtype=np.float32)))
        else:
            mean, rest = learned[0], learned[1:]
            if kind == "standardise":
                rest = np.diag(learned[1])
            matrix = np.eye(len(mean), dtype=np.float32) - rest.T @ rest if kind == "abtt" else rest
            steps.append((matrix, -mean @ matrix))
    return steps


def _shift(mean: npt.NDArray[np.float32]) -> Step:
    return np.eye(len(mean), dtype=np.float32), -mean


def _module(step: Step, at: str) -> Any:
    import torch
    from sentence_transformers.base.modules import Dense, Normalize

    if step is None:
        return Normalize(module_input_name=at)
    matrix, bias = step
    return Dense(
        matrix.shape[0],
        matrix.shape[1],
        activation_function=None,
        init_weight=torch.from_numpy(np.ascontiguousarray(matrix.T)),
        init_bias=torch.from_numpy(np.ascontiguousarray(bias)),
        module_input_name=at,
    )


def _width(modules: Sequence[Any], width: int) -> int:
    for module in modules:
        width = getattr(module, "out_features", width)
    return width
