"""Languages that file names tell, over a table of names as they are found in the wild."""

from __future__ import annotations

import pytest

from isoglot.languages import guess_language, guess_pair, short_code

NAMES = {
    "fr.vec": "fr",
    "wiki.fr.vec": "fr",
    "wiki.multi.fr.vec": "fr",
    "cc.de.300.bin": "de",
    "data/cc.fr.300.vec.gz": "fr",
    "wiki.war.vec": "war",
    "wiki.ceb.vec": "ceb",
    "wiki.is.vec": "is",
    "it.vec": "it",
    "no.txt.gz": "no",
    "cc.it.300.bin": "it",
    "deu.vec": "de",
    "tatoeba.deu-eng.deu": "de",
    "tatoeba.deu-eng.eng": "en",
    "tatoeba.cat-eng.cat": "ca",
    "tatoeba.ceb-eng.ceb": "ceb",
    "tatoeba.cmn-eng.cmn": "zh",
    "newstest2017-deen-src.de": "de",
    "newstest2017-deen-src.de.sgm": "de",
    "newstest2017-deen-ref.en": "en",
    "europarl-v7.fr-en.fr": "fr",
    "wiki.en-fr.fr.vec": "fr",
    "train.en.gz": "en",
    "val.it": "it",
    "parallel/multi30k/val.cs.gz": "cs",
    "text.cs": "cs",
    "news.fr.txt": "fr",
    "news.zh-Hant.txt": "zh",
    "news.pt_BR.txt": "pt",
    "cc-deu.txt": "de",
    "flores.eng_Latn.txt": "en",
    "vectors-en.txt": "en",
    "vectors-it.txt": "it",
    "wiki-no.vec": "no",
    "en_train.txt": "en",
    "numberbatch-en-19.08.txt": "en",
    "FR.VEC": "fr",
    # Names that tell no language.
    "embeddings.txt": "",
    "this-is-it.vec": "",
    "to-be-or-not-to-be.txt": "",
    "my-vectors.bin": "",
    "vectors-to-use.txt": "",
    "my.vectors.txt": "",
    "as-is.txt": "",
    "so.what.vec": "",
    "cat.vec": "",
    "new.vec": "",
    "vec.bin": "",
    "i-am-no-one.txt": "",
    "GoogleNews-vectors-negative300.bin": "",
    "glove.6B.300d.txt": "",
    "crawl-300d-2M.vec": "",
    "wiki-news-300d-1M.vec": "",
    "north.txt": "",
    "vin-de-table.vec": "",
    # A pair is not one language.
    "en-fr.txt": "",
    "de_en.tsv": "",
    "": "",
    "..": "",
    ".vec": "",
}
PAIRS = {
    "en-fr.txt": ("en", "fr"),
    "muse/en-fr.0-5000.txt": ("en", "fr"),
    "en-fr.test.tsv": ("en", "fr"),
    "deu-eng.txt": ("de", "en"),
    "lexicon.en_it.tsv.gz": ("en", "it"),
    "europarl-v7.fr-en.fr": ("fr", "en"),
    "fr.vec": ("", ""),
    "is-it.txt": ("", ""),
    "en-en.txt": ("", ""),
    "so-called.txt": ("", ""),
}


@pytest.mark.parametrize("name", NAMES)
def test_language_of_a_name(name):
    assert guess_language(name) == NAMES[name]


@pytest.mark.parametrize("name", PAIRS)
def test_pair_of_a_name(name):
    assert guess_pair(name) == PAIRS[name]


def test_codes():
    assert [short_code(code) for code in ("deu", "ger", "zho", "chi", "nob", "swh", "eng", "yue")] == [
        "de", "de", "zh", "zh", "nb", "sw", "en", "yue",
    ]  # fmt: skip
    assert not any(short_code(code) for code in ("", "d", "txt", "vec", "xx", "bin", "latin"))
