"""`fit_head`: a head for a task, on an encoder that stays as it is or learns with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigError
from isoglot.progress import Progress, silent
from isoglot.transfer.by_language import LanguageVectors
from isoglot.transfer.feature_store import FeatureStore
from isoglot.transfer.head import Head, Score, check_training
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.vectors import EncoderVectors, Source, TextVectors, check_source, open_vectors


def fit_head(
    task: str,
    encoder: Source | Mapping[str, Source],
    train: Sequence[Any],
    dev: Sequence[Any],
    score: Score,
    settings: HeadSettings | None = None,
    *,
    lang: str = "en",
    seed: int = 0,
    cache: str | Path | None = None,
    progress: Progress = silent,
) -> Head:
    """Train a head.

    Args:
        task: "nli" (pairs of sentences), "ner", "pos" (tagged sentences) or "qa" (questions).
        encoder: an encoder, aligned encoder, aligned spaces or Space, or where one of these lies. Static vectors and
            aligned encoders can only be frozen. Or one for each language, with "*" for those not named: the head learns
            on that of `lang` and answers on that of each other language.
        score: the figure that chooses the epoch, of `dev` and what the head makes of it.
        lang: the language of `train` and `dev`.
        cache: where a frozen encoder's vectors are kept; without it they stay in memory.
    """
    settings = settings or HeadSettings()
    check_training(task, train, dev, where=("train", "dev"))
    vectors: TextVectors
    if isinstance(encoder, Mapping):
        for one in encoder.values():
            check_source(one, settings)
        vectors = LanguageVectors("encoder", encoder, settings, progress=progress)
    else:
        check_source(encoder, settings)
        vectors = open_vectors(encoder, settings, progress=progress)
    head = new_head(task, vectors, settings, FeatureStore(vectors, None if cache is None else Path(cache)), lang)
    head.fit(train, dev, lang, score, seed, progress=progress)
    return head


def new_head(task: str, vectors: TextVectors, settings: HeadSettings, store: FeatureStore, lang: str) -> Head:
    """A head that is not trained yet; `lang` is the language that it will be trained on."""
    if settings.weights == "frozen":
        from isoglot.transfer.frozen import PairHead, SpanHead, TagHead

        kinds: dict[str, Any] = {"nli": PairHead, "ner": TagHead, "pos": TagHead, "qa": SpanHead}
        frozen: Head = kinds[task](store, dataclasses.replace(settings, tagger=settings.tagger_of(task)))
        return frozen
    if isinstance(vectors, LanguageVectors) and settings.weights == "all" and len(vectors.sources) > 1:
        what = "weights that were all trained on one encoder cannot be moved to another"
        raise ConfigError(what, where=vectors.name, remedy="set `weights` to lora or frozen")
    own = vectors.vectors(lang) if isinstance(vectors, LanguageVectors) else vectors
    if not isinstance(own, EncoderVectors):
        raise ConfigError("cannot be trained", where=vectors.name, remedy="set `weights` to frozen")
    from isoglot.transfer.tuned import TunedPairHead, TunedSpanHead, TunedTagHead

    kinds = {"nli": TunedPairHead, "ner": TunedTagHead, "pos": TunedTagHead, "qa": TunedSpanHead}
    tuned: Head = kinds[task](own.encoder, settings, vectors)
    return tuned
