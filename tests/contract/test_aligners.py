"""What every aligner of the table must keep: the checks of `isoglot.testing`, and harder rotations than those."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from isoglot.aligners import Aligner, Alignment, aligner, methods, verdict
from isoglot.errors import ConfigError
from isoglot.spaces import Space
from isoglot.testing import AlignerChecks, precision

NAMES = list(methods())
#: Methods that only shift or scale: they are no attempt at finding a rotation.
NOT_ROTATING = {"identity", "gbdd", "mean-shift", "normalization"}
#: Follows each pair near it, and so the wrong ones as well; made for encoders, where little has to be rotated.
LOCAL = {"anchored-local"}
ROTATING = [name for name in NAMES if name not in NOT_ROTATING | LOCAL]
# The last epoch is kept, not the best: on these easy spaces that is the start, and nothing of the game would be tested.
_GAME: dict[str, Any] = {"couplings": 2, "hidden": 16, "critic": 16, "epochs": 3, "steps": 3, "critic_steps": 1}
_GAME |= {"rate": 1e-4, "select": "last"}
#: These are made for hundreds of dimensions and thousands of words: at their default widths and steps a fit takes from
#: seconds to minutes, and 16 dimensions have no use for that. What is asked of them stays the same.
LIGHT: dict[str, dict[str, Any]] = {
    "realnvp": {"hidden": 16, "epochs": 5},
    # Alone, without a rotation to begin with, it needs more steps.
    "fcnn": {"hidden": 128, "epochs": 60, "rate": 2e-3},
    "residual-network": {"hidden": 32, "epochs": 5},
    "gan-realnvp": _GAME,
    "bootstrap": {**_GAME, "epochs": 1, "rounds": 2},
    "gromov-wasserstein": {"words": 300},
    # Its safe choice gives up some hits on purpose, for text of another kind.
    "anchored": {"choice": "best"},
    "wasserstein-procrustes": {"start_steps": 30, "epochs": 3, "steps": 10},
}


def supervised_by(*kinds: str) -> list[str]:
    return [name for name in ROTATING if methods()[name].method.supervision in kinds]


@pytest.fixture(autouse=True, scope="module")
def short_stages():
    """The critics' head start is most of a small game, the comparison with chance of a small fit without pairs."""
    from isoglot.aligners.flows.networks import critics

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(critics, "CRITIC_START", 10)
        patch.setattr(verdict, "CHANCE_RUNS", 1)
        patch.setattr(verdict, "ROUNDS", 3)
        yield


@functools.cache
def checks(name: str) -> AlignerChecks:
    """One for each method, as its checks share fits."""
    return AlignerChecks(make(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", AlignerChecks.names())
def test_contract(name, check):
    getattr(checks(name), check)()


@pytest.mark.parametrize("name", ROTATING)
def test_finds_a_planted_rotation(name):
    checks(name).finds_a_rotation()


def make(name: str) -> Aligner:
    return aligner(name, **LIGHT.get(name, {}))


def fit(name: str, src: Space, tgt: Space, pairs=None) -> Alignment:
    one = make(name)
    return one.fit(src, tgt, None if one.method.supervision == "unsupervised" else pairs)


def partial_spaces(n: int, noise: float, d: int = 16, seed: int = 0) -> tuple[Space, Space, np.ndarray]:
    """Two languages of n words of which 70% have a counterpart; meanings in a dozen clusters of unequal size.

    Clusters, as word vectors have them, are what methods without pairs go by. The pairs come in random order.
    """
    rng = np.random.default_rng(seed)
    common = round(0.7 * n)
    total = 2 * n - common
    spectrum, share = np.linspace(2, 0.5, d), 1 / np.arange(1, 13)
    centres = rng.normal(size=(12, d))[rng.choice(12, total, p=share / share.sum())]
    meanings = (centres + 0.6 * rng.normal(size=(total, d))) * spectrum + 0.3 * rng.normal(size=d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    # The first meanings have a word on both sides, then come those of the source only and of the target only.
    own, other = rng.permutation(n), rng.permutation(np.r_[:common, n:total])
    X, Y = meanings[own], meanings[other] @ turn + noise * rng.normal(size=(n, d))
    shared = rng.permutation(common)
    rows = [np.argsort(side)[np.searchsorted(np.sort(side), shared)] for side in (own, other)]
    return Space("aa", [f"a{i}" for i in own], X), Space("bb", [f"b{i}" for i in other], Y), np.stack(rows, axis=1)


@pytest.mark.parametrize("name", supervised_by("supervised", "optional"))
@pytest.mark.parametrize(("wrong", "enough"), [(0.02, 0.95), (0.1, 0.95), (0.3, 0.95), (0.5, 0.9)])
def test_recovers_a_rotation_of_partial_vocabularies_despite_wrong_pairs(name, wrong, enough):
    src, tgt, pairs = partial_spaces(n=900, noise=0.15)
    seeds, unseen = pairs[:450].copy(), pairs[450:]
    bad = np.random.default_rng(1).choice(len(seeds), round(wrong * len(seeds)), replace=False)
    seeds[bad, 1] = np.roll(seeds[bad, 1], 1)
    assert (seeds != pairs[:450]).any(axis=1).mean() == pytest.approx(wrong)
    assert precision(fit(name, src, tgt, seeds), src, tgt, unseen) >= enough


@pytest.mark.parametrize("name", supervised_by("unsupervised"))
def test_recovers_a_rotation_of_partial_vocabularies_without_pairs(name):
    src, tgt, pairs = partial_spaces(n=600, noise=0.1)
    assert precision(fit(name, src, tgt), src, tgt, pairs) >= 0.95


@pytest.mark.parametrize("name", supervised_by("optional"))
def test_recovers_a_rotation_of_partial_vocabularies_from_words_spelled_alike(name):
    """Of the words that both sides write alike, a fifth mean something else."""
    src, tgt, pairs = partial_spaces(n=600, noise=0.1)
    alike, unseen = pairs[:100], pairs[100:]
    friends = alike[:, 1].copy()
    friends[:20] = np.roll(friends[:20], 1)
    words = list(tgt.words)
    for row, friend in zip(alike[:, 0], friends, strict=True):
        words[friend] = src.words[row]
    renamed = Space("bb", words, tgt.vectors)
    assert precision(fit(name, src, renamed), src, renamed, unseen) >= 0.95


@pytest.mark.parametrize("name", sorted(NOT_ROTATING))
def test_the_planted_rotation_is_out_of_reach_for_methods_that_do_not_rotate(name):
    """Else the tests above would tell nothing."""
    src, tgt, pairs = partial_spaces(n=600, noise=0.1)
    assert precision(fit(name, src, tgt, pairs), src, tgt, pairs) < 0.1


@pytest.mark.parametrize("name", [name for name in NAMES if methods()[name].presets])
def test_presets_are_settings_that_differ_from_the_defaults(name):
    for preset, settings in methods()[name].presets.items():
        chosen, usual = aligner(name, preset=preset), aligner(name)
        assert {key: getattr(chosen, key) for key in settings} == dict(settings)
        assert all(getattr(usual, key) != value for key, value in settings.items())


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'procrustes'"):
        aligner("procrustres")
    with pytest.raises(ConfigError, match="did you mean 'ridge'"):
        aligner("least-squares", rigde=1.0)
    assert isinstance(aligner("cca", keep=0.5), Aligner)
