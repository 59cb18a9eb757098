"""`make demo`: English and French from the catalogue, aligned, measured, translated, and shown on a report page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isoglot import catalogue
from isoglot.aligned import ALIGNED_FOLDER, Aligned, Translation, translate
from isoglot.aligners import Auto
from isoglot.errors import OfflineError
from isoglot.lexicons import Lexicon, split_lexicon
from isoglot.pipelines.align_pair import PairOutcome, align_pair
from isoglot.progress import Progress, silent
from isoglot.report import DataSource, HubnessCounts, Report, count_hubs, draw_map, write_report
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space
from isoglot.tasks import Results

_SHOWN = 20
_FETCHED = ("vectors/en", "vectors/fr", "lexicon/en-fr")


@dataclasses.dataclass(frozen=True, eq=False)
class DemoOutcome:
    """What the demo prints: figures, twenty translations with the dictionary's own, and where the report is."""

    title: str
    folder: Path
    report: Path
    results: Results
    translations: tuple[tuple[Translation, str], ...]
    generated: bool

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "title": self.title,
            "generated_languages": self.generated,
            "folder": str(self.folder),
            "report": str(self.report),
            "results": self.results.record(),
            "translations": [
                {"word": answer.word, "candidates": [word for word, _ in answer.candidates], "dictionary": gold}
                for answer, gold in self.translations
            ],
        }


@dataclasses.dataclass(frozen=True, eq=False)
class _Languages:
    src: Space
    tgt: Space
    lexicon: Lexicon
    title: str
    notes: tuple[str, ...]
    data: tuple[DataSource, ...]
    generated: bool


def run_demo(
    output: Path, *, offline: bool = False, progress: Progress = silent, tell: Callable[[str], None] = lambda _: None
) -> DemoOutcome:
    """Run it all into the folder `output`; `tell` gets sentences for the user, such as that data is generated."""
    folder, page = output / "aligned", output / "report.html"
    ALIGNED_FOLDER.check_replaceable(folder)
    languages = _generated("asked for") if offline else _fetched_or_generated(progress)
    for note in languages.notes:
        tell(note)
    train, test = split_lexicon(languages.lexicon, languages.src, languages.tgt)
    assert test is not None  # both kinds of data hold thousands of pairs
    aligner = Auto(effort="quick")
    outcome = align_pair(languages.src, languages.tgt, aligner, train=train, test=test, progress=progress)
    outcome.aligned.save(folder, progress=progress)
    _write_page(page, languages, outcome, progress)
    return DemoOutcome(
        languages.title, folder, page, outcome.results, _translations(outcome, test), languages.generated
    )


def _fetched_or_generated(progress: Progress) -> _Languages:
    try:
        for name in _FETCHED:
            catalogue.fetch(name, progress)
    except OfflineError as error:
        return _generated(str(error))
    entries = [catalogue.entry(name) for name in _FETCHED]
    data = tuple(
        DataSource(e.name, e.description, e.licence, e.source, sha256=e.artefacts[0].sha256, size=e.size)
        for e in entries
    )
    return _Languages(
        catalogue.load_vectors("en", progress=progress),
        catalogue.load_vectors("fr", progress=progress),
        catalogue.load_lexicon("en", "fr", progress=progress),
        "English and French in one space",
        (),
        data,
        generated=False,
    )


def _generated(reason: str) -> _Languages:
    pair = simulate_pair(n_words=12_000, dim=200, seed=0)
    note = f"These are two GENERATED languages, not English and French ({reason})."
    return _Languages(
        pair.src, pair.tgt, pair.lexicon, "Two generated languages in one space", (note,), (), generated=True
    )


def _translations(outcome: PairOutcome, test: Lexicon) -> tuple[tuple[Translation, str], ...]:
    """Words spread evenly over the held-out ones, whether right or wrong: no picking of pretty ones."""
    words = list(test.by_source)
    chosen = words[:: max(1, len(words) // _SHOWN)][:_SHOWN]
    answers = translate(outcome.aligned, chosen, k=3)
    return tuple((answer, ", ".join(test.by_source[answer.word][:4])) for answer in answers)


def _write_page(path: Path, languages: _Languages, outcome: PairOutcome, progress: Progress) -> None:
    src, tgt = languages.src, languages.tgt
    train, test = outcome.train, outcome.test
    assert train is not None
    assert test is not None
    before, after = (src, tgt), tuple(outcome.aligned.spaces.values())
    info = outcome.aligned.info
    report = Report(
        title=languages.title,
        subtitle=(
            f"{len(src):,} {src.lang} and {len(tgt):,} {tgt.lang} words, aligned from {len(train):,} pairs of "
            f"{len(train.by_source):,} frequent words, tested on the next {outcome.results[0].n:,}."
        ),
        languages=(src.lang, tgt.lang),
        method=info["method"],
        settings={**info["settings"], "training pairs": info["train_pairs"], "retrieval": "csls over all target words"},
        notes=languages.notes,
        results=outcome.results,
        maps=[
            draw_map("Before: each language in its own space", *before, test),
            draw_map("After: one space (held-out words)", after[0], after[1], test),
        ],
        hubness=_hubs(outcome.aligned, progress),
        data=languages.data,
        seed=info["provenance"]["seed"],
        versions=info["provenance"]["versions"],
    )
    progress("writing the report", 0, 1)
    write_report(path, report)
    progress("writing the report", 1, 1)


def _hubs(aligned: Aligned, progress: Progress) -> list[HubnessCounts]:
    """Hubs of the aligned spaces under plain cosine, and what CSLS makes of them."""
    source, target = aligned.names
    words = aligned.spaces[target].words
    return [
        count_hubs(label, aligned.retriever(source, target, score=score, progress=progress).top(10).indices, words)
        for label, score in (("cosine", "cosine"), ("CSLS", "csls"))
    ]
