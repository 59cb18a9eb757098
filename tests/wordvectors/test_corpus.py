"""Text as numbers: against obvious counts."""

from __future__ import annotations

import gzip
from collections import Counter

import numpy as np
import pytest

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.wordvectors import Corpus, CorpusSettings, TextFile
from isoglot.wordvectors._kernels import LONGEST_LINE


def write(folder, **texts):
    files = []
    for lang, text in texts.items():
        (folder / f"{lang}.txt").write_text(text, "utf-8")
        files.append(TextFile(lang, folder / f"{lang}.txt"))
    return files


def test_counts_and_tokens_are_those_of_the_text(corpus, texts):
    for column, lines in enumerate((texts.src, texts.tgt)):
        counts = Counter(word for line in lines for word in line.split())
        for word, row in zip(corpus.words, corpus.counts, strict=True):
            assert row[column] == counts[word]
    total = Counter(word for line in (*texts.src, *texts.tgt) for word in line.split())
    assert set(corpus.words) == {word for word, count in total.items() if count >= 5}
    line = len(texts.src) + 7
    known = [word for word in texts.tgt[7].split() if word in set(corpus.words)]
    assert [corpus.words[i] for i in corpus.tokens[corpus.starts[line] : corpus.starts[line + 1]]] == known


def test_lines_are_brought_to_equal_numbers(tmp_path):
    files = write(tmp_path, aa="a b\n" * 7, bb="b c\n" * 3)
    less = Corpus.build(files, tmp_path / "less", CorpusSettings(min_count=1, lines_of="bb"))
    more = Corpus.build(files, tmp_path / "more", CorpusSettings(min_count=1, lines_of="aa"))
    asis = Corpus.build(files, tmp_path / "asis", CorpusSettings(min_count=1))
    assert [len(own) for own in less.lines] == [3, 3]
    assert [len(own) for own in more.lines] == [7, 7]
    assert dict(zip(more.words, more.counts.tolist(), strict=True)) == {"a": [7, 0], "b": [7, 7], "c": [0, 7]}
    assert dict(zip(less.words, less.counts.tolist(), strict=True)) == {"a": [3, 0], "b": [3, 3], "c": [0, 3]}
    assert asis.counts.sum() == 20
    # Seven lines out of three: each at least twice.
    assert np.bincount(more.lines[1] - 7).min() == 2


def test_a_corpus_is_reopened_and_made_anew_when_something_changes(tmp_path):
    files = write(tmp_path, aa="a b a b\n", bb="b c\n")
    first = Corpus.build(files, tmp_path / "c", CorpusSettings(min_count=1))
    stamp = (tmp_path / "c" / "tokens.i32").stat().st_mtime_ns
    again = Corpus.build(files, tmp_path / "c", CorpusSettings(min_count=1))
    assert (tmp_path / "c" / "tokens.i32").stat().st_mtime_ns == stamp
    assert again.words == first.words
    assert (again.counts == first.counts).all()
    other = Corpus.build(files, tmp_path / "c", CorpusSettings(min_count=2))
    assert set(other.words) == {"a", "b"}
    write(tmp_path, bb="b c c c\n")
    changed = Corpus.build(files, tmp_path / "c", CorpusSettings(min_count=2))
    assert set(changed.words) == {"a", "b", "c"}


def test_compressed_text_of_several_blocks_gives_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("isoglot.text.lines._PIECE", 1 << 14)
    text = "".join(f"w{i % 50} w{i % 7} Ünïcode\n" for i in range(5_000))
    assert len(text) > 4 << 14
    plain = write(tmp_path, aa=text)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(text.encode()))
    one = Corpus.build(plain, tmp_path / "one")
    two = Corpus.build([TextFile("aa", tmp_path / "packed.gz")], tmp_path / "two")
    assert one.words == two.words
    assert "ünïcode" in one.words
    assert (one.tokens == two.tokens).all()
    assert len(one.starts) == 5_001


def test_languages_kept_apart_have_rows_of_their_own(tmp_path):
    files = write(tmp_path, aa="x y x\n", bb="x z x x\n")
    corpus = Corpus.build(files, tmp_path / "c", CorpusSettings(min_count=1, apart=True))
    assert sorted(zip(corpus.words, corpus.counts.tolist(), strict=True)) == [
        ("x", [0, 3]),
        ("x", [2, 0]),
        ("y", [1, 0]),
        ("z", [0, 1]),
    ]


