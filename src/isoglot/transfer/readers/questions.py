"""Questions on a text, in the JSON of SQuAD: XQuAD, MLQA, TyDiQA-GoldP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isoglot.errors import FormatError, InputError
from isoglot.manifests import Fields, parse_json
from isoglot.spaces import ByteSource
from isoglot.transfer.examples import Question

#: Bytes of JSON that are read into memory.
_LARGEST = 1 << 30


def read_questions(path: str | Path) -> list[Question]:
    """Read all questions of a file, packed or not, in its order.

    Every answer must stand where the file says. Empty answers are none, as those of SQuAD 2; but if no question has
    one, the answers were withheld, and that is an error.

    >>> import json, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "xquad.json"
    >>> asked = {"id": "1", "question": "Who sleeps?", "answers": [{"text": "Ada", "answer_start": 0}]}
    >>> _ = path.write_text(json.dumps({"data": [{"paragraphs": [{"context": "Ada sleeps.", "qas": [asked]}]}]}))
    >>> read_questions(path)[0].answers
    ('Ada',)
    """
    path = Path(path)
    content = parse_json(_content(path), str(path))
    questions = list(_questions(content, str(path)))
    if not questions:
        raise FormatError("holds no questions", where=str(path))
    if not any(question.answers for question in questions):
        raise FormatError(
            f"none of its {len(questions):,} questions has an answer",
            where=str(path),
            remedy="answers are withheld in files that are made for leaderboards: give one that holds them",
        )
    return questions


def _content(path: Path) -> bytes:
    with ByteSource(path, pipes=True) as source:
        data = source.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise FormatError(f"more than {_LARGEST >> 20:,} MB", where=str(path), remedy="give a part of it")
    if not data.strip():
        raise FormatError("the file is empty", where=str(path))
    return data


def _questions(content: Any, path: str) -> Iterator[Question]:
    for article in _objects(content, "data", path):
        for paragraph in _objects(article.content, "paragraphs", article.where):
            context = paragraph.text("context")
            for asked in _objects(paragraph.content, "qas", paragraph.where):
                yield _question(asked, context, path)


def _question(asked: Fields, context: str, path: str) -> Question:
    answers = [
        (answer.text("text"), answer.integer("answer_start", least=0))
        for answer in (_objects(asked.content, "answers", asked.where) if "answers" in asked else ())
        if answer.get("text") != ""
    ]
    name, text = str(asked.get("id")), asked.text("question")
    try:
        return Question(name, text, context, [answer for answer, _ in answers], [start for _, start in answers])
    except InputError as error:
        # The place in the file tells more than the name, which need not be unique.
        what = f"question {name[:60]!r}: {error.what}"
        remedy = "starts are counted in characters, not bytes, from 0"
        raise FormatError(what, where=asked.where, remedy=remedy) from error


def _objects(content: Any, name: str, where: str) -> Iterator[Fields]:
    """The objects of a list in an object, each knowing its place."""
    if not isinstance(content, dict):
        raise FormatError("not a JSON object", where=where, remedy="expected the JSON of SQuAD")
    items = Fields(content, where, remedy="expected the JSON of SQuAD").items(name)
    for number, item in enumerate(items):
        # `file: data[0]` first, then `file: data[0].paragraphs[2]`.
        place = f"{where}{': ' if ': ' not in where else '.'}{name}[{number}]"
        if not isinstance(item, dict):
            raise FormatError("not a JSON object", where=place, remedy="expected the JSON of SQuAD")
        yield Fields(item, place)
