"""The pictures of an audit: what each layer of an encoder does, as curves over layers, and one table of all figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.report.page import Section
from isoglot.report.plots import plot, whiskers
from isoglot.report.tables import escape, percent, table

#: Name, values of all layers (None where there is none), their intervals if any, colour and dash.
Line = tuple[str, Sequence[float | None], Sequence[Sequence[float] | None] | None, str, str]


def audit_sections(record: Mapping[str, Any]) -> list[Section]:
    """All sections, from what `Audit.record` gives."""
    sections = [_retrieval(record), _words(record), _probe(record), _anisotropy(record)]
    sections += [_hubness(record), _isomorphism(record), _all_figures(record)]
    return [section for section in sections if section is not None]


def _retrieval(record: Mapping[str, Any]) -> Section:
    layers = record["layers"]
    n, half = record["sentences"], record["sentences"] // 2
    kinds = [
        (f"as it is, {n:,} candidates", "as_is", "--src", "solid"),
        (f"as it is, {half:,} candidates", "halved", "--src", "dot"),
        (f"aligned, {half:,} candidates", "aligned", "--tgt", "solid"),
    ]
    lines = [
        _line(name, [layer[kind]["csls"]["mean"] for layer in layers], colour, dash)
        for name, kind, colour, dash in kinds
    ]
    marks = [(0, record["best_as_is"]["layer"]), (2, record["best_aligned"]["layer"])]
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
        "95% intervals; circles: the best layers. Aligned: after a rotation (Procrustes) learned on the other half. "
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
            _line("in the translation", [layer["word_match"] for layer in layers], "--src"),
            ("by chance", chance, None, "--soft", "dot"),
        ]
        lead = (
            f"A word is shown the words of {record['settings']['word_group']} sentences: its own translation and "
            "others at random. How often does the most similar one lie in the translation? Mean of both directions; "
            "words that the translation has in the same spelling are not asked. "
        )
    if layers[0]["word_links"] is not None:
        lines.append(_line("F1 of word links", [layer["word_links"]["F1"] for layer in layers], "--tgt"))
        lead += "F1: words that are each other's most similar, against the links given."
    return Section("Words", _curves(layers, lines, "%"), lead.strip())


def _probe(record: Mapping[str, Any]) -> Section:
    layers = record["layers"]
    lines: list[Line] = [
        _line("told right", [layer["probe"] for layer in layers], "--src"),
        ("by chance", [0.5] * len(layers), None, "--soft", "dot"),
    ]
    lead = (
        "Can a linear classifier tell the language of a sentence from its vector? 100% means that the languages lie "
        "apart, 50% that the space does not know them. A space can be marked for language and still be cross-lingual."
    )
    return Section("Language identity", _curves(layers, lines, "%", bounds=(40, 103)), lead)


def _anisotropy(record: Mapping[str, Any]) -> Section | None:
    layers = record["layers"]
    if layers[0]["anisotropy"] is None:
        return None
    names = [lang or side for lang, side in zip(record["languages"], ("source", "target"), strict=True)]
    looks = [(f"within {names[0]}", "--src", "solid"), (f"within {names[1]}", "--tgt", "solid")]
    lines: list[Line] = [
        (name, [layer["anisotropy"][i] for layer in layers], None, colour, dash)
        for i, (name, colour, dash) in enumerate([*looks, ("across languages", "--good", "dash")])
    ]
    lead = (
        "Mean cosine of different words, one random occurrence each. 0: words point everywhere; near 1: all in one "
        "narrow cone, and cosines tell little. Across far below within: each language has a cone of its own."
    )
    return Section("Anisotropy", _curves(layers, lines, "mean cosine", scale=1), lead)


def _hubness(record: Mapping[str, Any]) -> Section:
    parts = [("Skewness", "skewness"), ("Robin Hood index", "robin_hood")]
    lead = (
        "Are a few sentences among the 10 nearest of nearly everything? Cosine, mean of both directions. Skewness well "
        "above 1 tells of hubs; Robin Hood is the share of all neighbour places that would have to move for all "
        "sentences to be found equally often. Lower is better in both."
    )
    return Section("Hubness", _grid(record["layers"], parts), lead)


def _isomorphism(record: Mapping[str, Any]) -> Section:
    parts = [
        ("Relational similarity (higher is closer)", "relational_similarity"),
        ("Singular-value gap (lower is closer)", "singular_value_gap"),
        ("Eigenvector similarity (lower is closer)", "eigenvector_similarity"),
    ]
    lead = "Do the sentences of both languages form the same shape? Where they do, a rotation can bring them together."
    return Section("Isomorphism", _grid(record["layers"], parts), lead)


def _all_figures(record: Mapping[str, Any]) -> Section:
    head = ["layer", "P@1 as is", "aligned", "words", "probe", "cosine across", "skewness", "relational", "SV gap"]
    rows = [
        [
            layer["layer"],
            percent(layer["as_is"]["csls"]["mean"]["value"]),
            percent(layer["aligned"]["csls"]["mean"]["value"]),
            "–" if layer["word_match"] is None else percent(layer["word_match"]["value"]),
            percent(layer["probe"]["value"]),
            "–" if layer["anisotropy"] is None else f"{layer['anisotropy'][2]:.2f}",
            f"{layer['skewness']:.2f}",
            f"{layer['relational_similarity']:.2f}",
            f"{layer['singular_value_gap']:.3f}",
        ]
        for layer in record["layers"]
    ]
    lead = "The figures of the sections above side by side; P@1, words and probe in %."
    return Section("All layers", table(head, rows, numeric=range(len(head))), lead)


def _line(name: str, figures: Sequence[Mapping[str, Any] | None], colour: str, dash: str = "solid") -> Line:
    values = [None if figure is None else figure["value"] for figure in figures]
    return name, values, [None if figure is None else figure["interval"] for figure in figures], colour, dash


def _with_interval(figure: Mapping[str, Any]) -> tuple[str, str]:
    low, high = figure["interval"]
    return percent(figure["value"]), f"{percent(low)} – {percent(high)}"


def _grid(layers: Sequence[Mapping[str, Any]], parts: Sequence[tuple[str, str]]) -> str:
    plots = [
        f"<div><h3>{escape(title)}</h3>"
        + _curves(
            layers, [(title, [layer[key] for layer in layers], None, "--src", "solid")], "", scale=1, legend=False
        )
        + "</div>"
        for title, key in parts
    ]
    return f'<div class="pair">{"".join(plots)}</div>'


def _curves(
    layers: Sequence[Mapping[str, Any]],
    lines: Sequence[Line],
    title: str,
    *,
    scale: float = 100,
    marks: Sequence[tuple[int, int]] = (),
    bounds: tuple[float, float] | None = None,
    legend: bool = True,
) -> str:
    numbers = [layer["layer"] for layer in layers]
    unit = "%{y:.1f}%" if scale == 100 else "%{y:.3f}"
    traces: list[dict[str, Any]] = []
    for place, (name, values, intervals, colour, dash) in enumerate(lines):
        trace: dict[str, Any] = {
            "type": "scatter",
            "mode": "lines" if colour == "--soft" else "lines+markers",
            "name": escape(name),
            # A hair's breadth apart, so that intervals of different curves do not hide each other.
            "x": [number + 0.05 * (place - (len(lines) - 1) / 2) if intervals else number for number in numbers],
            "y": [None if value is None else scale * value for value in values],
            "line": {"color": colour, "dash": dash},
            "marker": {"color": colour, "size": 6},
            "customdata": numbers,
            "hovertemplate": f"layer %{{customdata}}: {unit}<extra>{escape(name)}</extra>",
        }
        if intervals:
            known = [0.0 if value is None else scale * value for value in values]
            ends = [
                (value, value) if found is None else [scale * end for end in found]
                for value, found in zip(known, intervals, strict=True)
            ]
            trace["error_y"] = whiskers(known, ends, color=colour, thickness=1, width=3)
        traces.append(trace)
    for place, number in marks:
        marked, column = traces[place], numbers.index(number)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [marked["x"][column]],
                "y": [marked["y"][column]],
                "marker": {**marked["marker"], "symbol": "circle-open", "size": 16, "line": {"width": 2}},
                "showlegend": False,
                "hoverinfo": "skip",
            }
        )
    axis: dict[str, Any] = {"title": {"text": "layer"}, "zeroline": False, "tickformat": "d"}
    if len(numbers) <= 16:
        axis |= {"tickmode": "array", "tickvals": numbers}
    layout = {
        "xaxis": axis,
        "yaxis": {"title": {"text": title}, **({"range": list(bounds)} if bounds else {"rangemode": "tozero"})},
        "showlegend": legend,
    }
    spoken = "; ".join(
        f"{name} " + ", ".join("none" if value is None else f"{scale * value:.3g}" for value in values)
        for name, values, _, _, _ in lines
    )
    height = 380 if legend else 260
    return plot(traces, layout, label=f"{title or 'value'} over layers {numbers}: {spoken}", height=height)
