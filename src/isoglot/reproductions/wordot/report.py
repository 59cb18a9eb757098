"""The page and the tables of fine-tuned encoders: all ways beside each other, by language, and over lines of text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import isoglot
from isoglot.report import Report, Section, escape, percent, plot, table, write_report
from isoglot.reproductions.density.table1_report import language_bars

__all__ = ["language_rows", "mean_rows", "write_finetune_page"]

Record = Mapping[str, Any]
Table = tuple[list[str], list[list[str]]]

#: Groups of languages that rows are measured on, and what people call them.
GROUPS = {"trained": "trained on", "unseen": "not trained on", "others": "another domain"}
#: Figures of the target language alone, and what people call them.
TARGET = {"sentences": "English sentences", "simlex-999": "SimLex", "wordsim-353": "WordSim"}
_LOOKS = {"WordOT": ("--src", "dash"), "best": ("--tgt", "solid")}


def mean_rows(records: Sequence[Record], score: str = "csls") -> Table:
    """A row a way: P@1 towards the target as means over each group of languages, what the target kept, minutes."""
    groups = [group for group in GROUPS if any(record[group] for record in records)]
    languages = {group: {lang for record in records for lang in record[group]} for group in groups}
    target = [name for name in TARGET if any(name in record.get("target", {}) for record in records)]
    rows = []
    for record in records:
        minutes = record.get("training_seconds")
        rows.append(
            [
                record["variant"],
                _lines(record),
                *(_cell(mean(record, group, score, languages[group])) for group in groups),
                *(_cell(record.get("target", {}).get(name)) for name in target),
                "-" if minutes is None else f"{minutes / 60:.1f}",
            ]
        )
    head = ["way", "lines", *(GROUPS[group] for group in groups), *(TARGET[name] for name in target), "minutes"]
    return head, rows


def language_rows(records: Sequence[Record], group: str = "trained", score: str = "csls") -> Table:
    """A row a way, a column a language: P@1 towards the target, and the mean."""
    languages = list(dict.fromkeys(lang for record in records for lang in record[group]))
    rows = []
    for record in records:
        if record[group]:
            values = [record[group].get(lang, {}).get(score, {}).get("to target") for lang in languages]
            rows.append([_name(record), *map(_cell, values), _cell(mean(record, group, score, languages))])
    return ["way", *languages, "mean"], rows


def mean(record: Record, group: str, score: str, languages: Collection[str]) -> float | None:
    """Of P@1 towards the target over these languages; None unless all were measured: other means do not compare."""
    if not languages or not record[group].keys() >= set(languages):
        return None
    return sum(float(record[group][lang][score]["to target"]) for lang in languages) / len(languages)


def write_finetune_page(path: str | Path, encoder: str, records: Sequence[Record], settings: Mapping[str, Any]) -> None:
    """One HTML page."""
    head, rows = mean_rows(records)
    sections = [
        Section(
            "All ways",
            table(head, rows, numeric=range(1, len(head))),
            "P@1 of finding a sentence's English translation among those of the test, CSLS, means over languages. "
            "English sentences: those found by two thirds of their words, a check that English was not spoiled.",
        )
    ]
    for group, called in GROUPS.items():
        columns, cells = language_rows(records, group)
        if cells:
            body = language_bars(columns[1:-1], cells) + table(columns, cells, numeric=range(1, len(columns)))
            sections.append(Section(f"Languages: {called}", body, "P@1 towards English, CSLS."))
    curve = _curve(records)
    if curve:
        lead = "What more parallel lines bring; languages not trained on are dotted."
        sections.insert(1, Section("How much text is needed", curve, lead))
    report = Report(
        "Encoders trained so that languages meet",
        f"{encoder}, parallel lines of the catalogue",
        settings=settings,
        versions={"isoglot": isoglot.__version__},
        sections=sections,
    )
    write_report(path, report)


def _curve(records: Sequence[Record]) -> str:
    """P@1 over lines, for ways that were trained on several numbers of them; empty if there are none."""
    traces = []
    spoken = []
    for variant, (colour, dash) in _LOOKS.items():
        own = sorted((record for record in records if record["variant"] == variant), key=lambda one: one["lines"])
        if len(own) < 2:
            continue
        for group, style in (("trained", dash), ("unseen", "dot")):
            values = [mean(record, group, "csls", own[0][group].keys()) for record in own]
            name = f"{variant}, {GROUPS[group]}"
            spoken.append(f"{name}: " + ", ".join(percent(value or 0) for value in values))
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": escape(name),
                    "x": [record["lines"] for record in own],
                    "y": [None if value is None else 100 * value for value in values],
                    "line": {"color": colour, "dash": style},
                    "marker": {"color": colour, "size": 6},
                    "hovertemplate": "%{y:.1f}%<extra>" + escape(name) + "</extra>",
                }
            )
    if not traces:
        return ""
    layout = {
        "xaxis": {"title": {"text": "lines of each language"}, "type": "log"},
        "yaxis": {"title": {"text": "P@1, %"}, "range": [0, 100]},
        "legend": {"orientation": "h", "y": -0.3},
    }
    return plot(traces, layout, label="P@1 over lines: " + "; ".join(spoken), height=400)


def _name(record: Record) -> str:
    return record["variant"] if "training_seconds" not in record else f"{record['variant']}, {_lines(record)}"


def _lines(record: Record) -> str:
    return "-" if record["lines"] is None else f"{record['lines']:,}"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
