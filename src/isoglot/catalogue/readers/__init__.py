"""From packages as they come to our own forms: one source a file.

A reader takes the entry, its verified files, a folder to write into and a progress callback; it gives a few
facts (how many words or pairs) that are kept beside the result.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

from isoglot.catalogue.record import Entry
from isoglot.errors import ConfigError
from isoglot.progress import Progress

__all__ = ["READERS", "Facts", "Reader", "reader"]

Facts = dict[str, int | str]
Reader = Callable[[Entry, Sequence[Path], Path, Progress], Facts]

#: Where each reader lives; imported only when used.
READERS = {
    "packed_vectors": "vectors",
    "turkish_vectors": "vectors",
    "public_vectors": "public",
    "public_model": "public",
    "public_dictionary": "public",
    "wordnet": "wordnet",
    "ding": "ding",
    "freedict": "dictd",
    "mueller": "dictd",
    "messages": "messages",
    "help_pages": "help_pages",
    "similarity": "corpora",
    "sentiment": "corpora",
    "tagged": "corpora",
    "encoder": "models",
    "gguf_parts": "models",
}


def reader(name: str) -> Reader:
    """The reader of this name."""
    if name not in READERS:
        raise ConfigError(f"no reader {name!r} in the catalogue")
    module = importlib.import_module(f"{__name__}.{READERS[name]}")
    found: Reader = getattr(module, f"read_{name}")
    return found
