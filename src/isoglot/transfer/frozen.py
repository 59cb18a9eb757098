"""Heads on a frozen encoder: its vectors are computed once, only the head's own network learns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.manifests import TensorFile
from isoglot.progress import Progress, silent, within
from isoglot.spaces import IntVector
from isoglot.text import LabelledSentence
from isoglot.transfer.examples import PairExample, Question
from isoglot.transfer.feature_store import FeatureStore, Rows, StoredWords
from isoglot.transfer.head import Fitting, Predictions, Score, answer_texts, labels_of, ranked_labels
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.spans import (
    Answer,
    Span,
    best_spans,
    overlapping_windows,
    word_spans,
    words_of_span,
)
from isoglot.transfer.training import train_network

if TYPE_CHECKING:
    from torch import Tensor

E = TypeVar("E")
R = TypeVar("R")

#: Vectors whose mean and variance stand for those of all.
_SAMPLE = 20_000
#: Examples that are answered at once.
_BATCH = 256


class FrozenHead(Generic[E, R]):
    """What heads on a frozen encoder share. Subclasses read examples (E to R), make a network, give losses and answers.

    Args:
        store: makes and keeps the vectors.
    """

    def __init__(self, store: FeatureStore, settings: HeadSettings) -> None:
        self._store, self._settings = store, settings
        self._network: Any = None
        self.labels: list[str] = []
        self.fitting = Fitting(0, 0.0, 0)

    def fit(
        self, train: Sequence[E], dev: Sequence[E], lang: str, score: Score, seed: int, *, progress: Progress = silent
    ) -> None:
        """Learn from `train`, and keep the epoch that does best on `dev`."""
        import torch

        self._learn_labels(train)
        seen = self._read(train, lang, progress)
        tested = self._read(dev, lang, progress)
        places = self._learnable(seen)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._network = self._new_network(_sample(self._rows(seen)))
            self.fitting = train_network(
                self._network,
                len(places),
                lambda numbers: self._loss(seen, [places[number] for number in numbers]),
                lambda: score(dev, self._answers(tested).values),
                self._settings,
                seed,
                lengths=self._lengths(seen, places),
                progress=progress,
            )

    def predict(self, examples: Sequence[E], lang: str, *, progress: Progress = silent) -> Predictions:
        """Answers to examples of a language."""
        import torch

        read = self._read(examples, lang, progress)
        rows, known = self._rows(read), len(self._network.standardise.mean)
        if len(rows) and rows.dim != known:
            what = f"vectors of {lang} have {rows.dim} dimensions, those that the head learned from {known}"
            raise ShapeError(what, where=self._store.vectors.name)
        with torch.inference_mode():
            return self._answers(read)

    def trained(self) -> dict[str, Tensor]:
        """All that was learned, by name."""
        return dict(self._network.state_dict())

    def restore(self, labels: Sequence[str], trained: TensorFile, lang: str) -> None:
        """Become the head that had learned this."""
        import torch

        self.labels = list(labels)
        shape = trained.take("standardise.mean", (None,)).shape
        try:
            # Without memory at first: settings that were edited may ask for any size.
            with torch.device("meta"):
                network = self._new_network(torch.zeros(1, *shape))
        except (RuntimeError, TypeError, OverflowError) as error:
            raise trained.wrong(f"does not fit its settings: {error}") from error
        weights = {name: torch.from_numpy(trained.take(name, one.shape)) for name, one in network.state_dict().items()}
        network.load_state_dict(weights, assign=True)
        self._network = network.eval()

    def _learn_labels(self, examples: Sequence[E]) -> None:
        """Remember the labels of the training set."""

    def _read(self, examples: Sequence[E], lang: str, progress: Progress) -> R:
        raise NotImplementedError

    def _learnable(self, read: R) -> Sequence[int]:
        """Numbers of what can be learned from."""
        raise NotImplementedError

    def _lengths(self, read: R, numbers: Sequence[int]) -> list[int] | None:
        """Of these examples, for networks that take as many steps as the longest of a batch has words."""
        return None

    def _rows(self, read: R) -> Rows:
        """The vectors that the network reads."""
        raise NotImplementedError

    def _new_network(self, sample: Tensor) -> Any:
        raise NotImplementedError

    def _loss(self, read: R, numbers: Sequence[int]) -> Tensor:
        raise NotImplementedError

    def _answers(self, read: R) -> Predictions:
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, eq=False)
class _Pairs:
    """Sentence vectors, the two of each pair, and the label of each (-1: not learned)."""

    rows: Rows
    sides: IntVector  # (pairs, 2)
    labels: list[int]


class PairHead(FrozenHead[PairExample, _Pairs]):
    """Classifies pairs of sentences that the encoder saw one by one."""

    def _learn_labels(self, examples: Sequence[PairExample]) -> None:
        self.labels = labels_of(examples)

    def _read(self, examples: Sequence[PairExample], lang: str, progress: Progress) -> _Pairs:
        # A premise stands in several pairs.
        texts = (text for one in examples for text in (one.first, one.second))
        place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        rows = self._store.sentences(list(place), lang, progress=progress)
        sides = np.array([[place[one.first], place[one.second]] for one in examples])
        number = {label: number for number, label in enumerate(self.labels)}
        return _Pairs(rows, sides, [number.get(one.label, -1) for one in examples])

    def _learnable(self, read: _Pairs) -> Sequence[int]:
        return range(len(read.labels))

    def _rows(self, read: _Pairs) -> Rows:
        return read.rows

    def _new_network(self, sample: Tensor) -> Any:
        from isoglot.transfer.networks import PairClassifier

        settings = self._settings
        return PairClassifier(sample, len(self.labels), hidden=settings.hidden, dropout=settings.dropout)

    def _loss(self, read: _Pairs, numbers: Sequence[int]) -> Tensor:
        import torch

        loss: Tensor = self._network.loss(
            *self._sides(read, numbers), torch.tensor([read.labels[number] for number in numbers])
        )
        return loss

    def _answers(self, read: _Pairs) -> Predictions:
        found = Predictions([])
        for numbers in _runs(len(read.labels)):
            for row in self._network(*self._sides(read, numbers)).softmax(-1).tolist():
                found.n_best.append(ranked_labels(self.labels, row, self._settings.n_best))
                found.values.append(found.n_best[-1][0][0])
        return found

    @staticmethod
    def _sides(read: _Pairs, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        import torch

        sides = read.sides[list(numbers)]
        return torch.from_numpy(read.rows.take(sides[:, 0])), torch.from_numpy(read.rows.take(sides[:, 1]))


@dataclasses.dataclass(frozen=True, eq=False)
class _Tagged:
    """Word vectors and the label of each word (-1: not learned), by sentence."""

    words: StoredWords
    labels: list[list[int]]


class TagHead(FrozenHead[LabelledSentence, _Tagged]):
    """Labels the words of sentences."""

    def _learn_labels(self, examples: Sequence[LabelledSentence]) -> None:
        self.labels = labels_of(examples)

    def _read(self, examples: Sequence[LabelledSentence], lang: str, progress: Progress) -> _Tagged:
        words = self._store.words([one.words for one in examples], lang, progress=progress)
        number = {label: number for number, label in enumerate(self.labels)}
        return _Tagged(words, [[number.get(label, -1) for label in one.labels] for one in examples])

    def _learnable(self, read: _Tagged) -> Sequence[int]:
        return [number for number, labels in enumerate(read.labels) if labels]

    def _lengths(self, read: _Tagged, numbers: Sequence[int]) -> list[int] | None:
        return None if self._settings.tagger == "words" else [len(read.labels[number]) for number in numbers]

    def _rows(self, read: _Tagged) -> Rows:
        return read.words.rows

    def _new_network(self, sample: Tensor) -> Any:
        from isoglot.transfer.networks import BilstmCrf, WordTagger

        settings = self._settings
        if settings.tagger == "words":
            return WordTagger(sample, len(self.labels), hidden=settings.hidden, dropout=settings.dropout)
        return BilstmCrf(
            sample,
            len(self.labels),
            hidden=_states(settings),
            layers=settings.lstm_layers,
            dropout=settings.dropout,
        )

    def _loss(self, read: _Tagged, numbers: Sequence[int]) -> Tensor:
        import torch

        vectors, lengths = read.words.take(numbers)
        labels = torch.tensor([label for number in numbers for label in read.labels[number]])
        loss: Tensor = self._network.loss(torch.from_numpy(vectors), lengths, labels)
        return loss

    def _answers(self, read: _Tagged) -> Predictions:
        import torch

        values: list[list[str]] = [[] for _ in read.labels]
        # Sentences of like length together: less padding.
        order = sorted(self._learnable(read), key=lambda number: len(read.labels[number]))
        for places in _runs(len(order)):
            numbers = [order[place] for place in places]
            vectors, lengths = read.words.take(numbers)
            found = self._network.decode(torch.from_numpy(vectors), lengths)
            for number, labels in zip(numbers, found, strict=True):
                values[number] = [self.labels[label] for label in labels]
        return Predictions(values)


@dataclasses.dataclass(frozen=True, eq=False)
class _Window:
    """Some words of a context, and which of them (counted from the window's start) answer the question."""

    question: int
    place: Span
    ends: tuple[int, int] | None


@dataclasses.dataclass(frozen=True, eq=False)
class _Questions:
    examples: Sequence[Question]
    #: Of different contexts and questions, and which each example has.
    contexts: StoredWords
    asked: StoredWords
    sides: IntVector
    #: Where the words of each different context stand.
    spans: list[list[Span]]
    windows: list[_Window]


class SpanHead(FrozenHead[Question, _Questions]):
    """Finds answers in contexts."""

    def _read(self, examples: Sequence[Question], lang: str, progress: Progress) -> _Questions:
        contexts = {text: number for number, text in enumerate(dict.fromkeys(one.context for one in examples))}
        questions = {text: number for number, text in enumerate(dict.fromkeys(one.question for one in examples))}
        spans = [word_spans(text) for text in contexts]
        words = [[text[begin:end] for begin, end in own] for text, own in zip(contexts, spans, strict=True)]
        # A question without any word or sign still needs something to attend to.
        asked = [[text[begin:end] for begin, end in word_spans(text)] or ["?"] for text in questions]
        total = len(words) + len(asked)
        sides = np.array([[contexts[one.context], questions[one.question]] for one in examples])
        windows = [
            window
            for number, one in enumerate(examples)
            for window in self._windows(number, one, spans[sides[number, 0]])
        ]
        return _Questions(
            examples,
            self._store.words(words, lang, progress=within(progress, 0, len(words), total)),
            self._store.words(asked, lang, progress=within(progress, len(words), len(asked), total)),
            sides,
            spans,
            windows,
        )

    def _windows(self, number: int, example: Question, spans: Sequence[Span]) -> Iterator[_Window]:
        answer = None
        if example.answers:
            answer = words_of_span(spans, Span(example.starts[0], example.starts[0] + len(example.answers[0])))
        for place in overlapping_windows(len(spans), self._settings.window, self._settings.overlap):
            inside = answer is not None and place.begin <= answer[0] and answer[1] < place.end
            ends = (answer[0] - place.begin, answer[1] - place.begin) if answer is not None and inside else None
            if place.end > place.begin:
                yield _Window(number, place, ends)

    def _learnable(self, read: _Questions) -> Sequence[int]:
        places = [number for number, window in enumerate(read.windows) if window.ends is not None]
        if not places:
            raise InputError("no answer of the training set fits into a window", remedy="set a larger `window`")
        return places

    def _rows(self, read: _Questions) -> Rows:
        return read.contexts.rows

    def _new_network(self, sample: Tensor) -> Any:
        from isoglot.transfer.networks import SpanReader

        return SpanReader(sample, hidden=_states(self._settings), dropout=self._settings.dropout)

    def _loss(self, read: _Questions, numbers: Sequence[int]) -> Tensor:
        import torch

        windows = [read.windows[number] for number in numbers]
        ends = torch.tensor([window.ends for window in windows])
        loss: Tensor = self._network.loss(*self._vectors(read, windows), ends)
        return loss

    def _answers(self, read: _Questions) -> Predictions:
        candidates: list[list[Answer]] = [[] for _ in read.examples]
        order = sorted(range(len(read.windows)), key=lambda number: read.windows[number].place.end)
        for places in _runs(len(order), self._settings.batch):
            windows = [read.windows[order[place]] for place in places]
            scores = self._network(*self._vectors(read, windows)).numpy()
            for window, ends in zip(windows, scores, strict=True):
                spans = read.spans[read.sides[window.question, 0]]
                length = window.place.end - window.place.begin
                for score, first, last in best_spans(
                    ends[:length], self._settings.longest_answer, self._settings.n_best
                ):
                    begin, end = spans[window.place.begin + first].begin, spans[window.place.begin + last].end
                    candidates[window.question].append(Answer(score, Span(begin, end)))
        return answer_texts(read.examples, candidates, self._settings.n_best)

    @staticmethod
    def _vectors(read: _Questions, windows: Sequence[_Window]) -> tuple[Tensor, list[int], Tensor, list[int]]:
        import torch

        sides = read.sides[[window.question for window in windows]]
        context = read.contexts.parts(sides[:, 0].tolist(), [window.place for window in windows])
        asked, asked_lengths = read.asked.take(sides[:, 1].tolist())
        lengths = [window.place.end - window.place.begin for window in windows]
        return torch.from_numpy(context), lengths, torch.from_numpy(asked), asked_lengths


def _sample(rows: Rows) -> Tensor:
    """Some of the training vectors, spread over all of them."""
    import torch

    if not len(rows):
        raise InputError("the training set has no words")
    return torch.from_numpy(rows.take(np.unique(np.linspace(0, len(rows) - 1, _SAMPLE, dtype=np.int64))))


def _states(settings: HeadSettings) -> int:
    """States of a recurrent head in each direction."""
    if settings.hidden < 2:
        raise ConfigError("a recurrent head needs at least two states", where="hidden")
    return settings.hidden // 2


def _runs(count: int, size: int = _BATCH) -> Iterator[range]:
    return (range(begin, min(begin + size, count)) for begin in range(0, count, size))
