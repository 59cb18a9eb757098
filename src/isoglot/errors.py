"""Errors that a user can act on: what happened, where, and what to do.

Everything the toolkit raises on bad input is an `IsoglotError`. The command line prints it as one
line and exits with code 2; a traceback is therefore always a bug in Isoglot.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from isoglot.installation import install_command
from isoglot.printable import printable

#: Longer messages are cut in the middle: what they quote may be as long as a file.
_LONGEST = 1000


class IsoglotError(Exception):
    """Base class. `where` is a file, `file:line` or argument; `remedy` says what to do next.

    >>> print(IsoglotError("no vectors found", where="fr.vec:3", remedy="check the download"))
    fr.vec:3: no vectors found; check the download
    """

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        # Other libraries' messages may take several lines.
        what = re.sub(r"\s*\n\s*", " ", what)
        text = f"{where}: {what}" if where else what
        if remedy:
            text = f"{text}; {remedy}"
        # One line, always: messages quote names and file content, which may hold newlines or control characters.
        super().__init__(_shortened(printable(text)))


def _shortened(text: str) -> str:
    half = (_LONGEST - 5) // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"


class InputError(IsoglotError):
    """An argument or a file that the caller named cannot be used."""


class FormatError(InputError):
    """A file's content does not follow its format."""


class LexiconError(InputError):
    """A dictionary cannot be used with these spaces."""


class ShapeError(InputError):
    """Matrices or spaces whose shapes do not fit together."""


class ConfigError(InputError):
    """An unknown option, method or value."""


@contextlib.contextmanager
def locating(where: str) -> Iterator[None]:
    """Make errors about values that were read from a file name that file.

    >>> with locating("recipe.toml"):
    ...     raise ConfigError("must be at least 1, not 0", where="batch")
    Traceback (most recent call last):
        ...
    isoglot.errors.ConfigError: recipe.toml: batch: must be at least 1, not 0
    """
    try:
        yield
    except InputError as error:
        if error.where is not None and error.where.startswith(where):
            raise
        place = where if error.where is None else f"{where}: {error.where}"
        raise type(error)(error.what, where=place, remedy=error.remedy) from error


class OfflineError(IsoglotError):
    """A public source cannot be reached from this machine."""


class DownloadError(IsoglotError):
    """A download arrived, but has the wrong content."""


class MissingExtraError(IsoglotError):
    """An optional dependency that is needed here is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}", remedy=f"install it with: {install_command(extra)}")
