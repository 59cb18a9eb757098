"""Lines that stay on disk are those that reading the whole file gives, errors too."""

from __future__ import annotations

import bz2
import gzip
import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from isoglot.errors import FormatError, InputError
from isoglot.text import line_offsets as module, open_lines, read_lines
from isoglot.text.line_offsets import TextLines

MARK = b"\xef\xbb\xbf"
#: Without what makes a file binary or a web page. Separators that only Python takes for line ends are of use here.
LETTERS = st.one_of(
    st.sampled_from("ab \t\r\n\v\f\x1c\x85\u2028\ufeffé漢🙂"),
    st.characters(exclude_categories=("Cs",), exclude_characters="\0<"),
)
FILES = st.tuples(
    st.booleans(),
    st.lists(st.tuples(st.text(LETTERS, max_size=5), st.sampled_from(["\n", "\r\n", "\r", "\r\r\n"])), min_size=1),
    st.booleans(),
)
NUMBERS = itertools.count()


def write(folder, data):
    # A name of its own: the file may still be mapped.
    path = folder / f"{next(NUMBERS)}.txt"
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


@given(FILES, st.sampled_from([1, 2, 3, 5, 1 << 24]))
@example((True, [("a", "\r\n"), ("", "\n"), ("ü", "\n")], False), 1)
@example((False, [("a", "\r"), ("", "\r\n"), ("b", "\r")], True), 2)
@settings(deadline=None, max_examples=150)
def test_lines_are_those_of_reading_the_whole_file(folder, file, block):
    mark, parts, ended = file
    data = "".join(line + end for line, end in parts[:-1]) + parts[-1][0] + (parts[-1][1] if ended else "")
    data = MARK * mark + data.encode()
    assume(data.decode("utf-8-sig").strip())
    path = write(folder, data)
    expected = read_lines(path)
    with mock.patch.object(module, "_BLOCK", block):
        found = TextLines(path)
    assert len(found) == len(expected)
    assert list(found) == [found[number] for number in range(len(found))] == expected
    assert found.sizes().sum() == len(data.removeprefix(MARK))
    path.unlink()


@pytest.mark.parametrize("begin", range(1, 9))
def test_ends_that_lie_across_blocks(begin, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 8)
    data = b"x" * begin + b"\r\n" + b"y" * 6 + b"\r" + b"z" * 7 + b"\r\n\r\nend"
    path = write(tmp_path, data)
    assert list(TextLines(path)) == ["x" * begin, "y" * 6, "z" * 7, "", "end"] == read_lines(path)


def test_lines_are_taken_in_any_order(tmp_path):
    texts = [f"line {number} é" for number in range(50)]
    found = TextLines(write(tmp_path, "\n".join(texts).encode()))
    order = np.random.default_rng(0).permutation(50)
    assert [found[int(number)] for number in order] == [texts[number] for number in order]
    assert found[-1] == texts[-1]
    assert found[3:40:7] == texts[3:40:7]
    with pytest.raises(IndexError):
        found[50]
    assert found.sizes().tolist() == [len(f"{text}\n".encode()) for text in texts[:-1]] + [len(texts[-1].encode())]


def test_what_is_not_utf8_is_told_with_its_line(tmp_path):
    path = write(tmp_path, b"one\ntwo\nthr\xffee\nfour\n")
    with pytest.raises(FormatError, match=f"{path.name}:3: not UTF-8") as whole:
        read_lines(path)
    found = TextLines(path)
    assert (found[1], found[3]) == ("two", "four")
    with pytest.raises(FormatError) as alone:
        found[2]
    assert str(alone.value) == str(whole.value)


def test_progress_reaches_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 4)
    told = []
    TextLines(write(tmp_path, b"abcdefghij"), lambda step, done, total: told.append((done, total)))
    assert told == [(4, 10), (8, 10), (10, 10)]


@pytest.mark.parametrize(
    ("pack", "on_disk"),
    [
        (lambda data: data, True),
        (lambda data: MARK + data, True),
        (gzip.compress, False),
        (lambda data: data.decode().encode("utf-16"), False),
        (lambda data: data.replace(b"\n", b"\r"), True),
        (bz2.compress, False),
    ],
    ids=["plain", "with a mark", "gzip", "utf-16", "old line ends", "bzip2"],
)
def test_only_large_plain_text_stays_on_disk(pack, on_disk, tmp_path, monkeypatch):
    texts = [f"sentence {number}" for number in range(30)]
    path = write(tmp_path, pack("".join(f"{text}\n" for text in texts).encode()))
    assert isinstance(open_lines(path), list)
    monkeypatch.setattr(module, "_BLOCK", 32)
    found = open_lines(path)
    assert isinstance(found, TextLines) == on_disk
    assert list(found) == texts


def test_wrong_files_are_told_as_by_the_whole_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 8)
    with pytest.raises(InputError, match="no such file"):
        open_lines(tmp_path / "nothing.txt")
    with pytest.raises(FormatError, match="empty"):
        open_lines(write(tmp_path, b""))
    with pytest.raises(FormatError, match="binary"):
        open_lines(write(tmp_path, b"ab\n\0cdefghijk\n"))
