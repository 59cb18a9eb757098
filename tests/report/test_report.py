"""The report page holds what it should, escapes what it must, and asks nothing of the network."""

from __future__ import annotations

import builtins
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoglot.errors import InputError, LexiconError, MissingExtraError
from isoglot.lexicons import Lexicon
from isoglot.report import DataSource, LanguageMap, Report, Section, count_hubs, draw_map, write_report
from isoglot.report.alignment_report import render_report
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
    """All tags with their attributes, the text outside scripts, and the JSON figures."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.figures: list[dict[str, Any]] = []
        self.open: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "input"):
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.figures.append(json.loads(data))
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


def test_hostile_words_are_text_everywhere(page: str, elements: Elements) -> None:
    scripts = [attributes for tag, attributes in elements.tags if tag == "script"]
    plots = sum(attributes.get("class") == "plot" for _, attributes in elements.tags)
    # One script for each plot's data, plotly.js and the page's own: none that a word smuggled in.
    assert len(scripts) == plots + 2
    assert "alert(1)</script>" not in page
    assert not any(tag == "img" for tag, _ in elements.tags)
    assert "".join(elements.text).count(HOSTILE) >= 4
    # plotly itself reads tags in its texts, so words are escaped once more for it.
    drawn = json.dumps(elements.figures)
    assert "&lt;script&gt;alert(1)" in drawn
    assert "<script" not in drawn


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


def test_plots_hold_the_numbers(elements: Elements) -> None:
    dots, before, after, hubs, bands = elements.figures
    assert [trace["name"] for trace in dots["data"]] == ["in-vocabulary", "full"]
    assert dots["data"][1]["x"] == [25.0, 37.5]
    assert dots["data"][0]["error_x"]["array"][0] == pytest.approx(98.76 - 100 / 3)
    assert len(before["data"]) == len(after["data"]) == 3
    assert len(before["data"][0]["x"]) == 3 * len(before["data"][1]["x"])
    assert hubs["data"][0]["y"] == [25.0, 50.0, 25.0]
    assert hubs["data"][0]["x"] == ["0", "1", "2–3"]
    assert [trace["y"] for trace in bands["data"]] == [[100.0, 0.0, 0.0], [100.0, 100.0, 100.0]]


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


def test_labels_of_a_map_do_not_overlap(elements: Elements) -> None:
    for figure in elements.figures[1:3]:
        width, height = (np.ptp(figure["layout"][axis]["range"]) for axis in ("xaxis", "yaxis"))
        boxes = [
            (330 * x / width, 400 * y / height, 7 * len(text))
            for trace in figure["data"][1:]
            for x, y, text in zip(trace["x"], trace["y"], trace["text"], strict=True)
            if text
        ]
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


def test_empty_parts_are_left_out_and_need_no_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    without_plotly(monkeypatch)
    page = render_report(Report("only a title", sections=[Section("One", "<p>text</p>")]))
    assert "<h2>One</h2>" in page
    assert page.count("<section") == 1
    assert len(page) < 20_000


def test_missing_plotly_is_one_clear_error_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_plotly(monkeypatch)
    with pytest.raises(MissingExtraError, match=r"pip install 'isoglot\[report\]'"):
        write_report(tmp_path / "report.html", Report("x", results=results()))
    assert list(tmp_path.iterdir()) == []


def test_writing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    write_report(path, Report("broken \ud800 word"))
    assert "broken ? word" in path.read_text(encoding="utf-8")
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def without_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fake(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("plotly"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake)
