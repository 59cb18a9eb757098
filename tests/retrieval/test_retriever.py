from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.spatial.distance import cdist

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.retrieval import EUCLIDEAN_SCORES, SCORES, Retriever, check_score

from .conftest import assert_top, brute_force, recall

#: The scores that every backend can do.
BY_COSINE = [score for score in SCORES if score not in EUCLIDEAN_SCORES]


def pair(n, m, d, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((n, d)) + 0.2, generator.standard_normal((m, d)) + 0.2


@pytest.mark.parametrize("score", BY_COSINE)
@pytest.mark.parametrize("backend", ["exact", "int8"])
@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (3, 70, 5), (129, 64, 17), (700, 1100, 50)])
def test_agrees_with_brute_force_both_ways(score, backend, n, m, d):
    X, Y = pair(n, m, d)
    there, back = brute_force(X, Y, score)
    retriever = Retriever(X, Y, score=score, backend=backend, threads=1)
    found, found_back = retriever.top_both(10)
    # Log scores are 30 times a cosine.
    tolerance = 3e-5 if score == "inverted_softmax" else 2e-6
    assert_top(found, there, 10, tolerance=tolerance)
    assert_top(found_back, back, 10, tolerance=tolerance)
    assert_top(retriever.top(4), there, 4, tolerance=tolerance)


@pytest.mark.parametrize("temperature", [5.0, 39.0, 120.0, 350.0])
def test_inverted_softmax_at_any_temperature(temperature):
    X, Y = pair(90, 40, 3)
    there, back = brute_force(X, Y, "inverted_softmax", temperature=temperature)
    found, found_back = Retriever(X, Y, score="inverted_softmax", temperature=temperature, threads=1).top_both(3)
    assert_top(found, there, 3, tolerance=2e-6 * temperature)
    assert_top(found_back, back, 3, tolerance=2e-6 * temperature)


@pytest.mark.parametrize("score", BY_COSINE)
def test_rows_and_free_vectors(score):
    X, Y = pair(300, 200, 20)
    retriever = Retriever(X, Y, score=score, threads=1)
    rows = np.array([7, 299, 7, 0])
    all_rows, some, free = retriever.top(5), retriever.top(5, rows=rows), retriever.top(5, vectors=3 * X[rows])
    for found in (some, free):
        np.testing.assert_array_equal(found.indices, all_rows.indices[rows])
        np.testing.assert_allclose(found.scores, all_rows.scores[rows], atol=1e-5)
    assert retriever.top(5, rows=[]).indices.shape == (0, 5)


@pytest.mark.parametrize("backend", ["exact", "int8"])
@pytest.mark.parametrize("score", BY_COSINE)
def test_threads_do_not_change_the_result(word_like, backend, score):
    X, Y = word_like
    one, two = (Retriever(X, Y, score=score, backend=backend, threads=t).top_both(10) for t in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.indices, b.indices)
        np.testing.assert_array_equal(a.scores, b.scores)


@pytest.mark.parametrize("backend", ["exact", "int8"])
def test_equal_scores_stand_in_order_of_index(backend):
    generator = np.random.default_rng(1)
    few = generator.standard_normal((40, 30))
    Y = np.tile(few, (5, 1))
    found, back = Retriever(few, Y, score="cosine", backend=backend, threads=1).top_both(5)
    np.testing.assert_array_equal(found.indices, np.arange(40)[:, None] + 40 * np.arange(5))
    np.testing.assert_array_equal(back.indices[:, 0], np.tile(np.arange(40), 5))


@pytest.mark.parametrize("backend", ["exact", "int8"])
@pytest.mark.parametrize("score", BY_COSINE)
def test_zero_rows_score_as_orthogonal_to_everything(backend, score):
    X, Y = pair(80, 90, 10)
    X[3], Y[5] = 0, 0
    found, back = Retriever(X, Y, score=score, backend=backend, threads=1).top_both(90)
    there, here = brute_force(X, Y, score)
    assert_top(found, there, 90, tolerance=3e-5)
    assert_top(back, here, 90, tolerance=3e-5)
    everything = Retriever(0 * X, 0 * Y, score=score, backend=backend, threads=1).top(2)
    assert np.isfinite(everything.scores).all()
    assert (everything.indices >= 0).all()


