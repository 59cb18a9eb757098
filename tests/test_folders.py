"""Folders of ours: replaced in one step, nothing of the user's lost, nobody else's overwritten."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

import pytest

from isoglot import folders
from isoglot.errors import FormatError, InputError
from isoglot.folders import FolderKind, exchange

KIND = FolderKind("test-thing", "a thing", "`make thing`", manifest="thing.json", later=("later.bin",))
OTHER = FolderKind("test-other", "another thing", "`make other`", manifest="thing.json")


def write(folder, text="new", kind=KIND, **files):
    with kind.replacing(folder) as temporary:
        (temporary / "value.txt").write_text(text)
        for name, content in files.items():
            (temporary / name).write_text(content)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture(params=["one step", "two renames"])
def system(request, monkeypatch):
    """Both ways to replace a folder."""
    if request.param == "two renames":
        monkeypatch.setattr(folders, "exchange", lambda one, other: False)


@pytest.mark.usefixtures("system")
def test_a_failed_folder_leaves_the_old_one(tmp_path):
    write(tmp_path / "out", "old")
    with contextlib.suppress(RuntimeError), KIND.replacing(tmp_path / "out") as temporary:
        (temporary / "value.txt").write_text("half")
        raise RuntimeError
    assert (tmp_path / "out" / "value.txt").read_text() == "old"
    write(tmp_path / "out", "new")
    assert (tmp_path / "out" / "value.txt").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.usefixtures("system")
def test_what_is_not_ours_is_carried_over(tmp_path):
    out = tmp_path / "out"
    write(out, "old", stale="1")
    (out / "my-notes.txt").write_text("mine")
    (out / "mydir" / "deep").mkdir(parents=True)
    (out / "mydir" / "deep" / "a.txt").write_text("mine too")
    (out / "empty").mkdir()
    (out / "link").symlink_to("my-notes.txt")
    (out / "later.bin").write_text("made from the old values")
    write(out, "new")
    assert names(out) == ["link", "my-notes.txt", "mydir/deep/a.txt", "thing.json", "value.txt"]
    assert (out / "my-notes.txt").read_text() == "mine"
    assert (out / "link").is_symlink()
    assert (out / "empty").is_dir()
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.usefixtures("system")
def test_a_file_of_the_users_keeps_its_content_though_the_result_now_has_its_name(tmp_path):
    write(tmp_path / "out", "old")
    (tmp_path / "out" / "page").write_text("mine")
    for text in ("ours", "ours again"):
        write(tmp_path / "out", page=text)
        assert names(tmp_path / "out") == ["page", "page.kept", "thing.json", "value.txt"]
        assert (tmp_path / "out" / "page").read_text() == text
        assert (tmp_path / "out" / "page.kept").read_text() == "mine"


def test_what_is_carried_over_is_copied_where_links_are_not_to_be_had(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    write(tmp_path / "out", "old")
    (tmp_path / "out" / "notes").write_text("mine")
    write(tmp_path / "out", "new")
    assert (tmp_path / "out" / "notes").read_text() == "mine"
    assert names(tmp_path / "out") == ["notes", "thing.json", "value.txt"]


def test_what_comes_while_the_folder_is_replaced_is_kept_too(tmp_path, monkeypatch):
    write(tmp_path / "out", "old")

    def slow(one, other):
        (tmp_path / "out" / "late.txt").write_text("mine")
        return exchange(one, other)

    monkeypatch.setattr(folders, "exchange", slow)
    write(tmp_path / "out", "new")
    assert (tmp_path / "out" / "late.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "content",
    ['{"format": "test-other"}', '{"model_type": "bert"}', "[]", "no JSON", "[" * 100_000, '"\\ud800"', ""],
    ids=["other", "transformers", "list", "text", "deep", "surrogate", "empty"],
)
def test_a_folder_whose_manifest_is_not_ours_is_left_alone(tmp_path, content):
    (tmp_path / "thing.json").write_text(content)
    (tmp_path / "model.safetensors").write_text("weights")
    with pytest.raises(InputError, match="will not be overwritten"):
        write(tmp_path)
    assert (tmp_path / "model.safetensors").read_text() == "weights"


def test_an_empty_folder_can_be_filled_and_a_file_cannot(tmp_path):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out")
    assert names(tmp_path / "out") == ["thing.json", "value.txt"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        write(tmp_path / "file")


def test_a_link_stays_and_the_folder_behind_it_is_written(tmp_path):
    write(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "value.txt").read_text() == "new"
    (tmp_path / "dangling").symlink_to(tmp_path / "to-come")
    write(tmp_path / "dangling", "newer")
    assert (tmp_path / "to-come" / "value.txt").read_text() == "newer"


def test_a_kill_between_two_renames_is_undone_on_the_next_use(tmp_path, killed_name):
    for read_first in (True, False):
        write(tmp_path / "out", "old")
        # The old folder has been moved away, the new one has not got its name yet.
        (tmp_path / "out").rename(tmp_path / killed_name("out", "old"))
        (tmp_path / killed_name("out")).mkdir()
        if read_first:
            assert KIND.read(tmp_path / "out").file("value.txt").read_text() == "old"
        else:
            with contextlib.suppress(RuntimeError), KIND.replacing(tmp_path / "out"):
                raise RuntimeError
            assert (tmp_path / "out" / "value.txt").read_text() == "old"
        write(tmp_path / "out", "new")
        assert os.listdir(tmp_path) == ["out"]


#: A child for each moment: it dies there, or ends well once there are no more moments.
KILLED = """
import os, signal, sys
from pathlib import Path
from isoglot import folders
from isoglot.folders import FolderKind
kind = FolderKind("test-thing", "a thing", "`make thing`", manifest="thing.json")
calls = 0
def dying(real, when):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == when:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    return call
def child(out, when, way):
    folders.exchange = dying(folders.exchange, when) if way == "exchange" else lambda one, other: False
    for name in ("rename", "replace", "link", "unlink", "rmdir", "mkdir"):
        setattr(os, name, dying(getattr(os, name), when))
    with kind.replacing(out) as temporary:
        (temporary / "value.txt").write_text("new")
