"""How alike two words are written, whatever their scripts: both are first brought into plain Latin letters.

Related languages share words (information - information), and most languages borrow (телефон, コンピューター). Such
likeness is what vectors do not see. Transliteration is table-driven (anyascii) and needs no knowledge of the language:
Han characters are read as Mandarin, so Japanese is served by its kana.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

#: What `spelling_features` measures, in order.
SPELLING_FEATURES = (
    "edit similarity",
    "edit similarity of long words",
    "edit similarity of consonants",
    "common prefix",
    "common suffix",
    "shared bigrams",
    "shared trigrams",
    "identical",
    "length ratio",
    "digits agree",
    "capitals agree",
)
#: Words of this many letters are seldom alike by chance.
_LONG = 6
_NOT_CONSONANTS = str.maketrans("", "", "aeiouy'`-. ")
#: Letters that languages write or borrow for one another's sounds.
_DIGRAPHS = (("ph", "f"), ("th", "t"), ("sh", "s"), ("ch", "k"), ("ck", "k"), ("qu", "k"), ("x", "ks"), ("h", ""))
_SOUNDS = str.maketrans("cqlvzyw", "kkrbsiu")


@functools.lru_cache(maxsize=1 << 17)
def latin(word: str) -> str:
    """The word in lower-case ASCII letters.

    >>> latin("Électricité"), latin("телефон"), latin("ロンドン")
    ('electricite', 'telefon', 'rondon')
    """
    from anyascii import anyascii

    return anyascii(unicodedata.normalize("NFKC", word)).lower()


def sound(word: str) -> str:
    """A rough writing of how the word may sound, in which borrowed words meet: `latin`, with like sounds made one.

    >>> sound("telephone"), sound("телефон"), sound("coffee"), sound("コーヒー")
    ('terefone', 'terefon', 'kofe', 'koi')
    """
    heard = latin(word)
    for letters, one in _DIGRAPHS:
        heard = heard.replace(letters, one)
    heard = heard.translate(_SOUNDS)
    return "".join(letter for before, letter in itertools.pairwise(f" {heard}") if letter != before)


def grams(word: str, n: int) -> frozenset[str]:
    """The word's letter sequences of length n, with its start and end marked.

    >>> sorted(grams("no", 2))
    ['^n', 'no', 'o$']
    """
    marked = f"^{word}$"
    return frozenset(marked[i : i + n] for i in range(len(marked) - n + 1))


def spelling_features(
    src_words: Sequence[str], tgt_words: Sequence[str], first: npt.ArrayLike, second: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """(pairs, len(SPELLING_FEATURES)): how alike `src_words[first[i]]` and `tgt_words[second[i]]` are written.

    Similarities and shares lie between 0 (nothing in common) and 1 (written alike, after transliteration); the length
    ratio is a logarithm. Shares are of the longer word, those of n-grams after Dice 1945.

    >>> features = spelling_features(["telephone"], ["телефон", "почта"], [0, 0], [0, 1])
    >>> features[:, 0].round(2).tolist()
    [0.67, 0.11]
    """
    left, right = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    src_latin, tgt_latin = [latin(word) for word in src_words], [latin(word) for word in tgt_words]
    src_length, tgt_length = _lengths(src_latin)[left], _lengths(tgt_latin)[right]
    longer = np.maximum(np.maximum(src_length, tgt_length), 1.0)
    whole = _compare(src_latin, tgt_latin, left, right)
    src_bones, tgt_bones = [_consonants(word) for word in src_latin], [_consonants(word) for word in tgt_latin]
    bones = _compare(src_bones, tgt_bones, left, right)
    longer_bones = np.maximum(np.maximum(_lengths(src_bones)[left], _lengths(tgt_bones)[right]), 1.0)
    edit = 1 - whole[:, 0] / longer
    columns = [
        edit,
        np.where(src_length >= _LONG, np.maximum(edit - 0.5, 0.0), 0.0),
        1 - bones[:, 0] / longer_bones,
        whole[:, 1] / longer,
        whole[:, 2] / longer,
        _shared(src_latin, tgt_latin, left, right, 2),
        _shared(src_latin, tgt_latin, left, right, 3),
        (whole[:, 0] == 0).astype(np.float64),
        np.log(np.maximum(src_length, 1.0) / np.maximum(tgt_length, 1.0)),
        _flags(src_words, _has_digit)[left] == _flags(tgt_words, _has_digit)[right],
        _flags(src_words, _is_capital)[left] == _flags(tgt_words, _is_capital)[right],
    ]
    return np.column_stack([column.astype(np.float64) for column in columns])


def _compare(
    src: Sequence[str], tgt: Sequence[str], left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    from isoglot.aligners.self_learning._spelling_kernels import compare_pairs

    words = [*src, *tgt]
    letters = np.frombuffer("".join(words).encode("utf-32-le"), dtype=np.uint32)
    starts = np.concatenate([[0], np.cumsum([len(word) for word in words], dtype=np.int64)])
    compared: npt.NDArray[np.int64] = compare_pairs(letters, starts, left, right + len(src))
    return compared


def _shared(
    src: Sequence[str], tgt: Sequence[str], left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.float64]:
    src_grams, tgt_grams = [grams(word, n) for word in src], [grams(word, n) for word in tgt]
    shares = np.empty(len(left))
    for i, (s, t) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        a, b = src_grams[s], tgt_grams[t]
        shares[i] = 2 * len(a & b) / max(1, len(a) + len(b))
    return shares


def _consonants(word: str) -> str:
    """What borrowing keeps best; a word of vowels alone stays as it is."""
    return word.translate(_NOT_CONSONANTS) or word


def _lengths(words: Sequence[str]) -> npt.NDArray[np.float64]:
    return np.array([len(word) for word in words], dtype=np.float64)


def _has_digit(word: str) -> bool:
    return any(c.isdigit() for c in word)


def _is_capital(word: str) -> bool:
    return word[:1].isupper()


def _flags(words: Sequence[str], test: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
    return np.array([test(word) for word in words], dtype=bool)
