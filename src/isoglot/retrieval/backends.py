"""Which ways of searching there are, which of them work on this machine, and why not."""

from __future__ import annotations

import dataclasses
import importlib.util
import warnings
from collections.abc import Mapping
from typing import Protocol

from isoglot.extras import require
from isoglot.installation import install_command
from isoglot.plugins import late
from isoglot.progress import Progress, silent
from isoglot.retrieval._rows import Bias, Found, UnitRows
from isoglot.suggest import unknown

BACKENDS = ("auto", "exact", "int8", "faiss", "usearch")

_CLASSES = {
    "exact": "exact:ExactBackend",
    "int8": "int8:Int8Backend",
    "faiss": "ann:FaissBackend",
    "usearch": "ann:UsearchBackend",
}
#: `auto` takes int8 from this many pairs on; below, exact search takes a fraction of a second. At 8,000 x 8,000 words
#: of 300 dimensions CSLS both ways takes .65 s of one core instead of 1.25 s.
_WORTH_CODING = 25_000_000


class Backend(Protocol):
    """Finds the k best by `cosine + bias`, where a query cares only for the biases of its targets.

    The exact backend takes lifted rows as well, whose inner product stands for the cosine; the others need unit rows.

    Answers are indices int64 (n, k) and sums float32 (n, k) as `_rescore.best_of_candidates` gives them: however a
    backend comes by its candidates, it scores them exactly. k is cut to the number of targets.
    """

    name: str
    X: UnitRows
    Y: UnitRows
    threads: int

    def forward(self, queries: UnitRows, column_bias: Bias, k: int, *, progress: Progress = silent) -> Found:
        """The best rows of Y for each query."""
        ...

    def both(self, row_bias: Bias, column_bias: Bias, k: int, *, progress: Progress = silent) -> tuple[Found, Found]:
        """The best rows of Y for each row of X, and of X for each row of Y."""
        ...


@dataclasses.dataclass(frozen=True)
class BackendStatus:
    """Whether a backend runs here; `detail` is one line on how, or why not and what is done instead."""

    name: str
    available: bool
    detail: str


def available_backends() -> Mapping[str, BackendStatus]:
    """All backends by name.

    >>> available_backends()["exact"].available
    True
    """
    return {
        status.name: status
        for status in (
            BackendStatus("exact", True, "all inner products in float32; every neighbour is right"),
            _int8_status(),
            _extra_status("faiss", "faiss", "faiss-cpu"),
            _extra_status("usearch", "usearch", "usearch"),
        )
    }


def check_backend(name: str) -> None:
    """Raise for a backend that we do not know or that is not installed, before any long work.

    >>> check_backend("exact")
    """
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS, where="backend")
    if name in ("faiss", "usearch"):
        require(name, f"the {name} backend")


def make_backend(name: str, X: UnitRows, Y: UnitRows, *, threads: int) -> Backend:
    """The named backend over X and Y. `auto` picks int8 where it is available and worth its coding, else exact.

    int8 on a CPU without a kernel for it warns, in one line, that it searches exactly instead.
    """
    check_backend(name)
    if name == "auto":
        large = X.n * Y.n >= _WORTH_CODING
        name = "int8" if large and _int8_status().available else "exact"
    if name == "int8":
        status = _int8_status()
        if not status.available:
            warnings.warn(f"int8 backend: {status.detail}", stacklevel=3)
            name = "exact"
    backend: Backend = late(f"isoglot.retrieval.{_CLASSES[name]}")(X, Y, threads=threads)
    return backend


def _int8_status() -> BackendStatus:
    from isoglot.retrieval._int8_micro import fastest

    kernel = fastest()
    if kernel is None:
        return BackendStatus(
            "int8", False, "this CPU has none of AVX2, AVX-512 and VNNI; searching exactly in float32 instead"
        )
    return BackendStatus("int8", True, f"int8 candidates by {kernel.name}, re-ranked exactly")


def _extra_status(name: str, module: str, package: str) -> BackendStatus:
    if importlib.util.find_spec(module) is None:
        return BackendStatus(name, False, f"{package} is not installed: {install_command('ann')}")
    return BackendStatus(name, True, f"approximate, by an HNSW graph of {package}; scores are exact")
