"""All methods on one pair of languages, over several seeds, in one table: mean, interval, time, memory, significance.

Every finished run is kept in the output folder, so that a killed comparison goes on where it was.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import Aligner, aligner, find_method, methods, read_settings
from isoglot.errors import ConfigError, IsoglotError
from isoglot.lexicons import Lexicon, check_direction
from isoglot.pipelines.align_pair import align_pair
from isoglot.pipelines.doubts import few_pairs, few_words
from isoglot.progress import Progress, silent
from isoglot.resumable import earlier_run, keep_run
from isoglot.spaces import Space
from isoglot.strings import one_or_many
from isoglot.tasks import Result, bootstrap_intervals, paired_test

__all__ = ["Comparison", "Contender", "Row", "compare", "contenders"]


@dataclasses.dataclass(frozen=True)
class Contender:
    """A method with settings, under a label; `name,key=value,...` on the command line."""

    label: str
    method: str
    settings: Mapping[str, Any]

    def aligner(self, seed: int) -> Aligner:
        return aligner(self.method, **{**self.settings, "seed": seed})


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table: the mean over runs with an interval of that mean, and how far runs are apart.

    `interval`: 95%, of the mean, by resampling test words; what another seed would do is told by `spread`.
    `p_value`: of the difference to the best line, on the same test words, means over runs.
    `criteria`: of an iterative method, the semantic criterion of each epoch or round of the first run.
    """

    label: str
    method: str
    supervision: str
    values: tuple[float, ...] = ()
    interval: tuple[float, float] | None = None
    seconds: float | None = None
    megabytes: float | None = None
    p_value: float | None = None
    note: str = ""
    criteria: tuple[float, ...] = ()

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def spread(self) -> tuple[float, float] | None:
        """The lowest and the highest run, where there are several."""
        return (min(self.values), max(self.values)) if len(self.values) > 1 else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation between runs, where there are several."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def brief(self) -> str:
        """The note for a narrow column: why it could not run in full, of a verdict only what it says first."""
        return self.note if self.mean is None else self.note.split(":")[0]

    def record(self) -> dict[str, Any]:
        spread = None if self.spread is None else list(self.spread)
        own = {"mean": self.mean, "spread": spread, "deviation": self.deviation, "brief": self.brief}
        return {**dataclasses.asdict(self), **own}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The table, best first, and what it was measured on."""

    rows: tuple[Row, ...]
    languages: tuple[str, str]
    metric: str
    n: int
    protocol: Mapping[str, Any]
    warnings: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        return {
            "languages": list(self.languages),
            "warnings": list(self.warnings),
            "metric": self.metric,
            "n": self.n,
            "protocol": dict(self.protocol),
            "rows": [row.record() for row in self.rows],
        }


def contenders(names: str | Sequence[str] | None = None, *, supervised: bool = True) -> list[Contender]:
    """The named methods, or all that can run: `supervised` says whether there are pairs to learn from."""
    if names:
        chosen = [_parsed(name) for name in one_or_many(names)]
    else:
        chosen = [Contender(name, name, {}) for name in methods()]
    labels = [one.label for one in chosen]
    for label in labels:
        if labels.count(label) > 1:
            raise ConfigError(f"{label} is named twice", remedy="name each method once; --runs repeats it")
    for one in chosen:
        # Unknown names and settings, and missing packages of methods asked for, are errors before anything runs.
        asked = one.aligner(0)
        if names:
            asked.check_extras()
    if not supervised and not names:
        chosen = [one for one in chosen if find_method(one.method).method.supervision != "supervised"]
    return chosen


def compare(
    src: Space,
    tgt: Space,
    chosen: Sequence[Contender],
    *,
    train: Lexicon | None,
    test: Lexicon,
    seeds: int = 1,
    folder: Path | None = None,
    match_dimensions: bool = False,
    missing: Sequence[tuple[str, str]] = (),
    threads: int | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Run every contender with every seed (those without randomness once) and rank them by mean P@1.

    `missing`: lines for what cannot be run here, each a label and what it needs.
    """
    for lexicon in (train, test):
        if lexicon is not None:
            check_direction(lexicon, src, tgt)
    runs = [(one, seed) for one in chosen for seed in range(seeds if _random(one) else 1)]
    key = _key(src, tgt, train, test, match_dimensions)
    outcomes: dict[str, list[dict[str, Any]]] = {one.label: [] for one in chosen}
    for done, (one, seed) in enumerate(runs):
        progress(f"comparing, {one.label}", done, len(runs))
        place = None if folder is None else folder / "runs" / f"{_slug(one.label)}-{seed}.json"
        outcome = None if place is None else earlier_run(place, key)
        if outcome is None:
            settings = {**one.settings, **({"match_dimensions": True} if match_dimensions else {})}
            contender = dataclasses.replace(one, settings=settings)
            outcome = {"key": key, **_run(contender, seed, src, tgt, train, test, threads, progress)}
            if place is not None:
                keep_run(place, outcome)
        outcomes[one.label].append(outcome)
    progress("comparing", len(runs), len(runs))
    found = _table(src, tgt, chosen, outcomes)
    lines = [Row(label, "", "", note=need) for label, need in missing]
    warnings = _doubts(src, tgt, chosen, train, outcomes)
    return dataclasses.replace(found, rows=(*found.rows, *lines), warnings=tuple(warnings))


