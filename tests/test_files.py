"""Atomic writing: after a failure the old content is there and nothing else."""

from __future__ import annotations

import contextlib
import os
import stat
import threading

import pytest

from isoglot.errors import InputError, IsoglotError
from isoglot.files import atomic_path, cache_directory, check_writable, part_name, remove_kept


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    with atomic_path(path) as temporary:
        temporary.write_text("old")
    with contextlib.suppress(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == ["file.txt"]


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


def test_cache_directory_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path))
    assert cache_directory("spaces") == tmp_path / "spaces"
    monkeypatch.delenv("ISOGLOT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "isoglot"


def test_errors_are_one_line_whatever_they_quote():
    assert "\n" not in str(IsoglotError("bad\nword\x1b[31m", where="a\tb", remedy="c\r\nd"))


def test_what_was_kept_is_removed_and_nothing_else(tmp_path, killed_name):
    work = tmp_path / "work"
    (work / "state").mkdir(parents=True)
    (work / killed_name("state")).mkdir()
    (work / "vectors").write_text("1")
    (work / "mine").write_text("2")
    remove_kept(work, ("state", "vectors", "absent"))
    assert [path.name for path in work.iterdir()] == ["mine"]
    (work / "mine").unlink()
    remove_kept(work, ())
    assert not work.exists()


def test_what_a_killed_writer_left_is_removed_by_the_next_and_what_a_live_one_writes_is_not(tmp_path, killed_name):
    dead, other, live = killed_name("f"), killed_name("g"), part_name("f")
    for name in (dead, other, live, ".f.part", ".f.notes"):
        (tmp_path / name).write_text("half")
    with atomic_path(tmp_path / "f") as temporary:
        temporary.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"f", other, live, ".f.part", ".f.notes"}


def test_a_name_as_long_as_the_system_takes_can_be_written(tmp_path):
    for name in ("n" * 255, "ü" * 127):
        with atomic_path(tmp_path / name) as temporary:
            temporary.write_text("x")
        assert (tmp_path / name).read_text() == "x"


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_path(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(InputError, match="leads back"), atomic_path(tmp_path / "round"):
        pass


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with atomic_path(pipe) as temporary:
        temporary.write_text("through")
    reader.join(timeout=10)
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
