"""What every aligner of the table must keep, whatever its method."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot import checkpoints as checkpoint
from isoglot.aligners import Aligner, Alignment, methods
from isoglot.errors import ConfigError, InputError, IsoglotError, LexiconError, ShapeError
from isoglot.lexicons import Lexicon
from isoglot.spaces import Space

NAMES = list(methods())
#: Methods that only shift or scale: they are no attempt at finding a rotation.
NOT_ROTATING = {"identity", "gbdd", "normalization"}
ROTATING = [name for name in NAMES if name not in NOT_ROTATING]
# The last epoch is kept, not the best: on these easy spaces that is the start, and nothing of the game would be tested.
_GAME: dict[str, Any] = {"couplings": 2, "hidden": 32, "critic": 32, "epochs": 3, "steps": 5, "critic_steps": 1}
_GAME |= {"rate": 1e-4, "select": "last"}
#: The networks of these are made for hundreds of dimensions and thousands of words: at their default widths a fit takes
#: from ten seconds to minutes, and 16 dimensions have no use for that. What is asked of them stays the same.
LIGHT: dict[str, dict[str, Any]] = {
    "realnvp": {"hidden": 32, "epochs": 5},
    "fcnn": {"hidden": 64, "epochs": 5},
    "gan-realnvp": _GAME,
    "bootstrap": {**_GAME, "rounds": 3},
}


def spaces(n: int = 300, d: int = 16, seed: int = 0, noise: float = 0.01) -> tuple[Space, Space, np.ndarray]:
    """A language and its rotated, noisy, shuffled twin; pairs[i] = (row in src, row in tgt)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.5, d) + rng.normal(size=d) * 0.5
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    order = rng.permutation(n)
    Y = (X @ turn + noise * rng.normal(size=(n, d)))[order]
    pairs = np.stack([order, np.arange(n)], axis=1)
    return Space("aa", [f"a{i}" for i in range(n)], X), Space("bb", [f"b{i}" for i in order], Y), pairs


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


def make(name: str, **options) -> Aligner:
    return methods()[name](**{**LIGHT.get(name, {}), **options})


def fit(name: str, src=None, tgt=None, pairs=None, **options) -> Alignment:
    if src is None:
        src, tgt, pairs = spaces()
    aligner = make(name, **options)
    return aligner.fit(src, tgt, None if aligner.method.supervision == "unsupervised" else pairs)


@functools.cache
def usual(name: str) -> Alignment:
    """The method's result on the usual spaces, fitted once for the tests that only look at it."""
    return fit(name)


def precision(alignment: Alignment, src: Space, tgt: Space, pairs: np.ndarray, neighbours: int = 10) -> float:
    """The share of pairs whose target is the best CSLS translation of the source among all target words."""
    mapped = (alignment.transform(src.vectors, "src"), alignment.transform(tgt.vectors, "tgt"))
    A, B = (M.astype(np.float64) / np.linalg.norm(M, axis=1, keepdims=True) for M in mapped)
    cosines = A @ B.T
    density = np.sort(cosines, axis=0)[-neighbours:].mean(axis=0)  # a source word's own mean ranks nothing
    return float(((2 * cosines - density)[pairs[:, 0]].argmax(axis=1) == pairs[:, 1]).mean())


@pytest.mark.parametrize("name", NAMES)
def test_table_row_is_complete(name):
    row = methods()[name].method
    assert row.name == name
    assert all(dataclasses.astuple(row)[:2])
    assert row.cost
    assert row.paper
    assert row.supervision in ("supervised", "unsupervised", "optional")
    assert methods()[name].__doc__


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_stored_and_fit_leaves_the_aligner_as_it_was(name):
    cls = methods()[name]
    aligner = make(name, seed=3)
    before = dataclasses.asdict(aligner)
    src, tgt, pairs = spaces()
    aligner.fit(src, tgt, None if cls.method.supervision == "unsupervised" else pairs)
    assert dataclasses.asdict(aligner) == before
    assert aligner == cls(**before)
    with pytest.raises(dataclasses.FrozenInstanceError):
        aligner.seed = 4


@pytest.mark.parametrize("name", NAMES)
def test_transform_maps_both_sides_into_one_space(name):
    src, tgt, _ = spaces()
    alignment = usual(name)
    mapped_src, mapped_tgt = alignment.transform(src.vectors, "src"), alignment.transform(tgt.vectors, "tgt")
    assert mapped_src.shape[1] == mapped_tgt.shape[1]
    assert mapped_src.dtype == mapped_tgt.dtype == np.float32
    assert np.isfinite(mapped_src).all()
    assert np.isfinite(mapped_tgt).all()
    as_space = alignment.transform(src, "src")
    assert as_space.words == src.words
    np.testing.assert_array_equal(as_space.vectors, mapped_src)
    np.testing.assert_allclose(alignment.transform(src.vectors[5:7]), mapped_src[5:7], atol=1e-5)
    with pytest.raises(ConfigError):
        alignment.transform(src.vectors, "left")


