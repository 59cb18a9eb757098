"""All methods on one pair of languages, over several seeds, in one table.

Every finished run is kept in the output folder, if there is one, so that a killed comparison resumes where it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from isoglot.aligners import Aligner, aligner, methods as known_methods, read_settings
from isoglot.assignments import split_method
from isoglot.errors import ConfigError, IsoglotError, LexiconError
from isoglot.lexicons import Lexicon, check_direction, split_lexicon
from isoglot.pipelines.align import as_space
from isoglot.pipelines.align_pair import align_pair
from isoglot.pipelines.comparison import Comparison, MethodRun, Row, comparison_of
from isoglot.pipelines.peak_memory import PeakMemory
from isoglot.pipelines.small_data import few_pairs, few_words
from isoglot.progress import Progress, silent
from isoglot.resumable import kept, run_key
from isoglot.spaces import Space
from isoglot.tasks import Results, as_lexicon

#: Whatever names a lexicon: itself, a file or catalogue name, or pairs of words.
GivenLexicon = Lexicon | str | Path | Iterable[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Contender:
    """A method with its settings, under a label."""

    label: str
    aligner: Aligner

    @property
    def method(self) -> str:
        return self.aligner.method.name

    @property
    def random(self) -> bool:
        """Whether another seed may give another result."""
        return self.aligner.method.iterative


def contenders(methods: str | Aligner | Sequence[str | Aligner | Contender] | None = None) -> list[Contender]:
    """What is to be compared: names, with settings as `name,key=value`, or aligners; all that we have by default.

    >>> [one.label for one in contenders(["procrustes", "cca,keep=0.5"])]
    ['procrustes', 'cca,keep=0.5']
    """
    if not methods:
        return [_contender(name) for name in known_methods()]
    chosen = [_contender(one) for one in ([methods] if isinstance(methods, str | Aligner) else methods)]
    labels = [one.label for one in chosen]
    for one in chosen:
        if labels.count(one.label) > 1:
            raise ConfigError(f"{one.label} is named twice", remedy="name each method once; `runs` repeats it")
        # Missing packages of methods asked for are errors before anything runs.
        one.aligner.check_extras()
    return chosen


def _contender(given: str | Aligner | Contender) -> Contender:
    if isinstance(given, Contender):
        return given
    if isinstance(given, Aligner):
        settings = {field.name: (getattr(given, field.name), field.default) for field in dataclasses.fields(given)}
        changed = [f"{name}={own}" for name, (own, usual) in settings.items() if own != usual and name != "seed"]
        return Contender(",".join([given.method.name, *changed]), given)
    name, assignments = split_method(given)
    return Contender(given, aligner(name, **read_settings(name, assignments)))


def compare(
    src: Space | str | Path,
    tgt: Space | str | Path,
    lexicon: GivenLexicon,
    methods: str | Aligner | Sequence[str | Aligner | Contender] | None = None,
    *,
    runs: int = 1,
    test: GivenLexicon | None = None,
    most_pairs: int | None = None,
    held_out: int | None = None,
    folder: str | Path | None = None,
    match_dimensions: bool = False,
    missing: Sequence[tuple[str, str]] = (),
    threads: int | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Which method is best for these languages? All learn from the same pairs and are asked the same words.

    Methods that can do without pairs get none. One that cannot run on this data is a line that says why.

    Args:
        src, tgt: Spaces, files of vectors, or catalogue names.
        lexicon: a Lexicon, a file, a catalogue name, or pairs of words. Unless there is a `test`, part of it is held
            out, see `isoglot.lexicons.split_lexicon`.
        test: a lexicon of its own to test on.
        most_pairs: learn from at most so many pairs. held_out: how many source words to test on.
        methods: names, with settings as `name,key=value`, or aligners, also of your own; default: all methods.
        runs: seeds of each method that makes random choices, from its own seed on.
        folder: where finished runs are kept.
        match_dimensions: reduce the side with more dimensions.
        missing: lines for what cannot be run here, each a label and what it needs.
    """
    chosen = contenders(methods)
    if held_out and test is not None:
        raise ConfigError("`held_out` has no effect with `test`, which holds all the test words", remedy="leave it out")
    source, target = (as_space(side, progress=progress) for side in (src, tgt))
    gold = None if test is None else as_lexicon(test, source.lang, target.lang)
    pairs = as_lexicon(lexicon, source.lang, target.lang)
    train, rest = split_lexicon(pairs, source, target, seeds=most_pairs, held_out=held_out if gold is None else 0)
    gold = gold or rest
    if gold is None:
        raise LexiconError("the lexicon is too small to hold words out", where=pairs.source, remedy="give `test`")
    check_direction(gold, source, target)
    data = _Data(source, target, train, gold)
    if match_dimensions:
        chosen = [_changed(one, match_dimensions=True) for one in chosen]
    jobs = [
        _changed(one, seed=one.aligner.seed + number) for one in chosen for number in range(runs if one.random else 1)
    ]
    rows = {one.label: Row(one.label, one.method, one.aligner.method.supervision) for one in chosen}
    outcomes: dict[Row, list[MethodRun]] = {row: [] for row in rows.values()}
    for done, one in enumerate(jobs):
        progress(f"comparing, {one.label}", done, len(jobs))
        slug = "".join(c if c.isalnum() or c in "-_" else "_" for c in one.label)
        place = None if folder is None else Path(folder) / "runs" / f"{slug}-{one.aligner.seed}.json"
        key = run_key(data.key, one.method, dataclasses.asdict(one.aligner))
        run = kept(place, key, MethodRun, lambda one=one: data.run(one.aligner, threads, progress))  # type: ignore[misc]
        outcomes[rows[one.label]].append(run)
    progress("comparing", len(jobs), len(jobs))
    table = comparison_of(outcomes, (source.lang, target.lang))
    lines = [Row(label, "", "", note=need) for label, need in missing]
    # Too few pairs or test words are said once for all methods.
    warnings: list[str] = []
    if any(one.aligner.method.supervision == "supervised" for one in chosen):
        warnings += few_pairs(len(train.indices(source, target)), min(source.dim, target.dim))
    warnings += few_words(Results(run.result for some in outcomes.values() for run in some if run.result)[:1])
    return dataclasses.replace(table, rows=(*table.rows, *lines), warnings=tuple(warnings), pairs=len(train))


def _changed(one: Contender, **settings: Any) -> Contender:
    return dataclasses.replace(one, aligner=dataclasses.replace(one.aligner, **settings))


@dataclasses.dataclass(frozen=True, eq=False)
class _Data:
    src: Space
    tgt: Space
    train: Lexicon
    test: Lexicon

    @property
    def key(self) -> str:
        return run_key(self.src.fingerprint(), self.tgt.fingerprint(), self.train.pairs, self.test.pairs)

    def run(self, method: Aligner, threads: int | None, progress: Progress) -> MethodRun:
        """One fit and its figure."""
        # Methods that can do without pairs are here to show what that gives.
        pairs = self.train if method.method.supervision == "supervised" else None
        try:
            with PeakMemory() as memory:
                outcome = align_pair(
                    self.src, self.tgt, method, train=pairs, test=self.test, threads=threads, progress=progress
                )
        except IsoglotError as error:
            return MethodRun(error=str(error))
        (alignment,) = outcome.aligned.alignments.values()
        return MethodRun(
            outcome.results[0],
            outcome.seconds["align"],
            memory.megabytes,
            alignment.info.get("warning") or "",
            tuple(row["semantic"] for row in alignment.info.get("history", []) if "semantic" in row),
        )
