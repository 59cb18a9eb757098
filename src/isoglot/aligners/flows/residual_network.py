"""A network from pairs that learns what the rotation of the pairs leaves over."""

from __future__ import annotations

from typing import ClassVar

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.base import Problem, method
from isoglot.aligners.flows.network_alignment import train_network
from isoglot.aligners.flows.selection import PairTrained, Selection
from isoglot.aligners.flows.starts import starting_rotation
from isoglot.settings import Limits
from isoglot.threads import import_torch


@method(
    "residual-network",
    "the rotation of the pairs and a network beside it, which learns what that leaves over",
    supervision="supervised",
    linear=False,
    cost="epochs x pairs through three layers of 1024: minutes for 5,000 pairs",
    paper="after Zhao & Eger 2022",
    iterative=True,
    requires=("torch",),
)
class ResidualNetwork(PairTrained):
    """Minimise `|x W + f(x) - y|²` over the pairs, W their rotation, f three hidden tanh layers and a linear way out.

    The network starts at zero, so that epoch 0 is the rotation.

    Differs from the paper:
        - The paper's network (`fcnn`) has no rotation beside it, and tanh after its last layer as well.

    Args:
        hidden: width of the three layers.
        batch, rate, epochs, optimiser, decay, least_steps: of the training, as in `realnvp`.
        select, score, words: which epoch to keep, as in `realnvp`.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    >>> pairs = [[i, i] for i in range(64)]
    >>> alignment = ResidualNetwork(normalise="none", hidden=8, epochs=2).fit(X, X @ [[0, 1], [-1, 0]], pairs)
    >>> alignment.transform(X).shape
    (64, 2)
    """

    hidden: int = 1024
    optimiser: str = "adam"

    limits: ClassVar[Limits] = {"hidden": "[1, inf)"}

    def _fit(self, problem: Problem) -> Alignment:
        import_torch("a network")
        from isoglot.aligners.flows.networks.plain_networks import Network

        selection = Selection(self, problem)
        turn = starting_rotation("procrustes", problem, selection.learn, score=self.score, seed=self.seed)
        d = problem.X.shape[1]
        network = Network([d, *[self.hidden] * 3, d], self.seed, turn=turn)
        return train_network(self, network, problem, selection)
