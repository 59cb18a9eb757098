"""Tables and page of the experiment with static and contextual vectors, with the paper's figures beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
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
    plot,
    table,
    table_section,
    write_report,
)
from isoglot.reproductions.claims import Claim, claim_table
from isoglot.reproductions.static_contextual.claims import PAPER, mean_retrieval, mean_translation
from isoglot.reproductions.static_contextual.findings import EncoderRow, Findings

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


def translation_rows(found: Findings) -> Table:
    """One row per method and state: P@1 of words from the pivot and to it, means over languages and seeds."""
    pivot = found.pivot
    rows = []
    for method, state in _ways(found):
        own = [row.bli[state] for row in found.static if row.method == method]
        ours = [
            _over_seeds([mean_translation(one, pivot, to_pivot=to_pivot) for one in own]) for to_pivot in (False, True)
        ]
        printed = PAPER["bli"].get(state, {}) if method == "x2static" else {}
        theirs = [decimals(printed.get(name), 4) for name in ("from pivot", "to pivot")]
        different = _over_seeds([mean_translation(one, what="different") for one in own])
        rows.append([_way(method, state), *ours, different, str(len(own)), *theirs])
    head = ["vectors", f"{pivot}-xx", f"xx-{pivot}", "other form", "seeds", "paper: en-xx", "paper: xx-en"]
    tested = any(row.bli["as distilled"] for row in found.static)
    return head, rows if tested else []


def language_rows(found: Findings) -> Table:
    """The same by language and direction, of the first seed, with intervals over test words."""
    rows = []
    for method, state in _ways(found):
        first = next(row for row in found.static if row.method == method)
        for directions in first.bli[state].values():
            for direction, one in directions.items():
                asked = f"{one.pairs:,} of {one.test_pairs:,}"
                figures = [decimals(one.value), _ends(one.interval), f"{one.n:,}", asked]
                rows.append([_way(method, state), direction, *figures])
    return ["vectors", "direction", "P@1", "95%", "words asked", "test pairs covered"], rows


def choice_rows(found: Findings) -> Table:
    """What became of each language when it was aligned."""
    rows = []
    for row in found.static:
        for lang, one in row.choices.items():
            figures = [decimals(one[name]) for name in ("before", "after")]
            kept = "aligned" if one["aligned"] else "as it was"
            pairs = f"{one['induction']['pairs']:,}"
            induced = [one["induction"]["by"], pairs, one["criterion"]]
            rows.append([WAYS[row.method], str(row.seed), lang, *induced, *figures, kept])
    return ["vectors", "seed", "language", "induced by", "pairs", "criterion", "before", "aligned", "kept"], rows


def similarity_rows(found: Findings) -> Table:
    """Spearman's correlation with people's judgement, one row per method and state, means over seeds."""
    sets = list(dict.fromkeys(name for row in found.static for name in row.similarity["as distilled"]))
    rows = []
    for method, state in _ways(found):
        own = [row.similarity[state] for row in found.static if row.method == method]
        cells = [_over_seeds([one[name].value if name in one else None for one in own]) for name in sets]
        rows.append([_way(method, state), *cells])
    first = found.static[0].similarity["as distilled"]
    head = [f"{name} ({first[name].n:,} pairs)" if name in first else name for name in sets]
    return ["vectors", *head], rows if sets else []


def encoder_rows(found: Findings) -> Table:
    """One row per objective: sentences and words found, and how well masked tokens are guessed, means over seeds."""
    rows = []
    for objective, own in _objectives(found).items():
        means = [[mean_retrieval(row.retrieval, score) for row in own] for score in ("cosine", "csls")]
        to_pivot = [mean_retrieval(row.retrieval, "cosine", "to_pivot") for row in own]
        words = [mean_translation(row.words) for row in own]
        losses = _losses(found, objective)
        figures: list[Sequence[float | None]] = [*means, to_pivot, words, losses]
        rows.append(
            [
                ENCODERS[objective],
                *map(_over_seeds, figures),
                decimals(math.exp(fmean(losses)), 1) if losses else "-",
                ", ".join(f"{row.training['chosen']:,}" for row in own if row.training is not None) or "-",
                decimals(PAPER["retrieval"].get(objective), 4),
            ]
        )
    pivot = found.pivot
    columns = ["cosine", "CSLS", f"cosine, xx-{pivot}", "words alone", "MLM loss", "perplexity", "step", "paper"]
    return ["encoder", *columns], rows


def retrieval_rows(found: Findings) -> Table:
    """One row per objective, one column per language: P@1 of sentences by cosine, means over seeds, and the mean."""
    languages = list(found.encoders[0].retrieval)
    rows = []
    for objective, own in _objectives(found).items():
        values = [fmean(row.retrieval[lang]["cosine"].both for row in own) for lang in languages]
        if values:
            rows.append([ENCODERS[objective], *map(decimals, values), decimals(fmean(values))])
    return ["encoder", *languages, "mean"], rows


def write_static_page(path: str | Path, found: Findings) -> None:
    """One HTML page."""
    notes = [f"{ENCODERS[name]} is left out: {reason}" for name, reason in found.skipped.items()]
    sections = [
        Section(
            "The paper's claims",
            table(*claim_table(found.claims)) + _differences(found.claims),
            "Shown: the 95% interval (Student's t) of the difference over seeds lies above zero; contradicted: below. "
            "P@1 are means over languages and both directions. The paper's are of XLM-R, more languages and other "
            "dictionaries.",
        ),
        Section("The encoder", table(["", ""], _encoder_facts(found)), "Where everything starts."),
        table_section(
            "Distilled", _distilled_rows(found), "What static vectors were made of; all methods keep the same words."
        ),
        table_section(
            "Words translated",
            translation_rows(found),
            "P@1 by CSLS over test words that are in both vocabularies; means over languages, ± the standard deviation "
            "over seeds. Other form: pairs whose two words are not written alike, which shared word pieces do not give "
            "away, both directions. Normalised: as the aligner sees them, without any map. Means over contexts have no "
            "seed.",
        ),
        table_section("Words by language", language_rows(found), "The first seed; intervals by resampling test words."),
        table_section(
            "Alignment", choice_rows(found), "Without supervision; a language stays as it was where that is better."
        ),
        table_section(
            "Word similarity", similarity_rows(found), "Spearman's correlation, over pairs that have vectors."
        ),
        table_section(
            "Encoders trained further",
            encoder_rows(found),
            "Trained with masked tokens (MLM) and towards static vectors, all for as many steps. Cosine and CSLS: P@1 "
            "of sentences among translations, means over languages and, but for one column, both directions. Words "
            "alone: P@1 of words encoded without a sentence. MLM loss and perplexity: of held out text, by the weights "
            "of the step that guesses it best, which are kept. Static vectors alone: sentences as means of the vectors "
            "that their words are trained towards; nobody learns more from a teacher than the teacher knows. "
            "Paper: Tatoeba.",
        ),
    ]
    lead = "P@1 by cosine, both directions, means over seeds."
    sections.append(table_section("Sentences by language", retrieval_rows(found), lead, bars=True))
    experiment = found.experiment
    settings = {name.replace("_", " "): _plain(value) for name, value in experiment.items() if value not in (None, {})}
    settings["time of all runs"] = f"{_seconds(found) / 60:.0f} minutes"
    report = Report(
        "Static vectors out of an encoder, and back into it",
        f"Hämmerl, Libovický & Fraser 2022, with {found.encoder.name}: {', '.join(experiment['texts'])}",
        notes=notes,
        settings=settings,
        versions={"isoglot": isoglot.__version__},
        sections=[section for section in sections if section.body],
    )
    write_report(path, report)


def _encoder_facts(found: Findings) -> list[list[str]]:
    own = found.encoder
    facts = [["encoder", own.name], ["layers", str(own.layers)], ["dimensions", str(own.width)]]
    facts += [["static vectors out of layer", own.static_layer], ["tested layer", own.tested_layer]]
    if own.training is not None:
        losses = [f"{own.training[when]['mlm']:.3f}" for when in ("before", "after")]
        facts.append(["steps of its training", f"{own.training['steps']:,}"])
        facts.append(["loss of masked tokens before, after", ", ".join(losses)])
    return facts


def _distilled_rows(found: Findings) -> Table:
    rows = []
    for row in found.static:
        for lang, one in row.distilled.items():
            times = [f"{one[name]:,.0f}" for name in ("encoder_seconds", "static_seconds")]
            counts = [f"{one[name]:,}" for name in ("kept", "words")]
            rows.append([WAYS[row.method], str(row.seed), lang, *counts, f"{one['coverage']:.1%}", *times])
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


def _differences(claims: Sequence[Claim]) -> str:
    """Dots with whiskers: the mean difference of each claim and its interval."""
    known = [one for one in claims if one.differences]
    if not known:
        return ""
    means = [100 * fmean(one.differences) for one in known]
    ends = [None if one.interval is None else [100 * end for end in one.interval] for one in known]
    tips = [f"{mean:+.1f} points" for mean in means]
    edges = [-0.5, len(known) - 0.5]
    series = [
        Series("no difference", [0.0, 0.0], edges, "line", Look("--soft", "dash", "none")),
        Series("mean over seeds", means, range(len(known)), "points", Look("--src"), ends, tips),
    ]
    return plot(
        series,
        Axis("difference of P@1, percentage points"),
        Axis(names=tuple(one.claim for one in known)),
        label="; ".join(f"{one.claim}: {one.numbers}" for one in known),
    )


def _ways(found: Findings) -> list[tuple[str, str]]:
    """Methods and states, each once."""
    return list(dict.fromkeys((row.method, state) for row in found.static for state in row.bli))


def _objectives(found: Findings) -> dict[str, list[EncoderRow]]:
    """Rows by what was trained, and first those of the vectors that it was trained towards."""
    rows: dict[str, list[EncoderRow]] = {}
    for row in (*found.teachers, *found.encoders):
        rows.setdefault(row.objective, []).append(row)
    return {name: rows[name] for name in ENCODERS if name in rows}


def _losses(found: Findings, objective: str) -> list[float]:
    """Of masked tokens of held out text; before any training it is told by the first objective's runs."""
    when, name = ("before", "mlm") if objective == "start" else ("after", objective)
    own = [row.training[when] for row in found.encoders if row.objective == name and row.training is not None]
    return [float(one["mlm"]) for one in own if "mlm" in one]


def _seconds(found: Findings) -> float:
    encoded: dict[str, float] = {}  # by language, once for all that share a pass
    learned = found.encoder.seconds
    for row in found.static:
        learned += row.seconds
        for lang, one in row.distilled.items():
            encoded[lang] = max(encoded.get(lang, 0.0), float(one["encoder_seconds"]))
            learned += float(one["static_seconds"])
    return learned + sum(encoded.values()) + sum(row.seconds for row in (*found.teachers, *found.encoders))


def _plain(value: Any) -> str:
    """A setting for people.

    >>> _plain({"epochs": 3, "induce": None}), _plain(7)
    ('epochs 3', '7')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items() if one is not None)
    return str(value)


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
    return decimals(fmean(known)) + (f" ± {stdev(known):.3f}" if len(known) > 1 else "")


def _ends(interval: Sequence[float] | None) -> str:
    return "-" if not interval else f"{interval[0]:.3f} to {interval[1]:.3f}"
