"""`isoglot joint`: from text in two or more languages to one shared space; `isoglot joint inspect` and `ablate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from isoglot.cli.commands import Group
from isoglot.cli.given import refuse
from isoglot.cli.options import Json


class Joint(Group):
    """Train text of several languages together, reallocate words, refine (Wang et al. 2020).

    `isoglot joint TEXT TEXT ... -o OUT` trains; see `isoglot joint train --help` for all its options.

    Examples:

    \b
      isoglot joint en.txt fr.txt --lexicon en-fr.tsv --refine rcsls -o en-fr
      isoglot joint inspect en-fr
      isoglot joint ablate en.txt fr.txt --lexicon en-fr.tsv --test en-fr.test.tsv -o ablation
    """

    table: ClassVar[dict[str, str]] = {"train": "joint:train", "inspect": "joint:inspect", "ablate": "joint:ablate"}

    def meant(self, args: Sequence[str]) -> list[str]:
        return ["train"]


Texts = Annotated[
    list[str], typer.Argument(metavar="TEXT...", help="Texts, one sentence a line, as FILE or LANGUAGE=FILE.")
]
LexiconOption = Annotated[
    list[str] | None,
    typer.Option("--lexicon", "-l", help="Pairs to learn from, as FILE or en-fr=FILE; may be repeated."),
]
TestOption = Annotated[
    list[str] | None, typer.Option("--test", help="Pairs to test on; without it part of the lexicon is held out.")
]
Refine = Annotated[
    str | None,
    typer.Option("--refine", help="The method that aligns (`isoglot methods`), or none. Default: rcsls, with pairs."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of that method, as key=value; may be repeated.")
]
Gamma = Annotated[
    str, typer.Option("--gamma", help="How unevenly a shared word may be spread: .5 to 1, or auto to choose.")
]
Model = Annotated[str, typer.Option("--model", help="skipgram or cbow.")]
Dim = Annotated[int, typer.Option("--dim", min=1, help="Dimensions.")]
Epochs = Annotated[int, typer.Option("--epochs", min=1, help="Passes over the text.")]
Window = Annotated[int, typer.Option("--window", min=1, help="Words to each side.")]
MinCount = Annotated[int, typer.Option("--min-count", min=1, help="Leave out words that occur less often.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Most frequent words of each language to keep.")]
Subwords = Annotated[
    bool,
    typer.Option("--subwords/--no-subwords", help="Learn from character n-grams: slower, far better on little text."),
]
Segmenter = Annotated[str, typer.Option("--segmenter", help="spaces (tokenised text), icu, jieba, fugashi, pythainlp.")]
Lower = Annotated[bool, typer.Option("--lower/--no-lower", help="Lower-case text and lexicons.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of the texts, if not UTF-8, e.g. latin-1.")]
Balance = Annotated[
    bool, typer.Option("--balance/--no-balance", help="Bring every text to as many lines as the last one has.")
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Default: all cores. One repeats exactly.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Where all random choices come from.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only look at the texts and tell what training would take.")]


def train(
    context: typer.Context,
    texts: Texts,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    lexicon: LexiconOption = None,
    test: TestOption = None,
    refine: Refine = None,
    settings: Settings = None,
    gamma: Gamma = "auto",
    variant: Annotated[
        str,
        typer.Option("--variant", help="joint, replace (swap words for translations) or supervised (predict them)."),
    ] = "joint",
    pivot: Annotated[
        str | None, typer.Option("--pivot", help="Whose space the others are brought into; default: the last.")
    ] = None,
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
    balance: Balance = True,
    dictionary: Annotated[
        int,
        typer.Option(
            "--dictionary",
            min=0,
            help="Write OUT/dictionary.tsv for so many frequent words, first language to second; 0: none.",
        ),
    ] = 20_000,
    keep_work: Annotated[bool, typer.Option("--keep-work", help="Keep OUT.work, the corpus and vectors.")] = False,
    threads: Threads = None,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train text of two or more languages together, reallocate words, refine, measure, write a dictionary.

    A killed run resumes where it was when the same command is given again; its state is kept in OUT.work. The result is
    a folder like that of `isoglot align`: `translate`, `lexicon`, `evaluate bli` and `export` take it.

    Examples:

    \b
      isoglot joint en.txt fr.txt --lexicon en-fr.tsv --refine rcsls -o en-fr
      isoglot joint en=news.xz fr=presse.txt -l en-fr.tsv --test en-fr.test.tsv --gamma .9 -o en-fr
      isoglot joint en.txt fr.txt --refine none -o unsupervised
      isoglot joint en.txt it.txt fr.txt -l en-fr=a.tsv -l it-fr=b.tsv -o three
      isoglot joint en.txt fr.txt -l en-fr.tsv -o en-fr --dry-run
    """
    from isoglot.aligned import ALIGNED_FOLDER
    from isoglot.cli.console import note, print_json, progress_bars, result_table, say, table, warn
    from isoglot.cli.joint_inputs import read_job, tell_cost
    from isoglot.cli.outputs import claim
    from isoglot.pipelines import joint_align
    from isoglot.wordvectors import remove_work

    _check_options(context)
    claim(output, ALIGNED_FOLDER)
    with progress_bars() as progress:
        job = read_job(context.params, progress)
        if dry_run:
            tell_cost(job.texts, job.corpus, job.variant_training, threads, json)
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
    say(f"written to {output}; try: isoglot joint inspect {output}")


