"""Which words of translated sentences translate each other, by their vectors: of encoded sentences, or of a whole text.

Which ways there are to align words is told by two tables: `word_align.METHODS`, by similarity, and
`statistical.MODELS`, which need no vectors. `combined` uses both kinds of knowledge.
"""

from __future__ import annotations

import dataclasses
import functools
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.assignments import check_known
from isoglot.encoders import SHARD, Encoder, WordVectors
from isoglot.errors import ConfigError
from isoglot.extras import require
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress, silent
from isoglot.spaces import unit_rows
from isoglot.suggest import unknown
from isoglot.wordalign.combined import COMBINED, combined_align, combined_settings
from isoglot.wordalign.links import WordLinks
from isoglot.wordalign.own_map import learn_own_map
from isoglot.wordalign.similarity import METHODS, word_align, word_scores
from isoglot.wordalign.statistical import MODELS

Sentences = Sequence[Sequence[str]]

#: How strongly the map that `combined` learns from its own links is drawn to the identity; 0 for no map.
ADAPT = 0.03


def check_linking(method: str, settings: Mapping[str, Any]) -> None:
    """Raise if there is no such word alignment or it has no such setting: before anything is encoded for it.

    >>> check_linking("itermax", {"null": 0.4})
    >>> check_linking("hmm", {"null": 0.4})
    Traceback (most recent call last):
    ...
    isoglot.errors.ConfigError: hmm has no setting 'null'; known settings: seed, symmetrise
    """
    known: dict[str, Any]
    if method in METHODS:
        # Both are in units of cosines.
        known = {**METHODS[method].settings, **({} if METHODS[method].raw else {"null": 0.0, "distortion": 0.0})}
    elif method == COMBINED:
        known = {**combined_settings(), "adapt": ADAPT}
    elif method in MODELS:
        known = {"symmetrise": "", "seed": 0}
        if MODELS[method].stages:
            require("word-alignment", f"the model {method}")
    else:
        raise unknown("word alignment", method, dict.fromkeys([*METHODS, COMBINED, *MODELS]))
    check_known(settings, known, method)
    for name, value in settings.items():
        kind, wanted = {
            str: ("a name", str),
            int: ("a whole number", numbers.Integral),
            float: ("a number", numbers.Real),
        }[type(known[name])]
        if name == "lexicon" and isinstance(value, Lexicon | Path):
            continue
        if not isinstance(value, wanted) and not (name == "null" and value is None and method != COMBINED):
            raise ConfigError(f"{name} of {method} takes {kind}, not {value!r}")


def link_words(
    src: WordVectors, tgt: WordVectors, method: str = "itermax", *, progress: Progress = silent, **settings: Any
) -> list[WordLinks]:
    """Align the words of matched sentences by the similarity of their vectors; `combined` also learns from them."""
    links = []
    similarities = _similarities(src, tgt, method)
    if method == COMBINED:
        return _combined(lambda: iter([(src, tgt)]), src.sentences, tgt.sentences, progress=progress, **settings)
    total = max(len(src), 1)
    for number in range(len(src)):
        links.append(word_align(similarities(number), method, **settings))
        if number % 256 == 0:
            progress("aligning words", number, total)
    progress("aligning words", total, total)
    return links


def pair_scores(
    encoders: tuple[Encoder, Encoder], src: Sequence[str], tgt: Sequence[str], method: str, **settings: Any
) -> npt.NDArray[np.floating[Any]]:
    """What the method sees of one sentence pair (n, m), see `word_scores`; of `combined`, the cosines."""
    X, Y = (one.without_cache().words([words]) for one, words in zip(encoders, (src, tgt), strict=True))
    S = _similarities(X, Y, method)(0)
    return S if method == COMBINED else word_scores(S, method, **settings)


def link_text(
    encoders: tuple[Encoder, Encoder],
    src: Sentences,
    tgt: Sentences,
    method: str = "itermax",
    *,
    progress: Progress = silent,
    **settings: Any,
) -> list[WordLinks]:
    """The same for a whole text, with an encoder for each side: encoded and aligned shard by shard, to save memory.

    Settings of `combined` are those of `combined_align`, and `adapt`: once linked, a map of the source side's vectors
    is learned from the links, if they are as many as dimensions, and all is done again with it. It helps with
    languages that the encoder barely knows; the larger `adapt`, the closer the map is to the identity, and 0 is for no
    map. A text of more than one shard is encoded twice for it, and the map is learned from the first.
    """
    encoded = functools.partial(_shards, encoders, src, tgt, progress)
    if method == COMBINED:
        return _combined(encoded, src, tgt, progress=progress, **settings)
    links: list[WordLinks] = []
    for X, Y in encoded():
        links += link_words(X, Y, method, progress=progress, **settings)
    return links


def _combined(
    shards: Callable[[], Iterator[tuple[WordVectors, WordVectors]]],
    src: Sentences,
    tgt: Sentences,
    *,
    adapt: float = ADAPT,
    progress: Progress,
    **settings: Any,
) -> list[WordLinks]:
    """Links by all that is known, and again after a map learned from those of the first shard."""
    if not 0 <= adapt < np.inf:
        raise ConfigError(f"must be 0 (no map) or more, not {adapt}", where="adapt")
    if isinstance(settings.get("lexicon", ""), str | Path) and settings.get("lexicon"):
        settings["lexicon"] = Lexicon.load(settings["lexicon"], progress=progress)
    if len(src) <= SHARD:  # what fits into memory is encoded once
        kept = list(shards())
        shards = lambda: iter(kept)  # noqa: E731
    links = combined_align(src, tgt, _cosines(shards()), progress=progress, **settings)
    first = next(shards(), None) if adapt else None
    own = None if first is None else learn_own_map(*first, links[: len(first[0])], adapt)
    if own is None:
        return links
    return combined_align(src, tgt, _cosines(own(X, Y) for X, Y in shards()), progress=progress, **settings)


def _cosines(shards: Iterable[tuple[WordVectors, WordVectors]]) -> Iterator[npt.NDArray[np.floating[Any]]]:
    """Of each sentence pair; no more than a shard's vectors are held."""
    for X, Y in shards:
        yield from map(_similarities(X, Y, COMBINED), range(len(X)))


def _shards(
    encoders: tuple[Encoder, Encoder], src: Sentences, tgt: Sentences, progress: Progress
) -> Iterator[tuple[WordVectors, WordVectors]]:
    total = len(src)
    for begin in range(0, total, SHARD):
        end = min(begin + SHARD, total)
        of = f" ({end:,} of {total:,})" if total > SHARD else ""
        X = encoders[0].words(src[begin:end], step=f"encoding source{of}", progress=progress)
        Y = encoders[1].words(tgt[begin:end], step=f"encoding target{of}", progress=progress)
        yield X, Y


def _similarities(src: WordVectors, tgt: WordVectors, method: str) -> Callable[[int], npt.NDArray[np.floating[Any]]]:
    """The similarities of a sentence pair's words, by its number, as the method wants them."""
    if method in METHODS and METHODS[method].raw:
        # In double precision: the blur is small beside the rounding of long vectors' products.
        return lambda number: src[number].astype(np.float64) @ tgt[number].astype(np.float64).T
    X, Y = (dataclasses.replace(side, vectors=unit_rows(np.ascontiguousarray(side.vectors))) for side in (src, tgt))
    return lambda number: X[number] @ Y[number].T
