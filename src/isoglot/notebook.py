"""How objects show themselves in a notebook: one small table, everything in it escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from isoglot.printable import printable


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for `_repr_html_`.

    >>> html_table("two", ["word"], [["<b>"]])
    '<table><caption>two</caption><thead><tr><th>word</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """

    def cells(tag: str, row: Sequence[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(printable(str(cell)))}</{tag}>" for cell in row) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    return (
        f"<table><caption>{html.escape(printable(caption))}</caption>"
        f"<thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"
    )
