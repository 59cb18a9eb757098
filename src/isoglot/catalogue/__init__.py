"""Named real data: what it is, its licence, where it comes from, how it is read.

`entries()` lists it, `fetch(name)` brings it to this machine, `load_*` gives Spaces, Lexicons and parallel text.
"""

from isoglot.catalogue.fetching import (
    cached as cached,
    check_licence as check_licence,
    entry_at as entry_at,
    fetch as fetch,
    provenance as provenance,
)
from isoglot.catalogue.load import (
    load_lexicon as load_lexicon,
    load_parallel as load_parallel,
    load_similarity as load_similarity,
    load_vectors as load_vectors,
)
from isoglot.catalogue.record import KINDS as KINDS, Artefact as Artefact, Entry as Entry
from isoglot.catalogue.table import entries as entries, entry as entry, has_entry as has_entry
