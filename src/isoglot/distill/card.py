"""The README.md of distilled vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isoglot.card_content import HERE, Source, Usage, as_mapping, loadable, place_note
from isoglot.cards import Card
from isoglot.spaces import Space

_METHODS = {
    "x2static": "By X2Static (Gupta and Jaggi 2021; Hämmerl et al. 2022): words are learned from their contexts.",
    "aggregate": "By the mean over a word's occurrences (Bommasani et al. 2020).",
}


def distilled_card(spaces: Mapping[str, Space], content: Mapping[str, Any]) -> Card:
    """The card of static vectors whose manifest has this content."""
    languages, encoder = as_mapping(content.get("languages")), as_mapping(content.get("encoder"))
    settings = as_mapping(content.get("settings"))
    first = next(iter(spaces))
    listed = ", ".join(f"{lang} ({len(space):,} words)" for lang, space in spaces.items())
    sources = [Source.at("encoder", encoder.get("name"), f"layer {encoder.get('layer')}", encoder.get("fingerprint"))]
    for lang, facts in languages.items():
        content_of = f"{facts.get('kept')} sentences"
        sources.append(Source.at(f"text of {lang}", as_mapping(facts.get("text")).get("name"), content_of))
    warnings = [str(facts["warning"]) for facts in languages.values() if facts.get("warning")]
    return Card(
        title=f"Static vectors of {', '.join(spaces)}, distilled from an encoder",
        summary=f"Word vectors of {listed}, {spaces[first].dim} dimensions, learned from an encoder's vectors.",
        languages=list(spaces),
        usage=[
            Usage(
                f"With Isoglot.{place_note(HERE)}",
                ["import isoglot as ig", "", f"space = ig.load({loadable(f'{HERE}/{first}.safetensors')})"],
            )
        ],
        method=_METHODS.get(str(settings.get("method")), ""),
        settings=settings,
        sources=sources,
        limits=[
            "Languages are not aligned by this alone: `isoglot align` does it.",
            "A word of several meanings has one vector for all.",
            *(f"Warning when it was made: {one}." for one in warnings),
        ],
        versions=as_mapping(content.get("versions")),
        tags=("word-embeddings", "static-embeddings"),
    )
