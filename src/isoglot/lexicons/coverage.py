"""How much of a dictionary two spaces can be asked about."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Counts of a lexicon's pairs and words that two spaces hold.

    Args:
        pairs, pairs_found: all pairs, and those with both words in their space.
        sources, sources_found: distinct source words, and those with at least one pair in both spaces.
        missing_sources, missing_targets: how many distinct words are not in their space.
        missing_source_examples, missing_target_examples: the first few of them, in the lexicon's order.
    """

    pairs: int
    pairs_found: int
    sources: int
    sources_found: int
    missing_sources: int
    missing_targets: int
    missing_source_examples: tuple[str, ...] = ()
    missing_target_examples: tuple[str, ...] = ()

    @property
    def pair_share(self) -> float:
        return self.pairs_found / self.pairs if self.pairs else 0.0

    @property
    def source_share(self) -> float:
        return self.sources_found / self.sources if self.sources else 0.0

    def notes(self) -> list[str]:
        """A few lines for people."""
        lines = [
            f"{self.pairs_found:,} of {self.pairs:,} pairs ({self.pair_share:.1%}) have both words",
            f"{self.sources_found:,} of {self.sources:,} source words ({self.source_share:.1%}) can be asked",
        ]
        for label, number, examples in (
            ("source", self.missing_sources, self.missing_source_examples),
            ("target", self.missing_targets, self.missing_target_examples),
        ):
            if number:
                shown = ", ".join(examples) + (", ..." if number > len(examples) else "")
                lines.append(f"{number:,} {label} words are missing: {shown}")
        return lines
