"""One table: an encoder as it comes, mapped, and trained by several recipes, all tested on the same lines.

Tested are the languages trained on, languages that were not, another domain if its text is given, and what became of
the target language itself. Each run and its figures are kept in the output folder, so that a killed table resumes.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot import catalogue
from isoglot.aligners import aligner
from isoglot.encoders import Encoder, is_aligned_folder
from isoglot.errors import ConfigError, MissingExtraError
from isoglot.finetuning import (
    PRESET_TRAINING,
    PRESETS,
    RUN,
    StepRecord,
    Trainer,
    TrainingSettings,
    open_corpus,
    parse_recipe,
    save_encoder,
)
from isoglot.pipelines import Evaluation, align_encoder
from isoglot.progress import Progress, silent
from isoglot.reproductions.rows import slug, text_key
from isoglot.resumable import kept, run_key, timed
from isoglot.spaces import FloatMatrix
from isoglot.tasks import encode_words, similarity, similarity_set, tatoeba
from isoglot.text import ParallelText

TRAINED = ("de", "es", "fr", "cs", "tr")
UNSEEN = ("ru", "it", "nl", "fi", "pl")
#: Lines of each language to test on, and to choose weights by.
TEST, VALID = 1000, 300
#: Words of a line: longer ones are rare and would set the pace of a batch.
LONGEST = 60
#: One for all, so that recipes are compared by what they minimise; chosen on validation lines (docs/training.md).
TRAINING = PRESET_TRAINING["best"]


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to train: objectives as `parse_recipe` reads them, lines of each language, settings of the loop."""

    name: str
    objectives: str | Mapping[str, Any]
    lines: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=lambda: dict(TRAINING))


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """Lines of one language: to learn from, to choose weights by, to test on."""

    train: ParallelText
    valid: ParallelText
    test: ParallelText


@dataclasses.dataclass(frozen=True)
class Found:
    """P@1 of sentences towards the target language with its interval, and the mean of both directions."""

    to_target: float
    interval: tuple[float, float]
    both: float


#: By language and score.
Group = Mapping[str, Mapping[str, Found]]


@dataclasses.dataclass(frozen=True)
class TrainingFacts:
    """How a training went; `held_out`: figures on the lines that weights are chosen by."""

    steps: int
    seconds: float
    held_out: Mapping[str, float]
    settings: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class FinetuneRow:
    """One way to train, and the sentences found with it in the groups "trained", "unseen" and "others".

    `target`: sentences of the target found by two thirds of their words, and word similarity.
    """

    variant: str
    lines: int | None
    groups: Mapping[str, Group]
    target: Mapping[str, float] = dataclasses.field(default_factory=dict)
    training: TrainingFacts | None = None
    seconds: float = 0.0


def variants(lines: int, curve: Sequence[int]) -> list[Variant]:
    """What the table compares: recipes on `lines` lines of each language, then two of them over numbers of lines."""
    alone = {"word_ot": {"span": "sentence"}, "anchor": 1.0}
    found = [
        Variant("best", PRESETS["best"], lines),
        Variant("WordOT", PRESETS["wordot"], lines),
        Variant("SubOT", PRESETS["subot"], lines),
        Variant("L2", PRESETS["l2"], lines),
        Variant("WordOT, languages mixed", PRESETS["wordot"], lines, {**TRAINING, "mixed": True}),
        Variant("WordOT, one transport a sentence, mean drift", alone, lines),
    ]
    for size in curve:
        if size != lines:
            found += [Variant("best", PRESETS["best"], size), Variant("WordOT", PRESETS["wordot"], size)]
    return found


