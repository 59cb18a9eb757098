"""The README.md of an aligned encoder's folder: how to load it, and that each text needs its language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def model_card(languages: tuple[str, str], facts: Mapping[str, Any], *, one_route: bool, reason: str | None) -> str:
    """The text. `reason`: why sentence-transformers cannot load the folder; `one_route`: no language is needed there.

    >>> "encode(texts, task=\\"de\\")" in model_card(("de", "en"), {}, one_route=False, reason=None)
    True
    """
    src, tgt = languages
    lines = ["---", "library_name: sentence-transformers" if reason is None else "library_name: isoglot"]
    lines += ["language:", *(f"- {lang}" for lang in languages), "---", ""]
    lines += [f"# An encoder aligned across {src} and {tgt}", ""]
    lines += [f"Vectors of {src} and {tgt} lie in one space after the map of their language, learned by Isoglot.", ""]
    if reason is None:
        lines += ["```python", "from sentence_transformers import SentenceTransformer", ""]
        lines += ["model = SentenceTransformer(FOLDER)"]
        if one_route:
            lines += ["vectors = model.encode(texts)  # both languages have the same map", "```", ""]
        else:
            lines += [f'{_name(lang)} = model.encode(texts, task="{lang}")' for lang in languages]
            lines += ["```", "", "Each language has a map of its own, so `encode` without `task` is an error.", ""]
    else:
        lines += [f"It does not load in sentence-transformers: {reason}.", ""]
    lines += ["```python", "from isoglot.encoders import AlignedEncoder", ""]
    lines += ["model = AlignedEncoder.load(FOLDER)", f'vectors = model.sentences(texts, "{src}")', "```", ""]
    if facts:
        lines += ["How it was learned:", "", "```json"]
        lines += [json.dumps(dict(facts), indent=2, ensure_ascii=False, default=str), "```", ""]
    return "\n".join(lines)


def _name(lang: str) -> str:
    """A name for a variable of Python.

    >>> _name("zh-Hant")
    'zh_Hant'
    """
    name = "".join(c if c.isalnum() else "_" for c in lang)
    return name if name.isidentifier() else f"lang_{name}"
