"""`isoglot.align`: two languages in, whatever form they come in, and one space out."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligned import Aligned
from isoglot.aligners import Aligner, Auto, aligner
from isoglot.errors import ConfigError, ShapeError
from isoglot.lexicons import Lexicon, split_lexicon
from isoglot.pipelines.align_pair import align_pair
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.tasks import as_lexicon

#: What can stand for a Space: itself, a file, a catalogue name, or a matrix whose rows have no words.
AnySpace = Space | str | Path | npt.NDArray[Any]
#: What can stand for a Lexicon: itself, a file, a catalogue name, pairs of words, or pairs of rows.
AnyLexicon = Lexicon | str | Path | Iterable[tuple[str, str]] | npt.NDArray[Any]


def align(
    src: AnySpace,
    tgt: AnySpace,
    pairs: AnyLexicon | None = None,
    *,
    method: str | Aligner | None = None,
    test: AnyLexicon | None = None,
    most_pairs: int | None = None,
    held_out: int | None = None,
    rerank: bool | None = None,
    limit: int | None = 200_000,
    src_lang: str | None = None,
    tgt_lang: str | None = None,
    score: str = "csls",
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
    **settings: Any,
) -> Aligned:
    """Put two languages into one space, and measure how well they fit.

    Args:
        src, tgt: Spaces, files of vectors in any format, catalogue names ("vectors/en"), or matrices.
        pairs: translations to learn from: a Lexicon, a file, a catalogue name ("lexicon/en-fr"), pairs of words, or,
            for matrices, pairs of row numbers. None for a method that needs none, which is only measured on them.
        method: a name of `isoglot.methods()`, "module:Class", or an aligner. By default "auto", which compares methods
            on the pairs and learns from all of them by the best; `effort` ("quick", "normal", "best") bounds its time.
        test: translations to measure on. Without it some of the pairs are held out, see `held_out`.
        most_pairs: learn from at most so many pairs, those of the most frequent words.
        held_out: how many source words to measure on instead of learning from them; 0 for none. By default 1,500 of a
            large lexicon (learning from 5,000 pairs), else a tenth; but none for "auto", which tells the figure of its
            cross-validation.
        rerank: also learn a small model that orders candidates by spelling and frequency too. By default for "auto"
            with effort "best".
        limit: read at most so many words of each file.
        src_lang, tgt_lang: language codes, where the files do not tell them.
        score: how candidates are ranked when measuring.
        seed: of the method, if it is given by name; 0 by default.
        settings: of the method, if it is given by name.

    What the method doubts of its own result, such as that it did not work, is a warning; figures are in
    `aligned.info["results"]`.
    """
    source, target = as_space(src, src_lang, limit, progress), as_space(tgt, tgt_lang, limit, progress)
    lexicon = None if pairs is None else _as_lexicon(pairs, source, target)
    gold = None if test is None else _as_lexicon(test, source, target)
    method = method or "auto"
    if isinstance(method, str):
        chosen = aligner(method, seed=seed or 0, **settings)
    else:
        chosen = method
        for name in [*settings, *(["seed"] if seed is not None else [])]:
            raise ConfigError(f"{name} is a setting of the aligner", remedy="give it to the aligner")
    unsupervised = chosen.method.supervision == "unsupervised"
    _check_effect(chosen, lexicon, gold, most_pairs, held_out)
    calibrate = gold if lexicon is None else lexicon
    if isinstance(chosen, Auto) and held_out is None:
        held_out = 0
    if lexicon is not None:
        lexicon, rest = split_lexicon(
            lexicon, source, target, seeds=most_pairs, held_out=held_out if gold is None else 0
        )
        gold = rest if gold is None else gold
    outcome = align_pair(
        source,
        target,
        chosen,
        train=None if unsupervised else lexicon,
        test=gold,
        calibrate=calibrate,
        score=score,
        threads=threads,
        rerank=rerank,
        progress=progress,
    )
    for warning in outcome.warnings:
        warnings.warn(warning, stacklevel=2)
    return outcome.aligned


def _check_effect(
    chosen: Aligner, pairs: Lexicon | None, test: Lexicon | None, most_pairs: int | None, held_out: int | None
) -> None:
    """Raise for arguments that the others leave without effect."""
    if chosen.method.supervision == "unsupervised" and pairs is not None and test is not None:
        raise ConfigError(
            f"{chosen.method.name} learns from no pairs, and `test` is what it is measured on",
            remedy="leave out `pairs` or `test`",
        )
    for name, value in (("most_pairs", most_pairs), ("held_out", held_out)):
        if value is not None and pairs is None:
            raise ConfigError(f"`{name}` has no effect without `pairs`", remedy="leave it out")
    if held_out and test is not None:
        raise ConfigError("`held_out` has no effect with `test`, which holds all the test words", remedy="leave it out")


def as_space(side: AnySpace, lang: str | None = None, limit: int | None = None, progress: Progress = silent) -> Space:
    """The Space that `side` stands for; rows of a matrix are called "0", "1", ..."""
    if isinstance(side, Space):
        return side if lang is None else dataclasses.replace(side, lang=lang)
    if isinstance(side, str | Path):
        return Space.load(side, lang=lang, limit=limit, progress=progress)
    matrix = np.asarray(side)
    if matrix.ndim != 2:
        raise ShapeError(f"expected a matrix of vectors, got shape {matrix.shape}")
    return Space(lang or "", [str(row) for row in range(len(matrix))], matrix)


def _as_lexicon(pairs: AnyLexicon, src: Space, tgt: Space) -> Lexicon:
    """The Lexicon that `pairs` stands for; pairs of row numbers are pairs of the rows' words."""
    if not isinstance(pairs, Lexicon | str | Path):
        pairs = list(pairs)
        if pairs and all(isinstance(number, int | np.integer) for pair in pairs for number in pair):
            rows = np.asarray(pairs)
            if rows.ndim != 2 or rows.shape[1] != 2 or rows.min() < 0 or (rows >= [len(src), len(tgt)]).any():
                raise ShapeError(f"pairs of rows must lie within the {len(src)} source and {len(tgt)} target rows")
            pairs = [(src.words[i], tgt.words[j]) for i, j in rows]
    return as_lexicon(pairs, src.lang, tgt.lang)
