"""The networks of frozen heads, on vectors that an encoder made before: pairs, tags, spans."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from isoglot.extras import require


class Standardise(nn.Module):
    """Mean 0 and variance 1 in every dimension of the training vectors, so that one learning rate fits all encoders.

    Other languages are standardised by the same figures: to centre each by its own would be an alignment of its own.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, sample: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", sample.mean(0))
        self.register_buffer("scale", sample.std(0, correction=0).clamp(min=1e-6))

    def forward(self, vectors: Tensor) -> Tensor:
        return (vectors - self.mean) / self.scale


def scorer(width: int, hidden: int, labels: int, dropout: float) -> nn.Module:
    """Vectors to scores of labels, through one hidden layer or none."""
    if not hidden:
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, labels))
    inner = nn.Linear(width, hidden)
    return nn.Sequential(nn.Dropout(dropout), inner, nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, labels))


class PairClassifier(nn.Module):
    """Scores of labels for pairs of sentences, from u, v, |u - v| and u * v (Conneau et al. 2017)."""

    def __init__(self, sample: Tensor, labels: int, *, hidden: int, dropout: float) -> None:
        super().__init__()
        self.standardise = Standardise(sample)
        self.scores = scorer(4 * sample.shape[1], hidden, labels, dropout)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        u, v = self.standardise(first), self.standardise(second)
        scores: Tensor = self.scores(torch.cat([u, v, (u - v).abs(), u * v], dim=-1))
        return scores

    def loss(self, first: Tensor, second: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(self(first, second), labels)


class WordTagger(nn.Module):
    """Labels every word on its own."""

    def __init__(self, sample: Tensor, labels: int, *, hidden: int, dropout: float) -> None:
        super().__init__()
        self.standardise = Standardise(sample)
        self.scores = scorer(sample.shape[1], hidden, labels, dropout)

    def loss(self, words: Tensor, lengths: Sequence[int], labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(self.scores(self.standardise(words)), labels)

    def decode(self, words: Tensor, lengths: Sequence[int]) -> list[list[int]]:
        """The best labels of each sentence; `words` holds all sentences' rows, one after the other."""
        best = self.scores(self.standardise(words)).argmax(-1)
        return [one.tolist() for one in best.split(list(lengths))]


class BilstmCrf(nn.Module):
    """Labels sentences: BiLSTM, then a conditional random field (Lample et al. 2016; as in Wang et al. 2020)."""

    def __init__(self, sample: Tensor, labels: int, *, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        require("crf", "a BiLSTM-CRF")
        from torchcrf import CRF

        self.standardise = Standardise(sample)
        self.dropout = nn.Dropout(dropout)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(sample.shape[1], hidden, layers, batch_first=True, bidirectional=True, dropout=between)
        self.scores = nn.Linear(2 * hidden, labels)
        self.crf = CRF(labels, batch_first=True)

    def forward(self, words: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Scores (b, T, labels) before the field, and which places are words (b, T)."""
        padded = padded_sentences(self.standardise(words), lengths)
        states = self.dropout(run_lstm(self.lstm, self.dropout(padded), lengths))
        return self.scores(states), word_mask(lengths, words.device)

    def loss(self, words: Tensor, lengths: Sequence[int], labels: Tensor) -> Tensor:
        scores, mask = self(words, lengths)
        padded = padded_sentences(labels, lengths)
        likelihood: Tensor = self.crf(scores, padded, mask=mask, reduction="token_mean")
        return -likelihood

    def decode(self, words: Tensor, lengths: Sequence[int]) -> list[list[int]]:
        """The best sequence of labels of each sentence."""
        scores, mask = self(words, lengths)
        best: list[list[int]] = self.crf.decode(scores, mask=mask)
        return best


class SpanReader(nn.Module):
    """Scores where in a context the answer to a question begins and ends (after DrQA, Chen et al. 2017).

    A context word is seen with what it attends to in the question and with its cosines to the question's words, which
    mean the same in every language; a BiLSTM reads the context, and both ends are matched with the question.
    """

    def __init__(self, sample: Tensor, *, hidden: int, dropout: float) -> None:
        super().__init__()
        self.standardise = Standardise(sample)
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(sample.shape[1], hidden)
        self.lstm = nn.LSTM(3 * hidden + 2, hidden, batch_first=True, bidirectional=True)
        self.weigh = nn.Linear(hidden, 1)
        self.ends = nn.Linear(hidden, 4 * hidden)

    def forward(
        self, context: Tensor, context_lengths: Sequence[int], question: Tensor, question_lengths: Sequence[int]
    ) -> Tensor:
        """Scores (b, T, 2) of each context word as the answer's first and last; minus infinity for padding."""
        outer = padded_sentences(self.standardise(context), context_lengths)
        asked = padded_sentences(self.standardise(question), question_lengths)
        absent = ~word_mask(question_lengths, question.device)  # (b, Q)
        cosines = nn.functional.normalize(outer, dim=-1) @ nn.functional.normalize(asked, dim=-1).transpose(1, 2)
        known = (~absent).sum(1)[:, None]
        near = torch.stack(
            [
                cosines.masked_fill(absent[:, None], -1.0).amax(-1),
                cosines.masked_fill(absent[:, None], 0.0).sum(-1) / known,
            ],
            dim=-1,
        )
        read, query = torch.relu(self.project(self.dropout(outer))), torch.relu(self.project(self.dropout(asked)))
        weights = (read @ query.transpose(1, 2) / read.shape[-1] ** 0.5).masked_fill(absent[:, None], -torch.inf)
        seen = weights.softmax(-1) @ query
        states = run_lstm(self.lstm, torch.cat([read, seen, read * seen, near], dim=-1), context_lengths)
        share = self.weigh(query).masked_fill(absent[..., None], -torch.inf).softmax(1)
        ends = self.ends((share * query).sum(1)).unflatten(-1, (2, -1))  # (b, 2, 2 hidden)
        scores = self.dropout(states) @ ends.transpose(1, 2) / states.shape[-1] ** 0.5
        masked: Tensor = scores.masked_fill(~word_mask(context_lengths, context.device)[..., None], -torch.inf)
        return masked

    def loss(
        self,
        context: Tensor,
        context_lengths: Sequence[int],
        question: Tensor,
        question_lengths: Sequence[int],
        ends: Tensor,
    ) -> Tensor:
        """`ends` (b, 2): the first and the last word of the answer."""
        scores = self(context, context_lengths, question, question_lengths)
        return nn.functional.cross_entropy(scores.transpose(1, 2).flatten(0, 1), ends.flatten())


def padded_sentences(rows: Tensor, lengths: Sequence[int]) -> Tensor:
    """Rows of sentences, one after the other, as (b, T, ...) with zeros after each sentence's end."""
    return pad_sequence(list(torch.split(rows, list(lengths))), batch_first=True)


def run_lstm(lstm: nn.LSTM, padded: Tensor, lengths: Sequence[int]) -> Tensor:
    """States (b, T, 2 hidden) of an LSTM that does not read padding."""
    packed = pack_padded_sequence(padded, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    states, _ = lstm(packed)
    return pad_packed_sequence(states, batch_first=True, total_length=padded.shape[1])[0]


def word_mask(lengths: Sequence[int], device: torch.device) -> Tensor:
    """Which places of padded sentences are words, (b, T)."""
    return torch.arange(max(lengths), device=device) < torch.tensor(lengths, device=device)[:, None]
