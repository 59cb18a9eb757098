"""Three tables on an encoder, each one command: sentences found across languages, word alignment, reference-free
evaluation. Finished rows are kept in the output folder, so that a killed run resumes where it was.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot import catalogue
from isoglot.aligners import aligner
from isoglot.encoders import AlignedEncoder, Encoder, Level, WordVectors
from isoglot.errors import MissingExtraError
from isoglot.pipelines import align_and_test, align_encoder, judge_translations, search_sentences, tokenise
from isoglot.progress import Progress, silent
from isoglot.reproductions.rows import Figure, encoder_key, figures_of, slug, text_key
from isoglot.resumable import kept, run_key, timed
from isoglot.strings import check_list
from isoglot.tasks import read_wmt, word_alignment
from isoglot.text import ParallelText
from isoglot.wordalign import COMBINED, METHODS, MODELS, WordLinks, check_links, link_words, statistical_align

Finder = Callable[[], Sequence[WordLinks]]

LANGUAGES = ("de", "es", "fr", "ru", "cs", "tr")
#: Lines to learn from and to test on.
TRAIN, TEST = 4000, 1000
#: Words of a line. Statistical word aligners give up beyond 200 words, and segmenters find more words than spaces do.
LONGEST = 100


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to align an encoder."""

    name: str
    layer: str = "-1"
    level: Level = "sentence"
    method: str = "procrustes"
    word_method: str = "itermax"
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class RetrievalRow:
    """Sentence retrieval with one language, before and after one alignment; figures by metric and score.

    `elsewhere` has the same pairs of figures for texts of other kinds than the one that was learned from.
    """

    language: str
    variant: str
    before: Mapping[str, Figure]
    after: Mapping[str, Figure]
    elsewhere: Mapping[str, tuple[Mapping[str, Figure], Mapping[str, Figure]]] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class LinkRow:
    """Word alignment of one set by one method; `kind` of vectors, or "statistical". `missing`: why it could not run."""

    set: str
    kind: str
    method: str
    figures: Mapping[str, Figure] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    missing: str = ""


@dataclasses.dataclass(frozen=True)
class EvaluationRow:
    """Correlation with people's judgement of one language pair, of n-grams, with the encoder aligned or not."""

    pair: str
    ngram: int
    remapped: bool
    segments: int
    figures: Mapping[str, Figure]
    seconds: float = 0.0


#: What the table of sentence retrieval compares; chosen on lines that are not tested on (see docs/contextual.md).
VARIANTS = (
    Variant("sentences, last layer, Procrustes"),
    Variant("words, last layer, Procrustes", level="word", word_method="hmm"),
    Variant("sentences, last layer, CCA", method="cca"),
    Variant("sentences, last layer, anchored", method="anchored-local"),
    Variant("words, layers 0 and last, Procrustes", "0,-1", "word", "procrustes", "hmm"),
    Variant("sentences, layers 0 and last, CCA", "0,-1", method="cca"),
)


def retrieval_table(
    encoder: str,
    output: Path,
    *,
    languages: Sequence[str] = LANGUAGES,
    variants: Sequence[Variant] = VARIANTS,
    train: int = TRAIN,
    test: int = TEST,
    seed: int = 0,
    load: Callable[[str], ParallelText] | None = None,
    elsewhere: Mapping[str, Callable[[str], ParallelText | None]] | None = None,
    progress: Progress = silent,
) -> list[RetrievalRow]:
    """Sentence retrieval between English and each language, before and after each alignment; one row per variant.

    Lines of the catalogue's parallel text are shuffled with the seed; `load` may bring another text for a language.
    `elsewhere` brings texts of other kinds by name, to test on alone; None where a language has none.
    """
    check_list(languages, "languages are a list")
    rows = []
    for lang in languages:
        text = shuffled(catalogue.load_parallel(lang, "en") if load is None else load(lang), train + test, seed)
        linked: dict[str, list[WordLinks]] = {}
        found = {kind: bring(lang) for kind, bring in (elsewhere or {}).items()}
        others = {kind: one for kind, one in found.items() if one is not None}

        def measured(
            variant: Variant, lang: str = lang, text: ParallelText = text, linked: Any = linked, others: Any = others
        ) -> RetrievalRow:
            model = Encoder(encoder, layer=variant.layer, cache=output / "cache", progress=progress)
            if variant.level == "word" and variant.word_method in MODELS and variant.word_method not in linked:
                linked[variant.word_method] = _statistical(text, train, variant.word_method, progress)
            outcome = align_and_test(
                model,
                text,
                aligner(variant.method, **variant.settings),
                level=variant.level,
                held_out=test,
                method=variant.word_method,
                links=linked.get(variant.word_method) if variant.level == "word" else None,
                seed=seed,
                progress=progress,
            )
            away = {kind: _before_and_after(model, outcome.aligned, other, seed) for kind, other in others.items()}
            return RetrievalRow(lang, variant.name, figures_of(outcome.before), figures_of(outcome.after), away)

        for variant in variants:
            key = run_key(
                "retrieval",
                encoder_key(encoder),
                lang,
                dataclasses.asdict(variant),
                train,
                test,
                seed,
                text_key(text),
                *([kind, text_key(other)] for kind, other in others.items()),
            )
            place = output / "runs" / f"{lang}-{slug(variant.name)}.json"
            rows.append(kept(place, key, RetrievalRow, timed(functools.partial(measured, variant))))
    return rows


