"""The program as a user meets it: the main job from files to a dictionary, JSON, help, and mistakes."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from isoglot.errors import FormatError, InputError
from isoglot.lexicons import Lexicon
from isoglot.spaces import Space

COMMANDS = [
    ["align"], ["translate"], ["lexicon"], ["evaluate", "bli"], ["info"], ["convert"], ["export"], ["methods"],
    ["data", "list"], ["data", "get"], ["data", "path"], ["demo"],
]  # fmt: skip


def only_json(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_has_examples(isoglot, words):
    done = isoglot(*words, "--help")
    assert done.returncode == 0
    assert f"isoglot {' '.join(words)}" in done.stdout.split("Examples")[1] or words == ["data", "path"]


def test_align_leaves_a_readable_folder_with_figures(aligned):
    content = json.loads((aligned / "isoglot.json").read_text("utf-8"))
    assert content["languages"] == ["north", "south"]
    assert content["info"]["method"] == "auto"
    assert content["info"]["auto"]["pin"].startswith("-m ")
    assert content["info"]["results"][0]["metric"] == "P@1"
    assert content["info"]["results"][0]["value"] > 0.8
    assert (aligned / "spaces" / "north.safetensors").is_file()
    assert (aligned / "alignments" / "north-south" / "config.json").is_file()
    assert (aligned / "neighbourhoods.safetensors").is_file()


def test_align_json_is_one_document(isoglot, languages, tmp_path):
    done = isoglot(
        "align", "north.vec", "south.vec", "-l", "north-south.txt", "-m", "least-squares", "--set", "ridge=0.5",
        "--held-out", 100, "--pairs", 200, "-o", tmp_path / "out", "--json", cwd=languages,
    )  # fmt: skip
    document = only_json(done)
    assert document["settings"]["ridge"] == 0.5
    first = document["results"][0]
    assert {"task", "metric", "value", "n", "coverage", "protocol", "interval"} <= set(first)
    assert first["n"] == 100
    assert first["interval"][0] <= first["value"] <= first["interval"][1]
    assert {result["protocol"]["denominator"] for result in document["results"]} == {"in-vocabulary", "full"}


def test_the_same_command_gives_the_same_vectors(isoglot, languages, tmp_path, aligned):
    done = isoglot(
        "align", "north=north.vec", "south=south.vec", "-l", "north-south.txt", "-o", tmp_path / "again", cwd=languages,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("north", "south"):
        first, second = (
            Space.load(folder / "spaces" / f"{name}.safetensors") for folder in (aligned, tmp_path / "again")
        )
        np.testing.assert_array_equal(first.vectors, second.vectors)


def test_translate_from_arguments_and_standard_input(isoglot, aligned, languages):
    lexicon = Lexicon.load(languages / "north-south.txt")
    words = list(lexicon.by_source)[:20]
    answers = only_json(isoglot("translate", aligned, *words, "--json", "-k", 3))
    assert [answer["word"] for answer in answers] == words
    right = sum(answer["candidates"][0]["word"] in lexicon.by_source[answer["word"]] for answer in answers)
    assert right >= 16
    assert all(len(answer["candidates"]) == 3 for answer in answers)
    piped = only_json(isoglot("translate", aligned, "--json", "-k", 3, stdin="\n".join(words) + "\n\n"))
    assert piped == answers
    shown = isoglot("translate", aligned, words[0])
    assert answers[0]["candidates"][0]["word"] in shown.stdout


def test_translate_the_other_way_and_unknown_words(isoglot, aligned, languages):
    inverse = Lexicon.load(languages / "north-south.txt").invert()
    word = next(iter(inverse.by_source))
    answer = only_json(isoglot("translate", aligned, "--from", "south", word, "--json"))[0]
    assert (answer["source"], answer["target"]) == ("south", "north")
    mixed = isoglot("translate", aligned, "--from", "south", word, "xyzzyx")
    assert mixed.returncode == 0
    assert "xyzzyx" in mixed.stderr
    assert "it is a word of south: use --from south" in isoglot("translate", aligned, word).stderr
    own = max(Lexicon.load(languages / "north-south.txt").by_source, key=len)
    assert "word by word" in isoglot("translate", aligned, f"{own} {own}").stdout
    assert only_json(isoglot("translate", aligned, f"{own} {own}", "--json"))[0]["parts"][0]["word"] == own
    assert f"similar words: {own}" in isoglot("translate", aligned, f"{own}q").stderr
    alone = isoglot("translate", aligned, "xyzzyx")
    assert alone.returncode == 1
    assert isoglot("translate", aligned).returncode == 2
    assert isoglot("translate", aligned, "--from", "klingon", word).returncode == 2


def test_induced_lexicon(isoglot, aligned, languages, tmp_path):
    gold = Lexicon.load(languages / "north-south.txt")
    everything, mutual = tmp_path / "all.tsv", tmp_path / "mutual.tsv"
    document = only_json(isoglot("lexicon", aligned, "-o", everything, "--json"))
    assert document["pairs"] == 900
    assert isoglot("lexicon", aligned, "-o", mutual, "--mutual", "--min-confidence", "0.3").returncode == 0
    few, many = Lexicon.load(mutual), Lexicon.load(everything)
    assert set(few.pairs) < set(many.pairs)

    def precision(lexicon):
        asked = [(s, t) for s, t in lexicon.pairs if s in gold.by_source]
        return sum(t in gold.by_source[s] for s, t in asked) / len(asked)

    assert precision(few) > precision(many) > 0.6
    head, *lines = (line.split("\t") for line in everything.read_text("utf-8").splitlines())
    assert head == ["source", "target", "confidence", "score", "mutual"]
    assert all(source and target and 0 < float(confidence) <= 1 for source, target, confidence, *_ in lines)


def test_dictionaries_of_both_directions_and_other_formats(isoglot, aligned, languages, tmp_path):
    run = isoglot("lexicon", aligned, "-o", tmp_path / "d.ifo", "--both", "-k", "2", "--limit", "50", "--json")
    document = only_json(run)
    assert (document["source"], document["back"]["source"]) == ("north", "south")
    assert document["calibration"]["words"] > 0
    names = {f"d.{pair}.{ending}" for pair in ("north-south", "south-north") for ending in ("ifo", "idx", "dict")}
    assert names == {file.name for file in tmp_path.iterdir()}
    # What was learned from does not calibrate, so without held-out pairs nothing is claimed.
    options = ["align", "north=north.vec", "south=south.vec", "-l", "north-south.txt", "-m", "procrustes"]
    assert isoglot(*options, "--held-out", "0", "-o", tmp_path / "all", cwd=languages).returncode == 0
    done = isoglot("lexicon", tmp_path / "all", "-o", tmp_path / "d.csv", "--limit", "20")
    assert "not calibrated" in done.stderr
    assert (tmp_path / "d.csv").read_text("utf-8").startswith("source,target,uncalibrated,score,mutual\n")
    test = ["--test", languages / "north-south.txt", "--limit", "20"]
    assert only_json(isoglot("lexicon", tmp_path / "all", "-o", tmp_path / "d.tmx", *test, "--json"))["calibration"]
    wrong = isoglot("lexicon", aligned, "-o", tmp_path / "d.tsv", "--skip", "number")
    assert (wrong.returncode, "did you mean 'numerals'" in wrong.stderr) == (2, True)
    vectors = isoglot("lexicon", aligned, "-o", tmp_path / "d.tsv", "--format", "glove")
    assert (vectors.returncode, "unknown format of dictionaries 'glove'" in vectors.stderr) == (2, True)
    assert isoglot("convert", languages / "north.vec", "-o", tmp_path / "v", "--format", "tmx").returncode == 2


def test_evaluate_and_compare(isoglot, aligned, languages, tmp_path):
    done = isoglot("align", "north=north.vec", "south=south.vec", "-m", "identity", "-l", "north-south.txt",
                   "-o", tmp_path / "raw", cwd=languages)  # fmt: skip
    assert done.returncode == 0, done.stderr
    per_word = tmp_path / "words.jsonl"
    document = only_json(
        isoglot("evaluate", "bli", aligned, "--test", languages / "north-south.txt", "--against", tmp_path / "raw",
                "--per-item", per_word, "--json")
    )  # fmt: skip
    assert document["results"][0]["value"] > document["against"]["results"][0]["value"]
    assert document["against"]["paired_test"]["p_value"] < 0.01
    assert len(per_word.read_text("utf-8").splitlines()) == document["results"][0]["n"]
    removed = only_json(
        isoglot("evaluate", "bli", aligned, "--test", languages / "north-south.txt", "--without-identical", "--json")
    )
    assert removed["results"][0]["n"] < document["results"][0]["n"]
    assert isoglot("evaluate", "bli", aligned, "--test", languages / "north-south.txt").stdout.count("P@1, csls") == 1


def test_info_convert_export(isoglot, aligned, languages, tmp_path):
    assert only_json(isoglot("info", languages / "north.vec", "--json"))["words"] == 900
    assert only_json(isoglot("info", languages / "north-south.txt", "--json"))["kind"] == "lexicon"
    assert only_json(isoglot("info", aligned, "--json"))["kind"] == "aligned spaces"
    assert "dimensions" in isoglot("info", languages / "north.vec").stdout
    shown = isoglot("info", aligned).stdout
    assert "settings: normalise" in shown
    assert "Measured when it was made" in shown
    assert r"\n" not in shown
    done = isoglot(
        "convert", languages / "north.vec", "-o", tmp_path / "n.safetensors", "--limit", 100, "--normalise", "unit"
    )
    assert done.returncode == 0, done.stderr
    small = Space.load(tmp_path / "n.safetensors")
    assert len(small) == 100
    np.testing.assert_allclose(np.linalg.norm(small.vectors, axis=1), 1, atol=1e-5)
    mapped = Space.load(aligned / "spaces" / "south.safetensors")
    for kind, ending in (("text", "vec"), ("binary", "bin"), ("kv", "kv")):
        document = only_json(isoglot("export", aligned, "-o", tmp_path / kind, "-f", kind, "--json"))
        assert len(document["written"]) == 2
        back = Space.load(tmp_path / kind / f"south.{ending}")
        assert back.words == mapped.words
        np.testing.assert_allclose(back.vectors, mapped.vectors, atol=1e-5)
    assert isoglot("export", aligned, "-o", tmp_path / "model", "-f", "static-model").returncode == 0
    assert (tmp_path / "model" / "modules.json").is_file()


def test_methods(isoglot):
    assert "procrustes" in isoglot("methods").stdout
    assert "ridge" in isoglot("methods", "least-squares").stdout
    rows = only_json(isoglot("methods", "--json"))
    assert {"cca", "gbdd", "identity", "least-squares", "normalization", "procrustes"} <= {row["name"] for row in rows}


def test_data_commands_without_a_network(isoglot):
    assert any(row["name"] == "vectors/fr" for row in only_json(isoglot("data", "list", "--json")))
    assert isoglot("data", "path", "vectors/fr").returncode == 2
    assert isoglot("data", "get", "vectors/klingon").returncode == 2


@pytest.fixture
def mistakes(languages, tmp_path):
    (tmp_path / "empty.vec").write_text("")
    (tmp_path / "page.vec").write_text("<!DOCTYPE html>\n<html><body>404 not found</body></html>\n")
    narrow = Space.load(languages / "south.vec")
    narrow.with_vectors(narrow.vectors[:, :10]).save(tmp_path / "narrow.vec")
    (tmp_path / "other.txt").write_text("".join(f"qqq{i} www{i}\n" for i in range(30)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("precious")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.vec", "{L}/south.vec", "-l", "{L}/north-south.txt"], "no such file"),
        (["empty.vec", "{L}/south.vec", "-l", "{L}/north-south.txt"], "empty"),
        (["page.vec", "{L}/south.vec", "-l", "{L}/north-south.txt"], "web page"),
        (["{L}/north.vec", "narrow.vec", "-l", "{L}/north-south.txt"], "dimensions"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "other.txt"], "pairs"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "missing.txt"], "no such file"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "empty.vec"], "empty"),
        (["{L}/north.vec", "{L}/south.vec", "-m", "procrustes"], "--lexicon"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "{L}/north-south.txt", "-m", "procrustis"], "did you mean"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "{L}/north-south.txt", "--set", "seeed=3"], "did you mean"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "{L}/north-south.txt", "--set", "seed=x"], "takes int"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "{L}/north-south.txt", "--normalise", "center"], "did you mean"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "{L}/north-south.txt", "--score", "cosin"], "did you mean"),
        (["{L}/north.vec", "{L}/south.vec", "-l", "{L}/north-south.txt", "--pairs", "9999", "--held-out", "5"], "only"),
        (["folder", "{L}/south.vec", "-l", "{L}/north-south.txt"], "folder"),
    ],
)
def test_mistakes_are_one_line_exit_2_and_nothing_written(isoglot, mistakes, languages, arguments, said):
    before = sorted(mistakes.rglob("*"))
    done = isoglot("align", *(a.replace("{L}", str(languages)) for a in arguments), "-o", "out", cwd=mistakes)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note:")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("isoglot: ")
    assert said in lines[0]
    assert done.stdout == ""
    assert sorted(mistakes.rglob("*")) == before


def test_an_output_folder_with_other_things_is_left_alone(isoglot, mistakes, languages):
    done = isoglot(
        "align", languages / "north.vec", languages / "south.vec", "-l", languages / "north-south.txt", "-o", "folder",
        cwd=mistakes,
    )  # fmt: skip
    assert done.returncode == 2
    assert "will not be overwritten" in done.stderr
    assert (mistakes / "folder" / "thesis.tex").read_text() == "precious"


def test_a_folder_that_is_no_alignment(isoglot, mistakes):
    for command in (["translate", "folder", "x"], ["lexicon", "folder", "-o", "d"], ["export", "folder", "-o", "e"]):
        done = isoglot(*command, cwd=mistakes)
        assert done.returncode == 2
        assert "isoglot align" in done.stderr
    damaged = mistakes / "bad"
    damaged.mkdir()
    (damaged / "isoglot.json").write_text("{")
    assert isoglot("translate", "bad", "x", cwd=mistakes).returncode == 2


def test_words_on_standard_input_are_lines_of_utf8(monkeypatch):
    from isoglot.cli import streams

    def given(data):
        stream = io.TextIOWrapper(io.BytesIO(data))
        monkeypatch.setattr("sys.stdin", stream)
        return streams.standard_input_lines()

    assert given("\ufeffun\r\n\ndeux\u2028trois\n".encode()) == ["un", "deux\u2028trois"]
    with pytest.raises(FormatError, match=r"standard input:2: not UTF-8 text \(byte 0xFF\)"):
        given(b"un\n\xff\n")
    monkeypatch.setattr(streams, "_MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match="holds more than 1 MB"):
        given(b"a\n" * (1 << 20))


def test_a_seed_below_zero(isoglot, tmp_path):
    done = isoglot("simulate", "--seed", "-1", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
