from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import skew

from isoglot.errors import InputError, ShapeError
from isoglot.retrieval import Neighbours, Retriever, hubness


def neighbours(indices):
    indices = np.asarray(indices)
    return Neighbours(indices, np.zeros(indices.shape, np.float32))


def test_an_even_spread_has_no_hubs():
    measured = hubness(neighbours([[0, 1], [1, 2], [2, 0]]), 3)
    assert (measured.skewness, measured.antihubs, measured.robin_hood) == (0.0, 0.0, 0.0)


def test_one_hub_takes_everything():
    measured = hubness(neighbours([[2]] * 10), 5)
    assert measured.antihubs == 0.8
    assert measured.robin_hood == pytest.approx(0.8)
    assert measured.hubs.tolist() == [2]
    assert measured.occurrences.tolist() == [0, 0, 10, 0, 0]


def test_skewness_is_that_of_scipy_and_csls_lowers_it():
    generator = np.random.default_rng(0)
    X, Y = generator.standard_normal((500, 40)), generator.standard_normal((600, 40))
    cosine, csls = (Retriever(X, Y, score=score, threads=1).top(5) for score in ("cosine", "csls"))
    measured = hubness(cosine, 600)
    assert measured.skewness == pytest.approx(skew(np.bincount(cosine.indices.ravel(), minlength=600)))
    assert hubness(csls, 600).skewness < measured.skewness
    assert hubness(cosine, 600, k=1).occurrences.sum() == 500


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="outside the 2 targets"):
        hubness(neighbours([[2]]), 2)
    with pytest.raises(ShapeError):
        Neighbours(np.zeros((2, 2), np.int64), np.zeros((2, 1), np.float32))
    assert hubness(neighbours(np.zeros((0, 3), np.int64)), 4).skewness == 0
