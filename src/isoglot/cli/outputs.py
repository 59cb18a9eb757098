"""Where a command writes: checked before any work, and held until the command ends."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from isoglot.errors import InputError
from isoglot.files import check_writable, follow_link, remove_abandoned
from isoglot.folders import FolderKind
from isoglot.locks import output_lock

__all__ = ["claim", "release_outputs"]

_held = contextlib.ExitStack()


def claim(output: Path, kind: FolderKind | None = None) -> None:
    """Raise unless the folder can be written (and, given a kind, replaced); keep other runs out until we are done."""
    if kind is not None:
        kind.check_replaceable(output)
    elif output.exists() and not output.is_dir():
        raise InputError("is a file, not a folder", where=str(output), remedy="choose another output path")
    else:
        check_writable(output)
    _held.enter_context(output_lock(output))
    # What a killed run was writing to the output, beside it, or among what it kept to resume from.
    output = follow_link(Path(os.path.abspath(output)))
    for beside in (output.name, f".{output.name}.checkpoint"):
        remove_abandoned(output.parent, beside)
    for folder in (output, output.with_name(f"{output.name}.work")):
        # Not deeper than we write: a user may name a folder with much else below it.
        for within in (folder, *folder.glob("*/"), *folder.glob("*/*/")):
            remove_abandoned(within)


def release_outputs() -> None:
    """The command has ended, well or not."""
    _held.close()
