"""A plain network from pairs: three layers with tanh, the non-linear baseline of Zhao & Eger 2022."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, Side, Tensors
from isoglot.aligners.base import Problem, method
from isoglot.aligners.flows.realnvp import PairTrained, linear_start
from isoglot.aligners.flows.selection import Selection
from isoglot.errors import ShapeError
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix
from isoglot.threads import import_torch


@method(
    "fcnn",
    "a network of three tanh layers; the plain non-linear baseline",
    supervision="supervised",
    linear=False,
    cost="epochs x pairs through three layers of 1024: minutes for 5,000 pairs",
    paper="Zhao & Eger 2022",
    iterative=True,
    requires=("torch",),
)
class FCNN(PairTrained):
    """Minimise `|f(x) - y|²` over the pairs, f a network of three hidden layers with tanh and a linear way out.

    Differs from the paper:
        - The network learns what is left after the rotation of the pairs; `start="none"` is that of the paper.

    Args:
        hidden: width of the three layers.
        start: "procrustes" lets the network learn what is left after the rotation of the pairs; "none" is the network
            alone, as in the paper, which needs far more pairs and epochs than dimensions.
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
        from isoglot.aligners.flows.networks.plain_network import Network
        from isoglot.aligners.flows.networks.supervised import train_on_pairs

        selection = Selection(self, problem)
        turn = linear_start(self.start, problem, selection.learn)
        network = Network(problem.X.shape[1], self.hidden, self.seed, turn)

        def loss(x: Any, y: Any) -> Any:
            return (network.there(x) - y).square().sum(dim=1).mean()

        weights = train_on_pairs(self, network, loss, problem, selection, "training a network (epochs)")
        return NetworkAlignment.learned(info=selection.info, weights=weights)


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkAlignment(Alignment):
    """The source goes through a network, and a matrix beside it; the target stays as it is.

    weights: "turn" (d, d), and "weight0", "bias0" and so on, layer by layer.
    """

    weights: dict[str, npt.NDArray[Any]] = dataclasses.field(default_factory=dict)

    kind: ClassVar[str] = "network"

    def _map(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        if side == "tgt":
            return X
        d = len(self.weights["turn"])
        if X.shape[1] != d:
            raise ShapeError(f"vectors have {X.shape[1]} dimensions, the {side} network takes {d}")
        layers = len(self.weights) // 2
        hidden = X
        for i in range(layers):
            hidden = hidden @ self.weights[f"weight{i}"] + self.weights[f"bias{i}"]
            hidden = np.tanh(hidden) if i < layers - 1 else hidden
        return np.asarray(X @ self.weights["turn"] + hidden, dtype=np.float32)

    def _check_maps(self) -> None:
        d = self.src_normaliser.output_dim or len(self.weights["turn"])
        size = d
        for i in range(len(self.weights) // 2):
            weight, bias = self.weights[f"weight{i}"], self.weights[f"bias{i}"]
            if weight.ndim != 2 or len(weight) != size or bias.shape != weight.shape[1:]:
                raise ShapeError(f"layer {i} has shapes {weight.shape} and {bias.shape} after {size} dimensions")
            size = weight.shape[1]
        if size != d or self.weights["turn"].shape != (d, d) or self.tgt_normaliser.output_dim not in (None, d):
            raise ShapeError(f"a network of {size} dimensions between spaces of others")

    def _tensors(self) -> Tensors:
        return self.weights

    @classmethod
    def _from_tensors(cls, tensors: Tensors, **common: Any) -> NetworkAlignment:
        return cls(**common, weights=dict(tensors))
