"""The main job: two Spaces and a dictionary in, aligned spaces and a figure for how good they are out."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

from isoglot.aligned import Aligned
from isoglot.aligners import Aligner, Auto, remembering
from isoglot.errors import LexiconError
from isoglot.lexicons import Coverage, Lexicon, check_direction
from isoglot.pipelines.automatic import (
    calibrated_on_a_part,
    cross_validated,
    cross_validated_reranked,
    doubts,
    with_reranking,
    worth_reranking,
)
from isoglot.pipelines.small_data import few_pairs, few_words
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.tasks import Results, evaluate


@dataclasses.dataclass(frozen=True, eq=False)
class PairOutcome:
    """What came out: the aligned spaces, figures (none without a test lexicon), coverage, seconds by step."""

    aligned: Aligned
    results: Results
    train: Lexicon | None
    test: Lexicon | None
    test_coverage: Coverage | None
    seconds: dict[str, float]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the method says of its result, such as that it did not work, and what rests on too little data."""
        return tuple(self.aligned.info["warnings"])


def align_pair(
    src: Space,
    tgt: Space,
    aligner: Aligner,
    *,
    train: Lexicon | None,
    test: Lexicon | None = None,
    calibrate: Lexicon | None = None,
    score: str = "csls",
    neighbourhood: int = 10,
    threads: int | None = None,
    checkpoint: Path | None = None,
    rerank: bool | None = None,
    progress: Progress = silent,
) -> PairOutcome:
    """Fit, map both sides, and measure on `test`.

    With `calibrate`, confidences of dictionaries are calibrated on those of its words, and of `test`, that are not in
    `train`. `checkpoint` is where an iterative method keeps its state. `rerank` also trains a re-ranker on the seeds,
    keeps it with the aligned spaces, and reports its figures after the plain ones; None does so for `auto` unless it is
    to be quick, if held-out seeds are the better for it. Without `test`, the figures of `auto` are those of its
    cross-validation.
    """
    for lexicon in (train, test):
        if lexicon is not None:
            check_direction(lexicon, src, tgt)
    if rerank and train is None:
        raise LexiconError("a re-ranker learns from translation pairs", remedy="give a lexicon, or no `rerank`")
    seconds = {}
    search: dict[str, Any] = {"seed": aligner.seed, "threads": threads, "progress": progress}
    # What `auto` has fitted to compare methods also teaches the re-ranker and calibrates confidences.
    with remembering():
        started = time.perf_counter()
        alignment = aligner.fit(src, tgt, train, progress=progress, checkpoint=checkpoint)
        seconds["align"] = time.perf_counter() - started
        reranker = None
        if train is not None and (rerank or (rerank is None and worth_reranking(aligner, src, tgt, train))):
            started = time.perf_counter()
            alignment, reranker = with_reranking(alignment, aligner, src, tgt, train, insist=bool(rerank), **search)
            seconds["rerank"] = time.perf_counter() - started
        choice = alignment.info.get("auto", {})
        aligned = Aligned.pair(alignment, src, tgt)
        if calibrate is not None and isinstance(aligner, Auto) and choice and train is not None and test is None:
            started = time.perf_counter()
            aligned = calibrated_on_a_part(aligned, aligner, src, tgt, train, reranker, progress=progress)
            seconds["calibrate"] = time.perf_counter() - started
    results = Results()
    started = time.perf_counter()
    if test is not None:
        results += evaluate(aligned, test, score=score, neighbourhood=neighbourhood, **search)
    elif "p_at_1" in choice:
        results += [cross_validated(choice)]
        # As an evaluation would: kept with the spaces, so that the first translation need not wait for it.
        aligned.retriever(*aligned.names, neighbourhood=neighbourhood, threads=threads, progress=progress)
    if reranker is not None:
        aligned = aligned.with_reranker(reranker)
        if test is not None:
            results += evaluate(aligned, test, rerank=True, **search)
        elif choice:
            results += [cross_validated_reranked(reranker)]
    seconds["evaluate"] = time.perf_counter() - started
    if calibrate is not None:
        started = time.perf_counter()
        given = [pair for lexicon in (train, test, calibrate) if lexicon is not None for pair in lexicon.pairs]
        # Of a test lexicon reversed, most translations are missing: all but those among the words tested.
        aligned = aligned.calibrated(Lexicon(given), seen=train, both=calibrate is not test, progress=progress)
        seconds["calibrate"] = seconds.get("calibrate", 0.0) + time.perf_counter() - started
    warnings = [str(alignment.info["warning"])] if alignment.info.get("warning") else []
    if aligner.method.supervision == "supervised":
        warnings += few_pairs(alignment.info["pairs"], min(src.dim, tgt.dim))
    warnings += [*few_words(results), *doubts(choice)]
    info: dict[str, Any] = {
        "method": aligner.method.name,
        "settings": dataclasses.asdict(aligner),
        "train_pairs": alignment.info["pairs"],
        "lexicons": _lexicons(train, test),
        "results": results.record(),
        "seconds": {step: round(value, 3) for step, value in seconds.items()},
        **({"auto": choice} if choice else {}),
        "warning": alignment.info.get("warning"),
        "warnings": warnings,
        "provenance": {key: alignment.info[key] for key in ("src", "tgt", "seed", "versions")},
    }
    return PairOutcome(
        dataclasses.replace(aligned, info=info),
        results,
        train,
        test,
        None if test is None else test.coverage(src, tgt),
        seconds,
    )


def _lexicons(train: Lexicon | None, test: Lexicon | None) -> list[dict[str, Any]]:
    """What was learned from and tested on, and how many of the words tested were also learned from."""
    found = [] if train is None else [{"use": "learned from", **train.record()}]
    if test is not None:
        seen = 0 if train is None else len(train.by_source.keys() & test.by_source.keys())
        found.append({"use": "tested on", **test.record(), "seen": seen})
    return found
