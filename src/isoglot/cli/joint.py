"""`isoglot joint train`: from text in two or more languages to one shared space; `joint inspect` and `joint ablate`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import (
    Balance,
    Dim,
    DryRun,
    Encoding,
    Epochs,
    Gamma,
    Json,
    KeepWork,
    Lexicons,
    Limit,
    Lower,
    MinCount,
    Model,
    OptionalMethod,
    OptionalOutput,
    OptionalPivot,
    Output,
    Seed,
    Segmenters,
    Settings,
    Subwords,
    Tests,
    Texts,
    Threads,
    Window,
)


@tabular
def train(
    context: typer.Context,
    texts: Texts,
    output: Output,
    lexicon: Lexicons = None,
    test: Tests = None,
    method: OptionalMethod = None,
    settings: Settings = None,
    gamma: Gamma = "auto",
    variant: Annotated[
        Literal["joint", "replace", "supervised"],
        typer.Option("--variant", help="Train as it is, swap words for translations, or predict translations."),
    ] = "joint",
    pivot: OptionalPivot = None,
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
    balance: Balance = True,
    dictionary: Annotated[
        int,
        typer.Option(
            "--dictionary",
            min=0,
            help="Write dictionary.tsv with translations of this many frequent words; 0: do not write it.",
        ),
    ] = 20_000,
    keep_work: KeepWork = False,
    threads: Threads = None,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train word vectors on texts of several languages together, align them, and write a dictionary.

    Words are trained together, those that hardly occur in a language are taken from it, and what each language has
    alone is aligned to the pivot (default: the last language) by --method (default: rcsls with a --lexicon, otherwise
    none). Without --test, part of the lexicon is held out to measure.

    A killed run resumes when the same command is given again; its state is kept in OUT.work. The result is a folder
    like that of `isoglot align`: `translate`, `lexicon`, `evaluate bli` and `export` take it.

    Settings for --set: those of the method (`isoglot methods`), and of the word vectors: vectors.negatives=5 (negative
    samples), vectors.rate=0.05 (learning rate), vectors.sample=0.0001 (how much frequent words are thinned out),
    vectors.shortest=3 and vectors.longest=6 (character n-grams), vectors.bucket=2000000 (rows for them).

    Examples:

    \b
      isoglot joint train en.txt fr.txt -l en-fr.tsv -o en-fr --dry-run
      isoglot joint train en.txt fr.txt -l en-fr.tsv --method rcsls -o en-fr
      isoglot joint train en=news.xz fr=presse.txt -l en-fr.tsv --test en-fr.test.tsv --gamma .9 -o en-fr
      isoglot joint train en.txt fr.txt --method none --set vectors.negatives=10 -o unsupervised
      isoglot joint train en.txt it.txt fr.txt -l en-fr=a.tsv -l it-fr=b.tsv -o three
    """
    from isoglot.aligned import ALIGNED_FOLDER
    from isoglot.cli.console import note, print_cost, print_json, progress_bars, result_table, say, table, warn
    from isoglot.cli.joint_inputs import read_aligner, read_job
    from isoglot.cli.outputs import claim
    from isoglot.pipelines import joint_align
    from isoglot.wordvectors import estimate, remove_work

    aligner = read_aligner(context)
    claim(output, ALIGNED_FOLDER)
    with progress_bars() as progress:
        job = read_job(context, aligner, progress)
        if dry_run:
            print_cost(estimate(job.texts, job.corpus, job.variant_training, threads=threads), json=json)
            return
        work = output.with_name(f"{output.name}.work")
        outcome = joint_align(job, work, threads=threads, progress=progress, tell=note, warn=warn)
        outcome.save(output, dictionary=dictionary, progress=progress)
    if not keep_work:
        remove_work(work)
    if json:
        print_json({"output": str(output), **outcome.info})
        return
    for pair, results in outcome.results.items():
        result_table(results, f"{outcome.info['method']}, gamma {outcome.gamma:g}: {pair[0]} to {pair[1]}")
    kinds = outcome.info["kinds"]
    rows = [[name, *(f"{count:,}" for count in kinds[name].values())] for name in kinds]
    table("Words", ["", *kinds["trained"]], rows, right=range(1, len(kinds["trained"]) + 1))
    if not outcome.results:
        say("no figure: give a --lexicon or --test to measure")
    say(f"written to {output}; next: isoglot joint inspect {shlex.quote(str(output))}")


