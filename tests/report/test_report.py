"""The report page holds what it should, escapes what it must, and asks nothing of the network."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoglot.errors import InputError, LexiconError
from isoglot.lexicons import Lexicon
from isoglot.report import DataSource, LanguageMap, Report, Section, count_hubs, draw_map, write_report
from isoglot.report.alignment_report import render_report
from isoglot.report.figures import figures_section
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space
from isoglot.tasks import Result

HOSTILE = "<script>alert(1)</script>"


def item(
    source: str, gold: list[str], predictions: list[str], rank: int | None, frequency: int | None
) -> dict[str, Any]:
    asked = bool(predictions)
    return {
        "source": source,
        "gold": gold,
        "predictions": [(word, 0.5 - 0.1 * i) for i, word in enumerate(predictions)],
        "rank": rank,
        "frequency_rank": frequency,
        "status": "asked" if asked else "source missing",
        "value": float(rank == 1),
        "hit": rank == 1,
    }


ITEMS = [
    item("dog", ["chien"], ["os", "chien"], 2, 3),
    item("cat", ["chat", "minou"], ["chat", "os"], 1, 1),
    item(HOSTILE, ['"><img src=http://x.example/a.png>'], ["os"], None, 7),
    item("zebra", ["zèbre"], [], None, None),
]


def results() -> list[Result]:
    asked = [one for one in ITEMS if one["status"] == "asked"]
    return [
        Result("bli", "P@1", 1 / 3, 3, 0.75, {"denominator": "in-vocabulary"}, (0.1234, 0.9876), asked),
        Result("bli", "P@1", 1 / 4, 4, 0.75, {"denominator": "full"}, (0.0, 0.75), ITEMS),
        Result("bli", "MRR", 0.375, 4, 0.75, {"denominator": "full"}, None, ITEMS),
    ]


def maps() -> tuple[LanguageMap, LanguageMap]:
    pair = simulate_pair(200, 10, 0.5)
    first = pair.lexicon.pairs[0][0]
    words = [HOSTILE if word == first else word for word in pair.src.words]
    gold = Lexicon([(HOSTILE if s == first else s, t) for s, t in pair.lexicon.pairs], "north", "south")
    src = Space("north", words, pair.src.vectors)
    mapped = src.with_vectors(src.vectors @ pair.rotation)
    return draw_map("Before", src, pair.tgt, gold), draw_map("After", mapped, pair.tgt, gold)


def full_report() -> Report:
    return Report(
        title=f"English & French {HOSTILE}",
        subtitle="a test",
        languages=("English", "French"),
        method="procrustes",
        settings={"score": "csls", "evil": HOSTILE},
        notes=["this data is generated"],
        results=results(),
        maps=maps(),
        hubness=[count_hubs("before", [[0, 1], [0, 2]], [HOSTILE, "b", "c", "d"])],
        data=[DataSource("en.vec", "vectors", "CC0", "somewhere", "ab" * 32, 12_345_678)],
        seed=7,
        versions={"numpy": "2.4"},
        sections=[Section("More", "<p>of it</p>"), Section("More", "<p>again</p>")],
    )


class Elements(HTMLParser):
    """All tags with their attributes, the text outside scripts, the charts, and the words of maps."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.charts: list[dict[str, list[dict[str, str | None]]]] = []
        self.maps: list[dict[str, Any]] = []
        self.open: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if (dict(attrs).get("class") or "") == "plot":
            self.charts.append({"legend": [], "drawn": []})
        elif "data-key" in dict(attrs):
            self.charts[-1]["legend" if tag == "button" else "drawn"].append({"tag": tag, **dict(attrs)})
        if tag not in ("meta", "br", "input"):
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.maps.append(json.loads(data))
        elif tag not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def page() -> str:
    return render_report(full_report())


@pytest.fixture(scope="module")
def elements(page: str) -> Elements:
    parsed = Elements()
    parsed.feed(page)
    parsed.close()
    assert not parsed.open
    return parsed


