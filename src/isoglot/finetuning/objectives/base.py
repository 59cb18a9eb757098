"""The contract of an objective, the table of all objectives, and recipes that combine them with weights.

An objective is one file: a frozen dataclass whose fields are its settings, and `total`, a pure function of an encoded
batch. It neither runs a model nor keeps state. A batch has one language pair, and the trainer sums the losses of all
pairs before it takes a step: this keeps the transports of pairs separate, which Alqahtani et al. 2021 (Appendix E)
found to be worth 4 to 9 points. Objectives that need no translations use other batches: blocks of text, or words with
static vectors. A subclass of `Objective` is in the table once it is imported; other packages add theirs through the
entry points `isoglot.objectives`, and recipes may name one as `module:Class`.
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

#: Recipes of papers, as `parse_recipe` reads them; "best" is the mixture that did best on languages that were not
#: trained on (docs/training.md).
PRESETS: dict[str, Any] = {
    "best": "sentence_contrastive + 0.1*anchor",
    # Only new pieces learn (see PRESET_TRAINING), so the target language cannot move.
    "teach": {"teacher": {"keep": 0.0}},
    # The papers': one transport a batch, what is summed there is summed here, see also PRESET_TRAINING.
    "wordot": {"word_ot": {"span": "batch"}, "anchor": {"reduction": "sum"}},
    "subot": {"subword_ot": {"span": "batch"}, "anchor": {"reduction": "sum"}},
    "l2": {"l2": {"reduction": "sum"}, "anchor": {"reduction": "sum"}},
    "mlm": "mlm",
    "mini-mlm": "mlm",
    "language-adapter": "mlm",
    "static-dcca": "mlm + static_dcca",
    "static-mse": "mlm + static_mse",
}

#: How an objective adds up what it finds in a batch: as a mean over items, or as they are.
REDUCTIONS = ("mean", "sum")

#: What an objective may ask of a batch -> what the trainer has to put into it.
NEEDS = {
    "words": "hidden states of both sides, and the words that tokens belong to",
    "sentences": "hidden states of both sides, and the sentence vectors that the model makes of them if it makes any",
    "source": "the same of the source side alone",
    "teacher": "a teacher's vectors of the target sentences (make_pair(..., teacher=...))",
    "links": "links between words",
    "start": "hidden states of the target side, now and before training",
    "masked": "predictions of masked tokens",
    "idf": "inverse document frequencies of words (make_pair(..., idf=...))",
    "static": "hidden states of single words, and static vectors of these words",
}


@dataclasses.dataclass(frozen=True)
class ObjectiveInfo:
    """One row of the table of objectives: name, one-line summary, paper, and what a batch must hold."""

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
    """Scores of the vocabulary, (k, V) for some tokens or (B, T, V) for all, and the correct tokens: (k,) or (B, T),
    with -100 where nothing was masked."""

    logits: Tensor
    labels: Tensor


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedBatch:
    """A batch and the outputs of models for it; outputs that no objective needs may be missing.

    Args:
        src, tgt: hidden states of both sides (B, T, d), from the model in training.
        start: hidden states of the target side, from the model before training.
        masked: for each objective by name, the predictions for the tokens that it masked.
        alone: hidden states (B, T, d) of a batch of words with static vectors.
        src_sentences, tgt_sentences: vectors (B, d) of both sides' sentences, from a model that makes them itself.
    """

    batch: Batch
    src: Tensor | None = None
    tgt: Tensor | None = None
    start: Tensor | None = None
    masked: Mapping[str, Predictions] = dataclasses.field(default_factory=dict)
    alone: Tensor | None = None
    src_sentences: Tensor | None = None
    tgt_sentences: Tensor | None = None

    @property
    def pair(self) -> PairBatch:
        """The batch, if it holds parallel sentences."""
        if not isinstance(self.batch, PairBatch):
            raise InputError("the batch has no parallel sentences", where=self.batch.name)
        return self.batch

    def static_words(self, *, special: bool = False) -> tuple[Tensor, Tensor]:
        """Vectors (n, d) of the words that have tokens, as means of their tokens, and their static vectors (n, k).

        Args:
            special: whether to include special tokens around a word.
        """
        if self.alone is None or not isinstance(self.batch, WordBatch):
            raise InputError("the batch has no words with static vectors", where=self.batch.name)
        side = self.batch.side
        present = (side.counts > 0).nonzero()[:, 0]
        if not special:
            side = dataclasses.replace(side, mask=side.mask & (side.words >= 0))
        return Encoded(self.alone, side).sentence_vectors()[present], self.batch.vectors[present]

    def encoded(self, which: Literal["src", "tgt", "start"]) -> Encoded:
        """Hidden states with their side."""
        hidden = {"src": self.src, "tgt": self.tgt, "start": self.start}[which]
        if hidden is None:
            raise InputError(f"the batch has no hidden states {which!r}", where=self.pair.pair)
        return Encoded(hidden, self.pair.src if which == "src" else self.pair.tgt)

    def sentence_vectors(self, which: Literal["src", "tgt"]) -> Tensor:
        """Vectors (B, d) of sentences as `Encoder.sentences` has them: the model's own, or the means of tokens."""
        own = self.src_sentences if which == "src" else self.tgt_sentences
        return self.encoded(which).sentence_vectors() if own is None else own

    def linked_words(self, pooling: str) -> tuple[Tensor, Tensor]:
        """Vectors of the linked words, (l, d) of the source and (l, d) of the target side."""
        if self.pair.links is None:
            raise InputError("the batch has no links", where=self.pair.pair, remedy="pass word links to make_pair")
        sentence, i, j = self.pair.links
        X, Y = self.encoded("src").word_vectors(pooling)[0], self.encoded("tgt").word_vectors(pooling)[0]
        return _rows(X, sentence, i), _rows(Y, sentence, j)


