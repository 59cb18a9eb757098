"""Sentences whose words are tagged: names in CoNLL or PAN-X files, parts of speech in CoNLL-U."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from isoglot.errors import FormatError
from isoglot.text import LabelledSentence, read_conll, read_text

#: The parts of speech of Universal Dependencies.
UPOS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
)  # fmt: skip

_NAME = re.compile(r"O|[BIES]-\S+")
#: What WikiANN and PAN-X put before every word.
_PREFIX = re.compile(r"[a-z]{2,3}(-[a-z]+)*:")
_CONLLU_WIDTH = 10


def read_tags(path: str | Path, kind: Literal["ner", "pos"]) -> list[LabelledSentence]:
    """Read words with a label each.

    Names ("ner") are in BIO or BIOES, in the last column of words separated by tabs or spaces: CoNLL, WikiANN, PAN-X. A
    language before all words (`en:Paris`) is taken off. Parts of speech ("pos") are those of Universal Dependencies, in
    CoNLL-U or the last column of another file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "dev.tsv"
    >>> _ = path.write_text("en:Ada\\tB-PER\\nen:sleeps\\tO\\n")
    >>> read_tags(path, "ner")
    [LabelledSentence(words=('Ada', 'sleeps'), labels=('B-PER', 'O'))]
    """
    path = Path(path)
    if kind == "ner":
        return _without_prefix(read_conll(path, check=_check_name))
    if _is_conllu(path):
        return read_conll(path, word_column=1, column=3, check=_check_upos)
    return _without_prefix(read_conll(path, check=_check_upos))


def _is_conllu(path: Path) -> bool:
    """By the first line that is neither blank nor a comment."""
    for batch in read_text(path):
        for line in batch:
            fields = line.split("\t")
            if line.strip() and (len(fields) > 1 or not line.startswith("#")):
                return len(fields) == _CONLLU_WIDTH and fields[0].partition("-")[0].isdecimal()
    return False


def _without_prefix(sentences: Sequence[LabelledSentence]) -> list[LabelledSentence]:
    """Without the language before each word, if all have the same one."""
    match = _PREFIX.match(sentences[0].words[0])
    if match is None or not all(word.startswith(match[0]) for one in sentences for word in one.words):
        return list(sentences)
    # Nothing but the prefix: the word was a blank of some kind, and has a place among the labels.
    cut = len(match[0])
    return [LabelledSentence([word[cut:] or word for word in one.words], one.labels, one.line) for one in sentences]


def _check_name(label: str) -> None:
    if not _NAME.fullmatch(label):
        raise FormatError(f"{label[:40]!r} is no label of names", remedy="they are O, B-PER, I-PER, ... (BIO or BIOES)")


def _check_upos(label: str) -> None:
    if label not in UPOS:
        what = "the part of speech is missing" if label == "_" else f"{label[:40]!r} is no universal part of speech"
        raise FormatError(what, remedy=f"known: {', '.join(UPOS)}")
