"""`isoglot joint` as a user meets it: from two texts to a dictionary, wrong files, a kill in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from isoglot.simulate import simulate_texts
from isoglot.spaces import Space

QUICK = ("--dim", 24, "--epochs", 5, "--threads", 1, "--no-subwords", "--method", "procrustes")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    simulate_texts(6000, foreign=0.05).save(folder)
    return folder


@pytest.fixture(scope="module")
def trained(isoglot, texts):
    done = isoglot(
        "joint", "train", "north=north.txt", "south=south.txt", "-l", "north-south.tsv", "-o", "out", *QUICK, cwd=texts
    )
    assert done.returncode == 0, done.stderr
    return done


def test_two_texts_become_a_dictionary(isoglot, texts, trained):
    assert "P@1" in trained.stdout
    assert "reallocated" in trained.stdout
    assert "warning: north.txt has only" in trained.stderr
    _, *lines = (texts / "out" / "dictionary.tsv").read_text("utf-8").splitlines()
    gold = {tuple(line.split("\t")[:2]) for line in (texts / "north-south.tsv").read_text("utf-8").splitlines()}
    found = [tuple(line.split("\t")[:2]) for line in lines]
    assert len(found) > 100
    # The tail of the lexicon taught; what was not taught is found as well.
    assert sum(pair in gold for pair in found) > 0.4 * len(found)
    assert not (texts / "out.work").exists()
    answer = isoglot("translate", "out", found[0][0], "--json", cwd=texts)
    assert json.loads(answer.stdout)[0]["known"]
    checked = isoglot("evaluate", "bli", "out", "--test", "north-south.tsv", "--without-identical", cwd=texts)
    assert checked.returncode == 0, checked.stderr


def test_one_text_becomes_vectors(isoglot, texts):
    done = isoglot(
        "vectors", "train", "north=north.txt", "-o", "north.vec", "--dim", 16, "--epochs", 1, "--threads", 1, cwd=texts
    )
    assert done.returncode == 0, done.stderr
    assert "words x 16" in done.stderr
    space = Space.load(texts / "north.vec")
    assert space.dim == 16
    assert "hen" in space
    assert not (texts / "north.vec.work").exists()
    dry = isoglot("vectors", "train", "north=north.txt", "-o", "dry.vec", "--dim", 16, "--dry-run", "--json", cwd=texts)
    assert json.loads(dry.stdout)["running_words"] == {"north": 60_000}
    assert not (texts / "dry.vec").exists()
    wrong = isoglot("vectors", "train", "north.txt", "-o", "dry.vec", cwd=texts)
    assert wrong.returncode == 2
    assert "cannot tell the language" in wrong.stderr
    wrong = isoglot("vectors", "train", "north=north.txt", "-o", "north.unknown", cwd=texts)
    assert wrong.returncode == 2
    assert "cannot tell the format" in wrong.stderr
    assert not (texts / "north.unknown.work").exists()


def test_inspect_shows_what_moved(isoglot, texts, trained):
    done = isoglot("joint", "inspect", "out", cwd=texts)
    assert done.returncode == 0, done.stderr
    assert "taken from north" in done.stdout
    assert (texts / "out" / "joint.html").stat().st_size > 10_000
    record = json.loads(isoglot("joint", "inspect", "out", "--json", cwd=texts).stdout)
    assert record["kinds"]["shared"]["trained"] > record["kinds"]["shared"]["reallocated"]
    wrong = isoglot("joint", "inspect", ".", cwd=texts)
    assert wrong.returncode == 2
    assert "no joint space here" in wrong.stderr


def test_lexicons_are_named_by_languages_with_a_dash_too():
    from isoglot.cli.inputs import two_languages

    assert two_languages("zh-Hant-en", ["zh-Hant", "en"]) == ("zh-Hant", "en")
    assert two_languages("en-zh-Hant", ["zh-Hant", "en"]) == ("en", "zh-Hant")
    assert two_languages("en-fr", ["de", "it"]) == ("en", "fr")


def test_the_current_folder_is_no_output(isoglot, texts, tmp_path):
    done = isoglot(
        "joint", "train", f"north={texts / 'north.txt'}", f"south={texts / 'south.txt'}", "-o", ".", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "give a folder inside it" in done.stderr
    assert "Traceback" not in done.stderr


def test_ablate_prints_every_step(isoglot, texts):
    done = isoglot(
        "joint", "ablate", "north=north.txt", "south=south.txt", "-l", "north-south.tsv", "-o", "steps", *QUICK,
        "--gamma", ".8", cwd=texts,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("separate + alignment", "joint + reallocation", "joint + refinement, no reallocation", "full"):
        assert name in done.stdout
    assert "full: " in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    record = json.loads((texts / "steps" / "ablation.json").read_text("utf-8"))
    assert record["gamma"] == 0.8
    assert (texts / "steps" / "report.html").exists()


def test_the_cost_is_shown_and_nothing_written(isoglot, texts):
    done = isoglot(
        "joint", "train", "north=north.txt", "south=south.txt", "-o", "dry", "--dry-run", *QUICK[:4], cwd=texts
    )
    assert done.returncode == 0, done.stderr
    assert "about 60,000 running words of north, 60,000 of south" in done.stdout
    assert "minutes of training" in done.stdout
    assert not (texts / "dry").exists()
    assert not (texts / "dry.work").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["north=north.txt", "south=latin.txt"], "latin.txt:2"),
        (["north=north.txt", "south=empty.txt"], "empty.txt"),
        (["north=north.txt", "south=nowhere.txt"], "nowhere.txt: no such file"),
        (["north=north.txt", "south=north.txt"], "is given twice, as north and as south"),
        (["en.txt", "other.en.txt"], "two texts are named 'en'"),
        (["north.txt", "south.txt"], "cannot tell the language"),
        (["north=north.txt"], "at least two texts"),
        (["north=few.txt", "south=strange.txt"], "--min-count"),
        (["north=north.txt", "south=south.txt", "--gamma", "many"], "--gamma takes auto"),
        (["north=north.txt", "south=south.txt", "--gamma", "3"], "gamma lies between"),
        (["north=north.txt", "south=south.txt", "--method", "procrustez"], "did you mean 'procrustes'"),
        (["north=north.txt", "south=south.txt", "--method", "procrustes"], "give it in --lexicon"),
        (
            ["north=north.txt", "south=south.txt", "--model", "glove"],
            "'glove' is no choice; choose one of: skipgram, cbow",
        ),
        (["north=north.txt", "south=south.txt", "-l", "en-fr=north-south.tsv"], "no text of en"),
        (["north=north.txt", "south=south.txt", "--variant", "replace", "-l", "north-south.tsv"], "--test"),
        (["a/b=north.txt", "south=south.txt"], "cannot name a language"),
        (["north=north.txt", "south=/dev/null"], "read twice"),
        (["north=north.txt", "south=south.txt", "-l", "a=north-south.tsv", "-l", "b=x"], "named as north-south=FILE"),
    ],
)
def test_bad_input_is_one_clear_line(isoglot, texts, arguments, said):
    (texts / "latin.txt").write_bytes("deux\ncafé\n".encode("latin-1") * 30)
    for name, text in (("empty", ""), ("few", "a b c\n"), ("strange", "d e f\n")):
        (texts / f"{name}.txt").write_text(text, "utf-8")
    for name in ("en", "other.en"):
        (texts / f"{name}.txt").write_text("the cat\n" * 50, "utf-8")
    done = isoglot("joint", "train", *arguments, "-o", "bad", "--dim", 8, "--epochs", 1, "--no-subwords", cwd=texts)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (texts / "bad").exists()


def test_little_text_works_with_a_warning(isoglot, texts):
    lines = (texts / "north.txt").read_text("utf-8").splitlines()[:200]
    (texts / "little.txt").write_text("\n".join(lines) + "\n", "utf-8")
    done = isoglot(
        "joint", "train", "north=little.txt", "south=south.txt", "-o", "little", "--dim", 8, "--epochs", 1,
        "--no-subwords", "--threads", 1, cwd=texts,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "warning: little.txt has only" in done.stderr


#: Dies when its training has kept a state for the sixth time, in the second epoch.
KILLED = """
import os, signal
from isoglot.checkpoints import Checkpoint
import isoglot.wordvectors.training as training

