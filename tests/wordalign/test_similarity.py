"""Word alignment from similarities, against brute force, exact transport and planted links."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from isoglot.aligners import transport_plan
from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.wordalign import METHODS, WordLinks, check_linking, link_text, pair_scores, word_align
from isoglot.wordalign.similarity import intersection, itermax, word_scores
from isoglot.wordalign.symmetrise import SYMMETRISATIONS, symmetrise
from isoglot.wordalign.transport import unbalanced_plan, word_ot_plan

# The neighbourhoods of grow-diag depend on positions by design.
POSITION_FREE = sorted(set(METHODS) - {"grow-diag-final-and"})
PLANNED = [name for name, row in METHODS.items() if row.plan is not None]
SEEDS = st.integers(0, 10_000)
SIZES = st.integers(1, 12)


def cosines(n: int, m: int, seed: int, dim: int = 6) -> np.ndarray:
    random = np.random.default_rng(seed)
    X, Y = random.standard_normal((n, dim)), random.standard_normal((m, dim))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)) @ (Y / np.linalg.norm(Y, axis=1, keepdims=True)).T


def planted(n: int, seed: int, noise: float = 0.1) -> tuple[np.ndarray, set[tuple[int, int]]]:
    """Similarities of n words and of the same words in another order, with noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 50))
    order = random.permutation(n)
    Y = X[order] + noise * random.standard_normal(X.shape)
    X, Y = X / np.linalg.norm(X, axis=1, keepdims=True), Y / np.linalg.norm(Y, axis=1, keepdims=True)
    return (X @ Y.T).astype(np.float32), {(int(i), j) for j, i in enumerate(order)}


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, n=st.integers(2, 30))
def test_planted_links_are_found(method, seed, n):
    S, gold = planted(n, seed)
    links = word_align(S, method)
    assert links.sure == gold
    assert set(links.scores) == gold


@pytest.mark.parametrize("method", POSITION_FREE)
@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES)
def test_permuted_words_permute_links(method, seed, n, m):
    S = cosines(n, m, seed)
    random = np.random.default_rng(seed)
    rows, columns = random.permutation(n), random.permutation(m)
    permuted = word_align(S[rows][:, columns], method)
    assert {(int(rows[i]), int(columns[j])) for i, j in permuted.sure} == word_align(S, method).sure


@pytest.mark.parametrize("method", sorted(set(POSITION_FREE) - {"match"}))
@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES)
def test_both_directions_agree(method, seed, n, m):
    S = cosines(n, m, seed)
    assert word_align(S.T, method).sure == word_align(S, method).invert().sure


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 5), m=st.integers(1, 6))
def test_match_is_the_best_assignment(seed, n, m):
    n, m = min(n, m), max(n, m)
    S = cosines(n, m, seed)
    best = max(sum(S[i, j] for i, j in enumerate(chosen)) for chosen in itertools.permutations(range(m), n))
    links = word_align(S, "match")
    assert len(links.sure) == n
    assert sum(links.scores.values()) == pytest.approx(best)
    # With a null, a word may stay alone: the best of all partial assignments, counted above the null.
    null = 0.2
    gain = max(
        sum(max(0.0, S[i, j] - null) for i, j in enumerate(chosen)) for chosen in itertools.permutations(range(m), n)
    )
    kept = word_align(S, "match", null=null).scores
    assert sum(score - null for score in kept.values()) == pytest.approx(gain)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES)
def test_one_round_of_itermax_is_the_intersection(seed, n, m):
    S = cosines(n, m, seed)
    assert itermax(S, n_iter=1) == intersection(S)
    more = [itermax(S, n_iter=rounds).sure for rounds in (1, 2, 3, 50)]
    assert all(few <= many for few, many in itertools.pairwise(more))


def test_itermax_by_hand():
    # Round 1 links 0-0. In round 2, 1 + S is 1.7 * .9 = 1.53 for 1-0 and 1.6 for 1-1: the free pair wins.
    S = np.array([[0.9, 0.0], [0.7, 0.6]])
    assert itermax(S).sure == {(0, 0), (1, 1)}
    # With 0.5 it is 1.5 against 1.53: word 1 joins word 0.
    S[1, 1] = 0.5
    assert itermax(S).sure == {(0, 0), (1, 0)}
    assert itermax(S, alpha=0.8).sure == {(0, 0), (1, 1)}


