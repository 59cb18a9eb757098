"""Worker processes that may die: each case is attributed to the worker that had it, whatever happens to that worker.

Workers are forked from this process after it has imported what they need, so that a new one costs milliseconds. A
worker that takes too long, or too much memory, is killed and replaced.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .case import Verdict, run_case
from .target import TARGETS

__all__ = ["in_child", "run_all"]

#: Seconds that one case may take. Reading a specimen takes milliseconds, unpacking a bomb seconds.
SECONDS = 30.0
#: What a worker may take to read a specimen as it is, before the first case of a target.
SECONDS_OF_A_SPECIMEN = 60.0
#: Bytes of address space that a worker may take beyond what it has when it starts.
ROOM = 3 << 30


class _Worker:
    """A forked process that runs one case after another."""

    def __init__(self, specimens: Path, folder: Path) -> None:
        self.folder = folder
        self.case: str | None = None
        self.began = 0.0
        self.connection, theirs = multiprocessing.Pipe()
        self.process = os.fork()
        if self.process == 0:
            self.connection.close()
            _serve(theirs, specimens, folder)
        theirs.close()

    def give(self, case: str) -> None:
        self.case, self.began = case, time.time()
        self.connection.send(case)

    def end(self) -> int:
        """Kill it and give the status that it had."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        self.connection.close()
        return status


def run_all(
    cases: Iterable[str], specimens: Path, scratch: Path, *, workers: int = 2
) -> Iterator[tuple[Verdict, Path]]:
    """The verdict of each case, and the folder that holds its files until the next verdict is asked for."""
    waiting = iter(cases)
    alive = [_Worker(specimens, scratch / f"worker{number}") for number in range(workers)]
    try:
        busy = [worker for worker in alive if _next(worker, waiting)]
        while busy:
            ready = wait([worker.connection for worker in busy], timeout=0.5)
            for worker in list(busy):
                verdict = _verdict(worker, worker.connection in ready)
                if verdict is None:
                    continue
                yield verdict, worker.folder
                busy.remove(worker)
                if not _alive(worker):
                    alive.remove(worker)
                    worker = _Worker(specimens, worker.folder)
                    alive.append(worker)
                if _next(worker, waiting):
                    busy.append(worker)
    finally:
        for worker in alive:
            worker.end()


def in_child(function: Any, *arguments: Any) -> None:
    """Call it in a forked process, so that its threads and memory end with it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            function(*arguments)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit("the specimens could not be made")


def _next(worker: _Worker, waiting: Iterator[str]) -> bool:
    case = next(waiting, None)
    if case is None:
        return False
    worker.give(case)
    return True


def _verdict(worker: _Worker, ready: bool) -> Verdict | None:
    """What the worker says, or what its death says, or None if it is still at work."""
    assert worker.case is not None
    if ready:
        try:
            verdict: Verdict = worker.connection.recv()
            return verdict
        except (EOFError, OSError):
            status = worker.end()
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            what = signal.Signals(number).name if number else f"exit code {os.WEXITSTATUS(status)}"
            return Verdict(worker.case, "death", what, "", _noted(worker.folder))
    limit, since = _limit(worker)
    if time.time() - since > limit:
        worker.end()
        return Verdict(worker.case, "hang", f"more than {limit:.0f} seconds", "", _noted(worker.folder))
    return None


def _limit(worker: _Worker) -> tuple[float, float]:
    """Seconds that the worker may take, and since when: the case begins when its mutation is noted."""
    try:
        noted = (worker.folder / "mutation").stat().st_mtime
    except OSError:
        noted = 0.0
    if noted < worker.began:  # of the case before, or none: the specimen itself is read, imported for, compiled for
        return SECONDS + SECONDS_OF_A_SPECIMEN, worker.began
    if _noted(worker.folder).endswith("kind fifo"):  # nothing else takes time there
        return TARGETS[(worker.case or "").partition(":")[0]].patience, noted
    return SECONDS, noted


def _alive(worker: _Worker) -> bool:
    return not worker.connection.closed


def _noted(folder: Path) -> str:
    with contextlib.suppress(OSError):
        return (folder / "mutation").read_text("utf-8")
    return ""


def _serve(connection: Connection, specimens: Path, folder: Path) -> None:
    """The worker's life. It ends only by `os._exit`: what the parent would do at its end is not done here."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.freeze()  # what the parent imported is never rubbish: looking through it takes most of the time
        _limit_memory()
        expected: dict[str, Any] = {}
        while True:
            case = connection.recv()
            connection.send(_one(case, specimens, folder, expected))
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(70)


def _one(case: str, specimens: Path, folder: Path, expected: dict[str, Any]) -> Verdict:
    name = case.partition(":")[0]
    target, specimen = TARGETS[name], specimens / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["ISOGLOT_CACHE"] = str(folder / "cache")
    if name not in expected:
        # The specimen itself must be sound, else its mutations say nothing.
        shutil.copytree(specimen, folder / "control")
        if target.settle is not None:
            target.settle(folder / "control")
        try:
            expected[name] = target.read(folder / "control")
        except Exception as error:
            return Verdict(case, "specimen", f"{type(error).__name__}: {error}", "", "none")
        shutil.rmtree(folder / "control")
    return run_case(case, specimen, folder / "case", expected[name])


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
