"""The house: data flows one way through the rooms, a room is entered by its front, and a module holds one idea."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import isoglot
from isoglot.plugins import late

PACKAGE = Path(isoglot.__file__).parent
#: Top to bottom: a room may import only from itself and from rooms above it.
ROOMS = [
    "spaces", "text", "lexicons", "catalogue", "retrieval", "criteria", "aligners", "aligned", "wordvectors", "joint",
    "encoders", "wordalign", "finetuning", "distill", "tasks", "transfer", "simulate", "report", "pipelines",
    "reproductions", "cli",
]  # fmt: skip
#: Small modules that any room may use; they import no room.
FOUNDATIONS = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 400


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in MODULES}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports_of(path: Path, *, typing: bool = True) -> Iterator[tuple[str, str]]:
    """Module and name of each import from the package; `typing=False` leaves out what only type checkers import."""
    nodes: list[ast.AST] = [tree_of(path)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING") and not typing:
            nodes.extend(node.orelse)
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "isoglot" or (node.module or "").startswith("isoglot."):
                yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("isoglot."))
        nodes.extend(ast.iter_child_nodes(node))


@functools.cache
def exports_of(room: str) -> frozenset[str]:
    """The names that a room's front hands out."""
    front = PACKAGE / room / "__init__.py"
    return frozenset(alias for _, alias in imports_of(front)) if front.is_file() else frozenset()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_follow_the_flow_of_data(path):
    room = room_of(name_of(path))
    if path == PACKAGE / "__init__.py" or room in ("__main__", "testing"):
        return  # the front door, and what stands outside the house
    above = set() if room in FOUNDATIONS else set(ROOMS[: ROOMS.index(room) + 1])
    for module, name in imports_of(path):
        target = room_of(module) or (name if f"isoglot.{name}" in NAMES else "")
        assert not target or target in FOUNDATIONS | above, f"{name_of(path)} must not import {module} ({name})"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_are_entered_by_their_front(path):
    room = room_of(name_of(path))
    if path == PACKAGE / "__init__.py":
        return  # the front door: type checkers take a module and a function of one name for each other
    for module, name in imports_of(path):
        other = room_of(module)
        if other in ("", room) or other in FOUNDATIONS:
            continue
        inside = module.split(".")[2:]
        assert not any(part.startswith("_") for part in [*inside, name]), f"{module}.{name} is private to its room"
        assert not inside or name not in exports_of(other), f"isoglot.{other} exports {name}: import it from there"


def test_there_is_no_cycle():
    graph: dict[str, set[str]] = {name: set() for name in NAMES}
    for name, path in NAMES.items():
        for module, attribute in imports_of(path, typing=False):
            target = f"{module}.{attribute}" if f"{module}.{attribute}" in NAMES else module
            # A front imports the modules behind it, and `import isoglot` asks for the version alone.
            if target not in (name, "isoglot") and path.name != "__init__.py":
                graph[name].add(target)
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_every_room_has_a_place_in_the_flow():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ROOMS)


def test_no_module_outgrows_one_idea():
    lines = {str(path.relative_to(PACKAGE)): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert not {name: n for name, n in lines.items() if n > LONGEST}


def test_the_library_names_no_options_of_the_command_line():
    for path in MODULES:
        if room_of(name_of(path)) == "cli":
            continue
        documented = [n for n in ast.walk(tree_of(path)) if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)]
        docs = {ast.get_docstring(node, clean=False) for node in documented}
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docs:
                assert not re.search(r"[\s`]--[a-z]", node.value), f"{path}: {node.value!r}"


#: The calls down the flow: methods of a thing whose work is done further down. Each is an exception: keep them few.
LATE = {
    "isoglot.aligners.sklearn_view:AlignedTransformer",
    "isoglot.aligners:methods",
    "isoglot.catalogue:entries",
    "isoglot.catalogue:entry",
    "isoglot.catalogue:entry_at",
    "isoglot.catalogue:fetch",
    "isoglot.catalogue:has_entry",
    "isoglot.plugins:late",
    "isoglot.spaces.load:load_space",
    "isoglot.spaces.load:save_space",
    "isoglot.tasks:evaluate",
}


def test_late_calls_are_those_listed_and_find_what_they_name():
    texts = [path.read_text("utf-8") for path in MODULES]
    assert {target for text in texts for target in re.findall(r"(?<!\w)late\(\s*\"([^\"]+)\"", text)} == LATE
    assert all(callable(late(target)) for target in LATE)


def test_nothing_unpickles_or_prints():
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"pickle", "dill", "cloudpickle", "joblib"}, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "eval", "exec", "exit", "quit"), path
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path