def test_k_beyond_the_targets_is_cut():
    X, Y = pair(4, 7, 3)
    found, back = Retriever(X, Y, threads=1).top_both(50)
    assert found.indices.shape == (4, 7)
    assert back.indices.shape == (7, 4)


def test_memory_maps_and_other_types(tmp_path):
    X, Y = pair(100, 120, 8)
    expected = Retriever(X.astype(np.float32), Y.astype(np.float32), threads=1).top(3)
    for name, array in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", array.astype(np.float32))
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy"]
    found = Retriever(*mapped, threads=1).top(3)
    np.testing.assert_array_equal(found.indices, expected.indices)
    strided = Retriever(np.asfortranarray(X), Y[::-1][::-1], threads=1).top(3)
    np.testing.assert_array_equal(strided.indices, expected.indices)
    integers = Retriever([[1, 0], [0, 2]], [[0, 5], [3, 0]], score="cosine", threads=1).top(1)
    assert integers.indices.tolist() == [[1], [0]]


def test_extreme_lengths_do_not_matter():
    X, Y = pair(50, 60, 6)
    expected = Retriever(X, Y, threads=1).top(3)
    found = Retriever(X * 1e200, Y * 1e-200, threads=1).top(3)
    np.testing.assert_array_equal(found.indices, expected.indices)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(BY_COSINE), st.sampled_from(["exact", "int8"]))
def test_order_of_rows_does_not_matter(seed, score, backend):
    X, Y = pair(75, 140, 12, seed)
    order = np.random.default_rng(seed).permutation(75)
    plain = Retriever(X, Y, score=score, backend=backend, threads=1).top(5)
    shuffled = Retriever(X[order], Y, score=score, backend=backend, threads=1).top(5)
    np.testing.assert_allclose(shuffled.scores, plain.scores[order], atol=3e-5)
    np.testing.assert_array_equal(shuffled.indices[:, 0], plain.indices[order, 0])


def test_csls_means_are_computed_once_and_can_be_handed_over():
    X, Y = pair(200, 150, 10)
    steps = []
    retriever = Retriever(X, Y, threads=1, progress=lambda step, done, total: steps.append((step, done, total)))
    first = retriever.top(3, rows=[1])
    assert any(step == "searching both ways" for step, _, _ in steps)
    steps.clear()
    retriever.top(3, rows=[1])
    assert not any(step == "searching both ways" for step, _, _ in steps)
    given = Retriever(X, Y, threads=1, means=retriever.neighbourhood_means()).top(3, rows=[1])
    np.testing.assert_array_equal(given.scores, first.scores)
    with pytest.raises(InputError, match="150 finite"):
        Retriever(X, Y, means=(np.zeros(200), np.zeros(3)))


def test_mutual_pairs(word_like):
    X, Y = word_like
    retriever = Retriever(X, Y, threads=1)
    there, back = retriever.top_both(1)
    mutual = retriever.mutual()
    expected = [(i, j) for i, j in enumerate(there.indices[:, 0]) if back.indices[j, 0] == i]
    assert mutual.pairs.tolist() == [list(pair) for pair in expected]
    np.testing.assert_array_equal(mutual.scores, there.scores[mutual.pairs[:, 0], 0])
    assert (mutual.pairs[:, 0] == mutual.pairs[:, 1]).mean() > 0.6  # the shared words
    assert len(retriever.mutual(3)) > len(mutual)


