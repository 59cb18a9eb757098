"""Line-parallel text."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.errors import FormatError, InputError
from isoglot.text import ParallelText

TEXT = ParallelText("en", "fr", ("a cat", "", "two\u2028dogs"), ("un chat", "vide", "deux chiens"))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_saving_and_loading(tmp_path: Path, suffix: str) -> None:
    src, tgt = tmp_path / f"text.en{suffix}", tmp_path / f"text.fr{suffix}"
    TEXT.save(src, tgt)
    assert ParallelText.load(src, tgt, "en", "fr") == TEXT
    assert ParallelText.load(tgt, src, "fr", "en") == TEXT.invert()


def test_differing_line_counts_are_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("a\nb\nc\n")
    (tmp_path / "fr").write_text("a\nb\n")
    with pytest.raises(FormatError, match=r"fr: 2 lines, but .*en has 3"):
        ParallelText.load(tmp_path / "en", tmp_path / "fr")
    with pytest.raises(InputError, match="1 source sentences but 0"):
        ParallelText("en", "fr", ("a",), ())


def test_bad_text_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "en").write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(FormatError, match=r"en:2: not UTF-8"):
        ParallelText.load(tmp_path / "en", tmp_path / "en")


def test_a_sentence_with_a_line_break_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sentence 1 holds a line break"):
        ParallelText("en", "fr", ("a",), ("b\nc",)).save(tmp_path / "en", tmp_path / "fr")
    assert list(tmp_path.iterdir()) == []
