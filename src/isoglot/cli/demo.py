"""`isoglot demo`: the main job on real data, with a report page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import Json, Output


@tabular
def demo(
    output: Output = Path("demo"),
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not fetch anything: use a generated pair of languages.")
    ] = False,
    json: Json = False,
) -> None:
    """Align English and French from the data catalogue, print figures and translations, write a report page.

    Without a network and with nothing cached it says so and uses a generated pair of languages.

    Examples:

    \b
      isoglot demo
      isoglot demo -o my-demo --json
    """
    from isoglot.cli.console import print_json, progress_bars, result_table, say, table
    from isoglot.cli.outputs import claim
    from isoglot.pipelines import run_demo

    claim(output)
    with progress_bars() as progress:
        outcome = run_demo(output, offline=offline, progress=progress, tell=say)
    if json:
        print_json(outcome.record())
        return
    result_table(outcome.results, outcome.title)
    rows = [
        [answer.word, ", ".join(f"{word} ({value:.2f})" for word, value in answer.candidates), gold]
        for answer, gold in outcome.translations
    ]
    table("Twenty translations of held-out words", ["word", "candidates", "dictionary"], rows)
    say(f"report: {outcome.report}")
    say(f"try: isoglot translate {outcome.folder} music river")
