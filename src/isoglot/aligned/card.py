"""The README.md of aligned spaces, and of the static model that they are exported as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.aligners import Alignment, method_text, side_sources, warnings_of
from isoglot.card_content import (
    Source,
    Table,
    Usage,
    as_list,
    as_mapping,
    is_number,
    loadable,
    place_note,
    results_table,
)
from isoglot.cards import Card
from isoglot.spaces import Space

#: A word for the example is looked for behind the most frequent ones, which say little.
_SKIPPED = 200


def aligned_card(
    name: str,
    spaces: Mapping[str, Space],
    alignments: Mapping[tuple[str, str], Alignment],
    info: Mapping[str, Any],
) -> Card:
    """The card of aligned spaces that lie in the folder or repository `name`."""
    return Card(
        title=f"{', '.join(spaces)} in one vector space",
        summary=(
            f"Word vectors of {_listed(spaces)}, {next(iter(spaces.values())).dim} dimensions, in which words that "
            "translate each other are close."
        ),
        usage=[
            Usage(
                f"With Isoglot.{place_note(name)}",
                [
                    "import isoglot as ig",
                    "",
                    f"aligned = ig.load({loadable(name)})",
                    f"aligned.translate({loadable(_example(next(iter(spaces.values()))))}, k=3)",
                    "aligned.lexicon(mutual=True, limit=1000)",
                ],
            )
        ],
        tags=("cross-lingual", "word-embeddings", "bilingual-lexicon-induction"),
        **_origin(spaces, alignments, info),
    )


def static_model_card(
    name: str,
    spaces: Mapping[str, Space],
    alignments: Mapping[tuple[str, str], Alignment],
    info: Mapping[str, Any],
) -> Card:
    """The card of the same spaces as a static model."""
    texts = [_example(space) for space in spaces.values()]
    return Card(
        title=f"A static model of {', '.join(spaces)}",
        summary=(
            f"One vocabulary of {_listed(spaces)}, {next(iter(spaces.values())).dim} dimensions. A text's vector is "
            "the mean of its words' vectors, so texts of all these languages can be compared."
        ),
        usage=[
            Usage(
                f"With sentence-transformers.{place_note(name)}",
                [
                    "from sentence_transformers import SentenceTransformer",
                    "",
                    f"texts = [{', '.join(map(loadable, texts))}]",
                    f"vectors = SentenceTransformer({loadable(name)}).encode(texts)",
                ],
            ),
            Usage(
                "With model2vec:",
                [
                    "from model2vec import StaticModel",
                    "",
                    f"vectors = StaticModel.from_pretrained({loadable(name)}).encode(texts)",
                ],
            ),
        ],
        library="sentence-transformers",
        pipeline="sentence-similarity",
        tags=("cross-lingual", "static-embeddings", "model2vec"),
        **_origin(spaces, alignments, info),
    )


def _origin(
    spaces: Mapping[str, Space], alignments: Mapping[tuple[str, str], Alignment], info: Mapping[str, Any]
) -> dict[str, Any]:
    """What both cards say of where the spaces come from."""
    first = next(iter(alignments.values()), None)
    methods = dict.fromkeys(alignment.method for alignment in alignments.values())
    method = str(info.get("method") or " ".join(methods))
    return {
        "languages": list(spaces),
        "method": method_text(method),
        "settings": as_mapping(info.get("settings")) or ({} if first is None else first.config),
        "sources": _sources(alignments, info),
        "figures": _figures(info),
        "limits": [
            "A word outside the vocabulary has no vector, and a word of several meanings has one vector for all.",
            "Vectors carry the habits and prejudices of the text that they were trained on.",
            *warnings_of(info),
        ],
        "versions": {} if first is None else as_mapping(first.info.get("versions")),
    }


def _sources(alignments: Mapping[tuple[str, str], Alignment], info: Mapping[str, Any]) -> list[Source]:
    found = [
        Source.at(f"text of {text.get('lang')}", text.get("name"), f"{text.get('lines')} lines")
        for text in as_list(info.get("texts"))
        if isinstance(text, Mapping)
    ]
    if not found:
        found = [source for alignment in alignments.values() for source in side_sources(alignment.info)]
    for one in as_list(info.get("lexicons")):
        if isinstance(one, Mapping):
            content = f"{one.get('pairs')} pairs"
            found.append(Source.at(f"pairs {one.get('use')}", one.get("source"), content, one.get("fingerprint")))
    return list(dict.fromkeys(found))


def _figures(info: Mapping[str, Any]) -> list[Table]:
    tables = [results_table(info.get("results"), f"Words are translated and looked up in a dictionary.{_test(info)}")]
    for one in as_list(info.get("pairs")):
        if isinstance(one, Mapping):
            caption = f"Words are translated from {one.get('source')} to {one.get('target')}."
            tables.append(results_table(one.get("results"), caption))
    rows = []
    for choice in as_mapping(info.get("languages")).values():
        for direction, figures in as_mapping(as_mapping(choice).get("bli")).items():
            values = [as_mapping(figures).get(key) for key in ("raw", "before", "after")]
            rows.append([direction, *(f"{value:.3f}" if is_number(value) else "" for value in values)])
    if rows:
        caption = "P@1 of translated words, of the vectors as given, normalised, and aligned."
        tables.append(Table(caption, ["direction", "given", "normalised", "aligned"], rows))
    return [table for table in tables if table is not None]


def _test(info: Mapping[str, Any]) -> str:
    """Which dictionary that was, and whether its words were learned from."""
    tested = [one for one in as_list(info.get("lexicons")) if as_mapping(one).get("use") == "tested on"]
    if len(tested) != 1:
        return ""
    seen = tested[0].get("seen")
    new = "None of its words was" if seen == 0 else f"{seen} of its words were also" if isinstance(seen, int) else ""
    name = Source.at("", tested[0].get("source")).name
    return f" Test set: {f'`{name}`' if name else 'given in memory'}.{f' {new} learned from.' if new else ''}"


def _listed(spaces: Mapping[str, Space]) -> str:
    return ", ".join(f"{name} ({len(space):,} words)" for name, space in spaces.items())


def _example(space: Space) -> str:
    """A word that shows something: of letters alone and not among the most frequent, where there is one."""
    words: Sequence[str] = space.words
    later = (word for word in words[_SKIPPED:] if len(word) > 3 and word.isalpha())
    return next(later, None) or next((word for word in words if word.isalpha()), words[0])
