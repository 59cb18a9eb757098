"""`isoglot contextual`, `wordalign`, the tasks on encoders and their tables, from files to files, on a tiny encoder."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from isoglot.cli import main
from isoglot.cli.app import app
from isoglot.encoders import AlignedEncoder, Encoder
from isoglot.pipelines import ContextualPairs, TokenisedPairs
from isoglot.pipelines.contextual_pairs import extract_pairs
from isoglot.spaces import parse_occurrence
from isoglot.tasks import tatoeba
from isoglot.wordalign import read_links, write_links

TAUGHT = 400
NAMED = ("north=north.txt", "south=south.txt")
TESTED = ("north=test.north", "south=test.south")
STRANGE = ["pold 🙂 👩‍👩‍👧 !", "漢字 العربية ελλ д", "\u200b a\u0301 \U0001f1e9\U0001f1ea", "don't 3.14 e-mail"]


@pytest.fixture(scope="module")
def data(parallel, tmp_path_factory):
    """The first lines as north.txt, south.txt, links.pharaoh; the others as test.north, test.south, test.gold."""
    folder = tmp_path_factory.mktemp("contextual")
    parallel.save(folder)
    for name, side in (("north", parallel.src), ("south", parallel.tgt)):
        lines = [" ".join(words) + "\n" for words in side]
        (folder / f"{name}.txt").write_text("".join(lines[:TAUGHT]), "utf-8")
        (folder / f"test.{name}").write_text("".join(lines[TAUGHT:]), "utf-8")
    write_links(folder / "links.pharaoh", parallel.links[:TAUGHT], base=0)
    write_links(folder / "test.gold", parallel.links[TAUGHT:], base=1)
    return folder


@pytest.fixture
def here(data, tmp_path, monkeypatch):
    """A working folder of its own, with the data in it."""
    for path in data.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


@pytest.fixture
def run(here, tiny_folder):
    """Run a command that must succeed; E stands for the encoder."""

    def invoke(*args):
        done = CliRunner().invoke(app, [str(tiny_folder) if arg == "E" else str(arg) for arg in args])
        assert done.exit_code == 0, (args, done.output, done.exception)
        return done

    return invoke


@pytest.fixture
def fail(here, tiny_folder, monkeypatch, capsys):
    """Run a command that must fail as a user sees it: one line, exit code 2, nothing written. Gives the line."""

    def invoke(*args):
        before = sorted(here.rglob("*"))
        argv = ["isoglot", *(str(tiny_folder) if arg == "E" else str(arg) for arg in args)]
        monkeypatch.setattr("sys.argv", argv)
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


def lines_of(path):
    return path.read_text("utf-8").splitlines()


def test_extract_writes_the_pairs_of_given_links(run, here, tiny, parallel):
    done = run(
        "encoder", "extract", *NAMED, "-e", "E", "-o", "pairs", "--links", "links.pharaoh",
        "--base", 0, "--segmenter", "spaces",
    )  # fmt: skip
    assert "x 64 from 400 sentences, written to pairs" in done.stderr
    assert not done.stdout
    found = ContextualPairs.load(here / "pairs")
    links = parallel.links[:TAUGHT]
    wanted = extract_pairs(tiny, TokenisedPairs(parallel.src[:TAUGHT], parallel.tgt[:TAUGHT], links=links))
    assert (found.src.lang, found.tgt.lang, len(found)) == ("north", "south", sum(map(len, links)))
    assert list(found.src.words) == list(wanted.src.words)
    np.testing.assert_array_equal(found.pairs, wanted.pairs)
    np.testing.assert_array_equal(found.tgt.vectors, wanted.tgt.vectors)


def test_extract_json_limit_layer_cache_and_blank_lines(run, here):
    for name in ("north", "south"):
        lines = lines_of(here / f"{name}.txt")[:9]
        (here / f"some.{name}").write_text("\n".join(["" if name == "north" else "x", *lines]) + "\n", "utf-8")
    done = run(
        "encoder", "extract", "some.north", "some.south", "-e", "E", "-o", "pairs", "--limit", 6, "--layer", "0,-1",
        "--pooling", "first", "--word-method", "match", "--set", "null=-1", "--segmenter", "spaces",
        "--cache", "kept", "--json",
    )  # fmt: skip
    record = json.loads(done.stdout)
    assert (record["dim"], record["left_out"], record["sentences"]) == (128, 1, 5)
    assert (record["layer"], record["pooling"], record["word_alignment"]) == ("0,3", "first", "match")
    found = ContextualPairs.load(here / "pairs")
    assert {parse_occurrence(name).sentence for name in found.src.words} == {1, 2, 3, 4, 5}
    assert (found.src.lang, found.tgt.lang) == ("src", "tgt")
    assert record["occurrences"] == [len(found.src), len(found.tgt)]
    assert list((here / "kept").rglob("*.safetensors"))


@pytest.fixture(scope="module")
def aligned(data, tiny_folder, tmp_path_factory):
    """An aligned encoder made by the program."""
    folder = tmp_path_factory.mktemp("aligned") / "out"
    texts = [f"{lang}={data / lang}.txt" for lang in ("north", "south")]
    command = ["encoder", "align", *texts, "-e", tiny_folder, "-o", folder, "--held-out", "50", "--json"]
    done = CliRunner().invoke(app, [*map(str, command)])
    assert done.exit_code == 0, (done.output, done.exception)
    return folder, json.loads(done.stdout)


def test_align_measures_before_and_after(aligned):
    folder, record = aligned
    assert (record["learned_from"], record["left_out"], record["languages"]) == (350, 0, ["north", "south"])
    assert record["sentence_transformers"] is True
    assert record["output"] == str(folder)
    assert record["before"][3]["value"] < 0.15
    assert record["after"][3]["value"] > 0.3
    assert not [path for path in folder.parent.iterdir() if path != folder]


def test_the_folder_gives_the_same_retrieval_everywhere(aligned, run, here, data):
    from sentence_transformers import SentenceTransformer

    folder, _ = aligned
    texts = {lang: lines_of(data / f"test.{lang}") for lang in ("north", "south")}
    done = run("evaluate", "tatoeba", *TESTED, "-e", folder, "--json")
    values = [result["value"] for result in json.loads(done.stdout)["results"]]
    theirs = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    ours = AlignedEncoder.load(folder)
    for encode in (
        lambda lang: theirs.encode(texts[lang], task=lang, show_progress_bar=False),
        lambda lang: ours.sentences(texts[lang], lang),
        lambda lang: Encoder(folder, lang=lang).sentences(texts[lang]),
    ):
        found = tatoeba(encode("north"), encode("south"), sentences=tuple(texts.values()))
        # 100 sentences: at most one of them may turn on the last digit of a cosine.
        np.testing.assert_allclose([result.value for result in found], values, atol=0.0101)
    assert values[0] > 0.3


def test_align_on_words_with_a_map_a_layer(run, here):
    done = run(
        "encoder", "align", *NAMED, "-e", "E", "-o", "out", "--level", "word", "--layer", "last2",
        "--per-layer", "--links", "links.pharaoh", "--base", 0, "--segmenter", "spaces", "--held-out", 100,
    )  # fmt: skip
    assert "north and south: 100 held-out sentences, anchored-local of 300" in done.stdout
    assert "it loads as an Isoglot encoder only: sentence-transformers takes one layer" in done.stderr
    assert "written to out" in done.stderr
    assert len(AlignedEncoder.load(here / "out").alignments) == 2


def test_align_by_the_preset_of_a_paper(run, here):
    """Options win over the preset; what it stands for, given one by one, makes the same maps."""
    command = ["encoder", "align", *NAMED, "-e", "E", "--layer", "last2", "--segmenter", "spaces", "--held-out", 100]
    done = run(*command, "--preset", "joint-align-contextual", "-o", "out")
    assert "100 held-out sentences, procrustes of 300" in done.stdout
    one_by_one = ["-m", "procrustes", "--normalise", "none", "--level", "word", "--word-method", "hmm", "--per-layer"]
    run(*command, *one_by_one, "-o", "same")
    made, same = (AlignedEncoder.load(here / name) for name in ("out", "same"))
    assert str(made.encoder.layers).startswith("sum:")
    assert (made.level, len(made.alignments)) == ("word", 2)
    rows = np.random.default_rng(0).normal(size=(5, made.encoder.model.width)).astype(np.float32)
    for ours, theirs in zip(made.alignments, same.alignments, strict=True):
        mapped = ours.transform(rows, "src")
        np.testing.assert_array_equal(mapped, theirs.transform(rows, "src"))
        # Orthogonal: lengths stay.
        np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), np.linalg.norm(rows, axis=1), rtol=1e-4)


def test_align_says_where_it_hurts(run, here, aligned):
    """Lines against themselves are found before alignment; a map that was learned from shuffled lines ruins that."""
    lines = lines_of(here / "north.txt")
    (here / "same").write_text("".join(f"{line}\n" for line in dict.fromkeys(lines)), "utf-8")
    (here / "shuffled").write_text("".join(f"{line}\n" for line in reversed(lines)), "utf-8")
    checks = ["--check", "north=same", "south=same", "--check-text", "south=south.txt", "north=north.txt"]
    command = ["encoder", "align", "north=north.txt", "south=shuffled", "-e", "E", "-o", "out", *checks]
    done = run(*command, "-m", "procrustes", "--json")
    record = json.loads(done.stdout)
    worst, apart = record["checks"]
    assert worst["name"] == "same, same"
    assert worst["before"] > 0.9 > worst["after"]
    assert worst["hurts"]
    assert worst["interval"][1] < 0
    assert (apart["metric"], apart["lines"]) == ("semantic criterion", 400)
    assert record["warnings"][0].startswith("it hurts on same, same: P@1 by csls falls from")
    assert "not recommended for such text" in done.stderr
    assert record["warnings"][0] in AlignedEncoder.load(here / "out").info["warnings"]
    card = (here / "out" / "README.md").read_text("utf-8")
    assert "it hurts on same, same" in card
    assert "semantic criterion" in card

    safe = run(*command, "-m", "anchored", "--json")
    found = json.loads(safe.stdout)
    assert not found["warnings"]
    assert found["checks"][0]["lines"] == worst["lines"] // 2  # the other half has chosen
    assert found["info"]["pull_choice"]["harmless"]
    assert found["info"]["pull_choice"]["kinds"] == ["the pairs", "same, same", "north.txt, south.txt (apart)"]
    shown = run(*command[:-3], "-m", "anchored").stdout
    assert "text of other kinds" in shown
    assert "no harm shown" in shown


def test_checks_that_cannot_be(fail, here):
    (here / "short").write_text("pold\n", "utf-8")
    command = ("encoder", "align", *NAMED, "-e", "E", "-o", "out")
    assert fail(*command, "--check", "north=north.txt") == (
        "isoglot: --check north=north.txt is not a file for each language; give --check north=FILE south=FILE"
    )
    assert "--check-text north=north.txt east=south.txt is not a file for each" in fail(
        *command, "--check-text", "north=north.txt", "east=south.txt"
    )
    assert "100 lines, but north.txt has 400" in fail(*command, "--check", "north=north.txt", "south=test.south")
    assert fail(*command, "--check", "north=short", "south=short") == (
        "isoglot: short, short: a check needs four lines of text or more for each language"
    )
    assert "no-such" in fail(*command, "--check", "north=north.txt", "south=no-such")


def test_tatoeba_by_their_own_mean(run, here):
    plain, own = (
        json.loads(run("evaluate", "tatoeba", *TESTED, "-e", "E", *more, "--json").stdout)["results"][0]
        for more in ((), ("--normalise", "unit,centre"))
    )
    assert own["protocol"]["normalise"] == "unit,centre"
    assert "normalise" not in plain["protocol"]
    assert ", standardise" in run("evaluate", "tatoeba", *TESTED, "-e", "E", "--normalise", "standardise").stdout


def test_align_without_a_test_by_an_iterative_method(run, here):
    done = run(
        "encoder", "align", "north.txt", "south.txt", "-e", "E", "-o", "out", "-m", "rcsls", "--set", "iterations=2",
        "--held-out", 0, "--limit", 100, "--normalise", "unit", "--seed", 3,
    )  # fmt: skip
    assert "no figure: all lines were used for learning" in done.stderr
    found = AlignedEncoder.load(here / "out")
    assert (found.languages, found.info["pairs"], found.info["method"]) == (("src", "tgt"), 100, "rcsls")
    assert not list(here.glob(".*"))
    again = run("encoder", "align", "north.txt", "south.txt", "-e", "E", "-o", "out", "--limit", 80)
    assert "written to out" in again.stderr


def test_wordalign_to_a_file_and_to_standard_output(run, here, tiny, parallel):
    from isoglot.wordalign import link_words

    command = ("wordalign", "test.north", "test.south", "-e", "E", "--word-method", "match", "--set", "null=-1")
    done = run(*command, "-o", "found.pharaoh")
    assert not done.stdout
    assert "links in 100 sentences, words counted from 0: found.pharaoh" in done.stderr
    found = read_links(here / "found.pharaoh", base=0)
    wanted = link_words(*(tiny.words(side[TAUGHT:]) for side in (parallel.src, parallel.tgt)), "match", null=-1)
    assert [one.sure for one in found] == [one.sure for one in wanted]
    assert all(not one.scores for one in found)

    printed = run(*command)
    assert printed.stdout.splitlines() == lines_of(here / "found.pharaoh")
    assert not printed.stderr
    run(*command, "--base", 1, "--scores", "-o", "one.pharaoh")
    scored = read_links(here / "one.pharaoh", base=1)
    assert [one.sure for one in scored] == [one.sure for one in wanted]
    assert scored[0].scores == pytest.approx(wanted[0].scores, abs=1e-5)
    assert "/" in lines_of(here / "one.pharaoh")[0]

    record = json.loads(run(*command, "--json").stdout)
    assert record["lines"] == lines_of(here / "found.pharaoh")
    assert (record["sentences"], record["left_out"], record["base"]) == (100, 0, 0)
    assert record["links"] == sum(map(len, wanted))
    record = json.loads(run(*command, "--json", "--base", 1, "-o", "again.pharaoh").stdout)
    assert (record["output"], record["lines"]) == ("again.pharaoh", None)


def test_blank_lines_keep_their_line(run, here):
    for name, blank in (("north", (0, 4)), ("south", (4, 9))):
        lines = ["" if i in blank else line for i, line in enumerate(lines_of(here / f"test.{name}")[:10])]
        (here / f"some.{name}").write_text("\n".join(lines) + "\n", "utf-8")
    done = run("wordalign", "some.north", "some.south", "-e", "E")
    lines = done.stdout.splitlines()
    assert [i for i, line in enumerate(lines) if not line] == [0, 4, 9]
    assert "note: 3 lines are blank on one side and have no links" in done.stderr
    alone = run("wordalign", "test.north", "test.south", "-e", "E").stdout.splitlines()
    assert [line for line in lines if line] == [alone[i] for i in (1, 2, 3, 5, 6, 7, 8)]


def test_words_are_aligned_better_by_an_aligned_encoder_and_by_models(run, here, aligned):
    pytest.importorskip("thot")
    folder, _ = aligned

    def f1(*args):
        run("wordalign", *TESTED, *args, "-o", "found.pharaoh")
        done = run(
            "evaluate", "word-alignment", "found.pharaoh", "test.gold", "--base", 0, "--gold-base", 1, "--json",
            "--per-item", "items.jsonl",
        )  # fmt: skip
        results = {result["metric"]: result["value"] for result in json.loads(done.stdout)["results"]}
        assert results["AER"] == pytest.approx(1 - results["F1"])
        assert len(lines_of(here / "items.jsonl")) == 100
        return results["F1"]

    plain = f1("-e", "E")
    assert f1("-e", folder) > plain + 0.1
    assert f1("--word-method", "ibm1", "--set", "symmetrise=intersection") > plain + 0.1


def test_evaluate_tatoeba(run, here, tiny, data):
    done = run("evaluate", "tatoeba", "test.north", "test.south", "-e", "E", "--score", "csls", "--layer", "1",
               "--per-item", "items.jsonl", "--limit", 60)  # fmt: skip
    assert "P@1 src->tgt" in done.stdout
    assert len(lines_of(here / "items.jsonl")) == 60
    (here / "some.north").write_text("\n".join(["", *lines_of(data / "test.north")[:20]]), "utf-8")
    (here / "some.south").write_text("\n".join(["x", *lines_of(data / "test.south")[:20]]), "utf-8")
    record = json.loads(run("evaluate", "tatoeba", "some.north", "some.south", "-e", "E", "--json").stdout)
    texts = [lines_of(data / f"test.{lang}")[:20] for lang in ("north", "south")]
    wanted = tatoeba(*map(tiny.sentences, texts), sentences=tuple(texts))
    assert [result["value"] for result in record["results"]] == [result.value for result in wanted]


def test_evaluate_cbli(run, here):
    run(
        "encoder", "extract", *NAMED, "-e", "E", "-o", "pairs", "--links", "links.pharaoh",
        "--base", 0, "--segmenter", "spaces", "--limit", 150,
    )  # fmt: skip
    plain = json.loads(run("evaluate", "cbli", "pairs", "--held-out", 300, "--json").stdout)["results"]
    after = json.loads(run("evaluate", "cbli", "pairs", "--held-out", 300, "-m", "procrustes", "--json").stdout)[
        "results"
    ]
    assert plain[0]["metric"] == after[0]["metric"] == "P@1 word"
    assert plain[0]["n"] == after[0]["n"] == 300
    assert after[0]["value"] > plain[0]["value"] + 0.3
    done = run("evaluate", "cbli", "pairs", "--held-out", 100, "--score", "cosine", "--per-item", "items.jsonl")
    assert "north to south, as they come" in done.stdout
    assert len(lines_of(here / "items.jsonl")) == 100


def test_evaluate_cbli_with_a_saved_alignment(run, here):
    common = (*NAMED, "-e", "E", "--links", "links.pharaoh", "--base", 0, "--segmenter", "spaces")
    run("encoder", "align", *common, "--level", "word", "-o", "out")
    run("encoder", "extract", *common, "-o", "pairs", "--limit", 50)
    done = run("evaluate", "cbli", "pairs", "-a", "out/alignments/0", "--json")
    assert json.loads(done.stdout)["results"][0]["value"] > 0.5


def test_evaluate_rfeval(run, here, aligned, parallel):
    pytest.importorskip("ot")
    folder, _ = aligned
    (here / "wmt" / "source").mkdir(parents=True)
    (here / "wmt" / "system-outputs" / "north-south").mkdir(parents=True)
    # Every other translation is that of the line before: people would not like it.
    hypotheses = [parallel.tgt[TAUGHT + i - i % 2] for i in range(40)]
    scores = "".join(f"north-south news system {i + 1} {1 - i % 2}.{i:02}\n" for i in range(40))
    for name, text in (
        ("DA-seglevel.csv", f"LP DATA SYSTEM SID HUMAN\n{scores}"),
        ("source/news-northsouth-src.north", "".join(" ".join(s) + "\n" for s in parallel.src[TAUGHT : TAUGHT + 40])),
        ("system-outputs/north-south/news.system.north-south", "".join(" ".join(s) + "\n" for s in hypotheses)),
    ):
        (here / "wmt" / name).write_text(text, "utf-8")
    command = ("evaluate", "rfeval", "wmt", "--languages", "north-south", "--segmenter", "spaces", "--json", "-e")
    plain, after = (json.loads(run(*command, name).stdout)["results"][0] for name in ("E", folder))
    assert (after["metric"], after["n"]) == ("Pearson", 40)
    assert after["value"] > max(0.5, plain["value"] + 0.1)


@pytest.fixture
def gold_folder(here, parallel):
    folder = here / "gold"
    folder.mkdir()
    lines = [f"{' '.join(a)} ||| {' '.join(b)}" for a, b in zip(parallel.src[:20], parallel.tgt[:20], strict=True)]
    (folder / "nosu.src-tgt").write_text("\n".join(lines) + "\n", "utf-8")
    write_links(folder / "nosu.gold", parallel.links[:20], base=1)
    return folder


def test_reproduce_word_alignment(run, here, gold_folder, monkeypatch):
    pytest.importorskip("thot")
    command = ("reproduce", "word-alignment", "gold", "--base", 1, "-e", "E", "--no-align", "-o", "out")
    done = run(*command)
    assert "nosu F1" in done.stdout
    document = json.loads((here / "out" / "word-alignment.json").read_text("utf-8"))
    kinds = [row["kind"] for row in document["rows"]]
    assert set(kinds) == {"as it comes", "statistical"}
    assert "nosu 20" in document["what"]
    assert "Word alignment" in (here / "out" / "report.html").read_text("utf-8")
    # A second run computes nothing.
    monkeypatch.setattr("isoglot.reproductions.density.table1.Encoder", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("isoglot.reproductions.density.table1.statistical_align", lambda *_, **__: 1 / 0)
    assert json.loads(run(*command, "--json").stdout) == document


def test_dry_run_of_the_table_of_sentences(run, here):
    before = sorted(here.iterdir())
    done = run("reproduce", "contextual", "--dry-run", "--languages", "de,fr")
    assert "12 alignments" in done.stdout
    assert sorted(here.iterdir()) == before


def test_strange_text_simply_works(run, here):
    north = [*lines_of(here / "test.north")[:20], *STRANGE]
    south = [*lines_of(here / "test.south")[:20], *STRANGE[::-1]]
    (here / "a.txt").write_text("\n".join(north) + "\n", "utf-8")
    (here / "b.txt").write_text("\n".join(south) + "\n", "utf-8")
    for segmenter in ("spaces", "icu"):
        done = run("wordalign", "a.txt", "b.txt", "-e", "E", "--segmenter", segmenter)
        assert len(done.stdout.splitlines()) == 24
        record = json.loads(
            run("encoder", "extract", "a.txt", "b.txt", "-e", "E", "-o", "pairs", "--segmenter", segmenter,
                "--json").stdout
        )  # fmt: skip
        assert record["sentences"] >= 23
    words = {parse_occurrence(name).word for name in ContextualPairs.load(here / "pairs").src.words}
    assert words & {"漢字", "العربية", "ελλ"}
    run("encoder", "align", "a.txt", "b.txt", "-e", "E", "-o", "out", "--level", "word")


def test_a_line_of_ten_thousand_words_simply_works(run, fail, here):
    for name in ("north", "south"):
        words = " ".join(lines_of(here / f"{name}.txt")).split()
        (here / f"long.{name}").write_text(" ".join((words * 4)[:10_000]) + f"\n{' '.join(words[:5])}\n", "utf-8")
    done = run("wordalign", "long.north", "long.south", "-e", "E", "--word-method", "intersection")
    first, second = done.stdout.splitlines()
    assert len(first.split()) > 100
    assert second
    record = json.loads(
        run("encoder", "align", "long.north", "long.south", "-e", "E", "-o", "out", "--held-out", 1, "-m",
            "identity", "--json").stdout
    )  # fmt: skip
    assert record["after"][0]["n"] == 1
    pytest.importorskip("thot")
    line = fail("wordalign", "long.north", "long.south", "--word-method", "hmm", "-o", "found")
    assert "sentence 1 has 10,000 words, but hmm takes" in line


BOTH = ("north.txt", "south.txt")
EXTRACT = ("encoder", "extract", *BOTH, "-e", "E", "-o", "out")
ALIGN = ("encoder", "align", *BOTH, "-e", "E", "-o", "out")
WORDALIGN = ("wordalign", *BOTH, "-e", "E", "-o", "out")
TATOEBA = ("evaluate", "tatoeba", *BOTH, "-e", "E")


def with_texts(command, *texts):
    return (*command[: command.index("north.txt")], *texts, *command[command.index("south.txt") + 1 :])


def with_encoder(command, encoder):
    return tuple(encoder if arg == "E" else arg for arg in command)


@pytest.mark.parametrize("command", [EXTRACT, ALIGN, WORDALIGN, TATOEBA], ids=lambda c: " ".join(c[:2]))
def test_bad_texts_encoders_and_layers_are_one_line(fail, here, command):
    (here / "empty.txt").touch()
    (here / "blank.txt").write_text("\n" * TAUGHT, "utf-8")
    (here / "latin.txt").write_bytes("é\n".encode("latin-1") * TAUGHT)
    (here / "plain").mkdir()
    line = fail(*with_texts(command, "north.txt", "test.south"))
    assert line == (
        "isoglot: test.south: 100 lines, but north.txt has 400; line-parallel files must be of equal length"
    )
    assert "empty.txt: the file is empty" in fail(*with_texts(command, "empty.txt", "south.txt"))
    assert "blank.txt: the file is empty" in fail(*with_texts(command, "north.txt", "blank.txt"))
    assert "latin.txt:1: not UTF-8" in fail(*with_texts(command, "latin.txt", "south.txt"))
    assert "nowhere.txt: no such file" in fail(*with_texts(command, "nowhere.txt", "south.txt"))
    assert "give two files, not 1; or one catalogue name" in fail(*with_texts(command, "north.txt"))
    assert "plain: no model here (no config.json)" in fail(*with_encoder(command, "plain"))
    assert "./nothing: no such folder" in fail(*with_encoder(command, "./nothing"))
    assert "layer: there is no layer 9; the encoder has layers 0 to 3" in fail(*command, "--layer", 9)
    assert "unknown choice of layers 'top'" in fail(*command, "--layer", "top")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((*EXTRACT, "--word-method", "psychic"), "unknown word alignment 'psychic'; choose one of: intersection"),
        ((*EXTRACT, "--set", "null"), "a setting must be key=value, not 'null'"),
        ((*EXTRACT, "--set", "nul=1"), "itermax has no setting 'nul'; did you mean 'null'?"),
        ((*EXTRACT, "--set", "null=high"), "null of itermax takes a number, not 'high'"),
        ((*EXTRACT, "--links", "links.pharaoh"), "--links needs --base; say whether its words count from 0 or from 1"),
        ((*EXTRACT, "--links", "links.pharaoh", "--base", 2), "'--base'"),
        ((*EXTRACT, "--links", "links.pharaoh", "--base", 1), "has a 0, but the file was said to be 1-based"),
        ((*EXTRACT, "--links", "none.pharaoh", "--base", 0), "none.pharaoh: no such file"),
        ((*EXTRACT, "--links", "test.gold", "--base", 1), "100 lines of word links for 400 sentences"),
        ((*EXTRACT, "--segmenter", "nonsense"), "unknown segmenter"),
        ((*EXTRACT, "--pooling", "max"), "pooling"),
        ((*EXTRACT[:-1], "north.txt"), "north.txt: is a file, not a folder"),
        ((*ALIGN, "-m", "procrustez"), "unknown method 'procrustez'; did you mean 'procrustes'?"),
        ((*ALIGN, "--set", "depth=3"), "depth"),
        ((*ALIGN, "--level", "page"), "'--level': 'page' is no choice; choose one of: sentence, word"),
        ((*ALIGN, "--word-method", "psychic"), "unknown word alignment 'psychic'"),
        ((*ALIGN, "--held-out", 400), "400 lines are held out, of 400 with text on both sides: none is left"),
        ((*ALIGN, "--limit", 10, "--held-out", 10), "10 lines are held out, of 10 with text on both sides"),
        ((*ALIGN, "--per-layer"), "a map for each layer needs several layers"),
        ((*ALIGN, "--preset", "joint-align"), "--preset: unknown preset 'joint-align'; did you mean 'joint-align-con"),
        ((*ALIGN, "--preset", "joint-align-contextual", "--layer", "last9"), "choose e.g. sum:all"),
        ((*with_texts(ALIGN, "xx=north.txt", "xx=south.txt"),), "two different languages"),
        ((*ALIGN, "--links", "links.pharaoh", "--base", 0), "--links has no effect with --level sentence"),
        ((*ALIGN, "--level", "word", "--links", "links.pharaoh"), "--links needs --base"),
        ((*WORDALIGN, "--word-method", "psychic"), "unknown word alignment 'psychic'"),
        ((*WORDALIGN, "--base", 2), "'--base'"),
        (("wordalign", *BOTH, "-o", "out"), "itermax compares vectors: it needs --encoder; or take a statistical one"),
        (("wordalign", *BOTH, "--word-method", "hmm", "--set", "null=0.4", "-o", "out"), "hmm has no setting 'null'"),
        (("wordalign", *BOTH, "--word-method", "hmm", "--set", "symmetrise=x", "-o", "out"), "symmetris"),
        ((*WORDALIGN[:-1], "north.txt/out"), "north.txt is not a folder"),
        ((*TATOEBA, "--score", "luck"), "'--score': 'luck' is no choice; choose one of: csls, cosine"),
        ((*TATOEBA, "--score", "euclidean"), "--score"),
        ((*TATOEBA, "--per-item", "north.txt/items"), "north.txt is not a folder"),
        (("evaluate", "cbli", "nowhere"), "nowhere: no such folder; give a folder written by"),
        (("evaluate", "cbli", "nowhere", "-m", "luck"), "unknown method 'luck'"),
        (("evaluate", "cbli", "x", "-m", "cca", "-a", "y"), "--alignment and --method exclude each other"),
        (
            ("evaluate", "word-alignment", "links.pharaoh", "test.gold", "--base", 0, "--gold-base", 1),
            "links of 400 sentences were found, but there is gold for 100",
        ),
        (
            ("evaluate", "word-alignment", "north.txt", "test.gold", "--base", 0, "--gold-base", 1),
            "north.txt:1: ",
        ),
        (("reproduce", "word-alignment", "nowhere", "--base", 1, "-e", "E"), "nowhere: no file NAME.src-tgt here"),
    ],
    ids=lambda value: " ".join(map(str, value[-4:])) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_bad_options_are_one_line(fail, args, message):
    assert message in fail(*args)


@pytest.mark.parametrize("command", [EXTRACT, (*ALIGN, "--level", "word")], ids=["extract", "align"])
def test_links_past_the_end_of_a_sentence_are_told_with_their_line(fail, here, parallel, command):
    shifted = here / "shifted.pharaoh"
    write_links(shifted, parallel.links[:TAUGHT], base=1)
    line = fail(*command, "--segmenter", "spaces", "--links", "shifted.pharaoh", "--base", 0)
    assert "shifted.pharaoh:" in line
    assert "points past sentences of" in line
    assert "is the file 1-based, or the text tokenised in another way?" in line


def test_folders_with_other_things_are_refused(fail, here):
    (here / "out").mkdir()
    (here / "out" / "thesis.tex").write_text("years of work")
    assert "out: this folder is not contextual pairs" in fail(*EXTRACT)
    assert "out: this folder is not an aligned encoder" in fail(*ALIGN)
    assert (here / "out" / "thesis.tex").read_text() == "years of work"


def test_an_aligned_encoder_is_not_aligned_again(fail, aligned):
    folder, _ = aligned
    for command in (EXTRACT, ALIGN):
        line = fail(*with_encoder(command, folder))
        assert f"is aligned already; name the encoder in it: {folder / 'encoder'}" in line
    assert "knows no 'src'; choose lang 'north' or 'south'" in fail(*with_encoder(TATOEBA, folder))


def test_bad_gold_folders_are_one_line(fail, here, gold_folder, parallel):
    command = ("reproduce", "word-alignment", "gold", "-e", "E", "--no-align", "-o", "out", "--base")
    line = fail(*command, 0)
    assert "nosu:" in line
    assert "is the file 1-based" in line
    (gold_folder / "nosu.gold").unlink()
    assert "nosu.gold: no such file" in fail(*command, 1)
    (gold_folder / "nosu.src-tgt").write_text("a b\n", "utf-8")
    assert "nosu.src-tgt:1: no ||| between source and target" in fail(*command, 1)


@pytest.mark.parametrize(
    "command",
    [["encoder", "extract"], ["encoder", "align"], ["wordalign"], ["evaluate", "tatoeba"], ["evaluate", "cbli"],
     ["evaluate", "word-alignment"], ["evaluate", "rfeval"], ["reproduce", "contextual"],
     ["reproduce", "word-alignment"], ["reproduce", "rfeval"]],
    ids=" ".join,
)  # fmt: skip
def test_help_has_examples(run, command):
    assert f"isoglot {' '.join(command)}" in run(*command, "--help").stdout.split("Examples")[1]


@pytest.mark.parametrize("command", ["extract", "align"])
def test_a_dry_run_tells_the_cost_and_writes_nothing(run, here, command):
    done = run("encoder", command, *NAMED, "--encoder", "E", "--dry-run", "-o", "out")
    assert "800 sentences" in done.stdout
    assert "minutes to encode here" in done.stdout
    assert not (here / "out").exists()


def test_an_aligned_folder_takes_no_other_layer(run, fail):
    run("encoder", "align", *NAMED, "--encoder", "E", "-o", "aligned")
    said = fail("evaluate", "tatoeba", *TESTED, "--encoder", "aligned", "--layer", "1")
    assert "--layer has no effect with the aligned encoder" in said
