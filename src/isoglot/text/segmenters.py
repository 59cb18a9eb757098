"""How a line becomes words: a small table of segmenters behind one function.

ICU's rules and its own dictionaries split all languages, Chinese, Japanese, Thai, Khmer, Lao and Burmese included, so
"icu" is a sound choice for any text. The others know more about one language each. Whichever is taken, what matters
most is that training text and the words looked up later are split the same way.
"""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from isoglot.errors import ConfigError
from isoglot.extras import require
from isoglot.suggest import choose

#: Takes a line, gives its words: none is empty, none holds a blank.
Segment = Callable[[str], list[str]]
#: Takes lines, gives their sentences in order; a blank line gives one empty sentence.
Split = Callable[[Iterable[str]], list[str]]


def segmenter(name: str, lang: str = "") -> Segment:
    """The segmenter of this name, ready for this language; names may differ by language: "icu,zh=jieba".

    >>> segmenter("spaces")("the cat , it sleeps")
    ['the', 'cat', ',', 'it', 'sleeps']
    """
    name = segmenter_name(name, lang)
    entry = choose("segmenter", name, SEGMENTERS)
    if entry.languages and lang and _base(lang) not in entry.languages:
        raise ConfigError(f"the segmenter {name} does not know {lang!r}", remedy="choose icu for this language")
    return entry.load(lang)


def segmenter_name(names: str, lang: str) -> str:
    """Which of these segmenters is for this language.

    >>> segmenter_name("icu,zh=jieba", "zh"), segmenter_name("icu,zh=jieba", "en")
    ('jieba', 'icu')
    """
    default, own = _by_language(names)
    name = own.get(lang, default)
    if name is None:
        raise ConfigError(f"no segmenter for {lang or 'this text'!r}", remedy=f"name one for the others: icu,{names}")
    return name


def check_segmenters(names: str, langs: Collection[str]) -> None:
    """Raise for a segmenter of a language that is not among these, for one that no language is left for, and for
    those that are not installed: before any work."""
    default, own = _by_language(names)
    for lang, name in own.items():
        if lang not in langs:
            raise ConfigError(f"there is no text of {lang!r}", where=f"`segmenter` {lang}={name}")
    if default is not None and langs and set(own) == set(langs):
        raise ConfigError("has no effect: every language has its own", where=f"`segmenter` {default}")
    for lang in langs:
        segmenter(names, lang)


def _by_language(names: str) -> tuple[str | None, dict[str, str]]:
    default: str | None = None
    own: dict[str, str] = {}
    for part in names.split(","):
        lang, equals, name = (text.strip() for text in part.partition("="))
        if default is not None if not equals else lang in own:
            raise ConfigError(
                "two segmenters for the same text", where=f"`segmenter` {part.strip()}", remedy="give one"
            )
        if equals:
            own[lang] = name
        else:
            default = lang
    return default, own


def sentence_splitter(lang: str = "") -> Split:
    """A function that splits lines of several sentences with ICU's rules and its list of abbreviations of `lang`."""
    require("text", "splitting sentences")
    from icu4py.breakers import SentenceBreaker

    plain = _locale(lang)
    listed = f"{plain}@ss=standard"  # ICU's rules with its list: no new sentence after "Mr." in English

    def unlisted(text: str) -> bool:
        return len(list(SentenceBreaker(f"{text} X", listed))) > 1

    @functools.lru_cache(1 << 16)
    def abbreviation(word: str) -> bool:
        # ICU looks for listed ones at the end of any word: with "r." in the German list, none would end with "er.".
        # We want the whole word. Of very short ones we cannot tell ("r." and "Dr." are listed), so capitals decide.
        return not unlisted(word) and (unlisted(word[1:]) or (len(word) <= 3 and word[:1].isupper()))

    def split(lines: Iterable[str]) -> list[str]:
        # All lines in one go: setting the list up costs more than splitting a hundred lines. A line end always ends a
        # sentence, also after an abbreviation.
        text = "".join(f"{line}\n" for line in lines)
        pieces = iter(SentenceBreaker(text, plain))
        sentences = []
        for segment in SentenceBreaker(text, listed):
            sentence, left = "", len(segment)
            while left:
                piece = next(pieces)
                sentence += piece
                left -= len(piece)
                last = piece.rstrip().rpartition(" ")[2].lstrip("([{\"'«‹„“‘‚»")
                if not left or not abbreviation(last):
                    sentences.append(sentence.strip())
                    sentence = ""
        return sentences

    return split


