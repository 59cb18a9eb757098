"""One table: an encoder as it comes, mapped, and trained by several recipes, all tested on the same lines.

Tested are the languages trained on, languages that were not, another domain if its text is given, and what became of
the target language itself. Each run and its figures are kept in the output folder, so that a killed table goes on.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
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
from isoglot.resumable import kept_or_measured, run_key
from isoglot.spaces import FloatMatrix
from isoglot.tasks import encode_words, similarity, similarity_set, tatoeba
from isoglot.text import ParallelText

__all__ = ["TRAINED", "UNSEEN", "Split", "Variant", "finetune_table", "split_texts", "variants"]

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


def variants(lines: int, curve: Sequence[int]) -> list[Variant]:
    """What the table compares: recipes on `lines` lines of each language, then two of them over numbers of lines."""
    batch = {"word_ot": {"span": "batch"}, "anchor": 1.0}
    found = [
        Variant("best", PRESETS["best"], lines),
        Variant("WordOT", PRESETS["wordot"], lines),
        Variant("SubOT", PRESETS["subot"], lines),
        Variant("L2", PRESETS["l2"], lines),
        Variant("WordOT, one transport a batch, languages apart", batch, lines),
        Variant("WordOT, one transport a batch, languages mixed", batch, lines, {**TRAINING, "mixed": True}),
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
) -> list[dict[str, Any]]:
    """A record for the encoder as it comes, one for Procrustes maps, one for each variant.

    Args:
        others: text of another domain to test on, by language.
        load: brings another text than the catalogue's for a language.
        watch, tell: see `Trainer`.
    """
    if is_aligned_folder(Path(encoder)):
        raise ConfigError("is aligned already", where=encoder)
    bring = load or (lambda lang: catalogue.load_parallel(lang, target, progress=progress))
    splits = split_texts({lang: bring(lang) for lang in (*trained, *unseen)}, test=test, valid=valid)
    tests = _Tests({lang: one.test for lang, one in splits.items()}, dict(others or {}), seed)
    most = max(one.lines for one in chosen)
    bare = Encoder(encoder, cache=output / "cache", progress=progress)
    base = [bare.model.fingerprint(), [[_digest(one.test), _digest(one.train)] for one in splits.values()], seed]
    records = []
    for name, lines, measured in (
        ("as it comes", None, lambda: tests.figures(bare, trained, unseen)),
        ("Procrustes maps", most, lambda: _mapped(bare, splits, trained, most, tests, progress)),
    ):
        key = run_key(name, *base, tests.digest, lines)
        facts = {"variant": name, "lines": lines}
        records.append(kept_or_measured(output / "runs" / f"{_slug(name)}.json", key, facts, measured))
    for number, variant in enumerate(chosen, start=1):
        name = f"{variant.name}, {variant.lines}"
        tell(f"{name} lines, {number} of {len(chosen)}")

        def measured(variant: Variant = variant, folder: Path = output / "models" / _slug(name)) -> dict[str, Any]:
            model, facts = _trained(encoder, folder, variant, {lang: splits[lang] for lang in trained}, seed, watch)
            return tests.figures(model, trained, unseen) | facts

        key = run_key(dataclasses.asdict(variant), *base, tests.digest)
        facts = {"variant": variant.name, "lines": variant.lines}
        records.append(kept_or_measured(output / "runs" / f"{_slug(name)}.json", key, facts, measured))
        # Not before the figures are kept: a table that is killed while it tests need not train again.
        shutil.rmtree(output / "models" / _slug(name) / RUN / "checkpoints", ignore_errors=True)
    return records


class _Tests:
    """What every row is measured on."""

    def __init__(self, texts: Mapping[str, ParallelText], others: Mapping[str, ParallelText], seed: int) -> None:
        self._texts, self.others, self._seed = texts, others, seed
        self.digest = run_key(*(_digest(text) for text in (*texts.values(), *others.values())))

    def figures(self, encoder: Encoder, trained: Sequence[str], unseen: Sequence[str]) -> dict[str, Any]:
        """Sentences found in each language and in each other text, and what the target language's vectors are worth."""
        groups = {
            "trained": {lang: self._texts[lang] for lang in trained},
            "unseen": {lang: self._texts[lang] for lang in unseen},
            "others": self.others,
        }
        # Languages share most of their target sentences: each is encoded once.
        targets = list(dict.fromkeys(one for texts in groups.values() for text in texts.values() for one in text.tgt))
        places = {one: number for number, one in enumerate(targets)}
        encoded = encoder.sentences(targets)
        found: dict[str, Any] = {
            group: {
                lang: self.retrieval(encoder.sentences(text.src), encoded[[places[one] for one in text.tgt]], text)
                for lang, text in texts.items()
            }
            for group, texts in groups.items()
        }
        return found | {"target": self._target(encoder)}

    def retrieval(self, X: FloatMatrix, Y: FloatMatrix, text: ParallelText) -> dict[str, Any]:
        """P@1 towards the target language, and the mean of both directions, by cosine and by CSLS."""
        found: dict[str, Any] = {}
        for score in ("cosine", "csls"):
            both, there, _ = tatoeba(X, Y, score=score, sentences=(text.src, text.tgt), seed=self._seed)
            low, high = there.interval or (math.nan, math.nan)
            found[score] = {"to target": there.value, "interval": [low, high], "both": both.value}
        return found

    def _target(self, encoder: Encoder) -> dict[str, float]:
        """Of the target language alone: sentences found by two thirds of their words, and word similarity."""
        text = next(iter(self._texts.values()))
        sentences = list(dict.fromkeys(one for one in text.tgt if len(one.split()) >= 6))
        cut = [" ".join(word for i, word in enumerate(one.split()) if i % 3 != 2) for one in sentences]
        found = {
            "sentences": tatoeba(encoder.sentences(cut), encoder.sentences(sentences), bootstrap=0)[1].value,
        }
        for name in ("simlex-999", "wordsim-353"):
            try:
                pairs = similarity_set(name)
            except MissingExtraError:
                continue
            words = sorted({word for pair in pairs for word in (pair.word1, pair.word2)})
            results = similarity(pairs, encode_words(encoder, words), bootstrap=0)
            found[name] = next(one.value for one in results if one.metric == "Spearman")
        return found


