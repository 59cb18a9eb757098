"""Several languages through a pivot: any two translate, and the loss against aligning them directly is told."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligned import Aligned, translate
from isoglot.aligners import CCA, Identity, Procrustes, VecMap, onto_target
from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon
from isoglot.pipelines import align_to_pivot
from isoglot.spaces import Space


@pytest.fixture(scope="module")
def world():
    """Three languages: the same 400 points, each turned and a little noisy."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(400, 12)) * np.linspace(2, 0.5, 12)
    spaces = {}
    for name in ("aa", "bb", "cc"):
        turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
        spaces[name] = Space(name, [f"{name}{i}" for i in range(400)], base @ turn + 0.05 * rng.normal(size=base.shape))
    lexicons = {
        (a, b): Lexicon([(f"{a}{i}", f"{b}{i}") for i in range(400)], a, b)
        for a, b in (("aa", "bb"), ("cc", "aa"), ("bb", "cc"))
    }
    return spaces, lexicons


@pytest.mark.parametrize("aligner", [Procrustes(), CCA(keep=1.0), VecMap()])
def test_all_pairs_share_one_space(world, aligner, tmp_path):
    spaces, lexicons = world
    outcome = align_to_pivot(spaces, "aa", aligner, lexicons)
    assert set(outcome.results) == {("aa", "bb"), ("aa", "cc"), ("bb", "cc")}
    assert all(results[0].value > 0.9 for results in outcome.results.values())
    assert set(outcome.direct) == {("bb", "cc")}
    assert outcome.record()[-1]["loss_through_pivot"] == pytest.approx(
        outcome.direct["bb", "cc"].value - outcome.results["bb", "cc"][0].value
    )
    outcome.aligned.save(tmp_path / "all")
    loaded = Aligned.load(tmp_path / "all")
    answers = translate(loaded, ["bb7", "bb8"], source="bb", target="cc", k=1)
    assert [answer.candidates[0][0] for answer in answers] == ["cc7", "cc8"]


def test_onto_target_keeps_who_is_near_whom():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6)).astype(np.float32)
    Y = (X @ rng.normal(size=(6, 6)) + 0.1 * rng.normal(size=(60, 6))).astype(np.float32)
    pairs = np.stack([np.arange(60)] * 2, axis=1)
    alignment = CCA(keep=1.0, normalise="none").fit(X, Y, pairs)
    turned = onto_target(alignment)
    np.testing.assert_allclose(turned.transform(Y, "tgt"), Y, atol=1e-5)
    # What the source is mapped to is, carried on by the target's own map, where it was before.
    carried = alignment.transform(turned.transform(X, "src"), "tgt")
    np.testing.assert_allclose(carried, alignment.transform(X, "src"), atol=1e-2)


def test_vecmap_loses_nothing_in_the_space_of_its_target():
    """With few pairs, in directions of very different size, as vectors out of encoders have them."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 60)) * np.geomspace(1, 0.02, 60)
    Y = X @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    X, Y = ((M + 0.15 * rng.normal(size=M.shape)).astype(np.float32) for M in (X, Y))
    pairs = np.stack([np.arange(80)] * 2, axis=1)

    def found(alignment):
        A, B = (alignment.transform(M, side)[80:] for M, side in ((X, "src"), (Y, "tgt")))
        A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
        return np.mean((A @ B.T).argmax(axis=1) == np.arange(len(A)))

    vecmap = VecMap()
    shared, own = vecmap.fit(X, Y, pairs), onto_target(vecmap.keeping_target().fit(X, Y, pairs))
    normalised = Identity(normalise=vecmap.normalise).fit(X, Y).transform(Y, "tgt")
    np.testing.assert_allclose(own.transform(Y, "tgt"), normalised, atol=1e-5)
    assert found(own) > found(shared) - 0.05
    assert found(own) > found(onto_target(shared)) + 0.2


def test_mistakes_are_named(world):
    spaces, lexicons = world
    with pytest.raises(ConfigError, match="pivot"):
        align_to_pivot(spaces, "zz", Procrustes(), lexicons)
    with pytest.raises(ConfigError, match="no lexicon between"):
        align_to_pivot(spaces, "aa", Procrustes(), {("aa", "bb"): lexicons["aa", "bb"]})
    with pytest.raises(ConfigError, match="only one"):
        align_to_pivot({"aa": spaces["aa"]}, "aa", Identity(), {})


def test_the_score_is_the_one_asked_for():
    """`align --pivot --score cosine` searched by CSLS all the same."""
    from isoglot.aligners import Procrustes
    from isoglot.pipelines import align_to_pivot
    from isoglot.simulate import simulate_pair

    pair = simulate_pair(n_words=300, dim=10, noise=0.3, seed=1)
    outcome = align_to_pivot(
        {"north": pair.src, "south": pair.tgt},
        "north",
        Procrustes(),
        {("north", "south"): pair.lexicon},
        score="cosine",
    )
    assert outcome.results["north", "south"][0].protocol["score"] == "cosine"
    assert ["test words" in warning for warning in outcome.warnings] == [True]
