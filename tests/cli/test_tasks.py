"""docs/tasks.md: each usual task takes one command, which is right as written and can be found from `--help`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from isoglot.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text("utf-8")
TASKS = re.findall(r"^\| (?!I want to|---)(.+?) \| (.+) \|$", PAGE, re.MULTILINE)
ROOT = get_command(app)


def test_there_are_at_least_twenty():
    assert len(TASKS) >= 20
    assert len({task for task, _ in TASKS}) == len({cell for _, cell in TASKS}) == len(TASKS)


@pytest.mark.parametrize(("task", "cell"), TASKS, ids=[task for task, _ in TASKS])
def test_a_task_takes_one_command(command, task, cell):
    shown = re.fullmatch(r"`isoglot ([^`]+)`", cell)
    assert shown, cell
    found, path, arguments = ROOT, [], shlex.split(shown[1])
    while hasattr(found, "commands"):
        name = arguments.pop(0)
        code, listed, errors = command(*path, "--help")
        assert code == 0, errors
        assert re.search(rf"^│ {re.escape(name)} ", listed, re.MULTILINE), f"{name} is not in the help"
        path.append(name)
        found = found.commands[name]
    # Raises for unknown options, wrong values and missing arguments; nothing is run.
    found.make_context(" ".join(path), arguments)
