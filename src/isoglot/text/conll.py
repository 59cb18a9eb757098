"""CoNLL files: sentences whose words carry labels, such as names (NER) or parts of speech (POS).

One word per line, columns separated by tabs or spaces, a blank line after each sentence. `# comment` lines,
`-DOCSTART-` lines and, in CoNLL-U, the lines of contractions (`3-4`) and unspoken words (`8.1`) are skipped.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from isoglot.errors import ConfigError, FormatError, InputError, locating
from isoglot.text.lines import read_lines, write_lines

# Only spaces and tabs separate columns: a non-breaking space is often part of a word ("10 000").
_BLANKS = re.compile(r"[ \t]+")
_SPAN_LABEL = re.compile(r"O|[BIELMSU]-\S+")
_NO_WORD_OF_ITS_OWN = re.compile(r"[0-9]+[-.][0-9]+")
_DOCUMENT = "-DOCSTART-"
_KEEP_PREFIX = "read the file without `strip_prefix`"


@dataclasses.dataclass(frozen=True)
class LabelledSentence:
    """Words and the label of each; `line` is where the sentence begins in the file it came from, if it did.

    >>> sentence = LabelledSentence(["Ada", "sleeps"], ["B-PER", "O"])
    >>> len(sentence), sentence.labels
    (2, ('B-PER', 'O'))
    """

    words: Sequence[str]
    labels: Sequence[str]
    line: int | None = dataclasses.field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("words", "labels"):
            if isinstance(getattr(self, name), str):
                raise InputError("must be a list of strings, not one string", where=name)
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.words) != len(self.labels):
            raise InputError(f"{len(self.words):,} words but {len(self.labels):,} labels")

    def __len__(self) -> int:
        return len(self.words)


def read_conll(
    path: str | Path,
    *,
    column: int = -1,
    word_column: int = 0,
    strip_prefix: bool = False,
    check: Callable[[str], None] | None = None,
) -> list[LabelledSentence]:
    """Read a CoNLL file, packed or not.

    A line that begins with `#` is a comment, unless it is a word of the text: in a file with tabs, if no blank follows
    within the first column; in one with blanks, if it fits the sentence that it stands in or carries a label of a name.

    Args:
        column: of the labels, counted from 0; negative ones count from the end.
        word_column: of the words; 1 in CoNLL-U.
        strip_prefix: take off the language that WikiANN puts before each word (`en:Paris`).
        check: raises `FormatError` for a label that must not occur; asked once for each label.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "names.conll"
    >>> _ = path.write_text("# 1\\nen:Ada B-PER\\nen:sleeps O\\n\\nen:# O\\n")
    >>> for sentence in read_conll(path, strip_prefix=True):
    ...     print(sentence)
    LabelledSentence(words=('Ada', 'sleeps'), labels=('B-PER', 'O'))
    LabelledSentence(words=('#',), labels=('O',))
    """
    if column == word_column:
        raise ConfigError(f"words and labels cannot both be column {column}", where="column")
    path = Path(path)
    reader = _Reader(path, column, word_column, strip_prefix, check)
    for number, line in enumerate(read_lines(path), start=1):
        reader.take(line, number)
    reader.end_sentence()
    if not reader.sentences:
        raise FormatError("holds no labelled words", where=str(path))
    return reader.sentences


def write_conll(path: str | Path, sentences: Iterable[LabelledSentence]) -> None:
    """Write words and labels, separated by tabs; packed if the name ends in `.gz`, `.xz`, `.bz2` or `.zst`. Atomic.

    What `read_conll` could not read back, such as a word that holds a tab or a sentence without words, is an error.
    """
    lines = []
    for number, sentence in enumerate(sentences, start=1):
        if not len(sentence):
            raise InputError(f"sentence {number:,} has no words", where=str(path), remedy="leave it out")
        for word, label in zip(sentence.words, sentence.labels, strict=True):
            if not _readable(word) or not _readable(label) or word == _DOCUMENT or (word[0] == "#" and " " in word):
                raise InputError(
                    f"sentence {number:,}: the word {word[:40]!r} with label {label[:40]!r} cannot be written",
                    where=str(path),
                    remedy="words and labels must not be empty, nor hold tabs, line breaks or outer blanks",
                )
            lines.append(f"{word}\t{label}")
        lines.append("")
    write_lines(Path(path), lines)


def _readable(text: str) -> bool:
    # A byte order mark would be dropped at the start of the file.
    return bool(text) and text == text.strip(" ") and not any(c in text for c in "\t\n\r\0") and text[0] != "\ufeff"


class _Reader:
    """Collects lines to sentences."""

    def __init__(
        self, path: Path, column: int, word_column: int, strip_prefix: bool, check: Callable[[str], None] | None
    ) -> None:
        self.sentences: list[LabelledSentence] = []
        self._path = path
        self._columns = (word_column, column)
        self._strip_prefix = strip_prefix
        self._prefix: str | None = None
        self._check = check
        self._checked: set[str] = set()
        self._words: list[str] = []
        self._labels: list[str] = []
        self._begin = 0
        self._width = 0

    def take(self, line: str, number: int) -> None:
        # Blanks or tabs at the end are left over from editing; they would shift columns counted from the end.
        line = line.rstrip(" \t")
        if not line:
            self.end_sentence()
            return
        fields = [field.strip(" ") for field in line.split("\t")] if "\t" in line else _BLANKS.split(line.lstrip(" "))
        if fields[0] == _DOCUMENT:
            self.end_sentence()
            return
        if self._is_comment(line, fields) or self._is_extra(fields):
            return
        word, label = self._word_and_label(fields, f"{self._path}:{number}")
        if self._check is not None and label not in self._checked:
            with locating(f"{self._path}:{number}"):
                self._check(label)
            self._checked.add(label)
        if not self._words:
            self._begin, self._width = number, len(fields)
        self._words.append(word)
        self._labels.append(label)

    def end_sentence(self) -> None:
        if self._words:
            self.sentences.append(LabelledSentence(self._words, self._labels, self._begin))
        self._words, self._labels = [], []

    def _is_comment(self, line: str, fields: list[str]) -> bool:
        if not line.startswith("#"):
            return False
        if "\t" in line:
            return " " in fields[0]
        if len(fields) < 2:
            return True
        if len(fields) != (self._width or 2):
            return True
        # At the start of a sentence nothing but the label tells the word "#" from "# text".
        label = self._columns[1]
        fits = -len(fields) <= label < len(fields) and bool(_SPAN_LABEL.fullmatch(fields[label]))
        return not self._words and not fits

    def _is_extra(self, fields: list[str]) -> bool:
        # Where words are in the first column, "3-4" is a score or a date.
        return self._columns[0] == 1 and len(fields) == 10 and bool(_NO_WORD_OF_ITS_OWN.fullmatch(fields[0]))

    def _word_and_label(self, fields: list[str], where: str) -> tuple[str, str]:
        found = len(fields)
        if self._words and found != self._width:
            raise FormatError(
                f"{found} columns, but the sentence begins with {self._width}",
                where=where,
                remedy="separate columns by tabs if words hold spaces, and sentences by a blank line",
            )
        at = [index + found if index < 0 else index for index in self._columns]
        for index, asked in zip(at, self._columns, strict=True):
            if not 0 <= index < found:
                raise FormatError(
                    f"no column {asked}: the line has {found}", where=where, remedy="columns are counted from 0"
                )
        if at[0] == at[1]:
            raise FormatError(
                f"word and label would be the same column of {found}",
                where=where,
                remedy="a line needs a word and its label, separated by a tab or spaces",
            )
        word, label = fields[at[0]], fields[at[1]]
        if self._strip_prefix:
            word = self._without_prefix(word, where)
        if not word or not label:
            raise FormatError(f"the {'label' if word else 'word'} is empty", where=where)
        return word, label

    def _without_prefix(self, word: str, where: str) -> str:
        if self._prefix is None:
            if ":" not in word:
                raise FormatError(f"{word[:40]!r} has no prefix such as 'en:'", where=where, remedy=_KEEP_PREFIX)
            self._prefix = word.partition(":")[0] + ":"
        # All or none: if only some words had it, what is taken off might be part of a word ("http:").
        if not word.startswith(self._prefix):
            raise FormatError(
                f"{word[:40]!r} does not begin with {self._prefix[:40]!r} as words before it do",
                where=where,
                remedy=_KEEP_PREFIX,
            )
        return word[len(self._prefix) :]
