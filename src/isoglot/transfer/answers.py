"""How close an answer is to the right ones: exact match and F1 of words, as in SQuAD (Rajpurkar et al. 2016).

Case, punctuation and articles do not count. Which words are articles depends on the language, and where words are not
separated by blanks each character is one, as in MLQA (Lewis et al. 2020). Languages that MLQA does not have lose no
articles; XTREME's figures of XQuAD and TyDiQA took off English ones in all languages, which changes little.
"""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

_ARTICLES = {
    "en": "a an the",
    "es": "un una unos unas el la los las",
    "de": "ein eine einen einem eines einer der die das den dem des",
    "vi": "của là cái chiếc những",
}
#: In Arabic the article is written together with its noun.
_PREFIXES = {"ar": "ال"}
#: Characters that are words of their own in languages without blanks.
_SINGLE = {
    "zh": re.compile("([\u4e00-\u9fff\u3400-\u4dbf])"),
    "ja": re.compile("([\u4e00-\u9fff\u3400-\u4dbf\u3040-\u30ff])"),
    "th": re.compile("([\u0e00-\u0e7f])"),
}


def exact_match(answer: str, right: Sequence[str], language: str = "") -> float:
    """1 if the answer is one of the right ones, else 0. No right answers: an empty one is right.

    >>> exact_match("The Eiffel Tower.", ["Eiffel tower"], "en")
    1.0
    """
    given = normal_answer(answer, language)
    return float(any(given == normal_answer(one, language) for one in right or ("",)))


def answer_f1(answer: str, right: Sequence[str], language: str = "") -> float:
    """Harmonic mean of the shares of words that the answer and the right one have in common; the best over all right.

    >>> round(answer_f1("the tower in Paris", ["Eiffel Tower"], "en"), 3)
    0.4
    """
    given = normal_answer(answer, language).split()
    return max(_f1(given, normal_answer(one, language).split()) for one in right or ("",))


@functools.lru_cache(maxsize=1 << 16)
def normal_answer(answer: str, language: str = "") -> str:
    """In lower case, without punctuation and articles, words separated by one blank.

    >>> normal_answer("Der  Eiffelturm!", "de"), normal_answer("第23屆 NBA", "zh")
    ('eiffelturm', '第 23 屆 nba')
    """
    text = "".join(char for char in answer.lower() if not _is_punctuation(char))
    language = language.lower().partition("-")[0]
    if language in _ARTICLES:
        text = _articles(language).sub(" ", text)
    if language in _PREFIXES:
        text = text.replace(_PREFIXES[language], " ")
    if language in _SINGLE:
        text = _SINGLE[language].sub(r" \1 ", text)
    return " ".join(text.split())


@functools.cache
def _articles(language: str) -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(_ARTICLES[language].split())})\b")


@functools.lru_cache(maxsize=1 << 12)
def _is_punctuation(char: str) -> bool:
    # SQuAD's punctuation is that of ASCII, some of which (such as "$") Unicode calls symbols; MLQA has both.
    return char in string.punctuation or unicodedata.category(char).startswith("P")


def _f1(given: Sequence[str], right: Sequence[str]) -> float:
    if not given or not right:
        return float(given == right)
    common = sum((Counter(given) & Counter(right)).values())
    return 2 * common / (len(given) + len(right))
