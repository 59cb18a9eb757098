"""Dictionary files as they are found in the wild: each a documented recovery or one clear error."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st

from isoglot.errors import FormatError, InputError, IsoglotError, LexiconError
from isoglot.lexicons import Lexicon


def load(tmp_path: Path, content: bytes, name: str = "en-fr.txt") -> Lexicon:
    path = tmp_path / name
    path.write_bytes(content)
    return Lexicon.load(path, "en", "fr")


def repairs(lexicon: Lexicon) -> dict[str, int]:
    assert lexicon.report is not None
    return {problem: times for (problem, _), times in lexicon.report.counts.items()}


GOOD = "".join(f"word{i} mot{i}\n" for i in range(30)).encode()


@pytest.mark.parametrize("separator", [" ", "\t", "  ", " \t "])
def test_muse_and_xling_separators(tmp_path: Path, separator: str) -> None:
    lines = f"the{separator}le\nthe{separator}la\ncat{separator}chat\n"
    lexicon = load(tmp_path, lines.encode())
    assert lexicon.by_source == {"the": ("le", "la"), "cat": ("chat",)}
    assert (lexicon.src_lang, lexicon.tgt_lang) == ("en", "fr")
    assert repairs(lexicon) == {}


def test_the_report_names_the_separator(tmp_path: Path) -> None:
    for content, name in ((b"a b\nc d\n", "space"), (b"a\tb\nc\td\n", "tab")):
        report = load(tmp_path, content).report
        assert report is not None
        assert report.format == name


def test_words_with_spaces_need_tabs(tmp_path: Path) -> None:
    lexicon = load(tmp_path, b"ice cream\tcr\xc3\xa8me glac\xc3\xa9e\nNew York\tNew York\n")
    assert lexicon.pairs == (("ice cream", "crème glacée"), ("New York", "New York"))
    with pytest.raises(LexiconError, match=r"en-fr.txt:1: .*more than two columns without tabs"):
        load(tmp_path, b"ice cream glace\n")


def test_a_non_breaking_space_belongs_to_the_word(tmp_path: Path) -> None:
    assert load(tmp_path, "10\u00a0000 dix\u3000mille\n".encode()).pairs == (("10\u00a0000", "dix\u3000mille"),)


def test_a_numeric_third_column_is_a_confidence_and_is_not_read(tmp_path: Path) -> None:
    for content in (b"cat\tchat\t0.93\ndog\tchien\t1e-3\n", b"cat chat 0.93\ndog chien 1e-3\n"):
        lexicon = load(tmp_path, content)
        assert lexicon.pairs == (("cat", "chat"), ("dog", "chien"))
        assert repairs(lexicon) == {"confidence column": 2}


def test_further_columns_are_not_read(tmp_path: Path) -> None:
    lexicon = load(tmp_path, b"cat\tchat\tnoun\ndog\tchien\t\n")
    assert lexicon.pairs == (("cat", "chat"), ("dog", "chien"))
    assert repairs(lexicon) == {"further column": 1}


def test_a_hash_is_a_word(tmp_path: Path) -> None:
    assert load(tmp_path, b"# #\n#hash #diese\n").pairs == (("#", "#"), ("#hash", "#diese"))


def test_duplicates_blank_lines_mark_and_windows_ends_are_counted(tmp_path: Path) -> None:
    lexicon = load(tmp_path, b"\xef\xbb\xbfcat\tchat\r\n\r\ncat\tchat\r\ncat\tminou\r\n")
    assert lexicon.pairs == (("cat", "chat"), ("cat", "minou"))
    assert repairs(lexicon) == {
        "byte order mark": 1,
        "Windows line end": 4,
        "blank line": 1,
        "pair given twice": 1,
    }
    assert lexicon.report is not None
    assert any("first at" in note and ":3" in note for note in lexicon.report.notes())


def test_utf16_is_read(tmp_path: Path) -> None:
    lexicon = load(tmp_path, "été\tsummer\n".encode("utf-16"))
    assert lexicon.pairs == (("été", "summer"),)
    assert repairs(lexicon) == {"UTF-16 text": 1}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"alone\n", "only one column"),
        (b"caf\xe9 coffee\n", "not UTF-8"),
        (b"\tchat\n", "an empty column"),
        (b"cat\t\t0.5\n", "an empty column"),
        (b"a b c d\n", "more than two columns without tabs"),
    ],
)
def test_a_few_bad_lines_are_counted_many_are_an_error(tmp_path: Path, line: bytes, problem: str) -> None:
    lexicon = load(tmp_path, GOOD + line)
    assert len(lexicon) == 30
    assert repairs(lexicon) == {problem: 1}
    with pytest.raises(LexiconError, match=rf"en-fr.txt:31: 4 of 34 lines .*{problem}"):
        load(tmp_path, GOOD + 4 * line)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress])
def test_packed_files_whatever_their_name(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    packed = pack(GOOD)
    assert len(load(tmp_path, packed, "plain.txt")) == 30
    with pytest.raises(FormatError, match="truncated"):
        load(tmp_path, packed[: len(packed) * 2 // 3])


def test_a_gz_name_on_plain_text_is_read(tmp_path: Path) -> None:
    assert len(load(tmp_path, GOOD, "en-fr.txt.gz")) == 30


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n \n\n", "empty"),
        (b"<!DOCTYPE html>\n<html>\n\t<head><title>404 Not Found</title>\n", "HTML"),
        (b"  <html><body>no\n", "HTML"),
        (b"cat\tchat\nPK\x03\x04\0\0", "en-fr.txt:2: binary"),
        (b"cat,chat\ndog,chien\n", "only one column"),
        (b"\xff\xfea", "UTF-16"),
    ],
)
def test_what_is_no_dictionary_is_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(IsoglotError, match=message) as caught:
        load(tmp_path, content)
    assert "\n" not in str(caught.value)
    assert "en-fr.txt" in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.txt: no such file"):
        Lexicon.load(tmp_path / "none.txt")
    with pytest.raises(InputError, match="folder"):
        Lexicon.load(tmp_path)


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0\ufeff"), min_size=1)
pairs = st.lists(st.tuples(words, words), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pairs=pairs, suffix=st.sampled_from([".txt", ".tsv.gz", ".xz"]))
def test_saving_and_loading_gives_the_same_pairs(tmp_path: Path, pairs: list[tuple[str, str]], suffix: str) -> None:
    lexicon = Lexicon([(a.strip(" ") or "a", b.strip(" ") or "b") for a, b in pairs], "en", "fr")
    path = tmp_path / f"lexicon{suffix}"
    lexicon.save(path)
    assert Lexicon.load(path, "en", "fr") == lexicon
    lexicon.save(path, confidence=[0.25] * len(lexicon))
    assert Lexicon.load(path, "en", "fr") == lexicon


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=400)
@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.text("ab \t\r\n#<\0é,1.", max_size=60).map(str.encode),
        st.tuples(st.integers(0, len(GOOD)), st.binary(max_size=8)).map(
            lambda cut: GOOD[: cut[0]] + cut[1] + GOOD[cut[0] :]
        ),
    )
)
def test_no_file_content_gives_a_traceback(tmp_path: Path, content: bytes) -> None:
    try:
        lexicon = load(tmp_path, content)
    except IsoglotError:
        return
    assert all(source and target and "\t" not in source + target for source, target in lexicon.pairs)


@pytest.mark.parametrize("word", ["a\tb", "a\n", " a", "a ", "\0", "\ufeffa"])
def test_a_word_that_would_not_be_read_back_is_not_written(tmp_path: Path, word: str) -> None:
    path = tmp_path / "lexicon.tsv"
    with pytest.raises(LexiconError, match="cannot hold the word"):
        Lexicon([("fine", word)]).save(path)
    with pytest.raises(InputError, match="UTF-8"):
        Lexicon([("fine", "\ud800")]).save(path)
    assert list(tmp_path.iterdir()) == []


def test_confidences_must_be_as_many_as_pairs(tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match="1 values of confidence for 2 pairs"):
        Lexicon([("a", "b"), ("c", "d")]).save(tmp_path / "x.tsv", confidence=[0.5])
