"""Files that are none: pipes, devices, folders; and text that is nested without end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isoglot.aligners import Alignment
from isoglot.errors import FormatError, InputError
from isoglot.finetuning import read_recipe
from isoglot.lexicons import Lexicon
from isoglot.manifests import read_json
from isoglot.opening import is_web_page, open_source, read_small
from isoglot.spaces import load_space
from isoglot.text import ParallelText, read_conll
from isoglot.wordalign import read_links

READERS = {
    "lexicon": Lexicon.load,
    "parallel": lambda path: ParallelText.load(path, path),
    "joined": ParallelText.load_joined,
    "conll": read_conll,
    "links": lambda path: read_links(path, base=0),
    "recipe": read_recipe,
    "vectors": load_space,
}


@pytest.mark.parametrize("name", READERS)
def test_special_files_are_one_line(name, tmp_path):
    """None of these may wait, or read on for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError) as caught:
            READERS[name](path)
        assert str(caught.value).startswith(f"{path}")


def test_settings_that_are_none(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(InputError, match="is not a regular file"):
        Alignment.load(tmp_path)
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text("[" * 200_000)
    with pytest.raises(FormatError, match="nested too deeply"):
        Alignment.load(tmp_path)
    (tmp_path / "recipe.toml").write_text("a = " + "[" * 200_000)
    with pytest.raises(FormatError, match="not valid TOML"):
        read_recipe(tmp_path / "recipe.toml")


def test_small_files_are_small(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text('{"a": "é"}', "utf-8")
    assert read_json(path) == {"a": "é"}
    monkeypatch.setattr("isoglot.opening._LARGEST_SMALL", 5)
    with pytest.raises(OSError, match="more than"):
        read_small(path)


def test_a_name_with_a_zero_byte():
    with pytest.raises(InputError, match="cannot be read"):
        open_source(Path("a\0b"))


@pytest.mark.parametrize(
    "start", [b"<!DOCTYPE html>", b"\n <html>", b"<HEAD>", b"\xef\xbb\xbf<?xml version='1.0'?>", b"<Error>no"]
)
def test_web_pages_are_known(start):
    assert is_web_page(start)


@pytest.mark.parametrize(
    "start",
    [b"PK\x03\x04", b"\x1f\x8b\x08", b"!<arch>\n", b"20 300\nthe 0.1", b"<unk> 0.1 0.2", b"html 0.1", b"<header> a"],
)
def test_data_is_not_taken_for_a_web_page(start):
    assert not is_web_page(start)
