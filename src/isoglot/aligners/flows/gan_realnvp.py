"""GAN-Real-NVP: the flow of `realnvp` without pairs, matched to the target by critics.

Zhao & Eger 2022, section 3.2. Adversarial training often ends nowhere, so it starts from a rotation that is found
without pairs, stops when it collapses, keeps the epoch that the semantic criterion likes best, and says at the end
whether that is better than chance.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.base import Problem, method
from isoglot.aligners.flows.flow_alignment import import_flow
from isoglot.aligners.flows.realnvp import learned_flow, new_flow
from isoglot.aligners.flows.selection import Selection, Trained
from isoglot.aligners.flows.starts import STARTS, starting_rotation
from isoglot.aligners.verdict import WORDS, judged_mapped
from isoglot.errors import ConfigError
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, drawn_rows

#: A map whose words lie closer together than this share of the target's spread, or further apart than the inverse.
COLLAPSED = 0.2


@dataclasses.dataclass(frozen=True)
class Adversarial(Trained):
    """Settings of everything that plays the Wasserstein game.

    Args:
        couplings, hidden, permute, identity: of the flow, as in `realnvp`.
        epochs: how many.
        steps, batch: steps of an epoch, each with `batch` words per side.
        rate, optimiser: of the map, "rmsprop" or "adam". The paper's rate is 1e-6, with which hardly anything moves in
            the time a CPU has.
        decay: let the map's rate fall to nothing towards the end.
        distance: "critic" for the paper's game, or "sliced": the sliced Wasserstein distance between larger batches
            (Rabin et al. 2011), which needs no critics and cannot collapse; for spaces of few dimensions, as random
            directions tell little in many.
        critic_rate, critic_steps, critic: rate, steps for one of the map, and width of the critics.
        lipschitz: "penalty" on critics' gradients that are not of length one (Gulrajani et al. 2017), "clipping" of
            their weights (Arjovsky et al. 2017), or "spectral": no matrix of theirs stretches anything (Miyato et al.
            2018), which costs less than the penalty.
        weight: of the likelihoods; how much it counts depends on the vectors' length, see `realnvp`.
        start: "searched" looks for a rotation without pairs first (the starts of `muse` that take seconds),
            "procrustes" learns one from the pairs that the identity induces, for spaces that are nearly shared, and
            "identity" is the paper's: nothing.
        select, score, words: which epoch to keep, as in `realnvp`; there are no pairs for "validation".
    """

    couplings: int = 4
    hidden: int = 512
    permute: bool = False
    identity: bool = True
    epochs: int = 10
    steps: int = 100
    rate: float = 1e-5
    decay: bool = True
    distance: str = "critic"
    critic_rate: float = 1e-3
    critic_steps: int = 5
    critic: int = 256
    lipschitz: str = "penalty"
    weight: float = 1e-4
    start: str = "searched"

    limits: ClassVar[Limits] = {
        "couplings": "[1, inf)",
        "hidden": "[1, inf)",
        "steps": "[1, inf)",
        "distance": ("critic", "sliced"),
        "critic_rate": "(0, inf)",
        "critic_steps": "[1, inf)",
        "critic": "[1, inf)",
        "lipschitz": ("penalty", "clipping", "spectral"),
        "start": STARTS,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.select == "validation":
            raise ConfigError("there are no pairs to validate on", where="select", remedy="select=semantic")

    def _verdict(self, problem: Problem, there: Any) -> dict[str, Any]:
        mapped = there(problem.X[:WORDS])
        return judged_mapped(problem, mapped, problem.Y[:WORDS], seed=self.seed, score=self.score).info


@method(
    "gan-realnvp",
    "the invertible non-linear map without pairs, by matching densities; says whether it worked",
    supervision="unsupervised",
    linear=False,
    cost="epochs of adversarial training of small networks: minutes",
    paper="Zhao & Eger 2022",
    iterative=True,
    requires=("flows",),
)
class GanRealNVP(Adversarial):
    """Minimise the earth mover's distance between mapped and real words of both sides, minus the log-likelihoods.

    `info["aligned"]` tells whether it worked; `info["collapsed"]` whether the game had to be stopped. Settings are
    those of `Adversarial`.

    Differs from the paper:
        - It starts from a rotation found without pairs.
        - The rate is 1e-5, not 1e-6.
        - `distance="sliced"` is ours.
        - Training stops when the mapped words collapse, and the result is compared with chance.
    """

    __doc__ = f"{__doc__}\n{(Adversarial.__doc__ or '').partition('game.')[2]}"

    def _fit(self, problem: Problem) -> Alignment:
        flow = import_flow()
        from isoglot.aligners.flows.networks.critics import Game
        from isoglot.aligners.flows.networks.supervised import as_map, prefixed, without_prefix

        selection = Selection(self, problem)
        pair = new_flow(flow, self, problem)
        there = as_map(pair.there)
        saved = problem.checkpoint.load()
        if saved is None:
            turn = starting_rotation(self.start, problem, score=self.score, seed=self.seed)
            pair.src.start(flow.tensor(problem.X), None if turn is None else flow.tensor(turn))
            pair.tgt.start(flow.tensor(problem.Y))
        game = Game(pair, problem.X, problem.Y, self, (self.seed,))
        if saved is None:
            selection.look(there)
            best = pair.arrays()
        else:
            game.fill(without_prefix(saved.tensors, "game."))
            best = without_prefix(saved.tensors, "best.")
            selection.history = list(saved.facts["history"])
        stopped = False
        for epoch in range(len(selection.history), self.epochs + 1):
            problem.progress("matching densities (epochs)", epoch - 1, self.epochs)
            fall = ((1 - (epoch - 1) / self.epochs), 1 - epoch / self.epochs) if self.decay else (1.0, 1.0)
            facts = game.epoch(epoch - 1, fall=fall, progress=problem.progress)
            if collapsed(there(problem.X[drawn_rows(problem.X, self.words, self.seed)]), problem.Y):
                stopped = True
                break
            if selection.look(there, **facts):
                best = pair.arrays()
            tensors = prefixed("game.", game.arrays()) | prefixed("best.", best)
            problem.checkpoint.save(epoch, tensors, {"history": selection.history})
        problem.progress("matching densities (epochs)", self.epochs, self.epochs)
        pair.fill(best)
        told = {"collapsed": stopped, **early_stop("the map collapsed" if stopped else "")}
        return learned_flow(pair, best, {**selection.info, **told, **self._verdict(problem, there)})


def early_stop(reason: str) -> dict[str, Any]:
    """What an Alignment tells of a training that ended before its time; nothing without a reason.

    >>> early_stop("the map collapsed")
    {'warning': 'stopped early: the map collapsed; the best map before that was kept'}
    """
    return {"warning": f"stopped early: {reason}; the best map before that was kept"} if reason else {}


def collapsed(mapped: FloatMatrix, Y: FloatMatrix) -> bool:
    """Whether the mapped words have shrunk to a point, flown apart, or are no numbers any more.

    >>> collapsed(np.ones((5, 2)), np.eye(2)), collapsed(np.eye(2), np.eye(2) * 2)
    (True, False)
    """
    if not np.isfinite(mapped).all():
        return True
    # In float64: the squares of what has flown apart exceed float32.
    spread, wanted = (M.std(axis=0, dtype=np.float64).mean() for M in (mapped, Y))
    share = float(spread / max(wanted, 1e-12))
    return not COLLAPSED < share < 1 / COLLAPSED
