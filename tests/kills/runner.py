"""Running a command in a forked process: to its end, to the n-th change of a file, or for some seconds."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from . import hooks

__all__ = ["Ended", "Kill", "run"]

#: A command that takes longer than this hangs.
LONGEST = 300.0


@dataclasses.dataclass(frozen=True)
class Kill:
    """When to kill: at a change of this number (`when` is before or after), or after so many seconds."""

    at: int = 0
    when: str = "before"
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.when} change {self.at}" if self.at else f"after {self.seconds:.3f} s"


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a command ended: exit code (negative: the signal), changes made, seconds, and what it said."""

    code: int
    changes: tuple[str, ...]
    seconds: float
    said: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


def run(
    arguments: Sequence[str], work: Path, kill: Kill | None = None, prepare: Callable[[Path], None] | None = None
) -> Ended:
    """`isoglot ARGUMENTS` in the folder `work`; files beside it tell what it said and counted."""
    said, counted = work.with_name("said.txt"), work.with_name("counted.json")
    counted.unlink(missing_ok=True)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _live(arguments, work, kill, prepare, said, counted)
    limit = kill.seconds if kill is not None and kill.seconds else LONGEST
    status = _wait(child, limit)
    if status is None:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if limit == LONGEST:
            return Ended(-signal.SIGALRM, (), LONGEST, "took too long")
    changes = json.loads(counted.read_text()) if os.waitstatus_to_exitcode(status) >= 0 else []
    text = said.read_text("utf-8", errors="replace") if said.exists() else ""
    return Ended(os.waitstatus_to_exitcode(status), tuple(changes), time.monotonic() - began, text)


def _wait(child: int, seconds: float) -> int | None:
    end = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        if time.monotonic() > end:
            return None
        time.sleep(min(0.005, max(seconds / 20, 0.0002)))


def _live(
    arguments: Sequence[str],
    work: Path,
    kill: Kill | None,
    prepare: Callable[[Path], None] | None,
    said: Path,
    counted: Path,
) -> None:
    """The forked process: it ends here."""
    code = 70
    try:
        stream = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        os.chdir(work)
        os.environ["ISOGLOT_CACHE"] = str(work / "cache")
        sys.argv = ["isoglot", *map(str, arguments)]
        from isoglot.checkpoints import Checkpoint
        from isoglot.cli import main

        Checkpoint.seconds = 0.0  # as often as it can be: there is more to interrupt
        if prepare is not None:
            prepare(work)
        hooks.arm(str(work), kill.at if kill else 0, kill.when if kill else "before")
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0) if not isinstance(ended.code, str) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        with os.fdopen(os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as stream_of_names:
            json.dump(hooks.count(), stream_of_names)
        os._exit(code)
