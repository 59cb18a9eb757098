"""What runs keep for their own resumption: corpora, chosen sentences, checkpoints, finished vectors, encoder caches."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from isoglot.aligners import aligner
from isoglot.checkpoints import Checkpoint
from isoglot.distill import DistillSettings, Sentences
from isoglot.distill.one_pass import _finished as finished_distilling
from isoglot.distill.shards import read_shard, shard_bounds, shuffled_units
from isoglot.encoders.cache import VectorCache
from isoglot.finetuning.run_log import cut_log
from isoglot.pipelines import compare
from isoglot.simulate import simulate_pair, simulate_texts
from isoglot.verified import digest_of_array
from isoglot.wordvectors import Corpus, CorpusSettings, TextFile, Training, train
from isoglot.wordvectors.work_folder import _finished as finished_training

from .target import Unsound, check_finite, check_text, target

CORPUS = CorpusSettings(min_count=1, segmenter="spaces")
JOINT = Training(dim=4, epochs=1, sample=1e-2, subwords=False)
DISTILL = DistillSettings(min_count=1, min_tokens=2, min_sentences=1, segmenter="spaces")


def _texts(folder: Path) -> list[TextFile]:
    return [TextFile(lang, folder / f"{lang}.txt") for lang in ("north", "south")]


def _make_corpus(folder: Path) -> None:
    simulate_texts(40, 20, shared=3).save(folder)
    Corpus.build(_texts(folder), folder / "corpus", CORPUS)


def _read_corpus(folder: Path) -> None:
    """Training reads the token numbers without checks, in compiled code: wrong ones would read foreign memory."""
    corpus = Corpus.load(folder / "corpus")
    check_text(corpus.words)
    vectors = train(corpus, JOINT, threads=1)
    check_finite(vectors)
    if len(vectors) != len(corpus.words):
        raise Unsound("another number of vectors than of words")


target("joint-corpus", "folders", _make_corpus, _read_corpus, warm=True, victims=("corpus/*",))


def _read_corpus_again(folder: Path) -> Any:
    """Building over a damaged folder either opens it unharmed, or says what is wrong with it."""
    corpus = Corpus.build(_texts(folder), folder / "corpus", CORPUS)
    if not len(corpus.words) == len(corpus.counts) > 0 or corpus.counts.min(initial=0) < 0:
        raise Unsound("counts below zero, or not as many as words")
    tokens = np.asarray(corpus.tokens)
    if tokens.size and (tokens.min() < -1 or tokens.max() >= len(corpus.words)):
        raise Unsound("tokens beyond the vocabulary")
    if (np.diff(corpus.starts) < 0).any() or corpus.starts[0] != 0:
        raise Unsound("lines that begin before the last one")


target("joint-corpus-reopened", "folders", _make_corpus, _read_corpus_again, victims=("corpus/*",))


def _make_sentences(folder: Path) -> None:
    simulate_texts(40, 20, shared=3).save(folder)
    Sentences.build(_texts(folder)[0], folder / "sentences", DISTILL)


def _read_sentences(folder: Path) -> None:
    sentences = Sentences.build(_texts(folder)[0], folder / "sentences", DISTILL)
    check_text(sentences.words)
    units = shuffled_units(sentences, paragraphs=False)
    for begin, end in zip(shard_bounds(sentences, units), shard_bounds(sentences, units)[1:], strict=False):
        shard = read_shard(sentences, units[begin:end])
        if len(shard) and max(map(len, (shard.sentences,))) < 0:
            raise Unsound("no sentences")
    if len(set(sentences.words)) < len(sentences.words) or sentences.counts.min(initial=0) < 0:
        raise Unsound("words that stand twice, or counts below zero")


target("sentences", "folders", _make_sentences, _read_sentences, victims=("sentences/*",))


@cache
def _pair() -> Any:
    return simulate_pair(n_words=60, dim=5, noise=0.2, seed=1)


def _fit(folder: Path) -> Any:
    pair = _pair()
    Checkpoint.seconds = 0.0  # kept as often as it can be, so that there is a state to find
    return aligner("vecmap-semi").fit(pair.src, pair.tgt, pair.lexicon, checkpoint=folder / "run.checkpoint")


def _make_checkpoint(folder: Path) -> None:
    """The state before the last step: it is removed at the end of the fit."""
    kept: list[bytes] = []
    remove = Checkpoint.remove

    def keep(self: Checkpoint) -> None:
        kept.append((folder / "run.checkpoint").read_bytes())
        remove(self)

    Checkpoint.remove = keep  # type: ignore[method-assign]
    try:
        _fit(folder)
    finally:
        Checkpoint.remove = remove  # type: ignore[method-assign]
    (folder / "run.checkpoint").write_bytes(kept[-1])


def _read_checkpoint(folder: Path) -> None:
    alignment = _fit(folder)
    check_finite(*alignment._tensors().values())


target("fit-checkpoint", "folders", _make_checkpoint, _read_checkpoint)


def _save_finished(folder: Path, vectors: npt.NDArray[np.float32]) -> None:
    metadata = {"key": "k", "sha256": digest_of_array(vectors), "figures": '{"words": 20}'}
    save_file({"vectors": vectors}, folder / "v.safetensors", metadata=metadata)


def _make_vectors(folder: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    _save_finished(folder, vectors)
    cache_of = VectorCache(folder / "cache", "model")
    cache_of.put("key", vectors)


def _read_vectors(folder: Path) -> None:
    """Finished vectors of a run with this key, which would be used without a look."""
    for vectors in (
        finished_training(folder / "v.safetensors", "k"),
        VectorCache(folder / "cache", "model").get("key"),
    ):
        if vectors is not None:
            check_finite(vectors)
            if vectors.shape != (20, 4) or vectors.dtype != np.float32:
                raise Unsound(f"vectors of shape {vectors.shape} and type {vectors.dtype}")


target("finished-vectors", "folders", _make_vectors, _read_vectors)


def _make_distilled(folder: Path) -> None:
    _make_sentences(folder)
    sentences = Sentences.load(folder / "sentences")
    vectors = np.random.default_rng(0).normal(size=(len(sentences.words), 4)).astype(np.float32)
    _save_finished(folder, vectors)


def _read_distilled(folder: Path) -> None:
    found = finished_distilling(folder / "v.safetensors", "k", Sentences.load(folder / "sentences"))
    if found is not None:
        check_finite(found.space.vectors)
        dict(found.figures)


target("finished-distilling", "folders", _make_distilled, _read_distilled, victims=("v.safetensors",))


def _compare(folder: Path) -> Any:
    return compare(_pair().src, _pair().tgt, _pair().lexicon, ["procrustes", "identity"], folder=folder / "runs")


def _read_comparison(folder: Path) -> None:
    """Records of finished runs: a damaged one is measured again, or refused."""
    outcome = _compare(folder)
    for row in outcome.rows:
        check_finite(row.mean, *row.values)
        if row.mean is not None and not 0 <= row.mean <= 1:
            raise Unsound("a share above one or below zero")
    json.dumps(outcome.record(), allow_nan=False)


target("comparison", "folders", lambda folder: (_compare(folder), None)[1], _read_comparison)


def _make_log(folder: Path) -> None:
    lines = "".join(f'{{"step": {i}, "loss": 0.5, "terms": {{"l2": 0.5}}}}\n' for i in range(1, 9))
    (folder / "log.jsonl").write_text(lines, "utf-8")


target("training-log", "folders", _make_log, lambda folder: cut_log(folder, 5))
