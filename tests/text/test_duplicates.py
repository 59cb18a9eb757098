"""Remembered lines against a plain set."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from isoglot.text.duplicates import SeenLines


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 60).map(str), max_size=30), max_size=12))
def test_as_a_set_would(batches):
    seen, known = SeenLines(), set()
    for batch in batches:
        expected = []
        for line in batch:
            expected.append(line not in known)
            known.add(line)
        assert seen.new(batch).tolist() == expected
        assert len(seen) == len(known)


def test_memory_and_search_stay_small():
    seen = SeenLines()
    for start in range(0, 40_000, 500):
        seen.new([str(i) for i in range(start, start + 500)])
    assert len(seen) == 40_000
    assert sum(run.nbytes for run in seen._runs) == 8 * 40_000
    assert len(seen._runs) <= 8
    assert not seen.new([str(i) for i in range(0, 40_000, 7)]).any()
