"""Choices of layers: how they are written, what they choose, how their vectors are put together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from isoglot.encoders import Layers, parse_layers
from isoglot.encoders.layers import combine_layers
from isoglot.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "numbers", "combination"),
    [
        (-1, (6,), "concatenate"),
        ("-1", (6,), "concatenate"),
        ("last", (6,), "concatenate"),
        ("LAST1", (6,), "concatenate"),
        (0, (0,), "concatenate"),
        ("-7", (0,), "concatenate"),
        (" 4 ", (4,), "concatenate"),
        ("1, 2", (1, 2), "concatenate"),
        ("2,1", (2, 1), "concatenate"),
        ("last4", (3, 4, 5, 6), "sum"),
        ("sum:1,-1", (1, 6), "sum"),
        ("mean:all", (0, 1, 2, 3, 4, 5, 6), "mean"),
        ("sum:last", (6,), "sum"),
        (Layers((-1,)), (6,), "concatenate"),
    ],
)
def test_what_is_written_is_what_is_chosen(written, numbers, combination):
    assert parse_layers(written, 6) == Layers(numbers, combination)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5), st.sampled_from(["sum", "mean", "concatenate"]))
def test_written_and_read_again(numbers, combination):
    layers = Layers(tuple(numbers), combination)
    assert parse_layers(str(layers), 12) == layers


@pytest.mark.parametrize("written", ["", "top", "last0", "last-1", "max:1,2", "1,,2", "1.5", "sum:", "last4,1", "1;2"])
def test_what_cannot_be_read_is_refused_with_examples(written):
    with pytest.raises(ConfigError, match=r"unknown choice of layers .*give e\.g\. -1"):
        parse_layers(written, 6)


@pytest.mark.parametrize("written", [7, "-8", "1,7", "sum:99", Layers((7,))])
def test_layers_that_are_not_there(written):
    with pytest.raises(ConfigError, match=r"there is no layer .*layers 0 to 6"):
        parse_layers(written, 6)


def test_more_last_layers_than_there_are():
    with pytest.raises(ConfigError, match="last7 asks for 7 layers, the encoder has 6"):
        parse_layers("last7", 6)


@pytest.mark.parametrize("written", ["3", "1,2", "sum:1,2", "mean:1,2,3"])
def test_vectors_are_put_together(written):
    layers = parse_layers(written, 3)
    states = np.random.default_rng(0).normal(size=(len(layers.numbers), 5, 4)).astype(np.float32)
    found = combine_layers(states, layers.combination)
    wanted = {"sum": states.sum(axis=0), "mean": states.mean(axis=0), "concatenate": np.hstack(list(states))}
    np.testing.assert_allclose(found, wanted[layers.combination], rtol=1e-6)
    assert found.shape == (5, layers.dim(4))