def test_only_the_most_frequent_words_of_each_language_stay(tmp_path):
    files = write(tmp_path, aa="a a a b b c\n", bb="d d d d e e f\n")
    corpus = Corpus.build(files, tmp_path / "c", CorpusSettings(min_count=1, max_words=2))
    assert set(corpus.words) == {"a", "b", "d", "e"}


def test_a_text_without_line_ends_is_cut_into_lines(tmp_path):
    """Else one line would be repeated as often as the other text has lines."""
    files = write(tmp_path, aa="a b " * 1100, bb="b c\n" * 4)
    corpus = Corpus.build(files, tmp_path / "c", CorpusSettings(lines_of="bb", min_count=1))
    assert corpus.facts["line_totals"] == [3, 4]
    assert np.diff(corpus.starts).tolist() == [LONGEST_LINE, LONGEST_LINE, 2200 - 2 * LONGEST_LINE, 2, 2, 2, 2]
    assert [len(own) for own in corpus.lines] == [4, 4]


def test_what_cannot_be_used_is_refused(tmp_path):
    files = write(tmp_path, aa="a b\n", bb="c d\n", cc="\n\n")
    with pytest.raises(InputError, match="min_count"):
        Corpus.build(files[:2], tmp_path / "c")
    with pytest.raises(InputError, match=r"empty|no words"):
        Corpus.build([files[2]], tmp_path / "c")
    with pytest.raises(ConfigError, match="language of its own"):
        Corpus.build([files[0], files[0]], tmp_path / "c")
    with pytest.raises(ConfigError, match="no text of 'xx'"):
        Corpus.build(files[:2], tmp_path / "c", CorpusSettings(lines_of="xx"))
    with pytest.raises(ConfigError, match="seed"):
        CorpusSettings(seed=-1)
    for name in ("a/b", "a|b", ""):
        with pytest.raises(ConfigError, match="cannot name a language"):
            TextFile(name, files[0].path)
    assert not (tmp_path / "c").exists()


def test_a_damaged_corpus_is_said_to_be_one(tmp_path):
    files = write(tmp_path, aa="a b a b\n")
    Corpus.build(files, tmp_path / "c", CorpusSettings(min_count=1))
    good = (tmp_path / "c" / "words.tsv").read_text("utf-8")
    (tmp_path / "c" / "words.tsv").write_text("a\tmany\n", "utf-8")
    with pytest.raises(InputError, match="not a corpus"):
        Corpus.load(tmp_path / "c")
    (tmp_path / "c" / "words.tsv").write_text(good, "utf-8")
    marker = tmp_path / "c" / "corpus.json"
    marker.write_text(marker.read_text("utf-8").replace('"max_words": 200000', '"max_words": 0'), "utf-8")
    with pytest.raises(InputError, match=r"c: not a corpus: max_words must be at least 1"):
        Corpus.load(tmp_path / "c")
    Corpus.build(files, tmp_path / "d", CorpusSettings(min_count=1))
    (tmp_path / "d" / "tokens.i32").write_bytes(bytes(8))
    with pytest.raises(InputError, match="do not fit together"):
        Corpus.load(tmp_path / "d")


@pytest.mark.parametrize(
    ("name", "at", "value", "problem"),
    [
        ("tokens.i32", 4, 2, "a word beyond the vocabulary"),
        ("tokens.i32", 8, -1, "a word beyond the vocabulary"),
        ("tokens.i32", 0, 1 << 30, "a word beyond the vocabulary"),
        ("starts.i64", 8, 7, "lines do not follow one another"),
        ("starts.i64", 0, 1, "lines do not follow one another"),
        ("starts.i64", 0, -5, "lines do not follow one another"),
    ],
)
def test_numbers_that_would_crash_training_are_told_with_their_file(tmp_path, name, at, value, problem):
    Corpus.build(write(tmp_path, aa="a b a b\nb a\n"), tmp_path / "c", CorpusSettings(min_count=1))
    place = tmp_path / "c" / name
    data = bytearray(place.read_bytes())
    data[at : at + 4] = value.to_bytes(4, "little", signed=True)
    place.write_bytes(data)
    with pytest.raises(FormatError, match=f"{name}: damaged: {problem}; remove the folder"):
        Corpus.load(tmp_path / "c")
    place.write_bytes(data + b"xyz")
    with pytest.raises(InputError, match="not a corpus"):
        Corpus.load(tmp_path / "c")