def split_texts(texts: Mapping[str, ParallelText], *, test: int = TEST, valid: int = VALID) -> dict[str, Split]:
    """Lines by the hash of their target side, so that languages are tested on much the same sentences.

    A target sentence that any language is tested on, or weights are chosen by, is learned from in none. Lines of one
    pair that stand twice count once; very long ones are left out.

    >>> text = ParallelText("de", "en", ("eins", "zwei", "drei", "vier"), ("one", "two", "three", "four"))
    >>> split = split_texts({"de": text}, test=1, valid=1)["de"]
    >>> len(split.train), len(split.valid), len(split.test)
    (2, 1, 1)
    """
    ordered: dict[str, list[tuple[str, str]]] = {}
    held: set[str] = set()
    for lang, text in texts.items():
        pairs = [
            pair
            for pair in dict.fromkeys(text)
            if all(side.strip() for side in pair) and max(len(side.split()) for side in pair) <= LONGEST
        ]
        ordered[lang] = sorted(pairs, key=lambda pair: (_hash(pair[1]), _hash(pair[0])))
        held.update(tgt for _, tgt in ordered[lang][: test + valid])
    found = {}
    for lang, text in texts.items():
        first, rest = ordered[lang][: test + valid], ordered[lang][test + valid :]
        # In another order than by hash, which held sentences went by.
        learned = sorted((pair for pair in rest if pair[1] not in held), key=lambda pair: _hash("\n".join(pair)))
        parts = (learned, first[test:], first[:test])
        found[lang] = Split(*(_text(text, part) for part in parts))
    return found


def finetune_table(
    encoder: str,
    output: Path,
    chosen: Sequence[Variant],
    *,
    trained: Sequence[str] = TRAINED,
    unseen: Sequence[str] = UNSEEN,
    target: str = "en",
    others: Mapping[str, ParallelText] | None = None,
    test: int = TEST,
    valid: int = VALID,
    seed: int = 0,
    load: Callable[[str], ParallelText] | None = None,
    watch: Callable[[StepRecord], None] = lambda record: None,
    tell: Callable[[str], None] = lambda line: None,
    progress: Progress = silent,
) -> list[FinetuneRow]:
    """A row for the encoder as it comes, one for Procrustes maps, one for each variant.

    Args:
        others: text of another domain to test on, by language.
        load: brings another text than the catalogue's for a language.
        watch, tell: see `Trainer`.
    """
    if is_aligned_folder(Path(encoder)):
        raise ConfigError("is aligned already", where=encoder)
    bring = load or (lambda lang: catalogue.load_parallel(lang, target, progress=progress))
    splits = split_texts({lang: bring(lang) for lang in (*trained, *unseen)}, test=test, valid=valid)
    groups = {
        name: {lang: splits[lang].test for lang in langs} for name, langs in (("trained", trained), ("unseen", unseen))
    }
    tests = _Tests({**groups, "others": others or {}}, seed)
    most = max(one.lines for one in chosen)
    bare = Encoder(encoder, cache=output / "cache", progress=progress)
    base = [bare.model.fingerprint(), [[text_key(one.test), text_key(one.train)] for one in splits.values()], seed]

    def row(name: str, parts: Sequence[Any], make: Callable[[], FinetuneRow]) -> FinetuneRow:
        key = run_key(*parts, *base, tests.key())
        return kept(output / "runs" / f"{slug(name)}.json", key, FinetuneRow, timed(make))

    rows = [
        row("as it comes", ["as it comes"], lambda: tests.row(bare, "as it comes", None)),
        row("Procrustes maps", ["Procrustes maps", most], lambda: _mapped(bare, splits, most, tests, progress)),
    ]
    for number, variant in enumerate(chosen, start=1):
        name = f"{variant.name}, {variant.lines}"
        folder = output / "models" / slug(name)
        tell(f"{name} lines, {number} of {len(chosen)}")
        learned = {lang: splits[lang] for lang in trained}
        make = functools.partial(_trained, encoder, folder, variant, learned, tests, watch)
        rows.append(row(name, [dataclasses.asdict(variant)], make))
        # Not before the figures are kept: a table that is killed while it tests need not train again.
        shutil.rmtree(folder / RUN / "checkpoints", ignore_errors=True)
    return rows


