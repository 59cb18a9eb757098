"""Reading the examples of a task by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from isoglot.suggest import choose
from isoglot.text import LabelledSentence
from isoglot.transfer.examples import Example
from isoglot.transfer.readers.nli import read_nli
from isoglot.transfer.readers.questions import read_questions
from isoglot.transfer.readers.tags import read_tags


def read_examples(task: str, path: str | Path) -> Sequence[Example]:
    """All examples of a file, of the task "nli", "ner", "pos" or "qa".

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "names.conll"
    >>> _ = path.write_text("Ada B-PER\\nsleeps O\\n")
    >>> len(read_examples("ner", path))
    1
    """
    return choose("task", task, _READERS)(path)


def _read_names(path: str | Path) -> list[LabelledSentence]:
    return read_tags(path, "ner")


def _read_parts_of_speech(path: str | Path) -> list[LabelledSentence]:
    return read_tags(path, "pos")


_READERS: dict[str, Callable[[str | Path], Sequence[Example]]] = {
    "nli": read_nli,
    "ner": _read_names,
    "pos": _read_parts_of_speech,
    "qa": read_questions,
}
