"""X2S-MA: static vectors of several languages, each aligned to a pivot where that helps, and left alone where not.

Hämmerl, Libovický & Fraser 2022, "Combining static and contextualised multilingual embeddings", section 3: vectors
distilled out of one multilingual encoder share a space already, roughly. A dictionary induced without supervision and
supervised VecMap bring each language closer to English, and unaligned vectors are kept where aligning does harm.

    OUT/en.safetensors        words, vectors and counts of each language, all in the pivot's normalised space
    OUT/config.json           settings, and of each language the choice and its figures
    OUT/isoglot.json, OUT/alignments/fr-en/    the same as aligned spaces, for `isoglot translate`, `evaluate bli` ...
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import isoglot
from isoglot.aligned import Aligned, check_name
from isoglot.aligners import Aligner, Alignment, aligner as named_aligner
from isoglot.errors import ConfigError, IsoglotError, ShapeError
from isoglot.files import remove_kept
from isoglot.joint import between
from isoglot.lexicons import Lexicon, check_direction
from isoglot.pipelines.induction import AS_IS, check_inducer, check_learner
from isoglot.pipelines.pivot import languages_beside
from isoglot.pipelines.static_choice import StaticChoice
from isoglot.pipelines.static_job import BY_DICTIONARY, CRITERIA, MIN_PAIRS, LanguageJob, settings_of
from isoglot.progress import Progress, silent
from isoglot.resumable import earlier_record, keep_run, to_plain
from isoglot.spaces import Space
from isoglot.suggest import unknown

_FORMAT = "isoglot-static-aligned"
_RECORD = "config.json"
_ALIGNMENT, _CHOICE, _CHECKPOINT = "alignment", "choice.json", "induction.checkpoint"
Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True, eq=False)
class StaticAlignment:
    """All languages in the pivot's normalised space, and for each of the others what was chosen and why."""

    pivot: str
    aligned: Aligned
    choices: Mapping[str, StaticChoice]
    settings: Mapping[str, Any]

    @property
    def spaces(self) -> Mapping[str, Space]:
        return self.aligned.spaces

    def record(self) -> dict[str, Any]:
        """Settings, choices and figures, for JSON."""
        return {
            "pivot": self.pivot,
            "settings": dict(self.settings),
            "languages": {lang: choice.record() for lang, choice in self.choices.items()},
        }

    def save(self, folder: str | Path, *, progress: Progress = silent) -> None:
        """Write the folder in one piece."""
        content = {
            "format": _FORMAT,
            "version": 1,
            **self.record(),
            "fingerprints": {lang: space.fingerprint() for lang, space in self.spaces.items()},
            "versions": {"isoglot": isoglot.__version__, "numpy": np.__version__},
        }

        def describe(place: Path) -> None:
            text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
            (place / _RECORD).write_text(text, "utf-8", "backslashreplace")

        self.aligned.save(folder, spaces_in=".", also=describe, progress=progress)


