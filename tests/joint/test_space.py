"""Reallocation against the paper's formula, views, and files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from isoglot.errors import ConfigError, FormatError, InputError, ShapeError
from isoglot.joint import JointSpace

counts_of_two = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).filter(any), min_size=2, max_size=12)


@given(counts_of_two, st.sampled_from([0.6, 0.7, 0.8, 0.9, 0.95]))
def test_reallocation_follows_the_papers_formula(counts, gamma):
    table = np.array(counts)
    joint = JointSpace(("a", "b"), tuple(f"w{i}" for i in range(len(table))), np.zeros((len(table), 2)), table)
    totals = table.sum(axis=0)
    for row, (first, second) in zip(joint.reallocate(gamma).members, counts, strict=True):
        if first and second:
            r = (totals[1] / totals[0]) * (first / second)
            if min(abs(r - gamma / (1 - gamma)), abs(r - (1 - gamma) / gamma)) < 1e-9:
                continue  # on the boundary the last bit decides
            shared = (1 - gamma) / gamma <= r <= gamma / (1 - gamma)
            assert row.tolist() == ([True, True] if shared else [r > 1, r < 1])
        else:
            assert row.tolist() == [first > 0, second > 0]


def three():
    counts = np.array([[50, 0, 0], [0, 40, 1], [20, 22, 19], [1, 2, 60], [29, 36, 20]])
    return JointSpace(("en", "fr", "it"), ("the", "le", "taxi", "il", "50"), np.eye(5), counts)


def test_views_hold_shared_words_and_own_words_by_frequency():
    joint = three()
    assert joint.view("it").words == ("il", "50", "taxi", "le")
    assert joint.view("it").counts.tolist() == [60, 20, 19, 1]
    moved = joint.reallocate(0.9)
    assert moved.view("it").words == ("il", "50", "taxi")
    assert moved.own("it").words == ("il",)
    assert moved.view("fr", limit=2).words == ("le", "50")
    assert moved.kinds() == {"shared": 2, "en": 1, "fr": 1, "it": 1}
    assert joint.moved(moved, "fr") == ["il"]
    assert joint.moved(moved, "en") == ["il"]
    np.testing.assert_array_equal(moved.view("fr").vector("le"), np.eye(5)[1])


def test_a_gamma_of_one_shares_all_and_a_half_only_equals():
    joint = three()
    assert (joint.reallocate(1.0).members == (joint.counts > 0)).all()
    assert len(joint.reallocate(0.5).shared) == 0
    for wrong in (0.4, 1.1):
        with pytest.raises(ConfigError, match="gamma"):
            joint.reallocate(wrong)


def test_files(tmp_path):
    joint = three().reallocate(0.9)
    joint.write_into(tmp_path)
    again = JointSpace.load(tmp_path)
    assert (again.langs, again.words) == (joint.langs, joint.words)
    for name in ("vectors", "counts", "members"):
        np.testing.assert_array_equal(getattr(again, name), getattr(joint, name))
    (tmp_path / "words.txt").write_text("one\n", "utf-8")
    with pytest.raises(FormatError, match="checksum"):
        JointSpace.load(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        JointSpace.load(tmp_path / "nowhere")


def test_shapes_and_languages_are_checked():
    with pytest.raises(ShapeError):
        JointSpace(("en", "fr"), ("a",), np.eye(2), np.ones((1, 2)))
    with pytest.raises(ConfigError, match="there are: en, fr, it"):
        three().view("de")
