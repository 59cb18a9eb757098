"""`isoglot audit`, with an encoder that is made up."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from isoglot.cli.app import app
from isoglot.encoders import WordVectors, parse_layers
from isoglot.errors import ConfigError, FormatError, InputError

DIM, DEPTH = 12, 1


class FakeEncoder:
    """Layer 0 is noise, layer 1 knows that a17 and b17 mean the same."""

    def __init__(self, name, *, layer, cache, progress, **_):
        self.name = name
        self.layers = parse_layers(layer, DEPTH)
        self.dim = DIM * (DEPTH + 1)

    def vectors(self, words):
        numbers = [(word[0] == "a", int(word[1:])) for word in words]
        rows = [
            [np.random.default_rng([2, side, meaning]).normal(size=DIM) for side, meaning in numbers],
            [np.random.default_rng([3, meaning]).normal(size=DIM) for _, meaning in numbers],
        ]
        return np.array(rows, dtype=np.float32)

    def sentence_layers(self, texts, *, step, progress):
        return np.stack([self.vectors(text.split()).mean(axis=1) for text in texts], axis=1)

    def word_layers(self, sentences, *, step, progress):
        vectors = self.vectors([word for words in sentences for word in words])
        return [WordVectors(sentences, layer, np.cumsum([0, *map(len, sentences)])) for layer in vectors]


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr("isoglot.encoders.Encoder", FakeEncoder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    random = np.random.default_rng(0)
    lines = [random.choice(500, 5, replace=False).tolist() for _ in range(40)]
    for side, lang in (("a", "en"), ("b", "de")):
        content = [" ".join(f"{side}{meaning}" for meaning in line) for line in lines]
        (tmp_path / f"text.{lang}.txt").write_text("\n".join([*content[:20], "", *content[20:]]) + "\n", "utf-8")
    return lambda *args: CliRunner().invoke(app, ["audit", *map(str, args)])


FILES = ("text.en.txt", "text.de.txt", "--encoder", "fake", "--segmenter", "spaces")


def test_the_command_prints_a_row_a_layer_and_the_verdict_and_writes_both_files(run, tmp_path):
    done = run(*FILES, "-o", "out")
    assert done.exit_code == 0, done.output
    assert "fake, en to de: cross-lingual as it is" in done.stdout
    assert "As it is, layer 1 finds translations best: P@1 100.0%" in done.stdout
    assert "note: 1 line was left out: blank on a side" in done.stderr
    assert "MB" in done.stderr
    record = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert (record["sentences"], record["best_as_is"]["layer"], len(record["layers"])) == (40, 1, 2)
    assert "Sentence retrieval" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_json_links_and_plain_arguments(run, tmp_path):
    every = " ".join(f"{i}-{i}" for i in range(1, 6))
    (tmp_path / "gold.txt").write_text("".join("\n" if i == 20 else f"{every}\n" for i in range(41)), "utf-8")
    done = run(
        "text.en.txt", "text.de.txt", "--encoder", "fake", "--segmenter", "spaces", "--gold", "gold.txt",
        "--base", "1", "--json", "--limit", "30", "--seed", "4",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["layers"][1]["word_links"]["F1"]["value"] == 1
    assert (record["sentences"], record["settings"]["seed"]) == (30, 4)
    assert (tmp_path / "audit" / "report.html").exists()


def test_mistakes_are_told(run, tmp_path):
    (tmp_path / "short.de.txt").write_text("b1 b2\n", "utf-8")
    cases = [
        (("text.en.txt", "short.de.txt", "--encoder", "fake"), FormatError, "1 lines, but text.en.txt"),
        (("text.en.txt", "--encoder", "fake"), ConfigError, "give two files, not 1"),
        (("lexicon/en-fr", "--encoder", "fake"), ConfigError, "give two files, not 1"),
        ((*FILES, "--gold", "gold.txt"), ConfigError, "--gold and --base go together"),
        ((*FILES, "--segmenter", "icu"), ConfigError, "two segmenters"),
        ((*FILES[:-1], "nonsense"), ConfigError, "unknown segmenter"),
        ((*FILES, "--limit", "5"), InputError, "too few for an audit"),
    ]
    for args, kind, message in cases:
        done = run(*args)
        assert done.exit_code != 0
        assert isinstance(done.exception, kind), (args, done.exception)
        assert message in str(done.exception)
    assert not (tmp_path / "audit").exists()
