"""The verdict on results found without pairs: right ones pass, nonsense does not, whatever it cost to find."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligners import Problem, aligner, methods
from isoglot.aligners.verdict import Chance, Signs, chance_level, decide, judge, judged, judged_given, judged_pairs
from isoglot.spaces import Normaliser, Space

NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


def rotation(d, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0].astype(np.float32)


def problem(related, n=800, d=40, seed=0):
    """Clustered vectors, as words are; the other side is their rotation with noise, or has nothing to do with them."""
    rng = np.random.default_rng(seed)

    def vectors(rng):
        return rng.normal(size=(60, d))[rng.integers(0, 60, n)] + 0.7 * rng.normal(size=(n, d))

    X = vectors(rng)
    Y = X @ rotation(d, 1) + 0.3 * rng.normal(size=(n, d)) if related else vectors(np.random.default_rng(seed + 100))
    X, Y = (Normaliser.fit_transform("unit,centre,unit", M.astype(np.float32))[1] for M in (X, Y))
    return Problem(X, Y, NO_PAIRS, rng)


def test_the_true_map_is_aligned_and_a_wrong_one_is_not():
    given = problem(related=True)
    assert judged(given, rotation(40, 1)).aligned
    wrong = judged(given, rotation(40, 2))
    assert not wrong.aligned
    assert "not aligned" in wrong.info["warning"]


def test_no_map_aligns_what_is_not_related():
    given = problem(related=False)
    for seed in range(3):
        assert not judged(given, rotation(40, seed)).aligned


def test_where_chance_itself_finds_the_map_that_confirms_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32) * np.array([3, 2, 1], dtype=np.float32) + 1
    verdict = judged(Problem(X, X @ rotation(3, 1), NO_PAIRS, rng), rotation(3, 1))
    assert verdict.aligned


def test_maps_that_stretch_are_judged_by_their_dictionary():
    given = problem(related=True)
    stretch = np.diag(np.linspace(0.5, 2, 40)).astype(np.float32)
    assert judged(given, rotation(40, 1) @ stretch, stretch).aligned


def test_the_criterion_needed_grows_with_chance():
    assert judge(0.5, np.array([0.4])).aligned
    assert not judge(0.5, np.array([0.4, 0.49])).aligned


def test_the_answer_grows_with_both_gains_and_names_the_precision_to_expect():
    weak, fair, strong = (decide(Signs(0.4 + gain, 0.4 + 4 * gain, 0.8, 0.4, 0.4)) for gain in (0.0, 0.05, 0.14))
    assert [verdict.aligned for verdict in (weak, strong)] == [False, True]
    assert weak.evidence < fair.evidence < strong.evidence
    values = [verdict.expected for verdict in (weak, fair, strong)]
    assert all(0 <= low <= value < high <= 1 for value, low, high in values)  # what is no better than chance has 0
    assert values[0][0] < values[1][0] < values[2][0]
    assert strong.info["expected_p1"]["value"] == values[2][0]
    assert f"expected P@1 {values[2][0]:.2f}" in strong.reason


def test_unseen_words_confirm_a_map_whose_dictionary_is_hardly_closer_than_that_of_chance():
    """As close as chance, within the margin of the criterion, and yet right: what the criterion alone would refuse."""
    assert not judge(0.434, np.array([0.432])).aligned
    assert decide(Signs(0.434, 0.8, 0.8, 0.432, 0.4)).aligned


def test_one_chance_serves_all_maps_of_a_problem():
    given = problem(related=True)
    chance = Chance.of(given.X, given.Y, seed=0)
    right, wrong = (chance.judged(given.X @ rotation(40, seed), given.Y) for seed in (1, 2))
    assert right == judged(given, rotation(40, 1))
    assert right.aligned
    assert not wrong.aligned
    assert right.evidence > wrong.evidence


@pytest.mark.parametrize("seed", range(3))
def test_mutual_neighbours_of_noise_are_not_aligned(seed):
    X, Y = np.random.default_rng(seed).normal(size=(2, 700, 30)).astype(np.float32)
    X, Y = (Normaliser.fit_transform("unit,centre,unit", M)[1] for M in (X, Y))
    from isoglot.retrieval import Retriever

    verdict = judged_pairs(X, Y, Retriever(X, Y).mutual().pairs)
    assert not verdict.aligned
    assert verdict.expected[0] < 0.15


def test_a_direction_that_two_languages_share_is_no_alignment():
    """Frequency has a direction in both: neighbours are closer than after a turn, and no translation is right."""
    rng = np.random.default_rng(0)
    shared = np.linspace(-2, 2, 800)[:, None] * np.eye(1, 40)
    X, Y = (Normaliser.fit_transform("unit", (shared + 0.5 * rng.normal(size=(800, 40))).astype(np.float32))[1]
            for _ in range(2))  # fmt: skip
    pairs = np.stack([np.arange(800)] * 2, axis=1)
    assert not judged_pairs(X, Y, pairs).aligned


def test_chance_repeats_with_the_seed():
    given = problem(related=False, n=200, d=8)
    first, again, other = (chance_level(given.X, given.Y, seed=seed, rounds=2) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cognates", {}),
        ("vecmap-identical", {"patience": 2}),
        ("vecmap-unsupervised", {"patience": 2}),
        ("muse", {"starts": "distribution"}),
        ("wasserstein-procrustes", {"start_words": 100, "epochs": 1, "steps": 5}),
        ("gromov-wasserstein", {"words": 100, "stages": 2}),
        ("mini-vec2vec", {"runs": 2, "restarts": 3}),
        ("dema-bwe", {"epochs": 0}),
    ],
)
def test_every_method_without_pairs_says_when_it_failed(name, settings):
    assert methods()[name].method.supervision != "supervised"
    given = problem(related=False, n=500)
    words = [f"word{i}" for i in range(500)]
    src, tgt = Space("aa", words, given.X), Space("bb", words[::-1], given.Y)
    alignment = aligner(name, **settings).fit(src, tgt)
    assert alignment.info["aligned"] is False
    assert alignment.info["warning"].startswith("not aligned: ")


def test_pairs_from_elsewhere_count_even_where_the_vectors_would_find_others():
    """Part of each vector is shared with the wrong word of the other side; the pairs say otherwise, and are right."""
    rng = np.random.default_rng(0)
    base, spelling = rng.normal(size=(400, 20)), 2 * rng.normal(size=(400, 6))
    order = rng.permutation(400)
    moved = np.empty_like(base)
    moved[order] = base @ rotation(20, 1)
    X, Y = (np.hstack([one, spelling]).astype(np.float32) for one in (base, moved))
    X, Y = (Normaliser.fit_transform("unit,centre,unit", M)[1] for M in (X, Y))
    pairs = np.stack([np.arange(400), order], axis=1)
    assert judged_given(X, Y, pairs).aligned
    wrong = np.stack([np.arange(400), rng.permutation(400)], axis=1)
    assert not judged_given(X, Y, wrong).aligned
