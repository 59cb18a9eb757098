"""An option that would do nothing is an error that names it and what it clashes with."""

from __future__ import annotations

import json

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from isoglot.cli.app import app
from isoglot.errors import ConfigError, IsoglotError

ALIGN = "align a.vec b.vec -o out"
PIVOT = "align en=a.vec fr=b.vec --pivot en -o out -l en-fr=l.txt"
CONTEXTUAL = "encoder align de.txt en.txt -e model -o out"
EXTRACT = "encoder extract de.txt en.txt -e model -o out"
DISTILL = "encoder distill en.txt -e model -o out"
WORDALIGN = "wordalign a.txt b.txt"
PROJECT = "project l.conll a.txt b.txt"
SIMILARITY = "evaluate similarity simlex-999"

#: Command, and what its error names.
USELESS = [
    (f"{PIVOT} --identical", ["--identical", "--pivot"]),
    (f"{PIVOT} --numerals", ["--numerals", "--pivot"]),
    (f"{PIVOT} --induce cognates", ["--induce", "--lexicon"]),
    (f"{PIVOT} --align-all", ["--align-all", "--lexicon"]),
    ("align en=a.vec fr=b.vec --pivot en -o out --pairs 9", ["--pairs", "--lexicon"]),
    ("align en=a.vec fr=b.vec --pivot en -o out --held-out 9", ["--held-out", "--lexicon"]),
    ("align en=a.vec fr=b.vec --pivot en -o out --score cosine", ["--score", "--lexicon"]),
    (f"{ALIGN} -l l.txt --induce cognates", ["--induce", "--pivot"]),
    (f"{ALIGN} -l l.txt --criterion semantic", ["--criterion", "--pivot"]),
    (f"{ALIGN} -l l.txt --words 500", ["--words", "--pivot"]),
    (f"{PIVOT} --rerank", ["--rerank", "--pivot"]),
    (f"{PIVOT} --swap", ["--swap", "--pivot"]),
    (f"{PIVOT} -m cognates", ["--lexicon", "--pivot", "cognates"]),
    (f"{PIVOT} -l fr-en=k.txt --limit 5", ["fr and en", "join"]),
    (f"{ALIGN} -l l.txt --test t.txt --held-out 5", ["--held-out", "--test"]),
    (f"{ALIGN} -l l.txt --held-out 0 --score cosine", ["--score", "--held-out"]),
    (f"{ALIGN} --identical --score cosine", ["--score", "--test"]),
    (f"{ALIGN} --identical --swap", ["--swap", "--lexicon"]),
    (f"{ALIGN} -m cognates --pairs 10", ["--pairs", "--lexicon"]),
    (f"{ALIGN} -m cognates --held-out 10", ["--held-out", "--lexicon"]),
    (f"{ALIGN} -m cognates -l l.txt --test t.txt", ["--lexicon", "cognates", "--test"]),
    (f"{ALIGN} -l l.txt --normalise unit --set normalise=none", ["--normalise", "--set"]),
    (f"{ALIGN} -l l.txt --seed 3 --set seed=4", ["--seed", "--set"]),
    (f"{ALIGN} -l l.txt --set seed=3 --set seed=4", ["seed", "twice"]),
    ("align a.vec a.vec -l l.txt -o out", ["a.vec", "twice"]),
    ("align en=a.vec fr=a.vec --pivot en -o out", ["a.vec", "twice"]),
    ("compare a.vec a.vec -l l.txt", ["a.vec", "twice"]),
    ("inspect a.vec a.vec", ["a.vec", "twice"]),
    ("align en=a.vec fr=a.vec --pivot en -o out", ["a.vec", "twice"]),
    ("compare a.vec b.vec -l l.txt --test t.txt --held-out 5", ["--held-out", "--test"]),
    ("compare a.vec b.vec -l l.txt -m procrustes --runs 3", ["--runs", "procrustes"]),
    ("compare a.vec b.vec -l l.txt -m procrustes -m procrustes", ["procrustes", "twice"]),
    ("inspect a.vec b.vec --swap", ["--swap", "--lexicon"]),
    ("evaluate bli out --test l.txt --score cosine --neighbourhood 5", ["--neighbourhood", "--score cosine"]),
    (f"{SIMILARITY} a.vec --layer 3", ["--layer", "--encoder"]),
    (f"{SIMILARITY} a.vec --cache c", ["--cache", "--encoder"]),
    (f"{SIMILARITY} a.vec --to fr", ["--to", "LANG=FILE"]),
    (f"{SIMILARITY} --encoder model --limit 9", ["--limit", "--encoder"]),
    (f"{SIMILARITY} --encoder model --lower", ["--lower", "--encoder"]),
    (f"{CONTEXTUAL} --word-method hmm", ["--word-method", "--level"]),
    (f"{CONTEXTUAL} --links l.txt --base 0", ["--links", "--level"]),
    (f"{CONTEXTUAL} --segmenter spaces", ["--segmenter", "--level"]),
    (f"{CONTEXTUAL} --level word --base 0", ["--base", "--links"]),
    (f"{CONTEXTUAL} --level word --links l.txt --base 0 --word-method hmm", ["--word-method", "--links"]),
    (f"{EXTRACT} --links l.txt --base 0 --set null=1", ["--set", "--links"]),
    (f"{EXTRACT} --base 0", ["--base", "--links"]),
    (f"{EXTRACT} --set null=1 --set word.null=2", ["null", "twice"]),
    (f"{DISTILL} --set method=aggregate negatives=5", ["negatives", "aggregate"]),
    (f"{DISTILL} --set method=aggregate leave_out=no", ["leave_out", "aggregate"]),
    (f"{DISTILL} --set occurrences=5", ["occurrences", "x2static"]),
    (f"{WORDALIGN} --word-method hmm --encoder model", ["--encoder", "hmm"]),
    (f"{WORDALIGN} --word-method hmm --layer 3", ["--layer", "hmm"]),
    (f"{PROJECT} --links l.txt --base 0 --layer 3", ["--layer", "--links"]),
    (f"{PROJECT} --word-method ibm1 --layer 3", ["--layer", "ibm1"]),
    ("joint train a.txt b.txt -o out -l l.txt --variant supervised --gamma .9", ["--gamma", "--variant supervised"]),
    ("joint train a.txt b.txt -o out -l l.txt --variant supervised --model skipgram", ["--model", "supervised"]),
    ("joint train a.txt b.txt -o out --pivot en", ["--pivot", "--method"]),
    ("joint train a.txt b.txt -o out -l l.txt --method none --gamma 1 --test t.txt", ["--lexicon", "--method none"]),
    ("joint train a.txt b.txt -o out -l l.txt -m cognates --gamma 1 --test t.txt", ["--lexicon", "cognates"]),
    ("joint train a.txt b.txt -o out --set epochs=3", ["epochs=3", "--method"]),
    ("joint train en=a.txt de=b.txt -o out -l l.txt --set vectors.epochs=3", ["--epochs 3", "--set"]),
    ("joint train en=a.txt de=b.txt -o out -l l.txt --no-subwords --set vectors.longest=5", ["--no-subwords"]),
    ("vectors train en=a.txt -o out.vec --epochs 1.5", ["--epochs", "1.5"]),
    ("vectors train en=a.txt -o out.vec --no-subwords --set bucket=9", ["bucket", "--no-subwords"]),
    ("vectors train en=a.txt -o out.vec --set dim=9", ["--dim 9"]),
    ("text en=a.txt --set min_tokens=3", ["--min-tokens 3"]),
    ("simulate -o out --set words=3", ["--words 3"]),
    ("reproduce density -o out --set runs=3", ["--runs 3"]),
    ("reproduce density -o out --infoxlm model", ["--infoxlm", "--real"]),
    ("reproduce density -o out --real --workers 2", ["--workers", "--real"]),
    ("reproduce density -o out --real --set runs=3", ["--runs 3"]),
    ("evaluate cbli pairs --set ridge=1", ["--set ridge=1", "--method"]),
    ("reproduce contextual -o out --held-out 0", ["--held-out 0"]),
    ("data get vectors/fr --accept-licence gemma", ["--accept-licence gemma", "no effect"]),
    ("data get vectors/tr --accept-licence gemma", ["--accept-licence gemma", "agpl-3.0"]),
    ("encoder finetune --preset best -e model --epochs 2 --set epochs=3 -o out", ["--epochs", "--set"]),
    ("encoder finetune --preset best -e model --epochs 2 --set steps=3 -o out", ["--epochs", "steps"]),
    ("text en=a.txt --segmenter icu --segmenter spaces", ["--segmenter", "two"]),
    ("text en=a.txt --segmenter icu --segmenter en=spaces", ["--segmenter icu", "no effect"]),
]  # fmt: skip


