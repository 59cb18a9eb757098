from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.retrieval import SCORES, Retriever, check_score

from .conftest import assert_top, brute_force, recall


def pair(n, m, d, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((n, d)) + 0.2, generator.standard_normal((m, d)) + 0.2


@pytest.mark.parametrize("score", SCORES)
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


@pytest.mark.parametrize("score", SCORES)
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
@pytest.mark.parametrize("score", SCORES)
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
@pytest.mark.parametrize("score", SCORES)
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
@given(st.integers(0, 10_000), st.sampled_from(SCORES), st.sampled_from(["exact", "int8"]))
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
    X, Y = word_like
    truth = Retriever(X, Y, score=score, threads=1).top_both(10)
    retriever = Retriever(X, Y, score=score, backend=backend, threads=1)
    found = retriever.top_both(10)
    assert min(recall(a, b) for a, b in zip(truth, found, strict=True)) > 0.95
    assert recall(truth[0], retriever.top(10)) > 0.95
    # A pair that both found has the same score, up to the means, which are approximate.
    same = truth[0].indices == found[0].indices
    np.testing.assert_allclose(found[0].scores[same], truth[0].scores[same], atol=5e-3)
