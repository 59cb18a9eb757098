"""The library names parameters; who runs a command reads its options. And commands are loaded one by one."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from isoglot.cli import wording
from isoglot.cli.app import app
from isoglot.cli.commands import _Command
from isoglot.errors import InputError, LexiconError


def refused(message: str, *args: str) -> str:
    """What a command says whose library raises this."""

    def work(
        pairs: int = typer.Option(5, "--pairs"),
        held_out: int = typer.Option(0, "--held-out"),
        lexicons: str = typer.Option("", "--lexicon", "-l"),
        lower: bool = typer.Option(True, "--lower/--no-lower"),
        source: str = typer.Argument("a.vec", metavar="SRC"),
    ) -> None:
        raise InputError(message, where="`held_out`", remedy="see `isoglot methods`")

    program = typer.Typer(add_completion=False)
    program.command(cls=_Command)(work)
    with pytest.raises(InputError) as caught:
        program(args, standalone_mode=False)
    return str(caught.value)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("lower `seeds`", "lower --pairs"),
        ("lower `pairs`", "lower --pairs"),
        ("give `lexicon` or `lexicons`", "give --lexicon or --lexicon"),  # by its option or its parameter
        ("set `lower`", "set --lower"),
        ("`source` is empty", "SRC is empty"),
        ("the method has no `whiten`", "the method has no whiten"),
        ("run `isoglot data list`", "run `isoglot data list`"),
    ],
)
def test_parameters_become_options(message, said):
    assert refused(message) == f"--held-out: {said}; see `isoglot methods`"


def test_a_real_command_says_its_options(command, monkeypatch, tmp_path):
    def refuse(*_: object, **__: object) -> None:
        raise LexiconError("only 9 pairs are left", remedy="lower `pairs` or `held_out`")

    monkeypatch.setattr("isoglot.cli.inputs.open_lexicon", refuse)
    code, _, errors = command("align", "a.vec", "b.vec", "-l", "pairs.txt", "-o", tmp_path / "out")
    assert (code, errors) == (2, "isoglot: only 9 pairs are left; lower --pairs or --held-out\n")


def test_outside_of_commands_names_stay(monkeypatch):
    monkeypatch.setattr(wording, "_running", None)
    assert wording.in_options("lower `pairs`") == "lower pairs"


def test_help_and_a_command_load_nothing_that_they_do_not_need():
    code = "import sys\nfrom isoglot.cli.app import app\napp(['{}', '--help'], standalone_mode=False)\n" + (
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code.format("translate")], capture_output=True, text=True, check=False)
    loaded = set(done.stderr.split())
    assert "isoglot.cli.translate" in loaded, done.stderr
    assert not loaded & {"isoglot.cli.align", "isoglot.cli.joint", "isoglot.aligners", "numpy", "numba", "torch"}


def test_every_command_of_the_tables_can_be_loaded():
    group = typer.main.get_command(app)
    commands = [group.commands[name] for name in group.commands]
    inner = [one.commands[name] for one in commands if hasattr(one, "commands") for name in one.commands]
    assert len(commands) > 20
    assert len(inner) > 15
    assert all(one.help for one in (*commands, *inner))
