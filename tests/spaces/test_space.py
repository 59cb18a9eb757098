"""`Space` itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from isoglot.errors import InputError, ShapeError
from isoglot.spaces import Space, SubwordTable

words_and_counts = st.dictionaries(
    st.text("aAbBçÇ", min_size=1, max_size=3), st.integers(1, 50), min_size=1, max_size=20
)


def make(words: list[str], counts: list[int] | None = None) -> Space:
    return Space("xx", words, np.arange(len(words) * 2, dtype=np.float32).reshape(-1, 2), counts)


def test_vectors_are_read_only_and_not_copied() -> None:
    matrix = np.ones((2, 3), dtype=np.float32)
    space = Space("en", ["a", "b"], matrix)
    assert np.shares_memory(space.vectors, matrix)
    with pytest.raises(ValueError, match="read-only"):
        space.vectors[0, 0] = 5
    matrix[0, 0] = 2  # the caller's own array stays writable


def test_other_types_become_float32() -> None:
    space = Space("en", ["a"], np.array([[1, 2]], dtype=np.float64))
    assert space.vectors.dtype == np.float32


@pytest.mark.parametrize(
    ("words", "vectors", "counts"),
    [
        (["a"], np.ones((2, 2)), None),
        (["a", "b"], np.ones(2), None),
        (["a", "b"], np.ones((2, 2)), [1]),
    ],
)
def test_shapes_must_fit(words: list[str], vectors: np.ndarray, counts: list[int] | None) -> None:
    with pytest.raises(ShapeError):
        Space("en", words, vectors, counts)


def test_lookups() -> None:
    space = make(["a", "b"])
    assert "a" in space
    assert "x" not in space
    assert space.rows(["b", "x", "a"]).tolist() == [1, -1, 0]
    assert space.vector("b").tolist() == [2, 3]
    with pytest.raises(InputError, match="'x'"):
        space.vector("x")


def test_the_first_of_equal_words_is_found() -> None:
    assert make(["a", "b", "a"]).index["a"] == 0


def test_unknown_words_take_their_ngrams() -> None:
    table = SubwordTable(3, 3, 2, np.array([[1, 1], [1, 1]], dtype=np.float32))
    space = Space("en", ["a"], np.zeros((1, 2)), subwords=table)
    assert space.vector("a").tolist() == [0, 0]
    assert space.vector("unseen").tolist() == [1, 1]
    assert space.with_vectors(np.ones((1, 2))).subwords is None


def test_most_frequent_is_a_view_when_rows_are_in_order() -> None:
    space = make(["a", "b", "c"])
    assert np.shares_memory(space.most_frequent(2).vectors, space.vectors)
    assert space.most_frequent(9) is space


@given(words_and_counts, st.integers(1, 25))
def test_most_frequent_follows_counts(words: dict[str, int], n: int) -> None:
    space = make(list(words), list(words.values())).most_frequent(n)
    assert space.counts is not None
    assert space.counts.tolist() == sorted(words.values(), reverse=True)[:n]
    assert [words[word] for word in space.words] == space.counts.tolist()


@given(words_and_counts)
def test_folding_case_keeps_the_most_frequent_vector(words: dict[str, int]) -> None:
    space = make(list(words), list(words.values()))
    folded = space.fold_case()
    assert len(set(folded.words)) == len(folded)
    assert folded.counts is not None
    assert folded.counts.sum() == sum(words.values())
    for word in folded.words:
        group = [w for w in words if w.lower() == word]
        best = max(group, key=lambda w: words[w])
        assert folded.vector(word).tolist() == space.vector(best).tolist()


def test_fingerprint_tells_words_and_numbers_apart() -> None:
    space = make(["a", "b"])
    assert space.fingerprint() == make(["a", "b"]).fingerprint()
    assert space.fingerprint() != make(["a", "c"]).fingerprint()
    assert space.fingerprint() != space.with_vectors(space.vectors + 1).fingerprint()
