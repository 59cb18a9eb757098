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
from isoglot.progress import Progress, silent
from isoglot.reproductions.density.real.joint_align import joint_align_encoder
from isoglot.reproductions.density.real.material import Material, Trials, linked_lines, parallel_lines
from isoglot.reproductions.density.real.plan import INFOXLM, JOINT_ALIGN, ROWS, Job, RealPlan
from isoglot.reproductions.density.real.scoring import Map, Score, as_they_come, map_of, task_scores, words_found
from isoglot.reproductions.rows import encoder_key, slug, text_key
from isoglot.resumable import kept, run_key
from isoglot.text import ParallelText


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a job came to.

    scores: by task. validation: P@1 of CBLI on other lines. criteria: of the map that was kept, "semantic" and
    "structural", where the method has them. seconds: of the fit. missing: why there is nothing.
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
    lines = functools.cache(lambda lang: linked_lines(texts[lang], plan.sentences, plan.held_out, progress))

    @functools.cache
    def material(language: str, name: str) -> Material:
        test = trials.get(language, Trials())
        names = (language, "en")
        return Material(opened(name), lines(language), test, plan.points, languages=names, seed=seed, progress=progress)

    shown = {
        lang: run_key(encoder_key(encoder), layer, seed, text_key(texts[lang]), _trials_key(trials.get(lang, Trials())))
        for lang in languages
    }
    for name in filter(None, (encoder, infoxlm)):
        opened(name)  # one that cannot be had is told before any work
    for job in jobs:
        settings = {**plan.settings(job), **overrides.get(ROWS[job.row].method, {})}
        sizes = (plan.sentences, plan.points, plan.held_out, plan.cbli, plan.joint_align)
        key = run_key("real", shown[job.language], dataclasses.asdict(job), settings, sizes, infoxlm)
        bring_material = functools.partial(material, job.language)
        make = functools.partial(_run, job, plan, encoder, infoxlm, settings, bring_material, taught, seed, progress)
        place = output / "runs" / f"{slug(job.slug)}.json"
        progress("alignments (jobs)", len(done), len(jobs))
        reason = _left_out(job, plan, infoxlm)
        done.append(Outcome(job, missing=reason) if reason else kept(place, key, Outcome, make))
    progress("alignments (jobs)", len(done), len(jobs))
    return done


def _left_out(job: Job, plan: RealPlan, infoxlm: str | None) -> str:
    """Why a row has nothing to run; nothing where it has."""
    if job.row == JOINT_ALIGN and not plan.joint_align:
        return "no lines to fine-tune the encoder on are asked for (`joint_align`)"
    if job.row == INFOXLM and infoxlm is None:
        return "no such encoder was named (`infoxlm`)"
    return ""


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
    seconds = 0.0
    there: Map = as_they_come
    facts: dict[str, Any] = {}
    criteria: dict[str, float] = {}
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
        seconds = time.perf_counter() - began
        facts = {name: alignment.info[name] for name in _FACTS if name in alignment.info} | {"points": len(X)}
        criteria = {name: float(alignment.info[name]) for name in _CRITERIA if name in alignment.info}
    scores = task_scores(there, found, plan.cbli, progress=progress)
    validation = words_found(there, found.validation, plan.cbli).value
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
