"""Lines of text files: what is read from any packing and encoding, and what is refused, with file and line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import random

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.spaces.formats import streams
from isoglot.text import read_text

PACKINGS = {
    "plain": lambda data: data,
    "gz": gzip.compress,
    "xz": lzma.compress,
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
def test_a_file_of_several_blocks_in_every_packing(tmp_path, packing):
    words = [f"mot{i}é" for i in range(5000)]
    rng = random.Random(1)
    lines = [" ".join(rng.choices(words, k=rng.randrange(12))) for _ in range(80_000)]
    data = "".join(f"{line}\n" for line in lines).encode()
    assert len(data) > 2 * streams._BLOCK
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
    monkeypatch.setattr(streams, "_BLOCK", 64)
    monkeypatch.setattr("isoglot.text.reading._PIECE", 7)
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


def test_only_newlines_end_lines(tmp_path):
    path = tmp_path / "a.txt"
    line = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\rh"
    path.write_bytes(f"{line}\r\n\nend\r".encode())
    assert lines_of(path) == [line, "", "end"]


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_characters="\0\ufeff", exclude_categories=["Cs"])))
def test_lines_are_those_of_the_text(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "a.txt"
    path.write_bytes(f"x{text}\n".encode())
    assert lines_of(path) == f"x{text}\n".replace("\r\n", "\n").split("\n")[:-1]


def test_missing_file_and_folder(tmp_path):
    assert str(refusal(tmp_path / "no.txt")).startswith(f"{tmp_path / 'no.txt'}: no such file; ")
    assert refusal(tmp_path).what == "is a folder, not a file"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize(("data", "line"), [(b"", 1), (b"\n", 1), (b" \r\n\t\n\n  ", 4), (codecs.BOM_UTF8, 1)])
def test_empty_files(tmp_path, packing, data, line):
    path = tmp_path / "e.txt"
    path.write_bytes(PACKINGS[packing](data))
    error = refusal(path)
    assert error.what == "the file is empty"
    assert error.where == f"{path}:{line}"
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
        monkeypatch.setattr(streams, "_BLOCK", block)
        error = refusal(path)
        assert isinstance(error, FormatError)
        assert "UTF-8" in error.what
        assert "0xE9" in error.what
        assert error.where == f"{path}:41"
        assert "--encoding latin-1" in error.remedy
    assert lines_of(path, encoding="latin-1") == data.split("\n")[:-1]


def test_a_wrong_named_encoding_says_byte_and_line(tmp_path, monkeypatch):
    monkeypatch.setattr("isoglot.text.reading._PIECE", 9)
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
    assert "cut short" in error.what or "damaged" in error.what
    assert error.where.startswith(str(path))
    assert error.remedy == "get the file again"
    path.write_bytes(data[:6] + bytes(255 - byte for byte in data[6:]))
    assert "damaged" in refusal(path).what


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_BLOCK", 1 << 10)
    monkeypatch.setattr(streams, "_LONGEST_LINE", 1 << 14)
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
