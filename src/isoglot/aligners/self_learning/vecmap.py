"""The VecMap family: mapping in steps, from a dictionary, a few seeds, words spelled alike, or nothing.

Artetxe, Labaka & Agirre 2018a ("Generalizing and improving bilingual word embedding mappings with a multi-step
framework of linear transformations") and 2018b ("A robust self-learning method for fully unsupervised cross-lingual
mappings of word embeddings").
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Presets, Problem, method
from isoglot.aligners.closed_form.mapping_steps import MappingSteps, map_in_steps
from isoglot.aligners.self_learning.rounds import SelfLearning, learn_dictionary, similarity_start
from isoglot.aligners.verdict import judged
from isoglot.errors import LexiconError
from isoglot.settings import Limits
from isoglot.spaces import IntVector

_PAPER = "Artetxe et al. 2018a"
_SELF_LEARNING = "Artetxe et al. 2018b"


@dataclasses.dataclass(frozen=True)
class _Stepwise(Aligner, MappingSteps):
    """What all members of the family share: the mapping steps and their settings."""

    def keeping_target(self) -> _Stepwise:
        """All re-weighting is the source's, and the target is only rotated.

        To undo the target's share would undo the source's as well: directions in which the languages do not agree
        would then count as much as any, which is noise if pairs are few.
        """
        weight = self.src_reweight + self.tgt_reweight
        return dataclasses.replace(self, src_reweight=weight, tgt_reweight=0.0, tgt_dewhiten="tgt")

    def _mapped(self, problem: Problem, pairs: IntVector, info: dict[str, float]) -> LinearAlignment:
        W_src, W_tgt = map_in_steps(problem.X[pairs[:, 0]], problem.Y[pairs[:, 1]], self)
        return LinearAlignment.learned(W_src=W_src, W_tgt=W_tgt, info=info)


@method(
    "vecmap",
    "whiten, rotate, re-weight, de-whiten, from a dictionary",
    supervision="supervised",
    linear=True,
    cost="a few products of the pairs and SVDs: O(n d² + d³)",
    paper=_PAPER,
)
class VecMap(_Stepwise):
    """The supervised member: the steps once, on the given pairs.

    Differs from the paper:
        - Singular values are divided by the largest, so that the scale of the pairs does not matter.
        - Small eigenvalues get a floor before whitening, so that few pairs do not blow up noise.
    """

    def _fit(self, problem: Problem) -> Alignment:
        return self._mapped(problem, problem.pairs, {})


@dataclasses.dataclass(frozen=True)
class _SelfLearned(_Stepwise, SelfLearning):
    """The rounds and their settings, between a start and the mapping steps."""

    presets: ClassVar[Presets] = {"paper": {"patience": 50, "drop": "pairs"}}

    def _learned(self, problem: Problem, start: IntVector, fixed: IntVector | None = None) -> Alignment:
        pairs, facts = learn_dictionary(problem, start, self, seed=self.seed, fixed=fixed)
        mapped = self._mapped(problem, pairs if fixed is None else np.concatenate([pairs, fixed]), facts)
        if len(problem.pairs):
            return mapped
        verdict = judged(problem, mapped.W_src, mapped.W_tgt, seed=self.seed)
        return dataclasses.replace(mapped, info={**mapped.info, **verdict.info})


@method(
    "vecmap-semi",
    "self-learning from a small dictionary",
    supervision="supervised",
    linear=True,
    cost="tens to hundreds of rounds, each a search over the 20,000 most frequent words",
    paper=_SELF_LEARNING,
    iterative=True,
)
class VecMapSemi(_SelfLearned):
    """From seeds to a large dictionary of its own.

    Differs from the paper:
        - The given pairs stay in the dictionary of every round (`keep_seeds`).
        - Whole candidate words are left out at random, anew in every round, where the paper draws for each pair of
          words; and fewer rounds without progress are waited for. `preset="paper"` has it as published.

    Args:
        keep_seeds: add the given pairs to the dictionary of every round; the paper only starts from them.
    """

    keep_seeds: bool = True

    presets: ClassVar[Presets] = {"paper": {**_SelfLearned.presets["paper"], "keep_seeds": False}}

    def _fit(self, problem: Problem) -> Alignment:
        return self._learned(problem, problem.pairs, problem.pairs if self.keep_seeds else None)


@method(
    "vecmap-identical",
    "self-learning from words spelled the same in both languages",
    supervision="optional",
    linear=True,
    cost="tens to hundreds of rounds, each a search over the 20,000 most frequent words",
    paper=_SELF_LEARNING,
    iterative=True,
)
class VecMapIdentical(_SelfLearned):
    """From words that both vocabularies hold; pairs, where given, join them in the start.

    Without a shared word and without pairs this is an error, not another method.

    Differs from the paper:
        - Given pairs may join the words spelled alike.
        - Whole candidate words are left out at random, anew in every round, where the paper draws for each pair of
          words; and fewer rounds without progress are waited for. `preset="paper"` has it as published.
    """

    def _fit(self, problem: Problem) -> Alignment:
        shared: list[tuple[int, int]] = []
        if problem.words is not None:
            rows = {word: row for row, word in reversed(list(enumerate(problem.words[1])))}
            shared = [(row, rows[word]) for row, word in enumerate(problem.words[0]) if word in rows]
        if not shared and not len(problem.pairs):
            raise LexiconError("the two vocabularies share no word", remedy="use a dictionary, or vecmap-unsupervised")
        start = np.array(shared, dtype=np.int64).reshape(-1, 2)
        return self._learned(problem, np.concatenate([start, problem.pairs]))


@method(
    "vecmap-unsupervised",
    "self-learning from the shape of the two spaces alone",
    supervision="unsupervised",
    linear=True,
    cost="hundreds of rounds, each a search over the 20,000 most frequent words",
    paper=_SELF_LEARNING,
    iterative=True,
)
class VecMapUnsupervised(_SelfLearned):
    """From nothing: words are first matched by their sorted similarities to their own language.

    Differs from the paper:
        - The result is compared with chance, and may be reported as not aligned.
        - Whole candidate words are left out at random, anew in every round, where the paper draws for each pair of
          words; and fewer rounds without progress are waited for. `preset="paper"` has it as published.

    Args:
        start_words: how many of the most frequent words take part in the start.
    """

    start_words: int = 4000

    limits: ClassVar[Limits] = {"start_words": "[1, inf)"}

    def _fit(self, problem: Problem) -> Alignment:
        return self._learned(problem, similarity_start(problem.X, problem.Y, self.start_words))
