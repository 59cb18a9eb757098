"""The pictures of an audit: what each layer of an encoder does, as curves over layers, and one table of all figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.report.axes import Axis
from isoglot.report.page import Section
from isoglot.report.plots import plot
from isoglot.report.series import Look, Series
from isoglot.report.tables import escape, percent, table

#: Name, values of all layers (None where there is none), their intervals if any, and looks.
Line = tuple[str, Sequence[float | None], Sequence[Sequence[float] | None] | None, Look]

_CHANCE = Look("--soft", "dot", "none")


def audit_sections(record: Mapping[str, Any]) -> list[Section]:
    """All sections, from what `Audit.record` gives."""
    sections = [_retrieval(record), _words(record), _probe(record), _anisotropy(record)]
    sections += [_hubness(record), _isomorphism(record), _all_figures(record)]
    return [section for section in sections if section is not None]


def _retrieval(record: Mapping[str, Any]) -> Section:
    layers = record["layers"]
    n, half = record["sentences"], record["sentences"] // 2
    kinds = [
        (f"as it is, {n:,} candidates", "as_is", Look("--src", "solid", "circle")),
        (f"as it is, {half:,} candidates", "halved", Look("--src", "dot", "triangle")),
        (f"aligned, {half:,} candidates", "aligned", Look("--tgt", "solid", "diamond")),
    ]
    lines = [_line(name, [layer[kind]["csls"]["mean"] for layer in layers], look) for name, kind, look in kinds]
    marks = [
        ("best layer as it is", 0, record["best_as_is"]["layer"]),
        ("best layer aligned", 2, record["best_aligned"]["layer"]),
    ]
    head = ["layer", "cosine", "CSLS", "95% interval", "there", "back", "CSLS", "aligned", "95% interval"]
    rows = [
        [
            layer["layer"],
            percent(layer["as_is"]["cosine"]["mean"]["value"]),
            *_with_interval(layer["as_is"]["csls"]["mean"]),
            percent(layer["as_is"]["csls"]["there"]["value"]),
            percent(layer["as_is"]["csls"]["back"]["value"]),
            percent(layer["halved"]["csls"]["mean"]["value"]),
            *_with_interval(layer["aligned"]["csls"]["mean"]),
        ]
        for layer in layers
    ]
    caption = f"P@1, %. Left as it is among {n:,} sentences; the last three columns among {half:,} of a half."
    lead = (
        "How often is the nearest sentence of the other language the translation? CSLS, mean of both directions, with "
        "95% intervals; rings: the best layers. Aligned: after a rotation (Procrustes) learned on the other half. "
        "Fewer candidates make it easier, so compare the aligned curve with the dotted one."
    )
    told = table(head, rows, numeric=range(len(head)), caption=caption)
    return Section("Sentence retrieval", _curves(layers, lines, "P@1, %", marks=marks) + told, lead)


def _words(record: Mapping[str, Any]) -> Section | None:
    layers = record["layers"]
    if layers[0]["word_match"] is None and layers[0]["word_links"] is None:
        return None
    lines: list[Line] = []
    lead = ""
    if layers[0]["word_match"] is not None:
        chance = [layer["word_chance"] for layer in layers]
        lines += [
            _line("in the translation", [layer["word_match"] for layer in layers], Look("--src")),
            ("by chance", chance, None, _CHANCE),
        ]
        lead = (
            f"A word is shown the words of {record['settings']['word_group']} sentences: its own translation and "
            "others at random. How often does the most similar one lie in the translation? Mean of both directions; "
            "words that the translation has in the same spelling are not asked. "
        )
    if layers[0]["word_links"] is not None:
        links = [layer["word_links"]["F1"] for layer in layers]
        lines.append(_line("F1 of word links", links, Look("--tgt", symbol="diamond")))
        lead += "F1: words that are each other's most similar, against the links given."
    return Section("Words", _curves(layers, lines, "share of words, %"), lead.strip())


def _probe(record: Mapping[str, Any]) -> Section:
    layers = record["layers"]
    lines: list[Line] = [
        _line("told right", [layer["probe"] for layer in layers], Look("--src")),
        ("by chance", [0.5] * len(layers), None, _CHANCE),
    ]
    lead = (
        "Can a linear classifier tell the language of a sentence from its vector? 100% means that the languages lie "
        "apart, 50% that the space does not know them. A space can be marked for language and still be cross-lingual."
    )
    return Section("Language identity", _curves(layers, lines, "share of sentences, %", zero=False), lead)


def _anisotropy(record: Mapping[str, Any]) -> Section | None:
    layers = record["layers"]
    if layers[0]["anisotropy"] is None:
        return None
    names = [lang or side for lang, side in zip(record["languages"], ("source", "target"), strict=True)]
    looks = [
        (f"within {names[0]}", Look("--src", symbol="circle")),
        (f"within {names[1]}", Look("--tgt", symbol="diamond")),
        ("across languages", Look("--good", "dash", "square")),
    ]
    lines: list[Line] = [
        (name, [layer["anisotropy"][i] for layer in layers], None, look) for i, (name, look) in enumerate(looks)
    ]
    lead = (
        "Mean cosine of different words, one random occurrence each. 0: words point everywhere; near 1: all in one "
        "narrow cone, and cosines tell little. Across far below within: each language has a cone of its own."
    )
    return Section("Anisotropy", _curves(layers, lines, "mean cosine", scale=1), lead)


def _hubness(record: Mapping[str, Any]) -> Section:
    parts = [("Skewness", "skewness", "skewness"), ("Robin Hood index", "robin_hood", "share of places")]
    lead = (
        "Are a few sentences among the 10 nearest of nearly everything? Cosine, mean of both directions. Skewness well "
        "above 1 tells of hubs; Robin Hood is the share of all neighbour places that would have to move for all "
        "sentences to be found equally often. Lower is better in both."
    )
    return Section("Hubness", _grid(record["layers"], parts), lead)


def _isomorphism(record: Mapping[str, Any]) -> Section:
    parts = [
        ("Relational similarity (higher is closer)", "relational_similarity", "correlation"),
        ("Singular-value gap (lower is closer)", "singular_value_gap", "gap"),
        ("Eigenvector similarity (lower is closer)", "eigenvector_similarity", "squared difference"),
    ]
    lead = "Do the sentences of both languages form the same shape? Where they do, a rotation can bring them together."
    return Section("Isomorphism", _grid(record["layers"], parts), lead)


def _all_figures(record: Mapping[str, Any]) -> Section:
    head = ["layer", "P@1 as is", "standardised", "aligned", "words", "probe", "cosine across", "three dimensions"]
    head += ["skewness", "relational", "SV gap"]
    rows = [
        [
            layer["layer"],
            percent(layer["as_is"]["csls"]["mean"]["value"]),
            percent(layer["standardised"]["value"]),
            percent(layer["aligned"]["csls"]["mean"]["value"]),
            "–" if layer["word_match"] is None else percent(layer["word_match"]["value"]),
            percent(layer["probe"]["value"]),
            "–" if layer["anisotropy"] is None else f"{layer['anisotropy'][2]:.2f}",
            percent(layer["dominance"]),
            f"{layer['skewness']:.2f}",
            f"{layer['relational_similarity']:.2f}",
            f"{layer['singular_value_gap']:.3f}",
        ]
        for layer in record["layers"]
    ]
    lead = (
        "The figures of the sections above side by side; P@1, words and probe in %. Standardised: P@1 after each "
        "dimension of a language was given mean 0 and variance 1; three dimensions: the share of the largest."
    )
    return Section("All layers", table(head, rows, numeric=range(len(head))), lead)


def _line(name: str, figures: Sequence[Mapping[str, Any] | None], look: Look) -> Line:
    values = [None if figure is None else figure["value"] for figure in figures]
    return name, values, [None if figure is None else figure["interval"] for figure in figures], look


def _with_interval(figure: Mapping[str, Any]) -> tuple[str, str]:
    low, high = figure["interval"]
    return percent(figure["value"]), f"{percent(low)} – {percent(high)}"


def _grid(layers: Sequence[Mapping[str, Any]], parts: Sequence[tuple[str, str, str]]) -> str:
    plots = []
    for title, key, unit in parts:
        name = title.partition(" (")[0].lower()
        line: Line = (name, [layer[key] for layer in layers], None, Look("--src"))
        chart = _curves(layers, [line], unit, scale=1, height=220)
        plots.append(f"<div><h3>{escape(title)}</h3>{chart}</div>")
    return f'<div class="pair">{"".join(plots)}</div>'


def _curves(
    layers: Sequence[Mapping[str, Any]],
    lines: Sequence[Line],
    title: str,
    *,
    scale: float = 100,
    marks: Sequence[tuple[str, int, int]] = (),
    zero: bool = True,
    height: int = 340,
) -> str:
    """Curves over layers; `marks` are rings of a name, around the value of a line at a layer."""
    numbers = [layer["layer"] for layer in layers]
    series: list[Series] = []
    for place, (name, values, intervals, look) in enumerate(lines):
        # A hair's breadth apart, so that intervals of different curves do not hide each other.
        shift = 0.05 * (place - (len(lines) - 1) / 2) if intervals else 0.0
        shown = [None if value is None else scale * value for value in values]
        ends = [None if found is None else [scale * end for end in found] for found in intervals or ()]
        tips = [f"{name}, layer {number}: {_told(value, scale)}" for number, value in zip(numbers, shown, strict=True)]
        series.append(Series(name, [number + shift for number in numbers], shown, "line", look, ends, tips))
    for name, place, number in marks:
        marked, column = series[place], numbers.index(number)
        ring = Look(marked.look.colour, symbol="ring")
        series.append(Series(name, [marked.x[column]], [marked.y[column]], "points", ring))
    spoken = "; ".join(
        f"{name} " + ", ".join("none" if value is None else f"{scale * value:.3g}" for value in values)
        for name, values, _, _ in lines
    )
    label = f"{title} over layers {numbers}: {spoken}"
    return plot(series, Axis("layer", whole=True), Axis(title, zero=zero), label=label, height=height)


def _told(value: float | None, scale: float) -> str:
    if value is None:
        return "none"
    return f"{value:.1f}%" if scale == 100 else f"{value:.3f}"