@pytest.mark.parametrize("method", ["intersection", "union", "itermax"])
def test_blocks_change_nothing(method, monkeypatch):
    S = cosines(40, 30, 1)
    whole = word_align(S, method)
    monkeypatch.setattr("isoglot.wordalign.similarity._BLOCK", 70)
    assert word_align(S, method) == whole


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, n=st.integers(2, 10))
def test_balanced_plans_are_right(seed, n):
    import ot

    cost = (1 - cosines(n, n + 1, seed)) / 2
    a, b = np.full(n, 1 / n), np.full(n + 1, 1 / (n + 1))
    plan = transport_plan(cost, 0.02, iterations=1000)
    assert np.abs(plan.sum(axis=1) - a).sum() < 0.01
    assert np.abs(plan.sum(axis=0) - b).sum() < 0.01
    # The blur costs no more than epsilon times the largest entropy.
    exact = float((ot.emd(a, b, cost) * cost).sum())
    assert exact - 0.01 < float((plan * cost).sum()) < exact + 0.02 * np.log(n * (n + 1)) + 0.01


@settings(max_examples=8, deadline=None)
@example(seed=1, n=8, m=8, epsilon=0.01, penalty=2)  # slow to come to its end
@given(seed=SEEDS, n=SIZES, m=SIZES, epsilon=st.sampled_from([0.01, 0.05, 0.2]), penalty=st.sampled_from([0.1, 0.3, 2]))
def test_unbalanced_plans_are_right(seed, n, m, epsilon, penalty):
    """Against Sinkhorn's iterations in the log domain (Chizat et al. 2018), run to the end."""
    from scipy.special import logsumexp

    cost = (1 - cosines(n, m, seed)) / 2
    kernel = -cost / epsilon - np.log(n) - np.log(m)
    f, g = np.zeros((n, 1)), np.zeros((1, m))
    for _ in range(600):
        f = penalty / (penalty + epsilon) * (-np.log(n) - logsumexp(kernel + g, axis=1, keepdims=True))
        g = penalty / (penalty + epsilon) * (-np.log(m) - logsumexp(kernel + f, axis=0, keepdims=True))
    assert np.abs(unbalanced_plan(cost, epsilon, penalty) - np.exp(kernel + f + g)).max() * max(n, m) < 0.02


def test_unbalanced_plan_of_one_word_in_closed_form():
    # d/dx of c x + eps KL(x|1) + 2 p KL(x|1) = 0 gives x = exp(-c / (eps + 2 p)).
    for c, eps, p in ((0.5, 0.05, 0.3), (1.0, 0.1, 0.2)):
        assert unbalanced_plan(np.array([[c]]), eps, p)[0, 0] == pytest.approx(np.exp(-c / (eps + 2 * p)), abs=1e-3)


def test_unbalanced_transport_leaves_words_alone():
    S, gold = planted(12, 5)
    more = np.vstack([S, np.full((2, 12), S.min())])  # two words like no other
    assert word_align(more, "unbalanced-transport").sure == gold


def test_one_word_may_have_two():
    S, gold = planted(10, 6, noise=0.05)
    twice = np.hstack([S, S[:, :1] - 0.01])
    expected = gold | {(i, 10) for i, j in gold if j == 0}
    for method in ("itermax", "union", "softmax", "transport", "unbalanced-transport"):
        assert word_align(twice, method, **({"n_iter": 3} if method == "itermax" else {})).sure == expected, method


@pytest.mark.parametrize("method", METHODS)
def test_null_leaves_bad_pairs_out(method):
    S = cosines(8, 10, 3)
    links = word_align(S, method, null=0.4)
    assert links.sure <= word_align(S, method).sure or method == "match"
    assert all(S[link] >= 0.4 for link in links.sure)
    assert word_align(S, method, null=1.5) == WordLinks()


