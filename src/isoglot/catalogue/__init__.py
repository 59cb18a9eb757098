"""Named real data: what it is, its licence, where it comes from, how it is read.

`entries()` lists it, `fetch(name)` brings it to this machine, `load_*` gives Spaces, Lexicons and parallel text.
"""

from isoglot.catalogue.fetching import cached, fetch, provenance
from isoglot.catalogue.load import load_lexicon, load_parallel, load_similarity, load_vectors
from isoglot.catalogue.record import Artefact, Entry
from isoglot.catalogue.table import entries, entry, has_entry

__all__ = [
    "Artefact",
    "Entry",
    "cached",
    "entries",
    "entry",
    "fetch",
    "has_entry",
    "load_lexicon",
    "load_parallel",
    "load_similarity",
    "load_vectors",
    "provenance",
]
