"""`Corpus`: the text of one or more languages as numbers on disk, ready to train on.

    FOLDER/corpus.json       languages, files, settings, line and word totals
    FOLDER/words.tsv         one word a line with its count in each language, most frequent first
    FOLDER/tokens.i32        all running words of the vocabulary as row numbers, language after language
    FOLDER/starts.i64        where each line begins

Text is read twice, a block at a time; tokens are memory-mapped afterwards, so a corpus may be larger than memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligned import check_name
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.folders import FolderKind
from isoglot.opening import check_regular, read_whole
from isoglot.progress import Progress, silent
from isoglot.settings import check_settings
from isoglot.spaces import IntVector
from isoglot.text import lower_case, read_text, segmenter

#: Longer lines are cut into pieces of this many words, as fastText does.
LONGEST_LINE = 1024

_KIND = FolderKind("isoglot-corpus", "a corpus", "`isoglot joint train`", manifest="corpus.json")
#: While counting, rare words are forgotten beyond this many types, so that a web crawl does not fill the memory.
_MOST_TYPES = 20_000_000
_BLOCK = 1 << 22


@dataclasses.dataclass(frozen=True)
class TextFile:
    """One language's text: a file with one sentence a line, plain or compressed."""

    lang: str
    path: Path
    encoding: str | None = None

    def __post_init__(self) -> None:
        check_name(self.lang)

    def facts(self) -> dict[str, Any]:
        """What tells this file from another without reading it."""
        status = self.path.stat()
        facts = {"lang": self.lang, "name": self.path.name, "size": status.st_size, "changed": status.st_mtime_ns}
        return {**facts, "encoding": self.encoding}


