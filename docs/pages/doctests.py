"""An extension of griffe, which reads docstrings for mkdocstrings: examples in them are code, not prose."""

from __future__ import annotations

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Put a fence around each doctest that stands in a docstring without a section of its own."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring whose examples are blocks of code; an example ends where a line is blank.

    >>> fenced("Add.\\n\\n>>> 1 + 1\\n2\\n\\nThat is all.")
    'Add.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nThat is all.'
    """
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.startswith(">>> "):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines[:-1])
