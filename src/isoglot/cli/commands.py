"""How functions become commands: imported when they are needed, with errors in the words of the command line."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from isoglot.cli.wording import in_options, remember
from isoglot.errors import IsoglotError

_HELP = ["-h", "--help"]


class _Command(TyperCommand):
    """Messages of the library name Python's parameters: the user reads the options of this command instead."""

    def invoke(self, ctx: Any) -> Any:
        remember(ctx)
        try:
            return super().invoke(ctx)
        except IsoglotError as error:
            error.args = (in_options(str(error)),)
            raise


class _Commands(dict[str, Any]):
    """Commands by name; each is `module:function` until somebody asks for it."""

    def __getitem__(self, name: str) -> Any:
        place = super().__getitem__(name)
        if isinstance(place, str):
            self[name] = _load(name, place)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]


class Group(TyperGroup):
    """A group of commands. Those of a subclass are in its `table`; its docstring is the help."""

    table: ClassVar[dict[str, str]] = {}
    #: Options that may be followed by several NAME=VALUE.
    several: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(self.table)

    def meant(self, args: Sequence[str]) -> list[str]:
        """The command that is meant where none is named, if there is one."""
        return []

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.table, *_HELP):
            args = [*self.meant(args), *args]
        return super().parse_args(ctx, spread(args, self.several))


def group(cls: type[Group]) -> typer.Typer:
    """The application of a group."""
    app = typer.Typer(
        cls=cls, help=cls.__doc__, no_args_is_help=True, add_completion=False,
        context_settings={"help_option_names": _HELP},
    )  # fmt: skip
    app.callback()(lambda: None)
    return app


def spread(args: Sequence[str], several: Sequence[str]) -> list[str]:
    """Repeat an option before each NAME=VALUE that follows it.

    >>> spread(["--text", "en=a.txt", "fr=b.txt", "-o", "out"], ["--text"])
    ['--text', 'en=a.txt', '--text', 'fr=b.txt', '-o', 'out']
    """
    repeated: list[str] = []
    option = ""
    for number, arg in enumerate(args):
        if arg.startswith("-") or "=" not in arg:
            option = arg if arg in several else ""
        elif option and args[number - 1] != option:
            repeated.append(option)
        repeated.append(arg)
    return repeated


def _load(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    target = getattr(importlib.import_module(f"isoglot.cli.{module}"), attribute)
    if isinstance(target, type):
        target = group(target)
    elif not isinstance(target, typer.Typer):
        function, target = target, typer.Typer(add_completion=False)
        target.command(name, cls=_Command)(function)
    command = typer.main.get_command(target)
    command.name = name
    return command
