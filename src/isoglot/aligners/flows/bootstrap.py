"""Bootstrapping (Algorithm 1 of Zhao & Eger 2022): an unsupervised map is trained on with pairs that it found itself.

Each round maps the source, takes the mutual CSLS translations as pairs, and trains again: the earth mover's distance as
before, plus a constraint on those pairs. The constraints ask less than that the pairs fall together, as many of them
are wrong: that each dimension correlates (cross-correlation), or that similarities among words are kept (graph
structure). Procrustes, the usual refinement, is the third choice.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.flows.flow_alignment import import_flow
from isoglot.aligners.flows.gan_realnvp import Adversarial, GanRealNVP, collapsed, early_stop
from isoglot.aligners.flows.realnvp import learned_flow
from isoglot.aligners.flows.selection import Selection
from isoglot.aligners.self_learning.refinement import nearest_rotation
from isoglot.retrieval import Retriever
from isoglot.settings import Limits
from isoglot.spaces import IntVector

CHOICES = {"of": ("gan-realnvp", "muse"), "constraint": ("cross-correlation", "graph-structure", "procrustes")}
#: Fewer pairs than this teach nothing, so the rounds end.
LEAST_PAIRS = 10


@method(
    "bootstrap",
    "train an unsupervised map further on the pairs that it finds itself, under a constraint",
    supervision="unsupervised",
    linear=False,
    cost="that of gan-realnvp or muse, and as much again for its rounds",
    paper="Zhao & Eger 2022",
    iterative=True,
    requires=("flows",),
)
class Bootstrap(Adversarial):
    """Rounds of inducing pairs and training under a constraint on them; the best round by the criterion is kept.

    Differs from the paper:
        - Cross-correlation is the true Pearson correlation; the paper prints it without a square root.
        - Graph structure is divided by the mean square of the similarities.
        - `of="muse"` starts from the starts that take seconds, not from the adversarial one.
        - The best round by the criterion is kept, and compared with chance.

    Args:
        of: the map to go on from: "gan-realnvp" (a flow) or "muse" (a rotation, its starts that take seconds).
        constraint: "cross-correlation", "graph-structure" or "procrustes".
        rounds: 3 on real data, 10 in simulation, says the paper.
        constraint_weight: of the constraint beside the distance; the paper adds both as they are.
    """

    __doc__ = f"{__doc__}{(Adversarial.__doc__ or '').partition('Args:')[2]}"

    of: str = "gan-realnvp"
    constraint: str = "cross-correlation"
    rounds: int = 3
    constraint_weight: float = 1.0

    limits: ClassVar[Limits] = CHOICES

    def _fit(self, problem: Problem) -> Alignment:
        import_flow()
        from isoglot.aligners.flows.networks.critics import Game, dual_constraint
        from isoglot.aligners.flows.networks.supervised import as_map, prefixed, without_prefix

        selection = Selection(self, problem)
        saved = problem.checkpoint.load()
        if saved is None or "bootstrap" not in saved.facts:
            # The first part keeps its own state in the same file.
            start = self._first(problem)
            first, info = start._tensors(), dict(start.info)
        else:
            first, info = without_prefix(saved.tensors, "best."), saved.facts["bootstrap"]
        module = self._module(first, info)
        there = as_map(module.there)
        game = Game(module, problem.X, problem.Y, self, (self.seed, 1))
        best = module.arrays()
        if saved is None or "bootstrap" not in saved.facts:
            selection.look(there)
        else:
            game.fill(without_prefix(saved.tensors, "game."))
            selection.history = list(saved.facts["history"])
        stopped, reason = False, ""
        for number in range(len(selection.history), self.rounds + 1):
            problem.progress("bootstrapping (rounds)", number - 1, self.rounds)
            pairs = self._induced(problem, there)
            if len(pairs) < LEAST_PAIRS:
                reason = f"only {len(pairs)} words translate each other"
                break
            if self.constraint == "procrustes":
                _turn(module, there(problem.X[pairs[:, 0]]), problem.Y[pairs[:, 1]])
                facts: dict[str, Any] = {}
            else:
                draw = (self.seed, number)
                constraint = dual_constraint(
                    self.constraint, module, problem, pairs, weight=self.constraint_weight, seed=draw
                )
                # Half of the rate that the map itself was trained with: it need not go far any more.
                facts = game.epoch(
                    number - 1, constraint, fall=(0.5, 0.0 if self.decay else 0.5), progress=problem.progress
                )
            if collapsed(there(problem.X[: self.words]), problem.Y):
                stopped, reason = True, "the map collapsed"
                break
            if selection.look(there, pairs=len(pairs), **facts):
                best = module.arrays()
            tensors = prefixed("game.", game.arrays()) | prefixed("best.", best)
            problem.checkpoint.save(number, tensors, {"history": selection.history, "bootstrap": info})
        problem.progress("bootstrapping (rounds)", self.rounds, self.rounds)
        module.fill(best)
        kept = {**selection.info, "collapsed": stopped, "start": info, **early_stop(reason)}
        kept |= self._verdict(problem, there)
        if self.of == "muse":
            return LinearAlignment.learned(W_src=nearest_rotation(best["W"]), info=kept)
        return learned_flow(module, best, kept)

    def _first(self, problem: Problem) -> Alignment:
        """What `of` finds."""
        if self.of == "muse":
            return LinearAlignment.learned(W_src=self._turn(problem))
        names = [field.name for field in dataclasses.fields(GanRealNVP)]
        return GanRealNVP(**{name: getattr(self, name) for name in names})._fit(problem)

    def _module(self, weights: Any, info: Any) -> Any:
        from isoglot.aligners.flows.networks.critics import Matrix
        from isoglot.aligners.flows.networks.stacks import FlowPair, FlowShape

        if self.of == "muse":
            return Matrix(weights["W_src"] if "W_src" in weights else weights["W"])
        return FlowPair(FlowShape.of(info["flow"])).fill(weights)

    def _induced(self, problem: Problem, there: Any) -> IntVector:
        """Rows (p, 2) that translate each other both ways, among the first words of each side."""
        mapped, Y = there(problem.X[: self.words]), problem.Y[: self.words]
        return Retriever(mapped, Y, score=self.score, backend="auto").mutual().pairs


def _turn(module: Any, mapped: npt.NDArray[np.float32], Y: npt.NDArray[np.float32]) -> None:
    """Put the rotation of these matched rows behind the map."""
    import torch

    turn = torch.from_numpy(procrustes(mapped, Y))
    with torch.no_grad():
        weights = module.W if hasattr(module, "W") else module.after
        weights.copy_(weights.detach() @ turn)
