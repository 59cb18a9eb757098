"""Joint-Align (Wang et al. 2020): text in two or more languages in, one shared space and figures for it out.

Train one set of vectors on all text together; take words away from languages in which they hardly occur; align what
each language then has alone. Every step can be left out, which is what the ablation does.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligned import Aligned, induce
from isoglot.aligners import Aligner, Alignment
from isoglot.criteria import measure
from isoglot.errors import ConfigError, InputError
from isoglot.joint import GAMMAS, JointSpace, between, refine
from isoglot.lexicons import Lexicon, check_direction, split_lexicon
from isoglot.pipelines.small_data import few_pairs, few_words
from isoglot.progress import Progress, silent
from isoglot.suggest import choose
from isoglot.tasks import Results, bli
from isoglot.text import same_language
from isoglot.wordvectors import Corpus, CorpusSettings, TextFile, Trained, Training, train_texts

Lexicons = Mapping[tuple[str, str], Lexicon]
Tell = Callable[[str], None]

#: How text is trained together: as it is; with words swapped for translations at random; by predicting translations.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "joint": {},
    "replace": {"replace": 0.5},
    "supervised": {"model": "cbow", "translate": True},
}
#: Below this many running words vectors mean little.
_LITTLE_TEXT = 1_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class JointJob:
    """What to do.

    Args:
        texts: one a language.
        lexicons: pairs to learn from, by (source, target).
        tests: pairs to test on; where a lexicon has none, part of it is held out.
        aligner: refines; None leaves the space as reallocation left it.
        gamma: of the reallocation; None chooses among the paper's values, 1 leaves it out.
        variant: of the training, see `VARIANTS`.
        pivot: whose space the others are brought into; the last language unless given.
    """

    texts: Sequence[TextFile]
    lexicons: Lexicons = dataclasses.field(default_factory=dict)
    tests: Lexicons = dataclasses.field(default_factory=dict)
    aligner: Aligner | None = None
    gamma: float | None = None
    variant: str = "joint"
    pivot: str | None = None
    corpus: CorpusSettings = dataclasses.field(default_factory=CorpusSettings)
    training: Training = dataclasses.field(default_factory=Training)

    def __post_init__(self) -> None:
        if len(self.texts) < 2:
            raise ConfigError("joint training takes at least two texts", remedy="name them as en=FILE fr=FILE")
        choose("variant", self.variant, VARIANTS)
        langs = [text.lang for text in self.texts]
        if self.gamma is not None and not 0.5 <= self.gamma <= 1:
            raise ConfigError(f"gamma lies between 0.5 and 1, not {self.gamma}")
        if self.pivot is not None and self.pivot not in langs:
            raise ConfigError(f"no text of the pivot {self.pivot!r}", remedy=f"there are: {', '.join(langs)}")
        for pair in [*self.lexicons, *self.tests]:
            for lang in pair:
                if lang not in langs:
                    raise ConfigError(f"a lexicon of {'-'.join(pair)}, but no text of {lang}")
        if self.variant != "joint":
            self._check_variant()
        if self.aligner is not None and self.aligner.method.supervision == "supervised":
            pivot = self.pivot or langs[-1]
            for lang in langs:
                if lang != pivot and between(self.lexicons, lang, pivot) is None:
                    raise ConfigError(
                        f"{self.aligner.method.name} learns from translation pairs, of {lang} and {pivot} too",
                        remedy="give it in `lexicons`, or refine by a method that needs no pairs",
                    )

    @property
    def variant_training(self) -> Training:
        """The training settings as the variant changes them."""
        return dataclasses.replace(self.training, **VARIANTS[self.variant])

    def _check_variant(self) -> None:
        if not self.lexicons:
            raise ConfigError(f"the variant {self.variant!r} trains on translation pairs", remedy="give `lexicons`")
        for pair in self.lexicons:
            if pair not in self.tests and pair[::-1] not in self.tests:
                raise ConfigError(
                    f"the variant {self.variant!r} trains on the lexicon of {'-'.join(pair)}, so nothing can be held "
                    "out of it afterwards",
                    remedy="give `tests`, a lexicon of its own to test on",
                )


@dataclasses.dataclass(frozen=True, eq=False)
class Stages:
    """The space as it was trained, reallocated, and refined (None if it was not)."""

    trained: JointSpace
    reallocated: JointSpace
    refined: JointSpace | None
    alignments: Mapping[tuple[str, str], Alignment]

    @property
    def last(self) -> JointSpace:
        return self.refined or self.reallocated


@dataclasses.dataclass(frozen=True, eq=False)
class JointOutcome:
    """What came out. `gammas`: what each value tried was worth, if one was chosen."""

    stages: Stages
    gamma: float
    gammas: Mapping[float, float]
    results: Mapping[tuple[str, str], Results]
    warnings: tuple[str, ...]
    info: Mapping[str, Any]

    def aligned(self) -> Aligned:
        """Each language's view: what `translate`, `lexicon` and `evaluate` take."""
        space = self.stages.last
        return Aligned({lang: space.view(lang) for lang in space.langs}, self.stages.alignments, self.info)

    def save(self, folder: str | Path, *, dictionary: int = 0, progress: Progress = silent) -> None:
        """An aligned folder with the stages kept beside, in `joint/`.

        `dictionary`: also write so many mutual translations of the first two languages to `dictionary.tsv`.
        """
        aligned = self.aligned()
        if dictionary:
            first, second = aligned.direction()
            induced = induce(aligned, source=first, target=second, limit=dictionary, mutual=True, progress=progress)

        def stages(place: Path) -> None:
            if dictionary:
                induced.save(place / "dictionary.tsv")
            for name, space in (("trained", self.stages.trained), ("last", self.stages.last)):
                (place / "joint" / name).mkdir(parents=True)
                space.write_into(place / "joint" / name)

        aligned.save(folder, also=stages, progress=progress)


