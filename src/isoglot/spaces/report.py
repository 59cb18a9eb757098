"""What a reader repaired in a file, counted, so that nothing is repaired silently."""

from __future__ import annotations

import dataclasses
from collections import Counter


@dataclasses.dataclass
class LoadReport:
    """Counts of repairs by kind, with the first place of each kind.

    >>> report = LoadReport("fr.vec")
    >>> report.add("duplicate word", "dropped", "fr.vec:17")
    >>> report.add("duplicate word", "dropped", "fr.vec:40")
    >>> report.notes()
    ['2 x duplicate word: dropped (first at fr.vec:17)']
    """

    path: str
    format: str = ""
    from_cache: bool = False
    counts: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    first: dict[tuple[str, str], str] = dataclasses.field(default_factory=dict)

    def add(self, problem: str, recovery: str, where: str, times: int = 1) -> None:
        """Record `times` cases of a problem and what was done about it."""
        if times <= 0:
            return
        self.counts[problem, recovery] += times
        self.first.setdefault((problem, recovery), where)

    def notes(self) -> list[str]:
        """One line per kind of repair, for people."""
        return [
            f"{times:,} x {problem}: {recovery} (first at {self.first[problem, recovery]})"
            for (problem, recovery), times in self.counts.items()
        ]
