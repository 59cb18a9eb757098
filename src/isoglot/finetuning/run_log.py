"""What a run records for people: its log, its starting point, and the batch that stopped it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import signal
import statistics
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from isoglot.errors import InputError
from isoglot.files import atomic_path
from isoglot.finetuning.batches import Drawn
from isoglot.finetuning.run_state import cannot_write, read_json, write_json
from isoglot.opening import read_whole

#: Losses that a new one is compared with, and how many there must be for that.
REMEMBERED, _ENOUGH = 50, 10
#: What a run began with.
_IDENTITY = "run.json"


#: A warning is due below these shares of what a figure was before training. A tenth less variance is no harm; retrieval
#: of a few hundred lines moves by a hundredth by chance.
_ALARMING = {"spread": 0.7, "retrieval": 0.95}
_ALARMS = {
    "spread": "vectors draw together (spread {now:.2f} of what it was): the anchor is too weak or the rate too high",
    "retrieval": "fewer held-out translations are found than before training ({now:.3f} instead of {before:.3f})",
}


class Alarm:
    """Warns of harm that an evaluation shows, of each kind once while it lasts."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def lines(self, before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
        """What to tell the user."""
        harmed = {
            name
            for name, share in _ALARMING.items()
            if name in now and now[name] < share * (1.0 if name == "spread" else before.get(name, 0.0))
        }
        new = [name for name in _ALARMS if name in harmed - self._told]
        self._told = harmed
        return [_ALARMS[name].format(now=now[name], before=before.get(name, 0.0)) for name in new]


@dataclasses.dataclass(frozen=True)
class StepRecord:
    """What a step did, for the log and for progress display.

    Args:
        terms: unweighted mean over the items of the step, by objective.
        pairs: weighted loss, by language pair.
        evaluation: figures measured after this step, if any.
    """

    step: int
    steps: int
    loss: float
    terms: Mapping[str, float]
    pairs: Mapping[str, float]
    rate: float
    gradient: float
    tokens: int
    seconds: float
    evaluation: Mapping[str, float] | None = None

    def record(self) -> dict[str, Any]:
        """As plain data for the log."""
        content = dataclasses.asdict(self)
        if self.evaluation is None:
            del content["evaluation"]
        return content


@dataclasses.dataclass(frozen=True)
class Trained:
    """How a run ended: steps taken, the step whose weights were chosen, and figures before and after training."""

    steps: int
    chosen: int
    before: Mapping[str, float]
    after: Mapping[str, float]
    early: bool
    seconds: float

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return dataclasses.asdict(self)


class Stopped(InputError):
    """The run was interrupted and can be resumed."""


@dataclasses.dataclass(frozen=True)
class Guard:
    """Stops a run whose loss is not finite or far above earlier ones, and saves the sentences for inspection.

    Args:
        explode: stop at a loss above this many times the median of recent ones.
        writes: whether this is the process that writes.
    """

    folder: Path
    explode: float
    writes: bool

    def check(self, value: float, step: int, one: Drawn, terms: Mapping[str, Any], losses: Sequence[float]) -> None:
        """Check the loss of a batch."""
        if not math.isfinite(value):
            self.halt(f"the loss is {value}", step, [one], terms)
        usual = statistics.median(losses) if len(losses) >= _ENOUGH else math.inf
        if value > self.explode * max(usual, 1e-6):
            self.halt(f"the loss is {value:,.3g}, usually about {usual:,.3g}", step, [one], terms)

    def halt(self, what: str, step: int, drawn: Sequence[Drawn], terms: Mapping[str, Any]) -> NoReturn:
        """Save the batches and stop."""
        place = self.folder / "stopped.json"
        if self.writes:
            content = {
                "step": step + 1,
                "what": what,
                "terms": {name: [str(float(total)), count] for name, (total, count) in terms.items()},
                "batches": [{"pair": one.batch.name, **one.texts} for one in drawn],
            }
            write_json(place, content)
        names = ", ".join(dict.fromkeys(one.batch.name for one in drawn))
        kinds = {"sentences" if kind in ("src", "tgt") else kind for one in drawn for kind in one.texts}
        raise InputError(
            f"{what} in step {step + 1:,} ({names}); its {' and '.join(sorted(kinds))} are saved in {place}",
            where=str(self.folder),
            remedy="inspect them, or start again with a lower `learning_rate`",
        )


def log_step(folder: Path, record: StepRecord) -> None:
    """Append a line to the log."""
    path = folder / "log.jsonl"
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record.record()) + "\n")
    except OSError as error:
        raise cannot_write(path, error) from error


def cut_log(folder: Path, step: int) -> None:
    """Remove lines logged after the checkpoint at `step`: those steps run again."""
    path = folder / "log.jsonl"
    if not path.exists():
        return
    lines = []
    try:
        text = read_whole(path).decode("utf-8", "replace")
    except OSError:
        text = ""  # unreadable, but only a log is lost
    for line in text.splitlines():
        # A killed run may have left half a line.
        with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
            if json.loads(line)["step"] <= step:
                lines.append(f"{line}\n")
    with atomic_path(path, own=True) as temporary:
        temporary.write_text("".join(lines), "utf-8")


def check_same_run(folder: Path, identity: Mapping[str, Any]) -> None:
    """Raise if the folder holds a run with another encoder, other data or settings, which cannot be resumed."""
    place = folder / _IDENTITY
    if not place.exists():
        return
    recorded = read_json(place)
    for part, value in json.loads(json.dumps(identity)).items():
        if recorded.get(part) != value:
            raise InputError(
                f"this folder holds a run with {_difference(part, recorded.get(part), value)}",
                where=str(folder),
                remedy="choose another output folder, or use what the run started with",
            )


def begin_run(folder: Path, identity: Mapping[str, Any]) -> None:
    """Record what a run starts with."""
    if not (folder / _IDENTITY).exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / _IDENTITY, identity)


def _difference(part: str, before: Any, now: Any) -> str:
    """Describe what has changed.

    >>> _difference("training", {"batch": 8, "lora": 0}, {"batch": 16, "lora": 0})
    'another batch (8, now 16)'
    >>> _difference("texts", {"de-en": ["9f", 90, 10]}, {"de-en": ["c4", 90, 10]})
    'another text (de-en)'
    """
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return f"another {part}"
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if part == "training":
        return " and ".join(f"another {name} ({before.get(name)}, now {now.get(name)})" for name in names)
    return f"another {part.removesuffix('s')} ({', '.join(names)})"


@contextlib.contextmanager
def interrupts() -> Iterator[list[int]]:
    """Ctrl-C or SIGTERM ends the run after the current step; a second one ends it at once."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def note(number: int, frame: Any) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