def _doubts(
    src: Space,
    tgt: Space,
    chosen: Sequence[Contender],
    train: Lexicon | None,
    outcomes: Mapping[str, list[dict[str, Any]]],
) -> list[str]:
    """Too few pairs or test words, said once for all methods."""
    found: list[str] = []
    if train is not None and any(find_method(one.method).method.supervision == "supervised" for one in chosen):
        found += few_pairs(len(train.indices(src, tgt)), min(src.dim, tgt.dim))
    first = next((o["result"] for some in outcomes.values() for o in some if "result" in o), None)
    return found + ([] if first is None else few_words([_result(first)]))


def _run(
    one: Contender,
    seed: int,
    src: Space,
    tgt: Space,
    train: Lexicon | None,
    test: Lexicon,
    threads: int | None,
    progress: Progress,
) -> dict[str, Any]:
    """One fit and its figure; a method that cannot run on this data is a line that says why."""
    chosen = one.aligner(seed)
    # Methods that can do without pairs are here to show what that gives.
    pairs = train if chosen.method.supervision == "supervised" else None
    started = time.perf_counter()
    try:
        with _PeakMemory() as memory:
            outcome = align_pair(src, tgt, chosen, train=pairs, test=test, threads=threads, progress=progress)
    except IsoglotError as error:
        return {"error": str(error)}
    alignment = next(iter(outcome.aligned.alignments.values()))
    return {
        "seconds": outcome.seconds["align"],
        "wall_seconds": time.perf_counter() - started,
        "megabytes": memory.megabytes,
        "result": outcome.results[0].record(per_item=True),
        "warning": alignment.info.get("warning", ""),
        "criteria": [row["semantic"] for row in alignment.info.get("history", []) if "semantic" in row],
    }


def _table(
    src: Space, tgt: Space, chosen: Sequence[Contender], outcomes: Mapping[str, list[dict[str, Any]]]
) -> Comparison:
    results = {label: [_result(o["result"]) for o in found if "result" in o] for label, found in outcomes.items()}
    best = max((label for label in results if results[label]), key=lambda label: _mean(results[label]), default=None)
    rows = []
    for one in chosen:
        found, figures = outcomes[one.label], results[one.label]
        row = Row(one.label, one.method, find_method(one.method).method.supervision)
        if not figures:
            rows.append(dataclasses.replace(row, note=found[0]["error"]))
            continue
        failed = [o["error"] for o in found if "error" in o]
        notes = [f"{len(failed)} of {len(found)} runs failed, such as: {failed[0]}"] if failed else []
        notes += [o["warning"] for o in found if o.get("warning")][:1]
        memory = [o["megabytes"] for o in found if o.get("megabytes") is not None]
        against = None
        if best is not None and one.label != best:
            against = paired_test(_averaged(figures), _averaged(results[best])).p_value
        rows.append(
            dataclasses.replace(
                row,
                values=tuple(figure.value for figure in figures),
                interval=_averaged(figures).interval,
                seconds=float(np.median([o["seconds"] for o in found if "seconds" in o])),
                megabytes=max(memory) if memory else None,
                p_value=against,
                note="; ".join(notes),
                criteria=tuple(found[0].get("criteria", ())),
            )
        )
    rows.sort(key=lambda row: -(row.mean if row.mean is not None else -1.0))
    first = results[best][0] if best is not None else None
    return Comparison(
        tuple(rows),
        (src.lang, tgt.lang),
        first.metric if first else "P@1",
        first.n if first else 0,
        first.protocol if first else {},
    )


def _averaged(figures: Sequence[Result]) -> Result:
    """One result for several runs on the same words: each word counts with its mean, and so does the interval."""
    first = figures[0]
    if len(figures) == 1:
        return first
    by_word = [{item["source"]: float(item["value"]) for item in figure.per_item} for figure in figures]
    items = [{**item, "value": float(np.mean([one[item["source"]] for one in by_word]))} for item in first.per_item]
    values = np.array([[item["value"]] for item in items])
    (low, high), *_ = bootstrap_intervals(values, seed=int(first.protocol.get("seed", 0)))
    return dataclasses.replace(first, value=float(values.mean()), interval=(float(low), float(high)), per_item=items)


class _PeakMemory:
    """How much the process grew at most, by looking every few milliseconds; None where /proc does not tell."""

    def __enter__(self) -> _PeakMemory:
        self._start = self._peak = _resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def megabytes(self) -> float | None:
        return None if self._start is None or self._peak is None else (self._peak - self._start) / 1e6

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            now = _resident()
            if now is not None and self._peak is not None:
                self._peak = max(self._peak, now)


def _resident() -> int | None:
    try:
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _random(one: Contender) -> bool:
    return find_method(one.method).method.iterative


def _parsed(text: str) -> Contender:
    name, *assignments = text.split(",")
    # Steps of normalisation are themselves separated by commas: write them with + here.
    settings = read_settings(name, assignments)
    if "normalise" in settings:
        settings["normalise"] = settings["normalise"].replace("+", ",")
    return Contender(text, name, settings)


def _key(src: Space, tgt: Space, train: Lexicon | None, test: Lexicon, match: bool) -> str:
    what = [src.fingerprint(), tgt.fingerprint(), list(train.pairs) if train else None, list(test.pairs), match]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


def _result(record: Mapping[str, Any]) -> Result:
    interval = record["interval"]
    return Result(**{**record, "interval": None if interval is None else tuple(interval)})


def _mean(results: Sequence[Result]) -> float:
    return float(np.mean([result.value for result in results]))


def _slug(label: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in label)
