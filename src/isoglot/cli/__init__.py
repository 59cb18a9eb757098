"""The command line: parses, calls, prints. One command, or one family of commands, a file."""

from __future__ import annotations

import difflib
import re
import sys
import traceback
from typing import Any, cast

import typer

from isoglot.cli.app import app
from isoglot.cli.outputs import release_outputs
from isoglot.cli.renamed import OPTIONS
from isoglot.cli.streams import discard, open_streams
from isoglot.errors import IsoglotError
from isoglot.printable import printable
from isoglot.suggest import hint, nearest

__all__ = ["app", "main"]

# Click's own base class: by its version, typer has click beside it or inside.
_ClickException = cast(type[Exception], typer.BadParameter.__mro__[2])

#: Parsers of nested text, which recurse as deep as their input.
_PARSERS = {"ast", "json", "tomllib"}


def main() -> None:
    """Entry point. Bad input is one line on standard error and exit code 2, never a traceback."""
    open_streams()
    code = _run()
    try:
        sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            code = code or _fail_with(error)
    sys.exit(code)


def _run() -> int:
    """Run the command; returns the exit code."""
    try:
        code = app(prog_name="isoglot", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except IsoglotError as error:
        return _fail(str(error), 2)
    except _ClickException as error:
        return _misused(error)
    except SystemExit as error:
        # The reader (head, less) has gone: not an error, but typer and rich make one of it.
        if isinstance(error.__context__, BrokenPipeError):
            return 0
        raise
    except BrokenPipeError:
        return 0
    except OSError as error:
        return _fail_with(error)
    except UnicodeEncodeError as error:
        # Bytes in arguments and names that are no text, or that the encoding of this system lacks.
        before, after = error.object[: error.start].split("\n")[-1], error.object[error.start :].split("\n")[0]
        text = (before[-40:] + after[:40]).strip()
        return _fail(f"cannot be encoded as {error.encoding}: {text}; use names that are valid UTF-8", 2)
    except RecursionError as error:
        parser = _innermost_module(error)
        if parser not in _PARSERS:
            raise
        return _fail(f"a file is nested too deeply to be read ({parser})", 2)
    except MemoryError:
        return _fail("out of memory; try --limit with fewer words", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 130)
    finally:
        release_outputs()


def _misused(error: Any) -> int:
    """Arguments that do not fit the command: what is wrong, and where to look."""
    if type(error).__name__ == "NoArgsIsHelpError":  # help has been printed
        return int(error.exit_code)
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "isoglot")
    if type(error).__name__ == "NoSuchOption" and context is not None:
        name = command.removeprefix("isoglot ")
        return _fail(f"{name} has no option {error.option_name}; {_nearest_option(error.option_name, context)}", 2)
    message = re.sub(r"\s*\n\s*", " ", error.format_message()).replace("Value error, ", "").rstrip(".")
    choice = re.search(r"'([^']*)' is not one of (.+)", message)
    if choice is not None:
        choices = re.findall(r"'([^']*)'", choice[2])
        return _fail(f"{message[: choice.start()]}{choice[1]!r} is no choice; {hint(choice[1], choices)}", 2)
    return _fail(f"{message}; see: {command} --help", int(error.exit_code))


def _nearest_option(name: str, context: Any) -> str:
    options = [option for one in context.command.params for option in (*one.opts, *one.secondary_opts)]
    renamed = [words for words in OPTIONS.get(name, ()) if _takes(words, options)]
    if renamed:
        return f"use {' or '.join(renamed)}"
    near = nearest(name, [option for option in options if option.startswith("--")])
    if near is not None and difflib.SequenceMatcher(None, name, near).ratio() < 0.7:
        near = None  # "--" is in all of them, so that short ones look alike
    return f"did you mean {near}?" if near else f"see: {context.command_path} --help"


def _takes(words: str, options: list[str]) -> bool:
    """Whether a command with these options takes what the words name: an option, or files named by language."""
    return words.split()[0] in options or not words.startswith("-")


def _innermost_module(error: BaseException) -> str:
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _fail_with(error: OSError) -> int:
    where = f"{error.filename}: " if error.filename else ""
    return _fail(f"{where}{error.strerror or error}", 2)


def _fail(line: str, code: int) -> int:
    sys.stderr.write(f"isoglot: {printable(line)}\n")
    return code
