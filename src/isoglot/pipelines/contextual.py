"""Encoders and parallel text put to use: align and test on held-out lines, test words, judge translations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners import Aligner, Alignment
from isoglot.encoders import AlignedEncoder, Encoder, Level
from isoglot.errors import InputError
from isoglot.pipelines.alignment_checks import Check, CheckOutcome, choose_with_checks, compared, run_checks
from isoglot.pipelines.audit_measures import DOMINANT, dominance
from isoglot.pipelines.contextual_pairs import ContextualPairs
from isoglot.pipelines.encoder_alignment import align_encoder, fit_alignment, tokenise
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, parse_occurrence, parse_steps
from isoglot.tasks import Result, Results, WmtSegment, content_words, rfeval, tatoeba, word_mover_scores
from isoglot.text import ParallelText, segmenter as segmenter_named
from isoglot.wordalign import WordLinks

#: Lines to test on where nothing is said: this share, but no more than Tatoeba's usual thousand.
SHARE, MOST = 0.2, 1000


@dataclasses.dataclass(frozen=True, eq=False)
class ContextualOutcome:
    """The aligned encoder, and sentence retrieval on the lines held out before and after (empty if there are none).

    `checks` are the same comparisons on text of other kinds; `warnings` say where the alignment hurts.
    """

    aligned: AlignedEncoder
    before: Results
    after: Results
    learned: int
    left_out: int
    checks: Sequence[CheckOutcome] = ()
    warnings: Sequence[str] = ()

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "languages": list(self.aligned.languages),
            "info": dict(self.aligned.info),
            "learned_from": self.learned,
            "left_out": self.left_out,
            "before": self.before.record(),
            "after": self.after.record(),
            "checks": [check.record() for check in self.checks],
            "warnings": list(self.warnings),
        }


def align_and_test(
    encoder: Encoder,
    text: ParallelText,
    aligner: Aligner,
    *,
    level: Level = "sentence",
    held_out: int | None = None,
    per_layer: bool = False,
    segmenter: str = "icu",
    method: str = "itermax",
    settings: Mapping[str, Any] | None = None,
    links: Sequence[WordLinks] | None = None,
    links_name: str = "links",
    checks: Sequence[Check] = (),
    checkpoint: Path | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> ContextualOutcome:
    """Learn from all lines but the last `held_out`, on which sentences are searched for with cosine and with CSLS.

    `checks`: texts of other kinds; a method that has a pull to choose chooses it with them, see `alignment_checks`.
    """
    if links is not None and len(links) != len(text):
        raise InputError(f"{len(links):,} lines of word links for {len(text):,} sentences")
    if links is not None:
        # Against the whole text, so that an error names the line of the file.
        tokenise(text, segmenter, links=links, links_name=links_name)
    kept = [number for number, (src, tgt) in enumerate(text) if src.strip() and tgt.strip()]
    train, test = split_text(text, kept, held_out)
    aligned = align_encoder(
        encoder,
        train,
        aligner,
        level=level,
        per_layer=per_layer,
        segmenter=segmenter,
        method=method,
        settings=settings,
        links=None if links is None else [links[number] for number in kept[: len(train)]],
        choose=lambda learn: choose_with_checks(learn, aligner, checks, seed=seed, progress=progress),
        checkpoint=checkpoint,
        progress=progress,
    )
    before, after = Results(), Results()
    outcomes = run_checks(aligned, checks, seed=seed, progress=progress)
    own, huge = [], []
    if len(test):
        src, tgt = aligned.languages
        raw = [encoder.sentences(side, step="encoding the test", progress=progress) for side in (test.src, test.tgt)]
        before = search_sentences(raw[0], raw[1], test, seed=seed)
        huge = _huge_dimensions(raw, aligner)
        mapped = [aligned.sentences(side, lang, progress=progress) for side, lang in ((test.src, src), (test.tgt, tgt))]
        after = search_sentences(mapped[0], mapped[1], test, seed=seed)
        own = [compared("the lines held out", *(_by_csls(found) for found in (before, after)), seed=seed)]
    warnings = [one.warning for one in (*own, *outcomes) if one.hurts] + huge
    info = {**aligned.info, "results": after.record(), "before": before.record()}
    info |= {"checks": [one.record() for one in outcomes], "warnings": warnings}
    aligned = dataclasses.replace(aligned, info=info)
    return ContextualOutcome(aligned, before, after, len(train), len(text) - len(kept), outcomes, warnings)


def _huge_dimensions(sides: Sequence[FloatMatrix], aligner: Aligner) -> list[str]:
    """What to tell of an encoder in which few dimensions hide all others from an aligner that does not scale them."""
    share = min(dominance(side) for side in sides)
    if share < DOMINANT or {"standardise", "whiten"} & set(parse_steps(aligner.normalise)):
        return []
    remedy = "set `normalise` to standardise,unit, or choose another layer (`isoglot audit`)"
    return [f"three dimensions hold {100 * share:.0f}% of the length of this layer's vectors; {remedy}"]


def search_sentences(X: Any, Y: Any, text: ParallelText, *, seed: int = 0) -> Results:
    """Tatoeba's measure with cosine and with CSLS; the mean of both directions comes first of each."""
    found = Results()
    for score in ("cosine", "csls"):
        found += tatoeba(X, Y, score=score, sentences=(text.src, text.tgt), seed=seed)
    return found


