"""Killed while a folder takes another's place: the old one or the new one is there, and nothing else afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the process that dies reads /proc")

#: Replaces the folder `out` by one that says "new", and dies at a change of a file, or tells how many there are.
REPLACE = """
import json, sys
from pathlib import Path
from tests.kills import hooks
hooks.watch_libc()
from isoglot.files import atomic_directory, atomic_path
hooks.arm(".", int(sys.argv[1]), sys.argv[2])
with atomic_directory(Path("out"), marker="mark") as folder:
    (folder / "mark").write_text("new")
    (folder / "inner").mkdir()
    (folder / "inner" / "data").write_text("new" * 1000)
with atomic_path(Path("file")) as temporary:
    temporary.write_text("new")
print(json.dumps(hooks.count()))
"""


def replace(work: Path, at: int, when: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", REPLACE, str(at), when],
        cwd=work,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def begin(work: Path) -> None:
    (work / "out" / "inner").mkdir(parents=True)
    for name in ("out/mark", "out/inner/data", "file"):
        (work / name).write_text("old")


def test_no_kill_loses_a_folder_or_leaves_one_behind(tmp_path: Path) -> None:
    begin(tmp_path / "unharmed")
    unharmed = replace(tmp_path / "unharmed", 0, "before")
    assert unharmed.returncode == 0, unharmed.stderr
    changes = json.loads(unharmed.stdout)
    # Where names change: these decide what a kill leaves. Others are sampled by `make kill-test`.
    moments = [at for at, name in enumerate(changes, start=1) if name.startswith(("rename", "replace", "syscall"))]
    assert moments
    for at in moments:
        for when in ("before", "after"):
            work = tmp_path / f"{at}{when}"
            begin(work)
            killed = replace(work, at, when)
            moment = f"{when} {changes[at - 1]}, change {at} of {changes}"
            assert killed.returncode == -9, killed.stderr
            assert (work / "out" / "mark").exists(), f"no folder is left by a kill {moment}"
            found = (work / "out" / "mark").read_text()
            assert (work / "out" / "inner" / "data").read_text()[:3] == found, moment
            assert (work / "file").read_text() in ("old", "new")
            again = replace(work, 0, "before")
            assert again.returncode == 0, again.stderr
            assert sorted(path.name for path in work.iterdir()) == ["file", "out"], f"left over by a kill {moment}"
            assert (work / "out" / "mark").read_text() == (work / "file").read_text() == "new"
