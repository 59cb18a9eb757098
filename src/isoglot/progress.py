"""One callback through which all long work tells how far it is.

Library code calls `progress(step, done, total)` and never prints. The command line turns the calls
into a bar, a log into lines; `silent` ignores them.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress", "silent"]

#: `(step, done, total)`: a short label ("reading fr.vec"), units done, and all units or None if unknown.
#: A call with `done >= total` closes the step.
Progress = Callable[[str, float, float | None], None]


def silent(step: str, done: float, total: float | None) -> None:
    """The default: say nothing."""
