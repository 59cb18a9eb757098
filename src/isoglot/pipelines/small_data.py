"""Plain warnings about figures and maps that rest on too little data."""

from __future__ import annotations

from collections.abc import Sequence

from isoglot.tasks import Result

#: Fewer pairs than dimensions leave directions of which a map learns nothing; below fifty a narrow space is luck too.
_LEAST_PAIRS = 50
#: With fewer test words a 95% interval is about .2 wide or wider.
_LEAST_WORDS = 100

#: Below this share of the test words that have vectors, lexicon and vectors hardly belong together.
_LEAST_COVERAGE = 0.2


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
    """Warnings if the first figure rests on few test words, or on a small share of those of the lexicon.

    >>> few_words([Result("bli", "P@1", 0.27, n=30, coverage=1.0, protocol={}, interval=(0.13, 0.43))])
    ['only 30 test words: P@1 is 0.270, but may be anything from 0.130 to 0.430']
    """
    if not results:
        return []
    first, of, found = results[0], f" {where}" if where else "", []
    if first.n < _LEAST_WORDS:
        text = f"only {first.n:,} test words{of}: {first.metric} is {first.value:.3f}"
        low, high = first.interval or (0.0, 0.0)
        # Where all words are right, or all wrong, resampling them tells nothing.
        known = f"but may be anything from {low:.3f} to {high:.3f}" if low < high else "which is uncertain"
        found.append(f"{text}, {known}")
    if first.coverage < _LEAST_COVERAGE:
        found.append(
            f"only {first.coverage:.1%} of the test words{of} can be asked: "
            "do languages, letter case and script of the lexicon fit the vectors?"
        )
    return found
