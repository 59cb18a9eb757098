"""Finding data by what the user names: a path, or an entry of the data catalogue such as "vectors/fr"."""

from __future__ import annotations

import os
import re
from pathlib import Path

from isoglot.errors import ConfigError, InputError
from isoglot.plugins import late
from isoglot.progress import Progress, silent
from isoglot.suggest import nearest

_ENTRY = re.compile(r"[a-z]+/[\w.-]+")
#: How many names of a folder are compared with a mistyped one.
_MOST_NAMES = 10_000


def locate(name: str | Path, kind: str, progress: Progress = silent) -> tuple[Path, tuple[str, ...]]:
    """The path, and the languages that the catalogue gives for it; an entry of the catalogue is fetched.

    An existing path comes first. A name that is neither is an error that suggests the nearest file or entry; so is an
    entry of another kind than `kind` ("vectors", "lexicon").
    """
    path = Path(name).expanduser()
    try:
        if path.exists():
            return path, ()
    except (OSError, ValueError) as error:  # a name that is too long, or holds a zero byte
        raise InputError(f"cannot be read ({error})", where=str(name)) from error
    entry_name = str(name) if _ENTRY.fullmatch(str(name)) else ""
    if entry_name and late("isoglot.catalogue:has_entry")(entry_name):
        entry = late("isoglot.catalogue:entry")(entry_name)
        if entry.kind != kind:
            raise ConfigError(f"holds data of kind {entry.kind!r}, not {kind!r}", where=f"catalogue: {entry_name}")
        return late("isoglot.catalogue:fetch")(entry, progress), entry.languages
    raise InputError("no such file", where=str(name), remedy=_remedy(path, entry_name))


def _remedy(path: Path, entry_name: str) -> str:
    try:
        names = sorted(os.listdir(path.parent))[:_MOST_NAMES]
    except OSError:
        names = []
    if near := nearest(path.name, names):
        return f"did you mean {near!r}?"
    if entry_name and (near := nearest(entry_name, [one.name for one in late("isoglot.catalogue:entries")()])):
        return f"the catalogue has {near!r} (see `isoglot data list`)"
    return "check the path; `isoglot data list` shows data that can be fetched"
