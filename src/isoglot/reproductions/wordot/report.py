"""Page and tables of fine-tuned encoders: all methods beside each other, by language, and over lines of text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import isoglot
from isoglot.report import (
    Axis,
    Look,
    Report,
    Section,
    Series,
    Table,
    decimals,
    percent,
    percent_tips,
    plot,
    table_section,
    write_report,
)
from isoglot.reproductions.wordot.table import FinetuneRow

#: Groups of languages that rows are measured on, and what people call them.
GROUPS = {"trained": "trained on", "unseen": "not trained on", "others": "another domain"}
#: Figures of the target language alone, and what people call them.
TARGET = {"sentences": "English sentences", "simlex-999": "SimLex", "wordsim-353": "WordSim"}
#: Looks of curves: over languages that were trained on, and over those that were not.
_LOOKS = {
    "WordOT": (Look("--src", "dash", "circle"), Look("--src", "dot", "square")),
    "best": (Look("--tgt", "solid", "diamond"), Look("--tgt", "dot", "triangle")),
}


def mean_rows(records: Sequence[FinetuneRow], score: str = "csls") -> Table:
    """One row per method: mean P@1 towards the target over each group of languages, what the target kept, minutes."""
    groups = [group for group in GROUPS if any(record.groups[group] for record in records)]
    languages = {group: {lang for record in records for lang in record.groups[group]} for group in groups}
    target = [name for name in TARGET if any(name in record.target for record in records)]
    rows = [
        [
            record.variant,
            _lines(record),
            *(decimals(mean(record, group, score, languages[group])) for group in groups),
            *(decimals(record.target.get(name)) for name in target),
            decimals(None if record.training is None else record.training.seconds / 60, 1),
        ]
        for record in records
    ]
    head = ["method", "lines", *(GROUPS[group] for group in groups), *(TARGET[name] for name in target), "minutes"]
    return head, rows


def language_rows(records: Sequence[FinetuneRow], group: str = "trained", score: str = "csls") -> Table:
    """One row per method, one column per language: P@1 towards the target, and the mean."""
    languages = list(dict.fromkeys(lang for record in records for lang in record.groups[group]))
    rows = []
    for record in records:
        own = record.groups[group]
        if own:
            values = [own[lang][score].to_target if lang in own else None for lang in languages]
            rows.append([_name(record), *map(decimals, values), decimals(mean(record, group, score, languages))])
    return ["method", *languages, "mean"], rows


def mean(record: FinetuneRow, group: str, score: str, languages: Collection[str]) -> float | None:
    """Of P@1 towards the target over these languages; None unless all were measured: other means do not compare."""
    own = record.groups[group]
    if not languages or not own.keys() >= set(languages):
        return None
    return sum(own[lang][score].to_target for lang in languages) / len(languages)


def write_finetune_page(
    path: str | Path, encoder: str, records: Sequence[FinetuneRow], settings: Mapping[str, Any]
) -> None:
    """One HTML page."""
    sections = [
        table_section(
            "All methods",
            mean_rows(records),
            "P@1 of finding a sentence's English translation among those of the test, CSLS, means over languages. "
            "English sentences: those found by two thirds of their words, a check that English was not spoiled.",
        )
    ]
    for group, called in GROUPS.items():
        found = language_rows(records, group)
        if found[1]:
            sections.append(table_section(f"Languages: {called}", found, "P@1 towards English, CSLS.", bars=True))
    curve = _curve(records)
    if curve:
        lead = "What more parallel lines bring, means over languages."
        sections.insert(1, Section("How much text is needed", curve, lead))
    report = Report(
        "Encoders trained to align languages",
        f"{encoder}, parallel lines of the catalogue",
        settings=settings,
        versions={"isoglot": isoglot.__version__},
        sections=sections,
    )
    write_report(path, report)


def _curve(records: Sequence[FinetuneRow]) -> str:
    """P@1 over lines, for methods that were trained on several numbers of them; empty if there are none."""
    series = []
    spoken = []
    for variant, looks in _LOOKS.items():
        own = sorted((record for record in records if record.variant == variant), key=lambda one: one.lines or 0)
        if len(own) < 2:
            continue
        for group, look in zip(("trained", "unseen"), looks, strict=True):
            values = [mean(record, group, "csls", own[0].groups[group]) for record in own]
            name = f"{variant}, {GROUPS[group]}"
            spoken.append(f"{name}: " + ", ".join(percent(value or 0) for value in values))
            shares = [None if value is None else 100 * value for value in values]
            lines = [record.lines for record in own]
            series.append(Series(name, lines, shares, "line", look, tips=percent_tips(shares, f"{name}: ")))
    if not series:
        return ""
    return plot(
        series,
        Axis("lines of each language (logarithmic)", log=True),
        Axis("P@1, %", low=0, high=100),
        label="P@1 over lines: " + "; ".join(spoken),
    )


def _name(record: FinetuneRow) -> str:
    return record.variant if record.training is None else f"{record.variant}, {_lines(record)}"


def _lines(record: FinetuneRow) -> str:
    return "-" if record.lines is None else f"{record.lines:,}"
