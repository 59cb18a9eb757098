"""`isoglot text`: raw text to clean sentences of words, and how much the languages share."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import Encoding, Json, Lower, MinTokens, OptionalOutput, Segmenters, Settings, Texts

if TYPE_CHECKING:
    from isoglot.text import Overlap, TextReport


@tabular
def prepare_texts(
    context: typer.Context,
    texts: Texts,
    output: OptionalOutput = None,
    segmenter: Segmenters = None,
    lower: Lower = True,
    min_tokens: MinTokens = 2,
    split: Annotated[bool, typer.Option("--split", help="Split paragraphs into sentences first.")] = False,
    settings: Settings = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """Clean text for training, one sentence per line; show what was dropped and what languages share.

    Files may be plain or compressed (gz, xz, bz2, zst) and larger than memory. The output is a folder with en.txt,
    fr.txt and so on; without --output nothing is written. Dropped are blank, repeated, too short and too long
    sentences, those with words of more than 60 letters (web addresses, code) and those of which less than half are
    letters. Words are split by icu unless --segmenter names another.

    Settings for --set: form=NFC (Unicode normal form, or NFKC), max_tokens=1000 (words of a sentence, at most),
    max_length=60 (letters of a word, at most), letters=0.5 (share of letters, at least), dedupe=yes (drop repeated
    sentences).

    Examples:

    \b
      isoglot text en=raw.en.txt.gz fr=raw.fr.txt
      isoglot text news.en.txt news.zh.txt.xz --segmenter zh=jieba -o prepared
      isoglot text de=artikel.txt --split --no-lower --encoding latin-1 --set form=NFKC -o prepared --json
    """
    import dataclasses
    import itertools

    from isoglot.cli.console import print_json, progress_bars, say, warn
    from isoglot.cli.inputs import join_segmenters
    from isoglot.cli.outputs import claim
    from isoglot.cli.setting_inputs import read_fields
    from isoglot.text import TextSettings, overlap, prepare, same_language, segmenter_name

    files = _files(texts)
    own = read_fields(context, TextSettings, settings or [], "text")
    names = join_segmenters(segmenter, "icu", list(files))
    chosen = {lang: segmenter_name(names, lang) for lang in files}
    cleaning = TextSettings(lower=lower, split=split, min_tokens=min_tokens, **own)
    targets = {lang: None if output is None else output / f"{lang}.txt" for lang in files}
    if output is not None:
        claim(output)
    reports = []
    with progress_bars() as progress:
        for lang, path in files.items():
            how = dataclasses.replace(cleaning, segmenter=chosen[lang])
            reports.append(prepare(path, targets[lang], lang=lang, settings=how, encoding=encoding, progress=progress))
    counts = {report.lang: report.counts for report in reports}
    shared = overlap(counts)
    alike = [(a, b) for a, b in itertools.combinations(counts, 2) if same_language(counts[a], counts[b])]
    written = [str(target) for target in targets.values() if target is not None]
    if json:
        print_json(
            {
                "texts": [{**report.record(), "segmenter": chosen[report.lang]} for report in reports],
                "overlap": [dataclasses.asdict(one) for one in shared],
                "same_language": [list(two) for two in alike],
                "written": written,
            }
        )
    else:
        _print_tables(reports, shared)
    for a, b in alike:
        warn(f"{a} ({files[a].name}) and {b} ({files[b].name}) look like the same language")
    say(f"written: {', '.join(written)}{_next(written)}" if written else "nothing written: name a folder by --output")


def _next(written: Sequence[str]) -> str:
    """What to do with the clean texts."""
    if len(written) > 1:
        return f"; next: isoglot joint train {shlex.join(written)} -o OUT"
    return f"; next: isoglot vectors train {shlex.join(written)} -o OUT.vec"


def _files(texts: Sequence[str]) -> dict[str, Path]:
    """Language and file of each argument; mistakes that can be seen now are told now."""
    import re

    from isoglot.assignments import language_file
    from isoglot.errors import ConfigError

    files: dict[str, Path] = {}
    for text in texts:
        lang, path = language_file(text)
        # The code becomes a file name.
        if not re.fullmatch(r"[^\W_]+([-_@][^\W_]+)*", lang):
            raise ConfigError(f"{lang!r} is no language code", where=text, remedy=f"name it like en={path}")
        if lang in files:
            raise ConfigError(
                f"two texts of {lang!r}", where=text, remedy="join the files, or name their languages: en=FILE fr=FILE"
            )
        files[lang] = path
    return files


def _print_tables(reports: Sequence[TextReport], shared: Sequence[Overlap]) -> None:
    from isoglot.cli.console import table

    rows = [
        [
            report.lang,
            f"{report.lines:,}",
            f"{report.sentences:,}",
            f"{report.kept:,}",
            f"{report.tokens:,}",
            ("over " if report.pruned else "") + f"{report.types:,}",
        ]
        for report in reports
    ]
    table("Texts", ["", "lines", "sentences", "kept", "words", "types"], rows, right=range(1, 6))
    reasons = [reason for reason in reports[0].dropped if any(report.dropped[reason] for report in reports)]
    if reasons:
        langs = [report.lang for report in reports]
        rows = [[reason, *(f"{report.dropped[reason]:,}" for report in reports)] for reason in reasons]
        table("Sentences dropped", ["why", *langs], rows, right=range(1, len(langs) + 1))
    rows = [[report.lang, " ".join(word for word, _ in report.most_frequent(8))] for report in reports]
    table("Most frequent words", ["", "words"], rows)
    if shared:
        rows = [
            [
                f"{one.src} - {one.tgt}",
                f"{one.shared:,}",
                f"{one.types:.1%}",
                f"{one.src_tokens:.1%}",
                f"{one.tgt_tokens:.1%}",
            ]
            for one in shared
        ]
        head = ["", "types", "of all types", "of first's words", "of second's words"]
        table("Words spelled alike", head, rows, right=(1, 2, 3, 4))
