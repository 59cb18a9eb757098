"""`fit_head`: a head for a task, on an encoder that stays as it is or learns with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigError
from isoglot.progress import Progress, silent
from isoglot.transfer.feature_store import FeatureStore
from isoglot.transfer.head import Head, Score, check_training
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.vectors import EncoderVectors, Source, TextVectors, check_source, open_vectors


def fit_head(
    task: str,
    encoder: Source,
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
            aligned encoders can only be frozen.
        score: the figure that chooses the epoch, of `dev` and what the head makes of it.
        lang: the language of `train` and `dev`.
        cache: where a frozen encoder's vectors are kept; without it they stay in memory.
    """
    settings = settings or HeadSettings()
    check_training(task, train, dev, where=("train", "dev"))
    check_source(encoder, settings)
    vectors = open_vectors(encoder, settings, progress=progress)
    head = new_head(task, vectors, settings, FeatureStore(vectors, None if cache is None else Path(cache)))
    head.fit(train, dev, lang, score, seed, progress=progress)
    return head


def new_head(task: str, vectors: TextVectors, settings: HeadSettings, store: FeatureStore) -> Head:
    """A head that is not trained yet."""
    if settings.weights == "frozen":
        from isoglot.transfer.frozen import PairHead, SpanHead, TagHead

        kinds: dict[str, Any] = {"nli": PairHead, "ner": TagHead, "pos": TagHead, "qa": SpanHead}
        frozen: Head = kinds[task](store, dataclasses.replace(settings, tagger=settings.tagger_of(task)))
        return frozen
    if not isinstance(vectors, EncoderVectors):
        raise ConfigError("cannot be trained", where=vectors.name, remedy="set `weights` to frozen")
    from isoglot.transfer.tuned import TunedPairHead, TunedSpanHead, TunedTagHead

    kinds = {"nli": TunedPairHead, "ner": TunedTagHead, "pos": TunedTagHead, "qa": TunedSpanHead}
    tuned: Head = kinds[task](vectors.encoder, settings)
    return tuned
