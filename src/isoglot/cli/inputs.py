"""How arguments become Spaces and Lexicons: files, or names of the data catalogue."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot import catalogue
from isoglot.aligners import aligner
from isoglot.aligners.base import Aligner
from isoglot.aligners.table import read_settings
from isoglot.cli.console import notes
from isoglot.errors import ConfigError, InputError
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress
from isoglot.spaces import Space
from isoglot.spaces.load import load_space

__all__ = ["check_different", "guess_language", "named_text", "open_lexicon", "open_space", "parse_aligner"]


def guess_language(name: str) -> str:
    """A language code in a file name such as `wiki.fr.vec`, `cc.de.300.bin` or `vectors-en.txt`, else "".

    >>> guess_language("data/cc.fr.300.vec.gz"), guess_language("embeddings.txt")
    ('fr', '')
    """
    parts = re.split(r"[._\- ]", Path(name).name.lower())
    return next((part for part in parts if part in _LANGUAGES), "")


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
    space = load_space(path, lang=lang or guess_language(text), limit=limit, progress=progress)
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
    lexicon = Lexicon.load(path, *languages)
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
    chosen = aligner(name, settings)
    chosen.check_extras()
    return chosen


def _in_catalogue(text: str) -> bool:
    return catalogue.has_entry(text)


def _remedy(text: str) -> str:
    near = difflib.get_close_matches(text, [entry.name for entry in catalogue.entries()], n=1)
    if near:
        return f"the catalogue has {near[0]!r} (see `isoglot data list`)"
    return "check the path; `isoglot data list` names data that can be fetched"


#: ISO 639-1, to recognise a code in a file name.
_LANGUAGES = frozenset(
    "aa ab af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng "
    "nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su "
    "sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu".split()
)
