"""Readers with a defect each, so that a test can tell whether the fuzzer sees them. Not part of other runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.errors import InputError

from .target import check_finite, target


def _make(folder: Path) -> None:
    (folder / "x.dat").write_bytes(b"whole")


def _defect(what: Callable[[], Any]) -> Callable[[Path], Any]:
    """Fails on anything but the specimen."""

    def read(folder: Path) -> Any:
        path = folder / "x.dat"
        if not path.is_file() or path.read_bytes() != b"whole":
            return what()
        return None

    return read


def _hang() -> None:
    time.sleep(600)


def _refuse() -> None:
    raise InputError("something is wrong")


def _break() -> None:
    raise KeyError("x")


def _fill() -> None:
    np.ones(1 << 28, dtype=np.uint8).sum()
    np.ones(6 << 30, dtype=np.uint8).sum()


target("self-crash", "self", _make, _defect(_break))
target("self-death", "self", _make, _defect(lambda: os.kill(os.getpid(), signal.SIGSEGV)))
target("self-hang", "self", _make, _defect(_hang), hand=("fifo",), patience=1.5)
target("self-memory", "self", _make, _defect(_fill))
target("self-silent", "self", _make, _defect(lambda: check_finite([np.nan])))
target("self-cache", "self", _make, _defect(lambda: 1), exact=True)
target("self-place", "self", _make, _defect(_refuse))
target("self-specimen", "self", _make, lambda folder: _break())
