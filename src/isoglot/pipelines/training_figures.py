"""What a training of an encoder is watched by: figures on lines that it does not learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isoglot.criteria import measure, semantic_criterion
from isoglot.encoders import Encoder
from isoglot.finetuning import Corpus
from isoglot.pipelines.contextual_pairs import extract_pairs
from isoglot.pipelines.encoder_alignment import tokenise
from isoglot.spaces import FloatMatrix
from isoglot.tasks import cbli, tatoeba


class Evaluation:
    """Figures of an encoder on held out lines, as means over the pairs of languages.

    - `retrieval`: P@1 of sentences (cosine, mean of both directions), `retrieval csls` the same with CSLS, and both for
      each pair.
    - `semantic`, `structural`: the criteria without a dictionary, on vectors that are centred, as a space that has
      shrunk to one point would otherwise be the best of all.
    - `kept`: mean cosine of target sentences with their vectors before training.
    - `spread`: how far target sentences are from their mean, over the same before training: a fall tells of collapse.
    - `cbli`: P@1 of words in context, where asked for.

    Args:
        words: also look words up, which takes longer.
    """

    def __init__(self, corpora: Sequence[Corpus], *, words: bool = False, segmenter: str = "icu") -> None:
        self._texts = [one.text(one.held_out) for one in corpora if len(one.held_out) > 1]
        self._words = words
        self._segmenter = segmenter
        self._before: list[FloatMatrix] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def remember(self, encoder: Encoder) -> None:
        """Take this encoder for the one before training."""
        self._before = [encoder.sentences(text.tgt) for text in self._texts]

    def __call__(self, encoder: Encoder) -> dict[str, float]:
        found: dict[str, list[float]] = {}
        each: dict[str, float] = {}
        targets = []
        for text in self._texts:
            X, Y = encoder.sentences(text.src), encoder.sentences(text.tgt)
            targets.append(Y)
            pair = f"{text.src_lang}-{text.tgt_lang}"
            for score, name in (("cosine", "retrieval"), ("csls", "retrieval csls")):
                value = tatoeba(X, Y, score=score, sentences=(text.src, text.tgt), bootstrap=0)[0].value
                found.setdefault(name, []).append(value)
                each[f"{name} {pair}"] = value
            middle = np.concatenate([X, Y]).mean(axis=0)
            criteria = measure(X - middle, Y - middle)
            found.setdefault("semantic", []).append(criteria.semantic)
            found.setdefault("structural", []).append(criteria.structural)
            if self._words:
                found.setdefault("cbli", []).append(self._looked_up(encoder, text))
        for Y, Y0 in zip(targets, self._before, strict=bool(self._before)):
            found.setdefault("kept", []).append(semantic_criterion(Y, Y0))
            found.setdefault("spread", []).append(float(Y.var(axis=0).sum() / max(Y0.var(axis=0).sum(), 1e-12)))
        return {name: float(np.mean(values)) for name, values in found.items()} | each

    def _looked_up(self, encoder: Encoder, text: Any) -> float:
        pairs = extract_pairs(encoder, tokenise(text, self._segmenter), method="hmm")
        return cbli(pairs.src, pairs.tgt, pairs.pairs, ks=(1,), bootstrap=0)[0].value
