"""Tables and page of the experiment with static and contextual vectors, with the paper's figures beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import isoglot
from isoglot.report import Report, Section, escape, plot, table, write_report
from isoglot.reproductions.density.table1_report import language_bars
from isoglot.reproductions.static_contextual.claims import PAPER, mean_retrieval, mean_translation

__all__ = ["claim_rows", "encoder_rows", "similarity_rows", "translation_rows", "write_static_page"]

Record = Mapping[str, Any]
Table = tuple[list[str], list[list[str]]]

#: Ways and states as the paper calls them, where it does.
WAYS = {"x2static": "X2Static", "aggregate": "means over contexts"}
NAMES = {("x2static", "as distilled"): "X2S-M", ("x2static", "aligned"): "X2S-MA"}
ENCODERS = {
    "teacher": "static vectors alone",
    "start": "as it was",
    "mlm": "MLM only",
    "static-mse": "MLM + MSE",
    "static-dcca": "MLM + DCCA",
}


def claim_rows(document: Record) -> Table:
    """Head and rows: what the paper says, and what became of it here."""
    rows = [[one["claim"], one["verdict"], one["numbers"], one["paper"]] for one in document["claims"]]
    return ["the paper says", "here", "our P@1", "the paper's"], rows


def translation_rows(document: Record) -> Table:
    """A row a way and state: P@1 of words from the pivot and to it, means over languages and seeds."""
    pivot = _pivot(document)
    rows = []
    for method, state in _ways(document):
        own = [row["bli"][state] for row in document["static"] if row["method"] == method]
        ours = [
            _over_seeds([mean_translation(one, pivot, to_pivot=to_pivot) for one in own]) for to_pivot in (False, True)
        ]
        printed = PAPER["bli"].get(state, {}) if method == "x2static" else {}
        theirs = [_cell(printed.get(name), 4) for name in ("from pivot", "to pivot")]
        different = _over_seeds([mean_translation(one, what="different") for one in own])
        rows.append([_way(method, state), *ours, different, str(len(own)), *theirs])
    head = ["vectors", f"{pivot}-xx", f"xx-{pivot}", "other form", "seeds", "paper: en-xx", "paper: xx-en"]
    tested = any(row["bli"]["as distilled"] for row in document["static"])
    return head, rows if tested else []


def language_rows(document: Record) -> Table:
    """The same by language and direction, of the first seed, with intervals over test words."""
    rows = []
    for method, state in _ways(document):
        first = next(row for row in document["static"] if row["method"] == method)
        for directions in first["bli"][state].values():
            for direction, one in directions.items():
                asked = f"{one['pairs']:,} of {one['test_pairs']:,}"
                rows.append(
                    [
                        _way(method, state),
                        direction,
                        _cell(one["value"]),
                        _ends(one["interval"]),
                        f"{one['n']:,}",
                        asked,
                    ]
                )
    return ["vectors", "direction", "P@1", "95%", "words asked", "test pairs covered"], rows


def choice_rows(document: Record) -> Table:
    """What became of each language when it was aligned."""
    rows = []
    for row in document["static"]:
        for lang, one in row["choices"].items():
            figures = [_cell(one[name]) for name in ("before", "after")]
            kept = "aligned" if one["aligned"] else "as it was"
            pairs = f"{one['induction']['pairs']:,}"
            induced = [one["induction"]["by"], pairs, one["criterion"]]
            rows.append([WAYS[row["method"]], str(row["seed"]), lang, *induced, *figures, kept])
    return ["vectors", "seed", "language", "induced by", "pairs", "criterion", "before", "aligned", "kept"], rows


def similarity_rows(document: Record) -> Table:
    """Spearman's correlation with people's judgement, a row a way and state, means over seeds."""
    sets = list(dict.fromkeys(name for row in document["static"] for name in row["similarity"]["as distilled"]))
    rows = []
    for method, state in _ways(document):
        own = [row["similarity"][state] for row in document["static"] if row["method"] == method]
        cells = [_over_seeds([one.get(name, {}).get("value") for one in own]) for name in sets]
        rows.append([_way(method, state), *cells])
    first = document["static"][0]["similarity"]["as distilled"]
    head = [f"{name} ({first[name]['n']:,} pairs)" if name in first else name for name in sets]
    return ["vectors", *head], rows if sets else []


def encoder_rows(document: Record) -> Table:
    """A row an objective: sentences and words found, and how well masked tokens are guessed, means over seeds."""
    rows = []
    for objective, own in _objectives(document).items():
        found = [[mean_retrieval(row["retrieval"], score) for row in own] for score in ("cosine", "csls")]
        to_pivot = [mean_retrieval(row["retrieval"], "cosine", "to pivot") for row in own]
        words = [mean_translation(row.get("words", {})) for row in own]
        losses = _losses(document, objective)
        figures: list[Sequence[float | None]] = [*found, to_pivot, words, losses]
        rows.append(
            [
                ENCODERS[objective],
                *map(_over_seeds, figures),
                _cell(math.exp(fmean(losses)), 1) if losses else "-",
                ", ".join(f"{row['training']['chosen']:,}" for row in own if "training" in row) or "-",
                _cell(PAPER["retrieval"].get(objective), 4),
            ]
        )
    pivot = _pivot(document)
    columns = ["cosine", "CSLS", f"cosine, xx-{pivot}", "words alone", "MLM loss", "perplexity", "step", "paper"]
    return ["encoder", *columns], rows


def retrieval_rows(document: Record) -> Table:
    """A row an objective, a column a language: P@1 of sentences both ways by cosine, means over seeds, and the mean."""
    languages = list(next(iter(document["encoders"]))["retrieval"])
    rows = []
    for objective, own in _objectives(document).items():
        values = [fmean(row["retrieval"][lang]["cosine"]["both"] for row in own) for lang in languages]
        if values:
            rows.append([ENCODERS[objective], *map(_cell, values), _cell(fmean(values))])
    return ["encoder", *languages, "mean"], rows


def write_static_page(path: str | Path, document: Record) -> None:
    """One HTML page."""
    claims, rows = claim_rows(document)
    notes = [f"{ENCODERS[name]} is left out: {reason}" for name, reason in document["skipped"].items()]
    sections = [
        Section(
            "The paper's claims",
            table(claims, rows) + _differences(document["claims"]),
            "Shown: the 95% interval (Student's t) of the difference over seeds lies above zero. P@1 are means over "
            "languages and both directions. The paper's are of XLM-R, more languages and other dictionaries.",
        ),
        Section("The encoder", table(["", ""], _encoder_facts(document)), "Where everything starts."),
        _section(
            "Distilled", _distilled_rows(document), "What static vectors were made of; all methods keep the same words."
        ),
        _section(
            "Words translated",
            translation_rows(document),
            "P@1 by CSLS over test words that are in both vocabularies; means over languages, ± the standard deviation "
            "over seeds. Other form: pairs whose two words are not written alike, which shared word pieces do not give "
            "away, both directions. Normalised: as the aligner sees them, without any map. Means over contexts have no "
            "seed.",
        ),
        _section("Words by language", language_rows(document), "The first seed; intervals by resampling test words."),
        _section(
            "Alignment", choice_rows(document), "Without supervision; a language stays as it was where that is better."
        ),
        _section("Word similarity", similarity_rows(document), "Spearman's correlation, over pairs that have vectors."),
        _section(
            "Encoders that go on",
            encoder_rows(document),
            "Trained with masked tokens (MLM) and towards static vectors, all for as many steps. Cosine and CSLS: P@1 "
            "of sentences among translations, means over languages and, but for one column, both directions. Words "
            "alone: P@1 of words encoded without a sentence. MLM loss and perplexity: of held out text, by the weights "
            "of the step that guesses it best, which are kept. Static vectors alone: sentences as means of the vectors "
            "that their words are trained towards; nobody learns more from a teacher than the teacher knows. "
            "Paper: Tatoeba.",
        ),
    ]
    head, cells = retrieval_rows(document)
    if cells:
        body = language_bars(head[1:-1], cells) + table(head, cells, numeric=range(1, len(head)))
        sections.append(Section("Sentences by language", body, "P@1 by cosine, both directions, means over seeds."))
    experiment = document["experiment"]
    settings = {name.replace("_", " "): _plain(value) for name, value in experiment.items() if value not in (None, {})}
    settings["time of all runs"] = f"{_seconds(document) / 60:.0f} minutes"
    report = Report(
        "Static vectors out of an encoder, and back into it",
        f"Hämmerl, Libovický & Fraser 2022, with {document['encoder']['name']}: {', '.join(experiment['texts'])}",
        notes=notes,
        settings=settings,
        versions={"isoglot": isoglot.__version__},
        sections=[section for section in sections if section.body],
    )
    write_report(path, report)


def _section(title: str, found: Table, lead: str) -> Section:
    head, rows = found
    return Section(title, table(head, rows, numeric=range(1, len(head))) if rows else "", lead)


def _encoder_facts(document: Record) -> list[list[str]]:
    own = document["encoder"]
    facts = [["encoder", own["name"]], ["layers", str(own["layers"])], ["dimensions", str(own["width"])]]
    facts += [["static vectors out of layer", own["static_layer"]], ["tested layer", own["tested_layer"]]]
    if "training" in own:
        training = own["training"]
        facts += [
            ["steps of its training", f"{training['steps']:,}"],
            ["loss of masked tokens before, after", f"{training['before']['mlm']:.3f}, {training['after']['mlm']:.3f}"],
        ]
    return facts


def _distilled_rows(document: Record) -> Table:
    rows = []
    for row in document["static"]:
        for lang, one in row["distilled"].items():
            times = [f"{one[name]:,.0f}" for name in ("encoder_seconds", "static_seconds")]
            counts = [f"{one[name]:,}" for name in ("kept", "words")]
            rows.append([WAYS[row["method"]], str(row["seed"]), lang, *counts, f"{one['coverage']:.1%}", *times])
    head = [
        "vectors",
        "seed",
        "language",
        "sentences",
        "words",
        "running words covered",
        "encoder, s",
        "static side, s",
    ]
    return head, rows


def _differences(claims: Sequence[Record]) -> str:
    """Dots with whiskers: the mean difference of each claim and its interval."""
    known = [one for one in claims if one["differences"]]
    if not known:
        return ""
    means = [100 * fmean(one["differences"]) for one in known]
    ends = [one["interval"] or (fmean(one["differences"]),) * 2 for one in known]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": means,
        "y": [escape(one["claim"]) for one in known],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [100 * high - mean for (_, high), mean in zip(ends, means, strict=True)],
            "arrayminus": [mean - 100 * low for (low, _), mean in zip(ends, means, strict=True)],
            "color": "--src",
        },
        "marker": {"color": "--src", "size": 9},
        "hovertemplate": "%{x:+.1f} points<extra></extra>",
    }
    layout = {
        "xaxis": {"title": {"text": "difference of P@1, points"}, "zeroline": True},
        "yaxis": {"automargin": True, "autorange": "reversed"},
        "showlegend": False,
    }
    label = "; ".join(f"{one['claim']}: {one['numbers']}" for one in known)
    return plot([trace], layout, label=label, height=80 + 60 * len(known))


def _ways(document: Record) -> list[tuple[str, str]]:
    """Methods and states, each once."""
    return list(dict.fromkeys((row["method"], state) for row in document["static"] for state in row["bli"]))


def _objectives(document: Record) -> dict[str, list[Record]]:
    """Rows by what was trained, and first those of the vectors that it was trained towards."""
    found: dict[str, list[Record]] = {"teacher": document["teachers"]} if document["teachers"] else {}
    for row in document["encoders"]:
        found.setdefault(row["objective"], []).append(row)
    return {name: found[name] for name in ENCODERS if name in found}


def _losses(document: Record, objective: str) -> list[float]:
    """Of masked tokens of held out text; before any training it is told by the first objective's runs."""
    when, name = ("before", "mlm") if objective == "start" else ("after", objective)
    own = [row["training"][when] for row in document["encoders"] if row["objective"] == name]
    return [float(one["mlm"]) for one in own if "mlm" in one]


