"""What a trained head is, whichever kind: something that answers examples of a language."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from isoglot.errors import InputError
from isoglot.manifests import TensorFile
from isoglot.progress import Progress, silent
from isoglot.suggest import choose
from isoglot.text import LabelledSentence
from isoglot.transfer.examples import Example, PairExample, Question
from isoglot.transfer.spans import Answer, best_answers

if TYPE_CHECKING:
    from torch import Tensor

#: The figure by which a head is chosen: of examples and what a head made of them, higher is better.
Score = Callable[[Sequence[Any], Sequence[Any]], float]


@dataclasses.dataclass(frozen=True)
class Predictions:
    """What a head made of examples.

    Args:
        values: for each example a label, a list of labels, or an answer.
        n_best: for each example the best labels with their probabilities, or the best answers with their scores; empty
            for tags.
    """

    values: list[Any]
    n_best: list[list[tuple[str, float]]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Fitting:
    """How a head came about: the epoch that was kept, its figure on the development set, epochs run in all."""

    epoch: int
    dev: float
    epochs: int


class Head(Protocol):
    """A trained head."""

    fitting: Fitting
    labels: list[str]

    def fit(
        self,
        train: Sequence[Any],
        dev: Sequence[Any],
        lang: str,
        score: Score,
        seed: int,
        *,
        progress: Progress = silent,
    ) -> None: ...

    def predict(self, examples: Sequence[Any], lang: str, *, progress: Progress = silent) -> Predictions: ...

    def trained(self) -> dict[str, Tensor]:
        """All that was learned, by name."""

    def restore(self, labels: Sequence[str], trained: TensorFile, lang: str) -> None:
        """Become the head of the language `lang` that had learned this; what does not fit raises FormatError."""


def ranked_labels(labels: Sequence[str], shares: Sequence[float], n: int) -> list[tuple[str, float]]:
    """The n likeliest labels with their probabilities.

    >>> ranked_labels(["a", "b", "c"], [0.2, 0.7, 0.1], 2)
    [('b', 0.7), ('a', 0.2)]
    """
    ranked = sorted(zip(labels, shares, strict=True), key=lambda one: -one[1])
    return [(label, round(share, 4)) for label, share in ranked[:n]]


def answer_texts(questions: Sequence[Question], candidates: Sequence[Sequence[Answer]], n: int) -> Predictions:
    """The n best of each question's candidates as texts; a question without any gets an empty answer."""
    found = Predictions([])
    for question, own in zip(questions, candidates, strict=True):
        best = best_answers(own, n)
        texts = [(question.context[span.begin : span.end], round(score, 3)) for score, span in best]
        found.values.append(texts[0][0] if texts else "")
        found.n_best.append(texts)
    return found


_KINDS: dict[str, type] = {"nli": PairExample, "ner": LabelledSentence, "pos": LabelledSentence, "qa": Question}


def check_examples(task: str, examples: Sequence[Example], where: str) -> None:
    """Raise unless there are examples, all of the task's kind, which can be learned from or tested."""
    kind = choose("task", task, _KINDS)
    if not examples:
        raise InputError("there are no examples", where=where)
    for number, example in enumerate(examples, start=1):
        if not isinstance(example, kind):
            what = f"example {number:,} is a {type(example).__name__}, but {task} takes {kind.__name__}"
            raise InputError(what, where=where)
    if task != "qa":
        return
    if not any(isinstance(one, Question) and one.answers for one in examples):
        raise InputError("none of the questions has an answer", where=where)


def check_training(task: str, train: Sequence[Example], dev: Sequence[Example], *, where: Sequence[str]) -> None:
    """Raise unless a head can be learned from one set and chosen on the other; `where` says what each is called."""
    check_examples(task, train, where[0])
    check_examples(task, dev, where[1])
    check_labels(train, dev, where[1])
    if task != "qa" and len(labels_of(train)) < 2:
        raise InputError(
            f"all examples have the label {labels_of(train)[0]!r}: there is nothing to learn", where=where[0]
        )


def labels_of(examples: Sequence[Example]) -> list[str]:
    """All labels of the examples, in alphabetical order; "O", which says that a word is none, comes first."""
    found: set[str] = set()
    for example in examples:
        if isinstance(example, PairExample):
            found.add(example.label)
        elif isinstance(example, LabelledSentence):
            found.update(example.labels)
    return sorted(found, key=lambda label: (label != "O", label))


def check_labels(train: Sequence[Example], test: Sequence[Example], where: str) -> None:
    """Raise if a test set has labels, but none of those that were learned."""
    learned, asked = set(labels_of(train)) - {"O"}, set(labels_of(test)) - {"O"}
    if asked and learned and not asked & learned:
        few = [", ".join(sorted(one)[:4]) for one in (asked, learned)]
        raise InputError(
            f"none of its labels ({few[0]}) is one of those of the training set ({few[1]})",
            where=where,
            remedy="give both sets the same labels",
        )
