"""Search across languages: a question in one language, lines of text in others, ranked by an encoder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from isoglot.encoders import Encoder
from isoglot.errors import InputError
from isoglot.progress import Progress, silent
from isoglot.retrieval import Retriever
from isoglot.spaces import FloatMatrix


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of text: which file it is from, its number there (from 1), and what it says."""

    source: str
    number: int
    text: str


@dataclasses.dataclass(frozen=True)
class Answer:
    """The lines nearest to a question, the best first, with their scores."""

    question: str
    hits: tuple[tuple[Line, float], ...]

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "question": self.question,
            "hits": [dataclasses.asdict(line) | {"score": round(score, 6)} for line, score in self.hits],
        }


@dataclasses.dataclass(frozen=True, eq=False)
class SearchText:
    """Lines with their vectors (n, d): encoded once, asked often."""

    lines: Sequence[Line]
    vectors: FloatMatrix

    @classmethod
    def joined(cls, parts: Sequence[SearchText]) -> SearchText:
        """Several texts as one."""
        return cls([line for part in parts for line in part.lines], np.concatenate([part.vectors for part in parts]))

    def ask(self, questions: Sequence[str], vectors: FloatMatrix, k: int = 5, score: str = "cosine") -> list[Answer]:
        """The k nearest lines of each question, whose vectors (n, d) lie in the same space."""
        k = min(k, len(self.lines))
        best = Retriever(vectors, self.vectors, score=score).top(k)
        return [
            Answer(question, tuple((self.lines[row], float(value)) for row, value in zip(rows, values, strict=True)))
            for question, rows, values in zip(questions, best.indices.tolist(), best.scores.tolist(), strict=True)
        ]


def encode_lines(lines: Sequence[Line], encoder: Encoder, progress: Progress = silent) -> SearchText:
    """Encode the lines that hold text."""
    kept = [line for line in lines if line.text.strip()]
    if not kept:
        raise InputError("no line holds any text", where=lines[0].source if lines else None)
    texts = [line.text for line in kept]
    return SearchText(kept, encoder.sentences(texts, step=f"encoding {kept[0].source}", progress=progress))