@pytest.mark.parametrize("name", ROTATING)
def test_recovers_a_planted_rotation(name):
    """All words on both sides, hardly any noise, every pair right; the unsupervised ones get no pairs."""
    src, tgt, pairs = spaces(n=600)
    alignment = fit(name, src, tgt, pairs[:400])
    assert precision(alignment, src, tgt, pairs[400:]) > 0.97


@pytest.mark.parametrize("name", [name for name in ROTATING if methods()[name].method.supervision != "unsupervised"])
@pytest.mark.parametrize(("wrong", "enough"), [(0.01, 0.95), (0.1, 0.95), (0.3, 0.95), (0.5, 0.9)])
def test_recovers_a_rotation_of_partial_vocabularies_despite_wrong_pairs(name, wrong, enough):
    src, tgt, pairs = partial_spaces(n=1200, noise=0.15)
    seeds, unseen = pairs[:600].copy(), pairs[600:]
    bad = np.random.default_rng(1).choice(len(seeds), round(wrong * len(seeds)), replace=False)
    seeds[bad, 1] = np.roll(seeds[bad, 1], 1)
    assert (seeds != pairs[:600]).any(axis=1).mean() == pytest.approx(wrong)
    assert precision(fit(name, src, tgt, seeds), src, tgt, unseen) >= enough


@pytest.mark.parametrize("name", [name for name in ROTATING if methods()[name].method.supervision == "unsupervised"])
def test_recovers_a_rotation_of_partial_vocabularies_without_pairs(name):
    src, tgt, pairs = partial_spaces(n=600, noise=0.1)
    assert precision(fit(name, src, tgt), src, tgt, pairs) >= 0.95


