"""The API reference: which names stand on which page. mkdocstrings writes the rest, from docstrings and types."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import isoglot

from .markdown import prose, table
from .methods import own_methods

PACKAGE = Path(isoglot.__file__).parent
#: The order of the front door's names for a reader; others follow.
_FIRST = ("align", "load", "Aligned", "Space", "Lexicon", "compare", "evaluate", "aligner", "methods", "Aligner")


@dataclasses.dataclass(frozen=True)
class Room:
    """A package below `isoglot` and what its front exports.

    Args:
        name: "spaces".
        summary: the first sentence of its docstring, without its full stop.
        documented: classes and functions with a docstring, and the modules that define them.
        others: constants, types, and what has no docstring.
    """

    name: str
    summary: str
    documented: dict[str, str]
    others: tuple[str, ...]


def front_door() -> list[str]:
    """The names of `isoglot` itself."""
    return [*_FIRST, *(name for name in isoglot.__all__ if name not in _FIRST)]


def rooms() -> list[Room]:
    """All rooms that export something to call, by name; the command line has a reference of its own."""
    fronts = sorted(path for path in PACKAGE.glob("*/__init__.py") if path.parent.name != "cli")
    return [room for room in map(_room, fronts) if room.documented]


def _room(front: Path) -> Room:
    tree = ast.parse(front.read_text("utf-8"))
    documented: dict[str, str] = {}
    others: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            definitions = _documented(module)
            for alias in node.names:
                if alias.name in definitions:
                    documented[alias.name] = module
                else:
                    others.append(alias.name)
    docstring = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
    summary = re.split(r"(?<!et al)\. ", docstring)[0].rstrip(".")
    in_order = {name: documented[name] for name in sorted(documented, key=str.lower)}
    return Room(front.parent.name, summary, in_order, tuple(sorted(others)))


def _documented(module: str) -> set[str]:
    """Classes and functions of a module that have docstrings."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    nodes = ast.parse(path.read_text("utf-8")).body
    return {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)}


def pages() -> dict[str, str]:
    """One page for each room, by its path below docs/."""
    return {f"python/{room.name}.md": page(room) for room in rooms()}


def page(room: Room) -> str:
    """The page of one room. What the front door has is documented there alone."""
    parts = [f"# isoglot.{room.name}", prose(room.summary) + "."]
    shown = [name for name in room.documented if name in isoglot.__all__]
    if shown:
        links = ", ".join(f"[`{name}`](../python.md#isoglot.{name})" for name in shown)
        parts.append(f"See also the front door: {links}.")
    # The settings of a method are fields that its decorator makes parameters, which static analysis does not see.
    own = {
        cls.__name__: name for name, cls in own_methods().items() if cls.__module__ == room.documented.get(cls.__name__)
    }
    if own:
        links = ", ".join(f"[`{cls}`](../methods/{name}.md)" for cls, name in sorted(own.items()))
        parts.append(f"Methods, each with a page of its own: {links}.")
    parts += [_entry(room, name) for name in room.documented if name not in shown and name not in own]
    if room.others:
        parts += ["## Constants and types", ", ".join(f"`{name}`" for name in room.others) + "."]
    return "\n\n".join(parts) + "\n"


def _entry(room: Room, name: str) -> str:
    """The directive for one name; by its module where the room has a module of that name too."""
    if not (PACKAGE / room.name / f"{name}.py").exists():
        return f"::: isoglot.{room.name}.{name}"
    return f"::: {room.documented[name]}.{name}\n    options:\n      heading: isoglot.{room.name}.{name}"


def front_door_entries() -> str:
    """What mkdocstrings turns into the reference of the front door."""
    # With what a class has from its bases, such as `Aligned.save`.
    whole = "\n    options:\n      inherited_members: true"
    return "\n\n".join(f"::: isoglot.{name}{whole}" for name in front_door())


def overview() -> str:
    """The table of rooms, with links."""
    rows = [[f"[`isoglot.{room.name}`](python/{room.name}.md)", prose(room.summary)] for room in rooms()]
    return table(["package", "what it holds"], rows)
