"""Plain warnings about figures and maps that rest on too little data."""

from __future__ import annotations

from collections.abc import Sequence

from isoglot.tasks import Result

__all__ = ["few_pairs", "few_words"]

#: Fewer pairs than dimensions leave directions of which a map learns nothing; below fifty a narrow space is luck too.
_LEAST_PAIRS = 50
#: With fewer test words a 95% interval is about .2 wide or wider.
_LEAST_WORDS = 100


def few_pairs(pairs: int, dim: int, *, where: str = "") -> list[str]:
    """A warning if so few pairs cannot teach a map of so many dimensions.

    >>> few_pairs(35, 300)
    ['only 35 pairs to learn from, for 300 dimensions: expect little of this map, and give a larger lexicon']
    >>> few_pairs(5000, 300)
    []
    """
    if pairs >= max(dim, _LEAST_PAIRS):
        return []
    of = f" {where}" if where else ""
    text = f"only {pairs:,} pairs{of} to learn from, for {dim} dimensions: expect little of this map"
    return [f"{text}, and give a larger lexicon"]


def few_words(results: Sequence[Result], *, where: str = "") -> list[str]:
    """A warning if the first figure rests on few test words.

    >>> few_words([Result("bli", "P@1", 0.27, n=30, coverage=1.0, protocol={}, interval=(0.13, 0.43))])
    ['only 30 test words: P@1 is 0.270, but may be anything from 0.130 to 0.430']
    """
    if not results or results[0].n >= _LEAST_WORDS:
        return []
    first = results[0]
    of = f" {where}" if where else ""
    text = f"only {first.n:,} test words{of}: {first.metric} is {first.value:.3f}"
    if first.interval is None:
        return [f"{text}, which is uncertain"]
    return [f"{text}, but may be anything from {first.interval[0]:.3f} to {first.interval[1]:.3f}"]
