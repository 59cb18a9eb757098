"""Files of inference: with and without a heading, packed, and what is wrong with them, by line."""

from __future__ import annotations

import lzma

import pytest

from isoglot.errors import FormatError, InputError
from isoglot.transfer import PairExample, read_nli

PAIRS = [PairExample("He sleeps.", 'He is "awake".', "contradiction"), PairExample("Er schläft.", "Er.", "neutral")]
XNLI = 'He sleeps.\tHe is "awake".\tcontradiction\nEr schläft.\tEr.\tneutral\n'


def write(tmp_path, text, name="x.tsv"):
    path = tmp_path / name
    data = text.encode("utf-8")
    path.write_bytes(lzma.compress(data) if name.endswith(".xz") else data)
    return path


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.xz"])
@pytest.mark.parametrize(
    "text",
    [
        XNLI,
        "\ufeff" + XNLI.replace("\n", "\r\n"),
        XNLI.replace("\n", "\n\n"),
        "premise\thypo\tlabel\n" + XNLI.replace("contradiction", "contradictory"),
        'pair_ID\tsentence_A\tsentence_B\tentailment_label\tscore\n1\tHe sleeps.\tHe is "awake".\tCONTRADICTION\t2'
        "\n2\tEr schläft.\tEr.\tNEUTRAL\t3\n",
        "gold_label\tid\tsentence1\tsentence2\n-\t0\tWho\tknows\ncontradiction\t1\tHe sleeps.\tHe is \"awake\".\n"
        "neutral\t2\tEr schläft.\tEr.\n",
    ],
    ids=["plain", "windows", "blank-lines", "heading", "sick", "multinli"],
)  # fmt: skip
def test_all_forms_are_read(tmp_path, text, name):
    assert read_nli(write(tmp_path, text, name)) == PAIRS


def test_a_file_of_several_languages_is_read_by_language(tmp_path):
    path = write(tmp_path, "language\tgold_label\tsentence1\tsentence2\nde\tneutral\tA\tB\nen\tentailment\tC\tD\n")
    assert read_nli(path, language="en") == [PairExample("C", "D", "entailment")]
    with pytest.raises(FormatError, match=r"several languages.*de, en"):
        read_nli(path)
    with pytest.raises(FormatError, match="no pairs"):
        read_nli(path, language="fr")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (XNLI + "two\tcolumns\n", r"x\.tsv:3: 2 columns, not 3"),
        (XNLI + "a\tb\tc\tneutral\n", r"x\.tsv:3: 4 columns, not 3"),
        (XNLI + "a\tb\tmaybe\n", r"x\.tsv:3: the label 'maybe' is not one of entailment"),
        ("\n" + XNLI + "a\t\tneutral\n", r"x\.tsv:4: the hypothesis is empty"),
        (" \tb\tneutral\n", r"x\.tsv:1: the premise is empty"),
        ("premise\thypothesis\tx\na\tb\tneutral\n", r"x\.tsv:1: the heading has no column label"),
        ("premise\thypothesis\tlabel\na\tb\n", r"x\.tsv:2: 2 columns, not 3 or more"),
        ("premise\thypothesis\tlabel\n", "holds no pairs"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, text, message):
    with pytest.raises(FormatError, match=message):
        read_nli(write(tmp_path, text))


def test_an_empty_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"x\.tsv"):
        read_nli(write(tmp_path, ""))