def align_static(
    spaces: Mapping[str, Space],
    pivot: str,
    *,
    inducer: str | Aligner | None = None,
    aligner: str | Aligner = "vecmap",
    dictionary_from: Mapping[str, Space] | None = None,
    lexicons: Mapping[tuple[str, str], Lexicon] | None = None,
    criterion: str | None = None,
    align_all: bool = False,
    frequent: int = 15_000,
    seed: int = 0,
    work: str | Path | None = None,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> StaticAlignment:
    """Align each language to the pivot without supervision; keep it as it was where that is better by the criterion.

    Both are compared after the same normalisation, that of the aligner, so that only the map makes the difference. A
    map brings the very words closer that it was learned from, right or wrong; so a map of four fifths of the dictionary
    is judged by the translations that it finds for the other words. If it wins, and the dictionary is better than what
    random rotations come to, the whole dictionary gives the map.

    Args:
        inducer: what finds the dictionary: a method that needs no pairs, or "as-is", mutual CSLS neighbours of the
            vectors where they are. Default: "as-is" for the vectors' own, as one encoder has made them all, and
            "vecmap-unsupervised", the paper's, on those of `dictionary_from`.
        aligner: supervised and linear, learns from the induced dictionary.
        dictionary_from: other vectors to induce the dictionary on, such as fastText's, of the pivot and of some or all
            of the others.
        criterion: "semantic", the mean cosine of translations found, "structural", or "dictionary", the share of
            induced pairs found that the map has not seen. Default: "dictionary" for languages of `dictionary_from`, as
            words written alike share word pieces and lie close in an encoder whether they mean the same or not, which
            misleads a cosine; else "semantic".
        align_all: align every language, whatever the criterion says of words that the map has not seen.
        lexicons: test dictionaries by (source, target); they only give P@1 and change nothing.
        frequent: dictionaries and the criterion go by so many most frequent words of each side.
        work: a folder where finished languages are kept, so that a killed run resumes there.
        tell: is told in a line what one may want to know.
    """
    others = _check(spaces, pivot, dictionary_from, criterion, frequent)
    given = dict(dictionary_from or {})
    criteria = {lang: criterion or (BY_DICTIONARY if lang in given else "semantic") for lang in others}
    spaces = {lang: _ordered(lang, space) for lang, space in spaces.items()}
    method = named_aligner(aligner, seed=seed) if isinstance(aligner, str) else aligner
    check_learner(method)
    inducers: dict[str, str | Aligner] = {}
    for lang in others:
        chosen = inducer if inducer is not None else ("vecmap-unsupervised" if lang in given else AS_IS)
        inducers[lang] = check_inducer(chosen, seed)
    settings = {
        "criteria": criteria,
        "align_all": align_all,
        "frequent": frequent,
        "seed": seed,
        "aligner": settings_of(method),
        "inducers": {lang: settings_of(one) for lang, one in inducers.items()},
    }
    tests = lexicons or {}
    _check_tests(spaces, pivot, tests)
    choices: dict[str, StaticChoice] = {}
    alignments: dict[tuple[str, str], Alignment] = {}
    for number, lang in enumerate(others):
        progress(f"aligning to {pivot} (languages)", number, len(others))
        job = LanguageJob(
            src=spaces[lang],
            tgt=spaces[pivot],
            others=(given[lang], given[pivot]) if lang in given else None,
            inducer=inducers[lang],
            aligner=method,
            criterion=criteria[lang],
            align_all=align_all,
            frequent=frequent,
            seed=seed,
        )
        key = job.key()
        place = None if work is None else Path(work) / f"{lang}-{key}"
        found = _earlier(place, key)
        if found is not None:
            tell(f"{lang} was finished earlier: {place}")
        else:
            found = job.run(None if place is None else place / _CHECKPOINT, progress)
            if place is not None:
                found[1].save(place / _ALIGNMENT)
                keep_run(place / _CHOICE, {"key": key, **to_plain(found[0])})
        choice, alignment = found
        if choice.induction.warning:
            tell(f"{lang}: {choice.induction.warning}")
        test = between(tests, pivot, lang)
        if test is not None:
            choice = dataclasses.replace(choice, bli=job.tested(alignment, test, progress))
        choices[lang] = choice
        alignments[lang, pivot] = alignment if choice.aligned else job.unaligned()
    progress(f"aligning to {pivot} (languages)", len(others), len(others))
    mapped = {pivot: alignments[others[0], pivot].transform(spaces[pivot], "tgt")}
    mapped.update({lang: alignments[lang, pivot].transform(spaces[lang], "src") for lang in others})
    outcome = StaticAlignment(pivot, Aligned(mapped, alignments), choices, settings)
    info = {"method": f"{method.method.name}, where it helps", **outcome.record()}
    return dataclasses.replace(outcome, aligned=dataclasses.replace(outcome.aligned, info=info))


def _ordered(lang: str, space: Space) -> Space:
    """By that name, most frequent words first."""
    return dataclasses.replace(space.most_frequent(len(space)), lang=lang)


def _earlier(place: Path | None, key: str) -> tuple[StaticChoice, Alignment] | None:
    if place is None:
        return None
    choice = earlier_record(place / _CHOICE, key, StaticChoice)
    try:
        return None if choice is None else (choice, Alignment.load(place / _ALIGNMENT))
    except IsoglotError:
        return None  # damaged: made again


def remove_work(work: str | Path) -> None:
    """Remove what `align_static` has kept there, and the folder if it holds nothing else."""
    for place in Path(work).glob("*/"):
        remove_kept(place, (_ALIGNMENT, _CHECKPOINT, _CHOICE))
    remove_kept(work, ())


def _check(
    spaces: Mapping[str, Space], pivot: str, given: Mapping[str, Space] | None, criterion: str | None, frequent: int
) -> list[str]:
    """The languages other than the pivot, if all is as it should be."""
    others = languages_beside(pivot, spaces)
    for lang, space in spaces.items():
        check_name(lang)
        if space.dim != spaces[pivot].dim:
            raise ShapeError(
                f"{lang} has {space.dim} dimensions and {pivot} {spaces[pivot].dim}",
                remedy="distil all languages with one encoder",
            )
    for lang in given or {}:
        if lang not in spaces:
            raise ConfigError(
                f"vectors to induce the dictionary on are of {lang!r}, which is not among the languages",
                remedy=f"one of: {', '.join(spaces)}",
            )
    if given and pivot not in given:
        raise ConfigError(f"vectors to induce the dictionary on are missing for the pivot {pivot!r}")
    if criterion is not None and criterion not in CRITERIA:
        raise unknown("criterion", criterion, CRITERIA)
    without = [lang for lang in others if lang not in (given or {})]
    if criterion == BY_DICTIONARY and without:
        raise ConfigError(
            f"{criterion} needs other vectors to induce the dictionary on, and {without[0]} has none",
            where="criterion",
            remedy="give `dictionary_from`, or choose semantic",
        )
    if frequent < MIN_PAIRS:
        raise ConfigError(f"must be at least {MIN_PAIRS}, not {frequent}", where="frequent")
    return others


def _check_tests(spaces: Mapping[str, Space], pivot: str, tests: Mapping[tuple[str, str], Lexicon]) -> None:
    """Raise now what would stop `bli` after all the work."""
    for source, target in tests:
        if pivot not in (source, target) or source not in spaces or target not in spaces or source == target:
            raise ConfigError(
                f"a test dictionary is between the pivot {pivot!r} and another language, not {source!r}-{target!r}"
            )
        lexicon = tests[source, target]
        check_direction(lexicon, spaces[source], spaces[target], remedy=f"name it {target}-{source}")
        if not len(lexicon.restrict(spaces[source], spaces[target])):
            raise ConfigError(
                f"none of its {len(lexicon):,} pairs has both words in the vectors of {source} and {target}",
                where=lexicon.source,
                remedy="check the languages, their order and letter case",
            )