def test_distortion_prefers_the_diagonal():
    S = np.full((4, 4), 0.5)
    assert word_align(S, "match", distortion=1.0).sure == {(i, i) for i in range(4)}
    assert word_align(S, distortion=0.5, n_iter=1).sure == {(i, i) for i in range(4)}
    bent = word_align(-S, "match", distortion=1.0)  # a negative cosine far away is not lifted
    assert bent.sure == {(i, i) for i in range(4)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty_sentences_have_no_links(method, shape):
    assert word_align(np.zeros(shape), method) == WordLinks()


@pytest.mark.parametrize("method", METHODS)
def test_hard_matrices_are_no_trouble(method):
    for S in (np.ones((1, 1)), -np.ones((3, 2)), np.zeros((4, 4)), np.ones((1, 9)), np.eye(5, dtype=np.float16)):
        links = word_align(S, method)
        assert all(i < S.shape[0] and j < S.shape[1] for i, j in links.sure)


def test_bad_input_is_one_clear_error():
    S = cosines(3, 3, 0)
    with pytest.raises(ConfigError, match="did you mean 'itermax'"):
        word_align(S, "intermax")
    with pytest.raises(ConfigError, match="did you mean 'alpha'"):
        word_align(S, "itermax", alhpa=1)
    with pytest.raises(ConfigError, match=r"match has no setting 'alpha'; known settings: distortion, null"):
        word_align(S, "match", alpha=1)
    for method, name, value in (
        ("itermax", "alpha", 2), ("itermax", "n_iter", 0), ("softmax", "threshold", 1), ("softmax", "temperature", 0),
        ("transport", "epsilon", 0), ("transport", "threshold", 2), ("unbalanced-transport", "penalty", 0),
        ("unbalanced-transport", "epsilon", -1), ("unbalanced-transport", "kept", 2), ("match", "distortion", 2),
        ("match", "null", float("nan")), ("ot", "blur", 0), ("ot", "threshold", 2),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=name):
            word_align(S, method, **{name: value})
    for bad in (np.nan, np.inf):
        broken = S.copy()
        broken[1, 2] = bad
        with pytest.raises(InputError, match="NaN"):
            word_align(broken)
    with pytest.raises(InputError, match="not a matrix of numbers"):
        word_align([["a"]])
    with pytest.raises(ShapeError, match="must be a matrix"):
        word_align([0.5, 0.5])
    with pytest.raises(InputError, match="not cosines"):
        word_align(9 * S)


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(PLANNED)))
def test_scores_of_methods_without_a_plan_are_the_similarities(method):
    S = cosines(5, 7, 1)
    np.testing.assert_array_equal(word_scores(S, method, null=0.9), S)
    bent = word_scores(S, method, distortion=0.5)
    assert bent[0, 0] == pytest.approx(S[0, 0])
    assert (bent < S + 1e-9).all()
    assert (bent < S - 1e-3).sum() > 25


@pytest.mark.parametrize("method", PLANNED)
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES)
def test_scores_of_a_plan_are_those_of_its_links(method, seed, n, m):
    S = cosines(n, m, seed)
    shares = word_scores(S, method)
    assert shares.shape == (n, m)
    assert shares.min() >= 0
    assert shares.max() < 1.02 or method == "unbalanced-transport"  # which may also carry more than a word has
    for link, score in word_align(S, method).scores.items():
        assert shares[link] == pytest.approx(score, rel=1e-5)


def test_scores_follow_the_settings_of_the_plan_alone():
    S = cosines(5, 7, 2)
    np.testing.assert_allclose(word_scores(S, "ot", blur=0.7, threshold=0.3), 7 * word_ot_plan(S, 0.7))
    np.testing.assert_allclose(word_scores(S.T, "ot"), word_scores(S, "ot").T)
    assert np.ptp(word_scores(S, "transport", epsilon=10.0)) < np.ptp(word_scores(S, "transport", epsilon=0.05))
    for method in METHODS:
        assert word_scores(np.zeros((0, 4)), method).shape == (0, 4)
    with pytest.raises(ConfigError, match="did you mean 'blur'"):
        word_scores(S, "ot", blurr=1)
    with pytest.raises(ConfigError, match="blur"):
        word_scores(S, "ot", blur=0)
    with pytest.raises(ConfigError, match="unknown method 'wordot'"):
        word_scores(S, "wordot")
    with pytest.raises(InputError, match="NaN"):
        word_scores([[np.nan]], "ot")


def test_settings_in_units_of_cosines_are_not_for_dot_products():
    check_linking("ot", {"blur": 0.1, "threshold": 1})
    for name in ("null", "distortion"):
        with pytest.raises(ConfigError, match=f"ot has no setting '{name}'; known settings: blur, threshold"):
            check_linking("ot", {name: 0.5})
    with pytest.raises(ConfigError, match="blur of ot takes a number, not 'x'"):
        check_linking("ot", {"blur": "x"})
    # The function itself takes them, in units of the matrix that it gets.
    assert word_align([[9.0, 1.0], [2.0, 3.0]], "ot", null=5.0).sure == {(0, 0)}
    with pytest.raises(InputError, match="not cosines"):
        word_align([[9.0, 1.0], [2.0, 3.0]], "ot", distortion=0.5)


