"""Names of occurrences: there and back, whatever the word holds."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from isoglot.errors import InputError
from isoglot.spaces import Occurrence, occurrence_name, parse_occurrence

numbers = st.integers(min_value=0, max_value=10**15)


@given(st.one_of(st.text(min_size=1), st.text("@:0123\n", min_size=1)), numbers, numbers)
def test_a_name_is_read_as_it_was_written(word: str, sentence: int, position: int) -> None:
    assert parse_occurrence(occurrence_name(word, sentence, position)) == (word, sentence, position)


@given(st.lists(st.tuples(st.text("a@:01", min_size=1, max_size=4), numbers, numbers), unique=True))
def test_different_occurrences_have_different_names(occurrences: list[tuple[str, int, int]]) -> None:
    assert len({occurrence_name(*occurrence) for occurrence in occurrences}) == len(occurrences)


def test_the_last_mark_counts() -> None:
    assert parse_occurrence("@:@@0:1@2:3") == Occurrence("@:@@0:1", 2, 3)


@pytest.mark.parametrize(
    "name",
    [
        *["", "bank", "@1:2", "bank@1", "bank@1:", "bank@:2", "bank@-1:2", "bank@1:2 ", "bank@1:2\n", "bank@01:2"],
        *["bank@1:x", "bank@١:2", "bank@1.0:2", "bank:1@2", "bank@1:" + "9" * 5000],
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"is not the name of an occurrence.*word@sentence:position"):
        parse_occurrence(name)


@pytest.mark.parametrize(("word", "sentence", "position"), [("", 0, 0), ("a", -1, 0), ("a", 0, -1)])
def test_what_is_no_occurrence_gets_no_name(word: str, sentence: int, position: int) -> None:
    with pytest.raises(InputError, match="not an occurrence"):
        occurrence_name(word, sentence, position)
