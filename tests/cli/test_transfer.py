"""`isoglot transfer`: several encoders in one table, resumed, estimated, and refused with one line."""

from __future__ import annotations

import json
import re

import pytest
from tests.tiny_models import tiny_use
from typer.testing import CliRunner

from isoglot.cli.app import app
from isoglot.errors import IsoglotError
from isoglot.text import LabelledSentence, write_conll

WORDS = ("the", "house", "is", "small", "das", "haus", "ist", "klein")
UPOS = ("DET", "NOUN", "AUX", "ADJ") * 2


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    for seed, name in enumerate(("one", "two")):
        tiny_use(tmp_path / name, seed=seed)
    for lang, first in (("en", 0), ("de", 4)):
        sentences = []
        for shift in range(12):
            order = [first + (shift + place * (1 + shift % 3)) % 4 for place in range(4)]
            sentences.append(LabelledSentence([WORDS[i] for i in order], [UPOS[i] for i in order]))
        write_conll(tmp_path / f"{lang}.tsv", sentences)

    def call(*arguments, task="pos", train="en=en.tsv", test=("en=en.tsv", "de=de.tsv")):
        command = ["transfer", task, "--train", train, "--test", *test, "--set", "epochs=3", "hidden=8", *arguments]
        return CliRunner().invoke(app, [*command, "-o", "out"], catch_exceptions=True)

    return call


def failure(outcome) -> IsoglotError:
    assert isinstance(outcome.exception, IsoglotError), outcome.output
    return outcome.exception


def test_two_encoders_in_one_table(run, tmp_path):
    outcome = run("-e", "one", "-e", "second=two", "--runs", "2")
    assert outcome.exit_code == 0, outcome.output
    for text in ("parts of speech, accuracy in %, trained on en", "mean without en", "gap to en", "second"):
        assert text in outcome.output
    assert re.search(r"^(one|second) (and|transfers better than) (one|second)", outcome.output, re.MULTILINE)
    record = json.loads((tmp_path / "out" / "transfer.json").read_text("utf-8"))
    assert record["encoders"] == ["one", "second"]
    assert record["languages"] == {"en": 12, "de": 12}
    assert len(record["figures"]["one"]["de"]["runs"]) == 2
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "What is taken for what" in page


def test_json_alone_and_the_same_when_resumed(run, tmp_path):
    first = run("-e", "one", "--json", "--quick", test=("de=de.tsv", "fi="))
    assert first.exit_code == 0, first.output
    runs = sorted((tmp_path / "out" / "runs").iterdir())
    times = [path.stat().st_mtime_ns for path in runs]
    again = run("-e", "one", "--json", "--quick", test=("de=de.tsv", "fi="))
    assert json.loads(first.stdout) == json.loads(again.stdout)
    assert json.loads(again.stdout)["not_tested"] == {"fi": "no test set"}
    assert [path.stat().st_mtime_ns for path in runs] == times
    assert "fi is not tested" in again.stderr


def test_a_quick_look_at_questions_has_a_small_reader(run, tmp_path):
    context = "the house is small"
    asked = [
        {"id": word, "question": word, "answers": [{"text": word, "answer_start": context.index(word)}]}
        for word in ("house", "small", "the")
    ]
    content = {"data": [{"paragraphs": [{"context": context, "qas": asked}]}]}
    (tmp_path / "qa.json").write_text(json.dumps(content), "utf-8")

    def settings(*more):
        command = ["transfer", "qa", "-e", "one", "--train", "en=qa.json", "--test", "en=qa.json", *more, "-o", "out"]
        outcome = CliRunner().invoke(app, [*command, "--json"], catch_exceptions=False)
        return [json.loads(outcome.stdout)["settings"][name] for name in ("hidden", "epochs", "learning_rate")]

    assert settings("--quick", "--set", "epochs=2") == [64, 2, 0.003]
    assert settings("--set", "epochs=1") == [256, 1, None]


