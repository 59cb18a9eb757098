"""How `--set KEY=VALUE` becomes the fields of a settings dataclass."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import typer

from isoglot.assignments import check_known, setting_types, split_assignments, value_of
from isoglot.cli.wording import option_name
from isoglot.errors import ConfigError, locating


def read_fields(
    context: typer.Context,
    kind: type[Any],
    texts: Iterable[str],
    owner: str,
    *,
    leave_out: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The settings by name, each read by the type of its field; several values are separated by commas.

    Raises for a setting that has an option of its own, for those that the command sets itself (`leave_out`), and for
    those that have another name now (`renamed`, old to new).
    """
    types = {name: type_ for name, type_ in setting_types(kind).items() if name not in leave_out}
    with locating("--set"):
        values = split_assignments(texts)
        for key, text in values.items():
            if renamed and key in renamed:
                raise ConfigError(f"{key} is now called {renamed[key]}", remedy=f"give {renamed[key]}={text}")
            for parameter in context.command.params:
                if parameter.name == key:
                    raise ConfigError(
                        f"{key} is no setting but an option", remedy=f"give it as {option_name(parameter)} {text}"
                    )
        known = {name: type_ for name, type_ in types.items() if name not in context.params}
        check_known(values, known, owner)
        return {key: _value(key, text, known[key]) for key, text in values.items()}


def _value(key: str, text: str, kind: str) -> Any:
    several = re.match(r"tuple\[(\w+)", kind)
    if several is None:
        return value_of(key, text, kind)
    values = {value_of(key, part.strip(), several[1]) for part in text.split(",")}
    return tuple(sorted(values))
