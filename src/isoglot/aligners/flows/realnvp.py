"""Real-NVP: an invertible non-linear map from pairs, with a density of each language.

Zhao & Eger 2022, "Constrained density matching and modeling for cross-lingual alignment of contextualized
representations". Two stacks of couplings meet in one Gaussian; pairs pull the map, and the likelihood of both languages
keeps it from bending space where there are none. No code was released with the paper. What it leaves open is a
setting here, and docs/density.md gives the measured reason for each choice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.base import Problem, method
from isoglot.aligners.flows.flow_alignment import FlowAlignment, import_flow
from isoglot.aligners.flows.selection import PairTrained, Selection
from isoglot.aligners.flows.starts import STARTS, starting_rotation
from isoglot.errors import ConfigError
from isoglot.settings import Limits

if TYPE_CHECKING:
    from isoglot.aligners.flows.networks.stacks import FlowPair

#: A schedule for thousands of pairs: batches that keep a CPU busy, and fewer looks at each pair at a falling rate.
FAST: Mapping[str, Any] = {"batch": 256, "rate": 1e-3, "epochs": 8, "optimiser": "adam", "decay": True}


@method(
    "realnvp",
    "an invertible non-linear map with a density of each language; where languages differ in shape",
    supervision="supervised",
    linear=False,
    cost="epochs x pairs through two stacks of small networks: minutes for 5,000 pairs",
    paper="Zhao & Eger 2022",
    iterative=True,
    requires=("flows",),
)
class RealNVP(PairTrained):
    """Minimise `|f(x) - y|² + |f⁻¹(y) - x|²` over the pairs, minus `weight` times the log-likelihoods of x and y.

    Differs from the paper:
        - The rotation of the pairs stands before the couplings (`start`), and couplings start as the identity.
        - The number of couplings and of epochs is our choice, as the paper does not say.
        - Epoch 0, the start, takes part when the best epoch is chosen.

    Args:
        preset: "fast" sets batch, rate, epochs, optimiser and decay to those of `FAST`, wherever they are not changed
            from their defaults. For thousands of pairs: on the 3,000 generated
            pairs of 64 dimensions by which it was chosen (a bent target, hidden=256), it took 10 s of CPU time for P@1
            .601, the paper's 34 s for .572; a rotation has .355. See docs/speed.md for larger ones.
        couplings: in each of the two stacks. The paper does not say.
        hidden: width of the two hidden layers of each coupling's network.
        permute: mix dimensions at random between couplings; else even and odd ones take turns.
        start: "procrustes" puts the rotation of the pairs in front of the couplings, "searched" one that is found
            without pairs, "identity" nothing, as in the paper. Couplings never turn a space inside out: without it,
            half of all rotations and reflections are out of their reach.
        identity: whether couplings start as the identity; else at random, as networks usually do.
        batch, rate, epochs, optimiser: of the training; "rmsprop" or "adam". The paper's batch of 32, rate of 1e-4.
        decay: let the rate fall to nothing towards the end.
        least_steps: steps of an epoch at least, however few pairs there are; 0 for one look at each pair.
        weight: of the likelihoods. Distances grow with the square of the vectors' length, likelihoods do not: at the
            start, on 512 generated pairs of 300 dimensions, the gradient of the weighted likelihoods is 6.2% of the
            distances' for vectors of length one, .06% for length ten, 6 in a million for length 100. A weight times the
            square of the length acts alike.
        select: which epoch to keep, see `isoglot.aligners.flows.selection.Selection`.
        score: by which the criteria induce translations; "csls-euclidean" for spaces of few dimensions.
        words: the criteria ask for the translations of so many source rows, among five times as many of the target,
            all of them drawn at random.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    >>> alignment = RealNVP(normalise="none", hidden=8, epochs=2).fit(X, X + [1, 0], [[i, i] for i in range(64)])
    >>> back = alignment.inverse_transform(alignment.transform(X))
    >>> bool(np.allclose(back, X, atol=1e-4)), alignment.log_prob(X).shape, alignment.sample(5, "tgt").shape
    (True, (64,), (5, 2))
    """

    preset: str = "paper"
    couplings: int = 4
    hidden: int = 512
    permute: bool = False
    start: str = "procrustes"
    identity: bool = True
    weight: float = 1e-4

    limits: ClassVar[Limits] = {
        "preset": ("paper", "fast"),
        "couplings": "[1, inf)",
        "hidden": "[1, inf)",
        "start": STARTS,
    }

    def _fit(self, problem: Problem) -> Alignment:
        if self.preset == "fast":
            usual = {field.name: field.default for field in dataclasses.fields(self)}
            quicker = {name: value for name, value in FAST.items() if getattr(self, name) == usual[name]}
            return dataclasses.replace(self, preset="paper", **quicker)._fit(problem)
        flow = import_flow()
        from isoglot.aligners.flows.networks.supervised import train_on_pairs

        selection = Selection(self, problem)
        pair = new_flow(flow, self, problem)
        turn = starting_rotation(self.start, problem, selection.learn, score=self.score, seed=self.seed)
        pair.src.start(flow.tensor(problem.X), None if turn is None else flow.tensor(turn))
        pair.tgt.start(flow.tensor(problem.Y))

        def loss(x: Any, y: Any) -> Any:
            mapped, log_x = pair.dual_there(x)
            unmapped, log_y = pair.dual_back(y)
            matching = (mapped - y).square().sum(dim=1) + (unmapped - x).square().sum(dim=1)
            return (matching - self.weight * (log_x + log_y)).mean()

        weights = train_on_pairs(self, pair, loss, problem, selection, "training Real-NVP (epochs)")
        return learned_flow(pair, weights, selection.info)


def new_flow(flow: Any, settings: Any, problem: Problem) -> FlowPair:
    """Two stacks with the settings' shape, before any start."""
    d = problem.X.shape[1]
    if d < 2:
        raise ConfigError(f"couplings need two dimensions, the vectors have {d}")
    shape = flow.FlowShape(d, settings.couplings, (settings.hidden, settings.hidden), settings.permute)
    pair: FlowPair = flow.FlowPair(shape, settings.seed, identity=settings.identity)
    return pair


def learned_flow(pair: FlowPair, weights: Any, info: Any) -> FlowAlignment:
    """The alignment for `_fit` to return."""
    shape = dataclasses.asdict(pair.shape)
    shape["hidden"] = list(shape["hidden"])
    return FlowAlignment.learned(info={**info, "flow": shape}, weights=weights, shape=shape)
