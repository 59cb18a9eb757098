"""Files that their makers publish at plain addresses: fastText's vectors and MUSE's dictionaries.

No checksum is published with them, so a file is accepted only if it can be read as what it should be.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path

from isoglot.catalogue.readers import Facts
from isoglot.catalogue.readers.vectors import keep_space
from isoglot.catalogue.record import Entry
from isoglot.errors import FormatError
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress
from isoglot.spaces import load_space, reading

_FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")


def read_public_vectors(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """Text vectors, packed or not."""
    space = load_space(artefacts[0], lang=entry.languages[0], cache=False, progress=progress)
    return keep_space(space, folder / entry.result, progress)


def read_public_model(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """A packed fastText `.bin`, which is kept as it is for the sake of its n-grams."""
    target = folder / entry.result
    with reading(entry.name, "file"), gzip.open(artefacts[0]) as packed, target.open("wb") as out:
        shutil.copyfileobj(packed, out, 1 << 22)
    with target.open("rb") as stream:
        if stream.read(4) != _FASTTEXT_MAGIC:
            raise FormatError("not a fastText model", where=entry.name)
    return {"bytes": target.stat().st_size}


def read_public_dictionary(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """A MUSE dictionary, one pair a line."""
    lexicon = Lexicon.load(artefacts[0], *entry.languages)
    lexicon.save(folder / entry.result)
    return {"pairs": len(lexicon), "source words": len(lexicon.by_source)}
