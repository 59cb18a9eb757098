"""`align_words`: which words of two sentences translate each other, in one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot.encoders import AlignedEncoder, Encoder, is_aligned_folder
from isoglot.errors import ConfigError, InputError
from isoglot.progress import Progress, silent
from isoglot.wordalign.combined import COMBINED
from isoglot.wordalign.linking import check_linking, link_text
from isoglot.wordalign.links import Sentence, WordLinks
from isoglot.wordalign.similarity import METHODS
from isoglot.wordalign.statistical import statistical_align


def align_words(
    src: Sentence | Sequence[Sentence],
    tgt: Sentence | Sequence[Sentence],
    *,
    encoder: str | Path | Encoder | AlignedEncoder | None = None,
    method: str = "itermax",
    layer: str | int | None = None,
    progress: Progress = silent,
    **settings: Any,
) -> WordLinks | list[WordLinks]:
    """The links of one sentence pair, or for lists of sentences a list of them.

    Args:
        src, tgt: a sentence each, as text, whose words are separated by spaces, or as a list of words; or a list of
            such sentences each. Texts without any space in a list are the words of one sentence.
        encoder: a name or folder, see `Encoder`; an encoder; or one that is aligned across two languages, of which the
            first is that of `src`.
        method: by similarity (`isoglot.wordalign.METHODS`); "combined", by similarity and what the sentences given
            teach together, the best if there are a hundred or more; or a statistical model (`MODELS`, such as
            "hmm"), which needs no encoder but many sentences, as it learns from these very ones.
        layer: of the encoder, if it is given by name; see `Encoder`.
        settings: of the method, such as `null=0.4`.

    >>> align_words(["a b", "b", "a"], ["x y", "y", "x"], method="ibm1")
    [WordLinks('0-0 1-1'), WordLinks('0-0'), WordLinks('0-0')]
    """
    check_linking(method, settings)
    single = _is_sentence(src) and _is_sentence(tgt)
    if not single and (isinstance(src, str) or isinstance(tgt, str)):
        raise InputError("one side is a sentence, the other is a list of sentences")
    sources, targets = ([_words(side)] if single else list(map(_words, side)) for side in (src, tgt))
    if len(sources) != len(targets):
        raise InputError(f"{len(sources):,} source sentences but {len(targets):,} target sentences")
    if method in METHODS or method == COMBINED:
        links = link_text(_encoders(encoder, layer), sources, targets, method, progress=progress, **settings)
    elif encoder is not None or layer is not None:
        raise ConfigError(f"{method} takes no encoder", remedy="leave out `encoder` and `layer`")
    elif single:
        remedy = "give many sentence pairs, or a method that takes an `encoder`, such as itermax"
        raise InputError(f"{method} learns from the sentences: one pair is too few", remedy=remedy)
    else:
        links = statistical_align(sources, targets, method, progress=progress, **settings)
    words = zip(sources, targets, strict=True)
    found = [dataclasses.replace(one, words=own) for one, own in zip(links, words, strict=True)]
    return found[0] if single else found


def _is_sentence(side: Sentence | Sequence[Sentence]) -> bool:
    words = all(isinstance(one, str) and one.split() == [one] for one in side)
    return isinstance(side, str) or (len(side) > 0 and words)


def _words(sentence: Any) -> list[str]:
    return sentence.split() if isinstance(sentence, str) else list(sentence)


def _encoders(
    encoder: str | Path | Encoder | AlignedEncoder | None, layer: str | int | None
) -> tuple[Encoder, Encoder]:
    """One for each side."""
    if encoder is None:
        remedy = "give `encoder`, or a statistical `method` such as hmm"
        raise ConfigError("words are aligned by the vectors of an encoder", remedy=remedy)
    if isinstance(encoder, str | Path) and is_aligned_folder(Path(encoder)):
        encoder = AlignedEncoder.load(encoder)
    if isinstance(encoder, str | Path):
        encoder = Encoder(encoder, layer=layer)
    elif layer is not None:
        raise ConfigError("this encoder has its own layer", where="layer", remedy="leave out `layer`")
    if isinstance(encoder, AlignedEncoder):
        src, tgt = encoder.languages
        return encoder.encoder_of(src), encoder.encoder_of(tgt)
    return encoder, encoder
