"""`isoglot simulate`: two languages of word occurrences with known geometry, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.options import Json


def simulate_languages(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for vectors, lexicons and the true map.")],
    t: Annotated[int, typer.Option("--t", min=1, help="1: one orthogonal map. More: so many groups move apart.")] = 5,
    k: Annotated[int, typer.Option("--k", min=1, help="Occurrences of each word.")] = 100,
    eps: Annotated[float, typer.Option("--eps", help="How far validation and test lie from training.")] = 0.0,
    words: Annotated[int, typer.Option("--words", min=1, help="Words of each language.")] = 20,
    dim: Annotated[int, typer.Option("--dim", min=2, help="Dimensions.")] = 2,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Where all random choices come from.")] = 0,
    json: Json = False,
) -> None:
    """Make two languages of word occurrences whose true map is known (the CBLI simulation of Zhao & Eger 2022).

    The folder gets vectors (text) and a lexicon of each split, and truth.json. In few dimensions align with
    --normalise none, as lengths mean something there.

    Examples:

    \b
      isoglot simulate --t 5 --k 100 --eps 0 -o cbli
      isoglot align cbli/train.source.vec cbli/train.target.vec -l cbli/train.tsv --normalise none -m procrustes -o out
      isoglot simulate --t 1 --dim 50 --words 200 -o easy
    """
    from isoglot.cli.console import print_json, say
    from isoglot.cli.outputs import claim
    from isoglot.simulate import simulate_occurrences

    claim(output)
    pair = simulate_occurrences(k, t, eps, words=words, dim=dim, seed=seed)
    facts = pair.save(output)
    if json:
        print_json(facts)
        return
    say(f"written: {words * k:,} occurrences a side and split, {dim} dimensions, in {output}")
