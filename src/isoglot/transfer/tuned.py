"""Heads of transformers on an encoder that learns with them: all of its weights, or low-rank adapters.

Sentence pairs are read together, a word is labelled at its first token, contexts are read in windows that overlap.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from isoglot.encoders import Encoder, Tokens, quiet
from isoglot.encoders.loading import clear_errors
from isoglot.encoders.pieces import word_pieces
from isoglot.errors import ConfigError, InputError
from isoglot.extras import require
from isoglot.manifests import TensorFile
from isoglot.progress import Progress, silent
from isoglot.text import LabelledSentence
from isoglot.transfer.by_language import LanguageVectors
from isoglot.transfer.examples import PairExample, Question
from isoglot.transfer.head import Fitting, Predictions, Score, answer_texts, labels_of, ranked_labels
from isoglot.transfer.moving import move_onto
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.spans import Answer, Span, best_spans
from isoglot.transfer.training import train_network
from isoglot.transfer.vectors import EncoderVectors, TextVectors

if TYPE_CHECKING:
    from torch import Tensor

E = TypeVar("E")

#: For each Auto class the models that it knows.
_MAPPINGS = {
    "AutoModelForSequenceClassification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING",
    "AutoModelForTokenClassification": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING",
    "AutoModelForQuestionAnswering": "MODEL_FOR_QUESTION_ANSWERING_MAPPING",
}

#: What the loss leaves out, by torch's convention.
_IGNORED = -100
#: Sequences that are answered at once.
_BATCH = 32


@dataclasses.dataclass(frozen=True, eq=False)
class _Sequence:
    """Tokens that the model sees at once.

    Args:
        example: the number of the example that they belong to.
        target: what is to be learned: a label, one for each token, or both ends of the answer; None: nothing.
        places: for each token what it stands for: a word's number in the sentence, or a span of the context; else None.
    """

    ids: list[int]
    types: list[int] | None
    example: int
    target: Any
    places: list[Any] = dataclasses.field(default_factory=list)


class TunedHead(Generic[E]):
    """What these heads share. Subclasses turn examples into sequences, and scores into answers.

    Args:
        encoder: its folder is loaded anew, once for each head; it stays as it is.
        vectors: where the encoders of other languages come from, if these have others.
    """

    #: Name of the Auto class.
    auto = ""

    def __init__(self, encoder: Encoder, settings: HeadSettings, vectors: TextVectors) -> None:
        require("training", "training an encoder with a head")
        self._loaded, self._settings, self._vectors = encoder.model, settings, vectors
        #: The encoder that the model stands on.
        self._base = ""
        # A copy: a tokenizer remembers how it was asked to cut and pad.
        self._tokenizer: Any = copy.deepcopy(encoder.model.tokenizer)
        self._tokenizer.padding_side = "right"  # places are counted from the left
        self._longest = min(settings.max_length, encoder.model.longest)
        self.labels: list[str] = []
        self._model: Any = None
        self.fitting = Fitting(0, 0.0, 0)
        self._check()

    def fit(
        self, train: Sequence[E], dev: Sequence[E], lang: str, score: Score, seed: int, *, progress: Progress = silent
    ) -> None:
        """Learn from `train`, and keep the epoch that does best on `dev`."""
        import torch
        from accelerate import Accelerator

        self.labels = labels_of(train)  # type: ignore[arg-type]
        seen = [one for one in self._sequences(train) if one.target is not None]
        if not seen:
            raise InputError("there is nothing to learn from in the training set")
        tested = self._sequences(dev)
        accelerator = Accelerator(cpu=self._loaded.device == "cpu")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._model = accelerator.prepare(self._new_model())
            self._base = self._vectors.identity(lang)
            self.fitting = train_network(
                self._model,
                len(seen),
                lambda numbers: self._loss([seen[number] for number in numbers]),
                lambda: score(dev, self._answers(dev, tested).values),
                self._settings,
                seed,
                accelerator=accelerator,
                schedule=True,
                progress=progress,
            )

    def predict(self, examples: Sequence[E], lang: str, *, progress: Progress = silent) -> Predictions:
        """Answers to examples of a language."""
        import torch

        self._stand_on(lang)
        with torch.inference_mode():
            return self._answers(examples, self._sequences(examples))

    def trained(self) -> dict[str, Tensor]:
        """All that was learned, by name."""
        return {name: one.detach() for name, one in self._model.named_parameters() if one.requires_grad}

    def restore(self, labels: Sequence[str], trained: TensorFile, lang: str) -> None:
        """Become the head of the language `lang` that had learned this."""
        import torch

        self.labels = list(labels)
        for name in trained:
            if ".lora_A." in name:  # before memory is taken: settings that were edited may ask for any size
                trained.take(name, (self._settings.rank, None))
        self._model = self._new_model().to(self._loaded.device).eval()
        with torch.no_grad():
            for name, one in self.trained().items():
                one.copy_(torch.from_numpy(trained.take(name, one.shape)))
        self._base = self._vectors.identity(lang)

    def _stand_on(self, lang: str) -> None:
        """Put what was trained onto the encoder of a language, where that has one of its own."""
        if not isinstance(self._vectors, LanguageVectors) or self._vectors.identity(lang) == self._base:
            return
        own = self._vectors.vectors(lang)
        if not isinstance(own, EncoderVectors):
            raise ConfigError("cannot carry low-rank adapters", where=own.name, remedy="set `weights` to frozen")
        move_onto(self._model, self._tokenizer, own.encoder.model)
        self._base = self._vectors.identity(lang)

    def _check(self) -> None:
        """Raise unless transformers has such a head for this model."""
        import transformers

        mapping = getattr(transformers, _MAPPINGS[self.auto])
        if type(self._loaded.config) not in mapping:
            raise ConfigError(
                f"transformers has no {self.auto} for {self._loaded.config.model_type}",
                where=self._loaded.folder,
                remedy="set `weights` to frozen",
            )
        if not self._tokenizer.is_fast:
            raise ConfigError("its tokenizer does not say where tokens stand", where=self._loaded.folder)

    def _new_model(self) -> Any:
        """The encoder with a new head, of which the chosen part can be trained."""
        import transformers

        from isoglot.finetuning.network import add_adapters

        sizes = {"num_labels": len(self.labels)} if self.labels else {}
        folder = self._loaded.folder
        with quiet(), clear_errors(folder):
            model, loading = getattr(transformers, self.auto).from_pretrained(
                folder, output_loading_info=True, ignore_mismatched_sizes=True, dtype="float32", **sizes
            )
        model.config.pad_token_id = self._tokenizer.pad_token_id
        if self._settings.weights == "lora":
            add_adapters(model.base_model, self._settings.rank)
            for name, weights in model.base_model.named_parameters():
                weights.requires_grad_("lora_" in name)
            for name, weights in model.named_parameters():
                # What the folder does not have is as new as the head: the pooler of some models.
                if name.replace(".base_layer", "") in loading["missing_keys"]:
                    weights.requires_grad_(True)
        return model

    def _outputs(self, sequences: Sequence[_Sequence], **targets: Any) -> Any:
        import torch

        content: dict[str, Any] = {"input_ids": [one.ids for one in sequences]}
        if sequences[0].types is not None:
            content["token_type_ids"] = [one.types for one in sequences]
        batch = self._tokenizer.pad(content, return_tensors="pt", return_attention_mask=True)
        device = next(self._model.parameters()).device
        tensors = {name: torch.as_tensor(value).to(device) for name, value in targets.items()}
        return self._model(**batch.to(device), **tensors)

    def _runs(self, sequences: Sequence[_Sequence]) -> Iterator[tuple[list[_Sequence], Any]]:
        """Sequences of like length, and what the model makes of them."""
        order = sorted(sequences, key=lambda one: len(one.ids))
        for begin in range(0, len(order), _BATCH):
            batch = order[begin : begin + _BATCH]
            yield batch, self._outputs(batch)

    def _loss(self, sequences: Sequence[_Sequence]) -> Any:
        return self._outputs(sequences, labels=[one.target for one in sequences]).loss

    def _sequences(self, examples: Sequence[E]) -> list[_Sequence]:
        raise NotImplementedError

    def _answers(self, examples: Sequence[E], sequences: Sequence[_Sequence]) -> Predictions:
        raise NotImplementedError


class TunedPairHead(TunedHead[PairExample]):
    """Classifies pairs of sentences that the encoder sees together."""

    auto = "AutoModelForSequenceClassification"

    def _sequences(self, examples: Sequence[PairExample]) -> list[_Sequence]:
        encoded = self._tokenizer(
            [one.first for one in examples],
            [one.second for one in examples],
            truncation="longest_first",
            max_length=self._longest,
        )
        number = {label: number for number, label in enumerate(self.labels)}
        return [
            _Sequence(ids, _types(encoded, row), row, number.get(examples[row].label, 0))
            for row, ids in enumerate(encoded["input_ids"])
        ]

    def _answers(self, examples: Sequence[PairExample], sequences: Sequence[_Sequence]) -> Predictions:
        found = Predictions([""] * len(examples), [[]] * len(examples))
        for batch, output in self._runs(sequences):
            for one, shares in zip(batch, output.logits.softmax(-1).tolist(), strict=True):
                found.n_best[one.example] = ranked_labels(self.labels, shares, self._settings.n_best)
                found.values[one.example] = found.n_best[one.example][0][0]
        return found


class TunedTagHead(TunedHead[LabelledSentence]):
    """Labels words at their first token; long sentences are read in windows."""

    auto = "AutoModelForTokenClassification"

    def _sequences(self, examples: Sequence[LabelledSentence]) -> list[_Sequence]:
        tokens = Tokens(self._tokenizer, self._longest, self._longest // 4)
        number = {label: number for number, label in enumerate(self.labels)}
        sequences = []
        for row, example in enumerate(examples):
            pieces, _ = word_pieces(tokens, [example.words], "first")
            for piece in pieces:
                places = [
                    word if weight > 0 and word >= 0 else None
                    for word, weight in zip(piece.rows, piece.weights, strict=True)
                ]
                target = [_IGNORED if word is None else number.get(example.labels[word], _IGNORED) for word in places]
                # A loss over no word is no number.
                learned = target if any(label != _IGNORED for label in target) else None
                sequences.append(_Sequence(piece.ids, None, row, learned, places))
        return sequences

    def _loss(self, sequences: Sequence[_Sequence]) -> Any:
        longest = max(len(one.ids) for one in sequences)
        targets = [one.target + [_IGNORED] * (longest - len(one.ids)) for one in sequences]
        return self._outputs(sequences, labels=targets).loss

    def _answers(self, examples: Sequence[LabelledSentence], sequences: Sequence[_Sequence]) -> Predictions:
        values = [[""] * len(example) for example in examples]
        for batch, output in self._runs(sequences):
            for one, best in zip(batch, output.logits.argmax(-1).tolist(), strict=True):
                for word, label in zip(one.places, best, strict=False):
                    if word is not None:
                        values[one.example][word] = self.labels[label]
        return Predictions(values)


class TunedSpanHead(TunedHead[Question]):
    """Finds answers in contexts, read together with the question."""

    auto = "AutoModelForQuestionAnswering"

    def _sequences(self, examples: Sequence[Question]) -> list[_Sequence]:
        longest = min(self._longest, self._settings.window + self._longest // 4)
        encoded = self._tokenizer(
            [self._shortened(one.question) for one in examples],
            [one.context for one in examples],
            truncation="only_second",
            max_length=longest,
            stride=min(self._settings.overlap, longest // 4),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        sequences = []
        for row, ids in enumerate(encoded["input_ids"]):
            number = encoded["overflow_to_sample_mapping"][row]
            sides, offsets = encoded.sequence_ids(row), encoded["offset_mapping"][row]
            places = [
                Span(*span) if side == 1 and span[1] > span[0] else None
                for side, span in zip(sides, offsets, strict=True)
            ]
            sequences.append(_Sequence(ids, _types(encoded, row), number, _ends(examples[number], places), places))
        return sequences

    def _shortened(self, question: str) -> str:
        """The question, cut if it would leave no room for the context."""
        encoded = self._tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)
        most = self._longest // 4
        return question if len(encoded["input_ids"]) <= most else question[: encoded["offset_mapping"][most - 1][1]]

    def _loss(self, sequences: Sequence[_Sequence]) -> Any:
        firsts, lasts = zip(*(one.target for one in sequences), strict=True)
        return self._outputs(sequences, start_positions=list(firsts), end_positions=list(lasts)).loss

    def _answers(self, examples: Sequence[Question], sequences: Sequence[_Sequence]) -> Predictions:
        import numpy as np

        candidates: list[list[Answer]] = [[] for _ in examples]
        settings = self._settings
        for batch, output in self._runs(sequences):
            both = np.stack(
                [output.start_logits.float().cpu().numpy(), output.end_logits.float().cpu().numpy()], axis=-1
            )
            for one, ends in zip(batch, both, strict=True):
                ends = ends[: len(one.places)].copy()
                ends[[place is None for place in one.places]] = -np.inf
                for score, first, last in best_spans(ends, settings.longest_answer, settings.n_best):
                    span = Span(one.places[first].begin, one.places[last].end)
                    candidates[one.example].append(Answer(score, span))
        return answer_texts(examples, candidates, settings.n_best)


def _types(encoded: Any, row: int) -> list[int] | None:
    types: list[int] | None = encoded["token_type_ids"][row] if "token_type_ids" in encoded else None
    return types


def _ends(example: Question, places: Sequence[Span | None]) -> tuple[int, int] | None:
    """The first and the last token of the answer, if the window holds all of it."""
    if not example.answers:
        return None
    begin, end = example.starts[0], example.starts[0] + len(example.answers[0])
    touched = [n for n, place in enumerate(places) if place is not None and place.begin < end and place.end > begin]
    known = [place for place in places if place is not None]
    if not touched or known[0].begin > begin or known[-1].end < end:
        return None
    return touched[0], touched[-1]
