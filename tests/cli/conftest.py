"""A small pair of languages on disk, and a way to run the program as a user does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from unittest import mock

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
def isoglot(command, tmp_path_factory):
    """Run `isoglot ARGS` on a wide screen and with an empty cache; returns code and streams as a process would."""
    environment = {"ISOGLOT_CACHE": str(tmp_path_factory.mktemp("cache")), "COLUMNS": "160"}

    def run(*args: object, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
        with mock.patch.dict(os.environ, environment):
            return subprocess.CompletedProcess(args, *command(*args, cwd=cwd, stdin=stdin))

    return run


@pytest.fixture(scope="session")
def aligned(isoglot, languages) -> Path:
    """An aligned folder made by the program."""
    done = isoglot("align", "north=north.vec", "south=south.vec", "-l", "north-south.txt", "-o", "out", cwd=languages)
    assert done.returncode == 0, done.stderr
    return languages / "out"
