"""Dictionary files, read by other rules than those that wrote them."""

from __future__ import annotations

import csv
import gzip
import struct
from functools import cmp_to_key
from xml.etree import ElementTree

import pytest

from isoglot.errors import ConfigError, LexiconError
from isoglot.lexicons import Lexicon, dictionary_files, dictionary_format, write_dictionary

PAIRS = [("the", "le"), ("the", "la"), ("Zoo", "zoo"), ("apple", "pomme, verte"), ("été", "<été> & \"a\""),
         ("The", "Le"), ("zebra", "zèbre"), ("pomme de terre", "potato"), ("日本", "Japan")]  # fmt: skip
COLUMNS = {
    "confidence": [0.9, 0.5, 0.25, 0.125, 1.0, 0.75, 0.3, 0.2, 0.1],
    "score": [0.1] * 9,
    "mutual": [True] + [False] * 8,
}
LEXICON = Lexicon(PAIRS, "en", "fr")


def ascii_casecmp(a: bytes, b: bytes) -> int:
    """StarDict's order: as g_ascii_strcasecmp, then as strcmp."""
    fold = [bytes(c + 32 if 65 <= c <= 90 else c for c in word) for word in (a, b)]
    one, other = fold if fold[0] != fold[1] else (a, b)
    return (one > other) - (one < other)


def read_stardict(ifo):
    """By the description of the format: what a program that looks words up would find."""
    magic, *lines = ifo.read_text("utf-8").splitlines()
    assert magic == "StarDict's dict ifo file"
    facts = dict(line.split("=", 1) for line in lines)
    assert lines[0].startswith("version=")
    assert {"bookname", "wordcount", "idxfilesize", "sametypesequence"} <= set(facts)
    index, text = ifo.with_suffix(".idx").read_bytes(), ifo.with_suffix(".dict").read_bytes()
    assert len(index) == int(facts["idxfilesize"])
    words, place = {}, 0
    while place < len(index):
        end = index.index(b"\0", place)
        offset, size = struct.unpack(">II", index[end + 1 : end + 9])
        assert offset + size <= len(text)
        words[index[place:end]] = text[offset : offset + size].decode("utf-8")
        place = end + 9
    assert len(words) == int(facts["wordcount"])
    assert list(words) == sorted(words, key=cmp_to_key(ascii_casecmp))
    return facts, {word.decode("utf-8"): meaning for word, meaning in words.items()}


def test_stardict_can_be_looked_up(tmp_path):
    files = write_dictionary(tmp_path / "d.ifo", LEXICON, COLUMNS)
    assert sorted(files) == sorted(tmp_path.iterdir())
    facts, words = read_stardict(tmp_path / "d.ifo")
    assert facts["sametypesequence"] == "m"
    assert words["the"] == "le (0.90)\nla (0.50)"
    assert words["The"] == "Le (0.75)"
    assert set(words) == set(LEXICON.by_source)
    write_dictionary(tmp_path / "plain", LEXICON, format="stardict")
    assert read_stardict(tmp_path / "plain.ifo")[1]["the"] == "le\nla"


def test_tmx_keeps_to_its_definition(tmp_path):
    write_dictionary(tmp_path / "d.tmx", LEXICON, COLUMNS)
    tmx = ElementTree.parse(tmp_path / "d.tmx").getroot()
    # <!ELEMENT tmx (header, body)>, and what the DTD requires of each element.
    assert (tmx.tag, tmx.get("version")) == ("tmx", "1.4")
    header, body = tmx
    assert (header.tag, body.tag) == ("header", "body")
    required = {"creationtool", "creationtoolversion", "segtype", "o-tmf", "adminlang", "srclang", "datatype"}
    assert required <= set(header.attrib)
    assert header.get("segtype") in ("block", "paragraph", "sentence", "phrase")
    assert header.get("srclang") == "en"
    pairs = []
    for unit in body:
        assert unit.tag == "tu"
        tags = [child.tag for child in unit]
        assert tags == ["prop"] * 3 + ["tuv"] * 2  # <!ELEMENT tu ((note|prop)*, tuv+)>
        assert all(prop.get("type") for prop in unit.findall("prop"))
        lang = "{http://www.w3.org/XML/1998/namespace}lang"
        assert [variant.get(lang) for variant in unit.findall("tuv")] == ["en", "fr"]
        pairs.append(tuple(segment.text for segment in unit.findall("tuv/seg")))
    assert pairs == PAIRS