def test_memory_does_not_grow_with_the_product():
    X, Y = (a.astype(np.float32) for a in pair(20_000, 20_000, 16))
    Retriever(X[:99], Y[:99], threads=1).top(10, rows=[0])
    tracemalloc.start()
    Retriever(X, Y, threads=1).top(10, rows=np.arange(100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Unit copies take 2.6 MB, candidates of both directions some 5 MB; the product would take 1,600 MB.
    assert peak < 60e6


def test_progress_reaches_its_end(word_like):
    X, Y = word_like
    for threads in (1, 2):
        last: dict[str, tuple[float, float | None]] = {}
        Retriever(
            X, Y, threads=threads, progress=lambda step, done, total, seen=last: seen.update({step: (done, total)})
        ).top_both(2)
        assert last
        assert all(done == total for done, total in last.values())


def test_an_error_in_progress_stops_the_search(word_like):
    def stop(step, done, total):
        raise KeyboardInterrupt

    for threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            Retriever(*word_like, threads=threads, progress=stop).top(1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"score": "clss"}, ConfigError, "did you mean 'csls'"),
        ({"backend": "exakt"}, ConfigError, "did you mean 'exact'"),
        ({"neighbourhood": 0}, ConfigError, "neighbourhood"),
        ({"temperature": 0}, ConfigError, "temperature"),
        ({"threads": 0}, ConfigError, "threads"),
        ({"score": "inverted_softmax", "backend": "faiss"}, ConfigError, "sums over all words"),
        ({"score": "euclidian"}, ConfigError, "did you mean 'euclidean'"),
        ({"score": "euclidean", "backend": "int8"}, ConfigError, "use the exact backend"),
        ({"score": "euclidean", "backend": "faiss"}, ConfigError, "use the exact backend"),
        ({"score": "csls-euclidean", "backend": "usearch"}, ConfigError, "use the exact backend"),
        ({"score": "csls-euclidean", "backend": "exakt"}, ConfigError, "did you mean 'exact'"),
    ],
)
def test_unknown_settings_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Retriever(np.eye(3), np.eye(3), **arguments)


def test_bad_vectors_are_refused():
    with pytest.raises(ShapeError, match="Y: vectors have 4 dimensions, expected 3"):
        Retriever(np.eye(3), np.eye(4))
    with pytest.raises(ShapeError, match=r"X: .*matrix"):
        Retriever(np.zeros(3), np.eye(3))
    with pytest.raises(InputError, match="no target vectors"):
        Retriever(np.eye(3), np.zeros((0, 3)))
    for bad in (np.nan, np.inf, -np.inf):
        X = np.eye(3)
        X[1, 2] = bad
        with pytest.raises(InputError, match="X, row 1"):
            Retriever(X, np.eye(3))
        with pytest.raises(InputError, match="vectors, row 1"):
            Retriever(np.eye(3), np.eye(3), threads=1).top(1, vectors=X)
    with pytest.raises(InputError, match="real numbers"):
        Retriever(np.array([["a"]]), np.eye(1))


def test_bad_queries_are_refused():
    retriever = Retriever(np.eye(3), np.eye(3), threads=1)
    for k in (0, -1, 1.5, True):
        with pytest.raises(ConfigError, match="k must be"):
            retriever.top(k)
    for rows in ([3], [-1]):
        with pytest.raises(InputError, match="outside the 3 rows"):
            retriever.top(1, rows=rows)
    with pytest.raises(InputError, match="row numbers"):
        retriever.top(1, rows=[0.5])
    with pytest.raises(ConfigError, match="not both"):
        retriever.top(1, rows=[0], vectors=np.eye(3))
    with pytest.raises(ConfigError, match="unknown score"):
        check_score("nothing like it")


def test_no_queries_at_all():
    for backend in ("exact", "int8"):
        found, back = Retriever(np.zeros((0, 3)), np.eye(3), score="cosine", backend=backend, threads=1).top_both(2)
        assert found.indices.shape == (0, 2)
        assert back.indices.shape == (3, 0)


