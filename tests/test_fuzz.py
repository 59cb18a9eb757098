"""A slice of `make fuzz`: every reader with hostile files and some mutations, in worker processes that may die."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Mutations of each group; all of them together take about a minute of one core.
SLICES = {"vectors": 900, "texts": 1200, "folders": 600, "encoders": 80}


def fuzz(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.skipif(
    not hasattr(os, "fork") or sys.platform != "linux", reason="workers are forked and watched by /proc"
)
@pytest.mark.parametrize("group", SLICES)
def test_a_slice_of_the_fuzzer(group: str) -> None:
    if group == "encoders":
        pytest.importorskip("accelerate")
        pytest.importorskip("zuko")
    done = fuzz("--group", group, "--count", SLICES[group], "--hand", "few", "--workers", 1)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.skipif(sys.platform != "linux", reason="workers are watched by /proc")
def test_the_fuzzer_sees_what_it_should() -> None:
    """Its own check: readers that crash, die, hang, take memory, or give wrong numbers are told apart."""
    done = fuzz("--group", "self", "--count", 0)
    assert done.returncode == 1, f"{done.stdout}\n{done.stderr}"
    told = {line.partition(":")[0] for line in done.stdout.splitlines()}
    assert told >= {"crash", "death", "hang", "memory", "silent", "no place", "specimen"}, done.stdout
