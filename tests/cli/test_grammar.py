"""One grammar: an option means the same in every command, and every command can be found and read."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import re
from pathlib import Path

import pytest

from isoglot.assignments import value_of
from isoglot.cli.grammar import Command, Parameter, commands, table

COMMANDS = commands()
NAMES = [command.name for command in COMMANDS]


def _uses() -> dict[str, list[tuple[str, Parameter]]]:
    """Every spelling of an option, with the commands that have it."""
    uses = collections.defaultdict(list)
    for command in COMMANDS:
        for parameter in command.parameters:
            for name in parameter.names if parameter.is_option else ():
                uses[name].append((command.name, parameter))
    return dict(uses)


@pytest.mark.parametrize(("name", "uses"), sorted(_uses().items()), ids=sorted(_uses()))
def test_an_option_has_one_meaning(name, uses):
    for what in ("names", "kind", "help"):
        meanings = {getattr(parameter, what): command for command, parameter in uses}
        assert len(meanings) == 1, f"{name} has several {what}: {meanings}"


def test_no_two_options_say_the_same():
    """Two names for one thing are as bad as one name for two."""
    names = collections.defaultdict(set)
    for command in COMMANDS:
        for parameter in command.parameters:
            if parameter.is_option:
                names[parameter.help].add(parameter.names[0])
    assert {text: sorted(options) for text, options in names.items() if len(options) > 1} == {}


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_a_command_explains_itself(command: Command):
    assert command.summary.endswith((".", "?")), command.summary
    assert len(command.summary) <= 120
    assert "Examples:" in command.help
    assert f"isoglot {command.name} " in command.help or f"isoglot {command.name}\n" in command.help + "\n"
    for parameter in command.parameters:
        assert parameter.help, parameter.names
        assert parameter.help[0].isupper() or parameter.help[0] in "-`", parameter.help
        assert parameter.help.endswith((".", "...")), parameter.help


def test_what_is_measured_can_be_had_as_json():
    without = [c.name for c in COMMANDS if not any("--json" in one.names for one in c.parameters)]
    assert without == []


def test_what_is_written_is_named_by_output():
    """Nothing but caches, side files and pictures is written elsewhere."""
    writing = {c.name: {n for p in c.parameters for n in p.names} for c in COMMANDS}
    for name in ("align", "lexicon", "convert", "export", "encoder align", "encoder distill", "vectors train", "text"):
        assert {"--output", "-o"} <= writing[name], name


def test_commands_by_what_people_do():
    panels = collections.defaultdict(list)
    for command in COMMANDS:
        if command.path[0] not in panels[command.panel]:
            panels[command.panel].append(command.path[0])
    assert dict(panels) == {
        "Start": ["demo", "align", "translate", "lexicon", "search", "methods"],
        "Measure": ["evaluate", "transfer", "compare", "inspect", "audit"],
        "Text and vectors": ["text", "vectors", "joint", "info", "convert", "export", "simulate"],
        "Encoders": ["encoder", "wordalign", "project"],
        "Papers": ["reproduce"],
        "Data": ["data"],
    }


@pytest.mark.parametrize(
    ("name", "place", "group"),
    [
        ("vectors train", "isoglot.wordvectors:Training", ""),
        ("joint train", "isoglot.wordvectors:Training", "vectors."),
        ("text", "isoglot.text:TextSettings", ""),
        ("simulate", "isoglot.cli.simulate:_Shape", ""),
        ("transfer ner", "isoglot.transfer:HeadSettings", ""),
        ("transfer qa", "isoglot.transfer:HeadSettings", ""),
    ],
)
def test_the_help_lists_settings_with_their_defaults(name, place, group):
    module, _, kind = place.partition(":")
    fields = dataclasses.fields(getattr(importlib.import_module(module), kind))
    (text,) = (command.help for command in COMMANDS if command.name == name)
    text = text.partition("Settings for --set:")[2].partition("Examples:")[0]
    listed = dict(re.findall(rf"(?<![\w.]){re.escape(group)}(\w+)=([\w.-]+)", text))
    defaults = {field.name: (field.default, field.type) for field in fields}
    assert len(listed) >= 3
    for key, value in listed.items():
        default, type_ = defaults[key]
        assert value_of(key, value, str(type_)) == default, key


def test_the_page_of_the_grammar_is_up_to_date():
    page = Path(__file__).parents[2] / "docs" / "grammar.md"
    assert page.read_text("utf-8") == table(), "run: python -m isoglot.cli.grammar > docs/grammar.md"
