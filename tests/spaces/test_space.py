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


def test_square_brackets_give_a_vector_or_a_matrix() -> None:
    space = make(["a", "b", "c"])
    assert space["b"].tolist() == [2, 3]
    assert space[["c", "a"]].tolist() == [[4, 5], [0, 1]]
    assert space[("c",)].shape == (1, 2)
    assert space[[]].shape == (0, 2)
    assert list(space) == ["a", "b", "c"]
    for wrong in (0, slice(2), [0, 1], None):
        with pytest.raises(InputError, match="a word or a list of words"):
            space[wrong]  # type: ignore[index]


def test_unknown_words_get_near_spellings() -> None:
    space = make(["colour", "colours", "Paris", "zebra"])
    for ask in (space.vector, space.__getitem__, lambda word: space[["zebra", word]]):
        with pytest.raises(InputError, match=r"'color' is not among the 4 words of xx; similar words: colour, colours"):
            ask("color")
    with pytest.raises(InputError, match="similar words: Paris"):
        space["paris"]
    with pytest.raises(InputError, match=r"of xx$"):
        space["qqq"]


def test_unknown_words_with_subwords_have_vectors_in_brackets_too() -> None:
    table = SubwordTable(2, 3, 8, np.arange(16, dtype=np.float32).reshape(8, 2))
    space = Space("en", ["cat"], np.ones((1, 2)), subwords=table)
    assert np.array_equal(space[["cat", "cats"]][1], space["cats"])


def test_most_similar_words_by_cosine() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(50)]
    space = Space("en", [*words, "nil"], np.vstack([rng.standard_normal((50, 4)) * 3, np.zeros((1, 4))]))
    unit = space.vectors[:50] / np.linalg.norm(space.vectors[:50], axis=1, keepdims=True)
    order = [i for i in np.argsort(-(unit @ unit[7])) if i != 7]
    found = space.most_similar("w7", k=5)
    assert [word for word, _ in found] == [words[i] for i in order[:5]]
    assert [cosine for _, cosine in found] == pytest.approx((unit @ unit[7])[order[:5]], abs=1e-6)
    # A vector has no word of its own: its nearest is the word that it belongs to.
    assert space.most_similar(2 * space["w7"], k=1) == [("w7", pytest.approx(1))]
    assert len(space.most_similar("w7", k=99)) == 50
    assert len(space.most_similar(space["w7"], k=99)) == 51
    assert Space("en", ["a"], np.ones((1, 2))).most_similar("a") == []
    with pytest.raises(InputError, match="at least 1"):
        space.most_similar("w7", k=0)
    with pytest.raises(ShapeError, match=r"\(3,\), not \(4,\)"):
        space.most_similar(np.ones(3))


def test_how_a_space_is_shown() -> None:
    space = Space("fr", ["<b>", *(f"w{i}" for i in range(2000))], np.ones((2001, 3)), source="a&b.vec")
    assert repr(space) == "Space('fr', 2001 words x 3)"
    html = space._repr_html_()
    assert len(html) < 500
    for part in ("Space fr", "2,001 words x 3", "a&amp;b.vec", "&lt;b&gt;, w0", "..."):
        assert part in html


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
