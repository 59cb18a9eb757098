"""Options that several commands share, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else.")]
Limit = Annotated[
    int, typer.Option("--limit", min=1, help="Read only this many words of each file (most frequent first).")
]
FoldCase = Annotated[bool, typer.Option("--fold-case", help="Lower-case vectors' words and lexicons.")]
Swap = Annotated[bool, typer.Option("--swap", help="Reverse the lexicons: their first column is the target language.")]
AlignedFolder = Annotated[Path, typer.Argument(metavar="OUT", help="Folder written by `isoglot align`.")]
From = Annotated[str | None, typer.Option("--from", help="Source language; default: the first of the folder.")]
To = Annotated[str | None, typer.Option("--to", help="Target language; default: the first other one.")]
Score = Annotated[
    str,
    typer.Option(
        "--score", help="How neighbours are ranked: csls, cosine, inverted_softmax, euclidean or csls-euclidean."
    ),
]
Rerank = Annotated[
    bool | None, typer.Option("--rerank/--no-rerank", help="Use the folder's re-ranker; default: if there is one.")
]
