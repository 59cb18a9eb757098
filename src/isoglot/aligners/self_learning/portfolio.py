"""No pairs: several starts, the most promising first, until the verdict says that one has worked; then tuning.

No start works everywhere. Vectors that share a space already need none, spelling needs words, similarities need spaces
of one shape. What each finds goes through the same self-learning and refinement and is compared with one and the same
chance; a start that was partly right lends its surest translations to the next one. What is found in the end is tuned
by `contrastive` from its own mutual translations.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.adversarial.muse import Muse, principal_start
from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.cognates import Cognates
from isoglot.aligners.self_learning.refinement import PATIENCE, induce, refine
from isoglot.aligners.self_learning.rounds import annealed, similarity_start
from isoglot.aligners.transport.gromov import GromovWasserstein
from isoglot.aligners.tuned.contrastive import Contrastive
from isoglot.aligners.verdict import WORDS, Chance, Verdict
from isoglot.checkpoints import Checkpoint
from isoglot.errors import ConfigError, IsoglotError
from isoglot.extras import has_extra
from isoglot.progress import Progress, silent
from isoglot.retrieval import Retriever
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector, Space

#: What each effort tries, in this order.
EFFORTS = {
    "quick": ("as-is", "spelling", "similarity"),
    "normal": ("as-is", "spelling", "identical", "similarity", "principal"),
    "best": ("as-is", "spelling", "identical", "similarity", "principal", "transport", "adversarial"),
}
#: Most frequent words of each side that a start is tried on.
TRIAL = {"quick": 3_000, "normal": 5_000, "best": 8_000}
#: The same for the map in the end.
CUTOFF = 20_000
#: Surest translations that a start which was partly right lends to the next one.
LENT = 500
#: Fewest pairs that a start may have.
LEAST = 10


@method(
    "portfolio",
    "no pairs: several starts, best first, until one is clearly above chance; then tuned",
    supervision="unsupervised",
    linear=True,
    cost="for each start self-learning on the most frequent words; then that of contrastive",
    paper="after Artetxe et al. 2018b, Li et al. 2022",
)
class Portfolio(Aligner):
    """Find maps without any pair, by whatever start works. Rows stand in order of frequency, as vector files do.

    The starts are "as-is", the vectors where they are; "spelling", words written alike in any scripts (`cognates`);
    "identical", words spelled the same; "similarity", words with similar similarities to all others
    (`vecmap-unsupervised`); "principal", principal directions laid on each other; "transport" (`gromov-wasserstein`);
    "adversarial" (`muse`). Starts that need what is not there, words or torch, are left out. `info["tried"]` tells what
    each came to, `info["aligned"]` whether it worked; if nothing did, `info["warning"]` says so and what would help.

    Differs from the paper:
        - It is a method of our own, made of theirs: see the methods that the starts are named after.

    Args:
        effort: "quick", "normal" or "best": how many starts are tried at most, and on how many words.
        tune: whether to tune the maps by `contrastive` in the end; without it they are a rotation.

    >>> X = np.random.default_rng(0).normal(size=(400, 8)) * np.linspace(2, 1, 8)
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    >>> alignment = Portfolio(tune=False).fit(X, X @ turn)
    >>> alignment.info["aligned"], alignment.info["start"]
    (True, 'similarity')
    """

    normalise: str = "iterative"
    effort: str = "normal"
    tune: bool = True

    limits: ClassVar[Limits] = {"effort": tuple(EFFORTS)}

    def _fit(self, problem: Problem) -> Alignment:
        search = _Search(problem, self.effort, self.seed)
        found = search.run()
        info: dict[str, Any] = {"tried": search.tried, "start": found.start, **found.verdict.info}
        if not found.verdict.aligned:
            info["warning"] = failure(search.tried)
        if not found.verdict.aligned:
            return LinearAlignment.learned(W_src=found.W, info=info)
        W = refine(
            problem.X, problem.Y, found.W, rounds=20, patience=2, vocabulary=CUTOFF, progress=problem.progress
        ).best
        if not self.tune:
            return LinearAlignment.learned(W_src=W, info=info)
        given = dataclasses.replace(problem, pairs=_clearest(problem, W), checkpoint=Checkpoint(None, ""))
        # None held out: what such pairs would tell is how well the maps agree with themselves.
        tuned = Contrastive(seed=self.seed, held_out=0.0)._fit(given)
        return dataclasses.replace(tuned, info=info)


def align_without_pairs(
    src: Space | npt.ArrayLike,
    tgt: Space | npt.ArrayLike,
    *,
    effort: str = "normal",
    seed: int = 0,
    progress: Progress = silent,
) -> Alignment:
    """The portfolio on two spaces; see `Portfolio` for what `info` tells.

    `info["aligned"]` is False where nothing worked; the Alignment then holds the best of what was tried, for people who
    want to look at it.
    """
    return Portfolio(effort=effort, seed=seed).fit(src, tgt, progress=progress)


def failure(tried: list[dict[str, Any]]) -> str:
    """What to tell when nothing worked: what was tried, and what would help."""
    names = ", ".join(f"{one['start']} ({one.get('reason') or 'no better than chance'})" for one in tried)
    return (
        f"not aligned: none of these starts led clearly above chance: {names}. "
        "A few translation pairs would help: 50 to 300 are enough to start from"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """A start, its map (d, d) after self-learning, and the verdict on that."""

    start: str
    W: FloatMatrix
    verdict: Verdict
    evidence: float


class _Search:
    """Tries the starts one after the other."""

    def __init__(self, problem: Problem, effort: str, seed: int) -> None:
        self.problem, self.effort, self.seed = problem, effort, seed
        self.X, self.Y = problem.X[: TRIAL[effort]], problem.Y[: TRIAL[effort]]
        self.tried: list[dict[str, Any]] = []

    def run(self) -> _Found:
        """The first start that works, or the one that came nearest."""
        quiet = dataclasses.replace(self.problem, checkpoint=Checkpoint(None, ""))
        chance = Chance.of(self.X[:WORDS], self.Y[:WORDS], seed=self.seed, progress=self.problem.progress)
        best: _Found | None = None
        names = EFFORTS[self.effort]
        for number, name in enumerate(names):
            self.problem.progress(f"trying starts: {name}", number, len(names))
            started = time.perf_counter()
            try:
                pairs = STARTS[name](quiet, self.seed)
            except IsoglotError as error:
                self.tried.append({"start": name, "reason": error.what})
                continue
            if len(pairs) < LEAST:
                self.tried.append({"start": name, "reason": f"{len(pairs)} pairs to start from"})
                continue
            found = self._learned(name, pairs, best, chance)
            seconds = round(time.perf_counter() - started, 1)
            self.tried.append({"start": name, "pairs": len(pairs), "seconds": seconds, **found.verdict.info})
            if best is None or found.evidence > best.evidence:
                best = found
            if found.verdict.aligned:
                break
        self.problem.progress("trying starts", len(names), len(names))
        if best is None:
            raise ConfigError("no start could be made without pairs", remedy="give some translation pairs")
        return best

    def _learned(self, name: str, pairs: IntVector, partly: _Found | None, chance: Chance) -> _Found:
        if partly is not None and partly.evidence > 0:
            pairs = np.concatenate([pairs, self._surest(partly.W)])
        W = procrustes(self.problem.X[pairs[:, 0]], self.problem.Y[pairs[:, 1]])
        if name != "as-is":  # which is not far from the end, or nowhere
            W = annealed(self.X, self.Y, W, seed=self.seed)
        rounds = 5 if name == "as-is" else 50
        W = refine(self.X, self.Y, W, rounds=rounds, patience=PATIENCE, progress=self.problem.progress).best
        verdict = chance.judged(chance.X @ W, chance.Y)
        return _Found(name, W, verdict, verdict.evidence)

    def _surest(self, W: FloatMatrix) -> IntVector:
        """Mutual translations of the most frequent words."""
        return induce(self.X, self.Y, W).pairs[:LENT]


def _clearest(problem: Problem, W: FloatMatrix) -> IntVector:
    """The half of all mutual translations of frequent words that are furthest ahead of the next best, (p, 2)."""
    there, back = Retriever(problem.X[:CUTOFF] @ W, problem.Y[:CUTOFF]).top_both(2)
    best = there.indices[:, 0]
    rows = np.flatnonzero(back.indices[best, 0] == np.arange(len(best)))
    if there.scores.shape[1] > 1:
        rows = rows[np.argsort(there.scores[rows, 1] - there.scores[rows, 0], kind="stable")]
    rows = rows[: (len(rows) + 1) // 2]
    return np.stack([rows, best[rows]], axis=1)


def _mutual(problem: Problem, W: FloatMatrix | None) -> IntVector:
    X, Y = problem.X[:WORDS], problem.Y[:WORDS]
    return induce(X, Y, np.eye(X.shape[1], dtype=np.float32) if W is None else W).pairs


def _spelled_alike(problem: Problem, seed: int) -> IntVector:
    return Cognates(seed=seed).start_pairs(problem, {})


def _identical(problem: Problem, seed: int) -> IntVector:
    if problem.words is None:
        return np.zeros((0, 2), dtype=np.int64)
    rows = {word: row for row, word in reversed(list(enumerate(problem.words[1])))}
    shared = [(row, rows[word]) for row, word in enumerate(problem.words[0]) if word in rows]
    return np.array(shared, dtype=np.int64).reshape(-1, 2)


def _transported(problem: Problem, seed: int) -> IntVector:
    return _mutual(problem, GromovWasserstein(seed=seed).matched(problem, []))


def _adversarial(problem: Problem, seed: int) -> IntVector:
    if not has_extra("torch"):
        raise ConfigError("torch is not installed")
    found = Muse(starts="adversarial", seed=seed)._fit(problem)
    assert isinstance(found, LinearAlignment)
    return _mutual(problem, found.W_src)


#: First pairs (p, 2) of each start.
STARTS: dict[str, Callable[[Problem, int], IntVector]] = {
    "as-is": lambda problem, seed: _mutual(problem, None),
    "spelling": _spelled_alike,
    "identical": _identical,
    "similarity": lambda problem, seed: similarity_start(problem.X, problem.Y),
    "principal": lambda problem, seed: _mutual(problem, principal_start(problem.X, problem.Y)),
    "transport": _transported,
    "adversarial": _adversarial,
}
