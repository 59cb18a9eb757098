"""Messages of the library in the words of the command line: `held_out` is --held-out to who runs a command."""

from __future__ import annotations

import re
from typing import Any

#: Parameters whose option has another name.
_SYNONYMS = {
    "most_pairs": "pairs",
    "seeds": "pairs",
    "fold_case": "lower",
    "train": "lexicon",
    "lexicons": "lexicon",
    "texts": "text",
    "tests": "test",
    "dictionary_from": "from_vectors",
}

#: What Python fetches under a licence that has to be accepted: `isoglot data get` does the same.
_FETCH = re.compile(r"isoglot\.catalogue\.fetch\('([^']+)', accept_licence='([^']+)'\)")

#: Of the command in progress; typer brings its own copy of click, and so its own "current context".
_running: Any = None


def remember(context: Any) -> None:
    """This command runs now: messages are for who called it."""
    global _running
    _running = context


def in_options(text: str) -> str:
    """The text with each `` `name` `` as the option of the command in progress, or else without backticks.

    >>> in_options("run once: isoglot.catalogue.fetch('vectors/tr', accept_licence='agpl-3.0')")
    'run once: isoglot data get vectors/tr --accept-licence agpl-3.0'
    """
    text = _FETCH.sub(r"isoglot data get \1 --accept-licence \2", text)
    return re.sub(r"`([a-z][a-z0-9_]*)`", lambda found: _option_for(found[1]) or found[1], text)


def option_name(parameter: Any, value: Any = None) -> str:
    """As the user would write it: the long form of the option, or of an argument its name in the help."""
    if not parameter.opts[0].startswith("-"):
        return str(getattr(parameter, "metavar", None) or parameter.name.upper())
    if value is False and parameter.secondary_opts:
        return str(parameter.secondary_opts[0])
    return str(max(parameter.opts, key=len))


def _option_for(name: str) -> str | None:
    """The option whose parameter has this name, that is called so, or that is called by another name here."""
    parameters = _running.command.params if _running is not None else []
    for wanted in (name, _SYNONYMS.get(name)):
        for parameter in parameters:
            if wanted is not None and (parameter.name == wanted or f"--{wanted.replace('_', '-')}" in parameter.opts):
                return option_name(parameter)
    return None
