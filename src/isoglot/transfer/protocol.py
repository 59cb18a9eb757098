"""`run_transfer`: train heads on one language, choose them on its development set, test them on all languages.

The protocol of XTREME (Hu et al. 2020): no example of another language is seen before the test. Every encoder gets the
same examples, settings and seeds. Finished runs are kept, with all predictions, so that a killed job resumes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.errors import ConfigError, FormatError, InputError, locating
from isoglot.progress import Progress, silent
from isoglot.resumable import digest, kept, run_key, timed, to_plain
from isoglot.transfer.by_language import LanguageVectors
from isoglot.transfer.examples import Example
from isoglot.transfer.feature_store import FeatureStore
from isoglot.transfer.head import Head, check_examples, check_labels, check_training
from isoglot.transfer.heads import new_head
from isoglot.transfer.metrics import count_examples
from isoglot.transfer.readers import read_examples
from isoglot.transfer.saved import HEAD_FOLDER, restored, save_head, saved_key
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.table import TransferRun, TransferTable
from isoglot.transfer.vectors import Source, TextVectors, check_source, open_vectors

#: Examples, or the file that they are in.
Examples = str | Path | Sequence[Example]
#: One encoder for all languages, or one for each, see `run_transfer`.
Sources = Source | Mapping[str, Source]


@dataclasses.dataclass(frozen=True)
class KeptRun:
    """What is kept of one head and one language, see `Predictions` and `Fitting`."""

    encoder: str
    language: str
    seed: int
    predictions: tuple[Any, ...]
    n_best: list[list[tuple[str, float]]]
    epoch: int
    epochs: int
    dev: float
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class TransferData:
    """All examples of a job, checked.

    Args:
        tests: by language.
        source: the language of `train` and `dev`.
        not_tested: languages without examples, and why.
    """

    task: str
    train: Sequence[Example]
    dev: Sequence[Example]
    tests: Mapping[str, Sequence[Example]]
    source: str
    not_tested: Mapping[str, str]

    @classmethod
    def read(
        cls,
        task: str,
        train: Examples,
        dev: Examples,
        tests: Mapping[str, Examples | None],
        *,
        source: str = "en",
        limit: int = 0,
    ) -> TransferData:
        """Read what is given as a file. A language without examples (None) is not tested.

        Args:
            limit: examples of `train` to use, drawn at random; 0 for all.
        """
        learned, chosen = _examples(task, train), _examples(task, dev)
        check_training(task, learned, chosen, where=(_where(train, "train"), _where(dev, "dev")))
        tested = {}
        for lang, given in tests.items():
            if given is not None:
                where = _where(given, f"the test set of {lang}")
                tested[lang] = _examples(task, given)
                check_examples(task, tested[lang], where)
                check_labels(learned, tested[lang], where)
        if not tested:
            raise InputError("there is no language to test", remedy="give a test set")
        if 0 < limit < len(learned):
            drawn = np.sort(np.random.default_rng(0).choice(len(learned), limit, replace=False))
            learned = [learned[number] for number in drawn.tolist()]
        missing = {lang: "no test set" for lang, given in tests.items() if given is None}
        return cls(task, learned, chosen, tested, source, missing)

    @functools.cached_property
    def key(self) -> str:
        """Tells what heads are trained on from everything else."""
        return digest(self.task, self.source, to_plain(list(self.train)), to_plain(list(self.dev)))

    def score(self, examples: Sequence[Example], predictions: Sequence[Any]) -> float:
        """The task's primary figure on the development set."""
        return float(count_examples(self.task, examples, predictions, language=self.source).total()[0])


