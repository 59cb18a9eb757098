"""A plain network from pairs: three layers with tanh, the non-linear baseline of Zhao & Eger 2022."""

from __future__ import annotations

from typing import ClassVar

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.base import Problem, method
from isoglot.aligners.flows.network_alignment import train_network
from isoglot.aligners.flows.selection import PairTrained, Selection
from isoglot.settings import Limits
from isoglot.threads import import_torch

#: How far beyond the largest number of the targets the last tanh reaches: it never gets to its end.
BEYOND = 1.1


@method(
    "fcnn",
    "a network of three layers with tanh after each; the plain non-linear baseline of the paper",
    supervision="supervised",
    linear=False,
    cost="epochs x pairs through three layers of 1024: minutes for 5,000 pairs",
    paper="Zhao & Eger 2022",
    iterative=True,
    requires=("torch",),
)
class FCNN(PairTrained):
    """Minimise `|f(x) - y|²` over the pairs, f three fully connected layers with tanh after each.

    `residual-network` is the better network.

    Differs from the paper:
        - Where the targets have numbers beyond 1, which tanh does not reach, the last tanh is multiplied by 1.1 times
          the largest of them.
        - The number of epochs is our choice, as the paper does not say.

    Args:
        hidden: width of the first two layers; the third gives the map.
        batch, rate, epochs, optimiser, decay, least_steps: of the training, as in `realnvp`; the paper's
            Adam, 1e-4, 32.
        select, score, words: which epoch to keep, as in `realnvp`.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    >>> pairs = [[i, i] for i in range(64)]
    >>> alignment = FCNN(normalise="none", hidden=8, epochs=2).fit(X, X @ [[0, 1], [-1, 0]], pairs)
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
        d = problem.X.shape[1]
        largest = float(abs(problem.Y[selection.learn[:, 1]]).max(initial=0.0))
        reach = BEYOND * largest if largest > 1 else 1.0
        network = Network([d, self.hidden, self.hidden, d], self.seed, reach=reach)
        return train_network(self, network, problem, selection)
