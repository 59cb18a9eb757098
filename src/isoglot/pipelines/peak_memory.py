"""How much memory a piece of work takes at most."""

from __future__ import annotations

import threading
from pathlib import Path


class PeakMemory:
    """How much the process grew at most, by looking every few milliseconds; None where /proc does not tell."""

    def __enter__(self) -> PeakMemory:
        self._start = self._peak = _resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def megabytes(self) -> float | None:
        return None if self._start is None or self._peak is None else (self._peak - self._start) / 1e6

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            now = _resident()
            if now is not None and self._peak is not None:
                self._peak = max(self._peak, now)


def _resident() -> int | None:
    try:
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
