"""How the command line talks: bars on standard error, tables or one JSON document on standard output."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json as writer
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress as RichProgress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from isoglot.cli import display
from isoglot.cli.outputs import write_json
from isoglot.cli.streams import guard, undecorated
from isoglot.cli.wording import in_options
from isoglot.printable import UNSAFE, printable
from isoglot.progress import Progress, silent
from isoglot.small_tables import agreed, csv_lines, latex_lines
from isoglot.tasks import Result, Results

_SECONDS_BETWEEN_LINES = 10.0


def out() -> Console:
    """Standard output; made anew so that a redirected stream is seen."""
    # A file or pipe has no width of its own, and the usual 80 columns fold tables to shreds.
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 132
    file = undecorated(sys.stdout)
    return Console(file=file, markup=False, emoji=False, highlight=False, soft_wrap=True, width=width)


def messages() -> Console:
    """Standard error, for what is drawn and removed again."""
    return Console(file=undecorated(sys.stderr), markup=False, emoji=False, highlight=False)


def say(text: str) -> None:
    """A line for people, on standard error, where it does not mix with results; not shown with --quiet."""
    display.log.info("%s", _loggable(text))


def _loggable(text: str) -> str:
    """Names of files may hold bytes that are no text: as escapes, which any handler of the log can write."""
    return printable(text).encode("utf-8", "backslashreplace").decode("utf-8")


def note(text: str) -> None:
    """What the library tells while it works."""
    say(f"note: {in_options(text)}")


def warn(text: str) -> None:
    """What the library finds doubtful."""
    display.log.warning("warning: %s", _loggable(in_options(text)))


def print_line(text: str) -> None:
    """A line of data on standard output: as it is, unless a terminal would obey it."""
    sys.stdout.write(text + "\n")


def print_json(document: Any) -> None:
    """The one JSON document of a `--json` run; what a terminal would obey is escaped as JSON escapes it."""
    text = writer.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    text = UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = writer.dumps(document, indent=2, allow_nan=False).replace("\x7f", r"\u007f")
    sys.stdout.write(text + "\n")


def as_text(text: str, encoding: str = "utf-8") -> Text:
    """Data as rich shall draw it: a word such as "[red]" is no markup, ":smile:" no picture."""
    # What the stream cannot show is escaped here, so that columns know how wide it is.
    return Text(printable(text).encode(encoding, "backslashreplace").decode(encoding))


def notes(lines: Sequence[str], where: str) -> None:
    """What a reader repaired, on standard error."""
    for line in lines:
        note(f"{where}: {line}")


def table(
    title: str | None, columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> None:
    """A table on standard output, as text, CSV or LaTeX; `right` are columns of numbers."""
    if display.tables != "text":
        write = csv_lines if display.tables == "csv" else latex_lines
        for line in write(title, columns, rows, right):
            print_line(line)
        return
    console = out()
    # Where a column gets no room at all, rich drops its text.
    console.width = max(console.width, 8 * len(columns) + 1)
    grid = Table(title_justify="left", header_style="bold")
    if title is not None:
        grid.title = as_text(title, console.encoding)
        grid.title.style = "table.title"
    for i, column in enumerate(columns):
        name = as_text(column, console.encoding)
        grid.add_column(name, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(as_text(cell, console.encoding) for cell in row))
    console.print(grid)


def print_cost(cost: Any, *, json: bool) -> None:
    """What a `--dry-run` estimated: a dataclass with a sentence."""
    if json:
        print_json(dataclasses.asdict(cost))
    else:
        print_line(cost.sentence())


def finish(
    output: Path,
    name: str,
    document: Any,
    *,
    json: bool,
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
) -> None:
    """Write OUTPUT/NAME.json beside the page that stands there already, and print the document or a table."""
    write_json(output / f"{name}.json", document)
    if json:
        print_json(document)
        return
    table(title, head, rows, right=right)
    say(f"written: {output / f'{name}.json'}, {output / 'report.html'}")


def result_table(results: Sequence[Result], title: str | None = None) -> None:
    """Figures with intervals and both denominators; a figure on which these agree is one row."""
    names = [str(one.protocol.get("denominator", "")) for one in results]
    cells = [one.cells() for one in results]
    rows = agreed(([_metric(one), *c[1:3], n, *c[4:]] for one, c, n in zip(results, cells, names, strict=True)), 3)
    head = Results.head
    used = [i for i in range(len(head)) if i != 3 or any(row[i] for row in rows)]
    right = [number for number, i in enumerate(used) if i in Results.numeric]
    table(title, [head[i] for i in used], [[str(row[i]) for i in used] for row in rows], right=right)


def _metric(result: Result) -> str:
    """The metric with what tells two rows of it apart: how neighbours were ranked."""
    score = result.protocol.get("score")
    name = result.metric if score is None or str(score) in result.metric else f"{result.metric}, {score}"
    return f"{name}, re-ranked" if "rerank" in result.protocol else name


@contextlib.contextmanager
def progress_bars() -> Iterator[Progress]:
    """A callback that draws bars on a terminal, and writes a line now and then anywhere else."""
    if display.is_quiet():
        yield silent
    elif sys.stderr.isatty():
        with _bars() as callback:
            yield _Timed(callback)
    else:
        yield _Timed(_LogLines())


class _Timed:
    """Tells, with --verbose, how long each step took."""

    def __init__(self, callback: Progress) -> None:
        self._callback = callback
        self._begun: dict[str, float] = {}

    def __call__(self, step: str, done: float, total: float | None) -> None:
        begin = self._begun.setdefault(step, time.monotonic())
        self._callback(step, done, total)
        if total is not None and done >= total:
            del self._begun[step]
            display.log.debug("%s: %.1f s", step, time.monotonic() - begin)


@contextlib.contextmanager
def _bars() -> Iterator[Progress]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%", markup=False),
        _Speed(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # Results that go elsewhere must not be drawn above the bars.
    redirect = sys.stdout.isatty()
    with RichProgress(*columns, console=messages(), transient=True, redirect_stdout=redirect) as bars:
        guard()
        tasks: dict[str, TaskID] = {}

        def callback(step: str, done: float, total: float | None) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(printable(step), total=total)
            bars.update(tasks[step], completed=done, total=total)
            if total is not None and done >= total:
                bars.remove_task(tasks.pop(step))

        yield callback


class _Speed(ProgressColumn):
    """Units a second, for steps that name their unit: "training (running words)"."""

    def render(self, task: Task) -> Text:
        return Text(_speed(task.description, task.speed or 0.0))


class _LogLines:
    """Progress where there is no terminal: one line every ten seconds of a long step."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._step, self._begin, self._at = "", 0.0, 0.0

    def __call__(self, step: str, done: float, total: float | None) -> None:
        now = time.monotonic()
        if step != self._step or done < self._at:
            self._step, self._begin, self._at = step, now, done
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            speed = (done - self._at) / (now - self._begin) if now > self._begin else 0.0
            line = f"{step}: {done / total:.0%}" if total else f"{step}: {done:,.0f}"
            told = _speed(step, speed)
            if told and total:
                told += f", {datetime.timedelta(seconds=round((total - done) / speed))} left"
            say(f"{line}, {told}" if told else line)


def _speed(step: str, speed: float) -> str:
    unit = re.search(r"\((.+)\)$", step)
    return f"{speed:,.0f} {unit[1]}/s" if unit and speed > 0 else ""
