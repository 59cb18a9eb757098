"""`isoglot vectors train`: word vectors out of one text."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from isoglot.cli.options import (
    Dim,
    DryRun,
    Encoding,
    Epochs,
    Json,
    Limit,
    Lower,
    MinCount,
    Model,
    Output,
    Seed,
    Segmenters,
    Settings,
    Subwords,
    Threads,
    Window,
)


def train(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text, one sentence per line, as FILE or LANG=FILE.")],
    output: Output,
    settings: Settings = None,
    model: Model = "skipgram",
    dim: Dim = 300,
    epochs: Epochs = 5,
    window: Window = 5,
    min_count: MinCount = 5,
    limit: Limit = 200_000,
    subwords: Subwords = True,
    segmenter: Segmenters = None,
    lower: Lower = True,
    encoding: Encoding = None,
    threads: Threads = None,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train word vectors on text of one language, to be aligned like any others.

    The name of the output tells the format: fr.vec is text, fr.safetensors loads fastest. A killed run resumes when
    the same command is given again; its state is kept in OUTPUT.work.

    Settings for --set: negatives=5 (negative samples), rate=0.05 (learning rate), sample=0.0001 (how much frequent
    words are thinned out), shortest=3 and longest=6 (character n-grams), bucket=2000000 (rows for them).

    Examples:

    \b
      isoglot vectors train news.fr.txt -o fr.vec --dry-run
      isoglot vectors train news.fr.txt -o fr.vec
      isoglot vectors train fr=presse.txt.xz -o fr.safetensors --no-subwords --epochs 10 --set negatives=10
    """
    from isoglot.cli.console import note, print_cost, print_json, progress_bars, say
    from isoglot.cli.inputs import read_texts
    from isoglot.cli.joint_inputs import corpus_settings, training_settings
    from isoglot.cli.outputs import claim_file
    from isoglot.spaces import Space, output_format
    from isoglot.wordvectors import estimate, remove_work, train_texts

    (file,) = read_texts([text], encoding)
    output = output.expanduser()
    output_format(output)
    corpus = corpus_settings(context.params, [file.lang])
    training = training_settings(context, settings or [])
    if dry_run:
        print_cost(estimate([file], corpus, training, threads=threads), json=json)
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
    place = shlex.quote(str(output))
    say(f"next: isoglot info {place}, or align them with other vectors: isoglot align {place} OTHER -l LEXICON -o OUT")
