"""Checkpoints are whole or not there, and a disk that is full or damaged is told in one line."""

from __future__ import annotations

import errno
import shutil
from collections import namedtuple

import pytest

from isoglot.errors import FormatError, InputError
from isoglot.files import remove_abandoned
from isoglot.finetuning import check_room, read_json, run_state as checkpoint, write_json
from isoglot.finetuning.run_state import (
    latest_checkpoint,
    load_tensors,
    save_checkpoint,
    save_tensors,
)

torch = pytest.importorskip("torch")

Usage = namedtuple("Usage", "total used free")


def tensors(value=0.0):
    return {"weights/a": torch.full((2, 3), value), "optimiser/a/step": torch.tensor(value)}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_is_found_and_two_are_kept(tmp_path):
    assert latest_checkpoint(tmp_path / "none") is None
    for step in (0, 5, 10, 100):
        save_checkpoint(tmp_path, step, tensors(step), {"step": step, "losses": [0.1 + 0.2], "best": None})
    assert names(tmp_path) == ["step-00000010", "step-00000100"]
    found, state = latest_checkpoint(tmp_path)
    assert state == {"step": 100, "losses": [0.1 + 0.2], "best": None}
    assert found.keys() == tensors().keys()
    assert all(torch.equal(found[name], one) for name, one in tensors(100.0).items())


def test_half_a_checkpoint_is_none(tmp_path, killed_name):
    save_checkpoint(tmp_path, 1, tensors(1.0), {})
    half = tmp_path / killed_name("step-00000002")
    half.mkdir()
    (half / "tensors.safetensors").write_bytes(b"\0" * 10)
    assert latest_checkpoint(tmp_path)[1]["step"] == 1
    remove_abandoned(tmp_path)
    assert names(tmp_path) == ["step-00000001"]


@pytest.mark.parametrize("file", ["tensors.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_checkpoint_is_told_with_a_remedy(tmp_path, file, damage):
    for step, remedy in ((1, "start over"), (2, "resume from the previous checkpoint")):
        place = save_checkpoint(tmp_path, step, tensors(), {})
        content = (place / file).read_bytes()
        (place / file).unlink()
        if damage == "cut":
            (place / file).write_bytes(content[: len(content) // 2])
        with pytest.raises(FormatError) as caught:
            latest_checkpoint(tmp_path)
        where = place if (file, damage) == ("state.json", "gone") else place / file
        assert str(caught.value).startswith(f"{where}: ")
        assert str(caught.value).endswith(f"; remove {place} to {remedy}")
        (place / file).write_bytes(content)


@pytest.mark.parametrize("error", ["OSError", "SafetensorError"])
def test_a_full_disk_leaves_the_checkpoint_before(tmp_path, monkeypatch, error):
    import safetensors.torch
    from safetensors import SafetensorError

    save_checkpoint(tmp_path, 1, tensors(1.0), {})
    save_tensors(tmp_path / "best.safetensors", tensors(1.0))

    def full(content, path):
        path.write_bytes(b"half")
        if error == "OSError":
            raise OSError(errno.ENOSPC, "No space left on device")
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    message = "cannot be written: No space left on device; free some disk space and resume: the previous checkpoint is"
    with pytest.raises(InputError, match=f"step-00000002: {message}"):
        save_checkpoint(tmp_path, 2, tensors(2.0), {})
    with pytest.raises(InputError, match=f"best.safetensors: {message}"):
        save_tensors(tmp_path / "best.safetensors", tensors(2.0))
    assert names(tmp_path) == ["best.safetensors", "step-00000001"]
    assert torch.equal(latest_checkpoint(tmp_path)[0]["weights/a"], tensors(1.0)["weights/a"])
    assert torch.equal(load_tensors(tmp_path / "best.safetensors")["weights/a"], tensors(1.0)["weights/a"])


def test_a_disk_that_went_away(tmp_path, monkeypatch):
    def gone(*rest):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(checkpoint, "_write_tensors", gone)
    with pytest.raises(InputError, match="Input/output error; is the disk still connected"):
        save_checkpoint(tmp_path, 2, tensors(), {})


def test_room_is_looked_for_before(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 0, 1_000_000) if path.exists() else None)
    run = tmp_path / "not" / "yet" / "there"
    check_room(run, 1_000_000)
    with pytest.raises(
        InputError, match=r"there: the run may write up to 2 MB, but only 1 MB are free; free some disk space"
    ):
        check_room(run, 2_000_000)
    # What a run has written already is written over.
    save_tensors(run / "best.safetensors", {"a": torch.zeros(300_000)})
    check_room(run, 2_000_000)


def test_json_that_is_none(tmp_path):
    write_json(tmp_path / "a.json", {"ä": [1, None]})
    assert read_json(tmp_path / "a.json") == {"ä": [1, None]}
    for text, message in (("[1]", "not a JSON object"), ("{", "not JSON: "), ("\xff", "not ")):
        (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(FormatError, match=f"a.json: {message}"):
            read_json(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"b.json: cannot be read: No such file"):
        read_json(tmp_path / "b.json")
