"""Raw text to clean sentences: each step alone, all together, and what is told about it."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import tracemalloc
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, InputError
from isoglot.text import TextSettings, lines, lower_case, prepare


@pytest.fixture
def clean(tmp_path):
    """Prepare a text; returns the lines written and the report."""

    def run(text, lang="en", encoding=None, **options):
        raw = tmp_path / "raw.txt"
        raw.write_bytes(text.encode())
        report = prepare(raw, tmp_path / "clean.txt", lang=lang, settings=TextSettings(**options), encoding=encoding)
        lines = (tmp_path / "clean.txt").read_bytes().decode().split("\n")
        assert lines.pop() == ""
        assert report.kept == len(lines)
        assert report.sentences == report.kept + sum(report.dropped.values())
        return lines, report

    return run


def dropped(report):
    return {reason: count for reason, count in report.dropped.items() if count}


def test_one_sentence_per_line_words_separated_by_one_space(clean):
    lines, report = clean("The cat,\tthe  dog.\r\nIt's (very) Nice!\n")
    assert lines == ["the cat , the dog .", "it's ( very ) nice !"]
    assert (report.lines, report.sentences, report.kept) == (2, 2, 2)
    assert report.tokens == 12
    assert report.types == 11
    assert report.counts == Counter(" ".join(lines).split())
    assert report.most_frequent(2) == [("the", 2), ("!", 1)]
    assert not dropped(report)


def test_case_stays_on_request(clean):
    assert clean("The Cat sleeps\n", lower=False)[0] == ["The Cat sleeps"]


def test_lower_case_of_languages():
    assert lower_case("DİYARBAKIR ISPARTA", "tr") == "diyarbakır ısparta"
    assert lower_case("I\u0307ZMIR", "az") == "izmır"
    assert lower_case("DİYARBAKIR", "tr-TR") == "diyarbakır"
    assert lower_case("İzmir INDIA", "en") == "izmir india"
    assert lower_case("ΣΟΦΟΣ ΟΔΟΣ Σ", "el") == "σοφος οδος σ"
    assert lower_case("STRASSE ÄÖ", "de") == "strasse äö"


def test_lower_case_follows_the_language_of_the_text(clean):
    assert clean("ISPARTA İLİ\n", lang="tr")[0] == ["ısparta ili"]
    assert clean("ISPARTA İLİ\n", lang="en")[0] == ["isparta ili"]
    assert clean("Η ΟΔΟΣ, ΣΟΦΙΑΣ.\n", lang="el")[0] == ["η οδος , σοφιας ."]


def test_normal_forms(clean):
    text = "un cafe\u0301 ﬁn ２０\n"
    assert clean(text, form="NFC")[0] == ["un café ﬁn ２０"]
    assert clean(text, form="NFKC")[0] == ["un café fin 20"]


def test_invisible_characters(clean):
    lines, _ = clean("Jahr\u00adhundert \u200fein\u200bes\ufeff Tages\x07mit\x85uns\u2028da\n", segmenter="spaces")
    assert lines == ["jahrhundert ein es tages mit uns da"]


def test_filters_and_their_reasons(clean):
    text = [
        "a normal sentence",
        "",
        " \t ",
        "single",
        "one two three four five six",
        "see https://example.org/a/very/long/address/that/nobody/would/ever/type/in/by/hand now",
        "donau" * 13 + " ist lang",
        "12 34 , . x",
        "A normal sentence",
    ]
    lines, report = clean("\n".join(text), max_tokens=5)
    assert lines == ["a normal sentence"]
    assert report.lines == len(text)
    assert dropped(report) == {
        "blank": 2, "too short": 1, "too long": 1, "long token": 2, "few letters": 1, "repeated": 1,
    }  # fmt: skip


def test_limits_are_inclusive(clean):
    text = "one\none two\none two three\none two three four\n"
    lines, report = clean(text, min_tokens=2, max_tokens=3)
    assert lines == ["one two", "one two three"]
    assert dropped(report) == {"too short": 1, "too long": 1}
    assert clean("abcde fg\nabcdef gh\n", max_length=5)[0] == ["abcde fg"]
    assert clean("ab 12\nab 123\n", letters=0.5)[0] == ["ab 12"]
    assert clean("ab 12\nab 123\n", letters=0)[1].kept == 2


def test_a_long_word_of_another_script_counts_after_segmentation(clean):
    lines, _ = clean("我来到北京清华大学。" * 8 + "\n", lang="zh")
    assert len(lines) == 1
    _, report = clean("да нет\nда " + "я" * 61 + "\n", lang="ru")
    assert dropped(report) == {"long token": 1}


def test_vowel_signs_are_letters(clean):
    line = "की की"  # half of its characters are marks
    assert sum(map(str.isalpha, line)) == 2
    assert clean(line + "\n", lang="hi", letters=0.9)[1].kept == 1


def test_repeated_sentences(clean):
    text = "a b\nc d\nA  b\na b\ne f\n"
    lines, report = clean(text)
    assert lines == ["a b", "c d", "e f"]
    assert dropped(report) == {"repeated": 2}
    lines, report = clean(text, dedupe=False)
    assert lines == ["a b", "c d", "a b", "a b", "e f"]
    assert not dropped(report)


def test_paragraphs_are_split_on_request(clean):
    text = "Mr. Smith came home. He slept.\n\nIt was late.\n"
    lines, report = clean(text, split=True)
    assert lines == ["mr . smith came home .", "he slept .", "it was late ."]
    assert (report.lines, report.sentences, dropped(report)) == (3, 4, {"blank": 1})
    assert len(clean(text)[0]) == 2


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200), split=st.booleans()
)
def test_what_is_written_is_clean_and_stays_so(tmp_path_factory, text, split):
    folder = tmp_path_factory.mktemp("any")
    raw, once, twice = folder / "raw.txt", folder / "once.txt", folder / "twice.txt"
    raw.write_bytes(f"Good words first\n{text}\n".encode())
    report = prepare(raw, once, settings=TextSettings(split=split))
    lines = once.read_bytes().decode().split("\n")[:-1]
    assert lines[0] == "good words first"
    assert len(set(lines)) == len(lines) == report.kept
    for line in lines:
        assert line == " ".join(line.split())
        assert unicodedata.is_normalized("NFC", line)
    assert report.sentences == report.kept + sum(report.dropped.values())
    prepare(once, twice, settings=TextSettings(segmenter="spaces"))
    assert twice.read_bytes() == once.read_bytes()


UNPACK = {
    ".txt": lambda data: data,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@pytest.mark.parametrize("suffix", UNPACK)
def test_packed_if_the_name_says_so(tmp_path, suffix):
    raw, out = tmp_path / "raw.txt", tmp_path / "sub" / f"clean{suffix}"
    raw.write_text("Some words here\nand there\n", "utf-8")
    first = prepare(raw, out, lang="en")
    assert UNPACK[suffix](out.read_bytes()) == b"some words here\nand there\n"
    again = prepare(out, tmp_path / "again.txt", lang="en", settings=TextSettings(segmenter="spaces"))
    assert again.counts == first.counts
    assert sorted(p.name for p in out.parent.iterdir()) == [out.name]


def test_many_blocks_give_what_one_block_gives(tmp_path, monkeypatch):
    raw = tmp_path / "raw.txt"
    raw.write_text("".join(f"Line number {i % 700} of the text\n" for i in range(2000)), "utf-8")
    whole = prepare(raw, tmp_path / "whole.txt")
    monkeypatch.setattr(lines, "_PIECE", 1 << 10)
    steps = []
    parts = prepare(raw, tmp_path / "parts.txt", progress=lambda *step: steps.append(step))
    assert len(steps) > 20
    assert (tmp_path / "parts.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert parts == whole
    assert parts.kept == 700
    assert parts.dropped["repeated"] == 1300


def test_memory_does_not_grow_with_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_PIECE", 1 << 14)

    def peak(lines):
        raw = tmp_path / "raw.txt"
        raw.write_text("".join(f"some words with the number {i % 100} {i // 100 % 100} here\n" for i in range(lines)))
        tracemalloc.start()
        prepare(raw, tmp_path / "out.txt", settings=TextSettings(segmenter="spaces", dedupe=False))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(500)  # what loads once
    small, large = peak(2_000), peak(20_000)
    assert (tmp_path / "raw.txt").stat().st_size > 600_000
    assert large < small + 100_000


def test_without_output_it_only_looks(tmp_path):
    raw = tmp_path / "raw.txt"
    raw.write_text("Some words here\n", "utf-8")
    assert prepare(str(raw)).kept == 1
    assert [path.name for path in tmp_path.iterdir()] == ["raw.txt"]


def test_a_text_of_which_nothing_is_left(tmp_path):
    raw, out = tmp_path / "raw.txt", tmp_path / "out.txt"
    raw.write_text("one\n\n1 2 3\n", "utf-8")
    out.write_text("from before\n", "utf-8")
    with pytest.raises(InputError, match=r"no sentence is left \(1 blank, 1 too short, 1 few letters\)"):
        prepare(raw, out)
    assert out.read_text("utf-8") == "from before\n"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_broken_text_leaves_the_old_output(tmp_path):
    raw, out = tmp_path / "raw.txt", tmp_path / "out.txt"
    raw.write_bytes(b"good words\n" + "é\n".encode("latin-1"))
    out.write_text("from before\n", "utf-8")
    with pytest.raises(InputError, match=r"raw\.txt:2: not UTF-8"):
        prepare(raw, out)
    assert out.read_text("utf-8") == "from before\n"
    assert prepare(raw, out, encoding="latin-1", settings=TextSettings(min_tokens=1)).kept == 2
    assert out.read_text("utf-8") == "good words\né\n"


def test_the_input_is_never_overwritten(tmp_path):
    raw = tmp_path / "raw.txt"
    raw.write_text("Some words here\n", "utf-8")
    with pytest.raises(InputError, match="the output is the input"):
        prepare(raw, Path(tmp_path, ".", "raw.txt"))
    with pytest.raises(InputError, match="is a folder"):
        prepare(raw, tmp_path)
    assert raw.read_text("utf-8") == "Some words here\n"


@pytest.mark.parametrize(
    "options",
    [{"form": "NFX"}, {"min_tokens": 0}, {"min_tokens": 5, "max_tokens": 4}, {"letters": 2}, {"max_length": 0}],
)
def test_settings_that_make_no_sense(options):
    with pytest.raises(ConfigError):
        TextSettings(**options)


def test_too_many_types_are_pruned_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("isoglot.text.prepare"), "_MOST_TYPES", 50)
    monkeypatch.setattr(lines, "_PIECE", 1 << 10)
    raw = tmp_path / "raw.txt"
    raw.write_text("".join(f"the word w{i}x\n" for i in range(500)), "utf-8")
    report = prepare(raw)
    assert report.pruned
    assert report.tokens == 1500
    assert report.types <= 50
    assert report.most_frequent(2) == [("the", 500), ("word", 500)]


def test_the_record_goes_into_json(tmp_path):
    raw = tmp_path / "raw.txt"
    raw.write_text("Some words and some more\n", "utf-8")
    record = json.loads(json.dumps(prepare(raw, lang="en").record()))
    assert record["most_frequent"][0] == ["some", 2]
    assert record["types"] == 4
    assert "counts" not in record
