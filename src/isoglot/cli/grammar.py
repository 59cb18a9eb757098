"""The whole grammar of the command line as data: what the reference pages and their tests are made of."""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal

import typer

from isoglot.cli.app import app

#: What stands for a value that has no name of its own.
_VALUES = {"int": "N", "float": "X", "path": "PATH", "text": "TEXT"}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """An argument or option of one command.

    Attributes:
        names: as the user writes them, the long form first; of an argument, its name in the help.
        kind: what it takes: "flag", "int", "float", "text", "path", or the choices separated by |.
        value: what stands for its value in the help; "" for flags and arguments.
        repeatable: whether it may be given more than once.
        default: as text, "" if there is none.
    """

    names: tuple[str, ...]
    kind: str
    value: str
    repeatable: bool
    required: bool
    default: str
    help: str

    @property
    def is_option(self) -> bool:
        return self.names[0].startswith("-")


@dataclasses.dataclass(frozen=True)
class Command:
    """A command, or a group of them, with its place in the help: `path` is ("evaluate", "bli")."""

    path: tuple[str, ...]
    panel: str
    help: str
    parameters: tuple[Parameter, ...]
    is_group: bool = False

    @property
    def name(self) -> str:
        return " ".join(self.path)

    @property
    def summary(self) -> str:
        return self.help.partition("\n")[0]


def commands() -> list[Command]:
    """All commands, in the order of the help."""
    return [one for one in commands_and_groups() if not one.is_group]


def commands_and_groups() -> list[Command]:
    """The same with the groups, each before the commands below it."""
    _, *below = _walk(typer.main.get_command(app), (), "")
    return below


def table() -> str:
    """The page docs/grammar.md: every option once, with what it takes and the commands that have it."""
    everywhere = ("--json", "--quiet", "--verbose")
    lines = [
        "# The grammar of the command line",
        "",
        "All commands and options. An option has one name, one type and one meaning in all commands that have it.",
        "This page is generated: `python -m isoglot.cli.grammar > docs/grammar.md`.",
        "",
        "## Commands",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    every = commands()
    lines += [f"| `{one.name}` | {_cell(one.summary)} |" for one in every]
    lines += ["", "## Options", "", "| option | takes | what it means | commands |", "|---|---|---|---|"]
    options: dict[tuple[str, ...], tuple[Parameter, list[str]]] = {}
    for command in every:
        for parameter in command.parameters:
            if parameter.is_option and "--help" not in parameter.names:
                options.setdefault(parameter.names, (parameter, []))[1].append(command.name)
    for names, (parameter, users) in sorted(options.items()):
        kind = parameter.kind.replace("|", ", ") + (", repeatable" if parameter.repeatable else "")
        where = "all" if names[0] in everywhere and len(users) == len(every) else ", ".join(users)
        shown = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {shown} | {kind} | {_cell(parameter.help)} | {where} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _walk(command: Any, path: tuple[str, ...], panel: str) -> Iterator[Command]:
    panels = getattr(command, "panels", None)
    parameters = tuple(_parameter(one) for one in command.params)
    yield Command(path, panel, command.help or "", parameters, panels is not None)
    for title, names in (panels or {}).items():
        for name in names:
            yield from _walk(command.commands[name], (*path, name), panel or title)


def _parameter(one: Any) -> Parameter:
    option = one.opts[0].startswith("-")
    names = tuple(sorted((*one.opts, *one.secondary_opts), key=len, reverse=True))
    kind, repeatable = _kind(one.type_descriptor.annotation)
    value = "" if kind == "flag" or not option else one.metavar or _VALUES.get(kind, kind)
    shown = names if option else (one.metavar or one.name.upper(),)
    return Parameter(shown, kind, value, repeatable, bool(one.required), _default(one, kind), one.help or "")


def _default(one: Any, kind: str) -> str:
    if one.required or callable(one.default) or one.default in (None, "", [], ()):
        return ""
    if kind == "flag":
        # Of --a/--no-a the one that holds; a plain flag is off, which goes without saying.
        both = one.opts[:1] + one.secondary_opts[:1]
        return str(both[0 if one.default else 1]) if len(both) == 2 else ""
    if isinstance(one.default, list | tuple):
        return " ".join(map(str, one.default))
    return f"{one.default:,}" if isinstance(one.default, int) else str(one.default)


def _kind(annotation: Any) -> tuple[str, bool]:
    """What a parameter takes, and whether it is repeatable; that it may be left out is no part of it."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (one for one in arguments if one is not type(None))
        return _kind(inner)
    if origin is list:
        return _kind(arguments[0])[0], True
    if origin is Literal:
        return "|".join(map(str, arguments)), False
    names = {"bool": "flag", "str": "text", "Path": "path"}
    return names.get(annotation.__name__, annotation.__name__), False


if __name__ == "__main__":
    sys.stdout.write(table())
