"""A slice of `make kill-test`: one command killed at some moments, then run again to the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(sys.platform != "linux", reason="the process that dies reads /proc")
def test_a_killed_command_ends_in_the_same_bytes_when_run_again() -> None:
    command = [sys.executable, "-m", "tests.kills", "--only", "align", "--count", "6", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "6 kills of 1 commands: 0 with defects" in done.stdout
