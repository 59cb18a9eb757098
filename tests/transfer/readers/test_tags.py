"""Files of tagged words: CoNLL, PAN-X, WikiANN and CoNLL-U."""

from __future__ import annotations

import gzip
import lzma

import pytest

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.text import LabelledSentence
from isoglot.transfer import read_examples, read_tags

NAMES = [
    LabelledSentence(["Ada", "Lovelace", "sleeps"], ["B-PER", "I-PER", "O"]),
    LabelledSentence(["re:", "Paris"], ["O", "B-LOC"]),
]
PANX = "Ada\tB-PER\nLovelace\tI-PER\nsleeps\tO\n\nre:\tO\nParis\tB-LOC\n"
CONLLU = """# sent_id = 1
# text = Vámonos al mar.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\t_
5.1\tmar\tmar\tNOUN\t_\t_\t_\t_\t_\t_
6\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_

"""


def write(tmp_path, text, name="x.txt"):
    pack = {"gz": gzip.compress, "xz": lzma.compress}.get(name.rpartition(".")[2], bytes)
    path = tmp_path / name
    path.write_bytes(pack(text.encode("utf-8")))
    return path


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz", "x.tsv.xz"])
@pytest.mark.parametrize(
    "text",
    [
        PANX,
        "-DOCSTART- -X- O\n\n" + PANX.replace("\t", " NN "),
        "".join(f"en:{line}\n" if line else "\n" for line in PANX.splitlines()),
    ],
    ids=["panx", "conll", "wikiann"],
)
def test_names(tmp_path, text, name):
    assert read_tags(write(tmp_path, text, name), "ner") == NAMES


def test_a_word_that_is_nothing_but_the_prefix_keeps_its_place(tmp_path):
    (sentence,) = read_tags(write(tmp_path, "en:Ada\tB-PER\nen:\tO\n"), "ner")
    assert (sentence.words, sentence.labels) == (("Ada", "en:"), ("B-PER", "O"))


@pytest.mark.parametrize("name", ["x.conllu", "x.conllu.xz"])
def test_parts_of_speech(tmp_path, name):
    (sentence,) = read_tags(write(tmp_path, CONLLU, name), "pos")
    assert sentence.words == ("Vamos", "nos", "a", "el", "mar", ".")
    assert sentence.labels == ("VERB", "PRON", "ADP", "DET", "NOUN", "PUNCT")
    assert read_tags(write(tmp_path, "Ada\tPROPN\nsleeps\tVERB\n"), "pos")[0].labels == ("PROPN", "VERB")


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("ner", PANX + "x\tNOUN\n", r"x\.txt:7: 'NOUN' is no label of names"),
        ("ner", PANX + "x\tB-LOC\textra\n", r"x\.txt:7: 3 columns"),
        ("ner", PANX + "\nx\n", r"x\.txt:8: "),
        ("pos", CONLLU.replace("NOUN", "NN"), r"x\.txt:9: 'NN' is no universal part of speech"),
        ("pos", CONLLU.replace("PUNCT", "_"), r"x\.txt:11: the part of speech is missing"),
        ("pos", PANX, r"x\.txt:1: 'B-PER' is no universal part of speech"),
        ("pos", "# only = comments\n", "holds no labelled words"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, kind, text, message):
    with pytest.raises(FormatError, match=message):
        read_tags(write(tmp_path, text), kind)


@pytest.mark.parametrize("task", ["nli", "ner", "pos", "qa"])
def test_empty_and_missing_files_are_errors(tmp_path, task):
    for path in (write(tmp_path, ""), tmp_path / "none.tsv"):
        with pytest.raises(InputError, match=path.name):
            read_examples(task, path)


def test_tasks_are_known_by_name(tmp_path):
    assert read_examples("ner", write(tmp_path, PANX)) == NAMES
    with pytest.raises(ConfigError, match="nre"):
        read_examples("nre", tmp_path)
