"""Processes that may be killed, or work together, without each importing torch: forked from a server that has it."""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess as Process
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
#: One thread each: sums in another order have other bits, and a fork must not lose a pool of threads.
_ALONE = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
_LOADED = ["isoglot.cli", "isoglot.finetuning.network", "isoglot.pipelines", "accelerate", "sentence_transformers"]


def start(script: str, arguments: Sequence[object], errors: Path, env: Mapping[str, str] = {}) -> Process:
    """Run a script as if it were a program with these arguments; what it says goes to the file `errors`."""
    before = dict(os.environ)
    os.environ.update(_ALONE)  # as the server finds it when it starts, so will all
    try:
        _CONTEXT.set_forkserver_preload(_LOADED)
        multiprocessing.forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
    process = _CONTEXT.Process(target=_run, args=(script, [str(one) for one in arguments], str(errors), dict(env)))
    process.start()
    return process


def finish(*processes: Process, seconds: float = 600) -> list[int | None]:
    """Wait for them; their exit codes."""
    for process in processes:
        process.join(seconds)
        if process.is_alive():
            process.kill()
    return [process.exitcode for process in processes]


def _run(script: str, arguments: list[str], errors: str, env: dict[str, str]) -> None:
    os.environ.update(_ALONE | env)
    target = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(target, 2)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115 (as long as the process)
    sys.argv = ["isoglot", *arguments]
    exec(compile(script, "script", "exec"), {"__name__": "__main__"})
