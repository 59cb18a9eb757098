"""Small tables: as plain text and HTML for reprs and notebooks, as CSV and LaTeX for spreadsheets and papers."""

from __future__ import annotations

import csv
import html
import io
import re
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


def agreed(rows: Iterable[Sequence[object]], column: int) -> list[list[object]]:
    """Figures on which both denominators, named in this column, agree as one row of "both".

    >>> agreed([["P@1", "in-vocabulary"], ["MRR", "in-vocabulary"], ["P@1", "full"]], 1)
    [['P@1', 'both'], ['MRR', 'in-vocabulary']]
    """
    found: list[list[object]] = []
    for row in map(list, rows):
        name = str(row[column])
        twin = [*row[:column], name.replace("full", "in-vocabulary"), *row[column + 1 :]]
        if name.startswith("full") and twin in found:
            found[found.index(twin)][column] = name.replace("full", "both")
        else:
            found.append(row)
    return found


def csv_lines(
    title: str | None, head: Sequence[str], rows: Iterable[Sequence[object]], numeric: Collection[int] = ()
) -> list[str]:
    """A table as CSV; thousands in `numeric` columns lose their commas, so that spreadsheets read numbers.

    >>> csv_lines(None, ["word", "n"], [["one, two", "1,500"]], [1])
    ['word,n', '"one, two",1500']
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow(_plain(cell) if column in numeric else str(cell) for column, cell in enumerate(row))
    return text.getvalue().splitlines()


def latex_lines(
    title: str | None, head: Sequence[str], rows: Iterable[Sequence[object]], numeric: Collection[int] = ()
) -> list[str]:
    r"""A table as LaTeX, for the booktabs package; a title becomes its caption.

    >>> print("\n".join(latex_lines(None, ["method", "P@1"], [["a_b", ".5"]], [1])))
    \begin{tabular}{lr}
    \toprule
    method & P@1 \\
    \midrule
    a\_b & .5 \\
    \bottomrule
    \end{tabular}
    """
    columns = "".join("r" if column in numeric else "l" for column in range(len(head)))
    body = [" & ".join(map(_latex, row)) + r" \\" for row in rows]
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(map(_latex, head)) + r" \\", r"\midrule"]
    lines += [*body, r"\bottomrule", r"\end{tabular}"]
    if title:
        lines = [r"\begin{table}", r"\centering", rf"\caption{{{_latex(title)}}}", *lines, r"\end{table}"]
    return lines


class TableView:
    """What has a title and a table, shown as text and, in notebooks, as HTML."""

    @property
    def title(self) -> str:
        raise NotImplementedError

    def table(self) -> tuple[list[str], list[list[str]], list[int]]:
        """Head, rows, and which columns are numbers."""
        raise NotImplementedError

    def __repr__(self) -> str:
        head, rows, numeric = self.table()
        return f"{self.title}\n{text_table(head, rows, numeric=numeric)}"

    def _repr_html_(self) -> str:
        head, rows, numeric = self.table()
        return html_table(self.title, head, rows, numeric=numeric)


def _plain(cell: object) -> str:
    text = str(cell)
    return text.replace(",", "") if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", text) else text


def _latex(cell: object) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\n": " "}
    return "".join(special.get(char, "\\" + char if char in "&%$#_{}" else char) for char in printable(str(cell)))