def run_transfer(
    task: str,
    encoders: Mapping[str, Sources],
    train: Examples,
    dev: Examples,
    tests: Mapping[str, Examples | None],
    *,
    source: str = "en",
    runs: int = 1,
    seed: int = 0,
    settings: HeadSettings | None = None,
    output: str | Path | None = None,
    bootstrap: int = 1000,
    progress: Progress = silent,
) -> TransferTable:
    """Compare encoders by how a head on each, trained on one language, does on others.

    Args:
        task: "nli", "ner", "pos" or "qa".
        encoders: by the name that they have in the table; see `fit_head`. A mapping from language to encoder ("*" for
            all languages not named): the head learns on that of `source` and is tested on that of each language, so
            their vectors must mean the same. If it names neither `source` nor "*", its encoders must know `source`
            too, as aligned encoders of two languages do; each then has a head of its own, and that of the first is
            tested on `source`.
        train, dev, tests: files or examples; tests by language, None for a language without any.
        source: the language of `train` and `dev`.
        runs: heads of each encoder, with the seeds `seed`, `seed` + 1, ...
        output: a folder in which vectors, trained heads (see `load_head`) and finished runs are kept; without it,
            nothing is.
        bootstrap: resamples for intervals; 0 for none.
    """
    settings = settings or HeadSettings()
    if runs < 1:
        raise ConfigError(f"must be at least 1, not {runs}", where="runs")
    if not encoders:
        raise InputError("there is no encoder to test")
    for sources in encoders.values():
        for one in all_sources(sources):
            check_source(one, settings)
    data = TransferData.read(task, train, dev, tests, source=source, limit=settings.limit)
    place = None if output is None else Path(output)
    seeds = range(seed, seed + runs)
    done: list[KeptRun] = []
    not_tested = dict(data.not_tested)
    for name, sources in encoders.items():
        for own, vectors, languages in head_groups(name, sources, data, settings, not_tested, progress):
            job = _Job(name, own, vectors, data, settings, place, progress)
            if isinstance(sources, Mapping) and own is not sources:  # encoders with heads of their own
                job.label += "".join(f".{lang}" for lang in languages[:1])
            done += [run for one in seeds for run in job.runs(languages, one)]
    tested = {lang: examples for lang, examples in data.tests.items() if lang not in not_tested}
    if not tested:
        raise InputError("; ".join(f"{lang} is not tested: {why}" for lang, why in not_tested.items()))
    return TransferTable(
        task,
        tested,
        [
            TransferRun(run.encoder, run.language, run.seed, run.predictions, run.seconds)
            for run in done
            if run.language in tested
        ],
        not_tested=not_tested,
        source=source,
        settings={**dataclasses.asdict(settings), "train_examples": len(data.train), "dev_examples": len(data.dev)},
        bootstrap=bootstrap,
        seed=seed,
    )


class _Job:
    """The heads of one encoder."""

    def __init__(
        self,
        name: str,
        sources: Sources,
        vectors: TextVectors,
        data: TransferData,
        settings: HeadSettings,
        output: Path | None,
        progress: Progress,
    ) -> None:
        self._name, self._sources, self._vectors = name, sources, vectors
        self._data, self._settings = data, settings
        #: Of its heads among those of all encoders.
        self.label = _slug(name)
        self._output = output
        self._store = FeatureStore(vectors, None if output is None else output / "features")
        self._progress: Progress = lambda step, done, total: progress(f"{name}: {step}", done, total)

    def runs(self, languages: Sequence[str], seed: int) -> Iterator[KeptRun]:
        """One run for each language. The head is trained by the first that is not kept yet, whose seconds say so, or is
        that of an earlier run."""
        trained: list[Head] = []
        for lang in languages:
            place = None if self._output is None else self._output / "runs" / f"{_slug(self._name)}.{lang}.{seed}.json"
            make = timed(functools.partial(self._run, trained, lang, seed))
            yield kept(place, self._key(lang, seed), KeptRun, make)

    def _run(self, trained: list[Head], lang: str, seed: int) -> KeptRun:
        data = self._data
        if not trained:
            trained.append(self._head(seed))
        found = trained[0].predict(data.tests[lang], lang, progress=self._progress)
        fitting = trained[0].fitting
        return KeptRun(
            encoder=self._name,
            language=lang,
            seed=seed,
            predictions=tuple(found.values),
            n_best=found.n_best,
            epoch=fitting.epoch,
            epochs=fitting.epochs,
            dev=fitting.dev,
        )

    def _head(self, seed: int) -> Head:
        """The head of an earlier run with the same data and settings, or a new one, trained and saved."""
        data, settings = self._data, self._settings
        source = self._vectors.identity(data.source)
        key = run_key(source, data.key, dataclasses.asdict(settings), seed)
        folder = None if self._output is None else self._output / "heads" / f"{self.label}.{seed}"
        head: Head | None = None
        if folder is not None and saved_key(folder) == key:
            with contextlib.suppress(FormatError):  # what is damaged is trained again
                head = restored(HEAD_FOLDER.read(folder), self._vectors, settings, self._store).head
        if head is None:
            head = new_head(data.task, self._vectors, settings, self._store, data.source)
            with locating(self._name):
                head.fit(data.train, data.dev, data.source, data.score, seed, progress=self._progress)
        if folder is not None:  # an earlier one too: other languages may have encoders now
            save_head(folder, head, data.task, data.source, self._sources, self._vectors, settings, key=key)
        return head

    def _key(self, lang: str, seed: int) -> str:
        data = self._data
        identities = [self._vectors.identity(one) for one in (data.source, lang)]
        examples = to_plain(list(data.tests[lang]))
        return run_key(self._name, identities, data.key, lang, examples, dataclasses.asdict(self._settings), seed)


