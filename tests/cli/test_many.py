"""`isoglot compare` and `isoglot align --pivot`."""

from __future__ import annotations

import json

import pytest

from isoglot.lexicons import Lexicon
from isoglot.spaces import Space


def test_compare_prints_one_table_and_keeps_its_runs(isoglot, languages, tmp_path):
    command = [
        "compare", "north.vec", "south.vec", "-l", "north-south.txt", "-m", "procrustes", "-m", "cca,keep=0.9",
        "-m", "identity", "-o", tmp_path / "out",
    ]  # fmt: skip
    done = isoglot(*command, cwd=languages)
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("procrustes") < done.stdout.index("identity")
    assert "cca,keep=0.9" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 3
    document = json.loads(isoglot(*command, "--json", cwd=languages).stdout)
    assert document == json.loads((tmp_path / "out" / "comparison.json").read_text("utf-8"))
    assert document["rows"][-1]["label"] == "identity"


def test_compare_draws_the_criteria_of_methods_that_train(isoglot, languages, tmp_path):
    done = isoglot(
        "compare", "north.vec", "south.vec", "-l", "north-south.txt", "-m", "procrustes", "-o", tmp_path / "out",
        "-m", "bootstrap,of=muse,constraint=graph-structure,rounds=2,steps=3,critic=16", cwd=languages,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out" / "comparison.json").read_text("utf-8"))["rows"]
    assert sorted(len(row["criteria"]) for row in rows) == [0, 3]
    assert "Criteria while training" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_compare_dry_run_and_mistakes(isoglot, languages, tmp_path):
    done = isoglot("compare", "north.vec", "south.vec", "-l", "north-south.txt", "--dry-run", cwd=languages)
    assert done.returncode == 0
    assert "procrustes" in done.stdout
    done = isoglot("compare", "north.vec", "south.vec", "-l", "north-south.txt", "-m", "procrustis", cwd=languages)
    assert done.returncode == 2
    assert "did you mean" in done.stderr


@pytest.fixture(scope="module")
def third(languages):
    """A third language: the south's vectors under other names."""
    south = Space.load(languages / "south.vec")
    Space("east", [f"{word}o" for word in south.words], south.vectors[:, ::-1].copy()).save(languages / "east.vec")
    pairs = Lexicon.load(languages / "north-south.txt").pairs
    Lexicon([(a, f"{b}o") for a, b in pairs]).save(languages / "north-east.txt")
    Lexicon([(word, f"{word}o") for word in south.words]).save(languages / "south-east.txt")
    return languages


def test_three_languages_through_a_pivot(isoglot, third, tmp_path):
    done = isoglot(
        "align", "north=north.vec", "south=south.vec", "east=east.vec", "--pivot", "north",
        "-l", "north-south=north-south.txt", "-l", "north-east=north-east.txt", "-l", "south-east=south-east.txt",
        "-o", tmp_path / "all", cwd=third,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "south to east" in done.stdout
    word = Space.load(third / "south.vec").words[5]
    answers = json.loads(isoglot("translate", tmp_path / "all", "--from", "south", word, "--json").stdout)
    assert {answer["target"] for answer in answers} == {"north", "east"}
    into_east = next(answer for answer in answers if answer["target"] == "east")
    assert into_east["candidates"][0]["word"] == f"{word}o"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["north.vec", "south.vec", "east.vec", "-l", "north-south.txt"], "two files"),
        (["north.vec", "south.vec", "--pivot", "north"], "LANGUAGE=FILE"),
        (["north=north.vec", "south=south.vec", "--pivot", "west"], "pivot"),
        (["north=north.vec", "east=east.vec", "--pivot", "north", "-l", "east-south=x.txt"], "named"),
        (["north=north.vec", "south=south.vec", "--pivot", "north", "-l", "x.txt"], "named"),
    ],
)
def test_mistakes(isoglot, third, tmp_path, arguments, said):
    done = isoglot("align", *arguments, "-o", tmp_path / "out", cwd=third)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_languages_through_a_pivot_are_tested_on_lexicons_of_their_own(isoglot, third, tmp_path):
    done = isoglot(
        "align", "north=north.vec", "south=south.vec", "east=east.vec", "--pivot", "north",
        "-l", "north-south=north-south.txt", "-l", "north-east=north-east.txt",
        "--test", "north-south=north-south.txt", "--test", "south-east=south-east.txt", "-o", tmp_path / "out",
        "--json", cwd=third,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pairs = {(row["source"], row["target"]): row for row in json.loads(done.stdout)["pairs"]}
    # The whole lexicon is tested on where one is named for it, and a tenth of it is held out where none is.
    assert pairs["north", "south"]["results"][0]["n"] > 5 * pairs["north", "east"]["results"][0]["n"]
    assert pairs["south", "east"]["results"][0]["value"] > 0.9
    assert pairs["south", "east"]["direct"] is None


def test_compare_several_pairs_in_one_call(isoglot, languages, tmp_path):
    files = ["north=north.vec", "south=south.vec"]
    both = ["-l", "north-south=north-south.txt", "-l", "south-north=south-north.txt"]
    Lexicon.load(languages / "north-south.txt").invert().save(languages / "south-north.txt")
    chosen = ["-m", "procrustes", "-m", "identity"]
    done = isoglot("compare", *files, *both, *chosen, "-o", tmp_path / "out", "--json", cwd=languages)
    document = json.loads(done.stdout)
    assert [one["languages"] for one in document["pairs"]] == [["north", "south"], ["south", "north"]]
    assert document["summary"]["head"] == ["method", "north-south", "south-north", "mean"]
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert {f"comparison.{ending}" for ending in ("json", "csv", "tex", "svg")} | {"report.html"} <= names
    assert (tmp_path / "out" / "south-north" / "runs").is_dir()
    again = isoglot("compare", *files, *both, *chosen, "-o", tmp_path / "out", cwd=languages)
    assert "P@1 on 2 pairs of languages" in again.stdout
    for arguments, message in (
        ([*files, *both, "--swap"], "the other way round"),
        ([*files, *both[:2], "-l", "north-west=north-south.txt"], "'north-west' is no pair"),
        ([*files, *both[:2], *both[:2]], "two lexicons for north-south"),
        (files, "give --lexicon FILE"),
    ):
        wrong = isoglot("compare", *arguments, *chosen, "-o", tmp_path / "out", cwd=languages)
        assert (wrong.returncode, message in wrong.stderr) == (2, True), wrong.stderr
