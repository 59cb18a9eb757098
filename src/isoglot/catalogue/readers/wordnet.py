"""Dictionaries out of wordnets: two words translate each other if a synset holds both.

Open Multilingual Wordnet 1.4 (Bond and Foster 2013, https://aclanthology.org/P13-1133/) gives every language's
lemmas by the synsets of Princeton WordNet 3.0, whose sense numbers and tag counts say how usual a sense is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from isoglot.catalogue.archive import Archive
from isoglot.catalogue.readers import Facts
from isoglot.catalogue.readers.words import one_word, write_lexicon
from isoglot.catalogue.record import Entry
from isoglot.errors import FormatError
from isoglot.progress import Progress

# WordNet writes the part of speech as a digit; satellite adjectives (5) count as adjectives.
_PARTS_OF_SPEECH = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_LEMMA = re.compile(r"(?:[a-z]{3}:)?lemma")

#: Lemmas of a synset, each with its weight: how usual this sense is among the lemma's senses.
Synsets = Mapping[str, Sequence[tuple[str, float]]]


def read_wordnet(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """settings: `src` and `tgt`, tab files of the package; empty for English."""
    endings = {"senses": "wordnet/index.sense"}
    endings |= {side: f"omw-1.4/{entry.settings[side]}" for side in ("src", "tgt") if entry.settings[side]}
    step = f"reading {entry.name}"
    progress(step, 0, 3)
    texts = dict(zip(endings, Archive(artefacts[0]).read(*endings.values()), strict=True))
    progress(step, 1, 3)
    english = parse_senses(texts["senses"].decode("utf-8"))
    sides = [parse_tab(texts[side].decode("utf-8"), english) if side in texts else english for side in ("src", "tgt")]
    progress(step, 2, 3)
    pairs = pairs_through_synsets(*sides)
    count = write_lexicon(pairs, folder, entry.result, entry.languages)
    progress(step, 3, 3)
    return {"pairs": count, "source words": len({source for source, _ in pairs})}


def parse_senses(text: str) -> dict[str, list[tuple[str, float]]]:
    """English lemmas (lower-case, single words) by synset, from WordNet's `index.sense`.

    The weight is the sense's count in tagged text, and for the many that were never tagged 1 / sense number.

    >>> parse_senses("cat%1:05:00:: 02121620 1 18")
    {'02121620-n': [('cat', 19.0)]}
    """
    synsets: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            key, offset, sense, count = line.split()
            lemma, _, rest = key.partition("%")
            synset = f"{offset}-{_PARTS_OF_SPEECH[rest[0]]}"
            weight = int(count) + 1 / int(sense)
        except (ValueError, KeyError, IndexError, ZeroDivisionError) as error:
            raise FormatError("not a line of WordNet's sense index", where=f"index.sense:{number}") from error
        if word := one_word(lemma):
            synsets[synset].append((word, weight))
    return dict(synsets)


def parse_tab(text: str, english: Synsets) -> dict[str, list[tuple[str, float]]]:
    """Lemmas by synset from one `wn-data-*.tab`; single words, case kept.

    Other languages have no counts: a synset weighs what it weighs in English. The `+` by which the Chinese and
    Japanese wordnets mark parts of a word is taken out.

    >>> parse_tab("# x\\n02121620-n\\tfra:lemma\\tchat\\n02121620-n\\tfra:def\\t0\\tun animal", {})
    {'02121620-n': [('chat', 1.0)]}
    """
    synsets: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for line in text.splitlines():
        fields = line.split("\t")
        if line.startswith("#") or len(fields) < 3 or not _LEMMA.fullmatch(fields[1]):
            continue
        synset = fields[0][:-2] + "-a" if fields[0].endswith("-s") else fields[0]
        if word := one_word(fields[2].replace("+", "")):
            weight = max((weight for _, weight in english.get(synset, ())), default=1.0)
            synsets[synset].append((word, weight))
    return dict(synsets)


def pairs_through_synsets(src: Synsets, tgt: Synsets) -> list[tuple[str, str]]:
    """Pairs by shared synsets: frequent source words first, and of each its likeliest target first.

    A pair's score is the sum of its synsets' weights; a source's is the sum over its synsets.

    >>> pairs_through_synsets({"1": [("cat", 19.0)], "2": [("cat", 0.5), ("bat", 1.0)]},
    ...                       {"1": [("chat", 1.0)], "2": [("chat", 1.0), ("batte", 1.0)]})
    [('cat', 'chat'), ('cat', 'batte'), ('bat', 'chat'), ('bat', 'batte')]
    """
    scores: dict[tuple[str, str], float] = defaultdict(float)
    usual: dict[str, float] = defaultdict(float)
    for synset, lemmas in src.items():
        targets = _distinct(word for word, _ in tgt.get(synset, ()))
        for word, weight in lemmas:
            usual[word] += weight
            for target in targets:
                scores[word, target] += weight
    # Sorted by the words too, so that the file is the same on every machine.
    return sorted(scores, key=lambda pair: (-usual[pair[0]], pair[0], -scores[pair]))


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
