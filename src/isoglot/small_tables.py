"""Small tables for reprs: as plain text, and as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence

from isoglot.printable import printable


def text_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Collection[int] = ()) -> str:
    """Aligned columns; those in `numeric` are right-aligned.

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


def html_table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Collection[int] = ()
) -> str:
    """A table for `_repr_html_`, with everything escaped; columns in `numeric` are right-aligned.

    >>> html_table("two", ["word"], [["<i>"]]).count("&lt;i&gt;")
    1
    """
    marks = [' style="text-align:right"' if column in numeric else "" for column in range(len(head))]

    def line(tag: str, cells: Sequence[object]) -> str:
        shown = (html.escape(printable(str(cell))) for cell in cells)
        return f"<tr>{''.join(f'<{tag}{m}>{cell}</{tag}>' for m, cell in zip(marks, shown, strict=True))}</tr>"

    body = "".join(line("td", row) for row in rows)
    title = f"<caption>{html.escape(printable(caption))}</caption>" if caption else ""
    return f"<table>{title}<thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"
