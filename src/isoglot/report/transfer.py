"""The page of a transfer: figures by language and encoder, what differs, confused labels, the worst errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import isoglot
from isoglot.report.alignment_report import Report, write_report
from isoglot.report.axes import Axis
from isoglot.report.page import Section
from isoglot.report.plots import percent_tips, plot
from isoglot.report.series import Series, look
from isoglot.report.tables import escape, percent, table
from isoglot.tasks import p_text

#: Two matrices of so many labels fit side by side.
_FEW_LABELS = 6


def write_transfer_page(path: str | Path, title: str, record: Mapping[str, Any]) -> None:
    """One HTML page, from what `TransferTable.record` gives."""
    notes = [f"{record['verdict']}."]
    notes += [f"{lang} was not tested: {why}." for lang, why in record["not_tested"].items()]
    sizes = ", ".join(f"{lang} {n:,}" for lang, n in record["languages"].items())
    report = Report(
        title,
        f"{record['metric']}, trained on {record['source']}, tested on {sizes} examples",
        notes=notes,
        settings={
            **record["settings"],
            "intervals": f"95%, {record['bootstrap']:,} resamples of test examples",
            **{f"seconds of {name}": f"{seconds:,.0f}" for name, seconds in record["seconds"].items()},
        },
        seed=record["seed"],
        versions={"isoglot": isoglot.__version__},
        sections=transfer_sections(record),
    )
    write_report(path, report)


def transfer_sections(record: Mapping[str, Any]) -> list[Section]:
    """All sections; those on confusions and errors only where there are any."""
    sections = [_figures(record), _tests(record), _confusions(record), _worst(record)]
    return [section for section in sections if section is not None]


def _figures(record: Mapping[str, Any]) -> Section:
    source, figures, means = record["source"], record["figures"], record["means"]
    several = any(len(figure["runs"]) > 1 for one in figures.values() for figure in one.values())
    metrics = list(next(iter(next(iter(figures.values())).values()))["secondary"])
    head = ["language", "encoder", f"{record['metric']}, %", "95% interval"]
    head += (["95%, seeds too", "lowest to highest run"] if several else []) + [f"{metric}, %" for metric in metrics]
    rows = []
    for lang in record["languages"]:
        for name in record["encoders"]:
            figure = figures[name][lang]
            more = [percent(figure["secondary"][metric]) for metric in metrics]
            rows.append([lang, name, *_cells(figure, several), *more])
    names = {"mean": "mean", "without_source": f"mean without {source}", "gap": f"gap to {source}"}
    for kind, title in names.items():
        known = [(name, means[name][kind]) for name in record["encoders"] if means[name][kind] is not None]
        if len(record["languages"]) > 1:
            rows += [[title, name, *_cells(figure, several), *[""] * len(metrics)] for name, figure in known]
    lead = (
        f"Heads learned from {source} only. A figure is the mean over runs with different seeds; its interval is about "
        "the test examples. What depends on the seed is told by the interval in which runs are resampled too, and by "
        "the lowest and the highest run."
    )
    numeric = range(2, len(head))
    return Section("Figures by language", _chart(record) + table(head, rows, numeric=numeric), lead)


def _cells(figure: Mapping[str, Any], several: bool) -> list[str]:
    seeds = [_between(figure["over_seeds"]), _between([min(figure["runs"]), max(figure["runs"])])] if several else []
    return [percent(figure["value"]), _between(figure["interval"]), *seeds]


def _chart(record: Mapping[str, Any]) -> str:
    languages, encoders = list(record["languages"]), record["encoders"]
    series = []
    for number, name in enumerate(encoders):
        # Side by side, so that intervals do not hide each other.
        shift = 0.5 * (number - (len(encoders) - 1) / 2) / len(encoders)
        figures = [record["figures"][name][lang] for lang in languages]
        values = [100 * figure["value"] for figure in figures]
        known = [figure["interval"] for figure in figures]
        ends = [None if one is None else [100 * end for end in one] for one in known]
        tips = [
            f"{name}, {lang}: {told}"
            for lang, told in zip(languages, percent_tips(values, intervals=ends), strict=True)
        ]
        places = [place + shift for place in range(len(languages))]
        series.append(Series(name, places, values, "points", look(number), ends, tips))
    spoken = "; ".join(
        f"{name} " + ", ".join(f"{lang} {percent(record['figures'][name][lang]['value'])}%" for lang in languages)
        for name in encoders
    )
    return plot(
        series,
        Axis("language", names=tuple(languages)),
        Axis(f"{record['metric']}, %"),
        label=f"{record['metric']} by language: {spoken}",
        height=360,
    )


def _tests(record: Mapping[str, Any]) -> Section | None:
    if not record["tests"]:
        return None
    head = ["encoder", "language", "difference, points", "95% interval", "p", "examples better", "worse"]
    rows = [
        [
            test["encoder"],
            test["language"] or f"all but {record['source']}",
            f"{100 * test['difference']:+.1f}",
            " – ".join(f"{100 * end:+.1f}" for end in test["interval"]),
            p_text(test["p_value"]).removeprefix("= "),
            f"{test['wins']:,}",
            f"{test['losses']:,}",
        ]
        for test in record["tests"]
    ]
    lead = (
        f"Each encoder against {record['encoders'][0]}, on the same examples and seeds. p: how often a difference as "
        "large comes about if the two swap their predictions at random (approximate randomisation); it is not "
        "corrected for the number of tests."
    )
    return Section("Differences", table(head, rows, numeric=range(2, len(head))), lead)


def _confusions(record: Mapping[str, Any]) -> Section | None:
    parts = []
    for lang in record["languages"]:
        known = [(name, record["confusions"][name][lang]) for name in record["encoders"]]
        matrices = "".join(
            f"<div><h3>{escape(f'{lang}, {name}')}</h3>{_matrix(one['labels'], one['counts'])}</div>"
            for name, one in known
            if one is not None
        )
        # Many labels need the whole width.
        wide = any(one is not None and len(one["labels"]) > _FEW_LABELS for _, one in known)
        parts.append(matrices if wide or not matrices else f'<div class="pair">{matrices}</div>')
    lead = (
        "Rows: what is right; columns: what was predicted, in % of the row, all runs together; n: how many there are."
    )
    return Section("What is taken for what", "".join(parts), lead) if any(parts) else None


def _matrix(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """Right predictions on blue, wrong ones on vermillion ground, the stronger the more there are."""
    digits = 1 if len(labels) <= _FEW_LABELS else 0
    head = "".join(f'<th scope="col" class="number">{escape(label)}</th>' for label in labels)
    rows = []
    for place, (label, row) in enumerate(zip(labels, counts, strict=True)):
        total = sum(row)
        cells = "".join(
            _cell(count / total if total else 0.0, "--src" if column == place else "--tgt", digits)
            for column, count in enumerate(row)
        )
        rows.append(f'<tr><th scope="row">{escape(label)}</th>{cells}<td class="number">{total:,}</td></tr>')
    return (
        f'<div class="scroll"><table><thead><tr><th></th>{head}<th class="number">n</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(share: float, colour: str, digits: int) -> str:
    ground = f"background:color-mix(in srgb,var({colour}) {round(60 * share)}%,transparent)"
    shown = f"{100 * share:.{digits}f}" if share else ""
    return f'<td class="number" style="{ground}">{shown}</td>'


def _worst(record: Mapping[str, Any]) -> Section | None:
    encoders = record["encoders"]
    parts = []
    for lang, mistakes in record["worst"].items():
        if not mistakes:
            continue
        rows = [
            [one["text"], one["gold"], *(one["predicted"][name] for name in encoders), percent(one["value"])]
            for one in mistakes
        ]
        head = ["example", "right", *encoders, f"{record['metric']}, %"]
        parts.append(f"<h3>{escape(lang)}</h3>{table(head, rows, numeric=[len(head) - 1])}")
    lead = (
        f"Where {record['best']} does worst, mean over runs, the shortest examples first; what each encoder predicted "
        "is that of its first run."
    )
    return Section("Worst errors", "".join(parts), lead) if parts else None


def _between(interval: Sequence[float] | None) -> str:
    return "" if interval is None else f"{percent(interval[0])} – {percent(interval[1])}"
