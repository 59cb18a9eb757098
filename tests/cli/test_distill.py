"""`isoglot encoder distill` as a user meets it: from texts to Spaces, wrong input, a kill in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from isoglot.cli import main
from isoglot.spaces import Space

PLAIN = ("--layer", 3, "--segmenter", "spaces", "--min-tokens", 5, "--min-count", 3)
QUICK = ("--set", "sample=0.01", "rate=0.01", *PLAIN)


@pytest.fixture(scope="module")
def texts(all_text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("distill-cli")
    for name, sentences in (("north", all_text.src[:400]), ("south", all_text.tgt[400:800])):
        lines = [" ".join(words) + "\n" + ("\n" if number % 5 == 4 else "") for number, words in enumerate(sentences)]
        (folder / f"{name}.txt").write_text("".join(lines), "utf-8")
    (folder / "empty.txt").write_text("", "utf-8")
    (folder / "few.txt").write_text("a b c d e\nf g h i j\n", "utf-8")
    (folder / "short.txt").write_text("a b c\nf g h\n", "utf-8")
    (folder / "latin.txt").write_bytes("deux mots et un\ncafé\n".encode("latin-1") * 30)
    (folder / "taken").mkdir()
    (folder / "taken" / "thesis.txt").write_text("mine", "utf-8")
    return folder


@pytest.fixture
def run(monkeypatch, capsys, texts, tiny_folder):
    """The program in this process, as the encoder's libraries take seconds to load; gives exit code and streams."""

    def call(*args, encoder=tiny_folder):
        monkeypatch.chdir(texts)
        monkeypatch.setattr(sys, "argv", ["isoglot", "encoder", "distill", *map(str, args), "--encoder", str(encoder)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


def test_two_texts_become_two_spaces(run, texts):
    code, out, err = run("north=north.txt", "south=south.txt", "-o", "out", *QUICK)
    assert code == 0, err
    assert "x2static, layer 3" in out
    assert "written to out" in err
    spaces = [Space.load(texts / "out" / f"{lang}.safetensors") for lang in ("north", "south")]
    assert [space.lang for space in spaces] == ["north", "south"]
    assert all(space.dim == 64 and space.counts is not None and len(space) > 50 for space in spaces)
    assert json.loads((texts / "out" / "config.json").read_text("utf-8"))["settings"]["min_tokens"] == 5
    assert not (texts / "out.work").exists()
    code, out, err = run(
        "south=south.txt", "-o", "mean", "--json", "--set", "method=aggregate", "occurrences=2", *PLAIN
    )
    assert code == 0, err
    record = json.loads(out)["languages"]["south"]
    assert record["occurrences"] == 2 * record["words"]


def test_the_cost_is_told_and_nothing_written(run, texts):
    code, out, err = run("north=north.txt", "south=south.txt", "-o", "dry", "--dry-run", *QUICK)
    assert code == 0, err
    assert "north: " in out
    assert "minutes to encode here" in out
    code, out, err = run("north=north.txt", "-o", "dry", "--dry-run", "--json", *QUICK)
    assert json.loads(out)[0]["sentences"] > 200
    assert not list(texts.glob("dry*"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["north=nowhere.txt"], "nowhere.txt: no such file"),
        (["north.txt"], "cannot tell the language"),
        (["north=taken"], "is a folder, not a text"),
        (["a/b=north.txt"], "cannot name a language"),
        (["north=north.txt", "north=south.txt"], "two texts are named 'north'"),
        (["north=north.txt", "south=empty.txt"], "empty.txt: the file is empty"),
        (["north=north.txt", "south=few.txt"], "lower --min-count"),
        (["north=north.txt", "south=short.txt"], "none of 2 sentences can be used"),
        (["north=latin.txt"], "latin.txt:2: not UTF-8 text"),
        (["north=north.txt", "--layer", "9"], "there is no layer 9; the encoder has layers 0 to 3"),
        (["north=north.txt", "--layer", "top"], "unknown choice of layers"),
        (["north=north.txt", "--pooling", "max"], "'max' is no choice; choose one of: mean, first, last"),
        (["north=north.txt", "south=south.txt", "--segmenter", "north=letters"], "unknown segmenter"),
        (["north=north.txt", "--set", "method=x3static"], "did you mean 'x2static'?"),
        (["north=north.txt", "--set", "context=page"], "choose one of: sentence, paragraph"),
        (
            ["north=short.txt", "--min-tokens", "2", "--min-count", "1", "--set", "reads=paragraph"],
            "no blank lines between paragraphs",
        ),
        (
            ["north=north.txt", "--set", "occurrences=3"],
            "occurrences",
        ),
        (["north=north.txt", "--set", "method=aggregate", "--epochs", "2"], "exactly one pass"),
        (["north=north.txt", "--set", "method=aggregate", "repeats=2"], "repeats: aggregate takes exactly one pass"),
        (["north=north.txt", "--set", "rate=0"], "rate must be above 0"),
    ],
)
def test_bad_input_is_one_clear_line(run, texts, monkeypatch, arguments, said):
    monkeypatch.setattr("isoglot.encoders.Encoder.words", None)  # all of it before anything is encoded
    code, out, err = run("-o", "bad", *PLAIN, *arguments)
    assert code == 2
    assert said in err.splitlines()[-1]
    assert out == ""
    assert not (texts / "bad").exists()


def test_outputs_and_encoders_that_cannot_be(run, texts):
    code, _, err = run("north=north.txt", "-o", "taken", *QUICK)
    assert code == 2
    assert "holds other things" in err
    code, _, err = run("north=north.txt", "-o", "north.txt", *QUICK)
    assert code == 2
    assert "is a file, not a folder" in err
    code, _, err = run("north=north.txt", "-o", "bad", *QUICK, encoder="./nowhere")
    assert code == 2
    assert "no such folder" in err


#: Dies when the first state has been kept, in the first of the epochs.
KILLED = """
import os, signal
from isoglot.checkpoints import Checkpoint
import isoglot.distill.shards as shards

Checkpoint.seconds, shards.SHARD_SENTENCES = 0.0, 16
save = Checkpoint.save

def keep(self, *args):
    save(self, *args)
    os.kill(os.getpid(), signal.SIGKILL)

Checkpoint.save = keep
from isoglot.cli import main
main()
"""


def test_a_killed_run_goes_on_to_the_same_bits(run, texts, tiny_folder, monkeypatch):
    """Killed for good while it encodes; the same command then finishes."""
    import torch

    options = ["north=north.txt", *map(str, QUICK), "--epochs", "2", "-o"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "encoder", "distill", *options, "killed", "--encoder", str(tiny_folder)],
        cwd=texts, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (texts / "killed.work" / "north" / "state.checkpoint").exists()
    assert not (texts / "killed").exists()
    monkeypatch.setattr("isoglot.distill.shards.SHARD_SENTENCES", 16)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the other process had: the encoder's last digits may depend on it
    try:
        for name in ("killed", "unbroken"):
            ended, _, err = run(*options, name)
            assert ended == 0, err
            assert ("note: north: resuming after" in err) == (name == "killed")
    finally:
        torch.set_num_threads(threads)
    killed, unbroken = (Space.load(texts / name / "north.safetensors") for name in ("killed", "unbroken"))
    assert killed.words == unbroken.words
    np.testing.assert_array_equal(killed.vectors, unbroken.vectors)
    assert not (texts / "killed.work").exists()