#: Built once: the whole tree of commands takes a quarter of a second.
COMMAND = get_command(app)


def error_of(command: str) -> Exception | None:
    """What running it in this process raises."""
    try:
        COMMAND.main(command.split(), standalone_mode=False)
    except Exception as error:
        return error
    return None


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt", "en.txt", "de.txt", "k.txt", "l.txt", "t.txt"):
        (tmp_path / name).write_text("one two\n")
    return tmp_path


@pytest.mark.parametrize(("command", "named"), USELESS, ids=[command for command, _ in USELESS])
def test_an_option_without_effect_is_refused(folder, command, named):
    before = sorted(folder.rglob("*"))
    error = error_of(command)
    assert isinstance(error, IsoglotError), error
    for name in named:
        assert name in str(error)
    assert sorted(folder.rglob("*")) == before


def test_labels_without_spans_have_no_gaps(folder):
    (folder / "l.conll").write_text("one DET\ntwo NOUN\n")
    (folder / "links").write_text("0-0\n")
    command = "project l.conll a.txt b.txt --links links --base 0 --max-gap 3"
    error = error_of(command)
    assert isinstance(error, ConfigError)
    assert "--max-gap" in str(error)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two languages with a lexicon that names the second language first, as many do."""
    from isoglot.simulate import simulate_pair

    place = tmp_path_factory.mktemp("made")
    pair = simulate_pair(n_words=400, dim=12, noise=0.3, seed=1)
    pair.src.save(place / "north.vec")
    pair.tgt.save(place / "south.vec")
    pair.lexicon.invert().save(place / "south-north.txt")
    pair.lexicon.save(place / "north-south.txt")
    return place


@pytest.mark.parametrize(
    "command",
    [
        "align north.vec south.vec -l south-north.txt -o out",
        "align north.vec south.vec --identical --test south-north.txt -o out",
        "align north=north.vec south=south.vec --pivot north -l north-south=south-north.txt -o out",
        "compare north.vec south.vec -l south-north.txt -m procrustes -o out",
        "compare north.vec south.vec -l north-south.txt --test south-north.txt -m procrustes -o out",
        "inspect north.vec south.vec -l south-north.txt",
        "align north=north.vec south=south.vec --pivot north --test north-south=south-north.txt -o out",
    ],
)
def test_a_reversed_lexicon_is_refused(made, monkeypatch, command):
    monkeypatch.chdir(made)
    error = error_of(command)
    assert isinstance(error, IsoglotError), error
    assert "the other way round" in str(error)
    assert "--swap" in str(error) or "name it south-north" in str(error)
    assert not (made / "out").exists()


def test_a_reversed_lexicon_can_be_swapped(made, monkeypatch):
    monkeypatch.chdir(made)

    def run(command):
        done = CliRunner().invoke(app, command.split())
        assert done.exception is None, done.exception
        return json.loads(done.stdout)

    swapped = run("align north.vec south.vec -l south-north.txt -m procrustes --swap -o swapped --json")
    straight = run("align north.vec south.vec -l north-south.txt -m procrustes -o straight --json")
    assert swapped["train_pairs"] == straight["train_pairs"] > 200
    assert swapped["results"][0]["value"] == straight["results"][0]["value"] > 0.5
    assert ["test words" in warning for warning in swapped["warnings"]] == [True]
    few = run("align north.vec south.vec -l north-south.txt -m procrustes --pairs 20 --held-out 30 -o few --json")
    assert ["20 pairs" in few["warnings"][0], "30 test words" in few["warnings"][1]] == [True, True]
    found = run("evaluate bli straight --test south-north.txt --swap --json")
    assert found["results"][0]["value"] > 0.5
    assert found["warnings"] == []
    error = error_of("evaluate bli straight --test south-north.txt")
    assert "the other way round" in str(error)
    error = error_of("lexicon straight -o d.tsv --min-confidence 1")
    assert "--min-confidence" in str(error)
    assert not (made / "d.tsv").exists()
    assert run("inspect north.vec south.vec -l south-north.txt --swap --json")["pairs"] > 200
