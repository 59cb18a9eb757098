"""The WMT reader on a small copy of the layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.errors import FormatError, InputError
from isoglot.tasks import WmtSegment, read_wmt

SCORES = """LP DATA SYSTEM SID HUMAN
de-en newstest2017 online-A.0 3 0.25
fi-en newstest2017 online-A.0 1 0.5
de-en newstest2017 KIT.49+online-A.0 1 -1.5
de-en newstest2017 a+b 2 1e-2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "DA-seglevel.csv": SCORES,
        "source/newstest2017-deen-src.de": "eins\nzwei\nWörter „drei“\n",
        "system-outputs/de-en/newstest2017.online-A.0.de-en": "one\ntwo A\nthree A\n",
        "system-outputs/de-en/newstest2017.KIT.49.de-en": "one\n\nthree K\n",
        "system-outputs/de-en/newstest2017.a+b.de-en": "one\ntwo +\nthree +\n",
        "system-outputs/de-en/newstest2017.a.de-en": "no\nno\nno\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_lines_are_counted_from_1_and_joined_systems_share_one(folder: Path) -> None:
    assert read_wmt(folder, "de-en") == [
        WmtSegment("online-A.0", 3, "Wörter „drei“", "three A", 0.25),
        WmtSegment("KIT.49+online-A.0", 1, "eins", "one", -1.5),
        WmtSegment("a+b", 2, "zwei", "two +", 0.01),
    ]


def test_columns_go_by_name_and_blank_lines_are_skipped(folder: Path) -> None:
    rows = [line.split() for line in SCORES.splitlines()]
    expected = read_wmt(folder, "de-en")
    turned = "\n\n".join("\t".join(row[::-1]) for row in rows)
    (folder / "DA-seglevel.csv").write_text(turned, "utf-8")
    assert read_wmt(str(folder), "de-en") == expected


def test_an_empty_translation_stays_empty(folder: Path) -> None:
    replace(folder / "DA-seglevel.csv", "KIT.49+online-A.0 1", "KIT.49 2")
    assert read_wmt(folder, "de-en")[1].hypothesis == ""


def test_escapes_of_tokenised_outputs_stay_unless_told(folder: Path) -> None:
    replace(folder / "system-outputs/de-en/newstest2017.a+b.de-en", "two +", "&quot; two &amp; it &apos;s &#91; &quot;")
    assert read_wmt(folder, "de-en")[2].hypothesis == "&quot; two &amp; it &apos;s &#91; &quot;"
    assert read_wmt(folder, "de-en", unescape=True)[2].hypothesis == '" two & it \'s [ "'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("online-A.0 3 0.25", "online-A.0 4 0.25", r"DA-seglevel.csv:2: segment 4 is beyond the 3 lines of .*-src.de"),
        ("online-A.0 3 0.25", "online-A.0 0 0.25", r"DA-seglevel.csv:2: '0' is no line number.*from 1"),
        ("online-A.0 3 0.25", "online-A.0 x 0.25", "'x' is no line number"),
        ("online-A.0 3 0.25", "online-A.0 3 nan", r"DA-seglevel.csv:2: 'nan' is no score"),
        ("online-A.0 3 0.25", "online-A.0 3 good", "'good' is no score"),
        ("online-A.0 3 0.25", "online-A.0 3", r"DA-seglevel.csv:2: 4 fields, expected 5"),
        ("SID HUMAN", "SID SCORE", "DA-seglevel.csv:1: no column HUMAN"),
    ],
)
def test_bad_scores_are_told_with_their_line(folder: Path, old: str, new: str, words: str) -> None:
    replace(folder / "DA-seglevel.csv", old, new)
    with pytest.raises(FormatError, match=words):
        read_wmt(folder, "de-en")


def test_missing_and_uneven_files_are_clear_errors(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no judgements of 'en-de'.*choose one of de-en, fi-en"):
        read_wmt(folder, "en-de")
    with pytest.raises(InputError, match=r"newstest2017-fien-src.fi: no such file"):
        read_wmt(folder, "fi-en")
    with pytest.raises(InputError, match=r"DA-seglevel.csv: no such file"):
        read_wmt(folder / "source", "de-en")
    output = folder / "system-outputs/de-en/newstest2017.KIT.49.de-en"
    output.write_text("one\ntwo\n", "utf-8")
    with pytest.raises(FormatError, match=r"KIT.49.de-en: 2 lines, but .*-src.de has 3"):
        read_wmt(folder, "de-en")
    output.write_bytes(b"one\n\xff\nthree\n")
    with pytest.raises(FormatError, match=r"KIT.49.de-en:2: not UTF-8"):
        read_wmt(folder, "de-en")
    output.unlink()
    with pytest.raises(InputError, match=r"KIT.49.de-en: no such file; .*DA-seglevel.csv:4 names this system"):
        read_wmt(folder, "de-en")
