"""Label projection: always sound BIO, nothing changed by identity links, and examples worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.text import LabelledSentence
from isoglot.wordalign import WordLinks, label_scheme, project_text
from isoglot.wordalign.projection import label_spans, project_labels

KINDS = ["PER", "LOC", ""]


def sentence(labels: str) -> LabelledSentence:
    """`B I O` without kinds are of PER: `B I O` gives B-PER I-PER O; others stay as they are."""
    full = [f"{label}-PER" if label in "BI" else label for label in labels.split()]
    return LabelledSentence([f"w{i}" for i in range(len(full))], full)


def projected(labels: str, pairs: dict | set, length: int, **settings) -> str:
    scores = pairs if isinstance(pairs, dict) else {}
    words = [f"t{j}" for j in range(length)]
    found = project_labels(sentence(labels), words, WordLinks(frozenset(pairs), scores=scores), **settings)
    assert list(found.words) == words
    return " ".join(label.removesuffix("-PER") for label in found.labels)


@st.composite
def bio_sentences(draw):
    """Sound BIO labels: spans and words outside, in any order."""
    labels: list[str] = []
    for kind, length in draw(st.lists(st.tuples(st.sampled_from([None, *KINDS]), st.integers(1, 4)), max_size=6)):
        ending = f"-{kind}" if kind else ""
        labels += ["O"] * length if kind is None else [f"B{ending}"] + [f"I{ending}"] * (length - 1)
    return LabelledSentence([f"w{i}" for i in range(len(labels))], labels)


@st.composite
def problems(draw, sentences=None):
    source = draw(bio_sentences() if sentences is None else sentences)
    m = draw(st.integers(0, 12))
    cells = [(i, j) for i in range(len(source)) for j in range(m)]
    chosen = draw(st.lists(st.sampled_from(cells), unique=True)) if cells else []
    possible = frozenset(link for link in chosen if draw(st.booleans()))
    scores = {link: draw(st.floats(-1, 1)) for link in chosen if draw(st.booleans())}
    return source, [f"t{j}" for j in range(m)], WordLinks(frozenset(chosen) - possible, possible, scores)


def assert_sound(labels):
    before = "O"
    for label in labels:
        mark, _, kind = label.partition("-")
        assert mark in ("B", "I", "O")
        if mark == "I":
            assert before in (f"B-{kind}" if kind else "B", f"I-{kind}" if kind else "I"), labels
        before = label


@given(problems(), st.integers(0, 3))
def test_whatever_the_links_the_labels_are_sound(problem, max_gap):
    source, words, links = problem
    (found,) = project_text([source], [words], [links], scheme="bio", max_gap=max_gap)
    assert_sound(found.sentence.labels)
    assert found.sentence.words == tuple(words)
    placed = sorted((*span.target, span.label) for span in found.spans if span.target is not None)
    # Each projected span is one span of the target: none is parted, none are merged.
    assert label_spans(found.sentence.labels) == placed
    assert [(*span.source, span.label) for span in found.spans] == label_spans(source.labels)
    for span in found.spans:
        assert (span.target is None) == (span.coverage == 0)
        assert 0 <= span.coverage <= 1
        if span.target is not None:
            begin, end = span.target
            linked = {j for i, j in links.all if span.source[0] <= i < span.source[1]}
            assert begin in linked
            assert end - 1 in linked
    assert 0 <= found.coverage <= found.confidence <= 1


@given(
    problems(
        st.lists(st.sampled_from(["O", "B-X", "I-X", "E-X", "S-X", "I-Y", "L-Y", "U-Y", "M-X", "B"]), max_size=9).map(
            lambda labels: LabelledSentence(["w"] * len(labels), labels)
        )
    )
)
def test_labels_of_any_kind_come_out_as_sound_bio(problem):
    assert_sound(project_labels(*problem).labels)


@given(bio_sentences(), st.integers(0, 3), st.sampled_from(["auto", "bio", "plain"]))
def test_identity_links_change_nothing(source, max_gap, scheme):
    links = WordLinks(frozenset((i, i) for i in range(len(source))))
    (found,) = project_text([source], [source.words], [links], max_gap=max_gap, scheme=scheme)
    assert found.sentence == source
    assert found.confidence == found.coverage == 1


@given(bio_sentences())
def test_a_reversed_target_has_the_spans_in_reverse(source):
    n = len(source)
    links = WordLinks(frozenset((i, n - 1 - i) for i in range(n)))
    found = project_labels(source, source.words[::-1], links, scheme="bio")
    expected = sorted((n - end, n - begin, kind) for begin, end, kind in label_spans(source.labels))
    assert label_spans(found.labels) == expected


@given(st.lists(st.sampled_from(["NOUN", "VERB", "DET"]), max_size=8), st.randoms(use_true_random=False))
def test_plain_labels_follow_any_reordering(labels, random):
    order = list(range(len(labels)))
    random.shuffle(order)
    source = LabelledSentence(["w"] * len(labels), labels)
    links = WordLinks(frozenset((i, j) for j, i in enumerate(order)))
    assert list(project_labels(source, source.words, links, scheme="plain").labels) == [labels[i] for i in order]


@pytest.mark.parametrize(
    ("labels", "pairs", "length", "settings", "expected"),
    [
        # A gap of one word is filled, one of two is not; the longer part is kept, wherever it is.
        ("B I", {(0, 0), (1, 2)}, 3, {}, "B I I"),
        ("B I", {(0, 0), (1, 2)}, 3, {"max_gap": 0}, "B O O"),
        ("B I I", {(0, 0), (1, 3), (2, 4)}, 5, {}, "O O O B I"),
        ("B I I", {(0, 0), (1, 3), (2, 4)}, 5, {"max_gap": 2}, "B I I I I"),
        ("B I I", {(0, 0), (1, 1), (2, 4)}, 5, {}, "B I O O O"),
        ("B I I", {(0, 0): 0.9, (1, 3): 0.1, (2, 4): 0.1}, 5, {}, "O O O B I"),
        # Parts of equal length: the one with better scores, else the first.
        ("B I", {(0, 0): 0.4, (1, 3): 0.9}, 4, {}, "O O O B"),
        ("B I", {(0, 0), (1, 3)}, 4, {}, "B O O O"),
        # A word of another span in the gap keeps it open.
        ("B I B-LOC", {(0, 0), (1, 2), (2, 1)}, 3, {}, "B B-LOC O"),
        ("B I O", {(0, 0), (1, 2), (2, 1)}, 3, {}, "B I I"),
        # Neighbours of one kind stay two, also if they change places.
        ("B I B", {(0, 0), (1, 1), (2, 2)}, 3, {}, "B I B"),
        ("B I B", {(0, 1), (1, 2), (2, 0)}, 3, {}, "B B I"),
        # Many to one, one to many.
        ("B I I", {(0, 0), (1, 0), (2, 0)}, 2, {}, "B O"),
        ("O B", {(1, 0), (1, 1), (1, 2)}, 4, {}, "B I I O"),
        # A word two spans want: more links, then the better score, then more links in all, then the first.
        ("B I B-LOC", {(0, 0): 0.1, (1, 0): 0.1, (2, 0): 0.9}, 1, {}, "B"),
        ("B B-LOC", {(0, 0): 0.1, (1, 0): 0.9}, 1, {}, "B-LOC"),
        ("B I B-LOC", {(0, 0): 0.9, (1, 1): 0.1, (2, 1): 0.8}, 2, {}, "B B-LOC"),
        ("B B-LOC I-LOC", {(0, 1), (1, 1), (2, 2)}, 3, {}, "O B-LOC I-LOC"),
        ("B B-LOC", {(0, 0), (1, 0)}, 1, {}, "B"),
        # The first span gives up word 5, which then goes to the other.
        ("B I I B-LOC", {(0, 0), (1, 1), (2, 5), (3, 5)}, 6, {}, "B I O O O B-LOC"),
        # Words without links.
        ("B I I", {(1, 1)}, 3, {}, "O B O"),
        ("B I O", {(2, 1)}, 3, {}, "O O O"),
        ("B", set(), 2, {}, "O O"),
        ("B O", {(0, 1)}, 2, {"outside": "_"}, "_ B"),
        # Other ways to write spans.
        ("I I B O I", {(i, i) for i in range(5)}, 5, {}, "B I B O B"),
        ("B-LOC E-LOC I-LOC", {(i, i) for i in range(3)}, 3, {}, "B-LOC I-LOC B-LOC"),
        ("S-LOC B-LOC E-LOC B-LOC I-LOC", {(i, i) for i in range(5)}, 5, {}, "B-LOC B-LOC I-LOC B-LOC I-LOC"),
    ],
)
def test_spans_worked_by_hand(labels, pairs, length, settings, expected):
    assert projected(labels, pairs, length, **settings) == expected


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ({(0, 1): 0.9, (1, 0): 0.8}, "NOUN DET X"),
        ({(0, 0): 0.3, (1, 0): 0.8, (2, 1): 0.1}, "NOUN VERB X"),
        ({(0, 0): 0.8, (1, 0): 0.3, (0, 2): 0.2}, "DET X DET"),
        ({(0, 0), (1, 0)}, "DET X X"),
        ({(0, 0), (3, 0), (3, 1), (2, 1)}, "DET VERB X"),
        (set(), "X X X"),
    ],
)
def test_plain_labels_worked_by_hand(pairs, expected):
    assert projected("DET NOUN VERB X", pairs, 3, outside="X") == expected


def test_of_equal_links_one_that_says_something_is_taken():
    assert projected("X NOUN VERB", {(0, 0), (1, 0), (2, 0)}, 1, outside="X") == "NOUN"


def test_sure_links_count_more_than_possible_ones():
    source = sentence("DET NOUN")
    assert project_labels(source, ["t"], WordLinks({(1, 0)}, {(0, 0)})).labels == ("NOUN",)
    source = sentence("B-LOC B-ORG")
    assert project_labels(source, ["t"], WordLinks({(1, 0)}, {(0, 0)})).labels == ("B-ORG",)


def test_confidence_and_the_filter():
    sources = [sentence("B I O B"), sentence("O O"), sentence("B I I"), sentence("B O")]
    targets = [["a", "b", "c"], ["a"], ["a", "b", "c", "d", "e"], ["a"]]
    links = [
        WordLinks({(0, 0), (3, 2)}),
        WordLinks(),
        # The word far away does not count: it is not in the projected span.
        WordLinks({(0, 0), (1, 1), (2, 4)}),
        WordLinks({(1, 0)}),
    ]
    found = project_text(sources, targets, links)
    assert [one.confidence for one in found] == pytest.approx([2 / 3, 1, 2 / 3, 0])
    assert [one.coverage for one in found] == pytest.approx([1 / 2, 1, 2 / 3, 0])
    assert [span.target for span in found[0].spans] == [(0, 1), (2, 3)]
    assert [one.number for one in project_text(sources, targets, links, min_coverage=0.01)] == [0, 1, 2]
    assert [one.number for one in project_text(sources, targets, links, min_coverage=0.6)] == [1, 2]
    assert [one.number for one in project_text(sources, targets, links, min_coverage=1)] == [1]


def test_plain_confidence_is_the_share_of_linked_target_words():
    (found,) = project_text([sentence("DET NOUN")], [["a", "b", "c", "d"]], [WordLinks({(0, 0), (1, 3)})])
    assert found.confidence == found.coverage == 0.5
    assert found.spans == ()


def test_the_scheme_is_that_of_all_sentences():
    names, tags = sentence("B I O"), sentence("NOUN VERB")
    assert label_scheme([sentence("O O")]) == "bio"
    assert label_scheme([names, tags]) == "plain"
    assert label_scheme([sentence("_ B")], outside="_") == "bio"
    assert label_scheme([sentence("_ B")]) == "plain"
    links = WordLinks({(0, 0), (2, 1)})
    (first, _) = project_text([names, tags], [["a", "b"], []], [links, WordLinks()])
    assert first.sentence.labels == ("B-PER", "O")


def test_bad_arguments_are_clear_errors():
    source, words = sentence("B O"), ["a", "b"]
    with pytest.raises(FormatError, match=r"links:1: the link 2-0 .* points past sentences of 2 and 2 words"):
        project_labels(source, words, WordLinks({(2, 0), (0, 0)}))
    with pytest.raises(FormatError, match="the link 0-2"):
        project_labels(source, words, WordLinks({(0, 2), (0, 0)}))
    with pytest.raises(InputError, match="1 labelled sentences but 2 target"):
        project_text([source], [words, words], [WordLinks()])
    with pytest.raises(FormatError, match="2 lines of links for 1"):
        project_text([source], [words], [WordLinks(), WordLinks()])
    with pytest.raises(InputError, match="lists of words"):
        project_labels(source, "a b", WordLinks())
    with pytest.raises(ConfigError, match="unknown scheme 'iob'"):
        project_labels(source, words, WordLinks(), scheme="iob")
    with pytest.raises(ConfigError, match="max_gap"):
        project_labels(source, words, WordLinks(), max_gap=-1)
    with pytest.raises(ConfigError, match="min_coverage"):
        project_text([source], [words], [WordLinks()], min_coverage=float("nan"))
    for outside in ("", "a b", "B-X"):
        with pytest.raises(ConfigError, match="outside"):
            project_labels(source, words, WordLinks(), outside=outside)
    with pytest.raises(InputError, match=r"labels, sentence 1: the label 'NOUN' of 'w0' is not like B-PER"):
        project_labels(sentence("NOUN"), words, WordLinks(), scheme="bio")
    at_a_line = LabelledSentence(["a"], ["NOUN"], line=7)
    with pytest.raises(InputError, match=r"x\.conll:7: the label"):
        label_scheme([at_a_line], "bio", where="x.conll")
