"""The main job: two Spaces and a dictionary in, aligned spaces and a figure for how good they are out."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from isoglot.aligners.aligned import AlignedSpaces
from isoglot.aligners.base import Aligner
from isoglot.errors import LexiconError
from isoglot.lexicons import Coverage, Lexicon
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.tasks import Result, bli

__all__ = ["PairOutcome", "align_pair", "split_lexicon"]

#: The usual protocol (Conneau et al. 2018): 5,000 frequent words to learn from, the next 1,500 to test.
SEEDS = 5000
HELD_OUT = 1500


@dataclasses.dataclass(frozen=True, eq=False)
class PairOutcome:
    """What came out: the aligned spaces, figures (none without a test lexicon), coverage, seconds by step."""

    aligned: AlignedSpaces
    results: tuple[Result, ...]
    train: Lexicon | None
    test: Lexicon | None
    test_coverage: Coverage | None
    seconds: dict[str, float]


def split_lexicon(
    lexicon: Lexicon, src: Space, tgt: Space, *, seeds: int | None = None, held_out: int | None = None
) -> tuple[Lexicon, Lexicon | None]:
    """Seeds to learn from and pairs held out to test, by frequency of the source word.

    Only pairs that both spaces hold count. Unless said otherwise: 5,000 seeds and the next 1,500 where the lexicon is
    large enough, else every tenth part of the sources held out. `held_out=0` learns from everything.
    """
    usable = lexicon.restrict(src, tgt)
    sources = len(usable.by_source)
    if not sources or held_out == 0:
        train = lexicon if seeds is None or not sources else usable.split(src, train=min(seeds, sources), test=0)[0]
        return train, None
    if held_out is None:
        # Below twenty sources a tenth is no test at all.
        held_out = HELD_OUT if sources >= SEEDS + HELD_OUT else sources // 10 if sources >= 20 else 0
    if seeds is None:
        seeds = SEEDS if sources >= SEEDS + HELD_OUT else sources - held_out
    if not held_out:
        return usable, None
    if seeds + held_out > sources:
        raise LexiconError(
            f"only {sources:,} source words have a pair in both spaces, {seeds:,} + {held_out:,} were asked for",
            where=lexicon.source,
            remedy="lower --seeds or --held-out",
        )
    train, test = usable.split(src, train=seeds, test=held_out)
    return train, test


def align_pair(
    src: Space,
    tgt: Space,
    aligner: Aligner,
    *,
    train: Lexicon | None,
    test: Lexicon | None = None,
    score: str = "csls",
    neighbourhood: int = 10,
    threads: int | None = None,
    progress: Progress = silent,
) -> PairOutcome:
    """Fit, map both sides, and measure on `test`."""
    seconds = {}
    started = time.perf_counter()
    alignment = aligner.fit(src, tgt, train, progress=progress)
    aligned = AlignedSpaces.pair(alignment, src, tgt)
    seconds["align"] = time.perf_counter() - started
    results: list[Result] = []
    if test is not None:
        started = time.perf_counter()
        source, target = aligned.names
        retriever = aligned.retriever(
            source, target, score=score, neighbourhood=neighbourhood, threads=threads, progress=progress
        )
        results = bli(
            aligned.spaces[source],
            aligned.spaces[target],
            test,
            retriever=retriever,
            seed=aligner.seed,
            threads=threads,
            progress=progress,
        )
        seconds["evaluate"] = time.perf_counter() - started
    info: dict[str, Any] = {
        "method": aligner.method.name,
        "settings": dataclasses.asdict(aligner),
        "train_pairs": alignment.info["pairs"],
        "results": [result.record() for result in results],
        "seconds": {step: round(value, 3) for step, value in seconds.items()},
        "provenance": {key: alignment.info[key] for key in ("src", "tgt", "seed", "versions")},
    }
    return PairOutcome(
        dataclasses.replace(aligned, info=info),
        tuple(results),
        train,
        test,
        None if test is None else test.coverage(src, tgt),
        seconds,
    )
