"""Small tables for reprs: as plain text, and as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence

from isoglot.printable import printable


def text_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Collection[int] = ()) -> str:
    """Columns of equal width; those in `numeric` are set flush right.

    >>> print(text_table(["metric", "value"], [["P@1", "0.5"], ["MRR", "0.62"]], numeric=[1]))
    metric  value
    P@1       0.5
    MRR      0.62
    """
    lines = [list(head), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in numeric else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Collection[int] = ()) -> str:
    """A bare table, everything in it escaped.

    >>> html_table(["word"], [["<i>"]]).count("&lt;i&gt;")
    1
    """
    marks = [' style="text-align:right"' if column in numeric else ' dir="auto"' for column in range(len(head))]

    def line(tag: str, cells: Sequence[object]) -> str:
        inside = (f"<{tag}{mark}>{html.escape(str(c))}</{tag}>" for mark, c in zip(marks, cells, strict=True))
        return f"<tr>{''.join(inside)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"
