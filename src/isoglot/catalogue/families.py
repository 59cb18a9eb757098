"""Entries whose names hold a language: public vectors and dictionaries, and further pairs of our own sources."""

from __future__ import annotations

import re

from isoglot.catalogue.record import Artefact, Entry
from isoglot.catalogue.translations import LOCALES, WORDNETS, message_entry, wordnet_entry

__all__ = ["FAMILIES", "family_entry"]

#: Pattern of names -> what they are, for people.
FAMILIES = {
    "fasttext/cc.XX": "fastText vectors on Common Crawl and Wikipedia, 2 million words x 300 (CC BY-SA 3.0)",
    "fasttext/cc.XX.bin": "the same with n-grams, so that unknown words get vectors (several GB)",
    "fasttext/wiki.XX": "fastText vectors on Wikipedia, 300 dimensions (CC BY-SA 3.0)",
    "muse/XX-YY": "MUSE dictionary, all pairs (CC BY-NC 4.0)",
    "muse/XX-YY.train": "its 5,000 most frequent source words",
    "muse/XX-YY.test": "the next 1,500",
    "lexicon/XX-YY": "wordnet dictionary between any two of the wordnet languages above",
    "parallel/XX-YY": "messages in any two of the message languages above",
}

_FASTTEXT = "https://dl.fbaipublicfiles.com/fasttext"
_MUSE = "https://dl.fbaipublicfiles.com/arrival/dictionaries"
_MUSE_PARTS = {"": "", "train": ".0-5000", "test": ".5000-6500"}


def family_entry(name: str) -> Entry | None:
    """The entry of this name, if it belongs to a family.

    >>> family_entry("muse/en-fr.train").source
    'https://dl.fbaipublicfiles.com/arrival/dictionaries/en-fr.0-5000.txt'
    """
    family, _, rest = name.partition("/")
    if family == "fasttext" and (match := re.fullmatch(r"(cc|wiki)\.([a-z]{2,3})(\.bin)?", rest)):
        return _fasttext(name, match[1], match[2], bool(match[3]))
    if family == "muse" and (match := re.fullmatch(r"([a-z]{2})-([a-z]{2})(?:\.(train|test))?", rest)):
        return _muse(name, match[1], match[2], match[3] or "")
    for prefix, known, make in (("lexicon", WORDNETS, wordnet_entry), ("parallel", LOCALES, message_entry)):
        if family == prefix:
            for src in known:
                tgt = rest.removeprefix(src + "-")
                if tgt != rest and tgt in known and tgt != src:
                    return make(src, tgt)
    return None


def _fasttext(name: str, collection: str, language: str, model: bool) -> Entry | None:
    if collection == "wiki" and model:
        return None
    if collection == "cc":
        filename = f"cc.{language}.300.{'bin' if model else 'vec'}.gz"
        url = f"{_FASTTEXT}/vectors-crawl/{filename}"
        home = "https://fasttext.cc/docs/en/crawl-vectors.html"
    else:
        filename = f"wiki.{language}.vec"
        url = f"{_FASTTEXT}/vectors-wiki/{filename}"
        home = "https://fasttext.cc/docs/en/pretrained-vectors.html"
    return Entry(
        name,
        "vectors",
        (language,),
        f"fastText vectors, {'Common Crawl and Wikipedia' if collection == 'cc' else 'Wikipedia'}",
        "CC BY-SA 3.0",
        home,
        (Artefact("url", filename, url=url),),
        "public_model" if model else "public_vectors",
        result=f"{language}.bin" if model else "vectors.safetensors",
    )


def _muse(name: str, src: str, tgt: str, part: str) -> Entry:
    filename = f"{src}-{tgt}{_MUSE_PARTS[part]}.txt"
    return Entry(
        name,
        "lexicon",
        (src, tgt),
        "MUSE dictionary" + (f", {part} part" if part else ""),
        "CC BY-NC 4.0",
        "https://github.com/facebookresearch/MUSE",
        (Artefact("url", filename, url=f"{_MUSE}/{filename}"),),
        "public_dictionary",
        result="pairs.tsv",
    )
