"""`isoglot demo`: the main job on real data, with a report page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.encoder_inputs import check_encoder
from isoglot.cli.given import refuse
from isoglot.cli.options import Json, OptionalEncoder, Output


@tabular
def demo(
    context: typer.Context,
    output: Output = Path("demo"),
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not fetch anything: use a generated pair of languages.")
    ] = False,
    encoder: OptionalEncoder = None,
    json: Json = False,
) -> None:
    """Align English and French from the data catalogue, print figures and translations, write a report page.

    Without a network and with nothing cached it says so and uses a generated pair of languages. With an encoder, it
    searches English text with questions in German, Spanish, French and Turkish instead.

    Examples:

    \b
      isoglot demo
      isoglot demo -o my-demo --json
      isoglot demo --encoder encoder/use-multilingual
    """
    from isoglot.cli.console import print_json, progress_bars, result_table, say, table
    from isoglot.cli.outputs import claim
    from isoglot.pipelines import run_demo

    claim(output)
    if encoder is not None:
        refuse(context, "with --encoder, which fetches text to search", "offline")
        _search(output, encoder, json)
        return
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
    words = [answer.word for answer, _ in outcome.translations[:2]] if outcome.generated else ["music", "river"]
    say(f"try: isoglot translate {outcome.folder} {' '.join(words)}")


def _search(output: Path, encoder: str, json: bool) -> None:
    from isoglot.cli.console import print_json, progress_bars, say, table
    from isoglot.pipelines import run_search_demo

    check_encoder(encoder)
    with progress_bars() as progress:
        outcome = run_search_demo(output, encoder, progress=progress)
    if json:
        print_json(outcome.record())
        return
    rows = [
        [lang, f"{one.value:.3f}", "" if one.interval is None else f"{one.interval[0]:.3f} - {one.interval[1]:.3f}"]
        for lang, one in outcome.figures.items()
    ]
    table("English translation found first, 1,000 lines each", ["language", "P@1", "95% interval"], rows)
    for lang, shown in outcome.examples.items():
        rows = [[answer.question, answer.hits[0][0].text, gold] for answer, gold in shown]
        table(f"Asked in {lang}, nearest of {outcome.lines:,} lines", ["question", "found", "translation"], rows)
    say(f"report: {outcome.report}")
    say(f'try: isoglot search my-text.txt -e {encoder} --query "your question"')