def head_groups(
    name: str,
    sources: Sources,
    data: TransferData,
    settings: HeadSettings,
    not_tested: dict[str, str],
    progress: Progress,
) -> Iterator[tuple[Sources, TextVectors, list[str]]]:
    """What stands behind an encoder's name, one head at a time: its encoders, their vectors, and the languages to test
    with it; notes those that it does not know."""
    if isinstance(sources, Mapping) and not sources:
        raise InputError("has no encoder for any language", where=name)
    if isinstance(sources, Mapping):
        own = LanguageVectors(name, sources, settings, progress=progress)
        if own.languages is None or data.source in own.languages:
            for lang in data.tests:
                own.source(lang)
            yield sources, own, list(data.tests)
            return
    groups: dict[str, tuple[Source, list[str]]] = {}
    for lang in data.tests:
        if not isinstance(sources, Mapping):
            one = sources
        else:
            one = next(iter(sources.values())) if lang == data.source else own.source(lang)
        groups.setdefault(str(one) if isinstance(one, str | Path) else f"#{id(one)}", (one, []))[1].append(lang)
    for one, languages in groups.values():
        with locating(name):
            vectors = open_vectors(one, settings, progress=progress)
        known = vectors.languages
        if isinstance(sources, Mapping) and known is None:
            remedy = f"name it: {data.source}:ENCODER"
            raise ConfigError(
                f"has no encoder for {data.source}, which heads are trained on", where=name, remedy=remedy
            )
        if known is not None and data.source not in known:
            what = f"knows {', '.join(known)}, but heads are trained on {data.source}"
            raise ConfigError(what, where=name, remedy="set `source` to a language that it knows")
        for lang in languages:
            if known is not None and lang not in known:
                not_tested.setdefault(lang, f"{name} knows only {', '.join(known)}")
        yield one, vectors, [lang for lang in languages if known is None or lang in known]


def all_sources(sources: Sources) -> list[Source]:
    """The encoders that stand behind one name."""
    return list(sources.values()) if isinstance(sources, Mapping) else [sources]


def _examples(task: str, given: Examples) -> Sequence[Example]:
    return read_examples(task, given) if isinstance(given, str | Path) else given


def _where(given: Examples | None, name: str) -> str:
    return str(given) if isinstance(given, str | Path) else name


def _slug(name: str) -> str:
    """The name as a part of a file's name; names that had to be changed stay apart."""
    plain = re.sub(r"[^\w.-]+", "-", name)[:60]
    return plain if plain == name else f"{plain}-{digest(name)[:6]}"
