"""Each segmenter on a sentence of its language, and what all of them keep."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, MissingExtraError
from isoglot.text import SEGMENTERS, segmenter, sentence_splitter

SENTENCES = [
    ("spaces", "en", " don't  split , this\tplease ", ["don't", "split", ",", "this", "please"]),
    ("icu", "en", "Don't pay 3.50 (or 50%)!", ["Don't", "pay", "3.50", "(", "or", "50", "%", ")", "!"]),
    ("icu", "", "Straße, señor…", ["Straße", ",", "señor", "…"]),
    ("icu", "fa", "می‌خواهم بروم.", ["می‌خواهم", "بروم", "."]),
    ("icu", "zh", "我来到北京清华大学。", ["我", "来到", "北京", "清华大学", "。"]),
    ("icu", "ja", "私は東京で勉強する。", ["私", "は", "東京", "で", "勉強", "する", "。"]),
    ("icu", "th", "ฉันรักมาก", ["ฉัน", "รัก", "มาก"]),
    ("icu", "en", "one 👍🏽 two", ["one", "👍🏽", "two"]),
    ("jieba", "zh", "我来到北京清华大学。OK then", ["我", "来到", "北京", "清华大学", "。", "OK", "then"]),
    ("fugashi", "ja", "私は東京で勉強する。", ["私", "は", "東京", "で", "勉強", "する", "。"]),
    ("pythainlp", "th", "ฉันรักภาษาไทยมาก OK", ["ฉัน", "รัก", "ภาษาไทย", "มาก", "OK"]),
]


@pytest.mark.parametrize(("name", "lang", "line", "words"), SENTENCES)
def test_sentences(name, lang, line, words):
    assert segmenter(name, lang)(line) == words


@pytest.mark.parametrize("name", SEGMENTERS)
@settings(max_examples=40, deadline=None)
@given(line=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
def test_only_blanks_are_lost(name, line):
    words = segmenter(name)(line)
    assert all(words)
    assert not any(char.isspace() for word in words for char in word)
    assert "".join(words) == "".join(line.split())


@pytest.mark.parametrize("name", SEGMENTERS)
def test_the_same_segmenter_again_splits_the_same(name):
    line = "我来到北京。 ฉันรักมาก, ok"
    assert segmenter(name)(line) == segmenter(name)(line)


def test_unknown_names_and_languages_that_do_not_fit():
    with pytest.raises(ConfigError, match="unknown segmenter 'moses'; choose one of: spaces, icu"):
        segmenter("moses", "en")
    for name in ("jieba", "fugashi", "pythainlp"):
        with pytest.raises(ConfigError, match="does not know 'en'"):
            segmenter(name, "en")
    assert segmenter("jieba", "zh-TW")("北京。") == ["北京", "。"]


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("icu", "icu4py", "text"),
        ("jieba", "jieba", "zh"),
        ("fugashi", "unidic_lite", "ja"),
        ("pythainlp", "pythainlp", "th"),
    ],
)
def test_a_missing_package_names_its_extra(monkeypatch, name, module, extra):
    from isoglot.text import segmenters

    segmenters._jieba_cut.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"\[{extra}\]'$"):
        segmenter(name)
    if name == "icu":
        with pytest.raises(MissingExtraError, match=r"\[text\]'$"):
            sentence_splitter("en")


def test_loading_leaves_no_files_and_says_nothing(tmp_path):
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    program = "from isoglot.text import SEGMENTERS, segmenter\nfor name in SEGMENTERS: segmenter(name)('北京 ไทย')"
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary)}
    environment.pop("PYTHAINLP_DATA", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(home.iterdir())
    assert not list(temporary.iterdir())


def test_the_environment_is_as_before(monkeypatch):
    monkeypatch.delenv("PYTHAINLP_OFFLINE", raising=False)
    monkeypatch.setenv("PYTHAINLP_READ_ONLY", "yes")
    segmenter("pythainlp")
    assert "PYTHAINLP_OFFLINE" not in os.environ
    assert os.environ["PYTHAINLP_READ_ONLY"] == "yes"


def test_sentences_of_lines():
    lines = ["Mr. Smith came. He left!  Why?", "", "Call Mr.", "Then go. 3.5 is enough."]
    assert sentence_splitter("en")(lines) == [
        "Mr. Smith came.", "He left!", "Why?", "", "Call Mr.", "Then go.", "3.5 is enough.",
    ]  # fmt: skip
    assert sentence_splitter("fr")(["M. Dupont vient. Il rit."]) == ["M. Dupont vient.", "Il rit."]
    assert sentence_splitter("de")(["Dr. Ernst trank Wasser. Es war drei Uhr. (Dr. Haas kam.) Er ging."]) == [
        "Dr. Ernst trank Wasser.", "Es war drei Uhr.", "(Dr. Haas kam.)", "Er ging.",
    ]  # fmt: skip
    assert sentence_splitter("es")(["Vi al Sr. López y a usted. Luego 😀 no."]) == [
        "Vi al Sr. López y a usted.", "Luego 😀 no.",
    ]  # fmt: skip
    assert sentence_splitter("zh")(["我来了。你呢?"]) == ["我来了。", "你呢?"]
    assert sentence_splitter()([]) == []
