"""Label projection: the labels of a sentence carried over word links to its translation.

Parts of speech go word by word. Names (BIO labels) go as whole spans, since a word for word copy breaks them wherever
the translation adds, drops or moves a word; see Yarowsky, Ngai & Wicentowski 2001 and Jain et al. 2019.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from isoglot.errors import ConfigError, InputError
from isoglot.text import LabelledSentence
from isoglot.wordalign.links import WordLinks, check_links

Range = tuple[int, int]

SCHEMES = ("auto", "bio", "plain")
_SPAN_LABEL = re.compile(r"([BIELMSU])(?:-(.+))?")
_STARTS = frozenset("BSU")
_ENDS = frozenset("ESUL")
# What a link without a score counts beside cosines.
_SURE, _POSSIBLE = 1.0, 0.5


@dataclasses.dataclass(frozen=True)
class ProjectedSpan:
    """A span of the source, and where it went; ranges are (begin, end), the end not included.

    `target` is None if it went nowhere; `coverage` is the share of its words that are linked into `target`.
    """

    label: str
    source: Range
    target: Range | None
    coverage: float


@dataclasses.dataclass(frozen=True)
class Projection:
    """A labelled target sentence, and how far to trust it.

    Args:
        sentence: target words and their labels.
        number: of the sentence in its text, counted from 0.
        spans: the source's spans; none for plain labels.
        confidence: share of the words of spans that are linked into the projected span; for plain labels, share of
            target words with a link, since each of them needs a label. 1 if there is nothing to project.
        coverage: the same for the span that fared worst, 0 if it was not projected at all.
    """

    sentence: LabelledSentence
    number: int
    spans: tuple[ProjectedSpan, ...]
    confidence: float
    coverage: float


def project_labels(
    source: LabelledSentence,
    target_words: Sequence[str],
    links: WordLinks,
    *,
    scheme: str = "auto",
    outside: str = "O",
    max_gap: int = 1,
) -> LabelledSentence:
    """The target sentence with the labels of its translation; settings as in `project_text`.

    >>> source = LabelledSentence(["the", "New", "York", "Times"], ["O", "B-ORG", "I-ORG", "I-ORG"])
    >>> links = WordLinks({(0, 0), (3, 1), (1, 3), (2, 4)})
    >>> project_labels(source, ["le", "Times", "de", "New", "York"], links).labels
    ('O', 'B-ORG', 'I-ORG', 'I-ORG', 'I-ORG')
    """
    (only,) = project_text([source], [target_words], [links], scheme=scheme, outside=outside, max_gap=max_gap)
    return only.sentence


def project_text(
    sources: Sequence[LabelledSentence],
    targets: Sequence[Sequence[str]],
    links: Sequence[WordLinks],
    *,
    scheme: str = "auto",
    outside: str = "O",
    max_gap: int = 1,
    min_coverage: float = 0.0,
) -> list[Projection]:
    """Project a whole text. Spans come out as BIO, whatever kind they were; one is never parted, nor are two merged.

    A span takes the target words that its words are linked to. A word that several spans are linked to goes to the one
    with more links to it, then with better scores, then with more links in all. Of words far apart, a span keeps the
    stretch with most of them.

    Args:
        scheme: "bio" for spans (BIO, IOB1, BIOES, BILOU), "plain" to copy labels word by word from the link with the
            best score, "auto" to decide by the labels of all sentences.
        outside: the label of words outside of spans, and for plain labels that of words without a link ("X" for the
            parts of speech of UD).
        max_gap: so many words without a link are taken into a span between linked ones.
        min_coverage: leave out sentences of lower `coverage`. Above 0, those in which a span was lost are left out.

    >>> source = LabelledSentence(["a", "cat", "sleeps"], ["DET", "NOUN", "VERB"])
    >>> links = WordLinks({(1, 0), (2, 1)})
    >>> (found,) = project_text([source], [["felis", "dormit", "."]], [links], outside="X")
    >>> found.sentence.labels, round(found.confidence, 2)
    (('NOUN', 'VERB', 'X'), 0.67)
    """
    _check_settings(max_gap, min_coverage)
    if len(sources) != len(targets):
        raise InputError(f"{len(sources):,} labelled sentences but {len(targets):,} target sentences")
    for number, words in enumerate(targets, start=1):
        if isinstance(words, str):
            raise InputError("sentences come as lists of words, not as text", where=f"target sentence {number:,}")
    check_links(links, [len(one) for one in sources], [len(words) for words in targets], "links")
    spans = label_scheme(sources, scheme, outside=outside) == "bio"
    made = []
    for number, (source, words, pair) in enumerate(zip(sources, targets, links, strict=True)):
        if spans:
            one = _project_spans(source, words, pair, outside, max_gap, number)
        else:
            one = _project_words(source, words, pair, outside, number)
        if one.coverage >= min_coverage:
            made.append(one)
    return made


def label_scheme(
    sentences: Sequence[LabelledSentence], scheme: str = "auto", *, outside: str = "O", where: str = "labels"
) -> str:
    """The scheme to use, "bio" or "plain". Labels that are no BIO although it was asked for are an error.

    `where` names the labels' file for that error.

    >>> label_scheme([LabelledSentence(["Ada", "sleeps"], ["B-PER", "O"])])
    'bio'
    >>> label_scheme([LabelledSentence(["Ada", "sleeps"], ["PROPN", "VERB"])])
    'plain'
    """
    if scheme not in SCHEMES:
        raise ConfigError(f"unknown scheme {scheme!r}", where="scheme", remedy=f"known: {', '.join(SCHEMES)}")
    if not outside or any(c.isspace() for c in outside):
        raise ConfigError(f"{outside!r} is no label", where="outside")
    if scheme == "plain":
        return scheme
    for number, sentence in enumerate(sentences, start=1):
        for word, label in zip(sentence.words, sentence.labels, strict=True):
            if label not in ("O", outside) and not _SPAN_LABEL.fullmatch(label):
                if scheme == "auto":
                    return "plain"
                place = f"{where}:{sentence.line}" if sentence.line else f"{where}, sentence {number:,}"
                raise InputError(
                    f"the label {label[:40]!r} of {word[:40]!r} is not like B-PER, I-PER or {outside}",
                    where=place,
                    remedy="project it as plain labels, or choose another column",
                )
    if _SPAN_LABEL.fullmatch(outside):
        raise ConfigError(f"{outside!r} would begin or continue a span", where="outside", remedy="use O or _")
    return "bio"


def label_spans(labels: Sequence[str], *, outside: str = "O") -> list[tuple[int, int, str]]:
    """Spans (begin, end, kind) of BIO, IOB1, BIOES or BILOU labels, read as conlleval reads them.

    >>> label_spans(["I-PER", "I-PER", "B-PER", "O", "S-LOC", "B-LOC", "E-LOC", "I-LOC"])
    [(0, 2, 'PER'), (2, 3, 'PER'), (4, 5, 'LOC'), (5, 7, 'LOC'), (7, 8, 'LOC')]
    """
    spans: list[tuple[int, int, str]] = []
    open_kind: str | None = None
    for at, label in enumerate(labels):
        match = None if label in ("O", outside) else _SPAN_LABEL.fullmatch(label)
        if match is None:
            open_kind = None
            continue
        mark, kind = match[1], match[2] or ""
        if mark not in _STARTS and kind == open_kind:
            spans[-1] = (spans[-1][0], at + 1, kind)
        else:
            spans.append((at, at + 1, kind))
        open_kind = None if mark in _ENDS else kind
    return spans


def _check_settings(max_gap: int, min_coverage: float) -> None:
    if max_gap < 0:
        raise ConfigError(f"must be 0 or more, not {max_gap}", where="max_gap")
    if not 0 <= min_coverage <= 1:
        raise ConfigError(f"must lie between 0 and 1, not {min_coverage}", where="min_coverage")


def _project_words(
    source: LabelledSentence, words: Sequence[str], links: WordLinks, outside: str, number: int
) -> Projection:
    best: dict[int, tuple[float, bool, int]] = {}
    for i, j in links.all:
        # Of links equally good, one that says something, then the first.
        rank = (_score(links, (i, j)), source.labels[i] != outside, -i)
        best[j] = max(best.get(j, rank), rank)
    labels = [source.labels[-best[j][2]] if j in best else outside for j in range(len(words))]
    share = len(best) / len(words) if words else 1.0
    return Projection(LabelledSentence(words, labels), number, (), share, share)


def _project_spans(
    source: LabelledSentence, words: Sequence[str], links: WordLinks, outside: str, max_gap: int, number: int
) -> Projection:
    spans = label_spans(source.labels, outside=outside)
    places = _places([range(begin, end) for begin, end, _ in spans], links, max_gap)
    labels = [outside] * len(words)
    made = []
    arrived = 0
    all_links = links.all
    for index, (begin, end, kind) in enumerate(spans):
        place = places.get(index)
        found = 0
        if place is not None:
            ending = f"-{kind}" if kind else ""
            labels[place[0] : place[1]] = [f"B{ending}"] + [f"I{ending}"] * (place[1] - place[0] - 1)
            found = len({i for i, j in all_links if begin <= i < end and place[0] <= j < place[1]})
        made.append(ProjectedSpan(kind, (begin, end), place, found / (end - begin)))
        arrived += found
    total = sum(end - begin for begin, end, _ in spans)
    return Projection(
        LabelledSentence(words, labels),
        number,
        tuple(made),
        confidence=arrived / total if total else 1.0,
        coverage=min((span.coverage for span in made), default=1.0),
    )


@dataclasses.dataclass(frozen=True, order=True)
class _Votes:
    """The links between a span and a target word, or all its target words; more is better, then higher scores."""

    links: int = 0
    score: float = 0.0


def _places(spans: Sequence[Collection[int]], links: WordLinks, max_gap: int) -> dict[int, Range]:
    """Where each span goes, by its index; those that go nowhere are missing. No two places overlap."""
    votes = [_votes(span, links) for span in spans]
    places: dict[int, Range] = {}
    taken: set[int] = set()
    while True:
        owned = _owned(votes, places, taken)
        if not owned:
            return places
        claimed = taken | {j for own in owned.values() for j in own}
        for index, own in owned.items():
            places[index] = _best_run(own, claimed - set(own), votes[index], max_gap)
        # A span may have given up words far from its others, which a span that got none was linked to: once more.
        taken = {j for begin, end in places.values() for j in range(begin, end)}


def _votes(span: Collection[int], links: WordLinks) -> dict[int, _Votes]:
    found: dict[int, list[float]] = {}
    for i, j in links.all:
        if i in span:
            found.setdefault(j, []).append(_score(links, (i, j)))
    # fsum does not depend on the order in which a set gives its members.
    return {j: _Votes(len(scores), math.fsum(scores)) for j, scores in found.items()}


def _owned(
    votes: Sequence[Mapping[int, _Votes]], places: Collection[int], taken: Collection[int]
) -> dict[int, list[int]]:
    """The target words, in order, of each span that has no place yet; each word goes to one span."""
    waiting = [index for index in range(len(votes)) if index not in places]
    overall = {
        index: _Votes(sum(v.links for v in votes[index].values()), math.fsum(v.score for v in votes[index].values()))
        for index in waiting
    }
    owned: dict[int, list[int]] = {}
    for j in sorted({j for index in waiting for j in votes[index]} - set(taken)):
        rivals = (index for index in waiting if j in votes[index])
        owner = max(rivals, key=lambda index: (votes[index][j], overall[index], -index))
        owned.setdefault(owner, []).append(j)
    return owned


def _best_run(own: Sequence[int], others: Collection[int], votes: Mapping[int, _Votes], max_gap: int) -> Range:
    def worth(run: list[int]) -> tuple[int, float, int]:
        return len(run), math.fsum(votes[j].score for j in run), -run[0]

    best = max(_runs(own, others, max_gap), key=worth)
    return best[0], best[-1] + 1


def _runs(own: Sequence[int], others: Collection[int], max_gap: int) -> Iterator[list[int]]:
    """Stretches of words between which lie at most `max_gap` words, and none of another span."""
    run = [own[0]]
    for before, j in itertools.pairwise(own):
        if j - before - 1 > max_gap or any(between in others for between in range(before + 1, j)):
            yield run
            run = []
        run.append(j)
    yield run


def _score(links: WordLinks, link: tuple[int, int]) -> float:
    return links.scores.get(link, _SURE if link in links.sure else _POSSIBLE)