@tabular
def inspect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder written by `isoglot joint train`.")],
    output: OptionalOutput = None,
    examples: Annotated[int, typer.Option("--examples", min=1, help="Number of words to show of each kind.")] = 12,
    json: Json = False,
) -> None:
    """Show which words languages share and which were reallocated, with a page that draws the space.

    The page is DIR/joint.html unless --output names another; with --json it is written only if it is named.

    Examples:

    \b
      isoglot joint inspect en-fr
      isoglot joint inspect en-fr --examples 40 -o page.html
    """
    from isoglot.cli.console import print_json, say, table
    from isoglot.pipelines import look_at, write_joint_page

    found = look_at(folder, examples)
    if json:
        print_json(found.record())
        if output is not None:
            write_joint_page(output, found)
        return
    table(
        "Words", ["kind", "trained", "reallocated"], [[k, f"{a:,}", f"{b:,}"] for k, a, b in found.kinds], right=(1, 2)
    )
    rows = [[f"taken from {lang}", f"{count:,}", ", ".join(words)] for lang, count, words in found.taken]
    rows.append(["still shared", f"{found.kinds[0][2]:,}", ", ".join(found.shared)])
    table("Examples, most frequent first", ["", "words", "such as"], rows, right=(1,))
    target = output or folder / "joint.html"
    write_joint_page(target, found)
    say(f"written: {target}; next: isoglot translate {shlex.quote(str(folder))} WORD")


@tabular
def ablate(
    context: typer.Context,
    texts: Texts,
    output: Output,
    lexicon: Lexicons = None,
    test: Tests = None,
    method: OptionalMethod = None,
    settings: Settings = None,
    gamma: Gamma = "auto",
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also train Joint-Replace and supervised joint vectors.")
    ] = False,
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
    balance: Balance = True,
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Measure what each step of joint training brings, beside vectors trained separately, on the same words.

    Takes two texts and one lexicon. The folder gets ablation.json, report.html and the trained vectors: the same
    command again only evaluates. The method is rcsls unless --method names another; settings for --set are those of
    `isoglot joint train`.

    Examples:

    \b
      isoglot joint ablate en.txt fr.txt -l en-fr.tsv --test en-fr.test.tsv -o ablation
      isoglot joint ablate en.txt fr.txt -l en-fr.tsv --method procrustes --baselines -o ablation
    """
    from isoglot.cli.console import note, print_json, progress_bars, say, table
    from isoglot.cli.joint_inputs import read_aligner, read_job
    from isoglot.cli.outputs import claim
    from isoglot.reproductions.joint_align.ablation import run_ablation, write_ablation

    aligner = read_aligner(context)
    claim(output)
    with progress_bars() as progress:
        job = read_job(context, aligner, progress)
        outcome = run_ablation(job, output, baselines=baselines, threads=threads, progress=progress, tell=note)
    write_ablation(outcome, output)
    if json:
        print_json(outcome.record())
        return
    table(f"{outcome.title}: all pairs", *outcome.table("keep"), right=(1, 3))
    title = f"Pairs of different form ({outcome.moved_words:,} test words moved by reallocation)"
    table(title, *outcome.table("remove"), right=(1, 3, 4))
    for line in outcome.sentences():
        say(line)
    page = output / "report.html"
    say(f"written: {output / 'ablation.json'}, {page}; next: open {shlex.quote(str(page))} in a browser")
