"""The commands of `isoglot`, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

import isoglot
from isoglot.cli import (
    align,
    audit,
    compare,
    contextual,
    data,
    distill,
    evaluate,
    evaluate_contextual,
    evaluate_similarity,
    files,
    inspect,
    joint,
    methods,
    project,
    reproduce,
    reproduce_contextual,
    reproduce_finetune,
    reproduce_static,
    simulate,
    static_align,
    text,
    train,
    translate,
    wordalign,
)
from isoglot.cli.outputs import release_outputs

__all__ = ["app"]

app = typer.Typer(
    name="isoglot",
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


app.command("align")(align.align)
app.command("translate")(translate.translate_words)
app.command("lexicon")(translate.lexicon)
for name, task in (
    ("tatoeba", evaluate_contextual.tatoeba),
    ("cbli", evaluate_contextual.cbli),
    ("word-alignment", evaluate_contextual.word_alignment),
    ("rfeval", evaluate_contextual.rfeval),
    ("similarity", evaluate_similarity.similarity),
):
    evaluate.app.command(name)(task)
app.add_typer(evaluate.app, name="evaluate")
app.add_typer(contextual.app, name="contextual")
app.command("wordalign")(wordalign.wordalign)
app.command("project")(project.project)
app.command("audit")(audit.audit)
app.command("distill")(distill.distill)
app.command("static-align")(static_align.static_align)
app.add_typer(joint.app, name="joint")
app.command("text")(text.prepare_texts)
app.add_typer(train.app, name="train")
app.command("compare")(compare.compare_methods)
app.command("inspect")(inspect.inspect_spaces)
app.command("simulate")(simulate.simulate_languages)
for name, recipe in (
    ("contextual", reproduce_contextual.contextual),
    ("word-alignment", reproduce_contextual.word_alignment),
    ("rfeval", reproduce_contextual.rfeval),
    ("finetune", reproduce_finetune.finetune),
):
    reproduce.app.command(name)(recipe)
reproduce.app.command("static-contextual", cls=reproduce_static.SeveralValues)(reproduce_static.static_contextual)
app.add_typer(reproduce.app, name="reproduce")
app.command("info")(files.info)
app.command("convert")(files.convert)
app.command("export")(files.export)
app.command("methods")(methods.methods_table)
app.add_typer(data.app, name="data")
app.command("demo")(align.demo)