def _mapped(
    encoder: Encoder, splits: Mapping[str, Split], trained: Sequence[str], lines: int, tests: _Tests, progress: Progress
) -> dict[str, Any]:
    """Sentence-level Procrustes maps, one for each language; languages without a map have no figures."""
    found: dict[str, Any] = {"trained": {}, "unseen": {}, "others": {}}
    for lang in trained:
        text = _first(splits[lang].train, lines)
        aligned = align_encoder(encoder, text, aligner("procrustes"), level="sentence", progress=progress)
        for group, one in (("trained", splits[lang].test), ("others", tests.others.get(lang))):
            if one is not None:
                src, tgt = aligned.languages
                X, Y = aligned.sentences(one.src, src), aligned.sentences(one.tgt, tgt)
                found[group][lang] = tests.retrieval(X, Y, one)
    return found


def _trained(
    encoder: str,
    folder: Path,
    variant: Variant,
    splits: Mapping[str, Split],
    seed: int,
    watch: Callable[[StepRecord], None],
) -> tuple[Encoder, dict[str, Any]]:
    """The encoder after training, which is kept in the folder, and how that went."""
    corpora = []
    for lang, split in splits.items():
        train, valid = _first(split.train, variant.lines), split.valid
        src, tgt = [*train.src, *valid.src], [*train.tgt, *valid.tgt]
        corpora.append(open_corpus(src, tgt, lang, train.tgt_lang, held_out=len(valid)))
    settings = TrainingSettings(**{"evaluate_every": 10**9, **variant.settings, "seed": seed})
    model = Encoder(encoder, dtype="float32", layer=settings.layer)
    evaluation = Evaluation(corpora)
    evaluation.remember(model)
    objectives = parse_recipe(variant.objectives)
    trainer = Trainer(model, corpora, objectives, settings, folder / RUN, evaluate=evaluation, watch=watch)
    outcome = trainer.run()
    save_encoder(model, folder)
    return model, {
        "steps": outcome.steps,
        "training_seconds": round(outcome.seconds, 1),
        "held_out": dict(outcome.after),
        "settings": dataclasses.asdict(settings),
    }


def _first(text: ParallelText, lines: int) -> ParallelText:
    return dataclasses.replace(text, src=text.src[:lines], tgt=text.tgt[:lines])


def _text(text: ParallelText, pairs: Sequence[tuple[str, str]]) -> ParallelText:
    return dataclasses.replace(text, src=tuple(src for src, _ in pairs), tgt=tuple(tgt for _, tgt in pairs))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digest(text: ParallelText) -> str:
    return _hash(json.dumps([text.src, text.tgt]))[:16]


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