def joint_align(
    job: JointJob,
    work: str | Path,
    *,
    threads: int | None = None,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
    warn: Tell = lambda line: None,
) -> JointOutcome:
    """Run the job. `work` is a folder for the corpus and the state of training: the same call resumes there.

    `tell` is told of what is done, `warn` of what looks wrong, as soon as it is known.
    """
    lexicons, tests = job.lexicons, dict(job.tests)
    settings = job.variant_training
    if settings.model != job.training.model:
        tell(f"the variant {job.variant!r} trains by {settings.model}, not by {job.training.model}")
    corpus_settings = dataclasses.replace(job.corpus, apart=job.variant == "supervised")
    corpus = Corpus.build(job.texts, Path(work) / "corpus", corpus_settings, progress=progress)
    warnings = warnings_of(corpus, [text.path for text in job.texts])
    for warning in warnings:
        warn(warning)
    check_directions(corpus, lexicons, tests)
    trained = train_texts(
        job.texts, work, corpus_settings, settings, lexicons, threads=threads, progress=progress, tell=tell
    )
    space = space_of(trained)
    lexicons, tests = split_tests(lexicons, tests, space)
    gamma = 1.0 if corpus_settings.apart else job.gamma  # words that are apart cannot be shared
    gammas: dict[float, float] = {}
    if gamma is None:
        gamma, gammas = choose_gamma(space, job.aligner, lexicons, pivot=job.pivot, progress=progress)
    stages = run_stages(space, gamma, job.aligner, lexicons, pivot=job.pivot, progress=progress)
    doubts: list[str] = []
    for (source, target), alignment in stages.alignments.items():
        if alignment.info.get("warning"):
            doubts.append(str(alignment.info["warning"]))
        if job.aligner is not None and job.aligner.method.supervision == "supervised":
            doubts += few_pairs(alignment.info["pairs"], settings.dim, where=f"of {source} and {target}")
    results = {
        pair: bli(stages.last.view(pair[0]), stages.last.view(pair[1]), test, progress=progress)
        for pair, test in tests.items()
    }
    for (source, target), figures in results.items():
        doubts += few_words(figures, where=f"from {source} to {target}")
    for doubt in doubts:
        warn(doubt)
    warnings = (*warnings, *doubts)
    info = {
        "method": "joint" if job.aligner is None else f"joint + {job.aligner.method.name}",
        "settings": {
            "training": dataclasses.asdict(settings),
            "corpus": dataclasses.asdict(corpus_settings),
            "refine": None if job.aligner is None else dataclasses.asdict(job.aligner),
            "variant": job.variant,
            "gamma": gamma,
        },
        "gammas": {str(key): round(value, 4) for key, value in gammas.items()},
        "texts": [
            {**facts, "lines": lines, "running_words": words}
            for facts, lines, words in zip(
                trained.corpus.facts["texts"],
                trained.corpus.facts["line_totals"],
                trained.corpus.facts["running_words"],
                strict=True,
            )
        ],
        "kinds": {"trained": space.kinds(), "reallocated": stages.reallocated.kinds()},
        "results": [{"pair": "-".join(pair), **one.record()} for pair, own in results.items() for one in own],
        "seconds": {"training": round(trained.seconds, 1)},
        "warning": "; ".join(warnings) or None,
        "warnings": list(warnings),
    }
    return JointOutcome(stages, gamma, gammas, results, warnings, json.loads(json.dumps(info)))


def space_of(trained: Trained) -> JointSpace:
    return JointSpace(trained.corpus.langs, trained.corpus.words, trained.vectors, trained.corpus.counts)


def run_stages(
    space: JointSpace,
    gamma: float,
    aligner: Aligner | None,
    lexicons: Lexicons,
    *,
    pivot: str | None = None,
    progress: Progress = silent,
) -> Stages:
    """Reallocate and refine a trained space."""
    reallocated = space.reallocate(gamma)
    if aligner is None:
        return Stages(space, reallocated, None, {})
    refined = refine(reallocated, aligner, lexicons, pivot=pivot, progress=progress)
    return Stages(space, reallocated, refined.space, refined.alignments)


