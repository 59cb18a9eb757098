"""`isoglot reproduce static-contextual` as a user meets it: from plain text to a page, costs, wrong input."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")

COMMAND = ("reproduce", "static-contextual", "--device", "cpu")
TEXTS = ("--text", "en=en.txt", "de=de.txt")
NEW = (
    *("--set", "new.vocabulary=200", "new.layers=1", "new.width=16", "new.heads=2"),
    *("encoder.steps=2", "encoder.blocks=4"),
)
SMALL = (
    *("--set", "distill.segmenter=spaces", "distill.min_tokens=3", "distill.min_count=3", "--method", "procrustes"),
    *("--set", "steps=1", "blocks=4", "block_length=32", "words=64", "--runs", 1, "--words", 100),
)


@pytest.fixture
def here(all_text, lines, tmp_path, monkeypatch):
    """A working folder with two texts, dictionaries and sentences to test with."""
    for lang, side in (("en", all_text.src[:200]), ("de", all_text.tgt[200:400])):
        (tmp_path / f"{lang}.txt").write_text("".join(" ".join(line) + "\n" for line in side), "utf-8")
    for name in ("dictionaries", "tatoeba", "empty"):
        (tmp_path / name).mkdir()
    all_text.lexicon.save(tmp_path / "dictionaries" / "en-de.test.2k.tsv")
    all_text.lexicon.save(tmp_path / "dictionaries" / "en-de.train.1k.tsv")
    for code, side in zip(("eng", "deu"), lines, strict=True):
        (tmp_path / "tatoeba" / f"tatoeba.deu-eng.{code}").write_text("\n".join(side[:30]) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


def test_from_plain_text_to_a_page(command, here):
    tests = ("--test", "dictionaries", "--tatoeba", "tatoeba")
    code, output, errors = command(*COMMAND, *TEXTS, *NEW, *SMALL, *tests, "-o", "out", "--json")
    assert code == 0, errors
    found = json.loads(output)
    assert found == json.loads((here / "out" / "static-contextual.json").read_text("utf-8"))
    assert found["encoder"]["training"]["steps"] == 2
    assert [row["objective"] for row in found["encoders"]] == ["start", "mlm", "static-mse", "static-dcca"]
    assert {one["verdict"] for one in found["claims"]} == {"undecided"}
    assert "note: training 3 of 3: static-dcca, seed 0" in errors
    assert "Words translated" in (here / "out" / "report.html").read_text("utf-8")
    code, again, errors = command(*COMMAND, *TEXTS, *NEW, *SMALL, *tests, "-o", "out", "--json")
    assert (code, again) == (0, output), errors


def test_the_cost_is_told_before(command, here, tiny_folder):
    code, output, errors = command(*COMMAND, *TEXTS, *SMALL, "-e", tiny_folder, "-o", "out", "--dry-run", "--json")
    assert code == 0, errors
    found = json.loads(output)
    distilled = "static vectors of all seeds and means over contexts"
    stages = [(stage["runs"], stage["name"].partition(",")[0]) for stage in found["stages"]]
    assert stages == [(1, distilled), (1, "mlm"), (1, "static-mse"), (1, "static-dcca")]
    assert found["seconds"] == pytest.approx(sum(stage["seconds"] for stage in found["stages"]))
    assert found["skipped"] == {}
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", "de=de.txt"], "needs text of en and of another language; name both in --text"),
        (["--text", "en=en.txt", "en=de.txt"], "two texts are named 'en'"),
        (["--text", "en=nowhere.txt"], "nowhere.txt: no such file"),
        ([*TEXTS, "--set", "distill.epoch=3"], "distill has no setting 'epoch'; did you mean 'epochs'?"),
        ([*TEXTS, "--set", "distill.epochs=many"], "distill: epochs takes a whole number, not 'many'"),
        ([*TEXTS, "--set", "learning-rat=1"], "training has no setting 'learning_rat'; did you mean"),
        ([*TEXTS, "--set", "new.width=9", "new.heads=2"], "fresh: heads: 2 heads cannot share 9 dimensions"),
        ([*TEXTS, "--layer", "9"], "layer"),
        (
            [*TEXTS, "--towards", "fasttext"],
            "towards: no method and no folder with vectors of en, de: fasttext; ",
        ),
        ([*TEXTS, "--from-vectors", "en=nowhere.vec"], "nowhere.vec: no such file"),
        ([*TEXTS, "--method", "muse"], "muse cannot learn from the induced dictionary"),
        ([*TEXTS, "--induce", "procrustes"], "procrustes needs translation pairs"),
        ([*TEXTS, "-e", "TINY", "--set", "new.layers=2"], "settings of a new encoder, but one is named"),
        ([*TEXTS, "--test", "empty"], "empty: no file like en-de.test.tsv here"),
        (
            [*TEXTS, "--test", "en-fr=x"],
            "--test: is given as en-de=FILE or as a folder, not 'en-fr=x'; the pairs are: en-de",
        ),
        ([*TEXTS, "--test", "de=x"], "--test: is given as en-de=FILE or as a folder, not 'de=x'"),
        ([*TEXTS, "--set", "old.layers=2"], "--set: there is no setting old.layers"),
        (["--pivot", "en"], "needs text of en and of another language; name both in --text"),
        ([*TEXTS, "--tatoeba", "empty"], "empty: no file like tatoeba.deu-eng.deu here"),
        ([*TEXTS, "--semeval", "empty"], "empty: no file like en.test.data.txt here"),
        ([*TEXTS, "--pivot", "de", "--tatoeba", "tatoeba"], "--tatoeba: its sentences are translations of English"),
    ],
)
def test_mistakes_are_told_in_one_line(command, here, tiny_folder, arguments, message):
    given = [tiny_folder if one == "TINY" else one for one in arguments]
    code, output, errors = command(*COMMAND, *given, "-o", "out")
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1].startswith(f"isoglot: {message}"), errors
    assert not (here / "out").exists()
