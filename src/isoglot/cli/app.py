"""The commands of `isoglot`: where each of them is."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

import isoglot
from isoglot.cli.commands import Group
from isoglot.cli.outputs import release_outputs


class _Root(Group):
    table: ClassVar[dict[str, str]] = {
        "align": "align:align",
        "translate": "translate:translate_words",
        "lexicon": "translate:lexicon",
        "evaluate": "app:_Evaluate",
        "contextual": "app:_Contextual",
        "wordalign": "wordalign:wordalign",
        "project": "project:project",
        "audit": "audit:audit",
        "distill": "distill:distill",
        "static-align": "static_align:static_align",
        "joint": "joint:Joint",
        "text": "text:prepare_texts",
        "train": "train:Train",
        "compare": "compare:compare_methods",
        "inspect": "inspect:inspect_spaces",
        "simulate": "simulate:simulate_languages",
        "reproduce": "app:_Reproduce",
        "info": "files:info",
        "convert": "files:convert",
        "export": "files:export",
        "methods": "methods:methods_table",
        "data": "app:_Data",
        "demo": "align:demo",
    }


class _Evaluate(Group):
    """Measure how good an alignment is."""

    table: ClassVar[dict[str, str]] = {
        "bli": "evaluate:bilingual_lexicon_induction",
        "tatoeba": "evaluate_contextual:tatoeba",
        "cbli": "evaluate_contextual:cbli",
        "word-alignment": "evaluate_contextual:word_alignment",
        "rfeval": "evaluate_contextual:rfeval",
        "similarity": "evaluate_similarity:similarity",
    }


class _Contextual(Group):
    """Words in context as vectors, and encoders aligned across languages."""

    table: ClassVar[dict[str, str]] = {"extract": "contextual:extract", "align": "contextual:align"}


class _Reproduce(Group):
    """Run a paper's experiments again and write a page with its claims, each shown or not shown."""

    table: ClassVar[dict[str, str]] = {
        "density": "reproduce:density",
        "contextual": "reproduce_contextual:contextual",
        "word-alignment": "reproduce_contextual:word_alignment",
        "rfeval": "reproduce_contextual:rfeval",
        "finetune": "reproduce_finetune:finetune",
        "static-contextual": "reproduce_static:static_contextual",
    }
    several = ("--text", "--lexicon", "--from-vectors", "--distill", "--set", "--fresh", "--encoder-set")


class _Data(Group):
    """Real data by name: vectors, lexicons, parallel text."""

    table: ClassVar[dict[str, str]] = {"list": "data:list_entries", "get": "data:get", "path": "data:path"}


app = typer.Typer(
    name="isoglot",
    cls=_Root,
    help="Put languages into one vector space, measure how well they fit, and make the result useful.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: isoglot demo",
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    context.call_on_close(release_outputs)
    if version:
        typer.echo(f"isoglot {isoglot.__version__}")
        raise typer.Exit
