"""Texts of other kinds than the one an encoder was aligned on: is what it learned true of them too?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from isoglot import catalogue
from isoglot.errors import InputError, OfflineError
from isoglot.reproductions.density.table1 import shuffled
from isoglot.text import ParallelText

#: Tatoeba's files have languages of three letters.
CODES = {"cs": "ces", "de": "deu", "es": "spa", "fi": "fin", "fr": "fra", "it": "ita", "ru": "rus", "tr": "tur"}


def help_text(lang: str, lines: int, seed: int, tell: Callable[[str], None]) -> ParallelText | None:
    """So many paragraphs of LibreOffice's help; None, which is told, where they cannot be had."""
    name = f"parallel/en-{lang}-help"
    if not catalogue.has_entry(name):
        tell(f"{lang}: LibreOffice's help has no such language, not tested on it")
        return None
    try:
        return shuffled(catalogue.load_parallel(lang, "en", name=name), lines, seed)
    except OfflineError as error:
        tell(f"{lang}: not tested on LibreOffice's help ({error})")
        return None


def tatoeba_text(folder: Path, lang: str, tell: Callable[[str], None]) -> ParallelText | None:
    """The sentences of tatoeba.deu-eng.deu and the like; None, which is told, where the folder has none."""
    if not folder.is_dir():
        raise InputError("no such folder", where=str(folder), remedy="name the folder of Tatoeba's files")
    code = CODES.get(lang, lang)
    stem = folder / f"tatoeba.{code}-eng"
    if not Path(f"{stem}.{code}").is_file():
        tell(f"{lang}: no {stem.name}.{code} in {folder}, not tested on Tatoeba")
        return None
    return ParallelText.load(f"{stem}.{code}", f"{stem}.eng", lang, "en")
