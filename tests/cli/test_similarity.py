"""`isoglot evaluate similarity`: named sets and files, vectors, aligned folders and encoders, and mistakes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from isoglot.aligned import Aligned
from isoglot.aligners import LinearAlignment
from isoglot.cli import main
from isoglot.cli.app import app
from isoglot.spaces import Space
from isoglot.tasks import WordPair, encode_words, read_similarity, similarity, similarity_set


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder: words of SimLex-999 as en.vec, upper-cased as de.vec, pairs of them, and both aligned."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    pairs = similarity_set("simlex-999")[:200]
    words = sorted({word for pair in pairs for word in (pair.word1, pair.word2)})[:-4]
    random = np.random.default_rng(0)
    X = random.standard_normal((len(words), 8))
    for pair in pairs:
        if pair.word1 in words and pair.word2 in words:
            X[words.index(pair.word2)] += pair.score / 4 * X[words.index(pair.word1)]
    en, de = Space("en", words, X), Space("de", [word.upper() for word in words], X + random.standard_normal(X.shape))
    en.save("en.vec")
    de.save("de.vec")
    rows = [(pair.word1, pair.word2.upper(), pair.score) for pair in pairs]
    (tmp_path / "en-de.tsv").write_text("".join(f"{a}\t{b}\t{s}\n" for a, b, s in rows))
    (tmp_path / "en-de.data.txt").write_text("".join(f"{a}\t{b}\n" for a, b, _ in rows))
    (tmp_path / "en-de.gold.txt").write_text("".join(f"{s}\n" for _, _, s in rows))
    (tmp_path / "en.tsv").write_text("".join(f"{p.word1}\t{p.word2}\t{p.score}\n" for p in pairs))
    Aligned.pair(LinearAlignment.learned(b_src=np.ones(8, dtype=np.float32)), en, de).save("aligned")
    return tmp_path


@pytest.fixture
def run(here):
    """Run the command, which must succeed; gives standard output."""

    def invoke(*args):
        done = CliRunner().invoke(app, ["evaluate", "similarity", *map(str, args)])
        assert done.exit_code == 0, (args, done.output, done.exception)
        return done.stdout

    return invoke


@pytest.fixture
def fail(here, monkeypatch, capsys):
    """Run the command as a user does, which must fail: one line, exit code 2, nothing written. Gives the line."""

    def invoke(*args):
        before = sorted(here.iterdir())
        monkeypatch.setattr("sys.argv", ["isoglot", "evaluate", "similarity", *map(str, args)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        assert stopped.value.code == 2, said.err
        assert not said.out
        (line,) = said.err.splitlines()
        assert sorted(path for path in here.iterdir() if path.name != "cache") == [
            path for path in before if path.name != "cache"
        ]
        return line.removeprefix("isoglot: ")

    return invoke


def values(results):
    return [result.value if hasattr(result, "value") else result["value"] for result in results]


def test_a_named_set_on_one_file(run, here):
    results = json.loads(run("simlex-999", "en.vec", "--json"))["results"]
    wanted = similarity(similarity_set("simlex-999"), Space.load("en.vec"))
    assert values(results) == values(wanted)
    assert [result["metric"] for result in results] == ["harmonic", "Pearson", "Spearman"] * 2
    assert results[0]["interval"][0] < results[0]["value"] < results[0]["interval"][1]
    assert (results[0]["protocol"]["denominator"], results[3]["n"]) == ("in-vocabulary", 999)
    shown = run("simlex-999", "en.vec", "--per-item", "items.jsonl", "--missing", "0")
    assert "simlex-999: en.vec" in shown
    assert "harmonic" in shown
    items = [json.loads(line) for line in (here / "items.jsonl").read_text("utf-8").splitlines()]
    assert len(items) == 999
    assert {item["score"] for item in items if item["missing"]} == {0}


def test_across_languages_from_two_files_and_a_folder(run):
    wanted = similarity(read_similarity("en-de.tsv"), Space.load("en.vec"), Space.load("de.vec"))
    one_file = json.loads(run("en-de.tsv", "en.vec", "de.vec", "--json"))["results"]
    with_gold = json.loads(run("en-de.data.txt", "--gold", "en-de.gold.txt", "en.vec", "de.vec", "--json"))["results"]
    assert values(one_file) == values(with_gold) == values(wanted)
    assert wanted[0].value > 0.1
    folder = Aligned.load("aligned")
    mapped = similarity(read_similarity("en-de.tsv"), folder.spaces["en"], folder.spaces["de"])
    assert values(json.loads(run("en-de.tsv", "aligned", "--json"))["results"]) == values(mapped)
    named = json.loads(run("en-de.tsv", "aligned", "--from", "en", "--to", "de", "--json"))["results"]
    assert named[0]["protocol"]["languages"] == ["en", "de"]


def test_one_language_of_a_folder(run):
    space = Aligned.load("aligned").spaces["en"]
    wanted = values(similarity(similarity_set("simlex-999"), space))
    assert values(json.loads(run("simlex-999", "aligned", "--json"))["results"]) == wanted
    wanted = values(similarity(read_similarity("en.tsv"), space))
    found = json.loads(run("en.tsv", "aligned", "--from", "en", "--to", "en", "--json"))["results"]
    assert values(found) == wanted
    assert found[0]["protocol"]["languages"] == ["en"]
    folded = json.loads(run("en.tsv", "aligned", "--from", "de", "--to", "de", "--lower", "--json"))["results"]
    assert folded[0]["protocol"]["languages"] == ["de"]
    assert folded[0]["n"] == found[0]["n"]


def test_words_of_an_encoder(run, here, tiny, tiny_folder, parallel):
    words = sorted({word for sentence in parallel.src[:30] for word in sentence})[:12]
    pairs = [WordPair(a, b, float(i + j), None) for i, a in enumerate(words) for j, b in enumerate(words[:i])]
    (here / "north.csv").write_text("".join(f"{p.word1},{p.word2},{p.score}\n" for p in pairs), "utf-8")
    wanted = similarity(pairs, encode_words(tiny, words))
    found = json.loads(run("north.csv", "--encoder", tiny_folder, "--json"))["results"]
    assert values(found) == pytest.approx(values(wanted), abs=1e-4)
    two = run("north.csv", "-e", tiny_folder, "--from", "north", "--to", "south", "--layer", "1", "--json")
    assert json.loads(two)["results"][0]["protocol"]["languages"] == ["north", "south"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("simlx-999", "en.vec"), "unknown similarity set 'simlx-999'; did you mean 'simlex-999'?"),
        (
            ("similarity/simlex", "en.vec"),
            "catalogue: no entry 'similarity/simlex'; did you mean 'similarity/simlex999'?",
        ),
        (("nowhere.tsv", "en.vec"), "nowhere.tsv: no such file; or name a set: simlex-999, wordsim-353"),
        (("simlex-999", "nowhere.vec"), "nowhere.vec: no such file; check the path"),
        (("simlex-999", "vectors/enn"), "vectors/enn: no such file; the catalogue has 'vectors/en'"),
        (("en.vec", "en.vec"), "en.vec:1: "),
        (("en-de.data.txt", "en.vec"), "en-de.data.txt:1: two words, but no score; give the file of their scores"),
        (("en-de.data.txt", "en.vec", "--gold", "none.txt"), "none.txt: no such file"),
        (("en-de.tsv", "en.vec", "--gold", "en-de.gold.txt"), "en-de.tsv:1: 3 columns, expected two words"),
        (("simlex-999", "en.vec", "--gold", "en-de.gold.txt"), "simlex-999: --gold and --column are for files"),
        (("en.tsv", "en.vec", "--column", "POS"), "en.tsv:1: no heading, so no column 'POS'"),
        (("simlex-999",), "give either vectors or --encoder"),
        (("simlex-999", "en.vec", "-e", "x"), "give either vectors or --encoder"),
        (("simlex-999", *["en.vec"] * 3), "give one file of vectors, or two for pairs across languages, not 3"),
        (("simlex-999", "en.vec", "--from", "en"), "--from has no effect with files of vectors"),
        (("simlex-999", "aligned", "--from", "fr"), "no language 'fr' here; there are: en, de"),
        (("simlex-999", "de.vec", "--missing", "nan"), "missing: must be a number, not nan"),
        (("simlex-999", "de.vec"), "none of the 999 pairs (old - new, "),
        (("simlex-999", "-e", "./nothing"), "./nothing: no such folder"),
        (("simlex-999", "en.vec", "--per-item", "en.vec/x"), "en.vec/x: cannot write here"),
    ],
)
def test_mistakes_are_one_line(fail, args, message):
    assert fail(*args).startswith(message)


def test_help_has_examples():
    done = CliRunner().invoke(app, ["evaluate", "similarity", "--help"])
    assert done.exit_code == 0
    assert "isoglot evaluate similarity simlex-999" in done.stdout.split("Examples")[1]
