from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from isoglot.catalogue import Artefact
from isoglot.catalogue.debian import download_debian_package, open_debian_package
from isoglot.errors import DownloadError, FormatError, OfflineError

Make = Callable[..., bytes]


@pytest.mark.parametrize("packing", [".xz", ".gz", ".zst", ""])
def test_files_of_a_package_are_read(tmp_path: Path, make_tar: Make, make_deb: Make, packing: str) -> None:
    path = tmp_path / "x.deb"
    path.write_bytes(make_deb(make_tar({"./usr/share/dict/a": b"alpha"}, ""), packing))
    assert open_debian_package(path).read("share/dict/a") == [b"alpha"]


def test_what_is_no_package_or_cut_short_is_an_error(tmp_path: Path, make_tar: Make, make_deb: Make) -> None:
    path = tmp_path / "x.deb"
    whole = make_deb(make_tar({"./a": bytes(range(256)) * 20}, ""))
    for length in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError):
            open_debian_package(path).read("a")


def fake_apt(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "bin" / "apt-get"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("version", "sha256", "accepted"),
    [("1", "right", True), ("1", "wrong", False), ("2", "wrong", True)],
    ids=["known version", "known version, other content", "another release"],
)
def test_apt_brings_the_package_and_the_known_version_must_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, sha256: str, accepted: bool
) -> None:
    (tmp_path / "pool.deb").write_bytes(b"content")
    fake_apt(tmp_path, monkeypatch, f'cp "{tmp_path}/pool.deb" ./words_{version}_all.deb\n')
    digest = hashlib.sha256(b"content").hexdigest()
    artefact = Artefact("debian", "words_1_all.deb", "words", "1", 7, digest if sha256 == "right" else "00")
    folder = tmp_path / "work"
    folder.mkdir()
    if accepted:
        assert download_debian_package(artefact, folder, "x") == (folder / f"words_{version}_all.deb", digest)
    else:
        with pytest.raises(DownloadError, match="checksum"):
            download_debian_package(artefact, folder, "x")
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        ("E: Unable to locate package words", DownloadError, "apt-get update"),
        ("E: Failed to fetch http://deb.example/w  Could not resolve 'deb.example'", OfflineError, "Could not resolve"),
        ("", OfflineError, "no reason given"),
    ],
)
def test_apts_failures_become_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, kind: type[Exception], words: str
) -> None:
    fake_apt(tmp_path, monkeypatch, f'echo "{message}" >&2\nexit 100\n')
    with pytest.raises(kind, match=words):
        download_debian_package(Artefact("debian", "f", "words"), tmp_path / "bin", "x")


def test_without_apt_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DownloadError, match=r"lexicon/en-de: .*no apt-get"):
        download_debian_package(Artefact("debian", "f", "words"), tmp_path, "lexicon/en-de")
