"""What a task with a head is trained and tested on: pairs of sentences, tagged sentences, questions on a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from isoglot.errors import InputError
from isoglot.text import LabelledSentence

#: The tasks, and what the examples of each are.
TASKS = ("nli", "ner", "pos", "qa")


@dataclasses.dataclass(frozen=True)
class PairExample:
    """Two sentences and how the second follows from the first.

    >>> PairExample("A man sleeps.", "Nobody is awake.", "neutral").label
    'neutral'
    """

    first: str
    second: str
    label: str


@dataclasses.dataclass(frozen=True)
class Question:
    """A question whose answers are spans of the context: `context[start : start + len(answer)] == answer`.

    `answers` and `starts` go together; no answers: the context does not say (SQuAD 2). `id` is that of the file, where
    it need not be unique: what belongs to a question is found by its place in the list.

    >>> question = Question("q1", "Who sleeps?", "Ada sleeps.", answers=("Ada",), starts=(0,))
    >>> question.answers
    ('Ada',)
    """

    id: str
    question: str
    context: str
    answers: Sequence[str] = ()
    starts: Sequence[int] = ()

    def __post_init__(self) -> None:
        if isinstance(self.answers, str):
            raise InputError("must be a list of strings, not one string", where="answers")
        object.__setattr__(self, "answers", tuple(self.answers))
        object.__setattr__(self, "starts", tuple(self.starts))
        if len(self.answers) != len(self.starts):
            raise InputError(f"{len(self.answers):,} answers but {len(self.starts):,} starts", where=self.id)
        for answer, start in zip(self.answers, self.starts, strict=True):
            if not answer or start < 0 or not self.context.startswith(answer, start):
                raise InputError(
                    f"the answer {answer[:40]!r} is not at character {start:,} of the context", where=self.id
                )


Example = PairExample | LabelledSentence | Question