def _check_options(context: typer.Context) -> None:
    """Raise for options of `train` that the others leave without effect."""
    values = context.params
    refine = values["refine"] or ("rcsls" if values["lexicon"] else "none")
    if values["variant"] == "supervised":
        refuse(context, "with --variant supervised, which keeps the languages' words apart", "gamma")
        if values["model"] != "cbow":
            refuse(context, "with --variant supervised, which trains by cbow", "model")
    if refine == "none":
        refuse(context, "without --refine: nothing is brought into another space", "pivot")
        if values["test"] and values["variant"] == "joint" and values["gamma"] != "auto":
            refuse(context, "with --refine none, --gamma and --test: nothing learns from it", "lexicon")


def inspect(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder written by `isoglot joint`.")],
    page: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write; default: OUT/joint.html, none with --json.")
    ] = None,
    examples: Annotated[int, typer.Option("--examples", min=1, help="How many words to show of each kind.")] = 12,
    json: Json = False,
) -> None:
    """What was shared, what was reallocated where, with counts and examples; draws the space before and after.

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
        if page is not None:
            write_joint_page(page, found)
        return
    table(
        "Words", ["kind", "trained", "reallocated"], [[k, f"{a:,}", f"{b:,}"] for k, a, b in found.kinds], right=(1, 2)
    )
    rows = [[f"taken from {lang}", f"{count:,}", ", ".join(words)] for lang, count, words in found.taken]
    rows.append(["still shared", f"{found.kinds[0][2]:,}", ", ".join(found.shared)])
    table("Examples, most frequent first", ["", "words", "such as"], rows, right=(1,))
    target = page or folder / "joint.html"
    write_joint_page(target, found)
    say(f"page: {target}")


def ablate(
    context: typer.Context,
    texts: Texts,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for ablation.json, report.html and the work.")],
    lexicon: LexiconOption = None,
    test: TestOption = None,
    refine: Refine = None,
    settings: Settings = None,
    gamma: Gamma = "auto",
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also Joint-Replace and supervised joint training: two more trainings.")
    ] = False,
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
    balance: Balance = True,
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Which step brings what: joint training alone, with each step, with all, and separate training, on the same words.

    Trained vectors stay in the output folder; the same command again only evaluates.

    Examples:

    \b
      isoglot joint ablate en.txt fr.txt -l en-fr.tsv --test en-fr.test.tsv -o ablation
      isoglot joint ablate en.txt fr.txt -l en-fr.tsv --refine procrustes --baselines -o ablation
    """
    from isoglot.cli.console import note, print_json, progress_bars, say, table
    from isoglot.cli.joint_inputs import read_job
    from isoglot.cli.outputs import claim
    from isoglot.reproductions.joint_align.ablation import run_ablation, write_ablation

    claim(output)
    with progress_bars() as progress:
        job = read_job(context.params, progress)
        outcome = run_ablation(job, output, baselines=baselines, threads=threads, progress=progress, tell=note)
    write_ablation(outcome, output)
    if json:
        print_json(outcome.record())
        return
    head = ["", "all pairs", "95% interval", "in vocabulary", "different form", "95% interval", "in vocabulary"]
    head.append(f"{outcome.moved_words:,} reallocated")
    table(outcome.title, head, outcome.table_rows(), right=(1, 3, 4, 6, 7))
    for line in outcome.sentences():
        say(line)
    say(f"written: {output / 'ablation.json'}, {output / 'report.html'}")
