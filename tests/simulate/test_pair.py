"""The generated languages have the properties they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError
from isoglot.lexicons import identical_strings, numerals
from isoglot.simulate import simulate_pair


@settings(max_examples=15, deadline=None)
@given(
    n_words=st.integers(10, 300),
    dim=st.integers(2, 30),
    seed=st.integers(0, 2**32),
    untranslated=st.floats(0.2, 0.9),
    identical=st.floats(0, 1),
)
def test_without_noise_the_rotation_maps_every_pair_exactly(
    n_words: int, dim: int, seed: int, untranslated: float, identical: float
) -> None:
    pair = simulate_pair(n_words, dim, 0.0, seed, untranslated=untranslated, identical=identical)
    assert np.allclose(pair.rotation.T @ pair.rotation, np.eye(dim), atol=1e-5)
    indices = pair.lexicon.indices(pair.src, pair.tgt)
    assert len(indices) == len(pair.lexicon)
    assert len(pair.lexicon.by_source) == round(n_words * (1 - untranslated))
    turned = pair.src.vectors[indices[:, 0]] @ pair.rotation
    assert np.allclose(turned, pair.tgt.vectors[indices[:, 1]], atol=1e-4)
    assert len(set(pair.src.words)) == len(set(pair.tgt.words)) == n_words


def test_the_seed_decides_everything() -> None:
    first, again, other = (simulate_pair(300, 10, seed=seed) for seed in (3, 3, 4))
    assert first.src.fingerprint() == again.src.fingerprint()
    assert first.tgt.fingerprint() == again.tgt.fingerprint()
    assert first.lexicon == again.lexicon
    assert first.src.fingerprint() != other.src.fingerprint()


def test_words_are_distributed_as_in_real_languages() -> None:
    pair = simulate_pair(2000, 50, seed=1)
    for space in (pair.src, pair.tgt):
        assert space.counts is not None
        assert (np.diff(space.counts) <= 0).all()
        assert space.counts[0] > 100 * space.counts[500]
        lengths = [len(word) for word in space.words]
        assert np.mean(lengths[:50]) < np.mean(lengths[-500:]) - 1
        unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
        assert np.linalg.norm(unit.mean(axis=0)) > 0.2
        spectrum = np.linalg.svd(space.vectors - space.vectors.mean(axis=0), compute_uv=False)
        assert spectrum[0] > 3 * spectrum[-1]
    targets = [len(words) for words in pair.lexicon.by_source.values()]
    assert len(targets) == 1600
    assert targets.count(2) == 160
    shared = identical_strings(pair.src, pair.tgt)
    assert len(shared) == round((1600 - 160) * 0.05)
    assert set(shared.pairs) <= set(pair.lexicon.pairs)
    assert 0 < len(numerals(pair.src, pair.tgt)) < len(shared)


def test_more_noise_moves_translations_further_and_rare_words_most() -> None:
    def distances(noise: float) -> np.ndarray:
        pair = simulate_pair(1000, 30, noise, seed=2, synonyms=0.0)
        indices = pair.lexicon.indices(pair.src, pair.tgt)
        gap = pair.src.vectors[indices[:, 0]] @ pair.rotation - pair.tgt.vectors[indices[:, 1]]
        return np.linalg.norm(gap, axis=1)

    near, far = distances(0.2), distances(0.4)
    assert far.mean() == pytest.approx(2 * near.mean(), rel=1e-3)
    assert near[-200:].mean() > 2 * near[:200].mean()


@pytest.mark.parametrize(
    "settings_",
    [{"n_words": 5}, {"dim": 1}, {"noise": -1.0}, {"untranslated": 1.5}, {"synonyms": 0.5, "untranslated": 0.1}],
)
def test_impossible_settings_are_refused(settings_: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        simulate_pair(**{"n_words": 100, "dim": 5, **settings_})  # type: ignore[arg-type]
