"""`Sentences`: the sentences of a text that pass the paper's filter, on disk, with the vocabulary and its counts.

    FOLDER/sentences.json     language, file, settings, numbers of sentences left out
    FOLDER/words.tsv          one word of the vocabulary per line with its count, most frequent first
    FOLDER/sentences.txt      the chosen sentences as the encoder sees them, words separated by one space
    FOLDER/bounds.safetensors start of each sentence in bytes, its number of words, start of each paragraph

Hämmerl et al. 2022, appendix C: sentences of seven or more tokens, from paragraphs of two or more sentences. Each line
is a sentence, and blank lines separate paragraphs. The text is read once, in blocks, and memory-mapped afterwards, so
it may be larger than memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from isoglot.distill.settings import DistillSettings
from isoglot.errors import FormatError, InputError
from isoglot.folders import FolderKind
from isoglot.manifests import TensorFile
from isoglot.opening import check_regular, read_whole
from isoglot.progress import Progress, silent
from isoglot.spaces import IntVector
from isoglot.text import lower_case, read_text, segmenter
from isoglot.wordvectors import TextFile

_KIND = FolderKind(
    "isoglot-distill-sentences", "chosen sentences", "`isoglot encoder distill`", manifest="sentences.json"
)
_FACTS = {"text", "settings", "seen", "kept", "too_short", "alone", "parted", "running_words", "types"}
_START_OVER = "delete it to start over"
#: Longer sentences are cut: a file without line ends must not become one sentence.
LONGEST_SENTENCE = 512
#: Paragraphs are cut between sentences once they have so many words: a chapter without blank lines is none.
LONGEST_PARAGRAPH = 2048
#: While counting, rare words are forgotten beyond this many types, so that a web crawl does not fill the memory.
_MOST_TYPES = 20_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class Sentences:
    """The chosen sentences of one language.

    Args:
        lang: language code.
        words: the vocabulary, most frequent first.
        counts: of each word in the chosen sentences.
        starts: (n + 1,) sentence i is bytes starts[i] to starts[i + 1] of the text.
        lengths: (n,) number of words in each sentence.
        paragraphs: (p + 1,) paragraph i is sentences paragraphs[i] to paragraphs[i + 1].
        facts: about the file, settings and filter, saved with it.
        text: all sentences as bytes.
    """

    lang: str
    words: tuple[str, ...]
    counts: IntVector
    starts: IntVector
    lengths: npt.NDArray[np.int32]
    paragraphs: IntVector
    facts: dict[str, Any]
    text: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> list[str]:
        """The words of a sentence as in the text."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        line = self.text[self.starts[number] : self.starts[number + 1] - 1]  # without the newline
        try:
            return line.tobytes().decode("utf-8").split(" ")
        except UnicodeDecodeError as error:
            where = str(getattr(self.text, "filename", "sentences.txt"))
            raise FormatError(f"sentence {number + 1:,} is not UTF-8", where=where, remedy=_START_OVER) from error

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word of the vocabulary."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def running_words(self) -> int:
        return int(self.lengths.sum())

    @property
    def parted(self) -> bool:
        """Whether blank lines separate the text into paragraphs."""
        return bool(self.facts["parted"])

    def rows(self, sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.int32]:
        """Vocabulary rows of the running words of these sentences, -1 for unknown words."""
        get = self.index.get
        text = "\n".join(" ".join(words) for words in sentences)
        if self.facts["settings"]["lower"]:
            text = lower_case(text, self.lang)
        return np.fromiter((get(word, -1) for line in text.split("\n") for word in line.split(" ")), dtype=np.int32)

    @classmethod
    def build(
        cls, text: TextFile, folder: str | Path, settings: DistillSettings, *, progress: Progress = silent
    ) -> Sentences:
        """Read the text and write the folder, or reopen a folder made from the same text and settings."""
        folder = Path(folder)
        identity = {"text": text.facts(), "settings": settings.selection()}
        with contextlib.suppress(InputError):  # a damaged folder is rebuilt
            sentences = cls.load(folder)
            if all(sentences.facts.get(key) == value for key, value in identity.items()):
                return sentences
        with _KIND.replacing(folder) as temporary:
            figures, counts = _choose(text, settings, temporary, progress)
            words = _vocabulary(counts, settings, str(text.path))
            (temporary / "words.tsv").write_text("".join(f"{word}\t{counts[word]}\n" for word in words), "utf-8")
            _KIND.write_manifest(temporary, {"lang": text.lang, **identity, **figures})
        return cls.load(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Sentences:
        """Open what `build` wrote."""
        folder = Path(folder)
        try:
            manifest = _KIND.read(folder)
            facts = dict(manifest.content)
            table = [line.split("\t") for line in read_whole(folder / "words.tsv").decode("utf-8").split("\n")[:-1]]
            bounds = TensorFile.read(folder / "bounds.safetensors")
            check_regular(folder / "sentences.txt")
            text = np.memmap(folder / "sentences.txt", dtype=np.uint8, mode="r")
            _check_bounds(folder, bounds, text)
            if len({row[0] for row in table}) < len(table):
                raise ValueError("words.tsv has a repeated word")
            if not facts.keys() >= _FACTS or "lower" not in facts["settings"]:
                raise ValueError(f"{_KIND.manifest} is incomplete")
            counts = np.array([int(row[1]) for row in table], dtype=np.int64)
            words = tuple(row[0] for row in table)
            if not all(words) or counts.min(initial=0) < 0:
                raise ValueError("words.tsv has an empty word or a count below zero")
            arrays = (bounds["starts"], bounds["lengths"], bounds["paragraphs"])
            for name in ("words.tsv", "bounds.safetensors", "sentences.txt"):
                manifest.file(name)  # last, as the checks above are more specific
            return cls(facts["lang"], words, counts, *arrays, facts, text)
        except (OSError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"cannot read chosen sentences: {error}", where=str(folder), remedy=_START_OVER) from error


def _check_bounds(folder: Path, bounds: Mapping[str, npt.NDArray[Any]], text: npt.NDArray[np.uint8]) -> None:
    starts, lengths, paragraphs = bounds["starts"], bounds["lengths"], bounds["paragraphs"]
    rising = all(
        one.ndim == 1 and one.dtype == np.int64 and len(one) > 1 and one[0] == 0 and (np.diff(one) > 0).all()
        for one in (starts, paragraphs)
    )
    fits = rising and starts[-1] == len(text) and lengths.shape == (len(starts) - 1,) and lengths.dtype == np.int32
    if not fits or paragraphs[-1] != len(lengths) or lengths.min() < 1 or (text[starts[1:] - 1] != ord("\n")).any():
        where = str(folder / "bounds.safetensors")
        raise FormatError("damaged: sentence bounds do not match the text", where=where, remedy=_START_OVER)


def _lines(text: TextFile, settings: DistillSettings, progress: Progress) -> Iterator[list[str] | None]:
    """The words of each non-blank line; None between two paragraphs."""
    split = segmenter(settings.segmenter, text.lang)
    latest: list[Any] = []

    def note(step: str, done: float, total: float | None) -> None:
        latest[:] = [step, total]
        progress(step, done, total)

    started = pending = False
    try:
        for block in read_text(text.path, encoding=text.encoding, progress=note):
            for line in block:
                words = split(line)
                if not words:
                    pending = started
                    continue
                if pending:
                    yield None
                started, pending = True, False
                yield words
    finally:
        if latest and latest[1]:
            progress(latest[0], latest[1], latest[1])  # also when stopping early: the rest is not read


def _choose(
    text: TextFile, settings: DistillSettings, folder: Path, progress: Progress
) -> tuple[dict[str, Any], Counter[str]]:
    """Write the chosen sentences and their bounds; returns figures of the filter and counts of words."""
    too_short = alone = seen = 0
    paragraphs = 1
    size = 0  # sentences in this paragraph so far
    waiting: list[list[str]] = []  # sentences of a paragraph that is still too short
    with (folder / "sentences.txt").open("wb") as stream:
        writer = _Writer(stream, text.lang, settings)
        for words in _lines(text, settings, progress):
            if words is None:
                alone += len(waiting)
                paragraphs, size, waiting = paragraphs + 1, 0, []
                writer.end_paragraph()
                continue
            seen, size = seen + 1, size + 1
            if len(words) >= settings.min_tokens:
                waiting.append(words)
            else:
                too_short += 1
            if size >= settings.min_sentences:
                writer.add(waiting)
                waiting = []
                if writer.full:
                    break
        parted = paragraphs > 1
        if parted:
            alone += len(waiting)
        else:
            writer.add(waiting)  # a text without paragraphs cannot be filtered by them
    if not writer.lengths:
        raise InputError(
            f"none of {seen:,} sentences can be used: {too_short:,} have fewer than {settings.min_tokens} words and "
            f"{alone:,} are in paragraphs of fewer than {settings.min_sentences} sentences",
            where=str(text.path),
            remedy="lower `min_tokens` or `min_sentences`",
        )
    save_file(writer.bounds(), folder / "bounds.safetensors")
    figures = {"seen": seen, "kept": len(writer.lengths), "too_short": too_short, "alone": alone, "parted": parted}
    return {**figures, "running_words": writer.counts.total(), "types": len(writer.counts)}, writer.counts


class _Writer:
    """Writes chosen sentences, counts their words and records where they start."""

    def __init__(self, stream: BinaryIO, lang: str, settings: DistillSettings) -> None:
        self.counts: Counter[str] = Counter()
        self.lengths = array("i")
        self._starts = array("q", [0])
        self._paragraphs = array("q", [0])
        self._stream = stream
        self._lang = lang
        self._settings = settings
        self._in_paragraph = 0  # words
        self._rare = 0

    @property
    def full(self) -> bool:
        return len(self.lengths) >= self._settings.max_sentences

    def end_paragraph(self) -> None:
        """End the current paragraph."""
        if len(self.lengths) > self._paragraphs[-1]:
            self._paragraphs.append(len(self.lengths))
        self._in_paragraph = 0

    def add(self, sentences: Sequence[Sequence[str]]) -> None:
        pieces = [
            words[i : i + LONGEST_SENTENCE] for words in sentences for i in range(0, len(words), LONGEST_SENTENCE)
        ]
        for words in pieces[: self._settings.max_sentences - len(self.lengths)]:
            if self._in_paragraph + len(words) > LONGEST_PARAGRAPH:
                self.end_paragraph()
            self._in_paragraph += len(words)
            line = " ".join(words)
            data = line.encode("utf-8") + b"\n"
            self._stream.write(data)
            self._starts.append(self._starts[-1] + len(data))
            self.lengths.append(len(words))
            self.counts.update((lower_case(line, self._lang) if self._settings.lower else line).split(" "))
        while len(self.counts) > _MOST_TYPES:
            self._rare += 1
            self.counts = Counter({word: count for word, count in self.counts.items() if count > self._rare})

    def bounds(self) -> dict[str, npt.NDArray[Any]]:
        self.end_paragraph()
        return {
            "starts": np.array(self._starts, dtype=np.int64),
            "lengths": np.array(self.lengths, dtype=np.int32),
            "paragraphs": np.array(self._paragraphs, dtype=np.int64),
        }


def _vocabulary(counts: Counter[str], settings: DistillSettings, where: str) -> list[str]:
    frequent = [word for word, count in counts.items() if count >= settings.min_count]
    frequent.sort(key=lambda word: (-counts[word], word))
    if len(frequent) < 2:
        raise InputError(
            f"no vocabulary: fewer than two words occur at least {settings.min_count} times in the chosen sentences",
            where=where,
            remedy="add more text, or lower `min_count`",
        )
    return frequent[: settings.max_words]
