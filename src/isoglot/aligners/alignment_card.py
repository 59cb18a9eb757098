"""The README.md of a saved alignment, and what cards of larger things say of the alignments in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isoglot.card_content import Source, Usage, as_list, as_mapping, loadable, place_note
from isoglot.cards import Card
from isoglot.plugins import late


def alignment_card(name: str, method: str, config: Mapping[str, Any], info: Mapping[str, Any]) -> Card:
    """The card of an alignment that lies in the folder or repository `name`."""
    src, tgt = (as_mapping(info.get(side)) for side in ("src", "tgt"))
    langs = [str(side.get("lang") or "") for side in (src, tgt)]
    between = " and ".join(langs) if all(langs) else "two spaces"
    dim = src.get("dim")
    return Card(
        title=f"An alignment of {between}",
        summary="It maps vectors of either side into one space, in which words that translate each other are close.",
        languages=langs,
        tags=("cross-lingual", "word-embeddings"),
        usage=[
            Usage(
                f"`vectors` are rows of your own, in the dimensions that it was learned on.{place_note(name)}",
                [
                    "import numpy as np",
                    "import isoglot as ig",
                    "",
                    f"alignment = ig.load({loadable(name)})",
                    f'vectors = np.ones((1, {dim if isinstance(dim, int) else "..."}), dtype="float32")',
                    'mapped = alignment.transform(vectors, side="src")',
                ],
            )
        ],
        method=method_text(method),
        settings=config,
        sources=side_sources(info),
        limits=[
            "It fits the vectors that it was learned on: those of another model, even of the same language, need an "
            "alignment of their own.",
            *warnings_of(info),
        ],
        versions=as_mapping(info.get("versions")),
    )


def side_sources(info: Mapping[str, Any]) -> list[Source]:
    """The vectors of both sides, and the pairs, where an aligner recorded them."""
    found = []
    for side, words in (("src", "source"), ("tgt", "target")):
        facts = as_mapping(info.get(side))
        if facts:
            what = f"vectors of {facts.get('lang') or f'the {words} side'}"
            content = f"{facts.get('rows')} rows, {facts.get('dim')} dimensions"
            found.append(Source.at(what, facts.get("source"), content, facts.get("fingerprint")))
    return found


def method_text(method: str) -> str:
    """A method of the table in a sentence; others by their name alone."""
    known = late("isoglot.aligners:methods")().get(method)
    if known is None:
        return f"By `{method}`." if method else ""
    paper = f" ({known.method.paper})" if known.method.paper != "-" else ""
    return f"By `{method}`: {known.method.summary}{paper}."


def warnings_of(info: Mapping[str, Any]) -> list[str]:
    """What its makers were warned of."""
    several = [str(one) for one in as_list(info.get("warnings"))]
    single = info.get("warning")
    return [f"Warning when it was made: {one}." for one in several or ([str(single)] if single else [])]
