"""What transfer came to: encoders by languages, means with and without the training language, what differs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError
from isoglot.resumable import to_plain
from isoglot.small_tables import html_table, text_table
from isoglot.suggest import unknown
from isoglot.tasks import PairedTest, p_text, percentile_interval
from isoglot.transfer.comparing import drawn_figures, paired_figures, resampled_runs
from isoglot.transfer.examples import Example
from isoglot.transfer.metrics import Tally, count_examples
from isoglot.transfer.mistakes import Confusion, Mistake, confusion, worst

Matrix = npt.NDArray[np.float64]

_NAMES = {"nli": "inference", "ner": "names", "pos": "parts of speech", "qa": "questions"}


@dataclasses.dataclass(frozen=True)
class TransferRun:
    """What one trained head predicted for the test set of one language.

    Args:
        encoder: its name in the table.
        language: of the test set.
        seed: of the run.
        predictions: one for each test example, in order: a label ("nli"), a label per word ("ner", "pos"), or an
            answer ("qa"; "" for none).
        seconds: what training and predicting took.
    """

    encoder: str
    language: str
    seed: int
    predictions: tuple[Any, ...]
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Figure:
    """A value, its 95% interval by resampling test examples, and the values of the runs with different seeds.

    `over_seeds`: the interval if runs are resampled too, where there are several; of few runs it is rough.
    """

    value: float
    interval: tuple[float, float] | None = None
    runs: tuple[float, ...] = ()
    over_seeds: tuple[float, float] | None = None

    def __str__(self) -> str:
        between = "" if self.interval is None else f" ({_percent(self.interval[0])} to {_percent(self.interval[1])})"
        return _percent(self.value) + between


@dataclasses.dataclass(frozen=True, repr=False)
class TransferTable:
    """Figures of encoders that were trained on one language and tested on several.

    `table["minilm", "de"]` is a `Figure`. Intervals and tests are about test examples; how much the seed matters is
    told by the runs of each figure.

    Args:
        task: "nli", "ner", "pos" or "qa".
        tests: the test examples of each language.
        runs: all predictions; every encoder with the same seeds on the same languages.
        not_tested: why a language has no figures.
        source: the language that heads were trained on.
        settings: how they were trained, for the record.
        bootstrap: resamples for the 95% intervals; 0 for none.

    >>> from isoglot.transfer import PairExample
    >>> tests = {lang: [PairExample("a", "b", "neutral"), PairExample("a", "a", "entailment")] for lang in ("en", "de")}
    >>> runs = [TransferRun("mini", "en", 0, ("neutral", "entailment")), TransferRun("mini", "de", 0, ("neutral",) * 2)]
    >>> print(TransferTable("nli", tests, runs, bootstrap=0))
    inference, accuracy in %, trained on en
    language          mini
    en               100.0
    de                50.0
    mean              75.0
    mean without en   50.0
    gap to en         50.0
    """

    task: str
    tests: Mapping[str, Sequence[Example]]
    runs: Sequence[TransferRun]
    not_tested: Mapping[str, str] = dataclasses.field(default_factory=dict)
    source: str = "en"
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    bootstrap: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.runs:
            raise InputError("there are no runs to tabulate")
        for run in self.runs:
            if run.language not in self.tests:
                raise InputError(f"{run.encoder} was run on {run.language}, which has no test examples")
        seeds = {(one.encoder, one.language): set[int]() for one in self.runs}
        for run in self.runs:
            seeds[run.encoder, run.language].add(run.seed)
        if len(seeds) < len(self.encoders) * len(self.languages) or len({frozenset(one) for one in seeds.values()}) > 1:
            raise InputError("every encoder must be run with the same seeds on every language", where="runs")

    @functools.cached_property
    def encoders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.encoder for run in self.runs))

    @property
    def languages(self) -> tuple[str, ...]:
        """Those tested."""
        return tuple(self.tests)

    @property
    def others(self) -> tuple[str, ...]:
        """Those tested that are not the language of training."""
        return tuple(lang for lang in self.tests if lang != self.source)

    @property
    def metric(self) -> str:
        """The primary one of the task."""
        return self.tallies[self.encoders[0], self.languages[0]][0].metrics[0]

    @functools.cached_property
    def tallies(self) -> dict[tuple[str, str], list[Tally]]:
        """The scored runs of each encoder and language, in order of their seeds."""
        scored: dict[tuple[str, str], list[Tally]] = {}
        for run in sorted(self.runs, key=lambda one: one.seed):
            tally = count_examples(self.task, self.tests[run.language], run.predictions, language=run.language)
            scored.setdefault((run.encoder, run.language), []).append(tally)
        return scored

    def __getitem__(self, place: tuple[str, str]) -> Figure:
        encoder, language = place
        if encoder not in self.encoders:
            raise unknown("encoder", encoder, self.encoders)
        if language not in self.tests:
            raise unknown("language", language, self.languages)
        return self._mean_of(encoder, (language,))

    def mean(self, encoder: str, *, source: bool = True) -> Figure | None:
        """Over languages, with or without that of training; None if there are none."""
        languages = self.languages if source else self.others
        return self._mean_of(encoder, languages) if languages else None

    def gap(self, encoder: str) -> Figure | None:
        """How much lower the other languages are than that of training; None without either."""
        if self.source not in self.tests or not self.others:
            return None
        here, there = self._mean_of(encoder, (self.source,)), self._mean_of(encoder, self.others)
        runs = tuple(one - other for one, other in zip(here.runs, there.runs, strict=True))
        drawn = self._drawn[encoder, self.source] - np.mean([self._drawn[encoder, one] for one in self.others], axis=0)
        return self._figure(runs, drawn)

    def secondary(self, encoder: str, language: str) -> dict[str, float]:
        """The task's other figures, means over runs."""
        totals = np.mean([tally.total() for tally in self.tallies[encoder, language]], axis=0)
        metrics = self.tallies[encoder, language][0].metrics
        return {metric: float(value) for metric, value in zip(metrics[1:], totals[1:], strict=True)}

    @functools.cached_property
    def differences(self) -> dict[tuple[str, str], PairedTest]:
        """Every further encoder against the first, by language, and "" for the mean over the other languages."""
        first, *rest = self.encoders
        groups = {lang: (lang,) for lang in self.languages} | ({"": self.others} if self.others else {})
        return {
            (encoder, name): self.compare(encoder, first, languages)
            for encoder in rest
            for name, languages in groups.items()
        }

    def compare(self, encoder: str, other: str, languages: Sequence[str] = ()) -> PairedTest:
        """A paired test of two encoders, on the mean over these languages (default: all but that of training)."""
        among = languages or self.others or self.languages
        sides = [[_ratios(self.tallies[name, lang]) for lang in among] for name in (encoder, other)]
        return paired_figures(self.metric, *sides, bootstrap=max(1, self.bootstrap), seed=self.seed)

    def ranking(self) -> list[str]:
        """Encoders by their mean over the other languages, best first."""
        among = self.others or self.languages
        return sorted(self.encoders, key=lambda name: -self._mean_of(name, among).value)

    def verdict(self) -> str:
        """Which encoder transfers best, in words, and how sure that is."""
        best, *rest = self.ranking()
        among = self.others or self.languages
        over = f"{self.metric} over {', '.join(among)}"
        if not rest:
            return f"{best}: {over} {self._mean_of(best, among)}"
        test = self.compare(best, rest[0])
        low, high = test.interval
        told = (
            f"{over} {_percent(test.a)} against {_percent(test.b)}, difference {100 * test.difference:+.1f} (95% "
            f"{100 * low:+.1f} to {100 * high:+.1f}), p {p_text(test.p_value)}"
        )
        if test.p_value >= 0.05:
            return f"{best} and {rest[0]} cannot be told apart: {told}"
        better, worse = self._mean_of(best, among).runs, self._mean_of(rest[0], among).runs
        seeds = "one run each: another seed may change it"
        if len(better) > 1:
            seeds = "in every run" if min(better) > max(worse) else "but not in every run: seeds differ by as much"
        return f"{best} transfers better than {rest[0]}: {told}; {seeds}"

    def confusion(self, encoder: str, language: str) -> Confusion | None:
        """Which label is taken for which; None for questions."""
        return confusion(self.tallies[encoder, language])

    def worst(self, encoder: str, language: str, *, most: int = 10) -> list[Mistake]:
        """The examples in which an encoder does worst, with what the others predict."""
        return worst(
            self.tests[language], {name: self.tallies[name, language] for name in self.encoders}, encoder, most=most
        )

    @property
    def title(self) -> str:
        return f"{_NAMES[self.task]}, {self.metric} in %, trained on {self.source}"

    def table(self) -> tuple[list[str], list[list[str]], list[int]]:
        """Head, rows, and which columns are numbers; * marks what differs from the first encoder (p < .05)."""
        rows = [[lang, *(self._cell(name, lang, self[name, lang]) for name in self.encoders)] for lang in self.tests]
        if len(self.tests) > 1:
            rows.append(["mean", *(_shown(self.mean(name)) for name in self.encoders)])
            if self.source in self.tests:
                without = [self._cell(name, "", self.mean(name, source=False)) for name in self.encoders]
                rows.append([f"mean without {self.source}", *without])
                rows.append([f"gap to {self.source}", *(_shown(self.gap(name)) for name in self.encoders)])
        rows += [[lang, *["not tested"] * len(self.encoders)] for lang in self.not_tested]
        return ["language", *self.encoders], rows, list(range(1, len(self.encoders) + 1))

    def tests_table(self) -> tuple[list[str], list[list[str]], list[int]]:
        """The paired tests behind the marks: head, rows, and which columns are numbers."""
        head = ["encoder", "against", "language", "difference", "95% interval", "p", "better", "worse"]
        rows = [
            [
                encoder,
                self.encoders[0],
                language or f"all but {self.source}",
                f"{100 * test.difference:+.1f}",
                f"{100 * test.interval[0]:+.1f} to {100 * test.interval[1]:+.1f}",
                p_text(test.p_value).removeprefix("= "),
                f"{test.wins:,}",
                f"{test.losses:,}",
            ]
            for (encoder, language), test in self.differences.items()
        ]
        return head, rows, [3, 5, 6, 7]

    def record(self) -> dict[str, Any]:
        """As plain data for JSON, with confusions and, for the best encoder, the worst examples of each language."""
        best = self.ranking()[0]
        return {
            "task": self.task,
            "metric": self.metric,
            "source": self.source,
            "verdict": self.verdict(),
            "encoders": list(self.encoders),
            "languages": {lang: len(examples) for lang, examples in self.tests.items()},
            "not_tested": dict(self.not_tested),
            "figures": {
                name: {
                    lang: {**to_plain(self[name, lang]), "secondary": self.secondary(name, lang)} for lang in self.tests
                }
                for name in self.encoders
            },
            "means": {
                name: {
                    "mean": to_plain(self.mean(name)),
                    "without_source": to_plain(self.mean(name, source=False)),
                    "gap": to_plain(self.gap(name)),
                }
                for name in self.encoders
            },
            "tests": [
                {"encoder": encoder, "against": self.encoders[0], "language": language, **test.record()}
                for (encoder, language), test in self.differences.items()
            ],
            "confusions": {
                name: {lang: to_plain(self.confusion(name, lang)) for lang in self.tests} for name in self.encoders
            },
            "best": best,
            "worst": {lang: to_plain(self.worst(best, lang)) for lang in self.tests},
            "seconds": {name: sum(run.seconds for run in self.runs if run.encoder == name) for name in self.encoders},
            "settings": dict(self.settings),
            "bootstrap": self.bootstrap,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        head, rows, numeric = self.table()
        return f"{self.title}\n{text_table(head, rows, numeric=numeric)}"

    def _repr_html_(self) -> str:
        head, rows, numeric = self.table()
        return html_table(self.title, head, rows, numeric=numeric)

    @functools.cached_property
    def _drawn(self) -> dict[tuple[str, str], Matrix]:
        """Resampled figures of each encoder and language (bootstrap, runs)."""
        return {place: drawn_figures(_ratios(runs), self.bootstrap, self.seed) for place, runs in self.tallies.items()}

    def _mean_of(self, encoder: str, languages: Sequence[str]) -> Figure:
        runs = np.mean([[run.total()[0] for run in self.tallies[encoder, lang]] for lang in languages], axis=0)
        return self._figure(runs.tolist(), np.mean([self._drawn[encoder, lang] for lang in languages], axis=0))

    def _figure(self, runs: Sequence[float], drawn: Matrix) -> Figure:
        seeds = resampled_runs(drawn, self.seed) if self.bootstrap and len(runs) > 1 else None
        return Figure(
            float(np.mean(runs)),
            percentile_interval(drawn.mean(axis=1)) if self.bootstrap else None,
            tuple(runs),
            None if seeds is None else percentile_interval(seeds),
        )

    def _cell(self, encoder: str, language: str, figure: Figure | None) -> str:
        test = self.differences.get((encoder, language))
        return _shown(figure) + ("*" if test is not None and test.p_value < 0.05 else "")


def _ratios(tallies: Sequence[Tally]) -> Matrix:
    return np.stack([tally.ratio for tally in tallies], axis=1)  # (n, runs, 2)


def _shown(figure: Figure | None) -> str:
    return "" if figure is None else _percent(figure.value)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
