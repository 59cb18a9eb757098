"""Dictionaries out of aligned spaces: the translations of every word, with confidences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isoglot.aligned.calibration import Calibration, Examples
from isoglot.aligned.candidates import COMPARED, Candidates, find_candidates, reranker_for
from isoglot.aligned.case_forms import CaseForms, check_kinds, kind_of
from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon, frequency_ranks, writable, write_dictionary
from isoglot.progress import Progress, silent
from isoglot.spaces import Space

if TYPE_CHECKING:
    from isoglot.aligned.aligned import Aligned


@dataclasses.dataclass(frozen=True)
class InducedPair:
    """One line of an induced dictionary."""

    source: str
    target: str
    score: float
    confidence: float
    mutual: bool


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class InducedLexicon(Lexicon):
    """A dictionary that was induced: a Lexicon whose pairs have scores and confidences, which `save` writes too.

    Args:
        entries: the pairs with all that is known of them, in the same order.
        calibration: what the confidences rest on; without one they only order the pairs.
    """

    entries: Sequence[InducedPair] = ()
    calibration: Calibration | None = None

    def save(
        self, path: str | Path, *, confidence: Sequence[float] | None = None, format: str | None = None
    ) -> list[Path]:
        """Write it as TSV, CSV (both with a header), StarDict or TMX: see `isoglot.lexicons.write_dictionary`."""
        if confidence is not None:
            raise ConfigError("the pairs have their confidences already", where="confidence", remedy="leave it out")
        columns: dict[str, Sequence[float] | Sequence[bool]] = {
            "uncalibrated" if self.calibration is None else "confidence": [one.confidence for one in self.entries],
            "score": [one.score for one in self.entries],
            "mutual": [one.mutual for one in self.entries],
        }
        return write_dictionary(path, self, columns, format=format)


def induce(
    aligned: Aligned,
    *,
    source: str | None = None,
    target: str | None = None,
    k: int = 1,
    limit: int | None = None,
    mutual: bool = False,
    minimum: float = 0.0,
    skip: str | Sequence[str] = (),
    merge_case: bool = True,
    score: str = "csls",
    backend: str = "exact",
    rerank: bool | None = None,
    calibrate: Lexicon | None = None,
    progress: Progress = silent,
) -> InducedLexicon:
    """A dictionary: the k best translations of each of the `limit` most frequent source words, in that order.

    Words that no dictionary file can hold, such as a byte order mark, are left out.

    Args:
        mutual: keep only pairs that choose each other. What a target word chooses is taken from the plain order.
        minimum: keep only pairs of at least this confidence.
        skip: leave out "punctuation", "numerals" (both also as translations) and "names": source words whose most
            frequent form is capitalised, which in German means nouns too.
        merge_case: of forms that differ in case only, keep the one the language uses most, and list a source word
            once unless its forms translate differently.
        rerank: as in `translate`.
        calibrate: pairs to calibrate confidences on, which the alignment has not learned from. By default those held
            out when it was made; without any, confidences are shares among a word's candidates.
    """
    kinds = check_kinds([skip] if isinstance(skip, str) else list(skip))
    if k < 1:
        raise ConfigError(f"the number of translations must be at least 1, got {k}", where="k")
    source, target = aligned.direction(source, target)
    src, tgt = aligned.spaces[source], aligned.spaces[target]
    search: dict[str, Any] = {
        "score": score, "backend": backend, "rerank": rerank, "merge_case": merge_case, "progress": progress
    }  # fmt: skip
    rows = np.argsort(frequency_ranks(src), kind="stable")[:limit]
    found = find_candidates(aligned, source, target, rows, most=k + COMPARED, **search)
    calibration = None
    if calibrate is not None:
        calibration = Calibration.learn(Examples.of(aligned, calibrate, source, target, **search))
    elif score == "csls":
        reranked = reranker_for(aligned, source, target, score, rerank) is not None
        calibration = aligned.calibrations.get((source, target, reranked))
    sure = found.shares if calibration is None else calibration(found.features())
    usable = (found.indices >= 0) & _usable(src, kinds, names=True)[rows][:, None]
    usable &= _usable(tgt, kinds)[found.indices]
    entries = []
    for number in _without_repeated_forms(found, usable, src, tgt) if merge_case else range(len(rows)):
        for place in np.flatnonzero(usable[number])[:k]:
            if (found.mutual[number, place] or not mutual) and sure[number, place] >= minimum:
                entries.append(
                    InducedPair(
                        src.words[rows[number]],
                        tgt.words[found.indices[number, place]],
                        float(found.scores[number, place]),
                        float(sure[number, place]),
                        bool(found.mutual[number, place]),
                    )
                )
    pairs = [(one.source, one.target) for one in entries]
    return InducedLexicon(pairs, source, target, entries=tuple(entries), calibration=calibration)


def _usable(space: Space, skip: Sequence[str], *, names: bool = False) -> npt.NDArray[np.bool_]:
    """Which words can be written and are not of the kinds to leave out; names are looked for only where asked."""
    usable = np.fromiter(
        (kind_of(word) not in skip and writable(word) for word in space.words), dtype=np.bool_, count=len(space)
    )
    if names and "names" in skip:
        usable &= ~CaseForms.of(space).names
    return usable


def _without_repeated_forms(found: Candidates, usable: npt.NDArray[np.bool_], src: Space, tgt: Space) -> Iterator[int]:
    """Rows of candidates, without source words that a more frequent form in other case translates alike."""
    source_groups, target_groups = CaseForms.of(src).groups, CaseForms.of(tgt).groups
    seen = set()
    for number, row in enumerate(found.rows):
        places = np.flatnonzero(usable[number])
        if len(places):
            key = (int(source_groups[row]), int(target_groups[found.indices[number, places[0]]]))
            if key not in seen:
                seen.add(key)
                yield number
