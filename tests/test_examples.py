"""The example notebooks run from top to bottom, and stay as short as they promise to be."""

from __future__ import annotations

import ast
import json
import shlex
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
#: Lines of the cell that does the job, blank ones left out.
MOST_LINES = 8


def code_cells(notebook: Path) -> list[tuple[str, list[str]]]:
    """Source and tags of each code cell."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return [
        ("".join(cell["source"]), cell["metadata"].get("tags", [])) for cell in cells if cell["cell_type"] == "code"
    ]


def run_cell(source: str, names: dict[str, object], command) -> object:
    """Run a cell as a notebook does: `!isoglot ...` is a command, and the last expression is shown."""
    plain = [line for line in source.splitlines() if not line.startswith("!")]
    for line in source.splitlines():
        if line.startswith("!"):
            program, *arguments = shlex.split(line[1:])
            assert program == "isoglot"
            code, _, errors = command(*arguments)
            assert code == 0, errors
    tree = ast.parse("\n".join(plain))
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if shown is None else eval(compile(ast.Expression(shown.value), "cell", "eval"), names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_example_runs(notebook, tmp_path, monkeypatch, command):
    for helper in EXAMPLES.glob("*.py"):
        shutil.copy(helper, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    names: dict[str, object] = {}
    for source, _ in code_cells(notebook):
        shown = run_cell(source, names, command)
        assert len(repr(shown)) < 2000


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_job_takes_few_lines_and_imports_nothing_else(notebook):
    (job,) = [source for source, tags in code_cells(notebook) if "job" in tags]
    assert len([line for line in job.splitlines() if line.strip()]) <= MOST_LINES
    for source, _ in code_cells(notebook):
        python = "\n".join(line for line in source.splitlines() if not line.startswith("!"))
        for node in ast.walk(ast.parse(python)):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] == "isoglot"
            elif isinstance(node, ast.Import):
                assert [alias.name for alias in node.names] == ["isoglot"]


def test_a_users_own_aligner_takes_few_lines():
    lines = (EXAMPLES / "trimmed_rotation.py").read_text("utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= MOST_LINES


def test_there_are_five():
    assert len(NOTEBOOKS) == 5