def _by_csls(found: Results) -> Result:
    return next(one for one in found if one.metric == "P@1" and one.protocol["score"] == "csls")


def split_text(text: ParallelText, kept: Sequence[int], held_out: int | None) -> tuple[ParallelText, ParallelText]:
    """Lines to learn from, and the last ones to test on."""
    count = min(int(len(kept) * SHARE), MOST) if held_out is None else held_out
    if len(kept) - count < 1:
        raise InputError(
            f"{count:,} lines are held out, of {len(kept):,} with text on both sides: none is left to learn from",
            remedy="give more text or a smaller `held_out`",
        )
    parts = []
    for numbers in (kept[: len(kept) - count], kept[len(kept) - count :]):
        src, tgt = ([side[number] for number in numbers] for side in (text.src, text.tgt))
        parts.append(dataclasses.replace(text, src=tuple(src), tgt=tuple(tgt)))
    return parts[0], parts[1]


def held_out_words(
    aligner: Aligner, found: ContextualPairs, *, test: int, seed: int = 0, progress: Progress = silent
) -> tuple[Alignment, ContextualPairs]:
    """Learn on the words of some sentences; gives the alignment, and the pairs of the other sentences.

    Whole sentences are held out: a word would otherwise be tested beside neighbours it was learned with.
    """
    sentences = np.array([parse_occurrence(found.src.words[row])[1] for row in found.pairs[:, 0]])
    distinct = np.unique(sentences)
    if len(distinct) < 2:
        raise InputError("the pairs come from one sentence: there is nothing to hold out")
    order = np.random.default_rng([seed, 7]).permutation(distinct)
    counts = np.bincount(np.searchsorted(distinct, sentences))[np.searchsorted(distinct, order)]
    # As many sentences as give the test its pairs, but never more than half.
    taken = int(np.searchsorted(np.cumsum(counts), test)) + 1
    tested = np.isin(sentences, order[: min(taken, len(order) // 2)])
    learned = _restricted(found, ~tested)
    alignment = fit_alignment(aligner, learned.src, learned.tgt, learned.pairs, progress=progress)
    return alignment, _restricted(found, tested)


def _restricted(found: ContextualPairs, chosen: npt.NDArray[np.bool_]) -> ContextualPairs:
    """Only these pairs, and only the occurrences in them."""
    src, i = np.unique(found.pairs[chosen, 0], return_inverse=True)
    tgt, j = np.unique(found.pairs[chosen, 1], return_inverse=True)
    return ContextualPairs(found.src.take(src), found.tgt.take(tgt), np.stack([i, j], axis=1), found.info)


def judge_translations(
    encoders: tuple[Encoder, Encoder],
    segments: Sequence[WmtSegment],
    languages: tuple[str, str],
    *,
    ngram: int = 1,
    segmenter: str = "icu",
    seed: int = 0,
    progress: Progress = silent,
) -> Results:
    """Correlation of word mover's scores with people's, for the translations of one language pair."""
    sides = []
    for encoder, lang, texts in (
        (encoders[0], languages[0], [segment.source for segment in segments]),
        (encoders[1], languages[1], [segment.hypothesis for segment in segments]),
    ):
        split = segmenter_named(segmenter, lang)
        sentences = [split(text) for text in texts]
        vectors = encoder.words(sentences, step=f"encoding {lang}", progress=progress)
        sides.append(
            [
                vectors[number][content_words(words)] if words else vectors[number]
                for number, words in enumerate(sentences)
            ]
        )
    scores = word_mover_scores(sides[0], sides[1], ngram=ngram, progress=progress)
    protocol = {"cost": "squared distance of unit vectors", "ngram": ngram, "layer": str(encoders[0].layers)}
    return rfeval(scores, [segment.human for segment in segments], protocol=protocol, seed=seed)