def _seconds(document: Record) -> float:
    rows = (*document["static"], *document["teachers"], *document["encoders"], document["encoder"])
    encoded: dict[str, float] = {}  # by language, once for all that share a pass
    learned = 0.0
    for row in document["static"]:
        for lang, one in row["distilled"].items():
            encoded[lang] = max(encoded.get(lang, 0.0), float(one["encoder_seconds"]))
            learned += float(one["static_seconds"])
    return sum(encoded.values()) + learned + sum(float(row.get("seconds", 0)) for row in rows)


def _plain(value: Any) -> str:
    """A setting for people.

    >>> _plain({"epochs": 3, "induce": None}), _plain(7)
    ('epochs 3', '7')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items() if one is not None)
    return str(value)


def _pivot(document: Record) -> str:
    return str(document["experiment"]["aligning"]["pivot"])


def _way(method: str, state: str) -> str:
    name = f"{WAYS[method]}, {state}"
    return f"{NAMES[method, state]}: {name}" if (method, state) in NAMES else name


def _over_seeds(values: Sequence[float | None]) -> str:
    """The mean, and the standard deviation if there are several.

    >>> _over_seeds([0.5]), _over_seeds([0.5, 0.7]), _over_seeds([None])
    ('0.500', '0.600 ± 0.141', '-')
    """
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    return _cell(fmean(known)) + (f" ± {stdev(known):.3f}" if len(known) > 1 else "")


def _ends(interval: Sequence[float] | None) -> str:
    return "-" if not interval else f"{interval[0]:.3f} to {interval[1]:.3f}"


def _cell(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
