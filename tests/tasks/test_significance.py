"""Intervals that cover, and a test that finds differences where there are some and none where there are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from isoglot.errors import InputError
from isoglot.tasks import Result, bootstrap_intervals, paired_test


def result(values: Sequence[float], *, metric: str = "P@1", start: int = 0, gold: str = "x") -> Result:
    items = [{"source": f"w{start + i}", "gold": [gold], "value": value} for i, value in enumerate(values)]
    return Result("bli", metric, float(np.mean(values)), len(values), 1.0, {}, per_item=items)


def test_an_interval_is_as_wide_as_theory_says() -> None:
    values = np.array([1.0] * 300 + [0.0] * 700)[:, None]
    low, high = bootstrap_intervals(values, repeats=4000, seed=1)[0]
    half = 1.96 * np.sqrt(0.3 * 0.7 / 1000)
    assert low == pytest.approx(0.3 - half, abs=0.004)
    assert high == pytest.approx(0.3 + half, abs=0.004)


def test_blocks_do_not_change_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random((50, 3))
    whole = bootstrap_intervals(values, repeats=300, seed=3)
    monkeypatch.setattr("isoglot.tasks.significance._BLOCK", 400)
    assert np.array_equal(bootstrap_intervals(values, repeats=300, seed=3), whole)


def test_no_items_no_interval() -> None:
    with pytest.raises(InputError):
        bootstrap_intervals(np.empty((0, 1)))


def test_right_or_wrong_items_give_the_exact_mcnemar_test() -> None:
    a = [1.0] * 40 + [0.0] * 10 + [1.0] * 50
    b = [0.0] * 40 + [1.0] * 10 + [1.0] * 50
    test = paired_test(result(a), result(b))
    assert (test.wins, test.losses, test.n, test.method) == (40, 10, 100, "exact McNemar")
    assert test.p_value == pytest.approx(stats.binomtest(40, 50).pvalue)
    assert test.difference == pytest.approx(0.3)
    assert 0 < test.interval[0] < 0.3 < test.interval[1]
    assert test.record()["interval"] == list(test.interval)


def test_graded_items_agree_with_scipys_permutation_test() -> None:
    random = np.random.default_rng(4)
    a = random.random(60)
    b = np.clip(a - 0.05 + 0.2 * random.standard_normal(60), 0, 1)
    test = paired_test(result(list(a), metric="MRR"), result(list(b), metric="MRR"))
    reference = stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=10_000, rng=1
    )
    assert test.method == "sign-flip permutation"
    assert test.p_value == pytest.approx(reference.pvalue, abs=0.02)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20))
def test_swapping_the_systems_mirrors_the_test(values: list[tuple[float, float]]) -> None:
    a, b = (result([pair[side] for pair in values]) for side in (0, 1))
    there, back = paired_test(a, b, repeats=200), paired_test(b, a, repeats=200)
    assert there.p_value == back.p_value
    assert there.difference == pytest.approx(-back.difference)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert 0 < there.p_value <= 1


def test_equal_systems_do_not_differ() -> None:
    values = list(np.random.default_rng(0).integers(0, 2, 50).astype(float))
    test = paired_test(result(values), result(values))
    assert (test.difference, test.p_value, test.interval) == (0, 1, (0, 0))


def test_only_common_items_are_compared() -> None:
    test = paired_test(result([1, 1, 1, 0]), result([0, 1, 1], start=2))
    assert (test.n, test.a, test.b) == (2, 0.5, 0.5)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InputError, match="no items in common"):
        paired_test(result([1]), result([1], start=9))
    with pytest.raises(InputError, match=r"cannot compare bli P@1 with bli MRR"):
        paired_test(result([1]), result([1], metric="MRR"))
    with pytest.raises(InputError, match="different answers"):
        paired_test(result([1]), result([1], gold="y"))
    with pytest.raises(InputError, match="no items to compare"):
        paired_test(result([1]), Result("bli", "P@1", 1.0, 1, 1.0, {}))
    with pytest.raises(InputError, match="does not identify"):
        paired_test(Result("bli", "P@1", 1.0, 2, 1.0, {}, per_item=[{"source": "a", "value": 1}] * 2), result([1]))