for when in range(1, 40):
    if (pid := os.fork()) == 0:
        child(Path(sys.argv[1], str(when), "out"), when, sys.argv[2])
        os._exit(0)
    if os.waitpid(pid, 0)[1] == 0:
        print(when)
        break
"""


@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_whenever_the_writer_is_killed_a_whole_folder_and_the_notes_are_there(tmp_path, way):
    for when in range(1, 40):
        write(tmp_path / str(when) / "out", "old")
        (tmp_path / str(when) / "out" / "notes.txt").write_text("mine")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", KILLED, tmp_path, way], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    moments = int(done.stdout)
    assert moments > 5
    for when in range(1, moments + 1):
        out = tmp_path / str(when) / "out"
        value = KIND.read(out).file("value.txt").read_text()
        assert value in ("old", "new") if when < moments else value == "new"
        assert (out / "notes.txt").read_text() == "mine"
        write(out, "newer")
        assert sorted(os.listdir(out.parent)) == ["out"]
        assert names(out) == ["notes.txt", "thing.json", "value.txt"]


def test_a_changed_byte_is_noticed(tmp_path):
    write(tmp_path / "out", "value")
    KIND.read(tmp_path / "out").file("value.txt")
    (tmp_path / "out" / "value.txt").write_text("valuf")
    with pytest.raises(FormatError, match="checksum"):
        KIND.read(tmp_path / "out").file("value.txt")
    (tmp_path / "out" / "value.txt").unlink()
    with pytest.raises(FormatError, match="no such file"):
        KIND.read(tmp_path / "out").file("value.txt")


def test_reading_tells_what_is_wrong(tmp_path):
    write(tmp_path / "out")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    for name, what in (("gone", "no such folder"), ("empty", "not a thing"), ("file", "is a file")):
        with pytest.raises(InputError, match=what):
            KIND.read(tmp_path / name)
    with pytest.raises(FormatError, match="not another thing"):
        OTHER.read(tmp_path / "out")
    manifest = tmp_path / "out" / "thing.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": 2}))
    with pytest.raises(FormatError, match="version 2"):
        KIND.read(tmp_path / "out")
