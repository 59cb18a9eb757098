"""The contract of an objective, the table of all of them, and recipes that weigh them against each other.

An objective is one file: a frozen dataclass whose fields are its settings, and `total`, a pure function of a batch that
was encoded. It neither runs a model nor keeps a state. A batch is of one pair of languages, and the trainer sums the
losses of all pairs before it takes a step: that keeps the transports of pairs apart, which Alqahtani et al. 2021
(Appendix E) found to be worth 4 to 9 points. Objectives that need no translations take other batches: blocks of text,
or words with static vectors. A subclass of `Objective` is in the table as soon as it is imported; other packages bring
theirs by the entry points `isoglot.objectives`, and recipes may name one as `module:Class`.
"""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from isoglot.assignments import check_known
from isoglot.errors import ConfigError, InputError, locating
from isoglot.finetuning.batches import Batch, Encoded, PairBatch, WordBatch
from isoglot.plugins import Registry
from isoglot.settings import Limits, check_settings
from isoglot.suggest import choose, unknown

if TYPE_CHECKING:
    from torch import Tensor

#: What the objectives of papers are made of, as `parse_recipe` reads it; "best" is the mixture that did best on
#: languages that were not trained on (docs/training.md).
PRESETS = {
    "best": "sentence_contrastive + 0.1*anchor",
    "wordot": "word_ot + 1.0*anchor",
    "subot": "subword_ot + 1.0*anchor",
    "l2": "l2 + 1.0*anchor",
    "mlm": "mlm",
    "mini-mlm": "mlm",
    "static-dcca": "mlm + static_dcca",
    "static-mse": "mlm + static_mse",
}

#: What an objective may ask of a batch -> what the trainer has to put into it.
NEEDS = {
    "words": "hidden states of both sides, and the words that tokens belong to",
    "sentences": "hidden states of both sides",
    "links": "links between words",
    "start": "hidden states of the target side, and those that the model gave before training",
    "masked": "predictions of masked tokens",
    "idf": "inverse frequencies of words (make_pair(..., idf=...))",
    "static": "hidden states of words, each alone, and static vectors of these words",
}


@dataclasses.dataclass(frozen=True)
class ObjectiveInfo:
    """One row of the table of objectives: name, one line for people who choose, paper, and what a batch must hold."""

    name: str
    summary: str
    paper: str
    needs: frozenset[str]

    def __post_init__(self) -> None:
        for need in self.needs:
            if need not in NEEDS:
                raise unknown("need", need, NEEDS, where=self.name)


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """Scores of the vocabulary, (k, V) for some tokens or (B, T, V) for all, and which token is right: (k,) or (B, T),
    with -100 where nothing was masked."""

    logits: Tensor
    labels: Tensor


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedBatch:
    """A batch and what models made of it; what no objective needs can stay away.

    Args:
        src, tgt: hidden states of both sides (B, T, d), by the model in training.
        start: hidden states of the target side by the model as it was before.
        masked: by name of an objective, what the model predicts for the tokens that it masked.
        alone: hidden states (B, T, d) of a batch of words with static vectors.
    """

    batch: Batch
    src: Tensor | None = None
    tgt: Tensor | None = None
    start: Tensor | None = None
    masked: Mapping[str, Predictions] = dataclasses.field(default_factory=dict)
    alone: Tensor | None = None

    @property
    def pair(self) -> PairBatch:
        """The sentences, if it is a batch of these."""
        if not isinstance(self.batch, PairBatch):
            raise InputError("the batch has no parallel sentences", where=self.batch.name)
        return self.batch

    def static_words(self, *, special: bool = False) -> tuple[Tensor, Tensor]:
        """Vectors (n, d) of the words that have tokens, means of these, and their static vectors (n, k).

        Args:
            special: whether special tokens around a word count too.
        """
        if self.alone is None or not isinstance(self.batch, WordBatch):
            raise InputError("the batch has no words with static vectors", where=self.batch.name)
        side = self.batch.side
        there = (side.counts > 0).nonzero()[:, 0]
        if not special:  # whatever a word was split into, it is one
            side = dataclasses.replace(side, mask=side.mask & (side.words >= 0))
        return Encoded(self.alone, side).sentence_vectors()[there], self.batch.vectors[there]

    def encoded(self, which: Literal["src", "tgt", "start"]) -> Encoded:
        """Hidden states with their side."""
        hidden = {"src": self.src, "tgt": self.tgt, "start": self.start}[which]
        if hidden is None:
            raise InputError(f"the batch has no hidden states {which!r}", where=self.pair.pair)
        return Encoded(hidden, self.pair.src if which == "src" else self.pair.tgt)

    def linked_words(self, pooling: str) -> tuple[Tensor, Tensor]:
        """Vectors of the linked words, (l, d) of the source and (l, d) of the target side."""
        if self.pair.links is None:
            raise InputError("the batch has no links", where=self.pair.pair, remedy="give word links to make_pair")
        sentence, i, j = self.pair.links
        X, Y = self.encoded("src").word_vectors(pooling)[0], self.encoded("tgt").word_vectors(pooling)[0]
        return _rows(X, sentence, i), _rows(Y, sentence, j)


