"""`isoglot wordalign` with the method ot and `--picture`: end to end on a tiny encoder, and what it refuses."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from isoglot.cli import main
from isoglot.cli.app import app
from isoglot.wordalign import link_lines, link_text, pair_scores

BOTH = ("north.txt", "south.txt")
NAMED = ("north=north.txt", "south=south.txt")
#: Lines of the text that are blank on one side, counted from 1.
BLANK = (1, 4)


@pytest.fixture
def here(parallel, tmp_path, monkeypatch):
    """A working folder with twelve parallel lines, some of them blank."""
    for side, (name, words) in enumerate((("north", parallel.src), ("south", parallel.tgt))):
        lines = [" ".join(sentence) for sentence in words[400:412]]
        lines[BLANK[side] - 1] = ""
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


@pytest.fixture
def run(here, tiny_folder):
    """Run `wordalign`, which must succeed; E stands for the encoder."""

    def invoke(*args):
        done = CliRunner().invoke(app, ["wordalign", *(str(tiny_folder) if arg == "E" else str(arg) for arg in args)])
        assert done.exit_code == 0, (args, done.output, done.exception)
        return done

    return invoke


@pytest.fixture
def fail(here, tiny_folder, monkeypatch, capsys):
    """Run `wordalign`, which must fail as a user sees it: one line, exit code 2, nothing written. Gives the line."""

    def invoke(*args):
        before = sorted(here.rglob("*"))
        arguments = [str(tiny_folder) if arg == "E" else str(arg) for arg in args]
        monkeypatch.setattr("sys.argv", ["isoglot", "wordalign", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        assert stopped.value.code == 2, said.err
        assert not said.out
        (line,) = said.err.splitlines()
        assert line.startswith("isoglot: ")
        assert sorted(here.rglob("*")) == before
        return line

    return invoke


def named(path, name):
    """Elements of a class in a picture."""
    return [one for one in ElementTree.parse(path).iter() if name in one.get("class", "").split()]


def test_ot_writes_the_links_of_the_plan(run, here, tiny, parallel):
    run(*BOTH, "-e", "E", "--word-method", "ot", "-o", "links", "--scores")
    lines = (here / "links").read_text("utf-8").splitlines()
    assert len(lines) == 12
    assert [number for number, line in enumerate(lines, start=1) if not line] == list(BLANK)
    found = link_text((tiny, tiny), parallel.src[401:403], parallel.tgt[401:403], "ot")
    assert lines[1:3] == link_lines(found, base=0, scores=True)
    # A larger share is asked for: fewer links. A blur beyond all distances: none.
    more = run(*BOTH, "-e", "E", "--word-method", "ot", "--set", "threshold=0.5").stdout.split()
    assert set(run(*BOTH, "-e", "E", "--word-method", "ot", "--set", "threshold=1").stdout.split()) <= set(more)
    assert not run(*BOTH, "-e", "E", "--word-method", "ot", "--set", "blur=1000").stdout.strip()


def test_the_first_line_with_words_is_drawn(run, here, tiny, parallel):
    done = run(*NAMED, "-e", "E", "--word-method", "ot", "--picture", "pair.svg")
    assert "a picture of line 2: pair.svg" in done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 12
    src, tgt = parallel.src[401], parallel.tgt[401]
    assert [one.text for one in named("pair.svg", "source")] == list(src)
    assert [one.text for one in named("pair.svg", "target")] == list(tgt)
    assert len(named("pair.svg", "link")) == len(lines[1].split())
    cells = named("pair.svg", "cell")
    scores = pair_scores((tiny, tiny), src, tgt, "ot")
    assert len(cells) == scores.size
    darkest = max(range(len(cells)), key=lambda k: -sum(bytes.fromhex(cells[k].get("fill")[1:])))
    assert scores.flat[darkest] == pytest.approx(scores.max(), abs=0.01)
    heading = named("pair.svg", "heading")[0].text
    assert heading == "north-south, line 2: ot, tiny-encoder"
    assert [one.text for one in named("pair.svg", "note")][:3] == ["share of the lighter word carried", "0", "1"]


def test_with_an_output_a_line_and_json(run, here, parallel):
    done = run(*BOTH, "-e", "E", "--picture", "new/pair.html", "--line", 12, "-o", "links", "--json")
    record = json.loads(done.stdout)
    assert (record["picture"], record["picture_line"], record["output"]) == ("new/pair.html", 12, "links")
    assert record["links"] == len((here / "links").read_text("utf-8").split())
    page = (here / "new" / "pair.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<title>line 12: itermax, tiny-encoder</title>" in page
    assert page.count('class="cell"') == len(parallel.src[411]) * len(parallel.tgt[411])
    assert ">cosine</text>" in page
    alone = json.loads(run(*BOTH, "-e", "E", "--json").stdout)
    assert (alone["picture"], alone["picture_line"]) == (None, None)
    assert len(alone["lines"]) == 12


@pytest.mark.parametrize("method", ["match", "transport", "unbalanced-transport", "softmax", "ot"])
def test_a_picture_changes_no_links(run, method):
    plain = run(*BOTH, "-e", "E", "--word-method", method)
    assert run(*BOTH, "-e", "E", "--word-method", method, "--picture", "pair.svg", "--line", 3).stdout == plain.stdout
    assert len(named("pair.svg", "link")) == len(plain.stdout.splitlines()[2].split())
    assert len(named("pair.svg", "scale")) == 1


def test_statistical_models_have_no_scores_to_show(run, parallel):
    done = run(*BOTH, "--word-method", "ibm1", "--picture", "pair.svg", "--line", 5)
    linked = done.stdout.splitlines()[4].split()
    assert len(named("pair.svg", "link")) == len(linked) > 0
    fills = [one.get("fill") for one in named("pair.svg", "cell")]
    width = len(parallel.tgt[404])
    filled = {width * i + j for i, j in (map(int, link.split("-")) for link in linked)}
    assert {fills[k] for k in filled}.isdisjoint(fills[k] for k in range(len(fills)) if k not in filled)
    assert len(set(fills)) == 2
    assert not named("pair.svg", "scale")
    assert named("pair.svg", "heading")[0].text == "line 5: ibm1"


def test_an_existing_picture_is_replaced(run, here):
    (here / "pair.svg").write_text("old", "utf-8")
    run(*BOTH, "--word-method", "ibm1", "--picture", "pair.svg")
    assert (here / "pair.svg").read_text("utf-8").startswith("<svg ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--picture", "pair.svg", "--line", 13), "--line 13: the text has lines 1 to 12"),
        (("--picture", "pair.svg", "--line", 0), "--line 0: the text has lines 1 to 12"),
        (("--picture", "pair.svg", "--line", -1), "--line -1: the text has lines 1 to 12"),
        (("--picture", "pair.svg", "--line", 1), "--line 1 is blank on one side"),
        (("--picture", "pair.svg", "--line", 4), "--line 4 is blank on one side"),
        (("--picture", "pair.png"), "pair.png: pictures are written as .svg or .html"),
        (("--picture", "pair"), "pair: pictures are written as .svg or .html"),
        (("--picture", "north.txt/pair.svg"), "is not a folder"),
        (("--picture", "."), "pictures are written as .svg or .html"),
        (("--line", 3), "--line tells which line to draw: it needs --picture"),
        (("--picture", "out.svg", "-o", "out.svg"), "--picture and --output are the same file"),
        (("--word-method", "ot", "--set", "null=0.4"), "ot has no setting 'null'; known settings: blur, threshold"),
        (("--word-method", "ot", "--set", "blur=0"), "blur: must be above 0, not 0"),
    ],
)
def test_one_clear_line_for_what_cannot_be_done(fail, args, message):
    assert message in fail(*BOTH, "-e", "E", *args)


def test_lines_too_long_to_draw_are_told_before_the_work(fail, here):
    (here / "long.txt").write_text("a " * 300 + "\nb\n", "utf-8")
    (here / "short.txt").write_text("c\nd\n", "utf-8")
    told = "line 1 has 300 words, and a picture shows 200 at most; choose a shorter one by --line"
    # No such encoder: it was not looked for yet.
    assert told in fail("long.txt", "short.txt", "-e", "no-such-encoder", "--picture", "pair.svg")


def test_help_tells_of_it(run):
    text = run("--help").stdout
    assert "--picture" in text
    assert "--line" in text
    examples = " ".join(text.split("Examples")[1].replace("\\", " ").split())
    assert "--word-method ot --pooling last --picture pair.svg --line 7" in examples
