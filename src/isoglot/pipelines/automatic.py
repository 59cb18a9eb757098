"""What a job adds to the choice of `auto`: its figures as results, re-ranking at the best effort, doubts, sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from isoglot.aligned import Aligned, Reranker
from isoglot.aligners import Aligner, Alignment, Auto, folds, parts_for, spelled
from isoglot.lexicons import Lexicon
from isoglot.pipelines.feedback import NEAR, learn_from_confident, near, near_reranker
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.tasks import Result, bootstrap_intervals

#: Fewer seed words teach a re-ranker nothing.
_LEAST_TO_RERANK = 100
#: Words that confidences are calibrated on, at least.
_TO_CALIBRATE = 100
#: A cross-validated P@1 that is surely below this is a failure.
_FAILED = 0.1


def estimated_time(src: Space, tgt: Space, train: Lexicon, aligner: Auto) -> str:
    """A sentence about how long `auto` will take."""
    sources = len(train.restrict(src, tgt).by_source)
    spelling = spelled((src.words, tgt.words))
    seconds = aligner.estimate((len(src), len(tgt)), min(src.dim, tgt.dim), sources, spelled=spelling)
    about = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{max(1, round(seconds))} seconds"
    return f"auto, effort {aligner.effort}: about {about}"


def cross_validated(choice: Mapping[str, Any]) -> Result:
    """The figure of what `auto` has chosen, see `isoglot.aligners.Auto`."""
    low, high = choice["interval"]
    protocol = {
        "denominator": "cross-validated",
        "score": "csls",
        "folds": choice["folds"],
        "searched": choice["searched"],
    }
    return Result("bli", "P@1", choice["p_at_1"], choice["words"], 1.0, protocol, (low, high))


def cross_validated_reranked(reranker: Reranker) -> Result:
    """The re-ranker's figure on seed words that neither the maps nor its model had seen."""
    facts = reranker.info["held_out"]
    right = round(facts["reranked"] * facts["n"])
    hits = np.r_[np.ones(right), np.zeros(facts["n"] - right)]
    low, high = bootstrap_intervals(hits[:, None])[0].tolist()
    protocol = {
        "denominator": "cross-validated",
        "score": "csls",
        "folds": reranker.info["folds"],
        "rerank": reranker.describe(),
    }
    return Result("bli", "P@1", facts["reranked"], facts["n"], 1.0, protocol, (low, high))


def worth_reranking(aligner: Aligner, src: Space, tgt: Space, train: Lexicon) -> bool:
    """Whether `auto` goes on to re-rank: unless it shall be quick, with words and seeds enough."""
    if not isinstance(aligner, Auto) or aligner.effort == "quick" or not spelled((src.words, tgt.words)):
        return False
    return len(train.restrict(src, tgt).by_source) >= _LEAST_TO_RERANK


def fitted_aligner(aligner: Aligner, choice: Mapping[str, Any]) -> Aligner:
    """The aligner itself, or the one that `auto` has chosen, which need not be chosen again for every part."""
    return aligner.chosen(choice) if isinstance(aligner, Auto) else aligner


def with_reranking(
    alignment: Alignment,
    aligner: Aligner,
    src: Space,
    tgt: Space,
    train: Lexicon,
    *,
    insist: bool = False,
    **search: Any,
) -> tuple[Alignment, Reranker | None]:
    """A re-ranker for what was aligned; `auto` at its best effort also learns once more from its translations.

    None where held-out seeds are no better off re-ranked, unless the caller does `insist`.
    """
    choice = alignment.info.get("auto", {})
    own = fitted_aligner(aligner, choice)
    if isinstance(aligner, Auto):
        search |= {"folds": parts_for(aligner.effort), "rows": NEAR}
    # Named as in the aligned folder, which tells two Spaces of one language apart.
    names = Aligned.pair(alignment, src.take([0]), tgt.take([0])).names
    source, target = (dataclasses.replace(one, lang=name) for one, name in zip((src, tgt), names, strict=True))
    reranker = Reranker.train(source, target, train, [own], **search)
    if not (insist or gains(reranker)):
        return alignment, None
    if not choice:
        return alignment, reranker
    told = {**choice, "pin": " ".join([choice["pin"], "--rerank"])}
    if isinstance(aligner, Auto) and aligner.effort == "best":
        again = learn_from_confident(source, target, train, own, alignment, reranker, search["progress"])
        if again is not None:
            found, told["fed_back"] = again
            kept = {key: alignment.info[key] for key in ("pairs", "src", "tgt")}
            alignment = dataclasses.replace(
                found, method=alignment.method, config=alignment.config, info={**found.info, **kept}
            )
    return dataclasses.replace(alignment, info={**alignment.info, "auto": told}), reranker