@dataclasses.dataclass(frozen=True)
class Objective(ABC):
    """Base of all objectives: settings in, a loss of each batch out.

    Args:
        weight: what the trainer multiplies the loss with; `loss` itself does not.
    """

    weight: float = 1.0

    objective: ClassVar[ObjectiveInfo]
    #: What settings may be, where "not negative" is not enough; see `check_settings`.
    limits: ClassVar[Limits] = {}

    def __init_subclass__(cls) -> None:
        if "objective" in cls.__dict__:
            _REGISTRY.add(cls.objective.name, cls)

    def __post_init__(self) -> None:
        with locating(self.objective.name):
            check_settings(self, self.limits)

    @property
    def needs(self) -> frozenset[str]:
        """What a batch must hold, with these settings."""
        return self.objective.needs

    def loss(self, batch: EncodedBatch) -> Tensor:
        """The mean over items, a scalar; 0 for a batch without any."""
        total, count = self.total(batch)
        return total / max(count, 1)

    @abstractmethod
    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        """The sum over items (sentence pairs, links, tokens), and how many there are: what several processes need to
        get the mean that one would."""

    def check_dimensions(self, width: int, dim: int) -> None:  # noqa: B027 - most have nothing to say
        """Raise, before training begins, if static vectors of `dim` dimensions are none for an encoder of `width`."""


_REGISTRY: Registry[type[Objective]] = Registry("objective", "isoglot.objectives", "isoglot.finetuning.objectives")
#: Classes that were named as `module:Class`, by that name.
_FROM_OUTSIDE: dict[type[Objective], str] = {}


def objectives() -> Mapping[str, type[Objective]]:
    """All objectives by name, in alphabetical order.

    >>> " ".join(objectives())
    'anchor contrastive l2 mlm sentence_contrastive static_dcca static_mse subword_ot tlm word_ot'
    """
    return _REGISTRY.all()


def objective(name: str, settings: Mapping[str, Any] | None = None) -> Objective:
    """The named objective, or that of `module:Class`, with these settings; dashes are as good as underscores.

    >>> objective("word-ot", {"blur": 0.1}).blur
    0.1
    """
    place, colon, attribute = name.rpartition(":")
    if place.endswith(".py"):
        name = f"{Path(place).absolute()}:{attribute}"  # a run is resumed from any folder
    cls = _REGISTRY.get(name if colon else name.replace("-", "_"))
    if not (isinstance(cls, type) and issubclass(cls, Objective) and hasattr(cls, "objective")):
        raise ConfigError("is no objective", where=name, remedy="name a subclass of isoglot.finetuning.Objective")
    if colon:
        _FROM_OUTSIDE[cls] = name
    check_known(settings or {}, (field.name for field in dataclasses.fields(cls)), cls.objective.name)
    return cls(**(settings or {}))


def recipe_name(one: Objective) -> str:
    """The name by which a recipe finds this objective again."""
    return _FROM_OUTSIDE.get(type(one), one.objective.name)


def parse_recipe(recipe: str | Mapping[str, Any]) -> list[Objective]:
    """Objectives with their weights: from text such as "word_ot + 0.5*anchor", or from a mapping, as a TOML table is.

    A mapping has the settings of each objective, or only its weight, by name.

    >>> [(one.objective.name, one.weight) for one in parse_recipe("word_ot + 0.5*anchor")]
    [('word_ot', 1.0), ('anchor', 0.5)]
    >>> parse_recipe({"contrastive": {"variant": "weak", "weight": 2}, "anchor": 0.5})[1]
    Anchor(weight=0.5)
    """
    terms = _terms(recipe) if isinstance(recipe, str) else list(recipe.items())
    if not terms:
        raise ConfigError("a recipe without objectives", where="objectives", remedy=f"known: {', '.join(objectives())}")
    made = [objective(name, own if isinstance(own, Mapping) else {"weight": own}) for name, own in terms]
    names = [one.objective.name for one in made]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name} stands more than once in a recipe", remedy="add up its weights")
    return made


def preset(name: str) -> list[Objective]:
    """The objectives of a preset, by name: those of `PRESETS`.

    >>> [one.objective.name for one in preset("wordot")]
    ['word_ot', 'anchor']
    """
    return parse_recipe(choose("preset", name, PRESETS))


def _terms(recipe: str) -> list[tuple[str, float]]:
    terms = []
    for term in re.split(r"(?<![0-9][eE])\+", recipe):  # the plus of 1e+2 joins nothing
        match = re.fullmatch(r"\s*(?:([^*]+?)\s*\*\s*)?([A-Za-z][\w-]*|[^\s*]+:\w+)\s*", term)
        try:
            if match is None:
                raise ValueError
            terms.append((match[2], float(match[1] or 1)))
        except ValueError:
            remedy = 'write it as "word_ot + 0.5*anchor"'
            raise ConfigError(f"cannot read {term.strip()!r} of {recipe!r}", remedy=remedy) from None
    return terms


def _rows(vectors: Tensor, sentence: Tensor, word: Tensor) -> Tensor:
    return vectors.flatten(0, 1).index_select(0, sentence * vectors.shape[1] + word)
