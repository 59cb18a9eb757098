"""A live view of a training run: loss and its terms, speed, time left, and what the last evaluations found."""

from __future__ import annotations

import dataclasses
import datetime
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from isoglot.cli.console import as_text, messages, say
from isoglot.cli.streams import guard
from isoglot.finetuning import StepRecord

_SECONDS_BETWEEN_LINES = 10.0
#: Steps that speed is told of.
_RECENT = 20
#: Of all figures those that people look at.
_SHOWN = ("retrieval", "retrieval csls", "cbli", "semantic", "kept", "spread", "mlm")


class TrainingView:
    """Draws on a terminal, and writes a line now and then anywhere else; says nothing unless it `speaks`."""

    def __init__(self, speaks: bool = True) -> None:
        self._speaks = speaks
        self._live: Live | None = None
        self._recent: deque[StepRecord] = deque(maxlen=_RECENT)
        self._evaluations: deque[tuple[int, dict[str, float]]] = deque(maxlen=5)
        self._last = time.monotonic()

    def __enter__(self) -> TrainingView:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()

    def tell(self, line: str) -> None:
        """A note that stays."""
        if self._speaks:
            say(f"note: {line}")

    def show(self, record: StepRecord) -> None:
        """What a step did."""
        if not self._speaks:
            return
        self._recent.append(record)
        if record.evaluation:
            self._evaluations.append((record.step, dict(record.evaluation)))
        if sys.stderr.isatty():
            if self._live is None:
                redirect = sys.stdout.isatty()
                self._live = Live(console=messages(), transient=True, auto_refresh=False, redirect_stdout=redirect)
                self._live.start()
                guard()
            self._live.update(self._picture(), refresh=True)
            return
        now = time.monotonic()
        if record.evaluation or now - self._last >= _SECONDS_BETWEEN_LINES or record.step in (1, record.steps):
            self._last = now
            say(step_line(list(self._recent)))

    def _picture(self) -> RenderableType:
        record = self._recent[-1]
        # Evaluations have a table of their own.
        line = step_line([*list(self._recent)[:-1], dataclasses.replace(record, evaluation=None)])
        # A bar by itself does not end its line.
        bar = Table.grid()
        bar.add_row(ProgressBar(total=record.steps, completed=record.step, width=60))
        parts: list[RenderableType] = [as_text(line), bar]
        if len(record.pairs) > 1:
            rows = [["loss", *(f"{value:.4g}" for value in record.pairs.values())]]
            parts.append(_grid(["", *record.pairs], rows))
        if self._evaluations:
            shown = [name for name in _SHOWN if name in self._evaluations[-1][1]]
            rows = [[f"{step:,}", *(f"{figures[name]:.3f}" for name in shown)] for step, figures in self._evaluations]
            parts.append(_grid(["after step", *shown], rows))
        return Group(*parts)


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    found = Table(box=None, pad_edge=False)
    for column in columns:
        found.add_column(as_text(column), justify="right")
    for row in rows:
        found.add_row(*map(as_text, row))
    return found


def step_line(records: list[StepRecord]) -> str:
    """The last of some steps in a line, with speed and time left by all of them.

    >>> step = StepRecord(3, 10, 4.5, {"word_ot": 4.0, "anchor": 0.5}, {"de-en": 4.5}, 1e-4, 1.0, 6000, 2.0)
    >>> step_line([step])
    'step 3 of 10: loss 4.5 (word_ot 4, anchor 0.5), 3,000 tokens/s, 0:00:14 left'
    """
    last = records[-1]
    seconds = sum(record.seconds for record in records)
    speed = sum(record.tokens for record in records) / max(seconds, 1e-9)
    left = datetime.timedelta(seconds=round((last.steps - last.step) * seconds / len(records)))
    terms = ", ".join(f"{name} {value:.3g}" for name, value in last.terms.items())
    line = f"step {last.step:,} of {last.steps:,}: loss {last.loss:.4g} ({terms}), {speed:,.0f} tokens/s, {left} left"
    if last.evaluation:
        found = ", ".join(f"{name} {last.evaluation[name]:.3f}" for name in _SHOWN if name in last.evaluation)
        line += f"; {found}"
    return line