@dataclasses.dataclass(frozen=True)
class CorpusSettings:
    """How text becomes a vocabulary.

    Args:
        min_count: words that occur less often, over all languages together (with `apart`: in theirs), are left out.
        max_words: only so many of each language's most frequent words are kept.
        lines_of: every language is brought to as many lines as this one has, by leaving lines out or repeating them;
            None leaves all as they are. Wang et al. bring the source to the target's number.
        apart: give every language rows of its own, also for words spelled alike (supervised joint training).
        segmenter: how lines are split into words: see `isoglot.text.segmenter`.
        lower: lower-case everything.
        seed: for the choice of lines.
    """

    min_count: int = 5
    max_words: int = 200_000
    lines_of: str | None = None
    apart: bool = False
    segmenter: str = "spaces"
    lower: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self, {"min_count": "[1, inf)", "max_words": "[1, inf)"})


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """Text as row numbers.

    Args:
        langs: L language codes.
        words: V distinct words; with `apart` the same spelling may stand there once a language.
        counts: (V, L) how often each word occurs in each language, after lines were brought to equal numbers.
        tokens: running words as rows of `words`.
        starts: line i is tokens[starts[i]:starts[i + 1]]; longer lines of the text were cut to `LONGEST_LINE` words.
        lines: for each language, the lines to train on; a line may be left out or stand there several times.
        facts: of the files and settings, kept with the corpus.
    """

    langs: tuple[str, ...]
    words: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int32]
    starts: IntVector
    lines: tuple[IntVector, ...]
    facts: dict[str, Any]

    @cached_property
    def total(self) -> int:
        """Running words of one epoch."""
        return int(self.counts.sum())

    @classmethod
    def build(
        cls,
        texts: Sequence[TextFile],
        folder: str | Path,
        settings: CorpusSettings | None = None,
        *,
        progress: Progress = silent,
    ) -> Corpus:
        """Read the texts and write the folder, or reopen it if the same texts and settings made it."""
        settings = settings or CorpusSettings()
        folder = Path(folder)
        langs = [text.lang for text in texts]
        if len(set(langs)) < len(langs) or not langs:
            raise ConfigError(f"each text needs a language of its own, not {', '.join(langs)}")
        if settings.lines_of is not None and settings.lines_of not in langs:
            raise ConfigError(f"there is no text of {settings.lines_of!r}", remedy=f"choose among {', '.join(langs)}")
        facts: dict[str, Any] = {"texts": [text.facts() for text in texts], "settings": dataclasses.asdict(settings)}
        with contextlib.suppress(InputError):  # what is damaged is made again
            found = cls.load(folder)
            if all(found.facts.get(key) == value for key, value in facts.items()):
                return found
        counts = [_count(text, settings, progress) for text in texts]
        rows, words = _vocabulary(counts, settings)
        with _KIND.replacing(folder) as temporary:
            line_totals = _encode(texts, rows, settings, temporary, progress)
            lines = _chosen_lines(langs, line_totals, settings)
            tokens, starts = _mapped(temporary)
            table = np.stack([_weighed_counts(tokens, starts, own, len(words)) for own in lines], axis=1)
            facts |= {"line_totals": line_totals, "types": [len(one) for one in counts]}
            facts |= {"running_words": [one.total() for one in counts]}
            _write_words(temporary / "words.tsv", words, table)
            _KIND.write_manifest(temporary, {"langs": langs, **facts})
        return cls.load(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Corpus:
        """Open what `build` wrote. All of it is checked: compiled code trusts these numbers."""
        folder = Path(folder)
        try:
            manifest = _KIND.read(folder)
            langs = tuple(manifest.names("langs", least=1))
            content = dict(manifest.content)
            rows = [line.split("\t") for line in read_whole(folder / "words.tsv").decode("utf-8").split("\n")[:-1]]
            counts = np.array([[int(count) for count in row[1:]] for row in rows], dtype=np.int64)
            tokens, starts = _mapped(folder)
            settings = CorpusSettings(**content["settings"])
            if len(starts) != sum(content["line_totals"]) + 1 or starts[-1] != len(tokens):
                raise ValueError("files do not fit together")
            if len(content["line_totals"]) != len(langs) or min(content["line_totals"]) < 1:
                raise ValueError("line_totals does not fit the languages")
            _check_numbers(folder, counts, tokens, starts, languages=len(langs))
            lines = _chosen_lines(langs, content["line_totals"], settings)
            for name in ("words.tsv", "tokens.i32", "starts.i64"):
                manifest.file(name)  # last, as the checks before say more of what is wrong
            return cls(langs, tuple(row[0] for row in rows), counts, tokens, starts, lines, content)
        except (OSError, KeyError, TypeError, ValueError, OverflowError, ConfigError) as error:
            raise InputError(f"not a corpus: {error}", where=str(folder), remedy="remove it to start anew") from error


def _token_lists(text: TextFile, settings: CorpusSettings, progress: Progress) -> Iterator[list[list[str]]]:
    """Blocks of lines, each a list of words; empty lines stay."""
    split: Callable[[str], list[str]] = str.split
    if settings.segmenter != "spaces":
        split = segmenter(settings.segmenter, text.lang)
    for block in read_text(text.path, encoding=text.encoding, progress=progress):
        if settings.lower:
            block = lower_case("\n".join(block), text.lang).split("\n")
        yield [split(line) for line in block]


def _count(text: TextFile, settings: CorpusSettings, progress: Progress) -> Counter[str]:
    counts: Counter[str] = Counter()
    rare = 0
    for block in _token_lists(text, settings, progress):
        for tokens in block:
            counts.update(tokens)
        while len(counts) > _MOST_TYPES:
            rare += 1
            counts = Counter({word: count for word, count in counts.items() if count > rare})
    if not counts:
        raise InputError("holds no words", where=str(text.path))
    return counts


def _vocabulary(counts: Sequence[Counter[str]], settings: CorpusSettings) -> tuple[list[dict[str, int]], list[str]]:
    """Row of each word, a table a language, and the words in order of their rows."""
    if settings.apart:
        totals = {(i, word): n for i, own in enumerate(counts) for word, n in own.items() if n >= settings.min_count}
        kept = [{word for word, _ in own.most_common(settings.max_words)} for own in counts]
        chosen = sorted((key for key in totals if key[1] in kept[key[0]]), key=lambda key: (-totals[key], key))
        rows: list[dict[str, int]] = [{} for _ in counts]
        for row, (i, word) in enumerate(chosen):
            rows[i][word] = row
        words = [word for _, word in chosen]
    else:
        total: Counter[str] = Counter()
        for own in counts:
            total.update(own)
        frequent = {word for own in counts for word, _ in own.most_common(settings.max_words)}
        words = [word for word in frequent if total[word] >= settings.min_count]
        words.sort(key=lambda word: (-total[word], word))
        shared = {word: row for row, word in enumerate(words)}
        rows = [shared for _ in counts]
    if len(words) < 2:
        raise InputError(
            f"no vocabulary: fewer than two words occur at least {settings.min_count} times",
            remedy="give more text, or lower `min_count`",
        )
    return rows, words


def _encode(
    texts: Sequence[TextFile],
    rows: Sequence[dict[str, int]],
    settings: CorpusSettings,
    folder: Path,
    progress: Progress,
) -> list[int]:
    """Write tokens and line starts; how many lines each language has."""
    line_totals = []
    position = 0
    with (folder / "tokens.i32").open("wb") as tokens_file, (folder / "starts.i64").open("wb") as starts_file:
        for text, index in zip(texts, rows, strict=True):
            lines = 0
            for block in _token_lists(text, settings, progress):
                tokens, starts = array("i"), array("q")
                for words in block:
                    known = [index[word] for word in words if word in index]
                    # Lines without a known word teach nothing. Long ones are cut here already, so that a text without
                    # line ends has about as many lines as another of its size.
                    starts.extend(range(position + len(tokens), position + len(tokens) + len(known), LONGEST_LINE))
                    tokens.extend(known)
                position += len(tokens)
                lines += len(starts)
                tokens.tofile(tokens_file)
                starts.tofile(starts_file)
            if not lines:
                raise InputError(
                    f"none of its words occurs at least {settings.min_count} times",
                    where=str(text.path),
                    remedy="give more text, or lower `min_count`",
                )
            line_totals.append(lines)
        array("q", [position]).tofile(starts_file)
    return line_totals


def _mapped(folder: Path) -> tuple[npt.NDArray[np.int32], IntVector]:
    check_regular(folder / "tokens.i32")
    tokens = np.memmap(folder / "tokens.i32", dtype=np.int32, mode="r")
    return tokens, np.frombuffer(read_whole(folder / "starts.i64"), dtype=np.int64)


def _check_numbers(
    folder: Path, counts: npt.NDArray[np.int64], tokens: npt.NDArray[np.int32], starts: IntVector, *, languages: int
) -> None:
    problem, name = "", "tokens.i32"
    lengths = np.diff(starts)
    # Sums of counts are taken as 64-bit integers later.
    if counts.ndim != 2 or counts.shape[1] != languages or counts.min() < 0 or not 0 < counts.sum(dtype=float) < 2**62:
        problem, name = "the counts of words do not fit", "words.tsv"
    elif starts[0] != 0 or lengths.min() < 1 or lengths.max() > LONGEST_LINE:
        problem, name = "lines do not follow one another", "starts.i64"
    for begin in range(0, len(tokens), _BLOCK):
        block = tokens[begin : begin + _BLOCK]
        if not problem and (block.min() < 0 or block.max() >= len(counts)):
            problem = "a word beyond the vocabulary"
    if problem:
        raise FormatError(f"damaged: {problem}", where=str(folder / name), remedy="remove the folder to start anew")


def _chosen_lines(langs: Sequence[str], line_totals: Sequence[int], settings: CorpusSettings) -> tuple[IntVector, ...]:
    chosen = []
    begin = 0
    wanted = None if settings.lines_of is None else line_totals[list(langs).index(settings.lines_of)]
    for i, n in enumerate(line_totals):
        own = np.arange(begin, begin + n)
        if wanted is not None and wanted != n:
            # Whole copies first, then some lines once more.
            extra = np.random.default_rng([settings.seed, i]).permutation(n)[: wanted % n]
            own = np.sort(np.concatenate([np.tile(own, wanted // n), begin + extra]))
        chosen.append(own)
        begin += n
    return tuple(chosen)


def _weighed_counts(
    tokens: npt.NDArray[np.int32], starts: IntVector, lines: IntVector, words: int
) -> npt.NDArray[np.int64]:
    """How often each word occurs in these lines, repeated ones counted each time."""
    times = np.bincount(lines - lines[0])
    first, last = int(lines[0]), int(lines[0]) + len(times)
    counts = np.zeros(words, dtype=np.int64)
    for begin in range(first, last, 100_000):  # a part at a time: the tokens may not fit into memory
        end = min(begin + 100_000, last)
        weights = np.repeat(times[begin - first : end - first], np.diff(starts[begin : end + 1]))
        part = np.bincount(tokens[starts[begin] : starts[end]], weights=weights, minlength=words)
        counts += part.astype(np.int64)
    return counts


def _write_words(path: Path, words: Sequence[str], counts: npt.NDArray[np.int64]) -> None:
    lines = ("\t".join([word, *map(str, row)]) for word, row in zip(words, counts.tolist(), strict=True))
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
