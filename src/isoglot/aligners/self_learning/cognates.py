"""Cognates: no dictionary, but words. Spelling starts, vectors check, self-learning goes on.

Between vectors of different trainers and corpora, no method that looks at vectors alone may find a start. Words know
more: names, borrowings and inherited words are written or sound alike across most languages, also across scripts. See
`spelling_start` for how a first dictionary comes of that. Self-learning as in Artetxe, Labaka & Agirre 2018, with a
random part of the candidates left out, more and more of them available, then carries it over to all words.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.refinement import refine_found
from isoglot.aligners.self_learning.rounds import annealed
from isoglot.aligners.self_learning.spelling_start import agreeing_pairs, spelling_candidates
from isoglot.aligners.verdict import judged
from isoglot.errors import InputError
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector


@method(
    "cognates",
    "no pairs: starts from words that are written alike in any scripts, checked against the vectors",
    supervision="unsupervised",
    linear=True,
    cost="comparing spellings, then self-learning on the most frequent words, then two products a round",
    paper="after Riley & Gildea 2018, Artetxe et al. 2018b",
    iterative=True,
)
class Cognates(Aligner):
    """Find a rotation from the words themselves. Rows stand in order of frequency, as vector files do.

    Needs Spaces, as matrices have no words. `info["aligned"]` tells whether it worked: languages or
    vocabularies that share too little have no start here either.

    Differs from the paper:
        - It is a method of our own. Riley & Gildea bring spelling into self-learning itself, within one script; here it
          gives the first dictionary only, in any scripts, checked against the vectors.
        - Self-learning follows Artetxe et al., but in a fixed number of rounds.

    Args:
        words: most frequent words of each side whose spelling is compared.
        seeds: pairs that the start holds.
        weight: of the vectors beside the spelling in choosing these, see `agreeing_pairs`.
        agreement_rounds: of choosing them.
        cutoff: most frequent words of each side in self-learning.
        learning_rounds: of self-learning.
        available: share of the candidates in its first round.
        rounds: of refinement at most; it ends when its criterion stalls.
        frequent: words that the refinement's dictionary may hold.

    >>> from isoglot.spaces import Space
    >>> rng = np.random.default_rng(0)
    >>> words = ["".join(rng.choice(list("abcdefghijklmnop"), 7)) for _ in range(300)]
    >>> X = rng.normal(size=(300, 8))
    >>> turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    >>> other = [word[:5] + "io" for word in words]
    >>> alignment = Cognates().fit(Space("aa", words, X), Space("bb", other[::-1], (X @ turn)[::-1]))
    >>> alignment.info["aligned"], alignment.info["mutual"]
    (True, 1.0)
    """

    words: int = 20_000
    seeds: int = 2000
    weight: float = 2.0
    agreement_rounds: int = 12
    cutoff: int = 6000
    learning_rounds: int = 20
    available: float = 0.1
    rounds: int = 50
    frequent: int = 15_000

    limits: ClassVar[Limits] = {
        "words": "[1, inf)",
        "seeds": "[1, inf)",
        "cutoff": "[1, inf)",
        "available": "(0, 1]",
        "frequent": "[1, inf)",
    }

    def _fit(self, problem: Problem) -> Alignment:
        saved = problem.checkpoint.load()
        facts: dict[str, Any] = {"start": dict(saved.facts["start"]) if saved else {}}
        state = refine_found(
            problem,
            lambda: self._learned(problem, facts),
            steps=self.learning_rounds,
            facts=facts,
            rounds=self.rounds,
            frequent=self.frequent,
        )
        verdict = judged(problem, state.best, seed=self.seed)
        return LinearAlignment.learned(W_src=state.best, info={**state.info, **facts, **verdict.info})

    def _learned(self, problem: Problem, facts: dict[str, Any]) -> FloatMatrix:
        """The rotation after self-learning; one checkpoint a round."""
        saved = problem.checkpoint.load()
        if saved:
            W, first = saved.tensors["W"], saved.step
        else:
            W, first = self._start(problem, facts), 0
            problem.checkpoint.save(0, {"W": W}, facts)
        X, Y = problem.X[: self.cutoff], problem.Y[: self.cutoff]

        def after(done: int, learned: FloatMatrix) -> None:
            problem.progress("self-learning", done, self.learning_rounds)
            problem.checkpoint.save(done, {"W": learned}, facts)

        return annealed(
            X,
            Y,
            W,
            seed=self.seed,
            rounds=self.learning_rounds,
            first=first,
            available=self.available,
            after=after,
        )

    def _start(self, problem: Problem, facts: dict[str, Any]) -> FloatMatrix:
        pairs = self.start_pairs(problem, facts)
        return procrustes(problem.X[pairs[:, 0]], problem.Y[pairs[:, 1]])

    def start_pairs(self, problem: Problem, facts: dict[str, Any]) -> IntVector:
        """The first dictionary (p, 2); what is worth knowing of it goes into `facts`."""
        if problem.words is None:
            raise InputError(
                "cognates compares words, and matrices have none",
                remedy="give Spaces, or choose another unsupervised method (see `isoglot methods`)",
            )
        src_words, tgt_words = (words[: self.words] for words in problem.words)
        candidates = spelling_candidates(src_words, tgt_words, progress=problem.progress)
        if len(candidates) < 2:
            raise InputError(
                "no two words of the two sides are written alike",
                remedy="use a dictionary, or an unsupervised method that looks at vectors alone",
            )
        rng = np.random.default_rng([self.seed, self.learning_rounds])
        pairs = agreeing_pairs(
            problem.X,
            problem.Y,
            candidates,
            rng,
            keep=self.seeds,
            weight=self.weight,
            rounds=self.agreement_rounds,
            progress=problem.progress,
        )
        examples = [[src_words[i], tgt_words[j]] for i, j in pairs[:20]]
        facts["start"] = {"candidates": len(candidates), "pairs": len(pairs), "examples": examples}
        return pairs
