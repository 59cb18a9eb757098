"""Debian packages: downloaded by apt (no root needed, apt checks the signature), read without installing.

A `.deb` is an `ar` archive that holds a packed tar of the package's files.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

import zstandard

from isoglot.catalogue.archive import FILE_LIMIT, Archive
from isoglot.catalogue.record import Artefact
from isoglot.errors import DownloadError, FormatError, OfflineError
from isoglot.files import sha256_of_file
from isoglot.opening import open_source
from isoglot.progress import Progress, silent
from isoglot.spaces import reading

_MAGIC = b"!<arch>\n"
_HEADER = 60


def download_debian_package(
    artefact: Artefact, folder: Path, what: str, progress: Progress = silent
) -> tuple[Path, str]:
    """Let apt download the package into `folder`; give the file and its sha256.

    Of the version that we know the size and checksum must fit too. Other Debian releases carry other
    versions: those pass on apt's own check alone.
    """
    apt = shutil.which("apt-get")
    if apt is None:
        raise DownloadError(
            f"comes in the Debian package {artefact.package}, and this machine has no apt-get",
            where=what,
            remedy="fetch it on Debian or Ubuntu, or choose another entry",
        )
    step = f"downloading {artefact.package}"
    progress(step, 0, None)
    options = ["-q", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=15", "-o", "APT::Sandbox::User=root"]
    try:
        done = subprocess.run(
            [apt, *options, "download", artefact.package],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=300,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise OfflineError(f"apt-get did not finish ({error})", where=what, remedy="try again") from error
    files = sorted(folder.glob("*.deb"))
    if done.returncode or len(files) != 1:
        raise _explain(done.stderr, artefact.package, what)
    path = files[0]
    digest = sha256_of_file(path)
    if path.name == artefact.filename and artefact.sha256 and digest != artefact.sha256:
        path.unlink()
        raise DownloadError(
            "the package's checksum is not the expected one", where=what, remedy="it was removed; check apt's sources"
        )
    progress(step, path.stat().st_size, path.stat().st_size)
    return path, digest


def open_debian_package(path: Path) -> Archive:
    """The files of a `.deb`, as an Archive (the tar lies in memory: these packages are small)."""
    with open_source(path) as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise FormatError("not a Debian package", where=str(path))
        while len(header := stream.read(_HEADER)) == _HEADER:
            name = header[:16].decode("ascii", "replace").rstrip().rstrip("/")
            try:
                size = int(header[48:58])
            except ValueError:
                break
            if header[58:60] != b"`\n" or size < 0:
                break
            if name.startswith("data.tar"):
                body = stream.read(size)
                if len(body) < size:
                    break
                return Archive(_unpack(name, body, path), str(path))
            stream.seek(size + size % 2, os.SEEK_CUR)
    raise FormatError("no data in this Debian package, or it is cut short", where=str(path))


def _unpack(name: str, body: bytes, path: Path) -> io.BytesIO:
    """The tar, packed in a way that tarfile knows."""
    if name.endswith(".zst"):
        with reading(path, "Debian package"), zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body)) as zst:
            body = zst.read(FILE_LIMIT + 1)
        if len(body) > FILE_LIMIT:
            raise FormatError("unpacks to more than it should", where=str(path))
    elif not name.endswith((".tar", ".gz", ".xz")):
        raise FormatError(f"unknown packing {name}", where=str(path))
    return io.BytesIO(body)


def _explain(message: str, package: str, what: str) -> OfflineError | DownloadError:
    if "Unable to locate" in message or "No packages found" in message or "no installation candidate" in message:
        return DownloadError(
            f"apt knows no package {package}",
            where=what,
            remedy="refresh its lists (apt-get update), or your release does not carry it",
        )
    lines = [line for line in message.splitlines() if line.startswith("E:")]
    reason = lines[0].removeprefix("E:").strip() if lines else "no reason given"
    return OfflineError(f"apt-get cannot download {package} ({reason})", where=what, remedy="connect and try again")
