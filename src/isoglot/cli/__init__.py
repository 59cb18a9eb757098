"""The command line: parses, calls, prints. One command, or one family of commands, a file."""

from __future__ import annotations

import os
import sys

from isoglot.cli.app import app
from isoglot.errors import IsoglotError

__all__ = ["app", "main"]


def main() -> None:
    """Entry point. Bad input is one line on standard error and exit code 2, never a traceback."""
    try:
        app()
    except IsoglotError as error:
        _fail(str(error), 2)
    except BrokenPipeError:
        # The reader (head, less) has gone: not an error. Keep Python from complaining once more on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 2)
    except MemoryError:
        _fail("out of memory; try --limit with fewer words", 2)
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _fail(line: str, code: int) -> None:
    sys.stderr.write(f"isoglot: {line}\n")
    sys.exit(code)
