"""A small pair of languages on disk, and a way to run the program as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isoglot.simulate import simulate_pair


@pytest.fixture(scope="session")
def languages(tmp_path_factory) -> Path:
    """A folder with north.vec, south.vec and north-south.txt."""
    folder = tmp_path_factory.mktemp("languages")
    pair = simulate_pair(n_words=900, dim=24, noise=0.3, seed=1)
    pair.src.save(folder / "north.vec")
    pair.tgt.save(folder / "south.vec")
    pair.lexicon.save(folder / "north-south.txt")
    return folder


@pytest.fixture(scope="session")
def isoglot(tmp_path_factory):
    """Run `isoglot ARGS` in its own process; returns the finished process with text streams."""
    cache = tmp_path_factory.mktemp("cache")

    def run(*args: object, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from isoglot.cli import main; main()", *map(str, args)]
        environment = {**os.environ, "ISOGLOT_CACHE": str(cache), "COLUMNS": "160"}
        return subprocess.run(
            command, cwd=cwd, input=stdin, capture_output=True, text=True, env=environment, timeout=300, check=False
        )

    return run


@pytest.fixture(scope="session")
def aligned(isoglot, languages) -> Path:
    """An aligned folder made by the program."""
    done = isoglot(
        "align", "north.vec", "south.vec", "-l", "north-south.txt", "-o", "out",
        "--src-lang", "north", "--tgt-lang", "south", cwd=languages,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return languages / "out"
