"""Bootstrapping, Algorithm 1 of Zhao & Eger 2022: match densities, under a constraint on pairs that the map induces.

Each round maps the source, takes the best permutation of all points by CSLS as pairs, and trains on: the earth mover's
distance plus the constraint. A permutation, not mutual neighbours: those are right by the map's own account, so that no
constraint on them has anything to say. The constraints ask less than that the pairs fall together, as many of them are
wrong: that each dimension correlates (cross-correlation), or that similarities among words are kept (graph structure).
Procrustes, the usual refinement, is the third choice.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.flows.flow_alignment import import_flow
from isoglot.aligners.flows.gan_realnvp import Adversarial, collapsed, early_stop
from isoglot.aligners.flows.realnvp import learned_flow, new_flow
from isoglot.aligners.flows.selection import Selection
from isoglot.aligners.flows.starts import starting_rotation
from isoglot.aligners.self_learning.refinement import nearest_rotation
from isoglot.retrieval import best_permutation
from isoglot.settings import Limits
from isoglot.spaces import IntVector, drawn_rows

CHOICES = {"of": ("gan-realnvp", "muse"), "constraint": ("cross-correlation", "graph-structure", "procrustes")}


@method(
    "bootstrap",
    "match densities without pairs, under a constraint on the pairs that the map itself induces",
    supervision="unsupervised",
    linear=False,
    cost="rounds x that of gan-realnvp",
    paper="Zhao & Eger 2022",
    iterative=True,
    requires=("flows",),
)
class Bootstrap(Adversarial):
    """Rounds of inducing a permutation and training under a constraint on it; the best round by `select` is kept.

    Differs from the paper:
        - Cross-correlation is the true Pearson correlation; the paper prints it without a square root.
        - Graph structure is divided by the mean square of the similarities.
        - The constraint is weighed by the ratio of gradients (`balanced`); `balanced=no` is the paper's plain sum.
        - It starts from a rotation found without pairs; `start="identity"` is the paper's.
        - `of="muse"` plays the Wasserstein game with a matrix in place of a flow.
        - The best round by the criterion is kept, and compared with chance.

    Args:
        of: "gan-realnvp" trains a flow, "muse" a rotation.
        constraint: "cross-correlation", "graph-structure" or "procrustes".
        rounds: 3 on real data, 10 in simulation, says the paper.
        epochs: of each round.
        balanced: make the constraint's gradient as long as the distance's at the beginning of each epoch. Else both
            are added as they are, as in the paper.
        constraint_weight: of the constraint; with `balanced`, how many times as long its gradient is.
        points: rows of each side that the permutation is over; more are drawn from at random.
    """

    __doc__ = (__doc__ or "").replace("Args:", f"Args:{(Adversarial.__doc__ or '').partition('Args:')[2].rstrip()}")

    of: str = "gan-realnvp"
    constraint: str = "cross-correlation"
    rounds: int = 3
    epochs: int = 1
    balanced: bool = True
    constraint_weight: float = 1.0
    points: int = 20_000

    limits: ClassVar[Limits] = {**CHOICES, "points": "[1, inf)"}

    def _fit(self, problem: Problem) -> Alignment:
        flow = import_flow()
        from isoglot.aligners.flows.networks.critics import Constraint, Game
        from isoglot.aligners.flows.networks.supervised import as_map, prefixed, without_prefix

        selection = Selection(self, problem)
        module = self._module(flow, problem)
        saved = problem.checkpoint.load()
        if saved is None:
            self._start(flow, module, problem)
        there = as_map(module.there)
        game = Game(module, problem.X, problem.Y, self, (self.seed, 1))
        if saved is None:
            best = module.arrays()
            selection.look(there)
        else:
            game.fill(without_prefix(saved.tensors, "game."))
            best = without_prefix(saved.tensors, "best.")
            selection.history = list(saved.facts["history"])
        stopped = False
        total = self.rounds * self.epochs
        for number in range(len(selection.history), self.rounds + 1):
            pairs = self._induced(problem, there, number)
            constraint = None
            if self.constraint != "procrustes":
                draw = (self.seed, number)
                constraint = Constraint(self.constraint, problem, pairs, self.constraint_weight, self.balanced, draw)
            facts: dict[str, Any] = {}
            for epoch in range((number - 1) * self.epochs, number * self.epochs):
                problem.progress("bootstrapping (epochs)", epoch, total)
                fall = (1 - epoch / total, 1 - (epoch + 1) / total) if self.decay else (1.0, 1.0)
                facts = game.epoch(epoch, constraint, fall=fall, progress=problem.progress)
            if self.constraint == "procrustes":
                pairs = self._induced(problem, there, number)
                _turn(module, there(problem.X[pairs[:, 0]]), problem.Y[pairs[:, 1]])
            if collapsed(there(problem.X[drawn_rows(problem.X, self.words, self.seed)]), problem.Y):
                stopped = True
                break
            if selection.look(there, pairs=len(pairs), **facts):
                best = module.arrays()
            tensors = prefixed("game.", game.arrays()) | prefixed("best.", best)
            problem.checkpoint.save(number, tensors, {"history": selection.history})
        problem.progress("bootstrapping (epochs)", total, total)
        module.fill(best)
        info = {**selection.info, "collapsed": stopped, **early_stop("the map collapsed" if stopped else "")}
        info |= self._verdict(problem, there)
        if self.of == "muse":
            return LinearAlignment.learned(W_src=nearest_rotation(best["W"]), info=info)
        return learned_flow(module, best, info)

    def _module(self, flow: Any, problem: Problem) -> Any:
        from isoglot.aligners.flows.networks.critics import Matrix

        if self.of == "muse":
            return Matrix(np.eye(problem.X.shape[1], dtype=np.float32))
        return new_flow(flow, self, problem)

    def _start(self, flow: Any, module: Any, problem: Problem) -> None:
        turn = starting_rotation(self.start, problem, score=self.score, seed=self.seed)
        if self.of == "muse":
            if turn is not None:
                module.fill({"W": turn})
            return
        module.src.start(flow.tensor(problem.X), None if turn is None else flow.tensor(turn))
        module.tgt.start(flow.tensor(problem.Y))

    def _induced(self, problem: Problem, there: Any, number: int) -> IntVector:
        """Rows (p, 2): the best permutation of all points, or of a fresh draw of `points` on each side."""
        rows = [drawn_rows(M, self.points, self.seed, number) for M in (problem.X, problem.Y)]
        permutation = best_permutation(there(problem.X[rows[0]]), problem.Y[rows[1]], score=self.score)
        return np.stack([rows[side][permutation[:, side]] for side in (0, 1)], axis=1)


def _turn(module: Any, mapped: npt.NDArray[np.float32], Y: npt.NDArray[np.float32]) -> None:
    """Put the rotation of these matched rows behind the map."""
    import torch

    turn = torch.from_numpy(procrustes(mapped, Y))
    with torch.no_grad():
        weights = module.W if hasattr(module, "W") else module.after
        weights.copy_(weights.detach() @ turn)
