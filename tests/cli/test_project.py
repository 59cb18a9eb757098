"""`isoglot project` as a user meets it: files in, a CoNLL file out, and mistakes told in one line."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import isoglot.cli
import isoglot.encoders
from isoglot.encoders import WordVectors
from isoglot.text import read_conll

LABELS = """-DOCSTART- O

# 1
Ada B-PER
Lovelace I-PER
visits O
New B-LOC
York I-LOC

She O
likes O
Paris B-LOC
"""
SRC = "Ada Lovelace visits New York\nShe likes  Paris\n"
TGT = "New York besucht Ada Lovelace\nihr gefällt es dort\n"
LINKS = "0-3 1-4 2-2 3-0 4-1\n0-0 1-1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in (("en.conll", LABELS), ("en.txt", SRC), ("de.txt", TGT), ("en-de.txt", LINKS)):
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the program in this process; returns code, standard output and error."""
    monkeypatch.setenv("COLUMNS", "160")

    def call(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["isoglot", "project", *map(str, args)])
        with pytest.raises(SystemExit) as stopped:
            isoglot.cli.main()
        streams = capsys.readouterr()
        return stopped.value.code or 0, streams.out, streams.err

    return call


class DictionaryEncoder:
    """Stands in for a model: words of one meaning have one vector."""

    MEANINGS = (("Ada",), ("Lovelace",), ("visits", "besucht"), ("New",), ("York",), ("She", "ihr"),
                ("likes", "gefällt"), ("Paris", "dort"), ("es",))  # fmt: skip
    asked: dict

    def __init__(self, name, *, layer=None, **others):
        type(self).asked = {"name": name, "layer": layer}

    def words(self, sentences, *, step="", progress=None):
        rows = [
            next(k for k, words in enumerate(self.MEANINGS) if word in words) for line in sentences for word in line
        ]
        vectors = np.eye(len(self.MEANINGS), dtype=np.float32)[rows]
        return WordVectors(sentences, vectors, np.cumsum([0, *map(len, sentences)]))


def test_help_has_examples(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "isoglot project" in out.split("Examples")[1]


def test_given_links(run, folder):
    code, out, err = run("en.conll", "en.txt", "de.txt", "--links", "en-de.txt", "--base", 0)
    assert code == 0, err
    assert "LOC" in out
    assert "written: 2 of 2 sentences, in de.txt.conll" in err
    first, second = read_conll(folder / "de.txt.conll")
    assert first.words == ("New", "York", "besucht", "Ada", "Lovelace")
    assert first.labels == ("B-LOC", "I-LOC", "O", "B-PER", "I-PER")
    assert second.labels == ("O",) * 4


def test_lost_names_are_dropped_on_demand_and_json_is_one_document(run, folder):
    code, out, err = run("en.conll", "en.txt", "de.txt", "--links", "en-de.txt", "--base", 0, "--min-coverage", 0.5,
                         "-o", "sub/train.conll.gz", "--json")  # fmt: skip
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["scheme"], facts["sentences"], facts["kept"], facts["dropped"]) == ("bio", 2, 1, 1)
    assert facts["spans"] == {"LOC": {"source": 1, "projected": 1}, "PER": {"source": 1, "projected": 1}}
    assert facts["lines"] == [{"line": 1, "confidence": 1.0, "coverage": 1.0}]
    assert len(read_conll(folder / "sub" / "train.conll.gz")) == 1


def test_links_from_an_encoder(run, folder, monkeypatch):
    monkeypatch.setattr(isoglot.encoders, "Encoder", DictionaryEncoder)
    monkeypatch.setattr("isoglot.wordalign.linking.SHARD", 1)
    code, _, err = run("en.conll", "en.txt", "de.txt", "--encoder", "some-model", "--layer", 8,
                       "--word-method", "intersection")  # fmt: skip
    assert code == 0, err
    assert DictionaryEncoder.asked == {"name": "some-model", "layer": "8"}
    first, second = read_conll(folder / "de.txt.conll")
    assert first.labels == ("B-LOC", "I-LOC", "O", "B-PER", "I-PER")
    assert second.labels == ("O", "O", "O", "B-LOC")