def test_scores_of_a_pair_are_what_its_links_came_from(tiny, parallel):
    src, tgt = parallel.src[400:406], parallel.tgt[400:406]
    found = {method: link_text((tiny, tiny), src, tgt, method) for method in ("match", "ot", "transport")}
    for number in (0, 3, 5):
        X, Y = (tiny.words([side[number]])[0].astype(np.float64) for side in (src, tgt))
        for method, links in found.items():
            scores = pair_scores((tiny, tiny), src[number], tgt[number], method)
            assert scores.shape == (len(src[number]), len(tgt[number]))
            for link, score in links[number].scores.items():
                assert scores[link] == pytest.approx(score, abs=0.01)
        np.testing.assert_allclose(
            pair_scores((tiny, tiny), src[number], tgt[number], "ot", blur=0.3),
            word_ot_plan(X @ Y.T, 0.3) * max(len(X), len(Y)),
            atol=1e-6,
        )
        X, Y = X / np.linalg.norm(X, axis=1, keepdims=True), Y / np.linalg.norm(Y, axis=1, keepdims=True)
        np.testing.assert_allclose(pair_scores((tiny, tiny), src[number], tgt[number], "match"), X @ Y.T, atol=1e-5)


def test_ot_takes_vectors_as_they_come(tiny, parallel):
    src, tgt = parallel.src[400:420], parallel.tgt[400:420]
    raw = link_text((tiny, tiny), src, tgt, "ot")
    X, Y = tiny.words(src), tiny.words(tgt)
    assert raw == [word_align(X[k].astype(np.float64) @ Y[k].astype(np.float64).T, "ot") for k in range(len(src))]


@pytest.mark.parametrize("how", SYMMETRISATIONS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_symmetrised_links_lie_between_intersection_and_union(how, data):
    links = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=12)
    forward, backward = data.draw(links), data.draw(links)
    merged = symmetrise(forward, backward, how, n=7, m=6)
    assert forward & backward <= merged <= forward | backward


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_growing_is_the_loop_over_all_cells(data):
    """Koehn's published loop looks at every cell; ours at links only."""
    n, m = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    forward = {(i, data.draw(st.integers(0, m - 1))) for i in range(n)}
    backward = {(data.draw(st.integers(0, n - 1)), j) for j in range(m)}
    links, before = forward & backward, None
    while links != before:
        before = set(links)
        for i, j in itertools.product(range(n), range(m)):
            for a, b in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                near = (i + a, j + b)
                free = near[0] not in {x for x, _ in links} or near[1] not in {y for _, y in links}
                if (i, j) in links and near in forward | backward and free:
                    links.add(near)
    assert symmetrise(forward, backward, "grow-diag", n=n, m=m) == links
    for link in [*sorted(forward), *sorted(backward)]:
        if link[0] not in {x for x, _ in links} and link[1] not in {y for _, y in links}:
            links.add(link)
    assert symmetrise(forward, backward, n=n, m=m) == links


def test_symmetrisation_by_hand():
    # Both say 0-0 and 2-2. Beside 2-2 lie 1-2, whose row is free, 2-1, whose column is free, and 3-3, where both are:
    # all three grow. 0-3 touches 1-2, but both of its words are taken by then. 5-5 touches nothing and both words are
    # free: `final` adds it, and 5-0, which comes later, finds row 5 and column 0 taken.
    forward = {(0, 0), (1, 2), (2, 2), (3, 3), (5, 5), (0, 3)}
    backward = {(0, 0), (2, 1), (2, 2), (5, 0)}
    grown = {(0, 0), (1, 2), (2, 2), (3, 3), (2, 1)}
    assert symmetrise(forward, backward, "grow-diag", n=6, m=6) == grown
    assert symmetrise(forward, backward, "grow-diag-final", n=6, m=6) == grown | {(5, 5)}
    assert symmetrise(forward, backward, "grow-diag-final-and", n=6, m=6) == grown | {(5, 5)}
    # 5-0 alone: its row is free and its column is not, which is what tells `final` from `final-and`.
    assert (5, 0) in symmetrise(forward - {(5, 5)}, backward, "grow-diag-final", n=6, m=6)
    assert (5, 0) not in symmetrise(forward - {(5, 5)}, backward, "grow-diag-final-and", n=6, m=6)


def test_symmetrisation_refuses_what_it_cannot_use():
    with pytest.raises(ConfigError, match="did you mean 'grow-diag'"):
        symmetrise(set(), set(), "growdiag", n=1, m=1)
    with pytest.raises(InputError, match=r"\(0, 3\) is outside"):
        symmetrise({(0, 3)}, set(), n=1, m=3)
    assert symmetrise(set(), set(), n=0, m=0) == frozenset()
