"""`isoglot train TEXT`, or `isoglot train vectors`: word vectors out of one text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.joint import (
    Dim,
    DryRun,
    Encoding,
    Epochs,
    Limit,
    Lower,
    MinCount,
    Model,
    Seed,
    Segmenter,
    Subwords,
    Threads,
    Window,
)
from isoglot.cli.options import Json


def train_vectors(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One sentence a line, as FILE or LANGUAGE=FILE.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Vectors to write; the name tells the format.")],
    model: Model = "skipgram",
    dim: Dim = 300,
    epochs: Epochs = 5,
    window: Window = 5,
    min_count: MinCount = 5,
    limit: Limit = 200_000,
    subwords: Subwords = True,
    segmenter: Segmenter = "spaces",
    lower: Lower = True,
    encoding: Encoding = None,
    threads: Threads = None,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train word vectors on one text, to be aligned like any others.

    A killed run resumes where it was when the same command is given again; its state is kept in OUTPUT.work.

    Examples:

    \b
      isoglot train news.fr.txt -o fr.vec
      isoglot train fr=presse.txt.xz -o fr.safetensors --no-subwords --epochs 10
      isoglot train news.fr.txt -o fr.vec --dry-run
    """
    from isoglot.cli.console import note, print_json, progress_bars, say
    from isoglot.cli.inputs import read_texts
    from isoglot.cli.joint_inputs import corpus_settings, tell_cost, training_settings
    from isoglot.cli.outputs import claim_file
    from isoglot.spaces import Space, output_format
    from isoglot.wordvectors import remove_work, train_texts

    (file,) = read_texts([text], encoding)
    output = output.expanduser()
    output_format(output)
    corpus, training = corpus_settings(context.params), training_settings(context.params)
    if dry_run:
        tell_cost([file], corpus, training, threads, json)
        return
    work = output.with_name(f"{output.name}.work")
    claim_file(output)
    with progress_bars() as progress:
        trained = train_texts([file], work, corpus, training, threads=threads, progress=progress, tell=note)
        space = Space(file.lang, trained.corpus.words, trained.vectors, counts=trained.corpus.counts[:, 0])
        space.save(output, progress=progress)
    remove_work(work)
    words = trained.corpus.total
    if json:
        record = {"output": str(output), "lang": file.lang, "words": len(space), "running_words": words}
        print_json({**record, "seconds": round(trained.seconds, 1)})
        return
    say(f"{len(space):,} words x {space.dim} out of {words:,} running words, written to {output}")
