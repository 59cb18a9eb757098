"""CoNLL files: what is read and skipped, writing and reading again, and errors with their line."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.text import LabelledSentence, read_conll, write_conll

NAMES = [
    LabelledSentence(["Ada", "Lovelace", "sleeps"], ["B-PER", "I-PER", "O"]),
    LabelledSentence(["#", "Paris"], ["O", "B-LOC"]),
]


def read(tmp_path: Path, text: str | bytes, **settings) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    path = tmp_path / "x.conll"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return [(one.words, one.labels) for one in read_conll(path, **settings)]


def test_the_2003_format(tmp_path):
    text = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

Peter NNP B-NP B-PER


-DOCSTART- -X- -X- O
BRUSSELS NNP B-NP B-LOC
"""
    assert read(tmp_path, text) == [
        (("EU", "rejects"), ("B-ORG", "O")),
        (("Peter",), ("B-PER",)),
        (("BRUSSELS",), ("B-LOC",)),
    ]
    assert read(tmp_path, text, column=1)[0] == (("EU", "rejects"), ("NNP", "VBZ"))
    assert [one.line for one in read_conll(tmp_path / "x.conll")] == [3, 6, 10]


def test_universal_dependencies(tmp_path):
    rows = [
        "# sent_id = 1",
        "# text = du chat\tet",
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_",
        "2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_",
        "2.1\t(va)\taller\tVERB\t_\t_\t_\t_\t_\t_",
        "3\t10 000\tchat\tNUM\t_\t_\t0\troot\t_\t_",
    ]
    assert read(tmp_path, "\n".join(rows), column=3, word_column=1) == [(("de", "le", "10 000"), ("ADP", "DET", "NUM"))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# a comment\nx O\n", ["x"]),
        ("# comment\nx O\n", ["x"]),
        ("#\nx O\n", ["x"]),
        ("# id 17\tdomain=en\nx\tO\n", ["x"]),
        ("x O\n# an aside\ny O\n", ["x", "y"]),
        ("# O\nx O\n", ["#", "x"]),
        ("x O\n# SYM\n", ["x", "#"]),
        ("#\tSYM\n#tag\tX\nx\tO\n", ["#", "#tag", "x"]),
        ("#tag O\nx O\n", ["#tag", "x"]),
    ],
)
def test_a_hash_is_a_comment_or_a_word(tmp_path, text, words):
    assert [list(found) for found, _ in read(tmp_path, text)] == [words]


def test_blanks_at_the_end_and_windows_lines_do_not_matter(tmp_path):
    assert read(tmp_path, "a\tO \t\r\nb\tO\r\n  \r\nc\tO") == [(("a", "b"), ("O", "O")), (("c",), ("O",))]
    assert read(tmp_path, "10\u00a0000 O\n") == [(("10\u00a0000",), ("O",))]


def test_the_prefix_of_wikiann(tmp_path):
    text = "zh-min-nan:a:b\tB-LOC\nzh-min-nan:http://x\tO\n"
    assert read(tmp_path, text, strip_prefix=True) == [(("a:b", "http://x"), ("B-LOC", "O"))]
    assert read(tmp_path, text)[0][0][0] == "zh-min-nan:a:b"
    with pytest.raises(FormatError, match=r"x\.conll:2: 'fr:b' does not begin with 'en:'.*strip_prefix"):
        read(tmp_path, "en:a O\nfr:b O\n", strip_prefix=True)
    with pytest.raises(FormatError, match=r"x\.conll:1: 'a' has no prefix"):
        read(tmp_path, "a O\n", strip_prefix=True)


@pytest.mark.parametrize(
    ("text", "settings", "said"),
    [
        ("a O\nb\n", {}, r"x\.conll:2: 1 columns, but the sentence begins with 2"),
        ("a O\nNew York O\n", {}, r"x\.conll:2: 3 columns"),
        ("a\nb\n", {}, r"x\.conll:1: word and label would be the same column"),
        ("a O\n\nb O\n", {"column": 3}, r"x\.conll:1: no column 3: the line has 2"),
        ("a O\n\nb O\n", {"column": -3}, r"x\.conll:1: no column -3"),
        ("a O X\n", {"word_column": 5}, r"x\.conll:1: no column 5"),
        ("a\tO\n\tO\n", {}, r"x\.conll:2: the word is empty"),
        ("a\t\tO\n", {"column": 1}, r"x\.conll:1: the label is empty"),
        ("en: O\n", {"strip_prefix": True}, r"x\.conll:1: the word is empty"),
        (b"a O\n\ncaf\xe9 O\n", {}, r"x\.conll:3: not UTF-8 text \(byte 0xE9\); save it as UTF-8"),
        ("# nothing else\n\n", {}, r"x\.conll: holds no labelled words"),
        ("\n\n", {}, r"x\.conll: the file is empty"),
        (b"a O\nb\0 O\n", {}, r"x\.conll:2: binary"),
    ],
)
def test_errors_name_the_line(tmp_path, text, settings, said):
    with pytest.raises(FormatError, match=said):
        read(tmp_path, text, **settings)


def test_settings_and_sentences_that_make_no_sense(tmp_path):
    with pytest.raises(ConfigError, match="both be column 0"):
        read(tmp_path, "a O\n", column=0)
    with pytest.raises(InputError, match="no such file"):
        read_conll(tmp_path / "missing.conll")
    with pytest.raises(InputError, match="2 words but 1 labels"):
        LabelledSentence(["a", "b"], ["O"])
    with pytest.raises(InputError, match="not one string"):
        LabelledSentence("ab", ["O", "O"])


@pytest.mark.parametrize("name", ["x.conll", "x.conll.gz", "x.conll.xz"])
def test_writing_and_reading(tmp_path, name):
    write_conll(tmp_path / name, NAMES)
    assert read_conll(tmp_path / name) == NAMES
    if name.endswith(".gz"):
        text = gzip.decompress((tmp_path / name).read_bytes()).decode()
        assert text == "Ada\tB-PER\nLovelace\tI-PER\nsleeps\tO\n\n#\tO\nParis\tB-LOC\n\n"


@pytest.mark.parametrize("word", ["", "a\tb", "a\nb", " a", "-DOCSTART-", "# a", "\ufeffa", "a\0"])
def test_what_could_not_be_read_again_is_not_written(tmp_path, word):
    path = tmp_path / "x.conll"
    with pytest.raises(InputError, match=r"x\.conll: sentence 2: the word .* cannot be written"):
        write_conll(path, [NAMES[0], LabelledSentence([word], ["O"])])
    with pytest.raises(InputError, match="sentence 1 has no words"):
        write_conll(path, [LabelledSentence([], [])])
    assert not list(tmp_path.iterdir())


@given(st.lists(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4), min_size=1, max_size=4))
def test_all_that_is_written_is_read_again(rows):
    sentences = [LabelledSentence([word for word, _ in row], [label for _, label in row]) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.conll"
        try:
            write_conll(path, sentences)
        except InputError:
            assert not path.exists()
        else:
            assert read_conll(path) == sentences