@pytest.mark.parametrize("name", [name for name in ROTATING if methods()[name].method.supervision == "optional"])
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


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_result(name):
    first, second = usual(name), fit(name)
    X = spaces()[0].vectors
    np.testing.assert_array_equal(first.transform(X), second.transform(X))


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded_gives_the_same_numbers(name, tmp_path):
    src, tgt, _ = spaces()
    alignment = usual(name)
    alignment.save(tmp_path / "out")
    loaded = Alignment.load(tmp_path / "out")
    for side, space in (("src", src), ("tgt", tgt)):
        np.testing.assert_array_equal(loaded.transform(space.vectors, side), alignment.transform(space.vectors, side))
    assert loaded.method == name
    config = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    assert config["config"] == dataclasses.asdict(make(name))
    assert config["info"]["src"]["fingerprint"] == src.fingerprint()
    assert config["info"]["versions"]["isoglot"]
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".json", ".safetensors"}


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=3)
@given(seed=st.integers(0, 1000))
def test_row_order_does_not_matter(name, seed):
    src, tgt, pairs = spaces()
    order = np.random.default_rng(seed).permutation(len(src))
    place = np.argsort(order)
    shuffled = fit(name, src.take(order), tgt, np.stack([place[pairs[:, 0]], pairs[:, 1]], axis=1))
    np.testing.assert_allclose(shuffled.transform(src.vectors), usual(name).transform(src.vectors), atol=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_inverse_goes_back_to_the_normalised_space(name):
    src, tgt, _ = spaces()
    alignment = usual(name)
    for side, space in (("src", src), ("tgt", tgt)):
        if alignment.invertible:
            back = alignment.inverse_transform(alignment.transform(space.vectors, side), side)
            np.testing.assert_allclose(back, alignment.normalise(space.vectors, side), atol=1e-4)
        else:
            with pytest.raises(ConfigError, match="inverted"):
                alignment.inverse_transform(space.vectors, side)


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_asked_for_or_refused(name):
    src, tgt, pairs = spaces()
    cls = methods()[name]
    if cls.method.supervision == "supervised":
        with pytest.raises(LexiconError, match="pairs"):
            cls().fit(src, tgt)
    if cls.method.supervision == "unsupervised":
        with pytest.raises(LexiconError, match="unsupervised"):
            cls().fit(src, tgt, pairs)


@pytest.mark.parametrize("name", [name for name in NAMES if methods()[name].method.supervision == "supervised"])
def test_lexicon_and_index_pairs_are_the_same(name):
    src, tgt, pairs = spaces()
    lexicon = Lexicon([(src.words[i], tgt.words[j]) for i, j in pairs])
    by_words, by_rows = fit(name, src, tgt, lexicon), fit(name, src, tgt, pairs)
    np.testing.assert_allclose(by_words.transform(src.vectors), by_rows.transform(src.vectors), atol=1e-4)
    with pytest.raises(LexiconError, match="the other way round"):
        fit(name, src, tgt, lexicon.invert())
    with pytest.raises(LexiconError, match="folded"):
        fit(name, src, tgt, Lexicon([(a.upper(), b) for a, b in lexicon]))
    with pytest.raises(InputError, match="Spaces"):
        fit(name, src.vectors, tgt.vectors, lexicon)


@pytest.mark.parametrize("name", NAMES)
def test_different_dimensions_are_an_error_or_handled(name):
    src, tgt, pairs = spaces()
    narrow = tgt.with_vectors(tgt.vectors[:, :10])
    if methods()[name].method.any_dimensions:
        mapped = fit(name, src, narrow, pairs)
    else:
        with pytest.raises(ShapeError, match="16"):
            fit(name, src, narrow, pairs)
        mapped = fit(name, src, narrow, pairs, match_dimensions=True)
        other_way = fit(name, narrow, src, pairs[:, ::-1], match_dimensions=True)
        assert other_way.transform(narrow.vectors).shape == other_way.transform(src.vectors, "tgt").shape
    assert mapped.transform(src.vectors).shape[1] == mapped.transform(narrow.vectors, "tgt").shape[1]


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_a_clear_error(name):
    src, tgt, pairs = spaces(40)
    broken = src.vectors.copy()
    broken[7, 3] = np.nan
    for wrong in (broken, np.ones(5), np.zeros((0, 16)), np.array([["a", "b"]]), np.ones((40, 16), dtype=complex)):
        with pytest.raises(IsoglotError):
            fit(name, wrong, tgt, pairs)
    with pytest.raises(InputError, match="row 7"):
        fit(name, broken, tgt, pairs)
    if methods()[name].method.supervision == "supervised":
        for wrong in ([[0, 40]], [[-1, 0]], [[0.5, 1]], [0, 1], np.zeros((0, 2), dtype=int)):
            with pytest.raises(IsoglotError):
                fit(name, src, tgt, wrong)


@pytest.mark.parametrize("name", NAMES)
def test_degenerate_spaces_never_give_nan(name):
    """Zero rows, constant columns, fewer pairs than dimensions."""
    src, tgt, pairs = spaces(60)
    X = src.vectors.copy()
    X[3] = 0
    X[:, 5] = 1
    alignment = fit(name, src.with_vectors(X), tgt, pairs[:6])
    assert np.isfinite(alignment.transform(X)).all()
    assert np.isfinite(alignment.transform(tgt.vectors, "tgt")).all()


class Stop(Exception):
    """Stands for a kill in the middle of a run."""


@pytest.mark.parametrize("name", [name for name in NAMES if methods()[name].method.iterative])
@pytest.mark.parametrize("after", [2, 5])
def test_a_killed_run_goes_on_to_the_same_result(name, after, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint.Checkpoint, "seconds", 0.0)
    src, tgt, pairs = spaces()
    given = None if methods()[name].method.supervision == "unsupervised" else pairs
    unbroken = usual(name)
    saved = []
    original = checkpoint.Checkpoint.save

    def save_then_stop(self, step, tensors, facts=None):
        original(self, step, tensors, facts)
        if self._path is None:
            return  # of a method that another one begins with, and that keeps nothing
        saved.append(step)
        if len(saved) == after:
            raise Stop

    monkeypatch.setattr(checkpoint.Checkpoint, "save", save_then_stop)
    file = tmp_path / "state"
    with contextlib.suppress(Stop):
        make(name).fit(src, tgt, given, checkpoint=file)
    monkeypatch.setattr(checkpoint.Checkpoint, "save", original)
    resumed_at = len(saved)
    assert resumed_at >= 1, "an iterative method must save its state"
    if resumed_at == after:
        assert file.exists()
        with pytest.raises(InputError, match="other data or settings"):
            make(name, seed=99).fit(src, tgt, given, checkpoint=file)
    resumed = make(name).fit(src, tgt, given, checkpoint=file)
    assert not file.exists()
    for side, space in (("src", src), ("tgt", tgt)):
        np.testing.assert_array_equal(resumed.transform(space.vectors, side), unbroken.transform(space.vectors, side))


def test_unknown_names_suggest_the_nearest():
    from isoglot.aligners import aligner

    with pytest.raises(ConfigError, match="did you mean 'procrustes'"):
        aligner("procrustres")
    with pytest.raises(ConfigError, match="did you mean 'ridge'"):
        aligner("least-squares", rigde=1.0)
    assert isinstance(aligner("cca", keep=0.5), Aligner)
