"""The commands of `isoglot`: where each of them is."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

import isoglot
from isoglot.cli.commands import Group
from isoglot.cli.outputs import release_outputs


class _Root(Group):
    panels: ClassVar[dict[str, dict[str, str]]] = {
        "Start": {
            "demo": "demo:demo",
            "align": "align:align",
            "translate": "translate:translate_words",
            "lexicon": "lexicon:lexicon",
            "search": "search:search",
            "methods": "methods:methods_table",
        },
        "Measure": {
            "evaluate": "app:Evaluate",
            "transfer": "app:Transfer",
            "compare": "compare:compare_methods",
            "inspect": "inspect:inspect_spaces",
            "audit": "audit:audit",
        },
        "Text and vectors": {
            "text": "text:prepare_texts",
            "vectors": "app:Vectors",
            "joint": "app:Joint",
            "info": "files:info",
            "convert": "files:convert",
            "export": "files:export",
            "simulate": "simulate:simulate_languages",
        },
        "Encoders": {
            "encoder": "app:Encoder",
            "wordalign": "wordalign:wordalign",
            "project": "project:project",
        },
        "Papers": {"reproduce": "app:Reproduce"},
        "Data": {"data": "app:Data"},
    }


class Evaluate(Group):
    """Measure how good an alignment or an encoder is."""

    panels: ClassVar[dict[str, dict[str, str]]] = {
        "Words": {
            "bli": "evaluate:bilingual_lexicon_induction",
            "cbli": "evaluate_contextual:cbli",
            "similarity": "evaluate_similarity:similarity",
            "word-alignment": "evaluate_contextual:word_alignment",
        },
        "Sentences": {
            "tatoeba": "evaluate_contextual:tatoeba",
            "rfeval": "evaluate_contextual:rfeval",
        },
    }


class Transfer(Group):
    """Train a task's head on one language, test it on others, and compare encoders by it."""

    panels: ClassVar[dict[str, dict[str, str]]] = {
        "Tasks": {"nli": "transfer:nli", "ner": "transfer:ner", "pos": "transfer:pos", "qa": "transfer:qa"},
        "Trained heads": {"predict": "transfer_predict:predict"},
    }


class Vectors(Group):
    """Word vectors out of text."""

    panels: ClassVar[dict[str, dict[str, str]]] = {"Commands": {"train": "vectors:train"}}


class Joint(Group):
    """Train text of several languages together, reallocate words, align (Wang et al. 2020)."""

    panels: ClassVar[dict[str, dict[str, str]]] = {
        "Commands": {"train": "joint:train", "inspect": "joint:inspect", "ablate": "joint:ablate"}
    }


class Encoder(Group):
    """Align, examine and train contextual encoders."""

    panels: ClassVar[dict[str, dict[str, str]]] = {
        "Commands": {
            "audit": "audit:audit",
            "align": "encoder_align:align",
            "finetune": "finetune:finetune",
            "resume": "finetune:resume",
            "distill": "distill:distill",
            "extract": "extract:extract",
        }
    }


class Reproduce(Group):
    """Run a paper's experiments again and write a page with its claims: shown, contradicted or undecided."""

    panels: ClassVar[dict[str, dict[str, str]]] = {
        "Papers": {
            "density": "reproduce:density",
            "contextual": "reproduce_contextual:contextual",
            "word-alignment": "reproduce_contextual:word_alignment",
            "rfeval": "reproduce_contextual:rfeval",
            "finetune": "reproduce_finetune:finetune",
            "static-contextual": "reproduce_static:static_contextual",
        }
    }


class Data(Group):
    """Real data by name: vectors, lexicons, parallel text, encoders."""

    panels: ClassVar[dict[str, dict[str, str]]] = {
        "Commands": {"list": "data:list_entries", "get": "data:get", "path": "data:path"}
    }


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