def _spaces(lang: str) -> Segment:
    return str.split


def _icu(lang: str) -> Segment:
    require("text", "the segmenter icu")
    from icu4py.breakers import WordBreaker
    from icu4py.locale import Locale

    locale = Locale(_locale(lang))
    return lambda line: _tokens(WordBreaker(line, locale))


def _jieba(lang: str) -> Segment:
    require("zh", "the segmenter jieba")
    cut = _jieba_cut()
    return lambda line: _tokens(cut(line))


@functools.cache
def _jieba_cut() -> Callable[[str], Iterable[str]]:
    with _quiet():
        import jieba
    tokenizer = jieba.Tokenizer()
    # Its own set-up would write the dictionary to a shared temporary folder, and next time believe what lies there.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    cut: Callable[[str], Iterable[str]] = tokenizer.cut
    return cut


def _fugashi(lang: str) -> Segment:
    require("ja", "the segmenter fugashi")
    with _quiet():
        import fugashi
        import unidic_lite
    # Named, because fugashi would prefer another dictionary that happens to be installed and split differently.
    tagger = fugashi.Tagger(f'-r "{os.path.join(unidic_lite.DICDIR, "mecabrc")}" -d "{unidic_lite.DICDIR}"')
    return lambda line: _tokens(node.surface for node in tagger(line))


def _pythainlp(lang: str) -> Segment:
    require("th", "the segmenter pythainlp")
    with _quiet(), _no_writing():
        from pythainlp.tokenize import word_tokenize

        # The engine whose dictionary is part of the package; "safe" bounds the time for long lines without blanks.
        cut = functools.partial(word_tokenize, engine="newmm-safe", keep_whitespace=False)
        cut("ไทย")  # what loads on first use loads here
    return lambda line: _tokens(cut(line))


def _tokens(pieces: Iterable[str]) -> list[str]:
    """The pieces without blanks: neither between nor, as some segmenters leave them, within."""
    return " ".join(pieces).split()


def _base(lang: str) -> str:
    return lang.lower().replace("_", "-").partition("-")[0]


def _locale(lang: str) -> str:
    # An unknown or missing language gets ICU's rules for all languages ("und").
    return lang.replace("-", "_") if lang else "und"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Other people's deprecations, told while they are imported, are no business of our users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _no_writing() -> Iterator[None]:
    """Keep pythainlp from making a folder in the user's home and from downloading while it loads."""
    wanted = {"PYTHAINLP_READ_ONLY": "1", "PYTHAINLP_OFFLINE": "1"}
    if "PYTHAINLP_READ_MODE" in os.environ:
        del wanted["PYTHAINLP_READ_ONLY"]  # the older name; both together are an error
    ours = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


class _Segmenter(NamedTuple):
    load: Callable[[str], Segment]
    languages: frozenset[str]  # empty: all
    summary: str


#: Name, and what it is good for.
SEGMENTERS = {
    "spaces": _Segmenter(_spaces, frozenset(), "text that is tokenised already"),
    "icu": _Segmenter(_icu, frozenset(), "all languages"),
    "jieba": _Segmenter(_jieba, frozenset({"zh", "zho", "cmn"}), "Chinese"),
    "fugashi": _Segmenter(_fugashi, frozenset({"ja", "jpn"}), "Japanese"),
    "pythainlp": _Segmenter(_pythainlp, frozenset({"th", "tha"}), "Thai"),
}
