"""How functions become commands: imported when they are needed, with the options that all share."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from isoglot.cli import display
from isoglot.cli.renamed import COMMANDS
from isoglot.cli.wording import in_options, remember
from isoglot.errors import ConfigError, IsoglotError
from isoglot.suggest import hint

_HELP = ["-h", "--help"]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show only results, warnings and errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Also show every step and how long it took.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print tables as CSV.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print tables as LaTeX.")]


class _Command(TyperCommand):
    """Messages of the library name Python's parameters: the user reads the options of this command instead."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        several = [name for one in self.params if "=" in (getattr(one, "metavar", None) or "") for name in one.opts]
        return super().parse_args(ctx, spread(args, [name for name in several if name.startswith("-")]))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown = copy.copy(self)
        shown.help = "\n".join(map(_wrapped, (self.help or "").split("\n")))
        _hide_types(shown, ctx)
        TyperCommand.format_help(shown, ctx, formatter)

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
    """A group of commands. Those of a subclass are in its `panels`; its docstring is the help."""

    #: For each panel of the help, its commands and where they are.
    panels: ClassVar[dict[str, dict[str, str]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands({name: place for panel in self.panels.values() for name, place in panel.items()})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command: Any = super().get_command(ctx, cmd_name)
        if command is not None:
            command.rich_help_panel = next(title for title, names in self.panels.items() if cmd_name in names)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _hide_types(self, ctx)
        super().format_help(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name not in self.commands:
            path = ctx.command_path.removeprefix("isoglot ")
            raise ConfigError(f"{path} has no command {name!r}", remedy=self._nearest(ctx, name))
        return super().resolve_command(ctx, args)

    def _nearest(self, ctx: Any, name: str) -> str:
        """Where a command of this name is, or the nearest one here."""
        if name in COMMANDS:
            return f"use: isoglot {COMMANDS[name]}"
        root = ctx.find_root().command
        places = [
            f"isoglot {group} {name}"
            for group in root.commands
            if name in getattr(root.commands[group], "commands", {})
        ]
        if places:
            return f"use: {' or '.join(places)}"
        return hint(name, list(self.commands), f"see: {ctx.command_path} --help")


def group(cls: type[Group]) -> typer.Typer:
    """The application of a group."""
    app = typer.Typer(
        cls=cls, help=cls.__doc__, no_args_is_help=True, add_completion=False,
        context_settings={"help_option_names": _HELP},
    )  # fmt: skip
    app.callback()(lambda: None)
    return app


def tabular(function: Callable[..., None]) -> Callable[..., None]:
    """Mark a command that prints tables of figures: it gets --csv and --latex."""
    function.prints_tables = True  # type: ignore[attr-defined]
    return function


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
        target.command(name, cls=_Command, context_settings={"help_option_names": _HELP})(_with_display(function))
    command = typer.main.get_command(target)
    command.name = name
    return command


def _reflow(text: str) -> str:
    """A docstring whose paragraphs are one line each, so that the help wraps them at the width of the terminal.

    >>> _reflow("One\\nand two.\\n\\n\\b\\n  kept\\n  as it is")
    'One and two.\\n\\n\\x08\\n  kept\\n  as it is'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith("\b") else " ".join(part.split("\n")) for part in paragraphs)


def _hide_types(command: Any, ctx: Any) -> None:
    """The name of an argument says what it takes, and a flag takes nothing: list[str] and bool would be noise."""
    for one in command.get_params(ctx):
        if not one.opts[0].startswith("-") or getattr(one, "is_flag", False):
            vars(one)["display_type_rich"] = lambda ctx: None


def _wrapped(line: str) -> str:
    """An example that fits 80 columns and can still be pasted into a shell; other lines as they are.

    >>> print(_wrapped("  isoglot align wiki.en.vec wiki.fr.vec --lexicon wiki.en-fr.txt --method rcsls -o en-fr"))
      isoglot align wiki.en.vec wiki.fr.vec --lexicon wiki.en-fr.txt --method \\
        rcsls -o en-fr
    """
    if not line.startswith("  isoglot"):
        return line
    words = textwrap.wrap(line.strip(), 74, break_long_words=False, break_on_hyphens=False)
    return "  " + " \\\n    ".join(words)


def _with_display(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options that say how it shows its work."""
    options: dict[str, Any] = {"quiet": Quiet, "verbose": Verbose}
    if getattr(function, "prints_tables", False):
        options = {"csv": Csv, "latex": Latex, **options}

    @functools.wraps(function)
    def command(**arguments: Any) -> Any:
        asked = {name: arguments.pop(name) for name in options}
        display.configure(**asked, json=arguments.get("json", False))
        return function(**arguments)

    command.__doc__ = _reflow(function.__doc__ or "")
    signature = inspect.signature(function, eval_str=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, keyword, default=False, annotation=kind) for name, kind in options.items()]
    own = [one.replace(kind=keyword) for one in signature.parameters.values()]
    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return command