Checkpoint.seconds, training._SLICE = 0.0, 30_000
save, saved = Checkpoint.save, []

def keep(self, *args):
    save(self, *args)
    saved.append(self)
    if len(saved) == 6:
        os.kill(os.getpid(), signal.SIGKILL)

Checkpoint.save = keep
from isoglot.cli import main
main()
"""


def test_a_killed_run_goes_on_and_says_from_where(texts, isoglot):
    """Killed for good while it trains; the same command then finishes."""
    arguments = [
        "joint", "train", "north=north.txt", "south=south.txt", "-o", "killed", "--dim", "16", "--epochs", "4",
        "--no-subwords", "--threads", "1", "--gamma", ".9", "--dictionary", "0",
    ]  # fmt: skip
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], cwd=texts, capture_output=True, text=True, timeout=300, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (texts / "killed.work" / "training.checkpoint").exists()
    assert not (texts / "killed").exists()
    again = isoglot(*arguments, cwd=texts)
    assert again.returncode == 0, again.stderr
    assert "note: training resumes in epoch" in again.stderr
    assert (texts / "killed" / "isoglot.json").exists()
    assert not (texts / "killed.work").exists()


def test_speed_and_time_left_are_told_for_steps_with_a_unit(monkeypatch, capsys):
    from isoglot.cli import console

    clock = iter([0.0, 0.0, 11.0, 22.0, 33.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(clock))
    lines = console._LogLines()
    lines("training (running words)", 1000, 10_000)
    lines("training (running words)", 2100, 10_000)
    lines("training (running words)", 3200, 10_000)
    lines("reading", 5, 10)
    assert capsys.readouterr().err.splitlines() == [
        "training (running words): 21%, 100 running words/s, 0:01:19 left",
        "training (running words): 32%, 100 running words/s, 0:01:08 left",
        "reading: 50%",
    ]
