"""Plain text of docstrings and help texts as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CODE = re.compile(r"(`[^`]*`)")
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)")


def prose(text: str) -> str:
    """Text in which options are set as code, and nothing is taken for HTML or emphasis.

    >>> prose("with --pivot, <name> of `a*b` and *all*")
    'with `--pivot`, &lt;name&gt; of `a*b` and \\\\*all\\\\*'
    """
    parts = _CODE.split(text)
    for number in range(0, len(parts), 2):  # the odd ones are code already
        plain = parts[number].replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*")
        parts[number] = _OPTION.sub(r"`\1`", plain)
    return "".join(parts)


def cell(text: str) -> str:
    """Text for a cell of a table: one line, no bars."""
    return " ".join(text.split()).replace("|", "\\|")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table of cells that are Markdown already.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    texts = ["| " + " | ".join(cell(text) for text in line) + " |" for line in lines]
    texts[1] = "|" + "---|" * len(header)
    return "\n".join(texts)


def code(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.strip()}\n```"
