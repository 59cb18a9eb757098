"""Files of judged word pairs as they are handed out, broken ones, and the sets that gensim brings."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from isoglot.errors import ConfigError, FormatError, InputError, MissingExtraError
from isoglot.tasks import WordPair, read_similarity, similarity_set

PAIRS = [("tiger", "cat", 7.35), ("New York", "big_apple", 9.0), ("Straße", "C", -0.5)]
ROWS = [f"{a}\t{b}\t{score}" for a, b, score in PAIRS]
SIMLEX = [
    "word1\tword2\tPOS\tSimLex999\tconc(w1)\tAssoc(USF)",
    *(f"{a}\t{b}\tN\t{s}\t2.72\t{i}" for i, (a, b, s) in enumerate(PAIRS)),
]


def plain(pairs: list[WordPair]) -> list[tuple[str, str, float]]:
    return [(pair.word1, pair.word2, pair.score) for pair in pairs]


@pytest.mark.parametrize(
    "lines",
    [
        ROWS,
        ["# The WordSimilarity-353 Test Collection", "# Word 1\tWord 2\tHuman (mean)", *ROWS, ""],
        ["Word 1\tWord 2\tHuman (mean)", *ROWS],
        ["Word 1,Word 2,Human (mean),1,2", *(row.replace("\t", ",") + ",3,4" for row in ROWS)],
        ["w1,w2,how close", "", *('"{}","{}",{}'.format(*pair) for pair in PAIRS)],
        [row.replace("\t", " \t ") + "\t1\t2\t3" for row in ROWS],
        SIMLEX,
        ["\ufeff" + SIMLEX[0], *(line + "\r" for line in SIMLEX[1:])],
    ],
    ids=["bare", "comments", "heading", "commas", "quoted", "more columns", "simlex", "windows"],
)
def test_the_ways_pairs_are_written(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_bytes("\n".join(lines).encode())
    found = read_similarity(path)
    assert plain(found) == PAIRS
    # The line each pair stands on.
    assert all(pair.id is not None and pair.word1 in lines[int(pair.id) - 1] for pair in found)
    packed = tmp_path / "pairs.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_similarity(str(packed)) == found


def test_blanks_separate_where_nothing_else_does(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("tiger cat 7.35\nice_cream  snow 3\n")
    assert plain(read_similarity(tmp_path / "a")) == [("tiger", "cat", 7.35), ("ice_cream", "snow", 3)]


def test_another_column_by_its_heading(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\n".join(SIMLEX))
    assert [pair.score for pair in read_similarity(tmp_path / "a", column="assoc(usf)")] == [0, 1, 2]


def test_words_that_look_like_a_heading_are_a_pair_if_they_have_a_score(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("word\tterm\t3\nphrase\tword\t2\n")
    assert plain(read_similarity(tmp_path / "a")) == [("word", "term", 3), ("phrase", "word", 2)]


def test_semeval_keeps_words_and_scores_in_two_files(tmp_path: Path) -> None:
    data, gold = tmp_path / "en-de.test.data.txt", tmp_path / "en-de.test.gold.txt"
    data.write_text("Si-o-se-pol\tLord of the Rings\n#1\tHerr_der_Ringe\n\n", "utf-8")
    gold.write_text("2.5\n 4 \n\n")
    found = read_similarity(data, gold)
    assert found == [WordPair("Si-o-se-pol", "Lord of the Rings", 2.5, "1"), WordPair("#1", "Herr_der_Ringe", 4, "2")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a: the file is empty"),
        ("# only\n# comments\n", "a: comments, but no pairs"),
        ("word1\tword2\tscore\n", "a: a heading, but no pairs"),
        ("tiger\tcat\n", r"a:1: two words, but no score; give the file of their scores, too \(gold\)"),
        ("tiger\tcat\t1\n\ncat\n", "a:3: 1 columns, expected at least 3; separate words and score by tabs"),
        ("tiger\tcat\t1\ncat\tdog\thigh\n", "a:2: 'high' is no score; a line has two words and a number"),
        ("tiger\tcat\tseven\ncat\tdog\t2\n", "a:1: 'seven' is no score"),
        ("old\tnew\tA\t1.58\n", "a:1: 'A' is no score"),
        ("tiger\tcat\tnan\n", "a:1: 'nan' is no score"),
        ("tiger\t\t1\n", "a:1: a word is missing"),
        ('"tiger,cat,1\n', "a:1: broken quotation marks"),
        (
            "word1\tword2\tPOS\tfirst\tsecond\nold\tnew\tA\t1\t2\n",
            "a:1: no column of scores.*one of POS, first, second",
        ),
        ("<html><body>not found</body></html>", "a:1: this is an HTML"),
        ("old new\tgreat\t1\n\0\n", "a:2: binary data"),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_similarity(tmp_path / "a")


@pytest.mark.parametrize(
    ("data", "gold", "message"),
    [
        ("a\tb\nc\td\n", "1\n", "gold:2: no score for the pair at .*data:2"),
        ("a\tb\n", "1\n2\n", "gold:2: 2 scores for 1 pairs"),
        ("a\tb\n\nc\td\n", "1\n2\n", "gold:3: no score"),
        ("a\tb\nc\td\n", "1\n1,5\n", "gold:2: '1,5' is no score"),
        ("a\tb\t3\n", "1\n", "data:1: 3 columns, expected two words; leave the file of scores out"),
        ("ab\n", "1\n", "data:1: one column, expected two words"),
        ("a\tb\n", "", "gold: the file is empty"),
    ],
)
def test_two_files_must_go_together(data: str, gold: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text(data)
    (tmp_path / "gold").write_text(gold)
    with pytest.raises(FormatError, match=message):
        read_similarity(tmp_path / "data", tmp_path / "gold")


def test_what_does_not_fit_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\n".join(ROWS))
    (tmp_path / "b").write_text("\n".join(SIMLEX))
    with pytest.raises(InputError, match="nowhere: no such file"):
        read_similarity(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="a:1: no heading, so no column 'x'"):
        read_similarity(tmp_path / "a", column="x")
    with pytest.raises(FormatError, match="b:1: no column 'x'; name the column: one of POS, SimLex999"):
        read_similarity(tmp_path / "b", column="x")
    with pytest.raises(ConfigError, match="give gold or column, not both"):
        read_similarity(tmp_path / "a", tmp_path / "a", column="x")


def test_the_sets_that_gensim_brings() -> None:
    simlex, wordsim = similarity_set("simlex-999"), similarity_set("wordsim-353")
    assert (len(simlex), len(wordsim)) == (999, 353)
    assert plain(simlex)[:2] == [("old", "new", 1.58), ("smart", "intelligent", 9.2)]
    assert ("tiger", "tiger", 10.0) in plain(wordsim)
    assert all(0 <= pair.score <= 10 for pair in simlex + wordsim)


def test_a_set_is_found_without_importing_gensim() -> None:
    code = (
        "import sys; from isoglot.tasks import similarity_set; similarity_set('simlex-999'); "
        "sys.exit('gensim' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_sets_and_no_gensim(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown similarity set 'simlex999'; did you mean 'simlex-999'"):
        similarity_set("simlex999")
    with pytest.raises(ConfigError, match="choose one of: simlex-999, wordsim-353"):
        similarity_set("men")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"the set simlex-999 needs gensim.*\[gensim\]'$"):
        similarity_set("simlex-999")
    bare = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: bare)
    with pytest.raises(
        InputError, match=r"without wordsim353\.tsv; get it with: isoglot data get similarity/wordsim353"
    ):
        similarity_set("wordsim-353")