@pytest.mark.parametrize("score", ["cosine", "csls"])
@pytest.mark.parametrize("backend", ["faiss", "usearch"])
def test_approximate_backends_find_most(word_like, score, backend):
    pytest.importorskip(backend)
    X, Y = (M[:2200, :50] for M in word_like)  # just enough for graphs to be built
    truth = Retriever(X, Y, score=score, threads=1).top_both(10)
    retriever = Retriever(X, Y, score=score, backend=backend, threads=1)
    found = retriever.top_both(10)
    assert min(recall(a, b) for a, b in zip(truth, found, strict=True)) > 0.95
    assert recall(truth[0], retriever.top(10)) > 0.95
    # A pair that both found has the same score, up to the means, which are approximate.
    same = truth[0].indices == found[0].indices
    np.testing.assert_allclose(found[0].scores[same], truth[0].scores[same], atol=5e-3)


def slow_euclidean(X, Y, score, neighbourhood=10):
    """All scores X -> Y (n, m), pair by pair from the distances, and the means that CSLS takes off either side."""
    similarity = -cdist(np.asarray(X, np.float64), np.asarray(Y, np.float64), "sqeuclidean") / 2
    n, m = similarity.shape
    of_rows = [np.mean(sorted(similarity[i], reverse=True)[:neighbourhood]) for i in range(n)]
    of_columns = [np.mean(sorted(similarity[:, j], reverse=True)[:neighbourhood]) for j in range(m)]
    if score == "euclidean":
        return similarity, (of_rows, of_columns)
    csls = np.array([[2 * similarity[i, j] - of_rows[i] - of_columns[j] for j in range(m)] for i in range(n)])
    return csls, (of_rows, of_columns)


@pytest.mark.parametrize("score", EUCLIDEAN_SCORES)
@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (3, 70, 2), (129, 64, 17), (70, 1100, 2), (515, 201, 3)])
def test_distances_agree_with_brute_force_both_ways(score, n, m, d):
    X, Y = (4 * M.astype(np.float32) for M in pair(n, m, d))
    scores, means = slow_euclidean(X, Y, score)
    retriever = Retriever(X, Y, score=score, backend="auto", threads=1)
    assert retriever.backend == "exact"
    found, found_back = retriever.top_both(10)
    tolerance = 1e-6 * np.abs(scores).max() + 1e-6  # scores are float32
    assert_top(found, scores, 10, tolerance=tolerance)
    assert_top(found_back, scores.T, 10, tolerance=tolerance)
    assert_top(retriever.top(4), scores, 4, tolerance=tolerance)
    for measured, expected in zip(retriever.neighbourhood_means(), means, strict=True):
        np.testing.assert_allclose(measured, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("score", EUCLIDEAN_SCORES)
def test_distances_of_rows_and_of_free_vectors(score):
    X, Y = (M.astype(np.float32) for M in pair(300, 200, 2))
    retriever = Retriever(X, Y, score=score, threads=1)
    rows = np.array([7, 299, 7, 0])
    all_rows = retriever.top(5)
    for found in (retriever.top(5, rows=rows), retriever.top(5, vectors=X[rows])):
        np.testing.assert_array_equal(found.indices, all_rows.indices[rows])
        np.testing.assert_array_equal(found.scores, all_rows.scores[rows])
    # Longer by 3 is elsewhere: rows are not brought to unit length.
    far = 3 * X[rows]
    similarity, (of_rows, _) = slow_euclidean(far, Y, "euclidean")
    if score == "csls-euclidean":
        _, (_, of_columns) = slow_euclidean(X, Y, score)
        similarity = 2 * similarity - np.array(of_rows)[:, None] - of_columns
    assert_top(retriever.top(5, vectors=far), similarity, 5, tolerance=2e-5)
    assert retriever.top(5, rows=[]).indices.shape == (0, 5)
    with pytest.raises(ShapeError, match="vectors have 3 dimensions, expected 2"):
        retriever.top(1, vectors=np.eye(3))


@pytest.mark.parametrize("score", EUCLIDEAN_SCORES)
@pytest.mark.parametrize("n", [1, 63, 65, 130])
def test_zero_padding_never_wins_by_distance(score, n):
    """All true scores are far below that of a row of zeros with anything, which is 0."""
    X, Y = (M.astype(np.float32) for M in pair(n, n, 2))
    there, back = Retriever(100 + X, -100 + Y, score=score, threads=1).top_both(5)
    for found in (there, back):
        assert found.indices.shape == (n, min(5, n))
        assert (found.indices >= 0).all()
        assert (found.indices < n).all()
        if score == "euclidean":
            assert (found.scores < -30_000).all()
    assert_top(there, slow_euclidean(100 + X, -100 + Y, score)[0], 5, tolerance=0.1)


@pytest.mark.parametrize("threads", [1, 2])
def test_distances_do_not_depend_on_threads_or_on_where_the_origin_is(threads):
    X, Y = pair(1300, 900, 2)
    expected = cdist(X, Y).argmin(axis=1)
    for shift in (0.0, 1e4):
        found, back = Retriever(X + shift, Y + shift, score="euclidean", threads=threads).top_both(1)
        assert (found.indices[:, 0] == expected).mean() > 0.999
        assert (back.indices[:, 0] == cdist(Y, X).argmin(axis=1)).mean() > 0.999


def test_small_distances_of_long_vectors_are_scored_exactly():
    """In single precision a distance of .01 would vanish next to squared lengths of a million."""
    generator = np.random.default_rng(0)
    Y = (1000 * generator.standard_normal((100, 2))).astype(np.float32)
    X = np.nextafter(Y, np.float32(np.inf))
    X[::2] += np.float32(0.01)
    found = Retriever(X, Y, score="euclidean", threads=1).top(1)
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(100))
    expected = -((X.astype(np.float64) - Y) ** 2).sum(axis=1) / 2
    # Rows are rounded once more when the mean is taken off.
    np.testing.assert_allclose(found.scores[:, 0], expected, atol=5e-6)


