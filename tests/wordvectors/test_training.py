"""Whole training runs: they repeat, go on after a kill, and learn what another library learns."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from isoglot.checkpoints import Checkpoint
from isoglot.errors import ConfigError, InputError
from isoglot.wordvectors import (
    Corpus,
    CorpusSettings,
    TextFile,
    Training,
    estimate,
    remove_work,
    train,
    train_texts,
    training,
    translations_of,
)

SMALL = Training(dim=12, epochs=2, sample=1e-2, subwords=False)


def latent_fit(vectors, corpus, texts):
    """How well similarities of two languages' vectors agree over translation pairs: needs good vectors in both."""
    rows = {word: i for i, word in enumerate(corpus.words)}
    own = [(a, b) for a, b in texts.lexicon if a != b and a in rows and b in rows]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sides = [unit[[rows[pair[k]] for pair in own]] for k in (0, 1)]
    upper = np.triu_indices(len(own), 1)
    return np.corrcoef(*[(side @ side.T)[upper] for side in sides])[0, 1]


def test_a_seed_repeats_exactly_with_one_thread(corpus):
    first, again = (train(corpus, SMALL, threads=1) for _ in range(2))
    assert (first == again).all()
    assert (first != train(corpus, dataclasses.replace(SMALL, seed=1), threads=1)).any()


def test_two_threads_learn_as_much_as_one(corpus, texts):
    one, two = (train(corpus, Training(dim=24, sample=1e-2, subwords=False), threads=n) for n in (1, 2))
    assert latent_fit(two, corpus, texts) == pytest.approx(latent_fit(one, corpus, texts), abs=0.05)


@pytest.mark.parametrize(
    "settings",
    [{}, {"subwords": True}, {"model": "cbow", "epochs": 10}, {"model": "cbow", "subwords": True, "epochs": 10}],
)
def test_vectors_are_as_good_as_those_of_another_library(corpus, texts, settings):
    from gensim.models import FastText, Word2Vec

    ours = train(corpus, Training(dim=24, sample=1e-2, **{"subwords": False, **settings}), threads=1)
    sentences = [line.split() for line in (*texts.src, *texts.tgt)]
    common = {
        "vector_size": 24, "window": 5, "min_count": 5, "sg": int(settings.get("model") != "cbow"), "negative": 5,
        "ns_exponent": 0.5, "sample": 1e-2, "alpha": 0.05, "epochs": settings.get("epochs", 5), "workers": 1, "seed": 1,
    }  # fmt: skip
    if settings.get("subwords"):
        theirs = FastText(sentences, min_n=3, max_n=6, bucket=20_000, **common)
    else:
        theirs = Word2Vec(sentences, **common)
    reference = np.stack([theirs.wv[word] for word in corpus.words])
    fit = latent_fit(ours, corpus, texts)
    assert fit > 0.3  # vectors that say nothing give 0
    assert fit > latent_fit(reference, corpus, texts) - 0.05


class Killed(Exception):
    pass


