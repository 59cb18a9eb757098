"""Every test word with what was expected and what was found: searchable, hits and misses apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isoglot.report.page import Section
from isoglot.report.tables import escape
from isoglot.tasks import Result


def answers_section(result: Result, *, most: int = 3000) -> Section:
    """A table of the result's items, the most frequent words first, at most `most` of them."""
    items = sorted(result.per_item, key=_order)[:most]
    kinds = [("", "all"), ("hit", "hits"), ("miss", "misses"), ("missing", "not asked")]
    buttons = "".join(
        f'<button type="button" data-kind="{kind}" aria-pressed="{"true" if not kind else "false"}">{name}</button>'
        for kind, name in kinds
    )
    head = "".join(
        f'<th scope="col"{mark}>{title}</th>'
        for title, mark in (
            ("word", ""),
            ("expected", ""),
            ("found", ""),
            ("score", ' class="number"'),
            ("rank", ' class="number"'),
            ("", ""),
        )
    )
    cut = len(result.per_item) - len(items)
    note = f'<p class="more">{cut:,} rarer words are left out of this page.</p>' if cut else ""
    return Section(
        "Hits and misses",
        f'<div class="tools" data-table="answers"><input type="search" placeholder="search a word" '
        f'aria-label="search a word">{buttons}<output></output></div>'
        f'<div class="tall"><table id="answers"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(_row(item) for item in items)}</tbody></table></div>{note}",
        "Expected: all translations the dictionary gives. Found: the nearest word, then the next ones. "
        "Rank: where the first expected word was found.",
    )


def _row(item: Mapping[str, Any]) -> str:
    predictions = item["predictions"]
    kind, mark = _verdict(item)
    best = escape(predictions[0][0]) if predictions else ""
    others = ", ".join(escape(word) for word, _ in predictions[1:5])
    more = f' <bdi class="more">{others}</bdi>' if others else ""
    score = f"{predictions[0][1]:.3f}" if predictions else ""
    rank = "" if item["rank"] is None else str(item["rank"])
    return (
        f'<tr data-kind="{kind}"><td><bdi>{escape(item["source"])}</bdi></td>'
        f"<td><bdi>{escape(', '.join(item['gold']))}</bdi></td><td><bdi>{best}</bdi>{more}</td>"
        f'<td class="number">{score}</td><td class="number">{rank}</td><td class="{kind}">{escape(mark)}</td></tr>'
    )


def _verdict(item: Mapping[str, Any]) -> tuple[str, str]:
    # A sign and a word beside the colour, so that nothing depends on seeing it.
    if item["status"] != "asked":
        return "missing", ("✓ " if item["hit"] else "") + str(item["status"])
    return ("hit", "✓ hit") if item["hit"] else ("miss", "✗ miss")


def _order(item: Mapping[str, Any]) -> tuple[bool, int]:
    rank = item["frequency_rank"]
    return (rank is None, int(rank or 0))
