"""Where commands write: one run at a time, through symbolic links, and beside the user's own files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kills.scenarios import SCENARIOS, make_inputs
from tests.kills.trees import leftovers

HOLD = """
import contextlib, sys
from isoglot.locks import output_lock
with contextlib.ExitStack() as stack:
    for output in sys.argv[1:]:
        stack.enter_context(output_lock(output))
    print("held", flush=True)
    sys.stdin.read()
"""
_SIDES = ("parallel/north.txt", "parallel/south.txt")
#: Every command that writes to an output of the user's choice, by the output's name.
COMMANDS = [
    *((one.output, one.arguments) for one in SCENARIOS.values() if one.name != "data-get"),
    ("out", ("joint", "ablate", *SCENARIOS["joint"].arguments[2:])),
    ("out", ("reproduce", "density", "--quick", "-o", "out")),
    ("out", ("reproduce", "contextual", "-e", "encoder", "-o", "out")),
    ("out", ("reproduce", "word-alignment", "texts", "--base", "0", "-e", "encoder", "-o", "out")),
    ("out", ("reproduce", "rfeval", "texts", "-e", "encoder", "-o", "out")),
    ("out", ("reproduce", "finetune", "-e", "encoder", "-o", "out")),
    ("out.vec", ("convert", "north.vec", "-o", "out.vec")),
    ("out.conll", ("project", "names.conll", *_SIDES, "--links", "links", "--base", "0", "-o", "out.conll")),
]
#: Too slow for every day, though they write in the same way.
_SLOW = ("align-iterative", "align-rerank", "audit", "compare", "demo", "reproduce")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("inputs") / "all"
    make_inputs(folder)
    return folder


@pytest.fixture(scope="module")
def holder(tmp_path_factory):
    """Another process at work on every output."""
    folder = tmp_path_factory.mktemp("busy")
    program = [sys.executable, "-c", HOLD, *sorted({output for output, _ in COMMANDS})]
    with subprocess.Popen(program, cwd=folder, stdin=-1, stdout=-1, encoding="utf-8") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield folder, process.pid
        process.kill()


@pytest.mark.parametrize(("output", "arguments"), COMMANDS)
def test_the_second_run_is_told_of_the_first(output, arguments, holder, inputs, command, monkeypatch):
    folder, pid = holder
    for one in inputs.iterdir():
        if not (folder / one.name).exists():
            (folder / one.name).symlink_to(one)
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    code, _, errors = command(*arguments)
    assert code == 2
    *costs, told = errors.splitlines()
    assert told.startswith(f"isoglot: {output}: process {pid} (since ")
    assert not costs or "minutes" in costs[0]
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in _SLOW else ()) for name in SCENARIOS if name != "data-get"],
)
def test_output_goes_through_a_link_and_leaves_what_is_the_users(name, inputs, command, tmp_path, monkeypatch):
    scenario = SCENARIOS[name]
    work = tmp_path / "work"
    scenario.fill(inputs, work)
    monkeypatch.chdir(work)
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    for arguments in scenario.first:
        assert command(*arguments)[0] == 0
    link, real = work / scenario.output, tmp_path / "elsewhere" / scenario.output
    real.parent.mkdir()
    link.symlink_to(real)
    arguments = scenario.old or scenario.arguments
    code, _, errors = command(*arguments)
    assert code == 0, errors
    is_folder = real.is_dir()
    if is_folder:
        (real / "notes").mkdir()
        (real / "notes" / "mine.txt").write_text("kept", "utf-8")
    else:
        assert real.stat().st_size
        (real.parent / "mine.txt").write_text("kept", "utf-8")
    code, _, errors = command(*arguments)
    assert code == 0, errors
    assert link.is_symlink()
    assert (real / "notes" if is_folder else real.parent).joinpath("mine.txt").read_text("utf-8") == "kept"
    assert not leftovers(tmp_path, ())
    shutil.rmtree(tmp_path)
