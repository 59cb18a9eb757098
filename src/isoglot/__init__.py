"""Isoglot puts languages into one vector space, says how well they fit, and makes the result useful.

    import isoglot as ig

    aligned = ig.align("wiki.en.vec", "wiki.fr.vec", "en-fr.txt")
    aligned.translate("music", k=3)
    aligned.lexicon(mutual=True).save("en-fr.dictionary.tsv")
    aligned.evaluate("en-fr.test.txt")["P@1"]
    aligned.save("en-fr")
    ig.load("en-fr")

Everything here is imported when it is first used: `import isoglot` itself costs a few milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoglot.aligned import Aligned
    from isoglot.aligners import Aligner, aligner, methods
    from isoglot.encoders import AlignedEncoder, Encoder
    from isoglot.lexicons import Lexicon
    from isoglot.pipelines.align import align
    from isoglot.pipelines.compare import compare
    from isoglot.pipelines.compare_pairs import compare_pairs
    from isoglot.pipelines.finetune_encoder import finetune
    from isoglot.pipelines.load import load
    from isoglot.spaces import Space
    from isoglot.tasks.evaluate import evaluate
    from isoglot.wordalign.align_words import align_words

__version__ = "0.2.0"

__all__ = [
    "Aligned",
    "AlignedEncoder",
    "Aligner",
    "Encoder",
    "Lexicon",
    "Space",
    "align",
    "align_words",
    "aligner",
    "compare",
    "compare_pairs",
    "evaluate",
    "finetune",
    "load",
    "methods",
]

#: The room of each name.
_ROOMS = {
    "Aligned": "aligned",
    "AlignedEncoder": "encoders",
    "Aligner": "aligners",
    "Encoder": "encoders",
    "Lexicon": "lexicons",
    "Space": "spaces",
    "align": "pipelines",
    "align_words": "wordalign",
    "aligner": "aligners",
    "compare": "pipelines",
    "compare_pairs": "pipelines",
    "evaluate": "tasks",
    "finetune": "pipelines",
    "load": "pipelines",
    "methods": "aligners",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'isoglot' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"isoglot.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