def word_alignment_table(
    encoder: str,
    sets: Mapping[str, tuple[ParallelText, Sequence[WordLinks]]],
    output: Path,
    *,
    layer: str = "-1",
    models: Sequence[str] = ("ibm1", "hmm", "fast_align", "thot-eflomal"),
    aligned: Mapping[str, ParallelText] | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> list[LinkRow]:
    """F1 and AER of every method on gold links of tokenised text, beside statistical models learned on the same text.

    `aligned` brings parallel text for a set: the encoder is then also measured after a rotation learned on its words.
    """
    rows = []
    for name, (text, gold) in sets.items():
        src, tgt = ([sentence.split() for sentence in side] for side in (text.src, text.tgt))
        check_links(gold, [len(words) for words in src], [len(words) for words in tgt], name)
        taught = None if aligned is None else aligned.get(name)
        words = _Words(encoder, layer, output / "cache", src, tgt, taught, progress)
        kinds = ["as it comes"] if taught is None else ["as it comes", "aligned"]
        finders: list[tuple[str, str, Finder]] = []
        for kind in kinds:
            finders += [(kind, method, functools.partial(words.link, kind, method)) for method in (*METHODS, COMBINED)]
        finders += [
            ("statistical", method, functools.partial(statistical_align, src, tgt, method, progress=progress))
            for method in models
        ]
        digest = run_key([[sorted(one.sure), sorted(one.possible)] for one in gold])
        for kind, method, find in finders:
            learned = text_key(taught) if kind == "aligned" and taught is not None else ""
            key = run_key("words", encoder_key(encoder), layer, kind, method, seed, text_key(text), digest, learned)
            row = LinkRow(name, kind, method)

            def measured(row: LinkRow = row, find: Finder = find, gold: Sequence[WordLinks] = gold) -> LinkRow:
                return dataclasses.replace(row, figures=figures_of(word_alignment(find(), gold, seed=seed)))

            try:
                rows.append(
                    kept(output / "runs" / f"{name}-{slug(f'{kind} {method}')}.json", key, LinkRow, timed(measured))
                )
            except MissingExtraError as error:
                rows.append(dataclasses.replace(row, missing=str(error)))
    return rows


def evaluation_table(
    encoder: str,
    folder: Path,
    output: Path,
    *,
    pairs: Sequence[str] = ("cs-en", "de-en", "fi-en"),
    layer: str = "-1",
    lines: int = TRAIN,
    method: str = "procrustes",
    seed: int = 0,
    load: Callable[[str], ParallelText] | None = None,
    progress: Progress = silent,
) -> list[EvaluationRow]:
    """Correlation of word mover's scores with people's, n-grams of 1 and 2, before and after aligning the encoder."""
    rows = []
    for pair in pairs:
        src, _, tgt = pair.partition("-")
        segments = read_wmt(folder, pair, unescape=True)
        text = shuffled(catalogue.load_parallel(src, tgt) if load is None else load(src), lines, seed)
        judged = run_key([dataclasses.astuple(one) for one in segments])
        # Made when a row asks for them: kept rows need none.
        model = functools.cache(
            functools.partial(Encoder, encoder, layer=layer, cache=output / "cache", progress=progress)
        )
        learned = functools.cache(lambda model=model, text=text: _learned(model(), text, method, progress))

        def measured(
            remapped: bool,
            ngram: int,
            pair: str = pair,
            segments: Any = segments,
            model: Any = model,
            learned: Any = learned,
        ) -> EvaluationRow:
            sides = learned() if remapped else (model(), model())
            langs = (pair.partition("-")[0], pair.partition("-")[2])
            results = judge_translations(sides, segments, langs, ngram=ngram, seed=seed, progress=progress)
            return EvaluationRow(pair, ngram, remapped, len(segments), figures_of(results))

        for remapped, ngram in itertools.product((False, True), (1, 2)):
            key = run_key(
                "rfeval", encoder_key(encoder), layer, judged, ngram, remapped, method, lines, seed, text_key(text)
            )
            place = output / "runs" / f"rfeval-{pair}-{ngram}-{'after' if remapped else 'before'}.json"
            rows.append(kept(place, key, EvaluationRow, timed(functools.partial(measured, remapped, ngram))))
    return rows


class _Words:
    """Vectors of a set's words by kind, made when a row asks for them: kept rows need none."""

    def __init__(
        self,
        encoder: str,
        layer: str,
        cache: Path,
        src: Sequence[Sequence[str]],
        tgt: Sequence[Sequence[str]],
        taught: ParallelText | None,
        progress: Progress,
    ) -> None:
        self._open = functools.partial(Encoder, encoder, layer=layer, cache=cache, progress=progress)
        self._sides = (src, tgt)
        self._taught = taught
        self._progress = progress
        self._done: dict[str, tuple[WordVectors, WordVectors]] = {}

    def link(self, kind: str, method: str) -> list[WordLinks]:
        if kind not in self._done:
            model = self._open()
            first, second = model, model
            if kind == "aligned" and self._taught is not None:
                first, second = _learned(model, self._taught, "procrustes", self._progress)
            src, tgt = self._sides
            self._done[kind] = first.words(src, progress=self._progress), second.words(tgt, progress=self._progress)
        return link_words(*self._done[kind], method)


def _before_and_after(
    encoder: Encoder, aligned: AlignedEncoder, text: ParallelText, seed: int
) -> tuple[dict[str, Figure], dict[str, Figure]]:
    raw = [encoder.sentences(side) for side in (text.src, text.tgt)]
    mapped = [aligned.sentences(side, lang) for side, lang in zip((text.src, text.tgt), aligned.languages, strict=True)]
    before, after = (figures_of(search_sentences(X, Y, text, seed=seed)) for X, Y in (raw, mapped))
    return before, after


def _statistical(text: ParallelText, train: int, model: str, progress: Progress) -> list[WordLinks]:
    """Links of the first `train` lines, for all variants; none for the others, which are not learned from."""
    taught = dataclasses.replace(text, src=text.src[:train], tgt=text.tgt[:train])
    tokenised = tokenise(taught)
    links = [WordLinks()] * len(text)
    for number, found in enumerate(statistical_align(tokenised.src, tokenised.tgt, model, progress=progress)):
        links[tokenised.line(number)] = found
    return links


def _learned(model: Encoder, text: ParallelText, method: str, progress: Progress) -> tuple[Encoder, Encoder]:
    """The encoder of each language, aligned on the words of a text."""
    found = align_encoder(model, text, aligner(method), level="word", method="hmm", progress=progress)
    first, second = (found.encoder_of(lang) for lang in found.languages)
    return first, second


def shuffled(text: ParallelText, lines: int, seed: int) -> ParallelText:
    """So many lines in random order, as neighbours in a text are often alike, without the very long ones.

    >>> text = ParallelText("de", "en", ("eins", "zwei", "drei"), ("one", "two", "three"))
    >>> sorted(shuffled(text, 3, 0)) == sorted(text), len(shuffled(text, 2, 0))
    (True, 2)
    """
    order = [
        number
        for number in np.random.default_rng(seed).permutation(len(text)).tolist()
        if max(len(text.src[number].split()), len(text.tgt[number].split())) <= LONGEST
    ][:lines]
    return dataclasses.replace(text, src=tuple(text.src[i] for i in order), tgt=tuple(text.tgt[i] for i in order))