def test_the_page_shows_the_figures(elements: Elements) -> None:
    text = " ".join(elements.text)
    for piece in ("33.3", "12.3 – 98.8", "25.0", "37.5", "in-vocabulary", "full", "procrustes", "English → French"):
        assert piece in text
    for piece in ("this data is generated", "CC0", "12.3 MB", "ab" * 32, "seed", "2.4"):
        assert piece in text


def test_figures_on_which_denominators_agree_are_shown_once() -> None:
    twice = [
        Result("bli", "P@1", 0.5, 4, 1.0, {"denominator": name}, (0.25, 0.75)) for name in ("in-vocabulary", "full")
    ]
    body = figures_section(twice).body
    assert body.count("25.0 – 75.0") == 1
    assert "both" in body
    assert "in-vocabulary" not in body


def test_hostile_words_are_text_everywhere(page: str, elements: Elements) -> None:
    scripts = [attributes for tag, attributes in elements.tags if tag == "script"]
    # One script for the words of each map, and the page's two: none that a word smuggled in.
    assert len(scripts) == len(elements.maps) + 2 == 4
    assert "alert(1)</script>" not in page
    assert not any(tag == "img" for tag, _ in elements.tags)
    assert "".join(elements.text).count(HOSTILE) >= 4
    assert all(HOSTILE in one["words"][0] for one in elements.maps)
    assert "\\u003cscript>alert(1)" in page


