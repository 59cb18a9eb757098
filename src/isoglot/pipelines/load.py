"""`isoglot.load`: whatever Isoglot wrote, or a file of vectors or word pairs, as the object it holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from isoglot import catalogue
from isoglot.aligned import ALIGNED_FOLDER, Aligned
from isoglot.aligners import ALIGNMENT_FOLDER, Alignment
from isoglot.encoders import ALIGNED_ENCODER_FOLDER, AlignedEncoder, Encoder
from isoglot.errors import FormatError, InputError, IsoglotError
from isoglot.folders import FolderKind
from isoglot.hub import fetch, may_be_on_hub
from isoglot.lexicons import Lexicon
from isoglot.spaces import Space

_FOLDERS: tuple[tuple[FolderKind, Callable[..., Any]], ...] = (
    (ALIGNED_FOLDER, Aligned.load),
    (ALIGNED_ENCODER_FOLDER, AlignedEncoder.load),
    (ALIGNMENT_FOLDER, Alignment.load),
)


def load(path: str | Path, **settings: Any) -> Any:
    """Read a result or a file: its content decides what comes back.

    - a folder of `Aligned.save` or `isoglot align`: an `Aligned`; likewise aligned encoders and single alignments;
    - a folder with a model of transformers, such as a fine-tuned encoder: an `Encoder`;
    - a file or folder of vectors, or a catalogue name such as "vectors/en": a `Space`;
    - a file of word pairs, or a catalogue name such as "lexicon/en-fr": a `Lexicon`;
    - a name on the model hub, such as "user/en-fr": what `push_to_hub` sent there.

    Args:
        settings: of the loader, such as `limit` of a Space or `layer` of an Encoder.
    """
    # A mistyped entry of the catalogue is no repository.
    if may_be_on_hub(path) and str(path).split("/")[0] not in catalogue.KINDS:
        path = fetch(path)
    folder = Path(path).expanduser()
    for kind, read in _FOLDERS:
        if kind.owns(folder):
            return read(folder, **settings)
    if (folder / "config.json").is_file():
        return Encoder(folder, **settings)
    if not folder.exists() and catalogue.has_entry(str(path)):
        kind_of_data = catalogue.entry(str(path)).kind
        readers: dict[str, Callable[..., Any]] = {"lexicon": Lexicon.load, "vectors": Space.load, "encoder": Encoder}
        if kind_of_data not in readers:
            raise InputError(f"is {kind_of_data}, which has no single object", where=str(path))
        return readers[kind_of_data](str(path), **settings)
    try:
        return Space.load(path, **settings)
    except FormatError:
        if not folder.is_file() or settings:
            raise
        try:
            return Lexicon.load(path)
        except IsoglotError:
            pass
        raise