@pytest.mark.parametrize("settings", [SMALL, dataclasses.replace(SMALL, subwords=True)])
def test_a_killed_run_goes_on_and_ends_like_an_unbroken_one(corpus, tmp_path, monkeypatch, settings):
    monkeypatch.setattr(Checkpoint, "seconds", 0.0)
    monkeypatch.setattr(training, "_SLICE", corpus.total // 4)
    whole = train(corpus, settings, threads=1)

    def kill(step, done, total):
        if done > 0.6 * total:
            raise Killed

    with pytest.raises(Killed):
        train(corpus, settings, threads=1, checkpoint=tmp_path / "state", progress=kill)
    told = []
    resumed = train(corpus, settings, threads=1, checkpoint=tmp_path / "state", resumed=told.append)
    assert told == ["training resumes in epoch 2 of 2, at 0%"]
    assert (resumed == whole).all()
    assert not (tmp_path / "state").exists()


def test_another_run_does_not_go_on_from_it(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "seconds", 0.0)

    def kill(step, done, total):
        if done > 0.6 * total:
            raise Killed

    with pytest.raises(Killed):
        train(corpus, SMALL, threads=1, checkpoint=tmp_path / "state", progress=kill)
    with pytest.raises(InputError, match="different data or settings"):
        train(corpus, dataclasses.replace(SMALL, window=3), threads=1, checkpoint=tmp_path / "state")


def test_finished_vectors_are_reopened(files, tmp_path):
    told = []
    first = train_texts(files, tmp_path, CorpusSettings(), SMALL, threads=1, tell=told.append)
    assert told == []
    again = train_texts(files, tmp_path, CorpusSettings(), SMALL, threads=1, tell=told.append)
    assert "finished earlier" in told[0]
    assert (again.vectors == first.vectors).all()
    data = bytearray((tmp_path / "vectors.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "vectors.safetensors").write_bytes(data)
    anew = train_texts(files, tmp_path, CorpusSettings(), SMALL, threads=1, tell=told.append)
    assert len(told) == 1
    assert (anew.vectors == first.vectors).all()
    other = train_texts(files, tmp_path, CorpusSettings(), dataclasses.replace(SMALL, seed=3), threads=1)
    assert (other.vectors != first.vectors).any()


def test_translations_in_training_bring_languages_together(files, corpus, texts, lexicons, tmp_path):
    """Held-out translations lie closer when the others are swapped or predicted during training."""
    taught, held = lexicons
    apart = Corpus.build(files, tmp_path / "apart", CorpusSettings(apart=True))
    plain = train(corpus, Training(dim=24, sample=1e-2, subwords=False), threads=1)
    table = translations_of(corpus, {("north", "south"): taught})
    swapped = train(corpus, Training(dim=24, sample=1e-2, subwords=False, replace=0.5), translations=table, threads=1)
    cbow = Training(dim=24, sample=1e-2, subwords=False, model="cbow", epochs=20)
    alone = train(apart, cbow, threads=1)
    table = translations_of(apart, {("north", "south"): taught})
    supervised = train(apart, dataclasses.replace(cbow, translate=True), translations=table, threads=1)

    def closeness(vectors, of):
        rows = [{of.words[i]: i for i in np.flatnonzero(of.counts[:, k] > of.counts[:, 1 - k])} for k in (0, 1)]
        pairs = [(rows[0][a], rows[1][b]) for a, b in held if a in rows[0] and b in rows[1]]
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        similar = unit[[a for a, _ in pairs]] @ unit[[b for _, b in pairs]].T
        return np.diag(similar).mean() - similar.mean()

    assert closeness(swapped, corpus) > closeness(plain, corpus) + 0.05
    assert closeness(supervised, apart) > closeness(alone, apart) + 0.05


def test_settings_are_checked(corpus):
    for wrong in (
        {"model": "glove"}, {"dim": 0}, {"epochs": 0}, {"replace": 1.5}, {"rate": -1.0}, {"shortest": 4, "longest": 3},
        {"translate": True}, {"seed": -1},
    ):  # fmt: skip
        with pytest.raises(ConfigError):
            Training(**wrong)
    with pytest.raises(ConfigError, match="lexicon"):
        train(corpus, dataclasses.replace(SMALL, replace=0.5))


def test_the_cost_is_told_beforehand(files, corpus):
    cost = estimate(files, CorpusSettings(), SMALL, threads=1)
    assert cost.running_words == {"north": 40_000, "south": 40_000}
    assert cost.minutes == pytest.approx(2 * 80_000 / cost.words_per_second / 60)


def test_the_cost_counts_lines_that_are_repeated(files, texts, tmp_path):
    (tmp_path / "half.txt").write_text("".join(f"{line}\n" for line in texts.src[:2000]), "utf-8")
    half = [TextFile("north", tmp_path / "half.txt"), files[1]]
    cost = estimate(half, CorpusSettings(lines_of="south"), SMALL, threads=1)
    assert cost.running_words == {"north": 20_000, "south": 40_000}
    assert cost.minutes == pytest.approx(2 * 80_000 / cost.words_per_second / 60)


def test_only_our_own_work_is_removed(files, tmp_path, killed_name):
    train_texts(files, tmp_path / "work", CorpusSettings(), SMALL, threads=1)
    (tmp_path / "work" / killed_name("training.checkpoint")).write_text("half a state")
    (tmp_path / "work" / "notes.txt").write_text("mine")
    remove_work(tmp_path / "work")
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["notes.txt"]
    (tmp_path / "work" / "notes.txt").unlink()
    remove_work(tmp_path / "work")
    assert not (tmp_path / "work").exists()
