"""The page of a transfer: what it shows, that it escapes it, and what it leaves out."""

from __future__ import annotations

import re

from isoglot.report import transfer_sections, write_transfer_page
from isoglot.text import LabelledSentence
from isoglot.transfer import PairExample, Question, TransferRun, TransferTable

HOSTILE = "<script>alert(1)</script>"


def table(**rest):
    tests = {lang: [PairExample(HOSTILE, lang, label) for label in ("neutral", "entailment")] for lang in ("en", "de")}
    labels = {"en": ("neutral", "entailment"), "de": ("neutral", "neutral")}
    runs = [
        TransferRun(name, lang, seed, predicted, 1.0)
        for name in ("raw", "<b>")
        for seed in (0, 1)
        for lang, predicted in labels.items()
    ]
    return TransferTable("nli", tests, runs, bootstrap=20, **rest)


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_page_shows_all_and_escapes_it(tmp_path):
    path = tmp_path / "report.html"
    write_transfer_page(path, "Transfer", table(not_tested={"fi": "no file"}).record())
    page = path.read_text("utf-8")
    for title in ("Figures by language", "Differences", "What is taken for what", "Worst errors"):
        assert f"<h2>{title}</h2>" in page
    assert HOSTILE not in page
    assert "<b>," not in page
    assert "fi was not tested: no file." in page
    assert "cannot be told apart" in page


def test_the_figures_are_those_of_the_table():
    figures, tests, confusions, worst = transfer_sections(table().record())
    assert "de raw 50.0" in text_of(figures.body)
    assert "mean without en raw 50.0" in text_of(figures.body)
    assert "gap to en raw 50.0" in text_of(figures.body)
    assert "all but en +0.0 +0.0 – +0.0 = 1.0000".replace("= ", "") in text_of(tests.body)
    # In German, entailment was always taken for neutral.
    assert "entailment 100.0 2" in text_of(confusions.body)
    assert worst.body.count("<tr>") == 2


def test_what_is_not_there_is_left_out():
    asked = [Question("1", "Where?", "in Paris", ("Paris",), (3,))]
    record = TransferTable("qa", {"de": asked}, [TransferRun("a", "de", 0, ("Paris",))], bootstrap=0).record()
    assert [section.title for section in transfer_sections(record)] == ["Figures by language"]


def test_many_labels_take_the_whole_width():
    labels = ["ADJ", "ADP", "ADV", "AUX", "DET", "NOUN", "VERB"]
    tests = {"de": [LabelledSentence(labels, labels)]}
    record = TransferTable("pos", tests, [TransferRun("a", "de", 0, (tuple(labels),))], bootstrap=0).record()
    (confusion,) = [one for one in transfer_sections(record) if one.title == "What is taken for what"]
    assert "pair" not in confusion.body
