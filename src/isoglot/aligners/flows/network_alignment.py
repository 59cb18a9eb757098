"""`NetworkAlignment`: what plain networks learn, and how. The source goes through the network."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, Side, Tensors
from isoglot.aligners.base import Problem
from isoglot.aligners.flows.selection import PairTrained, Selection
from isoglot.errors import ShapeError
from isoglot.spaces import FloatMatrix


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkAlignment(Alignment):
    """The source goes through a network with tanh after its layers; the target stays as it is.

    weights: "weight0", "bias0" and so on, layer by layer, and either "reach" (1,), by which the last tanh is
    multiplied, or "turn" (d, d), a matrix beside the network, whose last layer then has no tanh.
    """

    weights: dict[str, npt.NDArray[Any]] = dataclasses.field(default_factory=dict)

    kind: ClassVar[str] = "network"

    def _map(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        if side == "tgt":
            return X
        d = len(self.weights["weight0"])
        if X.shape[1] != d:
            raise ShapeError(f"vectors have {X.shape[1]} dimensions, the {side} network takes {d}")
        hidden, layers, turn = X, self._layers, self.weights.get("turn")
        for i in range(layers):
            hidden = hidden @ self.weights[f"weight{i}"] + self.weights[f"bias{i}"]
            hidden = hidden if turn is not None and i == layers - 1 else np.tanh(hidden)
        mapped = hidden * self.weights["reach"] if turn is None else X @ turn + hidden
        return np.asarray(mapped, dtype=np.float32)

    @property
    def _layers(self) -> int:
        return len(self.weights) // 2

    def _check_maps(self) -> None:
        layers = self._layers
        one = {"turn"} if "turn" in self.weights else {"reach"}
        names = {f"{name}{i}" for name in ("weight", "bias") for i in range(layers)} | one
        if not layers or self.weights.keys() != names:
            raise ShapeError(f"{len(self.weights)} weights are not those of a network")
        d = size = self.src_normaliser.output_dim or len(self.weights["weight0"])
        for i in range(layers):
            weight, bias = self.weights[f"weight{i}"], self.weights[f"bias{i}"]
            if weight.ndim != 2 or len(weight) != size or bias.shape != weight.shape[1:]:
                raise ShapeError(f"layer {i} has shapes {weight.shape} and {bias.shape} after {size} dimensions")
            size = weight.shape[1]
        wanted = {"turn": (d, d), "reach": (1,)}
        if any(self.weights[name].shape != wanted[name] for name in one):
            raise ShapeError(f"{one} of other dimensions than the network's {d}")
        if size != d or self.tgt_normaliser.output_dim not in (None, d):
            raise ShapeError(f"a network of {size} dimensions between spaces of others")

    def _tensors(self) -> Tensors:
        return self.weights

    @classmethod
    def _from_tensors(cls, tensors: Tensors, **common: Any) -> NetworkAlignment:
        return cls(**common, weights=dict(tensors))


def train_network(aligner: PairTrained, network: Any, problem: Problem, selection: Selection) -> NetworkAlignment:
    """The network whose mapped words come nearest to their translations, by the squared distance."""
    from isoglot.aligners.flows.networks.supervised import train_on_pairs

    def loss(x: Any, y: Any) -> Any:
        return (network.there(x) - y).square().sum(dim=1).mean()

    weights = train_on_pairs(aligner, network, loss, problem, selection, "training a network (epochs)")
    return NetworkAlignment.learned(info=selection.info, weights=weights)
