"""The heat map of a sentence pair: it is XML whatever the words, shows every cell and link, refuses what is wrong."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.report import LARGEST, alignment_picture, write_picture
from isoglot.report.alignment_picture import CELL, check_words
from isoglot.report.labels import isolated, safe, shortened, text_width
from isoglot.wordalign import WordLinks

SRC, TGT = ["a", "black", "cat"], ["un", "chat", "noir", "."]
SCORES = np.linspace(-0.2, 0.9, 12).reshape(3, 4)
LINKS = WordLinks(frozenset({(0, 0), (2, 1)}), frozenset({(1, 2)}))
#: Any code points, halves of surrogate pairs and control characters among them.
WORDS = st.lists(st.text(st.characters(categories=None), max_size=40), min_size=1, max_size=5)


def named(tree, name: str) -> list[ElementTree.Element]:
    """Elements of a class."""
    return [element for element in tree.iter() if name in element.get("class", "").split()]


def drawn(*args, **settings) -> ElementTree.Element:
    return ElementTree.fromstring(alignment_picture(*args, **settings))


def text_of(element: ElementTree.Element) -> str:
    """What is seen of a label: all but its tooltip."""
    return (element.text or "") + "".join(child.tail or "" for child in element)


def tooltip(element: ElementTree.Element) -> str | None:
    return element.findtext("{http://www.w3.org/2000/svg}title")


def box(element: ElementTree.Element) -> list[float]:
    return [float(element.get(name)) for name in ("x", "y", "width", "height")]


def test_every_word_cell_and_link_is_there():
    tree = drawn(SRC, TGT, SCORES, LINKS, "by hand", scale="cosine")
    assert [text_of(one) for one in named(tree, "source")] == SRC
    assert [text_of(one) for one in named(tree, "target")] == TGT
    cells = named(tree, "cell")
    assert len(cells) == 12
    assert len(named(tree, "link")) == 3
    assert len(named(tree, "possible")) == 2  # with the one in the legend
    assert [one.get("stroke-dasharray") is None for one in named(tree, "link")] == [True, False, True]
    assert [text_of(one) for one in named(tree, "heading")] == ["by hand"]
    assert tooltip(tree) == "by hand"
    assert [text_of(one) for one in named(tree, "note")] == ["cosine", "-0.2", "0.9", "linked", "possibly linked"]
    assert [tooltip(cells[k]) for k in (0, 1, 6)] == [
        "a – un: -0.2, linked", "a – chat: -0.1", "black – noir: 0.4, possibly linked",
    ]  # fmt: skip


def test_links_lie_in_their_cells():
    tree = drawn(SRC, TGT, SCORES, LINKS, "by hand")
    cells = named(tree, "cell")
    left, top, *_ = box(cells[0])
    assert [box(cell)[:2] for cell in cells] == [[left + CELL * j, top + CELL * i] for i in range(3) for j in range(4)]
    for (i, j), link in zip([(0, 0), (1, 2), (2, 1)], named(tree, "link"), strict=True):
        x, y, width, height = box(link)
        assert left + CELL * j < x < x + width < left + CELL * (j + 1)
        assert top + CELL * i < y < y + height < top + CELL * (i + 1)


def test_colours_go_with_scores():
    fills = [cell.get("fill") for cell in named(drawn(SRC, TGT, SCORES, (), "x"), "cell")]
    assert len(set(fills)) == 12
    lightness = [sum(bytes.fromhex(fill[1:])) for fill in fills]
    assert lightness == sorted(lightness, reverse=True)
    # Beyond limits all is the same.
    fills = [cell.get("fill") for cell in named(drawn(SRC, TGT, SCORES, (), "x", limits=(0, 0.5)), "cell")]
    assert len({*fills[:3]}) == 1
    assert len({*fills[8:]}) == 1
    assert fills[0] != fills[-1]


def test_without_scores_linked_cells_are_filled():
    tree = drawn(SRC, TGT, None, LINKS, "hmm")
    fills = [cell.get("fill") for cell in named(tree, "cell")]
    assert fills[0] == fills[9] != fills[6]
    assert len({fills[k] for k in range(12) if k not in (0, 6, 9)} | {fills[0], fills[6]}) == 3
    assert not named(tree, "scale")
    assert tooltip(named(tree, "cell")[1]) == "a – chat: not linked"
    assert len(named(tree, "link")) == 3
    assert len(named(drawn(SRC, TGT, None, (), "hmm"), "link")) == 0


def test_one_score_throughout_has_a_scale_too():
    for score, ends in ((0.83, ["0", "0.83"]), (-2.0, ["-2", "0"]), (0.0, ["0", "1"])):
        notes = [text_of(one) for one in named(drawn(["a"], ["b"], [[score]], [(0, 0)], "x"), "note")]
        assert notes[1:3] == ends
    # Numbers that are nothing beside the others are shown as 0.
    notes = [text_of(one) for one in named(drawn(["a"], ["b", "c"], [[-1e-9, 1]], (), "x"), "note")]
    assert notes[1:3] == ["0", "1"]


@settings(max_examples=150, deadline=None)
@given(src=WORDS, tgt=WORDS, title=st.text(st.characters(categories=None)), scores=st.booleans())
def test_any_text_makes_a_picture(src, tgt, title, scores):
    text = alignment_picture(src, tgt, np.ones((len(src), len(tgt))) if scores else None, [(0, 0)], title, scale=title)
    tree = ElementTree.fromstring(text.encode("utf-8"))
    assert len(named(tree, "cell")) == len(src) * len(tgt)
    assert len(named(tree, "source")) == len(src)
    for words, name in ((src, "source"), (tgt, "target")):
        for word, label in zip(words, named(tree, name), strict=True):
            assert text_of(label) == shortened(word, 22)
    # Nothing but our own elements: no word became one.
    assert {element.tag.rpartition("}")[2] for element in tree.iter()} <= {
        "svg", "title", "rect", "text", "defs", "linearGradient", "stop",
    }  # fmt: skip


@pytest.mark.parametrize("word", ['<script>alert("x")</script>', "a&amp;b", "]]>", "'\"", "<!--"])
def test_markup_in_words_is_shown_as_it_is(word):
    tree = drawn([word], ["b"], [[0.5]], (), word)
    assert text_of(*named(tree, "source")) == shortened(word, 22)
    assert tooltip(*named(tree, "cell")) == f"{word} – b: 0.5"
    assert text_of(*named(tree, "heading")) == word


def test_long_words_are_cut_and_whole_in_the_tooltip():
    word = "Donaudampfschifffahrtsgesellschaft"
    (label,) = named(drawn([word], ["b"], None, (), "x"), "source")
    assert text_of(label) == "Donaudampfschifffahrt…"
    assert tooltip(label) == word
    assert shortened("全" * 30, 22) == "全" * 10 + "…"
    assert shortened("全" * 11, 22) == "全" * 11
    marked = "a\u0301" * 22
    assert shortened(marked, 22) == marked
    assert shortened(marked + "b", 22) == "a\u0301" * 21 + "…"
    assert len(shortened("a" + "\u0301" * 10_000, 22)) < 100
    assert shortened("\u200b\u200b", 22) == "U+200B"
    assert shortened("", 22) == ""


def test_labels_fit_into_the_picture():
    def size(src, tgt, title="x"):
        tree = drawn(src, tgt, np.ones((len(src), len(tgt))), (), title)
        return [float(tree.get(name)) for name in ("width", "height")]

    width, height = size(["a"], ["b"])
    assert size(["a" * 20], ["b"])[0] > width + 100
    assert size(["a"], ["b" * 20])[1] > height + 80
    assert size(["a"] * 9, ["b"]) == [width, height + 8 * CELL]
    assert size(["a"], ["b"], "title " * 12)[0] > width
    assert text_width("全角") > text_width("ab")
    assert text_width("a\u0301") == text_width("a")


def test_words_that_run_leftwards_keep_to_themselves():
    hebrew = "(שלום)"
    tree = drawn([hebrew], ["peace"], [[0.5]], (), "x")
    (label,) = named(tree, "source")
    assert text_of(label) == hebrew
    assert label.get("unicode-bidi") == "plaintext"
    assert tooltip(*named(tree, "cell")) == f"\u2068{hebrew}\u2069 – peace: 0.5"
    assert isolated("peace") == "peace"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"scores": SCORES.T}, ShapeError, r"scores: must be of shape \(3, 4\), as there are words, not \(4, 3\)"),
        ({"scores": SCORES[0]}, ShapeError, "must be of shape"),
        ({"scores": [["x"] * 4] * 3}, InputError, "not a matrix of numbers"),
        ({"scores": np.where(SCORES > 0.8, np.nan, SCORES)}, InputError, "NaN or infinite"),
        ({"scores": np.where(SCORES > 0.8, np.inf, SCORES)}, InputError, "NaN or infinite"),
        ({"scores": np.where(SCORES > 0.8, 1e308, -1e308)}, InputError, "NaN or infinite"),
        ({"links": [(0, 4)]}, ShapeError, r"links: the link \(0, 4\) points past sentences of 3 and 4 words"),
        ({"links": [(3, 0)]}, ShapeError, "points past"),
        ({"links": [(-1, 0)]}, InputError, "below 0"),
        ({"limits": (1, 0)}, ConfigError, "limits: must be two numbers, the smaller one first"),
        ({"limits": (0, np.nan)}, ConfigError, "limits"),
        ({"limits": (0, np.inf)}, ConfigError, "limits"),
        ({"src": []}, ShapeError, "src: a sentence without words"),
        ({"tgt": []}, ShapeError, "tgt: a sentence without words"),
        ({"src": "abc"}, InputError, "src: a sentence comes as a list of words"),
        ({"tgt": [b"x"] * 4}, InputError, "tgt: a sentence comes as a list of words"),
        ({"src": ["a"] * (LARGEST + 1)}, ShapeError, "src: 201 words, and a picture shows 200 at most"),
        ({"tgt": ["a"] * (LARGEST + 1)}, ShapeError, "tgt: 201 words"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, error, message):
    given = {"src": SRC, "tgt": TGT, "scores": SCORES, "links": LINKS, "title": "x", **change}
    with pytest.raises(error, match=message):
        alignment_picture(**given)


def test_the_longest_sentences_are_drawn():
    words = ["w"] * LARGEST
    check_words(words, words)
    text = alignment_picture(words, words, np.eye(LARGEST), ((i, i) for i in range(LARGEST)), "x")
    assert text.count('class="cell"') == LARGEST**2
    assert text.count('class="link"') == LARGEST


def test_files(tmp_path):
    picture = alignment_picture(SRC, TGT, SCORES, LINKS, "a < b")
    write_picture(tmp_path / "new" / "pair.svg", picture, "a < b")
    assert (tmp_path / "new" / "pair.svg").read_text("utf-8") == picture
    write_picture(tmp_path / "pair.HTML", picture, "a < b")
    page = (tmp_path / "pair.HTML").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert re.search("<title>(.*)</title>", page)[1] == "a &lt; b"
    assert picture in page
    for name in ("pair.png", "pair", "pair.svg.gz"):
        with pytest.raises(ConfigError, match=r"pictures are written as \.svg or \.html"):
            write_picture(tmp_path / name, picture, "x")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        write_picture(tmp_path / "folder.svg", picture, "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.svg", "new", "pair.HTML"]


@given(st.text(st.characters(categories=None)))
def test_safe_text_comes_back(text):
    back = ElementTree.fromstring(f'<a b="{safe(text)}">{safe(text)}</a>')
    assert (back.text or "") == back.get("b")
    assert [char for char in back.get("b") if char.isalnum()] == [char for char in text if char.isalnum()]