@dataclasses.dataclass(frozen=True)
class Objective(ABC):
    """Base class of all objectives: computes a loss for each batch.

    Args:
        weight: factor that the trainer applies to the loss; `loss` itself does not.
    """

    weight: float = 1.0

    objective: ClassVar[ObjectiveInfo]
    #: Limits of settings, where "not negative" is not enough; see `check_settings`.
    limits: ClassVar[Limits] = {}

    def __init_subclass__(cls) -> None:
        if "objective" in cls.__dict__:
            _REGISTRY.add(cls.objective.name, cls)

    def __post_init__(self) -> None:
        with locating(self.objective.name):
            check_settings(self, self.limits)

    @property
    def needs(self) -> frozenset[str]:
        """What a batch must hold for these settings."""
        return self.objective.needs

    def loss(self, batch: EncodedBatch) -> Tensor:
        """The mean over items, a scalar; 0 for a batch without items."""
        total, count = self.total(batch)
        return total / max(count, 1)

    @abstractmethod
    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        """The sum over items (sentence pairs, links, tokens) and their number, from which several processes can compute
        the overall mean."""

    def check_dimensions(self, width: int, dim: int) -> None:  # noqa: B027 - most have nothing to check
        """Raise, before training, if static vectors of `dim` dimensions do not suit an encoder of `width`."""


_REGISTRY: Registry[type[Objective]] = Registry("objective", "isoglot.objectives", "isoglot.finetuning.objectives")
#: Classes that were named as `module:Class`, by that name.
_FROM_OUTSIDE: dict[type[Objective], str] = {}


def objectives() -> Mapping[str, type[Objective]]:
    """All objectives by name, in alphabetical order.

    >>> " ".join(objectives())
    'anchor contrastive l2 mlm sentence_contrastive static_dcca static_mse subword_ot teacher tlm word_ot'
    """
    return _REGISTRY.all()


def objective(name: str, settings: Mapping[str, Any] | None = None) -> Objective:
    """The named objective, or that of `module:Class`, with these settings; dashes may replace underscores.

    >>> objective("word-ot", {"blur": 0.1}).blur
    0.1
    """
    place, colon, attribute = name.rpartition(":")
    if place.endswith(".py"):
        name = f"{Path(place).absolute()}:{attribute}"  # a run may be resumed from any folder
    cls = _REGISTRY.get(name if colon else name.replace("-", "_"))
    if not (isinstance(cls, type) and issubclass(cls, Objective) and hasattr(cls, "objective")):
        raise ConfigError("not an objective", where=name, remedy="name a subclass of isoglot.finetuning.Objective")
    if colon:
        _FROM_OUTSIDE[cls] = name
    check_known(settings or {}, (field.name for field in dataclasses.fields(cls)), cls.objective.name)
    return cls(**(settings or {}))


def recipe_name(one: Objective) -> str:
    """The name of this objective in a recipe."""
    return _FROM_OUTSIDE.get(type(one), one.objective.name)


def parse_recipe(recipe: str | Mapping[str, Any]) -> list[Objective]:
    """Objectives with their weights, from text such as "word_ot + 0.5*anchor" or from a mapping, such as a TOML table.

    A mapping has, for each name, the settings of the objective or just its weight.

    >>> [(one.objective.name, one.weight) for one in parse_recipe("word_ot + 0.5*anchor")]
    [('word_ot', 1.0), ('anchor', 0.5)]
    >>> parse_recipe({"contrastive": {"variant": "weak", "weight": 2}, "anchor": 0.5})[1]
    Anchor(weight=0.5, reduction='mean')
    """
    terms = _terms(recipe) if isinstance(recipe, str) else list(recipe.items())
    if not terms:
        raise ConfigError("no objectives given", where="objectives", remedy=f"known: {', '.join(objectives())}")
    parsed = [objective(name, own if isinstance(own, Mapping) else {"weight": own}) for name, own in terms]
    names = [one.objective.name for one in parsed]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name} occurs more than once in the recipe", remedy="add up its weights")
    return parsed


def preset(name: str) -> list[Objective]:
    """The objectives of a preset, named in `PRESETS`.

    >>> [one.objective.name for one in preset("wordot")]
    ['word_ot', 'anchor']
    """
    return parse_recipe(choose("preset", name, PRESETS))


def items(reduction: str, count: int) -> int:
    """What to divide by: the number of items for "mean"; for "sum" the batch is one item, as a transport of it is.

    >>> items("mean", 30), items("sum", 30), items("sum", 0)
    (30, 1, 0)
    """
    return min(count, 1) if reduction == "sum" else count


def adjusted(one: Objective, settings: Mapping[str, Any]) -> Objective:
    """An objective with some of its settings changed."""
    own = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    return objective(recipe_name(one), {**own, **settings})


def _terms(recipe: str) -> list[tuple[str, float]]:
    terms = []
    for term in re.split(r"(?<![0-9][eE])\+", recipe):  # not at the plus of 1e+2
        match = re.fullmatch(r"\s*(?:([^*]+?)\s*\*\s*)?([A-Za-z][\w-]*|[^\s*]+:\w+)\s*", term)
        try:
            if match is None:
                raise ValueError
            terms.append((match[2], float(match[1] or 1)))
        except ValueError:
            remedy = 'write it like "word_ot + 0.5*anchor"'
            raise ConfigError(f"cannot read {term.strip()!r} in {recipe!r}", remedy=remedy) from None
    return terms


def _rows(vectors: Tensor, sentence: Tensor, word: Tensor) -> Tensor:
    return vectors.flatten(0, 1).index_select(0, sentence * vectors.shape[1] + word)
