"""The README.md of an aligned encoder: how to load it, and that each text needs its language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isoglot.aligners import Alignment, method_text, warnings_of
from isoglot.card_content import (
    HERE,
    Source,
    Table,
    Usage,
    as_list,
    as_mapping,
    is_number,
    loadable,
    place_note,
    results_table,
    variable,
)
from isoglot.cards import Card


def aligned_encoder_card(
    name: str,
    languages: tuple[str, str],
    alignment: Alignment,
    facts: Mapping[str, Any],
    *,
    one_route: bool,
    reason: str | None,
    ours: bool = False,
) -> Card:
    """The card of an aligned encoder that lies in the folder or repository `name`.

    Args:
        reason: why sentence-transformers cannot load it.
        one_route: whether no language is needed there.
        ours: whether transformers knows the encoder only once Isoglot has registered it.
    """
    src, tgt = languages
    usages = []
    if reason is None:
        task = "both languages have the same map" if one_route else "each language has a map of its own, see `task`"
        lines = ["from sentence_transformers import SentenceTransformer", "", 'texts = ["..."]']
        if ours:
            lines.insert(0, "import isoglot.encoders.use_model  # registers the encoder with transformers")
        lines.append(f"model = SentenceTransformer({loadable(name)})")
        if one_route:
            lines.append("vectors = model.encode(texts)")
        else:
            lines += [f'{variable(lang)} = model.encode(texts, task="{lang}")' for lang in languages]
        usages.append(Usage(f"With sentence-transformers; {task}.{place_note(name)}", lines))
    loader = "load" if name == HERE else "from_pretrained"
    lines = ["from isoglot import AlignedEncoder", "", f"model = AlignedEncoder.{loader}({loadable(name)})"]
    usages.append(Usage(f"With Isoglot.{place_note(name)}", [*lines, f'vectors = model.sentences(["..."], "{src}")']))
    limits = [f"Only texts of {src} and {tgt} lie in the shared space, each after the map of its own language."]
    if reason is not None:
        limits.append(f"It does not load in sentence-transformers: {reason}.")
    return Card(
        title=f"An encoder aligned across {src} and {tgt}",
        summary=f"Vectors of {src} and {tgt} lie in one space after the map of their language.",
        languages=languages,
        usage=usages,
        method=method_text(alignment.method),
        settings={**alignment.config, **{key: facts[key] for key in ("layer", "sentences", "pairs") if key in facts}},
        sources=_sources(facts),
        figures=_figures(facts),
        limits=[*limits, *warnings_of(alignment.info), *warnings_of(facts)],
        versions=as_mapping(alignment.info.get("versions")),
        library="isoglot" if reason is not None else "sentence-transformers",
        pipeline="sentence-similarity",
        tags=("cross-lingual", "sentence-embeddings"),
    )


def _sources(facts: Mapping[str, Any]) -> list[Source]:
    found = []
    if facts.get("encoder"):
        found.append(Source.at("encoder", facts["encoder"], fingerprint=facts.get("encoder_fingerprint")))
    text = as_mapping(facts.get("text"))
    for place in as_list(text.get("source")) or ([""] if text else []):
        content = f"{text.get('sentences')} sentence pairs"
        found.append(Source.at("parallel text", place, content, text.get("fingerprint")))
    return list(dict.fromkeys(found))


def _figures(facts: Mapping[str, Any]) -> list[Table]:
    captions = {
        "results": "Sentences held out of the parallel text find their translations, after alignment.",
        "before": "The same before alignment.",
    }
    tables = [results_table(facts.get(key), caption) for key, caption in captions.items()]
    checks = [one for one in map(as_mapping, as_list(facts.get("checks"))) if is_number(one.get("after"))]
    if checks:
        keys = ("name", "metric", "lines", "before", "after")
        rows = [[one.get(key, "") for key in keys] for one in checks]
        tables.append(Table("Text of other kinds.", ["text", "figure", *keys[2:]], rows))
    return [table for table in tables if table is not None]
