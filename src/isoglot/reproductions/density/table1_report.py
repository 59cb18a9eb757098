"""The tables on encoders as rows of text."""

from __future__ import annotations

from collections.abc import Sequence

from isoglot.report import Table, decimals
from isoglot.reproductions.density.table1 import EvaluationRow, LinkRow, RetrievalRow


def retrieval_rows(records: Sequence[RetrievalRow], score: str = "csls", kind: str | None = None) -> Table:
    """Head and rows of sentence retrieval: one row per variant, one column per language, and the mean.

    `kind`: on a text of another kind than what was learned from; only languages that have one.
    """
    figure = f"P@1 {score}"
    records = [record for record in records if kind is None or kind in record.elsewhere]
    languages = list(dict.fromkeys(record.language for record in records))
    pairs = [(record.before, record.after) if kind is None else record.elsewhere[kind] for record in records]
    found = {(one.variant, one.language): after[figure].value for one, (_, after) in zip(records, pairs, strict=True)}
    # The encoder as it comes, at its last layer: the same whatever is learned at that layer.
    for record, (before, _) in reversed(list(zip(records, pairs, strict=True))):
        found["as it comes", record.language] = before[figure].value
    rows = []
    for variant in dict.fromkeys(("as it comes", *(record.variant for record in records))):
        values = [found.get((variant, lang)) for lang in languages]
        known = [value for value in values if value is not None]
        rows.append([variant, *map(decimals, values), decimals(sum(known) / len(known))])
    return ["alignment", *languages, "mean"], rows


def word_alignment_rows(records: Sequence[LinkRow]) -> Table:
    """Head and rows of word alignment: F1 and AER of each method on each set."""
    sets = list(dict.fromkeys(record.set for record in records))
    found = {(record.kind, record.method, record.set): record.figures for record in records}
    rows = []
    for kind, method in dict.fromkeys((record.kind, record.method) for record in records):
        figures = [found.get((kind, method, name), {}).get(metric) for name in sets for metric in ("F1", "AER")]
        rows.append([method, kind, *(decimals(None if one is None else one.value) for one in figures)])
    return ["method", "vectors", *(f"{name} {metric}" for name in sets for metric in ("F1", "AER"))], rows


def evaluation_rows(records: Sequence[EvaluationRow]) -> Table:
    """Head and rows of reference-free evaluation: Pearson and Kendall before and after."""
    rows = []
    for record in records:
        pearson, kendall = record.figures["Pearson"], record.figures["Kendall"]
        low, high = pearson.interval or (pearson.value, pearson.value)
        when = "after" if record.remapped else "before"
        told = f"{pearson.value:.3f} ({low:.3f} to {high:.3f})"
        rows.append([record.pair, str(record.ngram), when, told, decimals(kendall.value)])
    return ["pair", "n-gram", "aligning", "Pearson (95%)", "Kendall"], rows
