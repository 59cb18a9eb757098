"""`isoglot simulate`, `isoglot reproduce` and `isoglot compare --suite`."""

from __future__ import annotations

import json

import numpy as np

from isoglot.lexicons import Lexicon
from isoglot.spaces import Space


def test_simulate_writes_splits_and_the_truth(isoglot, tmp_path):
    done = isoglot("simulate", "--set", "t=3", "k=4", "eps=1", "--words", "6", "-o", tmp_path / "cbli")
    assert done.returncode == 0, done.stderr
    truth = json.loads((tmp_path / "cbli" / "truth.json").read_text("utf-8"))
    assert (truth["t"], truth["k"], len(truth["means"])) == (3, 4, 6)
    src, tgt = (Space.load(tmp_path / "cbli" / f"train.{side}.vec") for side in ("source", "target"))
    lexicon = Lexicon.load(tmp_path / "cbli" / "train.tsv")
    i, j = lexicon.indices(src, tgt)[5]
    g = truth["group"][int(src.words[i][1:].split(".")[0])]
    centre = np.array(truth["centres"][g])
    moved = (src.vectors[i] - centre) @ truth["turns"][g] + centre + truth["shifts"][g]
    np.testing.assert_allclose(moved @ truth["rotation"], tgt.vectors[j], atol=1e-3)


def test_simulated_files_can_be_aligned(isoglot, tmp_path):
    assert isoglot("simulate", "--set", "t=1", "k=20", "-o", tmp_path).returncode == 0
    done = isoglot(
        "align", "train.source.vec", "train.target.vec", "-l", "train.tsv", "--normalise", "none", "-o", "out",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_simulate_refuses_what_cannot_be(isoglot, tmp_path):
    done = isoglot("simulate", "--set", "t=30", "-o", tmp_path / "cbli")
    assert done.returncode == 2
    assert "t between 1 and the number of words" in done.stderr
    assert not (tmp_path / "cbli").exists()


def test_reproduce_density_says_what_it_costs_and_refuses_nonsense(isoglot, tmp_path):
    done = isoglot("reproduce", "density", "--quick", "--dry-run", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "minutes" in done.stdout
    assert not (tmp_path / "out").exists()
    done = isoglot("reproduce", "density", "--set", "k=ten", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "'ten'" in done.stderr


def test_the_density_suite_lists_all_sixteen(isoglot, languages):
    done = isoglot(
        "compare", "north.vec", "south.vec", "-l", "north-south.txt", "--suite", "density", "--dry-run", cwd=languages
    )
    assert done.returncode == 0, done.stderr
    for name in ("realnvp", "fcnn", "gan-realnvp", "constraint=graph-structure", "InfoXLM", "Cao et al. 2020"):
        assert name in done.stdout, name
    done = isoglot("compare", "north.vec", "south.vec", "-l", "north-south.txt", "--suite", "x", cwd=languages)
    assert done.returncode == 2
    assert "is no choice; choose one of: density" in done.stderr
