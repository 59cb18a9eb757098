"""How a head is trained: what of the encoder learns with it, its size, and how long."""

from __future__ import annotations

import dataclasses
from typing import Any

from isoglot.errors import ConfigError
from isoglot.settings import Limits, check_settings

_LIMITS: Limits = {
    "weights": ("frozen", "lora", "all"),
    "tagger": ("auto", "words", "bilstm-crf"),
    **dict.fromkeys(("batch", "epochs", "rank", "n_best", "longest_answer"), "[1, inf)"),
    "lstm_layers": "[1, 16]",
    "window": "[8, inf)",
    "max_length": "[16, inf)",
    "dropout": "[0, 1)",
    "warmup": "[0, 1)",
    "learning_rate": "(0, inf)",
}
#: By what is trained: a head of its own learns fast, weights that know something already must not be thrown off.
_RATES = {"frozen": 1e-3, "lora": 5e-4, "all": 3e-5}


#: For a quick look, by task: other defaults where the head itself takes minutes. With 2,000 questions an epoch of the
#: reader takes 8 s of one core so, and 25 s by the usual settings; MiniLM levels off at the sixth (F1 .22).
QUICK_SETTINGS: dict[str, dict[str, Any]] = {"qa": {"hidden": 64, "epochs": 8, "learning_rate": 3e-3}}


@dataclasses.dataclass(frozen=True)
class HeadSettings:
    """Settings of all heads; each uses those that concern it.

    Args:
        weights: those of the encoder that learn: "frozen" (none: the head learns on vectors that are computed
            once), "lora" (low-rank adapters) or "all".
        tagger: of a frozen encoder: "words" (each word on its own), "bilstm-crf" (Wang et al. 2020), or "auto":
            the latter for names, as these have several words, the former for parts of speech.
        hidden: size of the head's hidden layer; 0 for a linear head. Of recurrent heads: states of both directions.
        lstm_layers: of the BiLSTM-CRF.
        dropout: in the head.
        batch, epochs, learning_rate: of Adam; default rates are 1e-3 (frozen), 5e-4 (lora) and 3e-5 (all).
        warmup: share of all steps in which the rate rises; afterwards it falls to 0. Only where weights of the encoder
            are trained; that of other heads is constant.
        patience: stop after this many epochs without a better figure on the development set; 0 for never.
        rank: of the low-rank adapters.
        limit: examples to train on, drawn at random, the same for all encoders and seeds; 0 for all.
        layer, pooling, sentence_pooling: of the encoder, see `Encoder`; empty for its own.
        max_length: tokens that a trained encoder sees at once; the encoder's own limit also applies.
        window, overlap: in a question's context, words (frozen) or tokens that the head reads at once, and how many of
            them two windows share.
        longest_answer: in words (frozen) or tokens.
        n_best: answers to keep for each question.

    >>> HeadSettings(weights="lora").rate
    0.0005
    """

    weights: str = "frozen"
    tagger: str = "auto"
    hidden: int = 256
    lstm_layers: int = 2
    dropout: float = 0.2
    batch: int = 32
    epochs: int = 20
    learning_rate: float | None = None
    warmup: float = 0.1
    patience: int = 3
    rank: int = 8
    limit: int = 0
    layer: str = ""
    pooling: str = ""
    sentence_pooling: str = ""
    max_length: int = 256
    window: int = 200
    overlap: int = 50
    longest_answer: int = 20
    n_best: int = 5

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)
        if self.overlap >= self.window:
            raise ConfigError(f"windows of {self.window} cannot share {self.overlap}", where="overlap")

    def tagger_of(self, task: str) -> str:
        """The tagger of a task.

        >>> HeadSettings().tagger_of("ner"), HeadSettings().tagger_of("pos")
        ('bilstm-crf', 'words')
        """
        if self.tagger != "auto":
            return self.tagger
        return "bilstm-crf" if task == "ner" else "words"

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.learning_rate or _RATES[self.weights]