def test_equal_distances_stand_in_order_of_index():
    few = np.random.default_rng(1).standard_normal((40, 2))
    found, back = Retriever(few, np.tile(few, (5, 1)), score="euclidean", threads=1).top_both(5)
    np.testing.assert_array_equal(found.indices, np.arange(40)[:, None] + 40 * np.arange(5))
    np.testing.assert_array_equal(back.indices[:, 0], np.tile(np.arange(40), 5))
    everything = Retriever(np.zeros((3, 2)), np.zeros((4, 2)), score="csls-euclidean", threads=1).top(2)
    assert everything.indices.tolist() == [[0, 1]] * 3
    assert (everything.scores == 0).all()


def test_bad_vectors_are_refused_by_distance_too():
    with pytest.raises(ShapeError, match="X: vectors have 3 dimensions, expected 4"):
        Retriever(np.eye(3), np.eye(4), score="euclidean")
    with pytest.raises(InputError, match="no target vectors"):
        Retriever(np.eye(3), np.zeros((0, 3)), score="euclidean")
    for bad in (np.nan, np.inf):
        X = np.eye(3)
        X[1, 2] = bad
        with pytest.raises(InputError, match="X, row 1"):
            Retriever(X, np.eye(3), score="euclidean")
        with pytest.raises(InputError, match="Y, row 1"):
            Retriever(np.eye(3), X, score="euclidean")
    with pytest.raises(InputError, match=r"X, row 2.*scale both sides down"):
        Retriever(np.diag([1, 1, 1e16]), np.eye(3), score="euclidean")
    empty, back = Retriever(np.zeros((0, 2)), np.eye(2), score="csls-euclidean", threads=1).top_both(1)
    assert empty.indices.shape == (0, 1)
    assert back.indices.shape == (2, 0)
