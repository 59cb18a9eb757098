"""More than two languages in one space: each is aligned to a pivot, and translation goes between any two.

The shared space is the pivot's own, normalised: a method that moves both sides is reversed so that only the other
language moves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from isoglot.aligned import Aligned
from isoglot.aligners import Aligner, Alignment, onto_target
from isoglot.errors import ConfigError
from isoglot.joint import between
from isoglot.lexicons import Lexicon, check_direction, split_lexicon
from isoglot.pipelines.small_data import few_pairs, few_words
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.tasks import Result, Results, evaluate


@dataclasses.dataclass(frozen=True, eq=False)
class PivotOutcome:
    """All languages in one space, P@1 of every pair that could be tested, and what the way through the pivot costs.

    `direct`: P@1 of the same test words when two languages other than the pivot are aligned with each other.
    """

    aligned: Aligned
    results: Mapping[tuple[str, str], Results]
    direct: Mapping[tuple[str, str], Result]
    warnings: tuple[str, ...] = ()

    def record(self) -> list[dict[str, Any]]:
        """One record per pair, for tables and JSON."""
        rows = []
        for (source, target), results in self.results.items():
            direct = self.direct.get((source, target))
            rows.append(
                {
                    "source": source,
                    "target": target,
                    "results": results.record(),
                    "direct": None if direct is None else direct.record(),
                    "loss_through_pivot": None if direct is None else direct.value - results[0].value,
                }
            )
        return rows


def languages_beside(pivot: str, spaces: Mapping[str, Space]) -> list[str]:
    """The languages other than the pivot; an error if there are none, or no pivot."""
    if pivot not in spaces:
        raise ConfigError(f"the pivot {pivot!r} is not among the languages", remedy=f"one of: {', '.join(spaces)}")
    others = [name for name in spaces if name != pivot]
    if not others:
        raise ConfigError("there is only one language", remedy="name at least two, as en=FILE fr=FILE")
    return others


def align_to_pivot(
    spaces: Mapping[str, Space],
    pivot: str,
    aligner: Aligner,
    lexicons: Mapping[tuple[str, str], Lexicon],
    *,
    tests: Mapping[tuple[str, str], Lexicon] | None = None,
    seeds: int | None = None,
    held_out: int | None = None,
    score: str = "csls",
    progress: Progress = silent,
) -> PivotOutcome:
    """Align every other language to `pivot` with the lexicon of that pair (either direction), then test all pairs.

    A lexicon between two languages other than the pivot is only used to test, and to align them directly for
    comparison. Of pairs that `tests` has a lexicon for, all of the other one may be learned from.
    """
    others = languages_beside(pivot, spaces)
    tests = tests or {}
    for (source, target), lexicon in [*lexicons.items(), *tests.items()]:
        if source in spaces and target in spaces:
            check_direction(lexicon, spaces[source], spaces[target], remedy=f"name it {target}-{source}")
    alignments: dict[tuple[str, str], Alignment] = {}
    held: dict[tuple[str, str], Lexicon] = {}
    warnings: list[str] = []
    for name in others:
        progress(f"aligning {name} to {pivot}", len(alignments), len(others))
        train, own_test = None, between(tests, pivot, name)
        if aligner.method.supervision != "unsupervised":
            known = between(lexicons, pivot, name)
            if known is None:
                remedy = f"give `lexicons` one for {pivot}-{name}"
                raise ConfigError(f"no lexicon between {pivot} and {name}", remedy=remedy)
            held_words = held_out if own_test is None else 0
            train, test = split_lexicon(known, spaces[pivot], spaces[name], seeds=seeds, held_out=held_words)
            train = train.invert()
        else:
            test = between(lexicons, pivot, name)
        test = test if own_test is None else own_test
        if test is not None:
            held[pivot, name] = test
        moved = aligner.keeping_target().fit(spaces[name], spaces[pivot], train, progress=progress)
        alignments[name, pivot] = onto_target(moved)
        if moved.info.get("warning"):
            warnings.append(f"{name}: {moved.info['warning']}")
        if aligner.method.supervision == "supervised":
            least = min(spaces[name].dim, spaces[pivot].dim)
            warnings += few_pairs(moved.info["pairs"], least, where=f"of {pivot} and {name}")
    progress("aligning", len(others), len(others))
    first = alignments[others[0], pivot]
    mapped = {pivot: first.transform(spaces[pivot], "tgt")}
    mapped.update({name: alignments[name, pivot].transform(spaces[name], "src") for name in others})
    aligned = Aligned(
        mapped, alignments, {"method": aligner.method.name, "settings": dataclasses.asdict(aligner), "pivot": pivot}
    )

    def measure(spaces: Aligned, pair: tuple[str, str], test: Lexicon) -> Results:
        return evaluate(spaces, test, source=pair[0], target=pair[1], score=score, progress=progress)

    results: dict[tuple[str, str], Results] = {}
    direct: dict[tuple[str, str], Result] = {}
    for pair, test in held.items():
        results[pair] = measure(aligned, pair, test)
    for pair, test in tests.items():
        if pivot not in pair:
            results[pair] = measure(aligned, pair, test)
    for (source, target), lexicon in lexicons.items():
        if pivot in (source, target) or source not in spaces or target not in spaces:
            continue
        if between(tests, source, target) is not None:
            continue
        train, test = split_lexicon(lexicon, spaces[source], spaces[target], seeds=seeds, held_out=held_out)
        if test is None:
            continue
        results[source, target] = measure(aligned, (source, target), test)
        if aligner.method.supervision != "unsupervised":
            direct_map = aligner.fit(spaces[source], spaces[target], train, progress=progress)
            pair_spaces = Aligned.pair(direct_map, spaces[source], spaces[target])
            direct[source, target] = measure(pair_spaces, (source, target), test)[0]
    for (source, target), figures in results.items():
        warnings += few_words(figures, where=f"from {source} to {target}")
    outcome = PivotOutcome(aligned, results, direct, tuple(warnings))
    info = {**aligned.info, "pairs": outcome.record(), "warnings": warnings}
    return dataclasses.replace(outcome, aligned=dataclasses.replace(aligned, info=info))
