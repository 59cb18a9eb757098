"""`isoglot wordalign`: which words of translated sentences translate each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.encoder_inputs import check_encoder, refuse_for_aligned
from isoglot.cli.given import refuse
from isoglot.cli.options import (
    Base,
    Cache,
    Device,
    Dtype,
    Echo,
    Json,
    Layer,
    OptionalEncoder,
    OptionalOutput,
    Parallel,
    Pooling,
    Prompt,
    Segmenters,
    Settings,
    WordMethod,
)

if TYPE_CHECKING:
    from isoglot.encoders import Encoder
    from isoglot.pipelines import TokenisedPairs
    from isoglot.wordalign import WordLinks


def wordalign(
    context: typer.Context,
    texts: Parallel,
    output: OptionalOutput = None,
    encoder: OptionalEncoder = None,
    word_method: WordMethod = "itermax",
    settings: Settings = None,
    base: Base = 0,
    scores: Annotated[bool, typer.Option("--scores", help="Write the score of every link.")] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="Draw the heat map of one sentence pair: FILE.svg, or FILE.html for a page.",
        ),
    ] = None,
    line: Annotated[
        int | None,
        typer.Option("--line", help="Line to draw, counted from 1; default: the first with words on both sides."),
    ] = None,
    layer: Layer = "-1",
    pooling: Pooling = "mean",
    segmenter: Segmenters = None,
    prompt: Prompt = None,
    echo: Echo = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    cache: Cache = None,
    json: Json = False,
) -> None:
    """Align the words of two line-parallel files; writes one line of links (i-j) for each line.

    The links go to --output, or else to standard output. Text is taken as tokenised (separated by spaces) unless
    --segmenter says otherwise. A line that is blank on one side gets no links.

    --word-method combined is the best with a multilingual encoder and a hundred lines or more: similarities go as
    evidence into a statistical model that learns from these very lines, with spelling and, by --set lexicon=FILE, a
    dictionary (a file or a catalogue name). Then a map of the vectors is learned from its links, and they are found
    again: for languages that the encoder barely knows; --set adapt=0 for none.

    Settings for --set are those of --word-method, as KEY=VALUE or word.KEY=VALUE. Similarity methods except ot take
    null=0.4, below which a word stays unlinked.

    A picture shows what the method looks at, cosines or a transport plan, and frames the links; of a statistical model,
    only the links. With an encoder trained by WordOT, --word-method ot shows what it has learned to carry where; give
    the --pooling of the training, which is last by default.

    Examples:

    \b
      isoglot wordalign en.tok de.tok -e encoder/use-multilingual -o en-de.pharaoh
      isoglot wordalign en=a.tok de=b.tok -e my-aligned-encoder --word-method match --set null=0.5 --base 1
      isoglot wordalign en.tok fr.tok -e encoder/use-multilingual --word-method combined --set lexicon=lexicon/en-fr
      isoglot wordalign en.tok de.tok --word-method hmm -o en-de.pharaoh
      isoglot wordalign en.tok de.tok -e my-trained-encoder --word-method ot --pooling last -o en-de.pharaoh
      isoglot wordalign en.tok de.tok -e my-encoder --word-method ot --pooling last --picture pair.svg --line 7
    """
    from isoglot.cli.console import note, print_json, print_line, progress_bars, say
    from isoglot.cli.encoder_inputs import encoder_settings, open_encoders, open_parallel, split_word_settings
    from isoglot.cli.inputs import join_segmenters
    from isoglot.cli.outputs import claim_file
    from isoglot.errors import ConfigError
    from isoglot.pipelines import tokenise
    from isoglot.wordalign import (
        COMBINED,
        METHODS,
        MODELS,
        WordLinks,
        check_linking,
        link_lines,
        link_text,
        statistical_align,
        write_links,
    )

    _, linking = split_word_settings(settings, main=True)
    check_linking(word_method, linking)
    if (word_method in METHODS or word_method == COMBINED) and encoder is None:
        remedy = "or take a statistical one: --word-method hmm"
        raise ConfigError(f"{word_method} compares vectors: it needs --encoder", remedy=remedy)
    if word_method in MODELS:
        of_encoders = ("encoder", "layer", "pooling", "prompt", "echo", "device", "dtype", "cache")
        refuse(context, f"with --word-method {word_method}, which counts words and takes no encoder", *of_encoders)
    elif encoder is not None:
        check_encoder(encoder)
        refuse_for_aligned(context, encoder)
    if output is not None:
        claim_file(output)
    _check_picture(picture, line, output)
    with progress_bars() as progress:
        text = open_parallel(texts, progress)
        tokenised = tokenise(text, join_segmenters(segmenter, "spaces", [text.src_lang, text.tgt_lang]))
        drawn = None if picture is None else _pair_of_line(tokenised, line, len(text))
        models: tuple[Encoder, Encoder] | None = None
        if word_method in MODELS:
            found = statistical_align(tokenised.src, tokenised.tgt, word_method, progress=progress, **linking)
        else:
            assert encoder is not None
            languages = (text.src_lang, text.tgt_lang)
            models = open_encoders(encoder, languages, progress, **encoder_settings(context))
            found = link_text(models, tokenised.src, tokenised.tgt, word_method, progress=progress, **linking)
        if picture is not None and drawn is not None:
            _draw(picture, tokenised, drawn, found[drawn], models, encoder, word_method, linking)
    # Every line of the input gets a line, so that the output stays parallel to it.
    links = [WordLinks()] * len(text)
    for number, link in enumerate(found):
        links[tokenised.line(number)] = link
    if output is not None:
        write_links(output, links, base=base, scores=scores)
    facts = {
        "sentences": len(text),
        "left_out": len(text) - len(tokenised),
        "links": sum(len(link.all) for link in links),
        "method": word_method,
        "base": base,
        "output": None if output is None else str(output),
        "picture": None if picture is None else str(picture),
        "picture_line": None if drawn is None else tokenised.line(drawn) + 1,
    }
    if facts["left_out"]:
        note(f"{facts['left_out']:,} lines are blank on one side and have no links")
    if picture is not None:
        say(f"a picture of line {facts['picture_line']}: {picture}")
    if json:
        lines = None if output is not None else link_lines(links, base=base, scores=scores)
        print_json({**facts, "lines": lines})
        return
    if output is None:
        for row in link_lines(links, base=base, scores=scores):
            print_line(row)
        return
    say(f"{facts['links']:,} links in {facts['sentences']:,} sentences, words counted from {base}: {output}")


def _check_picture(picture: Path | None, line: int | None, output: Path | None) -> None:
    from isoglot.errors import ConfigError
    from isoglot.report import check_picture

    if picture is None:
        if line is not None:
            raise ConfigError("--line tells which line to draw: it needs --picture", remedy="e.g. --picture pair.svg")
        return
    check_picture(picture)
    if output is not None and picture.resolve() == output.resolve():
        raise ConfigError("--picture and --output are the same file", where=str(picture), remedy="choose two names")


def _pair_of_line(text: TokenisedPairs, line: int | None, lines: int) -> int:
    """Number, among the pairs that have words on both sides, of the line to draw; told before anything is encoded."""
    from isoglot.errors import ConfigError
    from isoglot.report import LARGEST

    if line is not None and not 1 <= line <= lines:
        raise ConfigError(f"--line {line}: the text has lines 1 to {lines:,}")
    numbers = {text.line(number): number for number in range(len(text))}
    place = min(numbers) if line is None else line - 1
    if place not in numbers:
        raise ConfigError(f"--line {line} is blank on one side: there is nothing to draw", remedy="choose another line")
    longest = max(len(text.src[numbers[place]]), len(text.tgt[numbers[place]]))
    if longest > LARGEST:
        raise ConfigError(
            f"line {place + 1} has {longest:,} words, and a picture shows {LARGEST} at most",
            remedy="choose a shorter one by --line",
        )
    return numbers[place]


def _draw(
    picture: Path,
    text: TokenisedPairs,
    number: int,
    links: WordLinks,
    models: tuple[Encoder, Encoder] | None,
    encoder: str | None,
    method: str,
    settings: dict[str, Any],
) -> None:
    """The heat map of one pair, with what the method looked at if it is one that compares vectors."""
    from isoglot.report import alignment_picture, write_picture
    from isoglot.wordalign import METHODS, pair_scores

    src, tgt = text.src[number], text.tgt[number]
    title = f"line {text.line(number) + 1}: {method}"
    if (text.src_lang, text.tgt_lang) != ("src", "tgt"):  # names of languages that nobody told
        title = f"{text.src_lang}-{text.tgt_lang}, {title}"
    if models is None or encoder is None:
        write_picture(picture, alignment_picture(src, tgt, None, links, title), title)
        return
    title += f", {Path(encoder).name or encoder}"
    scores = pair_scores(models, src, tgt, method, **settings)
    planned = method in METHODS and METHODS[method].plan is not None
    scale = "share of the lighter word carried" if planned else "cosine"
    drawing = alignment_picture(src, tgt, scores, links, title, scale=scale, limits=(0, 1) if planned else None)
    write_picture(picture, drawing, title)
