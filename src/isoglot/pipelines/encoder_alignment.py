"""From parallel text to an `AlignedEncoder`, by any aligner of the table.

Learned on sentences, the map fits sentence vectors; learned on words in context, it fits words and, as sentences are
means of tokens, those too. With a map for each layer it is the contextual recipe of Wang et al. 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import Aligner, Alignment
from isoglot.encoders import AlignedEncoder, Encoder, Level
from isoglot.errors import ConfigError, InputError
from isoglot.pipelines.contextual_pairs import TokenisedPairs, extract_layers, extract_pairs
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, IntVector, Space
from isoglot.text import ParallelText, segmenter as segmenter_named
from isoglot.wordalign import WordLinks, check_links

#: Papers' ways to align an encoder, by name, as parameters of `align_and_test` and of the encoder. Wang et al. 2020: an
#: orthogonal map for each of the last four layers, learned on words that a statistical model links; the results are
#: summed. Vectors are neither scaled nor centred, as the paper says nothing of either.
ALIGN_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "joint-align-contextual": {
        "method": "procrustes",
        "normalise": "none",
        "level": "word",
        "layer": "last4",
        "per_layer": True,
        "word_method": "hmm",
    },
}
#: Learns maps for one text by any aligner.
Learn = Callable[[Aligner], AlignedEncoder]


def tokenise(
    text: ParallelText,
    segmenter: str = "icu",
    *,
    links: Sequence[WordLinks] | None = None,
    links_name: str = "links",
) -> TokenisedPairs:
    """Split both sides into words. Pairs with a blank side are left out; the others remember their lines.

    `links` that point past the end of a sentence are an error, which calls their file `links_name`.

    >>> found = tokenise(ParallelText("en", "fr", ("a cat", ""), ("un chat", "rien")), "spaces")
    >>> len(found), found.src, found.numbers
    (1, [['a', 'cat']], [0])
    """
    if links is not None and len(links) != len(text):
        raise InputError(f"{len(links):,} lines of word links for {len(text):,} sentences")
    sides = []
    for lang, side in ((text.src_lang, text.src), (text.tgt_lang, text.tgt)):
        split = segmenter_named(segmenter, lang)
        sides.append([split(sentence) for sentence in side])
    src, tgt = sides
    if links is not None:
        check_links(links, [len(words) for words in src], [len(words) for words in tgt], links_name)
    kept = [number for number in range(len(text)) if src[number] and tgt[number]]
    if not kept:
        raise InputError("no line has words on both sides", remedy="check the two files")
    return TokenisedPairs(
        [src[number] for number in kept],
        [tgt[number] for number in kept],
        text.src_lang,
        text.tgt_lang,
        kept,
        None if links is None else [links[number] for number in kept],
    )


def align_encoder(
    encoder: Encoder,
    text: ParallelText,
    aligner: Aligner,
    *,
    level: Level = "sentence",
    per_layer: bool = False,
    segmenter: str = "icu",
    method: str = "itermax",
    settings: Mapping[str, Any] | None = None,
    links: Sequence[WordLinks] | None = None,
    choose: Callable[[Learn], AlignedEncoder] | None = None,
    checkpoint: Path | None = None,
    progress: Progress = silent,
) -> AlignedEncoder:
    """Learn maps that bring the encoder's vectors of both languages into one space.

    Args:
        encoder: with the layer and pooling to be aligned.
        text: translations, line by line.
        aligner: any method. One that learns without pairs sees the same vectors and no pairs.
        level: learn on "sentence" vectors or on "word" vectors in context.
        per_layer: a map for each of the encoder's layers instead of one for their combination.
        segmenter, method, settings, links: for words: how lines are split, how words are aligned (see
            `isoglot.wordalign.similarity`), or the links themselves.
        choose: called with a function that learns from the same vectors by any aligner; what it returns is returned.
        checkpoint: a file in which iterative methods keep their state.
    """
    languages = (text.src_lang or "src", text.tgt_lang or "tgt")
    if languages[0] == languages[1]:
        raise ConfigError(f"an aligned encoder needs two different languages, not {languages!r}")
    if encoder.mapped:
        raise ConfigError("this encoder is aligned already", remedy="name the encoder before alignment")
    if per_layer and len(encoder.layers.numbers) < 2:
        raise ConfigError("a map for each layer needs several layers", remedy="choose e.g. layer last4")
    if level == "sentence":
        parts, facts = _sentences(encoder, text, per_layer, progress)
    elif level == "word":
        tokenised = tokenise(text, segmenter, links=links)
        linking: dict[str, Any] = {"method": method, "settings": settings, "progress": progress}
        found = (
            extract_layers(encoder, tokenised, **linking)
            if per_layer
            else [extract_pairs(encoder, tokenised, **linking)]
        )
        parts = [(one.src, one.tgt, one.pairs) for one in found]
        facts = dict(found[0].info)
    else:
        raise ConfigError(f"unknown level {level!r}", remedy="one of: sentence, word")

    def learn(one: Aligner) -> AlignedEncoder:
        alignments = []
        for number, (src, tgt, pairs) in enumerate(parts):
            state = None if checkpoint is None else checkpoint.with_name(f"{checkpoint.name}.{number}")
            alignments.append(fit_alignment(one, src, tgt, pairs, checkpoint=state, progress=progress))
        info = {
            "encoder": encoder.name,
            "encoder_fingerprint": encoder.model.fingerprint(),
            "text": {"source": list(text.source), "sentences": len(text), "fingerprint": text.fingerprint()},
            **facts,
            "pairs": len(parts[0][2]),
            "method": one.method.name,
        }
        return AlignedEncoder(encoder, tuple(alignments), languages, level, info)

    return learn(aligner) if choose is None else choose(learn)


def fit_alignment(
    aligner: Aligner,
    src: Space | FloatMatrix,
    tgt: Space | FloatMatrix,
    pairs: IntVector,
    *,
    checkpoint: Path | None = None,
    progress: Progress = silent,
) -> Alignment:
    """Fit on matched rows; a method that refuses pairs gets none."""
    known = None if aligner.method.supervision == "unsupervised" else pairs
    return aligner.fit(src, tgt, known, checkpoint=checkpoint, progress=progress)


Part = tuple[Space | FloatMatrix, Space | FloatMatrix, IntVector]


def _sentences(
    encoder: Encoder, text: ParallelText, per_layer: bool, progress: Progress
) -> tuple[list[Part], dict[str, Any]]:
    kept = [number for number, (src, tgt) in enumerate(text) if src.strip() and tgt.strip()]
    if not kept:
        raise InputError("no line has text on both sides", remedy="check the two files")
    vectors = []
    for lang, side in ((text.src_lang, text.src), (text.tgt_lang, text.tgt)):
        chosen = [side[number] for number in kept]
        step = f"encoding {lang or 'sentences'}"
        if per_layer:
            vectors.append(encoder.sentence_layers(chosen, step=step, progress=progress))
        else:
            vectors.append(encoder.sentences(chosen, step=step, progress=progress)[None])
    pairs = np.stack([np.arange(len(kept))] * 2, axis=1)
    facts = {"layer": str(encoder.layers), "sentences": len(kept)}
    return [(X, Y, pairs) for X, Y in zip(*vectors, strict=True)], facts
