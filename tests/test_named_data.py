"""Names where data is asked for: a path that is there, else an entry of the catalogue, else an error."""

from __future__ import annotations

import pytest

from isoglot import catalogue
from isoglot.errors import ConfigError, InputError
from isoglot.lexicons import Lexicon
from isoglot.spaces import Space


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """Names that were fetched; vectors and dictionaries come from two small files."""
    names = []
    (tmp_path / "vectors.txt").write_text("a 1 2\nb 3 4\n")
    (tmp_path / "pairs.tsv").write_text("a\tà\n")

    def fetch(entry, progress):
        names.append(entry.name)
        return tmp_path / ("vectors.txt" if entry.kind == "vectors" else "pairs.tsv")

    monkeypatch.setattr(catalogue, "fetch", fetch)
    monkeypatch.chdir(tmp_path)
    return names


def test_names_of_the_catalogue_are_fetched(fetched):
    space = Space.load("vectors/ru-news")
    assert (space.lang, space.words) == ("ru", ("a", "b"))
    assert Space.load("fasttext/cc.de", lang="xx").lang == "xx"
    lexicon = Lexicon.load("lexicon/en-fr")
    assert (lexicon.src_lang, lexicon.tgt_lang, lexicon.pairs) == ("en", "fr", (("a", "à"),))
    assert Lexicon.load("muse/en-fr.test", "x", "y").src_lang == "x"
    assert fetched == ["vectors/ru-news", "fasttext/cc.de", "lexicon/en-fr", "muse/en-fr.test"]


def test_a_file_that_is_there_comes_first(fetched, tmp_path):
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "fr").write_text("c 1 2\nd 3 4\n")
    assert Space.load("vectors/fr").words == ("c", "d")
    assert fetched == []


def test_an_entry_of_another_kind_is_not_fetched(fetched):
    with pytest.raises(ConfigError, match="lexicon/en-fr: holds data of kind 'lexicon', not 'vectors'"):
        Space.load("lexicon/en-fr")
    with pytest.raises(ConfigError, match="not 'lexicon'"):
        Lexicon.load("vectors/fr")
    assert fetched == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("vectors/enn", r"the catalogue has 'vectors/en' "),
        ("lexicon/en-frr", r"the catalogue has 'lexicon/en-fr' "),
        ("vectrs.txt", r"did you mean 'vectors\.txt'"),
        ("./nowhere", r"check the path"),
    ],
)
@pytest.mark.parametrize("load", [Space.load, Lexicon.load])
def test_unknown_names_get_a_near_one(fetched, load, name, remedy):
    with pytest.raises(InputError, match=f"no such file; {remedy}"):
        load(name)
    assert fetched == []
