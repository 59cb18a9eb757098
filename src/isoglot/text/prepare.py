"""`prepare`: raw text to clean sentences of words, one per line, with a report of what was dropped and why.

Everything streams: a batch of lines is normalised, split, filtered and written before the next is read. Memory holds
the counts of words and, against repeated lines, 8 bytes for each line kept; it does not grow with the text otherwise.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

from isoglot.errors import ConfigError, InputError
from isoglot.files import atomic_path
from isoglot.progress import Progress, silent
from isoglot.settings import check_settings
from isoglot.spaces import open_for_writing
from isoglot.text.duplicates import SeenLines
from isoglot.text.lines import read_text
from isoglot.text.segmenters import Segment, segmenter, sentence_splitter

#: Why a sentence is dropped, in the order in which we look.
REASONS = ("blank", "long token", "too short", "too long", "few letters", "repeated")

#: Beyond so many types, those seen once are forgotten, so that a web crawl's typing errors do not fill the memory.
_MOST_TYPES = 10_000_000
#: Soft hyphens and marks of direction are no part of a word; other controls and the zero-width space part words.
_INVISIBLE = dict.fromkeys([0xAD, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_CLEAN = {**dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x200B], " "), **_INVISIBLE}
_TO_CLEAN = re.compile(f"[{''.join(re.escape(chr(code)) for code in _CLEAN)}]")


@dataclasses.dataclass(frozen=True)
class TextSettings:
    """How raw text becomes sentences.

    Args:
        segmenter: how lines are split into words, see `isoglot.text.segmenter`.
        form: Unicode normal form. NFKC also makes full-width letters, ligatures and the like plain.
        lower: lower-case everything, as the language does it (Turkish I, Greek final sigma).
        split: split lines into sentences first.
        min_tokens, max_tokens: sentences with fewer or more words are dropped.
        max_length: sentences with a longer word, or with a longer run of ASCII without blanks, are dropped: web
            addresses, code, encoded data.
        letters: the least share of letters among a sentence's characters, blanks aside.
        dedupe: drop sentences that were there before.
    """

    segmenter: str = "icu"
    form: Literal["NFC", "NFKC"] = "NFC"
    lower: bool = True
    split: bool = False
    min_tokens: int = 2
    max_tokens: int = 1000
    max_length: int = 60
    letters: float = 0.5
    dedupe: bool = True

    def __post_init__(self) -> None:
        check_settings(self, {"form": ("NFC", "NFKC"), "letters": "[0, 1]"}, otherwise="[1, inf)")
        if self.min_tokens > self.max_tokens:
            raise ConfigError(f"min_tokens is {self.min_tokens}, more than max_tokens ({self.max_tokens})")


@dataclasses.dataclass
class TextReport:
    """What became of a text. `sentences == kept + sum(dropped.values())`; without splitting, a line is a sentence.

    `counts` holds how often each word stands in what was kept. `pruned` says that rare words were forgotten on the way,
    because there were too many: `types` is then less than the truth.
    """

    lang: str
    path: str
    lines: int = 0
    sentences: int = 0
    kept: int = 0
    dropped: dict[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    tokens: int = 0
    counts: Counter[str] = dataclasses.field(default_factory=Counter, repr=False)
    pruned: bool = False

    @property
    def types(self) -> int:
        return len(self.counts)

    def most_frequent(self, n: int = 10) -> list[tuple[str, int]]:
        """The n most frequent words with their counts; equals in the order of their letters."""
        # Not `most_common`: its order of equals is that of the text.
        least = self.counts.most_common(n)[-1][1] if self.counts and n > 0 else 0
        candidates = [item for item in self.counts.items() if item[1] >= least]
        return sorted(candidates, key=lambda item: (-item[1], item[0]))[: max(n, 0)]

    def record(self) -> dict[str, Any]:
        """For JSON: everything but the counts."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "counts"}
        return {**fields, "types": self.types, "most_frequent": [list(item) for item in self.most_frequent()]}


