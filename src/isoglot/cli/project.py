"""`isoglot project`: labels of one language carried over word links to its translation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.encoder_options import SrcLang, TgtLang, refuse_for_aligned
from isoglot.cli.given import refuse
from isoglot.cli.options import Json
from isoglot.extras import require

if TYPE_CHECKING:
    from isoglot.text import LabelledSentence
    from isoglot.wordalign import Projection


def project(
    context: typer.Context,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="CoNLL file: a word and its label a line.")],
    src: Annotated[Path, typer.Argument(metavar="SRC", help="The same sentences, one per line, separated by spaces.")],
    tgt: Annotated[Path, typer.Argument(metavar="TGT", help="Their translations, line by line.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CoNLL file to write; default: TGT with .conll added.")
    ] = None,
    links: Annotated[
        Path | None, typer.Option("--links", help="Word links, one line a sentence pair, such as 0-0 1-2.")
    ] = None,
    base: Annotated[
        int | None, typer.Option("--base", min=0, max=1, help="Number of a first word in --links: 0 or 1.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option("--encoder", help="Link words by their vectors from this encoder, a name or folder.")
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="How words are linked with --encoder. Default: itermax.")
    ] = None,
    layer: Annotated[str | None, typer.Option("--layer", help="Of the encoder. Default: the last.")] = None,
    src_lang: SrcLang = None,
    tgt_lang: TgtLang = None,
    scheme: Annotated[
        str, typer.Option("--scheme", help="bio (names: also IOB1, BIOES), plain (parts of speech), or auto.")
    ] = "auto",
    outside: Annotated[
        str, typer.Option("--outside", help="Label of words outside of names or without a link, e.g. X for UD.")
    ] = "O",
    max_gap: Annotated[
        int, typer.Option("--max-gap", min=0, help="So many unlinked words in a row may become part of a name.")
    ] = 1,
    column: Annotated[
        int, typer.Option("--column", help="Of the labels, counted from 0; negative: from the end.")
    ] = -1,
    word_column: Annotated[int, typer.Option("--word-column", help="Of the words; 1 in CoNLL-U.")] = 0,
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
    """Carry labels of words (names, parts of speech) over to a translation, as training data for its language.

    Words are linked by a file of links (--links) or by an encoder (--encoder). Names stay whole: they come out as BIO
    labels, never parted or merged.

    Examples:

    \b
      isoglot project en.conll en.txt de.txt --links en-de.pharaoh --base 0
      isoglot project en.conll en.txt de.txt --encoder bert-base-multilingual-cased --layer 8 --min-coverage 1
      isoglot project en.conllu en.txt de.txt --word-column 1 --column 3 --outside X --links en-de.gz --base 1 --json
    """
    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.cli.encoder_options import open_encoders
    from isoglot.cli.outputs import claim_file
    from isoglot.encoders import is_aligned_folder
    from isoglot.errors import InputError
    from isoglot.languages import guess_language
    from isoglot.text import ParallelText, read_conll, write_conll
    from isoglot.wordalign import check_links, label_scheme, link_text, project_text, read_links

    _check_choice(links, base, encoder, method, layer)
    if encoder is not None:
        require("encoders", "an encoder")
    if encoder is None:
        refuse(context, "with --links", "src_lang", "tgt_lang")
    elif is_aligned_folder(Path(encoder)):
        refuse_for_aligned(context, encoder)
    else:
        refuse(context, f"with {encoder}, which is one encoder for all languages", "src_lang", "tgt_lang")
    written = _default_output(tgt) if output is None else output
    _check_output(written, [path for path in (labels, src, tgt, links) if path is not None])
    claim_file(written)
    text = ParallelText.load(src, tgt)
    source_words, target_words = _words(text.src, src), _words(text.tgt, tgt)
    sentences = read_conll(labels, column=column, word_column=word_column, strip_prefix=strip_prefix)
    _check_words(sentences, labels, source_words, src)
    chosen = label_scheme(sentences, scheme, outside=outside, where=str(labels))
    if chosen == "plain":
        refuse(context, "with plain labels (--scheme): they have no spans", "max_gap")
    if links is not None:
        found = read_links(links, base=base or 0)
        check_links(found, [len(words) for words in source_words], [len(words) for words in target_words], str(links))
    else:
        with progress_bars() as progress:
            languages = (src_lang or guess_language(str(src)), tgt_lang or guess_language(str(tgt)))
            models = open_encoders(encoder or "", languages, progress, layer=layer)
            found = link_text(models, source_words, target_words, method or "itermax", progress=progress)
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
    links: Path | None, base: int | None, encoder: str | None, method: str | None, layer: str | None
) -> None:
    """Raise unless words are linked in one way, and all options belong to it."""
    from isoglot.errors import ConfigError
    from isoglot.wordalign import word_align

    if (links is None) == (encoder is None):
        what = "nothing links the words" if links is None else "words can be linked by --links or --encoder, not both"
        raise ConfigError(what, remedy="give --links FILE --base 0, or --encoder NAME")
    if links is not None:
        if base is None:
            raise ConfigError(
                "does the file count words from 0 or from 1?",
                where=str(links),
                remedy="say --base 0 (as fast_align, eflomal and SimAlign do) or --base 1",
            )
        if method is not None or layer is not None:
            raise ConfigError("--method and --layer go with --encoder, not with --links")
        return
    if base is not None:
        raise ConfigError("--base goes with --links, not with --encoder")
    if method is not None:
        # An unknown method is told before the encoder is loaded, not after hours of encoding.
        word_align([[1.0]], method)


def _default_output(tgt: Path) -> Path:
    name = tgt.name.removesuffix(tgt.suffix) if tgt.suffix in (".gz", ".xz", ".zst") else tgt.name
    return tgt.with_name(f"{name}.conll")


def _check_output(output: Path, inputs: Sequence[Path]) -> None:
    from isoglot.errors import ConfigError

    if output.is_dir():
        raise ConfigError("is a folder, not a file", where=str(output), remedy="name a file within it")
    if output.resolve() in [path.resolve() for path in inputs]:
        raise ConfigError("the output would replace an input", where=str(output), remedy="choose another --output")


def _words(sentences: Sequence[str], path: Path) -> list[list[str]]:
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
    sentences: Sequence[LabelledSentence], labels: Path, source_words: Sequence[Sequence[str]], src: Path
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
