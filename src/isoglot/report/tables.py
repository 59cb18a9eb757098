"""Small HTML tables; everything in them is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

#: Head and rows, as texts.
Table = tuple[list[str], list[list[str]]]


def escape(value: object) -> str:
    """Text that is safe inside an element or an attribute.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(str(value), quote=True)


def percent(share: float) -> str:
    """One decimal, as papers print it.

    >>> percent(0.5134)
    '51.3'
    """
    return f"{100 * share:.1f}"


def decimals(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash where there is none.

    >>> decimals(0.51344), decimals(None)
    ('0.513', '-')
    """
    return "-" if value is None else f"{value:.{digits}f}"


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Iterable[int] = (), caption: str = ""
) -> str:
    """A table in a frame that scrolls sideways on narrow screens. `numeric`: columns set flush right.

    >>> table(["word", "n"], [["<i>", 3]], numeric=[1]).count("&lt;i&gt;")
    1
    """
    right = set(numeric)
    marks = ['class="number"' if column in right else 'dir="auto"' for column in range(len(head))]
    titles = "".join(f'<th scope="col" {mark}>{escape(title)}</th>' for mark, title in zip(marks, head, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {mark}>{escape(cell)}</td>" for mark, cell in zip(marks, row, strict=True)) + "</tr>"
        for row in rows
    )
    label = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="scroll"><table>{label}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'