def calibrated_on_a_part(
    aligned: Aligned,
    aligner: Auto,
    src: Space,
    tgt: Space,
    train: Lexicon,
    reranker: Reranker | None = None,
    *,
    progress: Progress = silent,
) -> Aligned:
    """With confidences calibrated although the aligned spaces have seen all pairs.

    The chosen method's map of all parts but the last, or after a quick look of nine tenths of the words, is asked for
    the other words: it makes much the same scores. They calibrate the order of a `reranker` too, as it is without them.
    """
    usable = train.restrict(src, tgt)
    words = list(usable.by_source)
    if len(words) < 2 * _TO_CALIBRATE:
        return aligned
    if aligner.effort == "quick":
        drawn = np.random.default_rng(aligner.seed).permutation(len(words))[: max(_TO_CALIBRATE, len(words) // 10)]
        asked = {words[number] for number in drawn}
    else:
        _, kept = folds(usable.indices(src, tgt), parts_for(aligner.effort), aligner.seed)[-1]
        asked = {src.words[row] for row in kept[:, 0].tolist()}
    part = dataclasses.replace(train, pairs=[pair for pair in usable.pairs if pair[0] not in asked])
    (choice,) = (one.info["auto"] for one in aligned.alignments.values())
    fitted = Aligned.pair(aligner.chosen(choice).fit(src, tgt, part, progress=progress), near(src), near(tgt))
    if reranker is not None and reranker.unseen is not None and aligner.effort != "quick":
        fitted = fitted.with_reranker(near_reranker(reranker.unseen[1], tgt))
    return dataclasses.replace(
        aligned, calibrations=fitted.calibrated(train, seen=part, progress=progress).calibrations
    )


def gains(reranker: Reranker) -> bool:
    """Whether held-out seeds are better off re-ranked."""
    held_out = reranker.info["held_out"]
    return bool(held_out["reranked"] > held_out["plain"])


def doubts(choice: Mapping[str, Any]) -> list[str]:
    """A warning where the cross-validation shows that nothing fits.

    >>> doubts({"p_at_1": 0.01, "interval": [0.0, 0.03], "words": 300})
    ['only 1.0% of 300 words are translated rightly from the other pairs: do lexicon and vectors belong together?']
    """
    if "p_at_1" not in choice or choice["interval"][1] >= _FAILED:
        return []
    return [
        f"only {choice['p_at_1']:.1%} of {choice['words']} words are translated rightly from the other pairs: "
        "do lexicon and vectors belong together?"
    ]


def without_figure(outcome: Any) -> str:
    """What to tell where no pairs measure the result: the P@1 to expect by the verdict, if there is one."""
    (alignment,) = outcome.aligned.alignments.values()
    expected = alignment.info.get("expected_p1")
    if expected is None:
        return "no figure: give translation pairs of a test set to measure"
    about = f"{expected['value']:.2f} ({expected['low']:.2f} to {expected['high']:.2f})"
    return f"no pairs to measure on; judging by the vectors alone, P@1 may be about {about}"


def choice_lines(choice: Mapping[str, Any] | None) -> list[str]:
    """What `auto` says about its choice, a sentence a line; nothing for another method."""
    if choice is None:
        return []
    lines = []
    for one in choice["tried"]:
        if "left_out" in one:
            lines.append(f"left out {one['label']}: {one['left_out']}")
        elif "p_at_1" in one:
            low, high = one["interval"]
            lines.append(
                f"tried {one['label']}: P@1 {one['p_at_1']:.3f} ({low:.3f} to {high:.3f}), {one['seconds']:.0f} s"
            )
    lines.append(f"chose {choice['chosen']}: {choice['why']}")
    if "fed_back" in choice:
        facts = choice["fed_back"]
        held_out = facts["held_out"]
        lines.append(
            f"learned again with {facts['pairs']:,} confident translations: P@1 of {held_out['n']} held-out words "
            f"{held_out['before']:.3f} before, {held_out['after']:.3f} after"
        )
    lines.append(f"to pin it: {choice['pin']}")
    return lines
