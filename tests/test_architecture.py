"""Imports go one way, as data flows, and modules stay small enough to hold one idea."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import isoglot

PACKAGE = Path(isoglot.__file__).parent
#: Top to bottom: a room may import only from itself and from rooms above it.
ROOMS = [
    "spaces", "text", "lexicons", "catalogue", "retrieval", "criteria", "aligners", "joint", "encoders", "training",
    "distill", "tasks", "simulate", "recipes", "explore", "cli",
]  # fmt: skip
EVERYWHERE = {
    "errors", "extras", "files", "folders", "languages", "locks", "manifests", "opening", "printable", "progress",
    "settings", "strings", "verified", "py",
}  # fmt: skip
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "cli" if first == "__main__" else first


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "isoglot" else [node.module]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name and name.startswith("isoglot.")}
    return rooms


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_follow_the_flow_of_data(path):
    room = room_of(path)
    if room == "__init__":
        return
    allowed = EVERYWHERE if room in EVERYWHERE else EVERYWHERE | set(ROOMS[: ROOMS.index(room) + 1])
    wrong = imported_rooms(path) - allowed
    assert not wrong, f"{path.relative_to(PACKAGE)} ({room}) must not import {wrong}"


def test_no_module_outgrows_one_idea():
    long = {str(p.relative_to(PACKAGE)): n for p in MODULES if (n := len(p.read_text("utf-8").splitlines())) > 450}
    assert not long


def test_nothing_unpickles_or_prints():
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"pickle", "dill", "cloudpickle", "joblib"}, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "eval", "exec", "exit", "quit"), path
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path