def test_parts_of_speech_of_universal_dependencies(run, folder):
    rows = [("1", "a", "DET"), ("2", "cat", "NOUN")]
    lines = ["\t".join([number, word, "_", tag, *"______"]) for number, word, tag in rows]
    (folder / "en.conllu").write_text("# text = a cat\n" + "\n".join(lines) + "\n\n")
    (folder / "en.txt").write_text("a cat\n")
    (folder / "la.txt").write_text("felis !\n")
    (folder / "links").write_text("2-1\n")
    code, out, err = run("en.conllu", "en.txt", "la.txt", "--links", "links", "--base", 1, "--word-column", 1,
                         "--column", 3, "--outside", "X")  # fmt: skip
    assert code == 0, err
    assert "NOUN" in out
    assert (folder / "la.txt.conll").read_text() == "felis\tNOUN\n!\tX\n\n"


def test_packed_files_and_the_prefix_of_wikiann(run, folder):
    import gzip

    (folder / "en.conll.gz").write_bytes(gzip.compress(b"en:Ada B-PER\nen:sleeps O\n"))
    (folder / "en.txt").write_text("Ada sleeps\n")
    (folder / "de.txt.gz").write_bytes(gzip.compress(b"Ada ruht\n"))
    (folder / "links").write_text("0-0 1-1\n")
    arguments = ["en.conll.gz", "en.txt", "de.txt.gz", "--links", "links", "--base", 0]
    assert run(*arguments, "--strip-prefix")[0] == 0
    assert (folder / "de.txt.conll").read_text() == "Ada\tB-PER\nruht\tO\n\n"
    code, _, err = run(*arguments)
    assert code == 2
    assert "en:Ada" in err


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ({"de.txt": "eins\n"}, [], "de.txt: 1 lines, but en.txt has 2"),
        ({"en.txt": SRC + "x\n", "de.txt": TGT + "x\n"}, [], "en.txt: 3 lines, but en.conll has 2 sentences"),
        ({"en.txt": SRC.replace("likes", "loves")}, [], "en.txt:2: word 2 is 'loves', but 'likes' in the sentence at "
                                                        "en.conll:10"),
        ({"en.txt": SRC.replace(" Paris", "")}, [], "en.txt:2: 2 words, but the sentence at en.conll:10 has 3"),
        ({"en.txt": SRC.replace("\n", "\n\n", 1), "de.txt": TGT + "x\n"}, [], "en.txt:2: the line is blank"),
        ({"de.txt": "a\n \n"}, [], "de.txt:2: the line is blank"),
        ({"en-de.txt": "0-3 5-0\n\n"}, [], "en-de.txt:1: the link 5-0 (counted from 0) points past sentences"),
        ({"en-de.txt": "0-3\n0-4\n"}, [], "en-de.txt:2: the link 0-4"),
        ({"en-de.txt": "0-0\n"}, [], "en-de.txt: 1 lines of links for 2"),
        ({"en-de.txt": "0-0\nx\n"}, [], "en-de.txt:2: 'x' is no link"),
        ({"en.conll": LABELS.replace("visits O", "visits")}, [], "en.conll:6: 1 columns"),
        ({"en.conll": LABELS.replace("visits O", "visits VERB")}, ["--scheme", "bio"], "en.conll:4: the label 'VERB'"),
        ({"en-de.txt": "\n\n"}, ["--min-coverage", "1"], "none of 2 sentences"),
        ({}, ["--column", "4"], "en.conll:4: no column 4"),
        ({}, ["--scheme", "bioo"], "did you mean 'bio'"),
        ({}, ["--outside", "B-X"], "outside"),
        ({}, ["-o", "de.txt"], "de.txt: the output would replace an input"),
        ({}, ["-o", "."], "is a folder"),
        ({}, ["--encoder", "x"], "--encoder"),
        ({}, ["--layer", "8"], "--layer has no effect"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_exit_2_and_nothing_written(run, folder, files, options, said):
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    code, out, err = run("en.conll", "en.txt", "de.txt", "--links", "en-de.txt", "--base", 0, *options)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("isoglot: ")
    assert said in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--encoder"),
        (["--links", "en-de.txt"], "--base 0"),
        (["--links", "missing", "--base", "0"], "missing: no such file"),
        (["--encoder", "x", "--base", "0"], "--base has no effect without --links"),
        (["--encoder", "x", "--word-method", "itermux"], "did you mean 'itermax'"),
        (["--encoder", "./no-model"], "no such folder"),
    ],
)
def test_the_way_to_link_words_must_be_clear(run, folder, options, said):
    code, out, err = run("en.conll", "en.txt", "de.txt", *options)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1, err
    assert said in err
    assert not (folder / "de.txt.conll").exists()
