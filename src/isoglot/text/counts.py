"""What word counts tell about texts: how much two languages share, and whether two texts are of one language."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from heapq import nlargest

#: How many words stand for a language, and how many running words a judgement needs.
_WORDS = 100
_LEAST_TOKENS = 100
#: The cosine from which texts of 1,000 words or more count as one language. Measured: halves of one novel collection
#: 0.8 to 0.99, other languages up to 0.3, sisters such as Spanish and Portuguese or Czech and Slovak about 0.5.
_ALIKE = 0.6


@dataclasses.dataclass(frozen=True)
class Overlap:
    """What two languages share.

    Args:
        src, tgt: the languages.
        shared: types (distinct words) that both have.
        types: those as a share of all types of the two together.
        src_tokens: share of the running words of `src` whose type `tgt` has too.
        tgt_tokens: the same the other way.
    """

    src: str
    tgt: str
    shared: int
    types: float
    src_tokens: float
    tgt_tokens: float


def overlap(counts: Mapping[str, Mapping[str, int]]) -> list[Overlap]:
    """How much each two languages share, from the counts of their words: what joint training can start from.

    >>> first, = overlap({"en": {"table": 3, "the": 5}, "fr": {"table": 1, "la": 2, "le": 1}})
    >>> first
    Overlap(src='en', tgt='fr', shared=1, types=0.25, src_tokens=0.375, tgt_tokens=0.25)
    """
    return [_overlap_of_two(src, tgt, counts[src], counts[tgt]) for src, tgt in itertools.combinations(counts, 2)]


def same_language(a: Mapping[str, int], b: Mapping[str, int]) -> bool:
    """Whether two word counts look like texts of one language.

    The most frequent words of a text are its language's small words, whatever it is about: we compare how frequent they
    are in both. Words without a letter do not count, nor does case. With fewer than 100 words it is too early to tell:
    False. Very close languages (Danish and Norwegian, Serbian and Croatian) may look like one, and very different kinds
    of text (novels, and the messages of a program) like two.

    >>> from collections import Counter
    >>> en = Counter("the cat sat on the mat and the dog lay in the sun of the day".split() * 10)
    >>> fr = Counter("le chat est sur le tapis et le chien dans le soleil de la cour".split() * 10)
    >>> same_language(en, en), same_language(en, fr)
    (True, False)
    """
    left, right = _fold(a), _fold(b)
    least = min(sum(left.values()), sum(right.values()))
    if least < _LEAST_TOKENS:
        return False
    # Counts of short texts are noisy, which lowers all cosines, of one language and of two.
    threshold = _ALIKE * min(1.0, (math.log10(least) - 1.5) / 1.5)
    return _cosine(_small_words(left), _small_words(right)) >= threshold


def _overlap_of_two(src: str, tgt: str, a: Mapping[str, int], b: Mapping[str, int]) -> Overlap:
    few, many = (a, b) if len(a) <= len(b) else (b, a)
    shared = [word for word in few if word in many]
    return Overlap(
        src=src,
        tgt=tgt,
        shared=len(shared),
        types=_share(len(shared), len(a) + len(b) - len(shared)),
        src_tokens=_share(sum(a[word] for word in shared), sum(a.values())),
        tgt_tokens=_share(sum(b[word] for word in shared), sum(b.values())),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _fold(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts of words with a letter, whatever their case."""
    folded: dict[str, int] = {}
    for word, count in counts.items():
        if any(map(str.isalpha, word)):
            lower = word.lower()
            folded[lower] = folded.get(lower, 0) + count
    return folded


def _small_words(counts: Mapping[str, int]) -> dict[str, float]:
    """The most frequent words with the square roots of their counts.

    Roots, so that two or three words ("de", "a") that many languages have do not decide alone.
    """
    return {word: math.sqrt(count) for word, count in nlargest(_WORDS, counts.items(), key=lambda item: item[1])}


def _cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    product = sum(weight * b[word] for word, weight in a.items() if word in b)
    return product / math.sqrt(sum(w * w for w in a.values()) * sum(w * w for w in b.values()))