@dataclasses.dataclass(frozen=True, eq=False)
class _Tests:
    """What every row is measured on: texts by group and language."""

    groups: Mapping[str, Mapping[str, ParallelText]]
    seed: int

    def key(self) -> str:
        return run_key(
            {group: {lang: text_key(one) for lang, one in texts.items()} for group, texts in self.groups.items()}
        )

    def row(self, encoder: Encoder, name: str, lines: int | None, training: TrainingFacts | None = None) -> FinetuneRow:
        """Sentences found in each language and in each other text, and what the target language's vectors are worth."""
        # Languages share most of their target sentences: each is encoded once.
        targets = list(
            dict.fromkeys(one for texts in self.groups.values() for text in texts.values() for one in text.tgt)
        )
        places = {one: number for number, one in enumerate(targets)}
        encoded = encoder.sentences(targets)
        found = {
            group: {
                lang: self.retrieval(encoder.sentences(text.src), encoded[[places[one] for one in text.tgt]], text)
                for lang, text in texts.items()
            }
            for group, texts in self.groups.items()
        }
        return FinetuneRow(name, lines, found, self._target(encoder), training)

    def retrieval(self, X: FloatMatrix, Y: FloatMatrix, text: ParallelText) -> dict[str, Found]:
        """By cosine and by CSLS."""
        found = {}
        for score in ("cosine", "csls"):
            both, there, _ = tatoeba(X, Y, score=score, sentences=(text.src, text.tgt), seed=self.seed)
            found[score] = Found(there.value, there.interval or (math.nan, math.nan), both.value)
        return found

    def _target(self, encoder: Encoder) -> dict[str, float]:
        """Of the target language alone: sentences found by two thirds of their words, and word similarity."""
        text = next(text for texts in self.groups.values() for text in texts.values())
        sentences = list(dict.fromkeys(one for one in text.tgt if len(one.split()) >= 6))
        cut = [" ".join(word for i, word in enumerate(one.split()) if i % 3 != 2) for one in sentences]
        found = {
            "sentences": tatoeba(encoder.sentences(cut), encoder.sentences(sentences), bootstrap=0)["P@1 src->tgt"],
        }
        for name in ("simlex-999", "wordsim-353"):
            try:
                pairs = similarity_set(name)
            except MissingExtraError:
                continue
            words = sorted({word for pair in pairs for word in (pair.word1, pair.word2)})
            results = similarity(pairs, encode_words(encoder, words), bootstrap=0)
            found[name] = results["Spearman"]
        return found


def _mapped(
    encoder: Encoder, splits: Mapping[str, Split], lines: int, tests: _Tests, progress: Progress
) -> FinetuneRow:
    """Sentence-level Procrustes maps, one for each language trained on; languages without a map have no figures."""
    found: dict[str, dict[str, dict[str, Found]]] = {"trained": {}, "unseen": {}, "others": {}}
    for lang in tests.groups["trained"]:
        text = _first(splits[lang].train, lines)
        aligned = align_encoder(encoder, text, aligner("procrustes"), level="sentence", progress=progress)
        for group in ("trained", "others"):
            one = tests.groups[group].get(lang)
            if one is not None:
                src, tgt = aligned.languages
                X, Y = aligned.sentences(one.src, src), aligned.sentences(one.tgt, tgt)
                found[group][lang] = tests.retrieval(X, Y, one)
    return FinetuneRow("Procrustes maps", lines, found)


def _trained(
    encoder: str,
    folder: Path,
    variant: Variant,
    splits: Mapping[str, Split],
    tests: _Tests,
    watch: Callable[[StepRecord], None],
) -> FinetuneRow:
    """Train the encoder, keep it in the folder, and test it."""
    corpora = []
    for lang, split in splits.items():
        train, valid = _first(split.train, variant.lines), split.valid
        src, tgt = [*train.src, *valid.src], [*train.tgt, *valid.tgt]
        corpora.append(open_corpus(src, tgt, lang, train.tgt_lang, held_out=len(valid)))
    settings = TrainingSettings(**{"evaluate_every": 10**9, **variant.settings, "seed": tests.seed})
    model = Encoder(encoder, dtype="float32", layer=settings.layer)
    evaluation = Evaluation(corpora)
    evaluation.remember(model)
    objectives = parse_recipe(variant.objectives)
    trainer = Trainer(model, corpora, objectives, settings, folder / RUN, evaluate=evaluation, watch=watch)
    outcome = trainer.run()
    save_encoder(model, folder)
    seconds = round(outcome.seconds, 1)
    facts = TrainingFacts(outcome.steps, seconds, dict(outcome.after), dataclasses.asdict(settings))
    return tests.row(model, variant.name, variant.lines, facts)


def _first(text: ParallelText, lines: int) -> ParallelText:
    return dataclasses.replace(text, src=text.src[:lines], tgt=text.tgt[:lines])


def _text(text: ParallelText, pairs: Sequence[tuple[str, str]]) -> ParallelText:
    return dataclasses.replace(text, src=tuple(src for src, _ in pairs), tgt=tuple(tgt for _, tgt in pairs))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
