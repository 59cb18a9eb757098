"""Refinement: each language's own words are aligned with the pivot's own words; shared words stay where they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from isoglot.aligners import Aligner, Alignment, onto_target
from isoglot.errors import ConfigError, InputError
from isoglot.joint.space import JointSpace
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix


@dataclasses.dataclass(frozen=True, eq=False)
class Refined:
    """The space after refinement and what was learned, by (language, pivot)."""

    space: JointSpace
    alignments: Mapping[tuple[str, str], Alignment]


def refine(
    joint: JointSpace,
    aligner: Aligner,
    lexicons: Mapping[tuple[str, str], Lexicon] | None = None,
    *,
    pivot: str | None = None,
    progress: Progress = silent,
) -> Refined:
    """Align every language's own words with the pivot's own (default: the last language, the target of two).

    `lexicons` by (language, pivot); an unsupervised method takes none. The pivot's map, which may normalise, moves the
    pivot's own words and all shared ones alike, so that between those nothing changes: with a method that leaves its
    target as it is (`normalise=none`) shared vectors stay what they were, bit for bit.
    """
    pivot = pivot or joint.langs[-1]
    others = [lang for lang in joint.langs if lang != pivot]
    if pivot not in joint.langs:
        raise ConfigError(f"no language {pivot!r} here", remedy=f"there are: {', '.join(joint.langs)}")
    target = joint.own(pivot)
    vectors: FloatMatrix | None = None
    alignments: dict[tuple[str, str], Alignment] = {}
    for lang in others:
        source = joint.own(lang)
        if not len(source) or not len(target):
            raise InputError(
                f"{lang} and {pivot} have no words of their own to refine",
                remedy="check that their texts are not in the same language, or lower gamma",
            )
        pairs = None if aligner.method.supervision == "unsupervised" else between(lexicons or {}, lang, pivot)
        if len(others) > 1:
            # Several maps agree on a shared space only if the pivot keeps its own.
            alignment = onto_target(aligner.keeping_target().fit(source, target, pairs, progress=progress))
        else:
            alignment = aligner.fit(source, target, pairs, progress=progress)
        if vectors is None:
            vectors = alignment.transform(joint.vectors, "tgt")
        vectors[joint.own_rows(lang)] = alignment.transform(source.vectors, "src")
        alignments[lang, pivot] = alignment
    if vectors is None:
        raise ConfigError("there is only one language: nothing to refine")
    return Refined(joint.with_vectors(vectors), alignments)


def between(lexicons: Mapping[tuple[str, str], Lexicon], lang: str, pivot: str) -> Lexicon | None:
    """The lexicon of these two languages, turned if it was given the other way round."""
    if (lang, pivot) in lexicons:
        return lexicons[lang, pivot]
    return lexicons[pivot, lang].invert() if (pivot, lang) in lexicons else None
