"""The four tasks of one language pair under one map."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from isoglot.aligners import Alignment, Side
from isoglot.encoders import WordVectors
from isoglot.pipelines import ContextualPairs
from isoglot.progress import Progress, silent
from isoglot.reproductions.density.real.material import Material, sentence_means
from isoglot.reproductions.rows import Figure
from isoglot.spaces import FloatMatrix
from isoglot.tasks import Result, cbli, rfeval, tatoeba, word_alignment, word_mover_scores
from isoglot.wordalign import link_words

#: How words are linked by vectors (SimAlign), and how neighbours are ranked.
LINKED_WITH, CBLI_SCORE = "itermax", "csls"

Map = Callable[[FloatMatrix, Side], FloatMatrix]


@dataclasses.dataclass(frozen=True)
class Score:
    """A task's figure, and what each item adds to it, in the order of the items."""

    figure: Figure
    items: tuple[float, ...]

    @classmethod
    def of(cls, result: Result) -> Score:
        return cls(Figure.of(result), tuple(round(float(item["value"]), 6) for item in result.per_item))


def as_they_come(X: FloatMatrix, side: Side) -> FloatMatrix:
    """No map at all."""
    return X


def map_of(alignment: Alignment) -> Map:
    """Both sides in the alignment's space."""
    return lambda X, side: alignment.transform(X, side=side)


def task_scores(
    there: Map, material: Material, pairs: int, *, bootstrap: int = 1000, progress: Progress = silent
) -> Mapping[str, Score]:
    """By task, those that the language has data for."""
    scores = {"CBLI": Score.of(words_found(there, material.cbli, pairs, bootstrap=bootstrap))}
    if material.tatoeba is not None:
        X, Y = (sentence_means(words, _mapped(words, there, i).vectors) for i, words in enumerate(material.tatoeba))
        # The paper goes from the language to English.
        scores["Tatoeba"] = Score.of(tatoeba(X, Y, bootstrap=bootstrap).find("P@1 src->tgt"))
    if material.judged is not None and material.trials.judged is not None:
        sides = [list(_mapped(words, there, i)) for i, words in enumerate(material.judged)]
        work = word_mover_scores(sides[0], sides[1], progress=progress)
        scores["RFEval"] = Score.of(rfeval(work, [one.human for one in material.trials.judged], bootstrap=bootstrap)[0])
    if material.gold is not None and material.trials.gold is not None:
        src, tgt = (_mapped(words, there, i) for i, words in enumerate(material.gold))
        links = link_words(src, tgt, LINKED_WITH, progress=progress)
        scores["Align"] = Score.of(word_alignment(links, material.trials.gold.links, bootstrap=bootstrap)[0])
    return scores


def words_found(there: Map, found: ContextualPairs, pairs: int, *, bootstrap: int = 0) -> Result:
    """CBLI's P@1: the nearest occurrence is of the right word."""
    src = dataclasses.replace(found.src, vectors=there(found.src.vectors, "src"))
    tgt = dataclasses.replace(found.tgt, vectors=there(found.tgt.vectors, "tgt"))
    return cbli(src, tgt, found.pairs, score=CBLI_SCORE, ks=(1,), limit=pairs, bootstrap=bootstrap)[0]


def _mapped(words: WordVectors, there: Map, number: int) -> WordVectors:
    return words.with_vectors(there(words.vectors, "tgt" if number else "src")) if len(words.vectors) else words