def test_the_page_loads_nothing(elements: Elements) -> None:
    for tag, attributes in elements.tags:
        assert "src" not in attributes
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
        assert all(not (name.startswith("on")) for name in attributes)
        if "href" in attributes:
            assert (attributes["href"] or "").startswith("#")
    policies = [a["content"] for t, a in elements.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in str(policies[0])


def test_links_lead_to_sections(elements: Elements) -> None:
    targets = [attributes["id"] for tag, attributes in elements.tags if tag == "section"]
    links = [str(attributes["href"])[1:] for tag, attributes in elements.tags if tag == "a"]
    assert links == targets
    assert len(set(targets)) == len(targets) == 8


def test_rows_of_hits_and_misses(page: str) -> None:
    body = page.split('<table id="answers">')[1].split("</table>")[0]
    rows = re.findall(r'<tr data-kind="(\w+)">(.*?)</tr>', body)
    kinds = [kind for kind, _ in rows]
    cells = [[re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?>(.*?)</td>", row)] for _, row in rows]
    assert kinds == ["hit", "miss", "miss", "missing"]
    assert cells[0] == ["cat", "chat, minou", "chat os", "0.500", "1", "✓ hit"]
    assert cells[1] == ["dog", "chien", "os chien", "0.500", "2", "✗ miss"]
    assert cells[3] == ["zebra", "zèbre", "", "", "", "source missing"]


def test_charts_hold_the_numbers(elements: Elements) -> None:
    dots, before, after, hubs, bands = elements.charts
    symbols = [one for one in dots["drawn"] if "data-tip" in one]
    assert [one["data-tip"] for one in symbols[1:]] == ["P@1, full: 25.0%, n = 4", "MRR, full: 37.5%, n = 4"]
    assert [one.get("x") for one in symbols[1:]] == ["25%", "37.5%"]
    whisker = next(one for one in dots["drawn"] if one["class"] == "whisker")
    assert (whisker["x1"], whisker["x2"]) == ("12.34%", "98.76%")
    for figure, words in zip((before, after), elements.maps, strict=True):
        links, src, tgt = (str(one["d"]) for one in figure["drawn"] if one["tag"] == "path")
        assert src.count("h0") == tgt.count("h0") == links.count("L") == len(words["words"][0])
    assert [one["height"] for one in hubs["drawn"]] == ["48.08%", "96.15%", "48.08%"]
    assert [one["data-tip"] for one in hubs["drawn"]] == [
        "0 times: 25.00% of words (before)", "1 times: 50.00% of words (before)", "2–3 times: 25.00% of words (before)",
    ]  # fmt: skip
    assert [one["height"] for one in bands["drawn"]] == ["100%", "0%", "0%", "100%", "100%", "100%"]


def test_legends_tell_of_all_that_is_drawn_and_of_nothing_else(elements: Elements) -> None:
    for chart in elements.charts:
        drawn = {key for one in chart["drawn"] for key in str(one["data-key"]).split()}
        assert drawn == {one["data-key"] for one in chart["legend"]}


def test_the_same_report_gives_the_same_bytes(page: str) -> None:
    assert render_report(full_report()) == page


def test_the_map_shows_what_a_mapping_did() -> None:
    before, after = maps()
    assert before.src_words == after.src_words
    assert after.mean_gap < 0.5 < before.mean_gap


def test_a_map_is_the_principal_plane() -> None:
    random = np.random.default_rng(0)
    vectors = random.standard_normal((40, 6)) * [5, 3, 1, 1, 1, 1]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    src = Space("en", [f"a{i}" for i in range(20)], vectors[:20])
    tgt = Space("fr", [f"b{i}" for i in range(20)], vectors[20:])
    drawn = draw_map("x", src, tgt, Lexicon([(f"a{i}", f"b{i}") for i in range(20)]))
    points = np.concatenate([drawn.src_points, drawn.tgt_points])
    centred = vectors - vectors.mean(axis=0)
    best = np.sort(np.linalg.eigvalsh(centred.T @ centred))[::-1][:2]
    assert np.allclose((points**2).sum(axis=0), best, rtol=1e-4)


def test_a_map_of_spaces_with_different_dimensions_and_of_one_pair() -> None:
    src, tgt = Space("en", ["a", "b"], np.eye(2)), Space("fr", ["c"], np.ones((1, 5)))
    drawn = draw_map("x", src, tgt, Lexicon([("a", "c"), ("b", "c")]))
    assert drawn.src_words == ("a",)
    assert np.isfinite(drawn.src_points).all()
    with pytest.raises(LexiconError, match="nothing to map"):
        draw_map("x", src, tgt, Lexicon([("q", "c")]))


def test_labels_of_a_map_do_not_overlap(page: str) -> None:
    figures = [text for text in page.split('<figure class="plot">')[1:] if 'class="words"' in text]
    assert len(figures) == 2
    for figure in figures:
        found = re.findall(r'<text [^>]*x="([\d.]+)%" y="([\d.]+)%"[^>]*>([^<]*)</text>', figure)
        # On the narrowest screen a map has 270 pixels.
        boxes = [(2.7 * float(x), 4.4 * float(y), 7 * len(text)) for x, y, text in found]
        assert len(boxes) >= 10
        for i, (x, y, wide) in enumerate(boxes):
            for other_x, other_y, other_wide in boxes[:i]:
                assert abs(x - other_x) >= (wide + other_wide) / 2 - 1 or abs(y - other_y) >= 14


def test_hub_counts() -> None:
    hubs = count_hubs("x", [[0, 1], [0, -1], [0, 2]], ["a", "b", "c", "d"], top=2)
    assert hubs.occurrences.tolist() == [3, 1, 1, 0]
    assert hubs.top == (("a", 3), ("b", 1))
    assert hubs.never == 0.25
    assert hubs.skewness == pytest.approx(np.mean(((np.array([3, 1, 1, 0]) - 1.25) / np.std([3, 1, 1, 0])) ** 3))
    with pytest.raises(InputError, match="matrix"):
        count_hubs("x", [1, 2], ["a", "b", "c"])


def test_empty_parts_are_left_out() -> None:
    page = render_report(Report("only a title", sections=[Section("One", "<p>text</p>")]))
    assert "<h2>One</h2>" in page
    assert page.count("<section") == 1
    assert len(page) < 20_000


def test_a_page_with_charts_is_small(page: str) -> None:
    assert page.count('class="plot"') == 5
    assert len(page.encode("utf-8", "replace")) < 150_000


def test_writing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    write_report(path, Report("broken \ud800 word"))
    assert "broken ? word" in path.read_text(encoding="utf-8")
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]
