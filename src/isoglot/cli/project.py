"""`isoglot project`: labels of one language carried over word links to its translation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.encoder_inputs import check_encoder, refuse_for_aligned
from isoglot.cli.given import given, refuse
from isoglot.cli.options import (
    Column,
    Json,
    Layer,
    Links,
    OptionalBase,
    OptionalEncoder,
    OptionalOutput,
    Settings,
    WordMethod,
)

if TYPE_CHECKING:
    from isoglot.text import LabelledSentence
    from isoglot.wordalign import Projection


@tabular
def project(
    context: typer.Context,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="CoNLL file: a word and its label on each line.")],
    src: Annotated[
        str, typer.Argument(metavar="SRC", help="The same sentences, words separated by spaces, as FILE or LANG=FILE.")
    ],
    tgt: Annotated[str, typer.Argument(metavar="TGT", help="Their translations line by line, as FILE or LANG=FILE.")],
    output: OptionalOutput = None,
    links: Links = None,
    base: OptionalBase = None,
    encoder: OptionalEncoder = None,
    word_method: WordMethod = "itermax",
    settings: Settings = None,
    layer: Layer = "-1",
    scheme: Annotated[
        Literal["auto", "bio", "plain"],
        typer.Option("--scheme", help="Kind of labels: bio (names; also IOB1, BIOES) or plain (parts of speech)."),
    ] = "auto",
    outside: Annotated[
        str, typer.Option("--outside", help="Label of words outside of names or without a link, such as X for UD.")
    ] = "O",
    max_gap: Annotated[
        int, typer.Option("--max-gap", min=0, help="Let this many unlinked words in a row become part of a name.")
    ] = 1,
    column: Column = None,
    word_column: Annotated[
        int, typer.Option("--word-column", help="Number of the column of the words, from 0; 1 in CoNLL-U.")
    ] = 0,
    strip_prefix: Annotated[
        bool, typer.Option("--strip-prefix", help="Take off WikiANN's language before each word (en:Paris).")
    ] = False,
    min_coverage: Annotated[
        float,
        typer.Option(
            "--min-coverage",
            min=0.0,
            max=1.0,
            help="Drop sentences in which a smaller share of some name's words arrived (plain: of target words "
            "is linked). Anything above 0 drops those in which a name was lost.",
        ),
    ] = 0.0,
    json: Json = False,
) -> None:
    """Project labels of words (names, parts of speech) onto a translation, as training data for its language.

    Words are linked by a file of links (--links), by an encoder (--encoder) or by a statistical model (--word-method
    hmm). Names stay whole: they come out as BIO labels, never split or merged. Labels are in the last column unless
    --column says otherwise. The default output is TGT with .conll added.

    Settings for --set are those of --word-method, as KEY=VALUE or word.KEY=VALUE, such as null=0.4.

    Examples:

    \b
      isoglot project en.conll en.txt de.txt --links en-de.pharaoh --base 0
      isoglot project en.conll en.txt de.txt --encoder bert-base-multilingual-cased --layer 8 --min-coverage 1
      isoglot project en.conll en=a.txt de=b.txt --word-method hmm -o de.conll
      isoglot project en.conllu en.txt de.txt --word-column 1 --column 3 --outside X --links en-de.gz --base 1 --json
    """
    from isoglot.assignments import language_and_name
    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.cli.encoder_inputs import open_encoders, split_word_settings
    from isoglot.cli.outputs import claim_file
    from isoglot.errors import InputError
    from isoglot.languages import guess_language
    from isoglot.text import ParallelText, read_conll, write_conll
    from isoglot.wordalign import check_links, label_scheme, link_text, project_text, read_links, statistical_align

    _, linking = split_word_settings(settings, main=True)
    _check_choice(context, links, base, encoder, word_method, linking)
    (src_lang, src), (tgt_lang, tgt) = language_and_name(src), language_and_name(tgt)
    written = _default_output(Path(tgt)) if output is None else output
    _check_output(written, [Path(path) for path in (labels, src, tgt, links) if path is not None])
    claim_file(written)
    text = ParallelText.load(src, tgt)
    source_words, target_words = _words(text.src, src), _words(text.tgt, tgt)
    sentences = read_conll(labels, column=_number(column), word_column=word_column, strip_prefix=strip_prefix)
    _check_words(sentences, labels, source_words, src)
    chosen = label_scheme(sentences, scheme, outside=outside, where=str(labels))
    if chosen == "plain":
        refuse(context, "with plain labels (--scheme): they have no spans", "max_gap")
    if links is not None:
        found = read_links(links, base=base or 0)
        check_links(found, [len(words) for words in source_words], [len(words) for words in target_words], str(links))
    else:
        with progress_bars() as progress:
            if encoder is None:
                found = statistical_align(source_words, target_words, word_method, progress=progress, **linking)
            else:
                languages = (src_lang or guess_language(src), tgt_lang or guess_language(tgt))
                models = open_encoders(encoder, languages, progress, layer=layer)
                found = link_text(models, source_words, target_words, word_method, progress=progress, **linking)
    projected = project_text(
        sentences, target_words, found,
        scheme=chosen, outside=outside, max_gap=max_gap, min_coverage=min_coverage,
    )  # fmt: skip
    if not projected:
        raise InputError(
            f"none of {len(sentences):,} sentences has a coverage of {min_coverage:g} or more; nothing written",
            where=str(written),
            remedy="lower --min-coverage, or check that links and texts belong together",
        )
    write_conll(written, [one.sentence for one in projected])
    facts = _facts(projected, len(sentences), chosen, written)
    if json:
        print_json(facts)
        return
    _print_table(facts)
    say(f"written: {len(projected):,} of {len(sentences):,} sentences, in {written}")


def _check_choice(
    context: typer.Context,
    links: Path | None,
    base: int | None,
    encoder: str | None,
    word_method: str,
    linking: dict[str, Any],
) -> None:
    """Raise unless words are linked in one way, and all options belong to it; before anything is read or encoded."""
    from isoglot.errors import ConfigError
    from isoglot.wordalign import MODELS, check_linking

    if links is not None:
        if base is None:
            raise ConfigError(
                "does the file count words from 0 or from 1?",
                where=str(links),
                remedy="say --base 0 (as fast_align, eflomal and SimAlign do) or --base 1",
            )
        refuse(context, "with --links, which link the words", "encoder", "word_method", "settings", "layer")
        return
    refuse(context, "without --links", "base")
    check_linking(word_method, linking)
    if word_method in MODELS:
        refuse(
            context, f"with --word-method {word_method}, which counts words and takes no encoder", "encoder", "layer"
        )
    elif encoder is None:
        what = f"{word_method} compares vectors" if given(context, "word_method") else "nothing links the words"
        raise ConfigError(what, remedy="give --links FILE --base 0, --encoder NAME, or --word-method hmm")
    else:
        check_encoder(encoder)
        refuse_for_aligned(context, encoder)


def _number(column: str | None) -> int:
    """Number of the column of labels; CoNLL files have no headings."""
    from isoglot.errors import ConfigError

    try:
        return -1 if column is None else int(column)
    except ValueError:
        raise ConfigError(
            f"a CoNLL file has no headings, so --column takes a number, not {column!r}", remedy="such as 3, or -1"
        ) from None


def _default_output(tgt: Path) -> Path:
    name = tgt.name.removesuffix(tgt.suffix) if tgt.suffix in (".gz", ".xz", ".zst") else tgt.name
    return tgt.with_name(f"{name}.conll")


def _check_output(output: Path, inputs: Sequence[Path]) -> None:
    from isoglot.errors import ConfigError

    if output.is_dir():
        raise ConfigError("is a folder, not a file", where=str(output), remedy="name a file within it")
    if output.resolve() in [path.resolve() for path in inputs]:
        raise ConfigError("the output would replace an input", where=str(output), remedy="choose another --output")


def _words(sentences: Sequence[str], path: str) -> list[list[str]]:
    import re

    from isoglot.errors import FormatError

    # Blanks only, as the CoNLL reader and word aligners do: a non-breaking space may be part of a word.
    words = [re.findall(r"[^ \t]+", sentence) for sentence in sentences]
    for number, found in enumerate(words, start=1):
        if not found:
            raise FormatError(
                "the line is blank, which a CoNLL file cannot hold",
                where=f"{path}:{number}",
                remedy="remove the sentence from all files",
            )
    return words


def _check_words(
    sentences: Sequence[LabelledSentence], labels: Path, source_words: Sequence[Sequence[str]], src: str
) -> None:
    """Raise at the first line of the source text whose words are not those of the labelled sentence."""
    from isoglot.errors import FormatError

    for number, (sentence, words) in enumerate(zip(sentences, source_words, strict=False), start=1):
        if list(sentence.words) == list(words):
            continue
        at = next((k for k, (a, b) in enumerate(zip(sentence.words, words, strict=False)) if a != b), None)
        if at is None:
            what = f"{len(words)} words, but the sentence at {labels}:{sentence.line} has {len(sentence)}"
        else:
            labelled = sentence.words[at][:40]
            what = f"word {at + 1} is {words[at][:40]!r}, but {labelled!r} in the sentence at {labels}:{sentence.line}"
        raise FormatError(what, where=f"{src}:{number}", remedy="both files must have the same words, line by line")
    if len(sentences) != len(source_words):
        raise FormatError(
            f"{len(source_words):,} lines, but {labels} has {len(sentences):,} sentences",
            where=str(src),
            remedy="both files must have the same sentences",
        )


def _facts(projected: Sequence[Projection], sentences: int, scheme: str, output: Path) -> dict[str, Any]:
    """What a `--json` run tells; spans and labels are those of the written sentences."""
    from collections import Counter

    spans = Counter(span.label for one in projected for span in one.spans)
    arrived = Counter(span.label for one in projected for span in one.spans if span.target is not None)
    labels = Counter(label for one in projected for label in one.sentence.labels)
    return {
        "scheme": scheme,
        "sentences": sentences,
        "kept": len(projected),
        "dropped": sentences - len(projected),
        "confidence": sum(one.confidence for one in projected) / len(projected),
        "spans": {kind: {"source": spans[kind], "projected": arrived[kind]} for kind in sorted(spans)},
        "labels": dict(sorted(labels.items())),
        "lines": [
            {"line": one.number + 1, "confidence": one.confidence, "coverage": one.coverage} for one in projected
        ],
        "written": str(output),
    }


def _print_table(facts: dict[str, Any]) -> None:
    from isoglot.cli.console import table

    if facts["scheme"] == "bio":
        rows = [
            [kind or "(no kind)", f"{count['source']:,}", f"{count['projected']:,}"]
            for kind, count in facts["spans"].items()
        ]
        head = ["label", "spans", "projected"]
    else:
        rows = [[label, f"{count:,}"] for label, count in facts["labels"].items()]
        head = ["label", "target words"]
    table(f"Labels (mean confidence {facts['confidence']:.2f})", head, rows, right=range(1, len(head)))
