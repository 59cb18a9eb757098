"""`isoglot simulate`: two languages of word occurrences with known geometry, as files."""

from __future__ import annotations

import dataclasses
import shlex

import typer

from isoglot.cli.options import Dim, Json, Output, Seed, Settings, Words


@dataclasses.dataclass(frozen=True)
class _Shape:
    """What is simulated: the settings of `--set`."""

    t: int = 5
    k: int = 100
    eps: float = 0.0
    reading: str = "groups"
    bound: float = 0.0


def simulate_languages(
    context: typer.Context,
    output: Output,
    settings: Settings = None,
    words: Words = 20,
    dim: Dim = 2,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Make two languages of word occurrences whose true map is known (the CBLI simulation of Zhao & Eger 2022).

    The folder gets vectors (text) and a lexicon of each split, and truth.json. In few dimensions align with
    --normalise none, as lengths mean something there.

    Settings for --set: t=5 (1: one orthogonal map; more: this many groups of words move differently), k=100
    (occurrences of each word), eps=0 (how far validation and test are from training), reading=groups (how languages
    differ; affine: one rotation and one shift; smooth: a warp), bound=0 (degrees that the shared rotation may have; 0:
    any rotation or reflection).

    Examples:

    \b
      isoglot simulate -o cbli
      isoglot simulate --set t=5 k=30 eps=1 -o far
      isoglot simulate --set reading=smooth bound=45 -o smooth
      isoglot simulate --set t=1 --dim 50 --words 200 -o easy
      isoglot align cbli/train.source.vec cbli/train.target.vec -l cbli/train.tsv --normalise none -o out
    """
    from isoglot.cli.console import print_json, say
    from isoglot.cli.outputs import claim
    from isoglot.cli.setting_inputs import read_fields
    from isoglot.simulate import simulate_occurrences

    shape = _Shape(**read_fields(context, _Shape, settings or [], "the simulation"))
    claim(output)
    pair = simulate_occurrences(**dataclasses.asdict(shape), words=words, dim=dim, seed=seed)
    facts = pair.save(output)
    if json:
        print_json(facts)
        return
    say(f"written: {words * shape.k:,} occurrences of each language and split, {dim} dimensions, in {output}")
    source, target, lexicon = (
        shlex.quote(str(output / name)) for name in ("train.source.vec", "train.target.vec", "train.tsv")
    )
    say(f"next: isoglot align {source} {target} -l {lexicon} --normalise none -o OUT")
