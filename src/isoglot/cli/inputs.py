"""How arguments become Spaces and Lexicons: files, or names of the data catalogue."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from isoglot.aligned import Aligned
from isoglot.aligners import Aligner, aligner, read_settings
from isoglot.assignments import language_and_name, language_file, split_method
from isoglot.cli.console import notes
from isoglot.errors import ConfigError, InputError
from isoglot.languages import guess_pair
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress
from isoglot.spaces import Space
from isoglot.text import check_segmenters
from isoglot.wordvectors import TextFile


def check_different(names: Sequence[str]) -> None:
    """Raise if a file is given twice: a language aligned with itself looks perfect."""
    for i, name in enumerate(names):
        for other in names[:i]:
            same = Path(name).exists() and Path(other).exists() and Path(name).samefile(other)
            if name == other or same:
                raise ConfigError("is given twice, as two languages", where=name, remedy="name another file")


def open_space(text: str, *, lang: str | None, limit: int | None, lower: bool, progress: Progress) -> Space:
    """A file of vectors, or a catalogue name such as `vectors/fr`; repairs are told on standard error."""
    space = Space.load(text, lang=lang or None, limit=limit, progress=progress)
    if space.report is not None:
        notes(space.report.notes(), Path(space.source or text).name)
    if not len(space):
        raise InputError("holds no vectors", where=text)
    return space.fold_case() if lower else space


def open_lexicon(text: str, *, lower: bool, progress: Progress, languages: tuple[str, str] = ("", "")) -> Lexicon:
    """A file of pairs, or a catalogue name such as `lexicon/en-fr`."""
    lexicon = Lexicon.load(text, *(languages if any(languages) else guess_pair(text)), progress=progress)
    if lexicon.report is not None:
        notes(lexicon.report.notes(), Path(lexicon.source or text).name)
    return lexicon.fold_case() if lower else lexicon


def parse_aligner(
    name: str, assignments: Sequence[str], *, seed: int, normalise: str | None, match_dimensions: bool
) -> Aligner:
    """The method, as NAME or NAME,key=value, with its settings; values are read by the setting's own type."""
    name, more = split_method(name)
    assignments = [*more, *assignments]
    settings: dict[str, Any] = {"seed": seed}
    if normalise is not None:
        settings["normalise"] = normalise
    if match_dimensions:
        settings["match_dimensions"] = True
    settings.update(read_settings(name, assignments))
    chosen = aligner(name, **settings)
    chosen.check_extras()
    return chosen


def open_lexicons(
    texts: Sequence[str],
    languages: Sequence[str],
    *,
    lower: bool,
    progress: Progress,
    pivot: str | None = None,
    named: bool = True,
) -> dict[tuple[str, str], Lexicon]:
    """Lexicons given as `en-fr=FILE`, by their languages; of two languages that need not be `named` also as FILE."""
    lexicons: dict[tuple[str, str], Lexicon] = {}
    for text in texts:
        label, equals, file = text.partition("=")
        if not named and len(languages) == 2 and (not equals or Path(text).exists()):
            (source, target), file = languages, text
        else:
            source, target = two_languages(label, languages) if equals else ("", "")
            strange = named and not {source, target} <= set(languages)
            if not target or strange or (pivot is not None and pivot not in (source, target)):
                first = pivot or languages[0]
                pairs = [f"{first}-{other}" for other in languages if other != first]
                raise ConfigError(
                    f"a lexicon is named as {pairs[0]}=FILE, not {text!r}", remedy=f"the pairs are: {', '.join(pairs)}"
                )
        if (source, target) in lexicons or (target, source) in lexicons:
            raise ConfigError(f"two lexicons for {source} and {target}", remedy="join the files")
        lexicons[source, target] = open_lexicon(file, lower=lower, progress=progress, languages=(source, target))
    return lexicons


def two_languages(label: str, languages: Sequence[str]) -> tuple[str, str]:
    """`zh-Hant-en` is zh-Hant and en if these are the languages."""
    splits = [(label[:i], label[i + 1 :]) for i, letter in enumerate(label) if letter == "-"]
    known = [split for split in splits if split[0] in languages and split[1] in languages]
    return next(iter([*known, *splits]), (label, ""))


def read_texts(texts: Sequence[str], encoding: str | None) -> list[TextFile]:
    """`fr=presse.txt`, or files whose names tell the language, such as `news.fr.txt`; one for each language."""
    files: dict[str, TextFile] = {}
    for text in texts:
        lang, path = language_file(text)
        if path.is_dir():
            raise InputError("is a folder, not a text", where=str(path))
        if not path.is_file():
            raise InputError(
                "is not a file on disk, and text is read twice", where=str(path), remedy="write it to a file first"
            )
        if lang in files:
            remedy = "name them as en=FILE fr=FILE, or put both texts of a language into one file"
            raise ConfigError(f"two texts are named {lang!r}", remedy=remedy)
        files[lang] = TextFile(lang, path, encoding)
    return list(files.values())


@contextlib.contextmanager
def aligned_folder(folder: Path) -> Iterator[Aligned]:
    """An aligned folder; what was found out about its neighbourhoods is kept there for the next time."""
    aligned = Aligned.load(folder)
    known_means = set(aligned.means)
    yield aligned
    if set(aligned.means) != known_means:
        aligned.save_means(folder)


def only(values: Sequence[str] | None, option: str) -> str | None:
    """The value of an option that may be repeated elsewhere but not here."""
    if values and len(values) > 1:
        raise ConfigError(f"{option} is given {len(values)} times", remedy="give it once")
    return values[0] if values else None


def join_segmenters(names: Sequence[str] | None, default: str, languages: Sequence[str]) -> str:
    """The segmenters of `--segmenter icu --segmenter zh=jieba` as the library takes them; checked before any work."""
    parts = list(names or [])
    if all("=" in part for part in parts) and len(parts) < len(set(languages)):
        parts.insert(0, default)
    check_segmenters(",".join(parts), list(dict.fromkeys(languages)))
    return ",".join(parts)


def open_pair(files: Sequence[str], *, limit: int | None, lower: bool, progress: Progress) -> tuple[Space, Space]:
    """The two files of vectors that a command takes, as FILE or LANG=FILE."""
    if len(files) != 2:
        raise ConfigError(f"give two files of vectors, not {len(files)}", remedy="see --help for examples")
    sides = [language_and_name(file) for file in files]
    check_different([name for _, name in sides])
    source, target = (open_space(name, lang=lang, limit=limit, lower=lower, progress=progress) for lang, name in sides)
    return source, target


def whole_epochs(epochs: float) -> int:
    """Epochs of what trains by whole passes over the text; elsewhere `--epochs` takes fractions too."""
    if not epochs.is_integer() or epochs < 1:
        raise ConfigError(f"--epochs is a whole number above 0 here, not {epochs:g}")
    return int(epochs)


def split_commas(text: str) -> list[str]:
    """The parts of a list such as `de, es,fr`."""
    return [part.strip() for part in text.split(",") if part.strip()]
