"""Where a command writes: checked before any work, and held until the command ends."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.errors import InputError
from isoglot.files import atomic_path, check_writable, follow_link, is_stream, remove_abandoned
from isoglot.locks import output_lock, remove_dead_locks

if TYPE_CHECKING:
    from isoglot.folders import FolderKind

_held = contextlib.ExitStack()


def claim(output: Path, kind: FolderKind | None = None) -> None:
    """Raise unless the folder can be written (and, given a kind, replaced); keep other runs out until we are done."""
    if kind is not None:
        kind.check_replaceable(output)
    elif output.exists() and not output.is_dir():
        raise InputError("is a file, not a folder", where=str(output), remedy="choose another output path")
    else:
        check_writable(output)
    _hold(output)
    if kind is None and output.is_symlink():
        follow_link(output).mkdir(parents=True, exist_ok=True)  # Path.mkdir takes a link to nothing for a file


def claim_file(output: Path) -> None:
    """Raise unless the file can be written; keep other runs out until we are done."""
    if not is_stream(output):
        check_writable(output)
        _hold(output)


def write_json(path: Path, document: object) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")


def write_json_lines(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    """One JSON object per line."""
    with atomic_path(path) as temporary:
        lines = (json.dumps(dict(record), ensure_ascii=False) for record in records)
        temporary.write_text("".join(line + "\n" for line in lines), "utf-8")


def release_outputs() -> None:
    """The command has ended, well or not."""
    _held.close()


def _hold(output: Path) -> None:
    """Lock the output, and remove what a killed run was writing there, beside it, or among what it kept."""
    _held.enter_context(output_lock(output))
    # Of a symbolic link: what is kept to resume from lies beside the link, what is written beside its target.
    for place in {Path(os.path.abspath(output)), Path(os.path.realpath(output))} - {Path("/")}:
        for beside in (place.name, f".{place.name}.checkpoint"):
            remove_abandoned(place.parent, beside)
        for folder in (place, place.with_name(f"{place.name}.work")):
            # Not deeper than we write: a user may name a folder with much else below it.
            for within in (folder, *folder.glob("*/"), *folder.glob("*/*/"), *folder.glob("*/*/*/")):
                remove_abandoned(within)
                remove_dead_locks(within)
