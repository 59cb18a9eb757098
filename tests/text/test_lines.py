"""Lines of text files: what is read from any packing and encoding, and what is refused, with file and line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import random
import re
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.spaces import LoadReport
from isoglot.text import lines as module, read_lines, read_text, write_lines

PACKINGS = {
    "plain": lambda data: data,
    "gz": gzip.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "bz2": bz2.compress,
    "zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def lines_of(path, **options):
    return [line for batch in read_text(path, **options) for line in batch]


def refusal(path, **options):
    with pytest.raises(InputError) as caught:
        lines_of(path, **options)
    return caught.value


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_file_of_several_blocks_in_every_packing(tmp_path, packing, monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 1 << 18)
    words = [f"mot{i}é" for i in range(5000)]
    rng = random.Random(1)
    lines = [" ".join(rng.choices(words, k=rng.randrange(12))) for _ in range(12_000)]
    data = "".join(f"{line}\n" for line in lines).encode()
    assert len(data) > 2 * module._PIECE
    path = tmp_path / "no-suffix"
    path.write_bytes(PACKINGS[packing](data))
    seen = []
    batches = list(read_text(path, progress=lambda step, done, total: seen.append((step, done, total))))
    assert len(batches) >= 2
    assert [line for batch in batches for line in batch] == lines
    assert {step for step, _, _ in seen} == {"reading no-suffix"}
    assert seen[-1][1:] == (path.stat().st_size,) * 2


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be", "cp1252", "latin-1", "utf-7"]
)
def test_encodings_over_block_borders(tmp_path, encoding, monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 7)
    lines = ["été à Noël"] * 50 + [""] + ["fin"]
    path = tmp_path / "fr.txt"
    path.write_bytes("\r\n".join(lines).encode(encoding))
    assert lines_of(path, encoding=encoding) == lines


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.parametrize("named", [None, "latin-1"])
def test_a_mark_tells_the_encoding_and_is_dropped(tmp_path, mark, encoding, named):
    path = tmp_path / "ru.txt"
    path.write_bytes(mark + "мир\r\nда\n".encode(encoding))
    assert lines_of(path, encoding=named) == ["мир", "да"]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("piece", [1, 2, 1 << 21])
def test_line_feeds_and_carriage_returns_end_lines(tmp_path, monkeypatch, packing, piece):
    monkeypatch.setattr(module, "_PIECE", piece)
    path = tmp_path / "a.txt"
    line = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"
    path.write_bytes(PACKINGS[packing](codecs.BOM_UTF8 + f"{line}\r\n\n\rold\r\r\nend\r".encode()))
    assert lines_of(path) == [line, "", "", "old", "", "end"]
    report = LoadReport("a")
    assert read_lines(path, report) == lines_of(path)
    assert report.counts == {("byte order mark", "dropped"): 1, ("Windows line end", "removed"): 2}


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_characters="\0\ufeff", exclude_categories=["Cs"])))
def test_lines_are_those_of_the_text(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "a.txt"
    path.write_bytes(f"x{text}\n".encode())
    assert lines_of(path) == re.split("\r\n|\r|\n", f"x{text}\n")[:-1]


def test_missing_file_and_folder(tmp_path):
    assert str(refusal(tmp_path / "no.txt")).startswith(f"{tmp_path / 'no.txt'}: no such file; ")
    assert refusal(tmp_path).what == "is a folder, not a file"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\t\n\n  ", codecs.BOM_UTF8])
def test_empty_files(tmp_path, packing, data):
    path = tmp_path / "e.txt"
    path.write_bytes(PACKINGS[packing](data))
    error = refusal(path)
    assert error.what == "the file is empty"
    assert error.where == str(path)
    assert error.remedy


def test_binary_data(tmp_path):
    path = tmp_path / "b.txt"
    path.write_bytes(b"good line\nanother\nbad \0 line\n")
    error = refusal(path)
    assert "binary" in error.what
    assert error.where == f"{path}:3"
    assert error.remedy
    path.write_bytes("sans marque\n".encode("utf-16-le"))
    assert "utf-16-le" in refusal(path).remedy


@pytest.mark.parametrize("page", ["<!DOCTYPE html>\n<p>Not found", "\n <html>", "<?xml version='1.0'?>\n<tmx>"])
def test_web_pages(tmp_path, page):
    path = tmp_path / "p.txt"
    path.write_text(page, "utf-8")
    error = refusal(path)
    assert "HTML" in error.what
    assert error.where == f"{path}:1"
    path.write_text("Write <html> first.\n", "utf-8")
    assert len(lines_of(path)) == 1


def test_not_utf8_says_byte_line_and_remedy(tmp_path, monkeypatch):
    path = tmp_path / "l.txt"
    data = "ligne\n" * 40 + "été\n" + "fin\n"
    path.write_bytes(data.encode("latin-1"))
    for block in (1 << 21, 64):
        monkeypatch.setattr(module, "_PIECE", block)
        error = refusal(path)
        assert isinstance(error, FormatError)
        assert "UTF-8" in error.what
        assert "0xE9" in error.what
        assert error.where == f"{path}:41"
        assert "`encoding` (latin-1" in error.remedy
    assert lines_of(path, encoding="latin-1") == data.split("\n")[:-1]


def test_a_wrong_named_encoding_says_byte_and_line(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 9)
    path = tmp_path / "w.txt"
    path.write_bytes(b"one\ntwo\nthree\nfo\x81r\nfive\n")
    error = refusal(path, encoding="cp1252")
    assert "CP1252 text (byte 0x81)" in error.what
    assert error.where == f"{path}:4"
    path.write_bytes(codecs.BOM_UTF16_LE + "eins\nzwei\n".encode("utf-16-le") + b"\x00\xdc!\0")
    assert refusal(path).where == f"{path}:3"
    path.write_bytes(codecs.BOM_UTF16_LE + "eins\nzwei\n".encode("utf-16-le") + b"\x41")
    assert refusal(path).where == f"{path}:3"


@pytest.mark.parametrize("name", ["klingon", "base64", "undefined", "utf\0"])
def test_unknown_encodings(tmp_path, name):
    path = tmp_path / "a.txt"
    path.write_text("a\n", "utf-8")
    error = refusal(path, encoding=name)
    assert isinstance(error, ConfigError)
    assert "encoding" in error.what


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2", "zst"])
def test_cut_and_damaged_packings(tmp_path, packing):
    rng = random.Random(2)
    data = PACKINGS[packing]("".join(f"{rng.random()}\n" for _ in range(5000)).encode())
    path = tmp_path / f"a.txt.{packing}"
    path.write_bytes(data[: len(data) // 2])
    error = refusal(path)
    assert "truncated" in error.what or "damaged" in error.what
    assert error.where.startswith(str(path))
    assert error.remedy == "get the file again"
    path.write_bytes(data[:6] + bytes(255 - byte for byte in data[6:]))
    assert "damaged" in refusal(path).what


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 1 << 10)
    monkeypatch.setattr(module, "LONGEST_LINE", 1 << 14)
    path = tmp_path / "long.txt"
    path.write_bytes(b"short\n" * 3 + b"x" * (1 << 17))
    error = refusal(path)
    assert error.where == f"{path}:4"
    assert "text" in error.remedy
    assert "vectors" not in error.remedy


def test_an_abandoned_reader_closes_its_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\n", "utf-8")
    reader = read_text(path)
    next(reader)
    del reader  # an open file would be a ResourceWarning, which is an error in our tests


def test_special_files_neither_hang_nor_fill_the_memory(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in refusal(pipe).what
    for reader in (lines_of, read_lines):
        with pytest.raises(InputError, match="not a regular file"):
            reader(Path("/dev/zero"))
        with pytest.raises(InputError, match="is a folder"):
            reader(tmp_path)
    with pytest.raises(FormatError, match="empty"):
        read_lines(pipe)  # nobody writes to it


def test_a_pipe_with_a_writer_is_read_once():
    out, into = os.pipe()
    os.write(into, gzip.compress(b"un\ndeux\n"))
    os.close(into)
    assert read_lines(f"/dev/fd/{out}") == ["un", "deux"]
    os.close(out)


def test_more_text_than_memory_should_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MOST_IN_MEMORY", 1 << 20)
    monkeypatch.setattr(module, "_PIECE", 1 << 16)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"a\n" * (1 << 20)))
    with pytest.raises(FormatError, match="more than 1 MB of text"):
        read_lines(path)
    monkeypatch.setattr(module, "LONGEST_LINE", 1 << 20)
    path.write_bytes(b"0" * ((1 << 20) + 1))
    with pytest.raises(FormatError, match="a line of more than 1 MB"):
        read_lines(path)
    monkeypatch.undo()
    assert module.LONGEST_LINE == 1 << 25
    path.write_bytes(gzip.compress(b"0" * (1 << 25)))
    with pytest.raises(FormatError, match="unpacks to more than 500 times its size"):
        read_lines(path)


def test_packed_lines_come_back(tmp_path):
    for suffix in ("", ".gz", ".xz", ".bz2", ".zst"):
        path = tmp_path / f"a.txt{suffix}"
        write_lines(path, ["a", "", "é"])
        assert read_lines(path) == ["a", "", "é"]
        assert (path.read_bytes() == "a\n\né\n".encode()) == (not suffix)