def test_an_encoder_for_each_language(run, tmp_path):
    outcome = run("-e", "same=one", "-e", "own=en:one,*:two", "--json")
    assert outcome.exit_code == 0, outcome.output
    figures = json.loads(outcome.stdout)["figures"]
    assert figures["own"]["en"] == figures["same"]["en"]
    assert figures["own"]["de"] != figures["same"]["de"]
    (one, two) = json.loads(run("-e", "same=one", "-e", "own=en:one,*:two", "--json", "--dry-run").stdout)
    assert two["examples"] == one["examples"]


def test_new_text_is_labelled_by_a_head_of_the_run(run, tmp_path):
    assert run("-e", "second=two", "--json").exit_code == 0
    (tmp_path / "new.txt").write_text("das haus\n\nist\n", "utf-8")

    def predict(*arguments):
        return CliRunner().invoke(app, ["transfer", "predict", "out/heads/second.0", *arguments])

    printed = predict("de=new.txt")
    assert printed.exit_code == 0, printed.output
    assert re.fullmatch(r"das\t[A-Z]+\nhaus\t[A-Z]+\n\n\nist\t[A-Z]+\n\n", printed.stdout)
    assert predict("de=new.txt", "-o", "new.conll").stdout == ""
    assert (tmp_path / "new.conll").read_text("utf-8") == printed.stdout
    assert list(map(len, json.loads(predict("de=new.txt", "--json").stdout)["predictions"])) == [2, 0, 1]
    assert "its encoder has changed" in str(failure(predict("de=new.txt", "-e", "one")))
    assert "cannot tell the language" in str(failure(predict("new.txt")))


def test_a_dry_run_writes_nothing(run, tmp_path):
    outcome = run("-e", "one", "--dry-run", "--json")
    assert outcome.exit_code == 0, outcome.output
    (cost,) = json.loads(outcome.stdout)
    assert cost["encoder"] == "one"
    assert not (tmp_path / "out").exists()
    assert run("-e", "one", "--dry-run").stdout.startswith("one: 36 examples")


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (("-e", "one", "-e", "one"), {}, "two encoders are called one"),
        (("-e", "a=one", "-e", "a=two"), {}, "--encoder: two encoders are called a; give each a name of its own"),
        (("-e", "missing/none"), {}, "missing/none"),
        (("-e", "en:one,de:two"), {}, "encoders of several languages have no name; give them one: -e NAME=en:one,de:"),
        (("-e", "own=en:one,en:two"), {}, "own: en:one,en:two: en is given twice; give one place for each language"),
        (("-e", "own=en:one"), {}, r"own: has no encoder for de; give it one \(de:ENCODER\)"),
        (("-e", "one"), {"train": "en=none.tsv"}, "none.tsv: no such file"),
        (("-e", "one"), {"train": "two/sp.model"}, "cannot tell the language from the file name; add it: en="),
        (("-e", "one"), {"test": ("de=de.tsv", "de=en.tsv")}, "--test: de is given twice"),
        (("-e", "one", "--train", "de=de.tsv"), {}, "--train has several languages: de, en"),
        (("-e", "one", "--set", "epochs=0"), {}, "epochs"),
        (("-e", "one", "--set", "hiden=3"), {}, "a head has no setting 'hiden'; did you mean 'hidden'"),
        (("-e", "one", "--set", "train=lora"), {}, "--set: train is now called weights; give weights=lora"),
        (("-e", "one"), {"task": "ner"}, r"en\.tsv:1: 'DET' is no label of names"),
        (("-e", "one"), {"task": "nli"}, r"en\.tsv:1: 2 columns, not 3"),
        (("-e", "one"), {"task": "qa"}, r"en\.tsv: not JSON"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(run, arguments, given, message):
    error = failure(run(*arguments, **given))
    with pytest.raises(IsoglotError, match=message):
        raise error
    assert "\n" not in str(error)
