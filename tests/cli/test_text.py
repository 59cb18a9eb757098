"""`isoglot text` as a user meets it: clean files, tables, JSON, warnings and mistakes."""

from __future__ import annotations

import gzip
import json

import pytest

ENGLISH = [f"The man on the hill had a radio and {i} table(s) in the house, and he was old." for i in range(30)]
FRENCH = [f"Le vieil homme de la colline avait une radio et {i} table(s) dans la maison." for i in range(30)]


@pytest.fixture
def texts(tmp_path):
    """A folder with raw.en.txt.gz and presse.txt (French)."""
    (tmp_path / "raw.en.txt.gz").write_bytes(gzip.compress("\n".join([*ENGLISH, "", ENGLISH[0]]).encode()))
    (tmp_path / "presse.txt").write_text("\r\n".join([*FRENCH, "oui"]), "utf-8")
    return tmp_path


def test_files_tables_and_overlap(isoglot, texts):
    done = isoglot("text", "raw.en.txt.gz", "fr=presse.txt", "-o", "prepared", cwd=texts)
    assert done.returncode == 0, done.stderr
    english = (texts / "prepared" / "en.txt").read_text("utf-8").splitlines()
    assert len(english) == 30
    assert english[3] == "the man on the hill had a radio and 3 table ( s ) in the house , and he was old ."
    assert len((texts / "prepared" / "fr.txt").read_text("utf-8").splitlines()) == 30
    for shown in ("lines", "kept", "repeated", "too short", "types", "en - fr"):
        assert shown in done.stdout
    assert "few letters" not in done.stdout
    assert "written: prepared/en.txt, prepared/fr.txt" in done.stderr
    assert "same language" not in done.stderr


def test_json_is_one_document(isoglot, texts):
    done = isoglot("text", "raw.en.txt.gz", "fr=presse.txt", "-o", "out", "--json", cwd=texts)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    english, french = document["texts"]
    assert (english["lang"], english["lines"], english["kept"]) == ("en", 32, 30)
    assert english["dropped"]["repeated"] == english["dropped"]["blank"] == 1
    assert french["dropped"]["too short"] == 1
    assert english["most_frequent"][0] == ["the", 90]
    assert document["written"] == ["out/en.txt", "out/fr.txt"]
    (shared,) = document["overlap"]
    words = [set((texts / "out" / f"{lang}.txt").read_text("utf-8").split()) for lang in ("en", "fr")]
    assert shared["shared"] == len(words[0] & words[1])
    assert {"radio", "table"} < words[0] & words[1]
    assert document["same_language"] == []


def test_without_output_nothing_is_written(isoglot, texts):
    done = isoglot("text", "raw.en.txt.gz", cwd=texts)
    assert done.returncode == 0, done.stderr
    assert "nothing written: name a folder by --output" in done.stderr
    assert sorted(path.name for path in texts.iterdir()) == ["presse.txt", "raw.en.txt.gz"]