def choose_gamma(
    space: JointSpace,
    aligner: Aligner | None,
    lexicons: Lexicons,
    *,
    pivot: str | None = None,
    candidates: Sequence[float] = GAMMAS,
    progress: Progress = silent,
) -> tuple[float, dict[float, float]]:
    """The best of these values, and what each is worth.

    With a lexicon: P@1 over a fifth of its words that the refinement does not see (full protocol, which counts words
    that reallocation took away). Without: the semantic criterion of the words that each language has alone; -1, the
    least it can be, where a language has none.
    """
    taught, held = _validation(lexicons)
    worth: dict[float, float] = {}
    for done, gamma in enumerate(candidates):
        progress("choosing gamma", done, len(candidates))
        stages = run_stages(space, gamma, aligner, taught, pivot=pivot)
        if held:
            worth[gamma] = float(np.mean([_precision(stages.last, pair, test) for pair, test in held.items()]))
        else:
            langs = space.langs
            own = [stages.last.own(lang).most_frequent(10_000).vectors for lang in langs]
            found = [measure(own[i], own[-1]).semantic for i in range(len(langs) - 1)] if all(map(len, own)) else [-1.0]
            worth[gamma] = float(np.mean(found))
    progress("choosing gamma", len(candidates), len(candidates))
    return max(worth, key=lambda gamma: worth[gamma]), worth


def warnings_of(corpus: Corpus, paths: Sequence[Path]) -> tuple[str, ...]:
    """What a user should know about the texts before training: too little of it, or the same language twice."""
    warnings = []
    in_file, used = corpus.facts["running_words"], corpus.counts.sum(axis=0)
    for lang, total, counted, path in zip(corpus.langs, in_file, used, paths, strict=True):
        if total < _LITTLE_TEXT:
            warnings.append(
                f"{path.name} has only {total:,} running words of {lang}: vectors need about a million to mean much"
            )
        elif counted < _LITTLE_TEXT:
            warnings.append(
                f"only {counted:,} of the {total:,} running words of {path.name} are used, to have as many lines of "
                "each language: vectors need about a million to mean much"
            )
    for i in range(len(paths)):
        for j in range(i):
            counts = [
                {corpus.words[row]: int(corpus.counts[row, k]) for row in np.flatnonzero(corpus.counts[:, k])}
                for k in (i, j)
            ]
            if same_language(*counts):
                warnings.append(f"{paths[j].name} and {paths[i].name} seem to be in the same language")
    return tuple(warnings)


def check_directions(corpus: Corpus, *lexicons: Lexicons) -> None:
    """Raise for lexicons with swapped columns now, not after hours of training."""
    words = {
        lang: {corpus.words[row] for row in np.flatnonzero(corpus.counts[:, column])}
        for column, lang in enumerate(corpus.langs)
    }
    for some in lexicons:
        for (source, target), lexicon in some.items():
            remedy = f"name it {target}-{source}=FILE"
            check_direction(lexicon, words[source], words[target], remedy=remedy)


def split_tests(
    lexicons: Lexicons, tests: Lexicons, space: JointSpace
) -> tuple[dict[Any, Lexicon], dict[Any, Lexicon]]:
    """Part of a lexicon is held out where no test is given for its pair."""
    taught, held = dict(lexicons), dict(tests)
    for pair, lexicon in lexicons.items():
        if pair in tests or pair[::-1] in tests:
            continue
        views = space.view(pair[0]), space.view(pair[1])
        if not len(lexicon.restrict(*views)):
            raise InputError(
                f"none of the lexicon's {len(lexicon):,} pairs occurs in the texts of {pair[0]} and {pair[1]}",
                where=lexicon.source,
                remedy="check that its languages, their order and letter case fit the texts",
            )
        taught[pair], test = split_lexicon(lexicon, *views)
        if test is not None:
            held[pair] = test
    return taught, held


def _validation(lexicons: Lexicons) -> tuple[dict[Any, Lexicon], dict[Any, Lexicon]]:
    taught, held = {}, {}
    for pair, lexicon in lexicons.items():
        words = list(lexicon.by_source)
        chosen = set(np.random.default_rng(0).permutation(len(words))[: len(words) // 5].tolist())
        test = {word for i, word in enumerate(words) if i in chosen}
        taught[pair] = dataclasses.replace(lexicon, pairs=[p for p in lexicon if p[0] not in test])
        if test:
            held[pair] = dataclasses.replace(lexicon, pairs=[p for p in lexicon if p[0] in test])
    return taught, held


def _precision(space: JointSpace, pair: tuple[str, str], test: Lexicon) -> float:
    results = bli(space.view(pair[0]), space.view(pair[1]), test, ks=(1,), bootstrap=0)
    return results.find("P@1", denominator="full").value
