"""`isoglot transfer nli|ner|pos|qa`: which encoder carries a task from one language to others?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import DryRun, Encoders, Json, Output, Quick, Runs, Seed, Settings, TaskTests

if TYPE_CHECKING:
    from isoglot.transfer import Gathered, HeadSettings, TransferTable

Train = Annotated[
    list[str],
    typer.Option(
        "--train",
        metavar="LANG=FILE",
        help="Examples to train on, as LANG=FILE, or FILE if its name shows the language; several are taken together.",
    ),
]
Dev = Annotated[
    Path | None,
    typer.Option("--dev", metavar="FILE", help="Examples to choose the epoch on; default: the last tenth of --train."),
]

_ALL = """

    Every encoder gets a head of its own, which learns from --train alone, and is tested on every language as it is. The
    table has a row for each language, the means with and without the language of training, and the gap to it; * marks
    what differs from the first encoder (p < .05, by a paired test on the same examples). Vectors, trained heads (see
    `isoglot transfer predict`) and finished runs are kept in the output folder: a killed comparison resumes. Beside
    them are transfer.json and report.html, with confusions and the worst errors. -e NAME=ENCODER gives an encoder its
    name in the table; -e NAME=en:A,de:B has one for each language (*:C for all others): the head learns on that of
    --train, and is tested on those of the other languages. --test LANG= lists a language as not tested.

    Settings for --set: weights=frozen (only the head learns; or lora, all), {settings}batch=32, epochs=20, patience=3
    (stop after so many epochs without gain on --dev), hidden=256 (of the head), dropout=0.2, learning_rate=none (by
    what is trained: 1e-3, 5e-4, 3e-5), rank=8 (lora), limit=0 (train on so many examples, drawn at random), layer= and
    pooling= (of the encoder), max_length=256 (tokens).

    Examples:

    \b
      isoglot transfer {task} -e encoder/minilm -e my-model --train en={file} --test {tests} -o {task}
      isoglot transfer {task} -e raw=my-model -e tuned=wordot --train en={file} --test {tests} --runs 3 -o {task}
      isoglot transfer {task} -e encoder/minilm --train en={file} --test {tests} --quick --dry-run -o {task}
    """


def _command(task: str, what: str, settings: str, ending: str) -> Callable[..., None]:
    def command(
        context: typer.Context,
        encoder: Encoders,
        training: Train,
        test: TaskTests,
        dev: Dev = None,
        output: Output = Path("transfer"),
        runs: Runs = 1,
        seed: Seed = 0,
        settings: Settings = None,
        quick: Quick = False,
        dry_run: DryRun = False,
        json: Json = False,
    ) -> None:
        from isoglot.assignments import language_file
        from isoglot.cli.outputs import claim
        from isoglot.cli.setting_inputs import read_fields
        from isoglot.errors import ConfigError
        from isoglot.transfer import QUICK, QUICK_SETTINGS, HeadSettings, gather_examples

        own = read_fields(context, HeadSettings, settings or [], "a head", renamed={"train": "weights"})
        # A trained encoder brings its own reader, and needs its own rate.
        light = QUICK_SETTINGS.get(task, {}) if quick and own.get("weights", "frozen") == "frozen" else {}
        how = HeadSettings(**{**light, **own})
        encoders = _named(encoder)
        files = [language_file(one) for one in training]
        languages = sorted({lang for lang, _ in files})
        if len(languages) > 1:
            raise ConfigError(f"--train has several languages: {', '.join(languages)}", remedy="train on one")
        tests = _tests(test)
        if not dry_run:
            claim(output)
        examples = gather_examples(task, [path for _, path in files], dev, tests, few=QUICK if quick else None)
        if dry_run:
            _estimate(task, encoders, examples, languages[0], how, runs, json=json)
        else:
            _compare(task, encoders, examples, languages[0], how, runs, seed, output, json=json)

    tests = f"de=de.{ending} tr=tr.{ending}"
    command.__doc__ = what + _ALL.format(task=task, settings=settings, file=f"train.{ending}", tests=tests)
    return tabular(command)


nli = _command(
    "nli",
    """Natural language inference: does one sentence follow from another, in every language?

    Files are XNLI, SICK, SNLI or MultiNLI: premise, hypothesis and label with tabs between, or a heading that names the
    columns. The figure is accuracy.""",
    "",
    "tsv",
)
ner = _command(
    "ner",
    """Names in text: train on one language, find them in others.

    Files are CoNLL, PAN-X or WikiANN: one word per line with a label in BIO or BIOES. The figure is F1 of whole
    names.""",
    "tagger=auto (bilstm-crf; or words), ",
    "tsv",
)
pos = _command(
    "pos",
    """Parts of speech: train on one language, tag others.

    Files are CoNLL-U, or one word per line with its universal part of speech. The figure is accuracy over words.""",
    "tagger=auto (words; or bilstm-crf), ",
    "conllu",
)
qa = _command(
    "qa",
    """Questions on a text: train on one language, answer in others.

    Files are JSON of SQuAD, XQuAD, MLQA or TyDiQA-GoldP. The figure is F1 of words; articles and punctuation of the
    language do not count.""",
    "window=200, overlap=50 and longest_answer=20 (words, or tokens of a trained encoder; --quick has hidden=64, "
    "epochs=8 and learning_rate=3e-3), ",
    "json",
)


def _named(encoders: Sequence[str]) -> dict[str, str | dict[str, str]]:
    """Encoders by their name in the table: what stands before `=`, or else the end of their path."""
    from isoglot.assignments import language_and_name, places_by_language
    from isoglot.errors import ConfigError, locating

    given = [language_and_name(text) for text in encoders]
    ends = [Path(place).name for _, place in given]
    named: dict[str, str | dict[str, str]] = {}
    for (name, place), end in zip(given, ends, strict=True):
        with locating(name or "--encoder"):
            own = places_by_language(place)
        if own and not name:
            remedy = f"give them one: -e NAME={place}"
            raise ConfigError("encoders of several languages have no name", where="--encoder", remedy=remedy)
        label = name or (end if ends.count(end) == 1 else place)
        if label in named:
            remedy = "give each a name of its own: -e NAME=ENCODER"
            raise ConfigError(f"two encoders are called {label}", where="--encoder", remedy=remedy)
        named[label] = own or place
    return named


def _tests(texts: Sequence[str]) -> dict[str, Path | None]:
    from isoglot.assignments import language_file
    from isoglot.errors import ConfigError

    tests: dict[str, Path | None] = {}
    for text in texts:
        lang, path = (text[:-1], None) if text.endswith("=") and len(text) > 1 else language_file(text)
        if lang in tests:
            raise ConfigError(f"{lang} is given twice", where="--test", remedy="give one file for each language")
        tests[lang] = path
    return tests


def _estimate(
    task: str,
    encoders: dict[str, str | dict[str, str]],
    examples: Gathered,
    source: str,
    how: HeadSettings,
    runs: int,
    *,
    json: bool,
) -> None:
    import dataclasses

    from isoglot.cli.console import print_json, print_line, progress_bars
    from isoglot.transfer import TransferData, estimate_transfer

    data = TransferData.read(task, examples.train, examples.dev, examples.tests, source=source, limit=how.limit)
    with progress_bars() as progress:
        costs = estimate_transfer(encoders, data, how, runs=runs, progress=progress)
    if json:
        print_json([dataclasses.asdict(cost) for cost in costs])
        return
    for cost in costs:
        print_line(cost.sentence())


def _compare(
    task: str,
    encoders: dict[str, str | dict[str, str]],
    examples: Gathered,
    source: str,
    how: HeadSettings,
    runs: int,
    seed: int,
    output: Path,
    *,
    json: bool,
) -> None:
    from isoglot.cli.console import finish, print_line, progress_bars, table, warn
    from isoglot.report import write_transfer_page
    from isoglot.transfer import run_transfer

    with progress_bars() as progress:
        outcome: TransferTable = run_transfer(
            task,
            encoders,
            examples.train,
            examples.dev,
            examples.tests,
            source=source,
            runs=runs,
            seed=seed,
            settings=how,
            output=output,
            progress=progress,
        )
    for lang, why in outcome.not_tested.items():
        warn(f"{lang} is not tested: {why}")
    record = outcome.record()
    write_transfer_page(output / "report.html", f"Transfer from {source}: {outcome.title.split(',')[0]}", record)
    head, rows, right = outcome.table()
    finish(output, "transfer", record, json=json, title=outcome.title, head=head, rows=rows, right=right)
    if json:
        return
    if len(outcome.encoders) > 1:
        head, rows, right = outcome.tests_table()
        table("differences in points, paired tests", head, rows, right=right)
    print_line(outcome.verdict())