def test_csv_and_tsv_have_a_header_and_are_read_back(tmp_path):
    write_dictionary(tmp_path / "d.csv", LEXICON, COLUMNS)
    with (tmp_path / "d.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["source", "target", "confidence", "score", "mutual"]
    assert [tuple(row[:2]) for row in rows] == PAIRS
    assert rows[0][2:] == ["0.9", "0.1", "1"]
    write_dictionary(tmp_path / "d.tsv.gz", LEXICON, COLUMNS)
    assert gzip.decompress((tmp_path / "d.tsv.gz").read_bytes()).startswith(b"source\ttarget\tconfidence")
    loaded = Lexicon.load(tmp_path / "d.tsv.gz")
    assert list(loaded.pairs) == PAIRS


def test_bare_pairs_go_without_a_header(tmp_path):
    pairs = Lexicon([("source", "target"), ("a", "b")])
    pairs.save(tmp_path / "d.txt")
    assert (tmp_path / "d.txt").read_text("utf-8") == "source\ttarget\na\tb\n"
    assert Lexicon.load(tmp_path / "d.txt").pairs == pairs.pairs


@pytest.mark.parametrize("word", ["a\tb", " a", "a\n", "\ufeff"])
@pytest.mark.parametrize("ending", ["tsv", "csv", "ifo", "tmx"])
def test_what_a_file_cannot_hold_is_refused(tmp_path, word, ending):
    with pytest.raises(LexiconError, match="cannot hold the word"):
        write_dictionary(tmp_path / f"d.{ending}", Lexicon([(word, "b")]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("word", ["\x01", "\ud800", "\ufffe"])
@pytest.mark.parametrize("ending", ["ifo", "tmx"])
def test_what_xml_cannot_hold_is_refused(tmp_path, word, ending):
    with pytest.raises(LexiconError, match="cannot hold the word"):
        write_dictionary(tmp_path / f"d.{ending}", Lexicon([(word, "b")]))


def test_line_separators_beyond_ascii_are_part_of_words(tmp_path):
    lexicon = Lexicon([("a\u0085b", "c\u2028d")])
    for ending in ("tsv", "csv", "tmx"):
        write_dictionary(tmp_path / f"d.{ending}", lexicon, {"confidence": [1.0]})
    assert Lexicon.load(tmp_path / "d.tsv").pairs == lexicon.pairs
    assert len((tmp_path / "d.csv").read_bytes().split(b"\n")) == 3
    segments = ElementTree.parse(tmp_path / "d.tmx").getroot().iter("seg")
    assert tuple(segment.text for segment in segments) == lexicon.pairs[0]


def test_formats_by_name(tmp_path):
    assert dictionary_format("a.ifo") == "stardict"
    assert dictionary_format("a") == "tsv"
    assert [file.name for file in dictionary_files("x/a.ifo")] == ["a.dict", "a.idx", "a.ifo"]
    with pytest.raises(ConfigError, match="did you mean 'stardict'"):
        dictionary_format("a", "startdict")
    with pytest.raises(ConfigError, match="three files"):
        dictionary_format("a.ifo.gz")
    with pytest.raises(LexiconError, match="2 values of confidence for 9 pairs"):
        write_dictionary(tmp_path / "a", LEXICON, {"confidence": [1.0, 2.0]})
    with pytest.raises(LexiconError, match="so long a word"):
        write_dictionary(tmp_path / "a.ifo", Lexicon([("é" * 200, "x")]))


def test_an_ending_of_no_format_is_refused_and_none_means_tsv():
    assert dictionary_format("en-fr") == "tsv"
    assert dictionary_format("en-fr.pdf", "csv") == "csv"
    with pytest.raises(ConfigError, match=r"en-fr.pdf: no format of dictionaries ends in .pdf; end its name in .tsv"):
        dictionary_format("en-fr.pdf")