def test_options_reach_the_work(isoglot, texts):
    (texts / "p.de.txt").write_bytes("Große Häuser. Ein Mann ging.\nEin Mann ging.\nEin\n".encode("latin-1"))
    done = isoglot(
        "text", "p.de.txt", "--encoding", "latin-1", "--split", "--no-lower", "--segmenter", "spaces",
        "--min-tokens", 1, "--set", "dedupe=no", "max_tokens=2", "form=NFKC", "-o", ".", cwd=texts,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (texts / "de.txt").read_text("utf-8") == "Große Häuser.\nEin\n"
    done = isoglot("text", "p.de.txt", "--encoding", "latin-1", "--set", "dedupe=no", "--split", "-o", ".", cwd=texts)
    assert (texts / "de.txt").read_text("utf-8") == "große häuser .\nein mann ging .\nein mann ging .\n"


def test_a_segmenter_for_one_language(isoglot, texts):
    (texts / "zh.txt").write_text("我来到北京清华大学。\n", "utf-8")
    done = isoglot(
        "text", "zh=zh.txt", "fr=presse.txt", "--segmenter", "zh=jieba", "--segmenter", "spaces", "-o", "out", "--json",
        cwd=texts,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [text["segmenter"] for text in json.loads(done.stdout)["texts"]] == ["jieba", "spaces"]
    assert (texts / "out" / "zh.txt").read_text("utf-8") == "我 来到 北京 清华大学 。\n"
    assert "table(s)" in (texts / "out" / "fr.txt").read_text("utf-8")


def test_two_texts_of_one_language_are_told(isoglot, texts):
    (texts / "b.txt").write_text("\n".join(line + " Yes." for line in ENGLISH), "utf-8")
    done = isoglot("text", "raw.en.txt.gz", "de=b.txt", "fr=presse.txt", "--json", cwd=texts)
    assert done.returncode == 0
    assert json.loads(done.stdout)["same_language"] == [["en", "de"]]
    assert "warning: en (raw.en.txt.gz) and de (b.txt) look like the same language" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fr=missing.txt"], "missing.txt: no such file"),
        (["fr=."], ".: is a folder"),
        (["presse.txt"], "cannot tell the language"),
        (["raw.en.txt.gz", "en=presse.txt"], "two texts of 'en'"),
        (["../x=presse.txt"], "is no language code"),
        (["fr=empty.txt"], "empty.txt: the file is empty"),
        (["fr=latin.txt"], "latin.txt:2: not UTF-8 text (byte 0xE9); name its --encoding (latin-1"),
        (["fr=binary.txt"], "binary.txt:1: binary data"),
        (["fr=page.txt"], "page.txt:1: this is an HTML"),
        (["fr=cut.txt.gz"], "truncated"),
        (["fr=presse.txt", "--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["fr=presse.txt", "--set", "form=NFX"], "unknown form 'NFX'"),
        (["fr=presse.txt", "--segmenter", "moses"], "unknown segmenter 'moses'"),
        (["fr=presse.txt", "--segmenter", "jieba"], "does not know 'fr'"),
        (["fr=presse.txt", "--segmenter", "de=icu"], "there is no text of 'de'"),
        (["fr=presse.txt", "--min-tokens", "9", "--set", "max_tokens=8"], "min_tokens"),
        (["fr=presse.txt", "--min-tokens", "900"], "no sentence is left (31 too short)"),
        (["fr=presse.txt", "-o", "presse.txt"], "is a file, not a folder"),
        (["fr=fr.txt", "-o", "."], "the output is the input"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(isoglot, texts, arguments, told):
    (texts / "empty.txt").write_bytes(b"\n")
    (texts / "latin.txt").write_bytes("bon jour\nun été\n".encode("latin-1"))
    (texts / "binary.txt").write_bytes(b"\x00\x01\x02")
    (texts / "page.txt").write_bytes(b"<!DOCTYPE html><p>404")
    (texts / "cut.txt.gz").write_bytes((texts / "raw.en.txt.gz").read_bytes()[:-20])
    (texts / "fr.txt").write_bytes(b"un deux\n")
    before = sorted(path.name for path in texts.rglob("*"))
    done = isoglot("text", *arguments, cwd=texts)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert told in done.stderr
    assert done.stdout == ""
    assert sorted(path.name for path in texts.rglob("*")) == before


def test_help_has_examples(isoglot):
    done = isoglot("text", "--help")
    assert done.returncode == 0
    assert "isoglot text en=raw.en.txt.gz fr=raw.fr.txt" in done.stdout.split("Examples")[1]


def test_tables_fit_a_narrow_terminal(command, texts, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (texts / "bad.txt").write_text("\n".join([*FRENCH, "x" * 90, "12 34 56", "oui", "", FRENCH[0]]), "utf-8")
    code, output, errors = command("text", "raw.en.txt.gz", "fr=bad.txt", cwd=texts)
    assert code == 0, errors
    assert "few letters" in output
    assert max(map(len, output.splitlines())) <= 80
    rows = [line for line in output.splitlines() if line.startswith("│ fr ")]
    assert rows[0].split()[3] == "35"
    code, output, errors = command("text", "raw.en.txt.gz", "fr=bad.txt", "--csv", cwd=texts)
    assert "fr,35,35,30" in output
