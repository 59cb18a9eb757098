"""`FlowAlignment`: what Real-NVP and its kin learn. The source is mapped onto the target, and back; densities."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, Side, Tensors, as_matrix
from isoglot.errors import ConfigError, MissingExtraError, ShapeError
from isoglot.spaces import FloatMatrix
from isoglot.threads import import_torch

if TYPE_CHECKING:
    from isoglot.aligners.flows.networks.stacks import FlowPair


def import_flow() -> Any:
    """The module of flows, or an error that says what to install."""
    import_torch("a normalizing flow")
    try:
        import zuko  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("zuko", "flows", "a normalizing flow") from error
    from isoglot.aligners.flows.networks import stacks as flow

    return flow


@dataclasses.dataclass(frozen=True, eq=False)
class FlowAlignment(Alignment):
    """The shared space is the target's own: the target side stays as it is, the source goes through the flow.

    Args:
        weights: of the two stacks, by name. shape: how to build them.

    Densities are those of each side's *normalised* vectors.
    """

    weights: Mapping[str, npt.NDArray[Any]] = dataclasses.field(default_factory=dict)
    shape: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    kind: ClassVar[str] = "flow"

    @property
    def invertible(self) -> bool:
        return True

    def log_prob(self, X: npt.ArrayLike, side: Side = "src") -> npt.NDArray[np.float32]:
        """The logarithm of the density of each vector (n, d) under its side's flow, (n,)."""
        from isoglot.aligners.flows.networks.supervised import in_blocks

        Xn = self._checked(self.normalise(X, side), side)
        return in_blocks(getattr(self._flow, side).log_prob, Xn)[:, 0]

    def sample(self, n: int, side: Side = "src", seed: int = 0) -> FloatMatrix:
        """n vectors of one side's normalised space, drawn from its density."""
        from isoglot.aligners.flows.networks.supervised import in_blocks

        self.normaliser(side)  # refuses an unknown side
        if n < 1:
            raise ConfigError(f"must be at least 1, not {n}", where="n")
        latent = np.random.default_rng(seed).standard_normal((n, self.shape["dim"])).astype(np.float32)
        return in_blocks(getattr(self._flow, side).from_latent, latent)

    def _map(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        from isoglot.aligners.flows.networks.supervised import in_blocks

        X = self._checked(X, side)
        return X if side == "tgt" else in_blocks(self._flow.there, X)

    def _unmap(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        from isoglot.aligners.flows.networks.supervised import in_blocks

        X = self._checked(X, side)
        return X if side == "tgt" else in_blocks(self._flow.back, X)

    def _checked(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        X = as_matrix(X)
        if X.shape[1] != self.shape["dim"]:
            raise ShapeError(f"vectors have {X.shape[1]} dimensions, the {side} flow takes {self.shape['dim']}")
        return X

    @cached_property
    def _flow(self) -> FlowPair:
        flow = import_flow()
        pair: FlowPair = flow.FlowPair(flow.FlowShape.of(self.shape)).fill(self.weights)
        return pair

    def _check_maps(self) -> None:
        d, couplings, hidden = (self.shape[name] for name in ("dim", "couplings", "hidden"))
        if not all(type(size) is int for size in (d, couplings, *hidden)):
            raise ShapeError("a flow of unknown size")
        if any(n.output_dim not in (None, d) for n in (self.src_normaliser, self.tgt_normaliser)):
            raise ShapeError(f"a flow of {d!r} dimensions behind a normalisation of others")
        wanted: dict[str, tuple[int, ...]] = {"after": (d, d)}
        for side in ("src", "tgt"):
            wanted |= {f"{side}.turn": (d, d), f"{side}.mean": (d,), f"{side}.deviation": (d,)}
            # Not by `couplings` itself: an edited file may say any number.
            for i in {name.split(".")[2] for name in self.weights if name.startswith(f"{side}.couplings.")}:
                mask = f"{side}.couplings.{i}.mask"
                wanted[mask] = (d,)
                # A coupling reads the numbers under its mask, and gives the others a shift and a scale each.
                read = int(np.count_nonzero(self.weights[mask]))
                for layer, (before, after) in enumerate(itertools.pairwise([read, *hidden, 2 * (d - read)])):
                    wanted[f"{side}.couplings.{i}.hyper.{2 * layer}.weight"] = (after, before)
                    wanted[f"{side}.couplings.{i}.hyper.{2 * layer}.bias"] = (after,)
        sizes = {name: value.shape for name, value in self.weights.items()}
        numbers = sum(name.endswith(".mask") for name in wanted)
        if wanted.keys() != sizes.keys() or not isinstance(self.shape["permute"], bool) or numbers != 2 * couplings:
            raise ShapeError(f"{len(sizes)} weights are not those of {couplings!r} couplings")
        for name, shape in wanted.items():
            if shape != sizes[name]:
                raise ShapeError(f"{name} has shape {sizes[name]}")

    def _tensors(self) -> Tensors:
        return dict(self.weights)

    @classmethod
    def _from_tensors(cls, tensors: Tensors, **common: Any) -> FlowAlignment:
        return cls(**common, weights=dict(tensors), shape=common["info"]["flow"])
