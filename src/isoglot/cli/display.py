"""How the command in progress shows its work: what --quiet, --verbose, --csv and --latex ask for."""

from __future__ import annotations

import logging
import sys
from typing import Literal

from isoglot.errors import ConfigError

log = logging.getLogger("isoglot")

#: How tables are printed.
tables: Literal["text", "csv", "latex"] = "text"


def configure(*, quiet: bool, verbose: bool, json: bool = False, csv: bool = False, latex: bool = False) -> None:
    """Begin a command; raise for options that exclude each other."""
    global tables
    for exclusive in ({"--quiet": quiet, "--verbose": verbose}, {"--json": json, "--csv": csv, "--latex": latex}):
        given = [name for name, value in exclusive.items() if value]
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)} exclude each other", remedy="give one of them")
    tables = "csv" if csv else "latex" if latex else "text"
    log.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)
    if not any(isinstance(handler, _Lines) for handler in log.handlers):
        log.addHandler(_Lines())
        log.propagate = False


def is_quiet() -> bool:
    return log.getEffectiveLevel() > logging.INFO


class _Lines(logging.Handler):
    """One line per message on standard error, whatever stream that is at the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(record.getMessage() + "\n")
