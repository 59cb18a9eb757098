"""`isoglot text`: raw text to clean sentences of words, and how much the languages share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.options import Json

if TYPE_CHECKING:
    from isoglot.text import Overlap, TextReport


def prepare_texts(
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="Files as en=FILE, or with the language in their name.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for en.txt, fr.txt, ...; without it, only look.")
    ] = None,
    segmenter: Annotated[
        list[str] | None,
        typer.Option(
            "--segmenter",
            help="icu (all languages), spaces (already tokenised), jieba (zh), fugashi (ja), pythainlp (th). "
            "For one language: zh=jieba; may be repeated. Default: icu.",
        ),
    ] = None,
    lower: Annotated[bool, typer.Option("--lower/--no-lower", help="Lower-case, as the language does it.")] = True,
    form: Annotated[str, typer.Option("--form", help="Unicode normal form: NFC or NFKC.")] = "NFC",
    min_tokens: Annotated[int, typer.Option("--min-tokens", min=1, help="Drop shorter sentences.")] = 2,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Drop longer sentences.")] = 1000,
    dedupe: Annotated[bool, typer.Option("--dedupe/--no-dedupe", help="Drop repeated sentences.")] = True,
    split: Annotated[bool, typer.Option("--split", help="Split paragraphs into sentences first.")] = False,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Of text that is neither UTF-8 nor marked UTF-16, e.g. latin-1.")
    ] = None,
    json: Json = False,
) -> None:
    """Clean text for training, one sentence per line; tell what was dropped and what languages share.

    Files may be plain or compressed (gz, xz, bz2, zst) and larger than memory. Dropped are blank, repeated, too short
    and too long sentences, those with words of more than 60 letters (web addresses, code) and those of which less than
    half are letters.

    Examples:

    \b
      isoglot text en=raw.en.txt.gz fr=raw.fr.txt
      isoglot text news.en.txt news.zh.txt.xz --segmenter zh=jieba -o prepared
      isoglot text de=artikel.txt --split --no-lower --encoding latin-1 -o prepared --json
    """
    import dataclasses
    import itertools

    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.cli.outputs import claim
    from isoglot.text import TextSettings, overlap, prepare, same_language, segmenter as load_segmenter

    files = _files(texts)
    chosen = _segmenters(segmenter or [], list(files))
    settings = TextSettings(
        form=form,  # type: ignore[arg-type]  # TextSettings refuses other forms itself
        lower=lower,
        split=split,
        min_tokens=min_tokens,
        max_tokens=max_tokens,
        dedupe=dedupe,
    )
    for lang, name in chosen.items():
        load_segmenter(name, lang)  # a missing package is told before hours of work, not in between
    targets = {lang: None if output is None else output / f"{lang}.txt" for lang in files}
    if output is not None:
        claim(output)
    reports = []
    with progress_bars() as progress:
        for lang, path in files.items():
            own = dataclasses.replace(settings, segmenter=chosen[lang])
            reports.append(prepare(path, targets[lang], lang=lang, settings=own, encoding=encoding, progress=progress))
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
        say(f"warning: {a} ({files[a].name}) and {b} ({files[b].name}) look like the same language")
    say(f"written: {', '.join(written)}" if written else "--output missing: nothing written")


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


def _segmenters(given: Sequence[str], langs: Sequence[str]) -> dict[str, str]:
    """The segmenter of each language: `zh=jieba` for one, `icu` for all others."""
    from isoglot.errors import ConfigError

    default: str | None = None
    own: dict[str, str] = {}
    for text in given:
        lang, equals, name = text.partition("=")
        if default is not None if not equals else lang in own:
            raise ConfigError("two segmenters for the same texts", where=f"--segmenter {text}", remedy="give one")
        if not equals:
            default = text
        elif lang in langs:
            own[lang] = name
        else:
            raise ConfigError(f"there is no text of {lang!r}", where=f"--segmenter {text}")
    if default is not None and len(own) == len(langs):
        raise ConfigError("has no effect: every text has a segmenter of its own", where=f"--segmenter {default}")
    return {lang: own.get(lang, default or "icu") for lang in langs}


def _print_tables(reports: Sequence[TextReport], shared: Sequence[Overlap]) -> None:
    from isoglot.cli.console import table

    reasons = [reason for reason in reports[0].dropped if any(report.dropped[reason] for report in reports)]
    rows = [
        [
            report.lang,
            f"{report.lines:,}",
            f"{report.sentences:,}",
            f"{report.kept:,}",
            *(f"{report.dropped[reason]:,}" for reason in reasons),
            f"{report.tokens:,}",
            ("over " if report.pruned else "") + f"{report.types:,}",
            " ".join(word for word, _ in report.most_frequent(8)),
        ]
        for report in reports
    ]
    head = ["", "lines", "sentences", "kept", *reasons, "words", "types", "most frequent"]
    table("Texts", head, rows, right=range(1, len(head) - 1))
    if shared:
        rows = [
            [
                f"{one.src} - {one.tgt}",
                f"{one.shared:,}",
                f"{one.types:.1%}",
                f"{one.src_tokens:.1%} of {one.src}",
                f"{one.tgt_tokens:.1%} of {one.tgt}",
            ]
            for one in shared
        ]
        head = ["", "shared types", "of all types", "running words", "running words"]
        table("Words spelled alike", head, rows, right=(1, 2, 3, 4))
