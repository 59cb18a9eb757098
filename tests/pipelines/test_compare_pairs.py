"""Comparisons on several pairs: one call, one table of all, files for spreadsheets and papers."""

from __future__ import annotations

import csv
import json
from xml.etree import ElementTree

import pytest

from isoglot.errors import ConfigError
from isoglot.pipelines import compare_pairs, write_comparison
from isoglot.report import comparison_picture
from isoglot.simulate import simulate_pair


@pytest.fixture(scope="module")
def data():
    one, other = (simulate_pair(n_words=400, dim=12, noise=noise, seed=2) for noise in (0.3, 0.9))
    spaces = {"aa": one.src, "bb": one.tgt, "cc": other.tgt}
    return spaces, {"aa-bb": one.lexicon, "aa-cc": other.lexicon}


@pytest.fixture(scope="module")
def outcome(data):
    return compare_pairs(*data, ["procrustes", "identity", "geomm,iterations=2"], runs=2)


def test_a_row_for_each_method_and_a_column_for_each_pair(outcome):
    head, rows, numeric = outcome.table()
    assert head == ["method", "aa-bb", "aa-cc", "mean"]
    assert numeric == [1, 2, 3]
    by_method = {row[0]: row for row in rows}
    first = by_method["procrustes"]
    assert float(first[1]) == pytest.approx(outcome["aa-bb"]["procrustes"].mean, abs=5e-4)
    assert float(first[3]) == pytest.approx((float(first[1]) + float(first[2])) / 2, abs=1e-3)
    assert rows[-1][0] == "identity"
    # Only what makes random choices ran twice, and tells how far its runs are apart.
    assert "±" in by_method["geomm,iterations=2"][1]
    assert "±" not in first[1]
    assert len(outcome) == 2
    assert "2 pairs of languages" in repr(outcome)
    json.dumps(outcome.record(), allow_nan=False)


def test_files_for_spreadsheets_and_papers(outcome, tmp_path):
    written = write_comparison(outcome, tmp_path / "out")
    assert sorted(written) == sorted((tmp_path / "out").iterdir())
    with (tmp_path / "out" / "comparison.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 6
    for line in lines:
        row = outcome[f"{line['source']}-{line['target']}"][line["method"]]
        assert float(line["mean"]) == pytest.approx(row.mean, abs=1e-5)
        assert len(line["values"].split(";")) == int(line["runs"]) == len(row.values)
    latex = (tmp_path / "out" / "comparison.tex").read_text("utf-8")
    assert latex.count(r"\\") == 4
    assert r"\begin{tabular}{lrrr}" in latex
    picture = ElementTree.parse(tmp_path / "out" / "comparison.svg").getroot()
    width, height = float(picture.get("width")), float(picture.get("height"))
    dots = [one for one in picture.iter("{http://www.w3.org/2000/svg}g") if one.get("class") == "dot"]
    assert len(dots) == 6
    for dot in dots:
        x, y = map(float, dot.get("transform").removeprefix("translate(").removesuffix(")").split())
        assert 0 < x < width
        assert 0 < y < height
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "All pairs" in page
    assert "Methods compared, aa-cc" in page
    write_comparison(outcome["aa-bb"], tmp_path / "one")
    assert "95" in (tmp_path / "one" / "comparison.tex").read_text("utf-8")


def test_a_method_that_failed_on_a_pair_has_no_mean():
    good = {"label": "a", "mean": 0.5, "interval": [0.4, 0.6], "values": [0.5]}
    bad = {"label": "a", "mean": None, "interval": None, "values": []}
    assert comparison_picture({"x-y": [good], "x-z": [bad]}, "P@1", "t").count('class="dot"') == 1
    assert "no method could run" in comparison_picture({"x-z": [bad]}, "P@1", "t")


def test_mistakes(data):
    spaces, lexicons = data
    with pytest.raises(ConfigError, match="'aa-dd' is no pair of these languages"):
        compare_pairs(spaces, {"aa-dd": lexicons["aa-bb"]}, "procrustes")
    with pytest.raises(ConfigError, match="a test for aa-cc, which has no lexicon"):
        compare_pairs(spaces, {"aa-bb": lexicons["aa-bb"]}, "procrustes", tests={("aa", "cc"): lexicons["aa-cc"]})
    with pytest.raises(ConfigError, match="no pair of languages"):
        compare_pairs(spaces, {}, "procrustes")
