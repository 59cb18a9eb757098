"""Options that were given but would do nothing: an error that names what they clash with, never silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from isoglot.cli.wording import option_name
from isoglot.errors import ConfigError


def given(context: typer.Context, name: str) -> bool:
    """Whether the user gave this parameter, even if with its default value."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def fill(context: typer.Context, values: Mapping[str, Any]) -> None:
    """Take these values, such as a preset's, for parameters that the user did not give."""
    context.params.update({name: value for name, value in values.items() if not given(context, name)})


def refuse(context: typer.Context, why: str, *names: str, remedy: str = "leave it out") -> None:
    """Raise if one of the named parameters was given: `why` says what makes it useless, e.g. "with --pivot"."""
    for name in names:
        if given(context, name):
            raise ConfigError(f"{_option(context, name)} has no effect {why}", remedy=remedy)


def refuse_doubled(context: typer.Context, settings: Sequence[str]) -> None:
    """Raise if an option is also given as a setting, by --set: only one of the two would count."""
    for setting in settings:
        name = setting.partition("=")[0].strip().replace("-", "_")
        if name in context.params and given(context, name):
            raise ConfigError(f"{_option(context, name)} and --set {setting} say the same twice", remedy="give one")


def _option(context: typer.Context, name: str) -> str:
    parameter = next(one for one in context.command.params if one.name == name)
    return option_name(parameter, context.params.get(name))
