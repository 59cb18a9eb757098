"""One callback through which all long work reports its progress.

Library code calls `progress(step, done, total)` and never prints. The command line turns the calls
into a bar, a log into lines; `silent` ignores them.
"""

from __future__ import annotations

from collections.abc import Callable

#: `(step, done, total)`: a short label ("reading fr.vec"), units done, and all units or None if unknown.
#: A call with `done >= total` closes the step.
Progress = Callable[[str, float, float | None], None]


def within(progress: Progress, begin: float, size: float, total: float) -> Progress:
    """Report the progress of a part as progress of the whole, of which the part is `size` units from `begin` on.

    >>> within(lambda *report: print(report), 100, 50, 200)("reading", 1, 2)
    ('reading', 125.0, 200)
    """

    def inner(step: str, done: float, of: float | None) -> None:
        progress(step, begin + size * (done / of if of else 0.0), total)

    return inner


def silent(step: str, done: float, total: float | None) -> None:
    """The default: say nothing."""
