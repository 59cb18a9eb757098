"""The tiny encoder's two languages as texts in paragraphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.wordvectors import TextFile


@pytest.fixture(scope="session")
def folder(all_text, tmp_path_factory) -> Path:
    """north.txt and south.txt, 600 sentences each, not translations of each other, five to a paragraph."""
    place = tmp_path_factory.mktemp("distill-texts")
    for name, sentences in (("north", all_text.src[:600]), ("south", all_text.tgt[600:1200])):
        lines = [" ".join(words) + "\n" + ("\n" if number % 5 == 4 else "") for number, words in enumerate(sentences)]
        (place / f"{name}.txt").write_text("".join(lines), "utf-8")
    return place


@pytest.fixture(scope="session")
def north(folder) -> TextFile:
    return TextFile("north", folder / "north.txt")


@pytest.fixture(scope="session")
def south(folder) -> TextFile:
    return TextFile("south", folder / "south.txt")
