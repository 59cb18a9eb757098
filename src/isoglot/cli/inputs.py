"""How arguments become Spaces and Lexicons: files, or names of the data catalogue."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot import catalogue
from isoglot.aligners import Aligner, aligner, read_settings
from isoglot.cli.console import notes
from isoglot.errors import ConfigError, InputError
from isoglot.languages import guess_language, guess_pair
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress
from isoglot.spaces import Space, load_space

__all__ = ["check_different", "named_text", "open_lexicon", "open_space", "parse_aligner"]


def named_text(text: str) -> tuple[str, Path]:
    """Language and file of `fr=presse.txt`, or of a file whose name tells the language, such as `news.fr.txt`."""
    lang, equals, name = text.partition("=")
    if not equals or Path(text).exists():
        lang, name = guess_language(text), text
    path = Path(name)
    if not path.exists():
        raise InputError("no such file", where=name, remedy="check the path")
    if not lang:
        raise ConfigError("the file's name tells no language", where=name, remedy=f"name it: en={name}")
    return lang, path


def check_different(names: Sequence[str]) -> None:
    """Raise if a file is given twice: a language aligned with itself looks perfect."""
    for i, name in enumerate(names):
        for other in names[:i]:
            same = Path(name).exists() and Path(other).exists() and Path(name).samefile(other)
            if name == other or same:
                raise ConfigError("is given twice, as two languages", where=name, remedy="name another file")


def open_space(text: str, *, lang: str | None, limit: int | None, fold_case: bool, progress: Progress) -> Space:
    """A file of vectors, or a catalogue name such as `vectors/fr`; repairs are told on standard error."""
    path = Path(text)
    if not path.exists() and _in_catalogue(text):
        path = catalogue.fetch(text, progress)
        lang = lang or catalogue.entry(text).languages[0]
    if not path.exists():
        raise InputError("no such file", where=text, remedy=_remedy(text))
    space = load_space(path, lang=lang or None, limit=limit, progress=progress)
    if space.report is not None:
        notes(space.report.notes(), path.name)
    if not len(space):
        raise InputError("holds no vectors", where=text)
    return space.fold_case() if fold_case else space


def open_lexicon(text: str, *, fold_case: bool, progress: Progress, languages: tuple[str, str] = ("", "")) -> Lexicon:
    """A file of pairs, or a catalogue name such as `lexicon/en-fr`."""
    path = Path(text)
    if not path.exists() and _in_catalogue(text):
        path = catalogue.fetch(text, progress)
    if not path.exists():
        raise InputError("no such file", where=text, remedy=_remedy(text))
    lexicon = Lexicon.load(path, *(languages if any(languages) else guess_pair(text)))
    if lexicon.report is not None:
        notes(lexicon.report.notes(), path.name)
    return lexicon.fold_case() if fold_case else lexicon


def parse_aligner(
    name: str, assignments: Sequence[str], *, seed: int, normalise: str | None, match_dimensions: bool
) -> Aligner:
    """The method with its settings, given as `key=value`; values are read by the setting's own type."""
    settings: dict[str, Any] = {"seed": seed}
    if normalise is not None:
        settings["normalise"] = normalise
    if match_dimensions:
        settings["match_dimensions"] = True
    settings.update(read_settings(name, assignments))
    chosen = aligner(name, **settings)
    chosen.check_extras()
    return chosen


def _in_catalogue(text: str) -> bool:
    return catalogue.has_entry(text)


def _remedy(text: str) -> str:
    near = difflib.get_close_matches(text, [entry.name for entry in catalogue.entries()], n=1)
    if near:
        return f"the catalogue has {near[0]!r} (see `isoglot data list`)"
    return "check the path; `isoglot data list` names data that can be fetched"