def prepare(
    path: Path | str,
    output: Path | str | None = None,
    *,
    lang: str = "",
    settings: TextSettings | None = None,
    encoding: str | None = None,
    progress: Progress = silent,
) -> TextReport:
    """Clean one language's text; write it to `output`, one sentence per line, words separated by one space.

    Without `output` it only looks. The file is packed if its name ends in .gz, .xz, .bz2 or .zst, and appears only when
    it is complete. A text of which nothing is left is an error.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     raw, clean = Path(folder, "raw.txt"), Path(folder, "clean.txt")
    ...     _ = raw.write_text("The Cat sleeps.\\n\\nThe cat sleeps.\\nIt purrs!\\n")
    ...     report = prepare(raw, clean, lang="en", settings=TextSettings(segmenter="spaces"))
    ...     print(clean.read_text(), end="")
    the cat sleeps.
    it purrs!
    >>> report.lines, report.kept, report.dropped["blank"], report.dropped["repeated"], report.types
    (4, 2, 1, 1, 5)
    """
    path, output = Path(path), None if output is None else Path(output)
    settings = settings or TextSettings()
    if output is not None and output.exists() and path.exists() and output.samefile(path):
        raise InputError("the output is the input", where=str(path), remedy="choose another output path")
    report = TextReport(lang, str(path))
    clean = _cleaner(settings, lang, report)
    seen = SeenLines() if settings.dedupe else None
    with _writer(output) as stream:
        for lines in read_text(path, encoding=encoding, progress=progress):
            kept = clean(lines)
            if seen is not None:
                is_new = seen.new(kept)
                report.dropped["repeated"] += len(kept) - int(is_new.sum())
                kept = [line for line, new in zip(kept, is_new.tolist(), strict=True) if new]
            _count(kept, report)
            if stream is not None:
                stream.write("".join(f"{line}\n" for line in kept).encode())
        if not report.kept:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.dropped.items() if count)
            raise InputError(
                f"no sentence is left ({reasons})",
                where=str(path),
                remedy="is this text in sentences? else change the segmenter or the limits",
            )
    return report


def lower_case(text: str, lang: str = "") -> str:
    """Lower case as the language has it.

    >>> lower_case("IŞIK", "tr"), lower_case("ISTANBUL İzmir", "en"), lower_case("ΟΔΟΣ ΣΟΦΙΑΣ", "el")
    ('ışık', 'istanbul izmir', 'οδος σοφιας')
    """
    if "I" in text and lang.lower().replace("_", "-").partition("-")[0] in ("tr", "az", "tur", "aze"):
        text = text.replace("I\u0307", "i").replace("I", "ı")
    # Python makes "i" and a loose dot of it, in sight the same as "i" but another word.
    return text.replace("İ", "i").lower()


def _cleaner(settings: TextSettings, lang: str, report: TextReport) -> Callable[[list[str]], list[str]]:
    """A function from raw lines to clean ones; it counts in `report` what it reads and drops."""
    segment = segmenter(settings.segmenter, lang)
    split = sentence_splitter(lang) if settings.split else None
    long_run = re.compile(rf"[!-~]{{{settings.max_length + 1}}}")

    def clean(lines: list[str]) -> list[str]:
        report.lines += len(lines)
        sentences = [_normalise(line, settings.form) for line in lines]
        if split is not None:
            sentences = split(sentences)
        report.sentences += len(sentences)
        kept = []
        for sentence in sentences:
            line, reason = _judge(sentence, segment, long_run, settings)
            if reason is not None:
                report.dropped[reason] += 1
                continue
            kept.append(lower_case(line, lang) if settings.lower else line)
        return kept

    return clean


def _normalise(line: str, form: Literal["NFC", "NFKC"]) -> str:
    if _TO_CLEAN.search(line):
        line = line.translate(_CLEAN)
    return line if line.isascii() else unicodedata.normalize(form, line)


def _judge(
    sentence: str, segment: Segment, long_run: re.Pattern[str], settings: TextSettings
) -> tuple[str, str | None]:
    """The sentence in words, and why to drop it, if so."""
    if not sentence or sentence.isspace():
        return "", "blank"
    # Asked of the raw sentence: a segmenter takes web addresses apart.
    if long_run.search(sentence):
        return "", "long token"
    tokens = segment(sentence)
    if len(tokens) < settings.min_tokens:
        return "", "too short" if tokens else "blank"
    if len(tokens) > settings.max_tokens:
        return "", "too long"
    if len(max(tokens, key=len)) > settings.max_length:
        return "", "long token"
    line = " ".join(tokens)
    size = len(line) - len(tokens) + 1
    return line, None if _has_letters(line, settings.letters * size) else "few letters"


def _has_letters(line: str, least: float) -> bool:
    letters = sum(map(str.isalpha, line))
    if letters >= least:
        return True
    # Vowel signs of Indic and Thai script are marks, not letters, to Unicode; they are looked up only if it matters.
    return letters + sum(unicodedata.category(char)[0] == "M" for char in line) >= least


def _count(kept: list[str], report: TextReport) -> None:
    report.kept += len(kept)
    words = " ".join(kept).split()
    report.tokens += len(words)
    counts = report.counts
    counts.update(words)
    least = 1
    while len(counts) > _MOST_TYPES:
        report.pruned = True
        for word in [word for word, count in counts.items() if count <= least]:
            del counts[word]
        least += 1


@contextlib.contextmanager
def _writer(output: Path | None) -> Iterator[IO[bytes] | None]:
    if output is None:
        yield None
        return
    if output.is_dir():
        raise InputError("is a folder, not a file", where=str(output), remedy="choose another output path")
    with atomic_path(output) as temporary, open_for_writing(temporary, output.suffix) as stream:
        yield stream
