"""One process at a time writes to an output, and the lock goes with the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from isoglot.locks import OutputBusyError, lock_path, output_lock, remove_dead_locks

HOLD = """
import sys, time
from isoglot.locks import output_lock
with output_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_second_process_is_told_of_the_first(tmp_path, holder):
    with (
        pytest.raises(OutputBusyError, match=rf"process {holder.pid} .* is writing here"),
        output_lock(tmp_path / "out"),
    ):
        pass
    with output_lock(tmp_path / "another"):
        pass
    (tmp_path / "link").symlink_to("out")
    with pytest.raises(OutputBusyError), output_lock(tmp_path / "link"):
        pass


def test_the_lock_dies_with_its_process(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with output_lock(tmp_path / "out"):
        pass
    assert not os.listdir(tmp_path)


def test_only_locks_of_the_dead_are_removed(tmp_path, holder):
    for name in (".mine.lock", ".dead.lock"):
        (tmp_path / name).write_text("process 1 (since 2020-01-01 00:00)" if "dead" in name else "mine")
    remove_dead_locks(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".mine.lock", ".out.lock"]
    with pytest.raises(OutputBusyError, match=f"process {holder.pid} "), output_lock(tmp_path / "out"):
        pass


def test_who_waits_gets_it_when_the_first_is_done(tmp_path, holder):
    timer = threading.Timer(0.3, holder.kill)
    timer.start()
    with output_lock(tmp_path / "out", wait=True):
        assert holder.wait() == -signal.SIGKILL
    assert not os.listdir(tmp_path)


def test_a_folder_in_a_place_that_is_not_ours_holds_its_lock_itself(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    assert lock_path(Path(".")) == lock_path(tmp_path / "out") == tmp_path / ".out.lock"
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    with output_lock(tmp_path / "out"):
        assert os.listdir(tmp_path / "out") == [".lock"]
    assert os.listdir(tmp_path) == ["out"]
    assert not os.listdir(tmp_path / "out")


def test_the_same_process_may_hold_it_again_and_nothing_is_left(tmp_path):
    out = tmp_path / "deep" / "er" / "out"
    with output_lock(out):
        with output_lock(out):
            pass
        assert (out.parent / ".out.lock").exists()
    assert not os.listdir(tmp_path)
