"""Atomic writing: after a failure the old content is there and nothing else."""

from __future__ import annotations

import contextlib
import os

import pytest

from isoglot.errors import InputError, IsoglotError
from isoglot.files import atomic_directory, atomic_path, cache_directory, check_writable, remove_kept


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    with atomic_path(path) as temporary:
        temporary.write_text("old")
    with contextlib.suppress(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == ["file.txt"]


def test_a_failed_folder_leaves_the_old_one(tmp_path):
    path = tmp_path / "out"
    with atomic_directory(path, marker="m") as temporary:
        (temporary / "m").write_text("old")
    with contextlib.suppress(RuntimeError), atomic_directory(path, marker="m") as temporary:
        (temporary / "m").write_text("half")
        raise RuntimeError
    assert (path / "m").read_text() == "old"
    with atomic_directory(path, marker="m") as temporary:
        (temporary / "m").write_text("new")
    assert (path / "m").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_files_follow_the_umask(tmp_path):
    before = os.umask(0o022)
    try:
        with atomic_path(tmp_path / "f") as temporary:
            temporary.write_text("x")
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_places_that_cannot_be_written_are_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="not a folder"):
        check_writable(tmp_path / "file" / "below" / "x")
    with pytest.raises(InputError, match="is a file"), atomic_directory(tmp_path / "file", marker="m"):
        pass


def test_cache_directory_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path))
    assert cache_directory("spaces") == tmp_path / "spaces"
    monkeypatch.delenv("ISOGLOT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "isoglot"


def test_errors_are_one_line_whatever_they_quote():
    assert "\n" not in str(IsoglotError("bad\nword\x1b[31m", where="a\tb", remedy="c\r\nd"))


def test_what_was_kept_is_removed_and_nothing_else(tmp_path):
    work = tmp_path / "work"
    (work / "state").mkdir(parents=True)
    (work / ".state.killed").mkdir()
    (work / "vectors").write_text("1")
    (work / "mine").write_text("2")
    remove_kept(work, ("state", "vectors", "absent"))
    assert [path.name for path in work.iterdir()] == ["mine"]
    (work / "mine").unlink()
    remove_kept(work, ())
    assert not work.exists()
