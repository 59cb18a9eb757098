"""What `isoglot.pipelines.static_alignment` did with a language, and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from isoglot.pipelines.induction import Induction

Figures = Mapping[str, float | int | None]


@dataclasses.dataclass(frozen=True)
class StaticChoice:
    """What became of one language.

    `before` and `after` are the criterion without and with the alignment, over the same words: those that the judged
    map has not seen. None where too few pairs were induced to align at all. `chance`: why a dictionary that gained by
    the criterion was not used, if it was no better than chance. `told`: aligned only because all were to be. `bli`: P@1
    by direction ("en-fr"), of the vectors as they were given (`raw`), only normalised (`before`) and aligned (`after`).
    """

    lang: str
    induction: Induction
    criterion: str
    before: float | None
    after: float | None
    aligned: bool
    chance: str | None = None
    told: bool = False
    bli: Mapping[str, Figures] = dataclasses.field(default_factory=dict)

    @property
    def note(self) -> str:
        """The choice in one line.

        >>> induction = Induction("as-is", "own vectors", 900)
        >>> StaticChoice("ko", induction, "semantic", 0.44, 0.41, False).note
        'ko: kept as it was: semantic 0.410 aligned, 0.440 before'
        """
        if self.before is None or self.after is None:
            return f"{self.lang}: kept as it was: only {self.induction.pairs:,} pairs were induced"
        if self.chance is not None and not self.told:
            return f"{self.lang}: kept as it was: what was found is no better than chance"
        choice = "aligned, as all are to be" if self.told else "aligned" if self.aligned else "kept as it was"
        return f"{self.lang}: {choice}: {self.criterion} {self.after:.3f} aligned, {self.before:.3f} before"

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {**dataclasses.asdict(self), "note": self.note}
