"""DeMa-BWE: match the densities of two vocabularies, with words that are spelt alike as weak supervision.

Zhou, Ma, Wang and Neubig 2019, "Density matching for bilingual word embedding". Each word of a language is the centre
of a Gaussian; frequent words weigh more. The map of each direction makes the words of one language likely under the
mixture of the other, a back-translation loss ties the two maps, seeds pull their pairs together, and the result is
refined as in MUSE. The maps stay (nearly) orthogonal, so the volume term of the change of variables is zero.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Presets, Problem, method
from isoglot.aligners.epoch_choice import SELECT, chosen
from isoglot.aligners.self_learning.refinement import (
    Refinement,
    balanced_procrustes,
    induce,
    nearest_rotation,
    pair_weights,
    refine,
)
from isoglot.aligners.verdict import judged
from isoglot.errors import LexiconError
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector
from isoglot.threads import few_threads, import_torch

#: How fast components lose weight whose ranks differ from a word's, as published.
RANK_TEMPERATURE = 2.0


@method(
    "dema-bwe",
    "match densities of the vocabularies; learns from pairs or, without, from identical strings",
    supervision="optional",
    linear=True,
    cost="steps of batch x components products, then two products of the vocabularies a round",
    paper="Zhou et al. 2019",
    iterative=True,
    requires=("torch",),
)
class DemaBWE(Aligner):
    """Density matching from given pairs or, without any, from words that both Spaces spell alike.

    Rows stand in order of frequency, as vector files do. It starts from the seeds' rotation; the epoch that `select`
    picks goes on to refinement.

    Differs from the paper:
        - It starts from the rotation of the seeds, not from a random one, and all words spelt alike are seeds, not the
          2,000 or more most frequent ones.
        - By default it takes 200 small steps, not 150,000 of 2,048 words against 20,000 components, draws frequent
          words more often, and takes the components' weights from their ranks alone.
        - The maps are pulled to orthogonal ones after each step, so that the volume term is zero, and the rate of
          learning falls.
        - Without pairs the result is compared with chance.

    `preset="paper"` has the published numbers: at some two seconds of one core a step, for those with a week or a
    larger machine. Its weights are 10 and .5, times twice the variance, as the density is divided by that here.

    Args:
        epochs: of `steps` batches each; the map is judged after each of them. 0 leaves only the refinement.
        steps: batches an epoch, at most.
        looks: no epoch draws more words than so many times the vocabulary; small ones need no long epochs. 0: no limit.
        batch: words a side and step, drawn by frequency.
        components: how many of the most frequent words are centres of the mixture.
        variance: of each Gaussian.
        noise: variance of the Gaussian noise that words drawn get.
        smoothing: frequencies fall as 1/rank to this power; 0 makes all words equal.
        alike_ranks: components weigh more the nearer their rank is to that of the word, on a logarithmic scale.
        back_translation: weight of the loss that ties both maps.
        supervision: weight of the loss on the seeds.
        rate: of learning, falling to a tenth over the epochs.
        rounds: of refinement.
        trial: on how many of the most frequent words epochs are judged.
        dictionary: the induced dictionary holds the words of these first ranks only, on both sides.
        backend: of the search, see `isoglot.retrieval.Retriever`.
        select: which epoch, and which round of refinement, to keep: "semantic", "structural" or "last".

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    >>> alignment = DemaBWE(epochs=1, steps=5).fit(X, X @ turn, [[i, i] for i in range(12)])
    >>> alignment.info["seeds"], alignment.info["mutual"]
    ('given pairs', 1.0)
    """

    epochs: int = 4
    steps: int = 50
    looks: int = 4
    batch: int = 256
    components: int = 10_000
    variance: float = 0.03
    noise: float = 0.0
    smoothing: float = 0.5
    alike_ranks: bool = False
    back_translation: float = 1.0
    supervision: float = 1.0
    rate: float = 0.001
    rounds: int = 5
    trial: int = 5_000
    dictionary: int = 15_000
    backend: str = "auto"
    select: str = "semantic"

    limits: ClassVar[Limits] = {
        "select": SELECT,
        "steps": "[1, inf)",
        "batch": "[1, inf)",
        "components": "[1, inf)",
        "trial": "[1, inf)",
        "dictionary": "[1, inf)",
        "variance": "(0, inf)",
        "noise": "[0, inf)",
        "looks": "[0, inf)",
        "rate": "(0, inf)",
    }
    presets: ClassVar[Presets] = {
        "paper": {
            "epochs": 30,
            "steps": 5_000,
            "looks": 0,
            "batch": 2_048,
            "components": 20_000,
            "variance": 0.01,
            "noise": 0.01,
            "smoothing": 0.0,
            "alike_ranks": True,
            "back_translation": 0.5 * 2 * 0.01,
            "supervision": 10 * 2 * 0.01,
        }
    }

    def _fit(self, problem: Problem) -> Alignment:
        pairs, kind = _seeds(problem)
        matching = _Matching(self, problem, pairs)
        matching.go()
        state = refine(
            problem.X,
            problem.Y,
            matching.refinement if matching.refinement is not None else matching.best,
            rounds=self.rounds,
            frequent=self.dictionary,
            select=self.select,
            backend=self.backend,
            progress=problem.progress,
            after=matching.save_refinement,
        )
        info = {**state.info, "seeds": kind, "seed_pairs": len(pairs), "epochs": matching.history}
        if not len(problem.pairs):
            info |= judged(problem, state.best, seed=self.seed).info
        return LinearAlignment.learned(W_src=state.best, info=info)


def mixture_loss(points: Any, centres: Any, log_weights: Any, variance: float) -> Any:
    """Mean of -log sum_i weight_i exp(-|point - centre_i|² / (2 variance)) over points (b, d), centres (m, d).

    Logarithms of the weights (m,), or of each point's own (b, m). The Gaussians' constant factor is left out.

    >>> import torch
    >>> float(mixture_loss(torch.zeros(1, 2), torch.tensor([[0.0, 2.0]]), torch.zeros(1), 0.5))
    4.0
    """
    import torch

    distances = points.square().sum(1, keepdim=True) - 2 * points @ centres.T + centres.square().sum(1)
    return -torch.logsumexp(log_weights - distances / (2 * variance), dim=1).mean()


def word_weights(n: int, smoothing: float) -> npt.NDArray[np.float64]:
    """Shares (n,) of words by rank, falling as 1/rank to the power `smoothing`.

    >>> word_weights(2, 1.0).tolist()
    [0.6666666666666666, 0.3333333333333333]
    """
    weights = np.arange(1, n + 1, dtype=np.float64) ** -smoothing
    shares: npt.NDArray[np.float64] = weights / weights.sum()
    return shares


def rank_log_weights(drawn: Any, components: int) -> Any:
    """Log shares (b, components) of components by rank, for words of these ranks (b,), both from 0 on.

    >>> import torch
    >>> rank_log_weights(torch.tensor([1]), 8).exp().argmax(dim=1).tolist()
    [1]
    """
    import torch

    ranks = torch.arange(1, components + 1, dtype=torch.float32).log()
    return torch.log_softmax(-(ranks - ranks[drawn, None]).abs() / RANK_TEMPERATURE, dim=1)


def _seeds(problem: Problem) -> tuple[IntVector, str]:
    if len(problem.pairs):
        return problem.pairs, "given pairs"
    if problem.words is not None:
        rows = {word: j for j, word in enumerate(problem.words[1])}
        same = [(i, rows[word]) for i, word in enumerate(problem.words[0]) if word and word in rows]
        if same:
            return np.array(same, dtype=np.int64), "identical strings"
    raise LexiconError(
        "dema-bwe was given no pairs, and no word is spelt alike on both sides",
        remedy="give a lexicon, or choose an unsupervised method (muse; see `isoglot methods`)",
    )


class _Matching:
    """The epochs of density matching; can be stopped after each of them."""

    def __init__(self, settings: DemaBWE, problem: Problem, pairs: IntVector) -> None:
        self.settings, self.problem, self.pairs = settings, problem, pairs
        self.weights = pair_weights(pairs, balanced=True)
        self.refinement: Refinement | None = None
        self.history: list[dict[str, Any]] = []
        saved = problem.checkpoint.load()
        if saved is None:
            X, Y = problem.X[pairs[:, 0]], problem.Y[pairs[:, 1]]
            self.there = balanced_procrustes(X, Y, self.weights)
            self.back = np.ascontiguousarray(self.there.T)
            self.epoch, self.best = 0, self.there
            self._judge()
            return
        arrays = saved.tensors
        self.there, self.back, self.best = arrays["there"], arrays["back"], arrays["matched"]
        self.epoch = saved.facts["epoch"]
        self.history = list(saved.facts["epochs"])
        if saved.facts["refining"]:
            self.refinement = Refinement.resumed(dataclasses.replace(saved, step=saved.facts["round"]))

    def go(self) -> None:
        """All epochs that are left."""
        while self.refinement is None and self.epoch < self.settings.epochs:
            self.there, self.back = self._trained()
            self.epoch += 1
            self._judge()
            self._save()
            self.problem.progress("matching densities", self.epoch, self.settings.epochs)

    def save_refinement(self, state: Refinement) -> None:
        self.refinement = state
        self._save()

    def _trained(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Both maps after one more epoch; its randomness and its optimiser depend on its number alone."""
        torch = import_torch("density matching")
        work = self.settings.batch * min(self.settings.components, len(self.problem.X)) * self.problem.X.shape[1]
        with few_threads(torch, work):
            return self._stepped(torch)

    def _stepped(self, torch: Any) -> tuple[FloatMatrix, FloatMatrix]:
        settings, problem = self.settings, self.problem
        rng = np.random.default_rng([settings.seed, self.epoch])
        X, Y = (torch.from_numpy(M[: settings.components]) for M in (problem.X, problem.Y))
        shares = [word_weights(len(M), settings.smoothing) for M in (X, Y)]
        logs = [torch.from_numpy(np.log(share).astype(np.float32)) for share in shares]
        there, back = (torch.tensor(W, requires_grad=True) for W in (self.there, self.back))
        rate = settings.rate * 0.1 ** (self.epoch / max(settings.epochs - 1, 1))
        optimiser = torch.optim.Adam([there, back], lr=rate)
        seed_shares = self.weights / self.weights.sum()
        steps = settings.steps
        if settings.looks:
            steps = min(steps, -(-settings.looks * max(len(X), len(Y)) // settings.batch))

        def drawn(M: Any, share: npt.NDArray[np.float64], components: int, weights: Any) -> tuple[Any, Any]:
            """Words of one side, and what the other side's components weigh for them."""
            rows = torch.from_numpy(rng.choice(len(M), size=settings.batch, p=share))
            words = M[rows]
            if settings.noise:
                added = rng.normal(scale=settings.noise**0.5, size=words.shape)
                words = words + torch.from_numpy(added.astype(np.float32))
            if settings.alike_ranks:
                weights = rank_log_weights(rows.clamp(max=components - 1), components)
            return words, weights

        for step in range(steps):
            x, of_tgt = drawn(X, shares[0], len(Y), logs[1])
            y, of_src = drawn(Y, shares[1], len(X), logs[0])
            picked = self.pairs[rng.choice(len(self.pairs), size=settings.batch, p=seed_shares)]
            a, b = torch.from_numpy(problem.X[picked[:, 0]]), torch.from_numpy(problem.Y[picked[:, 1]])
            # The transpose of a map is its inverse: target words go back to where the source's mixture is.
            density = mixture_loss(y @ there.T, X, of_src, settings.variance) + mixture_loss(
                x @ back.T, Y, of_tgt, settings.variance
            )
            tied = _apart(x @ there @ back, x) + _apart(y @ back @ there, y)
            seeded = _apart(a @ there, b) + _apart(b @ back, a)
            # The density is a log likelihood, in units of 1/(2 variance) a squared distance; the others are cosines.
            loss = 2 * settings.variance * density + settings.back_translation * tied + settings.supervision * seeded
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                for W in (there, back):
                    W.copy_(1.5 * W - 0.5 * (W @ W.T @ W))
            problem.progress("density epoch", step + 1, steps)
        return nearest_rotation(there.detach().numpy()), nearest_rotation(back.detach().numpy())

    def _judge(self) -> None:
        words = slice(self.settings.trial)
        X, Y = self.problem.X[words], self.problem.Y[words]
        structural = self.settings.select == "structural"
        found = induce(X, Y, self.there, structural=structural, backend=self.settings.backend)
        row = {"epoch": self.epoch, "semantic": found.criterion, "mutual": found.mutual}
        self.history.append({**row, "structural": found.structural} if structural else row)
        if chosen(self.history, self.settings.select) == len(self.history) - 1:
            self.best = self.there

    def _save(self) -> None:
        arrays: dict[str, npt.NDArray[Any]] = {"there": self.there, "back": self.back, "matched": self.best}
        facts: dict[str, Any] = {"epoch": self.epoch, "epochs": self.history, "refining": self.refinement is not None}
        step = self.epoch
        if self.refinement is not None:
            arrays |= self.refinement.tensors
            facts |= {**self.refinement.facts, "round": self.refinement.round}
            step += self.refinement.round
        self.problem.checkpoint.save(step, arrays, facts)


def _apart(A: Any, B: Any) -> Any:
    """One minus the cosine of matched rows, on average."""
    import torch

    return 1 - torch.nn.functional.cosine_similarity(A, B, dim=1).mean()
