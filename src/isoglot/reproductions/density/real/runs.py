"""All alignments of all language pairs on one encoder; what was finished is kept, so that a killed run resumes."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import aligner
from isoglot.encoders import Encoder
from isoglot.errors import IsoglotError
from isoglot.progress import Progress, silent
from isoglot.reproductions.density.real.joint_align import joint_align_encoder
from isoglot.reproductions.density.real.material import Material, Trials, linked_lines, parallel_lines
from isoglot.reproductions.density.real.plan import JOINT_ALIGN, ROWS, Job, RealPlan
from isoglot.reproductions.density.real.scoring import Score, as_they_come, map_of, task_scores, words_found
from isoglot.reproductions.rows import encoder_key, slug, text_key
from isoglot.resumable import kept, run_key
from isoglot.text import ParallelText


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a job came to.

    scores: by task. validation: P@1 of CBLI on other lines. criteria: of the map that was kept, "semantic" and
    "structural", where the method has them. missing: why there is nothing.
    """

    job: Job
    scores: Mapping[str, Score] = dataclasses.field(default_factory=dict)
    validation: float | None = None
    criteria: Mapping[str, float] = dataclasses.field(default_factory=dict)
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    missing: str = ""


def run_real(
    plan: RealPlan,
    encoder: str,
    languages: Sequence[str],
    trials: Mapping[str, Trials],
    output: Path,
    *,
    layer: str = "-1",
    infoxlm: str | None = None,
    overrides: Mapping[str, Mapping[str, Any]] = {},
    seed: int = 0,
    load: Callable[[str, int], ParallelText] | None = None,
    progress: Progress = silent,
) -> list[Outcome]:
    """All jobs of the plan.

    Args:
        languages: each is aligned with English.
        trials: test data by language.
        infoxlm: the encoder of that row.
        overrides: settings by method, over those of the plan.
        load: brings so many parallel lines of a language; the catalogue's by default.
    """
    done: list[Outcome] = []
    bring = load or functools.partial(_catalogue_lines, seed=seed, progress=progress)
    jobs = list(plan.jobs(list(languages)))
    texts = {lang: bring(lang, plan.sentences + 2 * plan.held_out) for lang in languages}
    opened = functools.cache(lambda name: Encoder(name, layer=layer, cache=output / "cache", progress=progress))
    taught = functools.partial(
        joint_align_encoder, encoder, texts, plan, output / "joint-align", seed=seed, progress=progress
    )
    for language in languages:
        lines = functools.cache(
            lambda text=texts[language]: linked_lines(text, plan.sentences, plan.held_out, progress)
        )
        test = trials.get(language, Trials())

        @functools.cache
        def material(name: str, language: str = language, lines: Any = lines, test: Trials = test) -> Material:
            names = (language, "en")
            return Material(
                opened(name), lines(), test, plan.points, languages=names, seed=seed, progress=progress
            )

        shown = run_key(encoder_key(encoder), layer, seed, text_key(texts[language]), _trials_key(test))
        for job in (one for one in jobs if one.language == language):
            own = overrides.get(ROWS[job.row].method, {})
            settings = {**plan.settings(job), **own}
            sizes = (plan.sentences, plan.points, plan.held_out, plan.cbli, plan.joint_align)
            key = run_key("real", shown, dataclasses.asdict(job), settings, sizes, infoxlm)
            make = functools.partial(_run, job, plan, encoder, infoxlm, settings, material, taught, seed, progress)
            place = output / "runs" / f"{slug(job.slug)}.json"
            progress("alignments (jobs)", len(done), len(jobs))
            found = _missing(job, plan, infoxlm)
            done.append(found if found is not None else kept(place, key, Outcome, make))
    progress("alignments (jobs)", len(done), len(jobs))
    return done


def _missing(job: Job, plan: RealPlan, infoxlm: str | None) -> Outcome | None:
    """A row that has nothing to run, with the reason."""
    row = ROWS[job.row]
    if not row.encoder:
        return None
    if row.name == JOINT_ALIGN:
        return None if plan.joint_align else Outcome(job, missing="no lines to fine-tune on (joint_align)")
    return None if infoxlm else Outcome(job, missing="no encoder was named (--infoxlm)")


def _run(
    job: Job,
    plan: RealPlan,
    encoder: str,
    infoxlm: str | None,
    settings: Mapping[str, Any],
    material: Callable[[str], Material],
    taught: Callable[[], str],
    seed: int,
    progress: Progress,
) -> Outcome:
    row = ROWS[job.row]
    began = time.perf_counter()
    there, facts, criteria = as_they_come, {}, {}
    try:
        if row.encoder:
            found = material(taught() if row.name == JOINT_ALIGN else str(infoxlm))
        else:
            found = material(encoder)
        if row.method:
            X, Y = found.learned_from
            method = aligner(row.method, **{"seed": seed, **settings})
            began = time.perf_counter()
            if method.method.supervision == "unsupervised":
                # Nothing may be told by the order of rows.
                Y = Y[np.random.default_rng([seed, 5]).permutation(len(Y))]
                alignment = method.fit(X, Y, progress=progress)
            else:
                alignment = method.fit(X, Y, np.stack([np.arange(len(X))] * 2, axis=1), progress=progress)
            there = map_of(alignment)
            facts = {name: alignment.info[name] for name in _FACTS if name in alignment.info} | {"points": len(X)}
            criteria = {name: float(alignment.info[name]) for name in _CRITERIA if name in alignment.info}
        seconds = time.perf_counter() - began
        scores = task_scores(there, found, plan.cbli, progress=progress)
        validation = words_found(there, found.validation, plan.cbli).value
    except IsoglotError as error:
        return Outcome(job, missing=str(error))
    return Outcome(job, scores, validation, criteria, facts, round(seconds, 1))


_FACTS = ("aligned", "best_epoch", "collapsed", "warning", "start")
_CRITERIA = ("semantic", "structural")


def _trials_key(test: Trials) -> str:
    judged = [dataclasses.astuple(one) for one in test.judged or ()]
    gold = test.gold
    links = [] if gold is None else [[sorted(one.sure), sorted(one.possible)] for one in gold.links]
    words = [] if gold is None else [list(map(list, gold.src)), list(map(list, gold.tgt))]
    return run_key("" if test.tatoeba is None else text_key(test.tatoeba), judged, links, words)


def _catalogue_lines(language: str, lines: int, *, seed: int, progress: Progress) -> ParallelText:
    return parallel_lines(language, lines, seed, progress)
