"""Threads: blocks of work on Python threads with one BLAS thread each, and torch kept from wasting threads."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from isoglot.errors import ConfigError, MissingExtraError
from isoglot.progress import Progress

#: Below this many multiplications per step, one thread is faster than several that wait for each other.
SMALL = 50_000_000


def available_threads(threads: int | None) -> int:
    """The requested number of threads, or as many as this process may use."""
    if threads is None:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if threads < 1:
        raise ConfigError(f"threads must be at least 1, not {threads}", where="threads")
    return threads


def limit_blas() -> Any:
    """A context in which BLAS (and no OpenMP library) uses one thread per caller."""
    return _blas().limit(limits=1, user_api="blas")


@functools.cache
def _blas() -> Any:
    """Made once: looking for libraries takes longer than a small search. NumPy's, the one that matters, is loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def run_blocks(
    n: int,
    size: int,
    work: Callable[[int, int, int], None],
    *,
    threads: int,
    step: str,
    progress: Progress,
) -> None:
    """Call `work(worker, begin, end)` for every block of `size` of the n rows.

    Blocks do not depend on the number of threads and each worker gets its blocks in ascending order, so results are
    the same for any number of threads. Progress is reported from the calling thread.
    """
    starts = range(0, n, size)
    threads = min(threads, max(1, len(starts)))
    with limit_blas():
        if threads == 1:
            for begin in starts:
                end = min(n, begin + size)
                work(0, begin, end)
                progress(step, end, n)
            return
        ticket = itertools.count()
        finished: queue.SimpleQueue[int] = queue.SimpleQueue()
        stop = threading.Event()

        def loop(worker: int) -> None:
            try:
                while not stop.is_set():
                    number = next(ticket)
                    if number >= len(starts):
                        return
                    begin = starts[number]
                    end = min(n, begin + size)
                    work(worker, begin, end)
                    finished.put(end - begin)
            except BaseException:
                stop.set()
                raise
            finally:
                finished.put(0)

        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(loop, worker) for worker in range(threads)]
            try:
                done, running = 0, threads
                while running:
                    rows = finished.get()
                    running -= rows == 0
                    done += rows
                    if rows:
                        progress(step, done, n)
            finally:
                stop.set()
            for future in futures:
                future.result()


def import_torch(purpose: str) -> Any:
    """Torch, or an error that says how to install it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "torch", purpose) from error
    return torch


@contextlib.contextmanager
def few_threads(torch: Any, multiplications: float) -> Iterator[None]:
    """One thread while the products are small; afterwards as many as before."""
    before = torch.get_num_threads()
    if multiplications < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
