"""The command reference, from the command line itself.

`commands()` walks the application and returns plain records, which tests can look at too; the other functions turn them
into pages.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from isoglot.cli.app import app

from .markdown import code, prose, table

#: How the values of an option are shown where it has no name of its own for them.
_VALUES = {int: "N", float: "X", Path: "PATH", str: "TEXT"}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One argument or option of a command.

    Args:
        names: ("--output", "-o"), or the name of an argument as it is shown, ("SRC TGT",).
        value: what stands for its value; empty for flags and arguments.
        help: one line.
        default: None where there is none, or nothing that says anything.
        required: whether the command needs it.
        repeated: whether it may be given several times.
        is_option: whether it is an option.
    """

    names: tuple[str, ...]
    value: str
    help: str
    default: str | None
    required: bool
    repeated: bool
    is_option: bool


@dataclasses.dataclass(frozen=True)
class Command:
    """One command, or a group of them.

    Args:
        path: ("isoglot", "evaluate", "bli").
        help: paragraphs, without the examples.
        examples: lines of a shell.
        parameters: in the order of the help page.
        is_group: whether other commands stand below it.
    """

    path: tuple[str, ...]
    help: tuple[str, ...]
    examples: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    is_group: bool

    @property
    def name(self) -> str:
        return " ".join(self.path)

    @property
    def summary(self) -> str:
        """The first sentence, without its full stop."""
        return self.help[0].split(". ")[0].rstrip(".") if self.help else ""

    @property
    def options(self) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if parameter.is_option)

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if not parameter.is_option)


def commands() -> list[Command]:
    """All commands of `isoglot`, itself first, groups before what they hold, in the order of the help pages."""
    return list(_walk(typer.main.get_command(app), ("isoglot",)))


def _walk(command: Any, path: tuple[str, ...]) -> Iterator[Command]:
    paragraphs, examples = split_help(command.help or "")
    parameters = [_parameter(one) for one in command.params if not getattr(one, "hidden", False)]
    parameters = [one for one in parameters if not {"--help", "--install-completion"} & set(one.names)]
    table_of_group = getattr(command, "commands", None)
    yield Command(path, paragraphs, examples, tuple(parameters), table_of_group is not None)
    for name in table_of_group or ():
        if not table_of_group[name].hidden:
            yield from _walk(table_of_group[name], (*path, name))


def split_help(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Paragraphs and examples of a help text.

    >>> split_help("Do it.\\n\\nExamples:\\n\\n\\b\\n  isoglot it\\n  isoglot it --now")
    (('Do it.',), ('isoglot it', 'isoglot it --now'))
    """
    before, _, after = inspect.cleandoc(text).replace("\b", "").partition("Examples:")
    paragraphs = tuple(" ".join(part.split()) for part in before.split("\n\n") if part.strip())
    return paragraphs, tuple(line.strip() for line in after.splitlines() if line.strip())


def _parameter(parameter: Any) -> Parameter:
    is_option = parameter.param_type_name == "option"
    is_flag = bool(getattr(parameter, "is_flag", False))
    names = (*parameter.opts, *parameter.secondary_opts) if is_option else (_argument_name(parameter),)
    return Parameter(
        names=tuple(names),
        value="" if is_flag or not is_option else _value(parameter),
        help=" ".join((parameter.help or "").split()),
        default=None if parameter.required else _default(parameter, is_flag),
        required=bool(parameter.required),
        repeated=bool(getattr(parameter, "multiple", False)) or (parameter.nargs == -1 and " " not in names[0]),
        is_option=is_option,
    )


def _argument_name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _value(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    annotation = parameter.type_descriptor.annotation
    for one in (annotation, *get_args(annotation)):
        if get_origin(one) is Literal:
            return "|".join(map(str, get_args(one)))
    kind = next((one for one in (*get_args(annotation), annotation) if one in _VALUES), str)
    return _VALUES[kind]


def _default(parameter: Any, is_flag: bool) -> str | None:
    default = parameter.default
    if callable(default) or default in (None, "", [], ()):
        return None
    if is_flag:
        # Of --a/--no-a the one that holds; a plain flag is off, which goes without saying.
        both = parameter.opts[:1] + parameter.secondary_opts[:1]
        return both[0 if default else 1] if len(both) == 2 else None
    if isinstance(default, list | tuple):
        return " ".join(str(one) for one in default)
    return f"{default:,}" if isinstance(default, int) else str(default)


def pages() -> dict[str, str]:
    """One page for each command of the first level, by its path below docs/."""
    records = commands()[1:]
    by_page: dict[str, list[Command]] = {}
    for record in records:
        by_page.setdefault(record.path[1], []).append(record)
    return {f"commands/{name}.md": page(group) for name, group in by_page.items()}


def page(group: Sequence[Command]) -> str:
    """A command with all that stand below it."""
    first, *below = group
    parts = [f"# {first.name}", *_description(first)]
    if below:
        rows = [[f"[`{one.name}`](#{'-'.join(one.path)})", prose(one.summary)] for one in below]
        parts.append(table(["command", "what it does"], rows))
    else:
        parts += _usage(first, "##")
    for one in below:
        parts += [f"## {one.name} {{ #{'-'.join(one.path)} }}", *_description(one), *_usage(one, "###")]
    return "\n\n".join(parts) + "\n"


def overview() -> str:
    """The table of all commands, with links."""
    rows = []
    for record in commands()[1:]:
        page_of = f"commands/{record.path[1]}.md"
        target = page_of if len(record.path) == 2 else f"{page_of}#{'-'.join(record.path)}"
        if not record.is_group:
            rows.append([f"[`{record.name}`]({target})", prose(record.summary)])
    return table(["command", "what it does"], rows)


def _description(record: Command) -> list[str]:
    parts = [prose(paragraph) for paragraph in record.help]
    return [*parts, code("\n".join(record.examples), "text")] if record.examples else parts


def _usage(record: Command, heading: str) -> list[str]:
    pieces = [record.name]
    for one in record.arguments:
        name = one.names[0] + (" ..." if one.repeated and not one.names[0].endswith("...") else "")
        pieces.append(name if one.required else f"[{name}]")
    pieces += [f"{one.names[0]} {one.value}".strip() for one in record.options if one.required]
    anchor = "-".join(record.path[1:])
    parts = [f"{heading} Usage {{ #{anchor}-usage }}", code(" ".join([*pieces, "[OPTIONS]"]), "text")]
    for title, group in (("Arguments", record.arguments), ("Options", record.options)):
        if group:
            parts += [f"{heading} {title} {{ #{anchor}-{title.lower()} }}", "\n\n".join(map(_entry, group))]
    return parts


def _entry(parameter: Parameter) -> str:
    names = ", ".join(f"`{name}`" for name in parameter.names)
    notes = [
        *(["required"] if parameter.required else []),
        *(["may be repeated"] if parameter.repeated else []),
        *([f"default: `{parameter.default}`"] if parameter.default is not None else []),
    ]
    head = names + (f" `{parameter.value}`" if parameter.value else "") + (f" *({'; '.join(notes)})*" if notes else "")
    return f"{head}\n:   {prose(parameter.help) or '.'}"
