"""`isoglot info`, `convert` and `export`: looking into files and writing other formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from isoglot.cli.options import AlignedFolder, Format, Json, Lower, Normalise, OptionalLimit, Output
from isoglot.extras import require


def info(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Vectors, a lexicon, an aligned folder, or a catalogue name.")
    ],
    json: Json = False,
) -> None:
    """Tell what a file holds, and what had to be repaired to read it.

    Examples:

    \b
      isoglot info wiki.fr.vec
      isoglot info en-fr
      isoglot info lexicon/en-fr --json
    """
    from isoglot.card_content import results_table
    from isoglot.cli.console import print_json, progress_bars, table

    with progress_bars() as progress:
        facts = _facts(file, progress)
    if json:
        print_json(facts)
        return
    figures = results_table(facts.pop("results", None), "")
    table(None, ["what", "value"], list(_rows(facts)))
    if figures is not None:
        table("Measured when it was made", figures.head, [list(map(str, row)) for row in figures.rows])


def convert(
    source: Annotated[str, typer.Argument(metavar="FILE", help="Vectors in any format that Isoglot reads.")],
    output: Output,
    format: Format = None,
    limit: OptionalLimit = None,
    lower: Lower = False,
    normalise: Normalise = None,
    json: Json = False,
) -> None:
    """Convert vectors between formats, optionally shortened, lower-cased or normalised.

    Examples:

    \b
      isoglot convert cc.fr.300.bin -o fr.safetensors --limit 200000
      isoglot convert fr.safetensors -o fr.vec.gz
      isoglot convert glove.6B.300d.txt -o en.kv
    """
    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.cli.inputs import open_space
    from isoglot.cli.outputs import claim_file
    from isoglot.errors import ConfigError
    from isoglot.spaces import Normaliser, output_format, parse_steps

    if format == "static-model":
        raise ConfigError("a static model is made of aligned vectors", remedy="see: isoglot export --help")
    steps = parse_steps(normalise or "")
    if output_format(output, format).name == "gensim":
        require("gensim", "writing gensim KeyedVectors")
    claim_file(output)
    with progress_bars() as progress:
        space = open_space(source, lang=None, limit=limit, lower=lower, progress=progress)
        if steps:
            space = space.with_vectors(Normaliser.fit_transform(steps, space.vectors)[1])
        space.save(output, format=format, progress=progress)
    if json:
        print_json({"output": str(output), "words": len(space), "dim": space.dim})
        return
    say(f"{len(space):,} words x {space.dim} written to {output}")


def export(folder: AlignedFolder, output: Output, format: Format = None, json: Json = False) -> None:
    """Write aligned vectors for other tools.

    text (the default) and binary are word2vec's formats, kv is gensim's KeyedVectors: one file per language.
    static-model is one folder that SentenceTransformer(folder) and model2vec's StaticModel.from_pretrained(folder) load
    as a cross-lingual model.

    Examples:

    \b
      isoglot export en-fr -o vectors --format text
      isoglot export en-fr -o model --format static-model
    """
    from isoglot.aligned import Aligned, check_export_format
    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.cli.outputs import claim, claim_file

    format = format or "text"
    check_export_format(format)
    claim_file(output) if format == "static-model" else claim(output)
    with progress_bars() as progress:
        written = [str(path) for path in Aligned.load(folder).export(output, format, progress=progress)]
    if json:
        print_json({"format": format, "written": written})
        return
    say("written: " + ", ".join(written))


def _facts(file: str, progress: Any) -> dict[str, Any]:
    import numpy as np

    from isoglot import catalogue
    from isoglot.aligned import Aligned
    from isoglot.cli.inputs import open_lexicon, open_space
    from isoglot.errors import FormatError, IsoglotError

    path = Path(file)
    if (path / "isoglot.json").is_file():
        aligned = Aligned.load(path)
        languages = {name: f"{len(space):,} words x {space.dim}" for name, space in aligned.spaces.items()}
        return {"kind": "aligned spaces", "languages": languages, **aligned.info}
    kind = catalogue.entry(file).kind if not path.exists() and catalogue.has_entry(file) else None
    if kind != "lexicon":
        try:
            space = open_space(file, lang=None, limit=None, lower=False, progress=progress)
            norms = np.linalg.norm(space.vectors[:10_000], axis=1)
            return {
                "kind": "vectors",
                "format": space.report.format if space.report else None,
                "language": space.lang or None,
                "words": len(space),
                "dimensions": space.dim,
                "counts": space.counts is not None,
                "subwords": space.subwords is not None,
                "mean_length": round(float(norms.mean()), 4),
                "first_words": list(space.words[:10]),
                "fingerprint": space.fingerprint(),
                "repairs": space.report.notes() if space.report else [],
            }
        except FormatError as not_vectors:
            if not path.is_file():
                raise
            try:
                return _lexicon_facts(open_lexicon(file, lower=False, progress=progress))
            except IsoglotError:
                raise not_vectors from None
    return _lexicon_facts(open_lexicon(file, lower=False, progress=progress))


def _lexicon_facts(lexicon: Any) -> dict[str, Any]:
    return {
        "kind": "lexicon",
        "pairs": len(lexicon),
        "sources": len(lexicon.by_source),
        "identical_pairs": len(lexicon) - len(lexicon.without_identical()),
        "first_pairs": [list(pair) for pair in lexicon.pairs[:5]],
        "repairs": lexicon.report.notes() if lexicon.report else [],
    }


def _rows(facts: Mapping[str, Any], before: str = "") -> Iterator[list[str]]:
    """Names and values; what lies within another thing is named after it, and what is empty left out."""
    for key, value in facts.items():
        name = f"{before}{key.replace('_', ' ')}"
        if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
            value = {str(number): one for number, one in enumerate(value, start=1)}
        if isinstance(value, dict):
            yield from _rows(value, f"{name}: ")
        elif value not in (None, "", [], ()):
            yield [name, ", ".join(map(_shown, value)) if isinstance(value, list | tuple) else _shown(value)]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " = ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
