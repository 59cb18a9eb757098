"""`WordLinks`: which words of a sentence pair translate each other, and the Pharaoh files that hold them.

A Pharaoh file has one sentence pair a line. An item `3-5` links source word 3 to target word 5 for sure, `3p5` or `3:5`
says that they may be linked, and a blank line is a pair without links. A score follows a slash: `3-5/0.83`, `3p5/0.4`
(a colon would read as "possible"). No file tells whether it counts from 0 or from 1, so the caller has to.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.small_tables import html_table
from isoglot.text import read_lines, write_lines

Link = tuple[int, int]
#: As text, whose words are separated by spaces, or as a list of words.
Sentence = str | Sequence[str]

#: Characters of links that a repr shows.
_SHOWN = 60

# Nine digits are more words than any line has, and keep junk of a thousand digits away from int().
_ITEM = re.compile(r"([0-9]{1,9})([-p:])([0-9]{1,9})(?:/([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]{1,3})?))?")
_SYNTAX = "items are i-j (sure), ipj or i:j (possible), perhaps with a score as in i-j/0.83"


@dataclasses.dataclass(frozen=True, repr=False)
class WordLinks:
    """The links of one sentence pair: (source position, target position), counted from 0.

    Args:
        sure: links that must be found.
        possible: further links that are right too; one that is also sure counts as sure.
        scores: how good a link is, for some or all of them; larger is better.
        words: of the two sentences, where they are known; links of other words are equal all the same.

    >>> links = WordLinks({(0, 0), (1, 2)}, {(1, 1)}, {(0, 0): 0.9})
    >>> sorted(links.all), len(links)
    ([(0, 0), (1, 1), (1, 2)], 3)
    >>> sorted(links.invert().sure)
    [(0, 0), (2, 1)]
    """

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()
    scores: Mapping[Link, float] = dataclasses.field(default_factory=dict, hash=False)
    words: tuple[Sequence[str], Sequence[str]] | None = dataclasses.field(default=None, compare=False)

    def __post_init__(self) -> None:
        sure, possible = _links(self.sure), _links(self.possible)
        scores = {(int(i), int(j)): float(score) for (i, j), score in self.scores.items()}
        for link, score in scores.items():
            if link not in sure and link not in possible:
                raise InputError(f"a score for {link}, which is no link", where="scores")
            if not math.isfinite(score):
                raise InputError(f"the score of {link} is {score}", where="scores")
        object.__setattr__(self, "sure", sure)
        object.__setattr__(self, "possible", possible - sure)
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return len(self.sure) + len(self.possible)

    def __iter__(self) -> Iterator[Link]:
        """All links in order, sure and possible ones."""
        return iter(sorted(self.all))

    def __repr__(self) -> str:
        (line,) = link_lines([self], base=0)
        return f"WordLinks({shorten(line, _SHOWN, placeholder=' ...')!r})"

    def _repr_html_(self) -> str:
        names = []
        for at, words in enumerate(self.words or ((), ())):
            size = max(len(words), 1 + max((link[at] for link in self), default=-1))
            names.append([*words, *map(str, range(len(words), size))])
        marks = {link: "●" if link in self.sure else "○" for link in self}
        rows = [[name, *(marks.get((i, j), "") for j in range(len(names[1])))] for i, name in enumerate(names[0])]
        return html_table(f"{len(self)} word links", ["", *names[1]], rows)

    def pairs(self, src: Sentence | None = None, tgt: Sentence | None = None) -> Iterator[tuple[str, str]]:
        """The linked words, by default of the sentences that were aligned.

        >>> list(WordLinks({(0, 1), (1, 0)}).pairs("red house", "maison rouge"))
        [('red', 'rouge'), ('house', 'maison')]
        """
        if src is None or tgt is None:
            if self.words is None:
                raise InputError("these links do not know their words", remedy="give `src` and `tgt`")
            src, tgt = self.words
        sides = [side.split() if isinstance(side, str) else side for side in (src, tgt)]
        check_links([self], [len(sides[0])], [len(sides[1])], "links")
        return ((sides[0][i], sides[1][j]) for i, j in self)

    @property
    def all(self) -> frozenset[Link]:
        """Sure and possible links."""
        return self.sure | self.possible

    @classmethod
    def from_arrays(cls, rows: npt.ArrayLike, columns: npt.ArrayLike, scores: npt.ArrayLike) -> WordLinks:
        """Sure links between `rows` (source positions) and `columns` (target positions), each with its score.

        >>> WordLinks.from_arrays([0], [2], [0.5]).scores
        {(0, 2): 0.5}
        """
        pairs = zip(np.asarray(rows).tolist(), np.asarray(columns).tolist(), strict=True)
        scored = dict(zip(pairs, np.asarray(scores, dtype=np.float64).tolist(), strict=True))
        return cls(frozenset(scored), scores=scored)

    def invert(self) -> WordLinks:
        """The same links in the other direction."""
        return WordLinks(
            frozenset((j, i) for i, j in self.sure),
            frozenset((j, i) for i, j in self.possible),
            {(j, i): score for (i, j), score in self.scores.items()},
            None if self.words is None else (self.words[1], self.words[0]),
        )


def read_links(path: str | Path, *, base: int) -> list[WordLinks]:
    """Read a Pharaoh file, packed or not; `base` is the number of a sentence's first word in it, 0 or 1.

    Repeated items count once, and a link that is listed as both is sure. An item below the base or one that is no link
    is an error with its line. Lines may be blank, all of them too, but a file without any line is an error.
    """
    _check_base(base)
    lines = enumerate(read_lines(path, blank=True), start=1)
    return [_parse(line, base, f"{path}:{number}") for number, line in lines]


def write_links(path: str | Path, links: Iterable[WordLinks], *, base: int, scores: bool = False) -> None:
    """Write a Pharaoh file that counts from `base`; packed if its name ends in `.gz`, `.xz`, `.bz2` or `.zst`.

    Possible links are written as `ipj`. Scores go in on demand only, to six digits: other tools do not know them.
    """
    write_lines(Path(path), link_lines(links, base=base, scores=scores))


def link_lines(links: Iterable[WordLinks], *, base: int, scores: bool = False) -> list[str]:
    """The lines of a Pharaoh file.

    >>> link_lines([WordLinks(frozenset({(0, 1)}), frozenset({(1, 0)}))], base=1)
    ['1-2 2p1']
    """
    _check_base(base)
    lines = []
    for pair in links:
        items = []
        for i, j in sorted(pair.all):
            item = f"{i + base}{'-' if (i, j) in pair.sure else 'p'}{j + base}"
            if scores and (i, j) in pair.scores:
                item += f"/{pair.scores[i, j]:.6g}"
            items.append(item)
        lines.append(" ".join(items))
    return lines


def check_links(links: Sequence[WordLinks], src_lengths: Sequence[int], tgt_lengths: Sequence[int], where: str) -> None:
    """Raise if links do not fit the sentences, given their lengths in words; `where` names the links' file.

    >>> check_links([WordLinks({(2, 1)})], [3], [2], "gold.pharaoh")
    >>> check_links([WordLinks({(3, 1)})], [3], [2], "gold.pharaoh")
    Traceback (most recent call last):
    ...
    isoglot.errors.FormatError: gold.pharaoh:1: the link 3-1 (counted from 0) points past sentences of 3 and 2 words; \
