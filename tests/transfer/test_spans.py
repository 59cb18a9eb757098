"""Spans: the search for the best ones against trying all, windows, words and characters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.transfer.spans import (
    Answer,
    Span,
    best_answers,
    best_spans,
    overlapping_windows,
    word_spans,
    words_of_span,
)


@settings(deadline=None, max_examples=100)
@given(
    places=st.integers(1, 12),
    longest=st.integers(1, 14),
    n=st.integers(1, 30),
    masked=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_best_spans_are_those_that_trying_all_finds(places, longest, n, masked, seed):
    random = np.random.default_rng(seed)
    ends = random.normal(size=(places, 2)).astype(np.float32)
    ends[random.random(places) < masked] = -np.inf
    every = [
        (float(ends[first, 0]) + float(ends[last, 1]), first, last)
        for first, last in itertools.product(range(places), repeat=2)
        if first <= last < first + longest
    ]
    expected = sorted((one for one in every if one[0] > -np.inf), reverse=True)[:n]
    found = best_spans(ends, longest, n)
    assert [one[1:] for one in found] == [one[1:] for one in expected]
    assert [one[0] for one in found] == pytest.approx([one[0] for one in expected], abs=1e-5)


@given(length=st.integers(0, 60), size=st.integers(1, 20), shared=st.floats(0, 0.99))
def test_windows_cover_everything_and_overlap(length, size, shared):
    overlap = int(size * shared)
    windows = overlapping_windows(length, size, overlap)
    covered = [place for begin, end in windows for place in range(begin, end)]
    assert sorted(set(covered)) == list(range(length))
    assert all(end - begin <= size for begin, end in windows)
    for one, other in itertools.pairwise(windows):
        assert one.end - other.begin == overlap
    # Whatever is at most as long as the overlap lies within one of them.
    for begin in range(length - overlap + 1):
        assert any(one.begin <= begin and begin + overlap <= one.end for one in windows)


def test_the_same_span_of_two_windows_counts_once():
    spans = [Answer(1.0, Span(0, 3)), Answer(2.0, Span(4, 6)), Answer(1.5, Span(0, 3)), Answer(0.1, Span(7, 8))]
    assert best_answers(spans, 2) == [Answer(2.0, Span(4, 6)), Answer(1.5, Span(0, 3))]
    assert best_answers([], 2) == []


@given(text=st.text(max_size=40))
def test_words_are_all_that_is_no_blank(text):
    spans = word_spans(text)
    inside = {place for span in spans for place in range(*span)}
    assert all(a.end <= b.begin for a, b in itertools.pairwise(spans))
    assert all(character.isspace() for place, character in enumerate(text) if place not in inside)


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("The Great Wall.", "Great Wall", "Great Wall"),
        ("a Wallpaper", "Wall", "Wallpaper"),
        ("在北京市。", "北京", "北京"),
    ],
)
def test_an_answer_is_the_words_it_touches(text, answer, expected):
    begin = text.index(answer)
    words = word_spans(text)
    first, last = words_of_span(words, Span(begin, begin + len(answer)))
    assert text[words[first].begin : words[last].end] == expected
    assert words_of_span(words, Span(len(text), len(text) + 1)) is None