is the file 1-based, or the text tokenised in another way?
    """
    if not len(links) == len(src_lengths) == len(tgt_lengths):
        raise FormatError(
            f"{len(links):,} lines of links for {len(src_lengths):,} source and {len(tgt_lengths):,} target sentences",
            where=where,
            remedy="links and texts must be of equal length, line by line",
        )
    # A file read as 0-based that never uses 0 was most likely counted from 1.
    shifted = all(i > 0 and j > 0 for pair in links for i, j in pair.all)
    for number, (pair, n, m) in enumerate(zip(links, src_lengths, tgt_lengths, strict=True), start=1):
        past = sorted((i, j) for i, j in pair.all if i >= n or j >= m)
        if past:
            cause = "is the file 1-based, or the text tokenised in another way?"
            raise FormatError(
                f"the link {past[0][0]}-{past[0][1]} (counted from 0) points past sentences of {n} and {m} words",
                where=f"{where}:{number}",
                remedy=cause if shifted else "was the text tokenised in another way?",
            )


def _links(links: Iterable[Link]) -> frozenset[Link]:
    made = frozenset((int(i), int(j)) for i, j in links)
    below = [link for link in made if min(link) < 0]
    if below:
        raise InputError(f"the link {min(below)} has a position below 0", remedy="positions count from 0")
    return made


def _check_base(base: int) -> None:
    if isinstance(base, bool) or base not in (0, 1):
        raise ConfigError(
            f"must be 0 or 1, not {base!r}", where="base", remedy="the number that the file gives a first word"
        )


def _parse(line: str, base: int, where: str) -> WordLinks:
    sure: set[Link] = set()
    possible: set[Link] = set()
    scores: dict[Link, float] = {}
    for item in line.split():
        match = _ITEM.fullmatch(item)
        if not match:
            raise FormatError(f"{item[:40]!r} is no link", where=where, remedy=_SYNTAX)
        i, j = int(match[1]) - base, int(match[3]) - base
        if i < 0 or j < 0:
            raise FormatError(
                f"{item!r} has a 0, but the file was said to be 1-based", where=where, remedy="is the file 0-based?"
            )
        (sure if match[2] == "-" else possible).add((i, j))
        if match[4]:
            scores.setdefault((i, j), float(match[4]))
    return WordLinks(frozenset(sure), frozenset(possible), scores)
