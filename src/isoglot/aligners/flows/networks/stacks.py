"""Two Real-NVP stacks that meet in one Gaussian: the map of Zhao & Eger 2022, on zuko's couplings.

Dinh, Sohl-Dickstein and Bengio 2017, "Density estimation using Real NVP" (https://arxiv.org/abs/1605.08803). A coupling
leaves one half of the numbers alone and scales and shifts the other half by what a small network reads off the first:
so it is undone exactly, and the determinant of its derivative is the product of the scales.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from zuko.flows.coupling import GeneralCouplingTransform
from zuko.transforms import CouplingTransform, MonotonicAffineTransform

from isoglot.aligners.flows.networks._kernels import affine, affine_inverse
from isoglot.errors import FormatError
from isoglot.spaces import FloatMatrix

#: A coupling scales no number by more than this or by less than one over it, so that float32 can go back.
LARGEST_SCALE = 10.0
_LOG_LARGEST = math.log(LARGEST_SCALE)


@dataclasses.dataclass(frozen=True)
class FlowShape:
    """What must be known to build a FlowPair before its weights are filled in.

    Args:
        dim: of the vectors.
        couplings: in each of the two stacks.
        hidden: widths of the hidden layers of a coupling's network.
        permute: mix the dimensions at random between couplings; else even and odd ones take turns.
    """

    dim: int
    couplings: int
    hidden: tuple[int, ...]
    permute: bool

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> FlowShape:
        """From what `dataclasses.asdict` gave, perhaps by way of JSON."""
        return cls(record["dim"], record["couplings"], tuple(record["hidden"]), record["permute"])


class _Coupling(CouplingTransform):  # type: ignore[misc]  # zuko has no types
    """zuko's affine coupling, the same numbers in fewer steps: see `_kernels` for why."""

    def __init__(self, module: GeneralCouplingTransform) -> None:
        super().__init__(partial(module.meta, None), module.mask)
        self.network = module.hyper

    def call_and_ladj(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return affine(x, self.network(x.index_select(-1, self.idx_a)), self.idx_b, _LOG_LARGEST)

    def _inverse(self, y: Tensor) -> Tensor:
        return affine_inverse(y, self.network(y.index_select(-1, self.idx_a)), self.idx_b, _LOG_LARGEST)


class Stack(torch.nn.Module):
    """One side's vectors to the latent Gaussian: a linear start, then couplings. Both ways exact.

    The linear start is `(x - mean) / deviation`, after a rotation for the source side: data come out with the size that
    the Gaussian has. It is not trained. Couplings start as the identity when `identity` is asked for.
    """

    turn: Tensor
    mean: Tensor
    deviation: Tensor

    def __init__(self, shape: FlowShape, random: torch.Generator | None = None, *, identity: bool = True) -> None:
        super().__init__()
        d = shape.dim
        self.register_buffer("turn", torch.eye(d))
        self.register_buffer("mean", torch.zeros(d))
        self.register_buffer("deviation", torch.ones(d))
        univariate = partial(MonotonicAffineTransform, slope=1 / LARGEST_SCALE)
        self.couplings = torch.nn.ModuleList()
        for i in range(shape.couplings):
            places = torch.randperm(d, generator=random) if shape.permute else torch.arange(d)
            coupling = GeneralCouplingTransform(
                d, mask=places % 2 == i % 2, univariate=univariate, hidden_features=shape.hidden
            )
            _initialise(coupling.hyper, random, identity=identity)
            self.couplings.append(coupling)

    def start(self, X: Tensor, turn: Tensor | None = None) -> None:
        """Set the linear start by these vectors (n, d), and by a rotation (d, d) that goes first."""
        if turn is not None:
            self.turn.copy_(turn)
        turned = X @ self.turn
        self.mean.copy_(turned.mean(dim=0))
        # One size for all dimensions: the couplings may stretch single ones, a fixed start should not turn angles.
        self.deviation.fill_(max(float(turned.std(dim=0, correction=0).square().mean().sqrt()), 1e-6))

    def to_latent(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """z (n, d) and the logarithm of the absolute determinant of dz/dx, (n,)."""
        z = (x @ self.turn - self.mean) / self.deviation
        ladj = -self.deviation.log().sum()
        for coupling in self._parts:
            z, change = coupling.call_and_ladj(z)
            ladj = ladj + change
        return z, ladj

    def from_latent(self, z: Tensor) -> Tensor:
        """The way back, x (n, d)."""
        for coupling in reversed(self._parts):
            z = coupling._inverse(z)
        x: Tensor = (z * self.deviation + self.mean) @ self.turn.T
        return x

    def log_prob(self, x: Tensor) -> Tensor:
        """The logarithm of the density at each row, (n,)."""
        return gaussian_log_prob(*self.to_latent(x))

    @property
    def _parts(self) -> list[_Coupling]:
        # Made once, as they hold the places of the two halves; not submodules, hence __dict__. The networks inside are
        # the couplings' own, so that they go with the weights.
        if "_made" not in self.__dict__:
            self.__dict__["_made"] = [_Coupling(coupling) for coupling in self.couplings]
        made: list[_Coupling] = self.__dict__["_made"]
        return made

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self.__dict__.pop("_made", None)
        return super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]


class FlowPair(torch.nn.Module):
    """X -> Z -> Y and back: `there` maps the source side onto the target side, `back` the other way."""

    after: Tensor

    def __init__(self, shape: FlowShape, seed: int | Sequence[int] = 0, *, identity: bool = True) -> None:
        super().__init__()
        random = generator(seed)
        self.shape = shape
        self.src = Stack(shape, random, identity=identity)
        self.tgt = Stack(shape, random, identity=identity)
        # Rotations that bootstrapping by Procrustes puts after the flow.
        self.register_buffer("after", torch.eye(shape.dim))

    def there(self, x: Tensor) -> Tensor:
        return self.dual_there(x)[0]

    def back(self, y: Tensor) -> Tensor:
        return self.dual_back(y)[0]

    def dual_there(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f(x) (n, d), and the log-likelihood of x under the source's flow (n,), for one pass through it."""
        z, ladj = self.src.to_latent(x)
        return self.tgt.from_latent(z) @ self.after, gaussian_log_prob(z, ladj)

    def dual_back(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """The inverse of f at y, and the log-likelihood of y under the target's flow."""
        if self.turned:
            return self.src.from_latent(self.tgt.to_latent(y @ self.after.T)[0]), self.tgt.log_prob(y)
        z, ladj = self.tgt.to_latent(y)
        return self.src.from_latent(z), gaussian_log_prob(z, ladj)

    @property
    def turned(self) -> bool:
        """Whether there is a rotation after the flow."""
        return not torch.equal(self.after, torch.eye(self.shape.dim))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All weights by name, copied."""
        return {name: value.detach().numpy().copy() for name, value in self.state_dict().items()}

    def fill(self, arrays: Mapping[str, npt.NDArray[Any]]) -> FlowPair:
        """Take over weights that `arrays` gave."""
        try:
            self.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
        except RuntimeError as error:
            raise FormatError(f"the weights are not those of this flow: {error}", remedy="align again") from error
        for stack in (self.src, self.tgt):
            stack.__dict__.pop("_made", None)  # masks may be others
        return self


def gaussian_log_prob(z: Tensor, ladj: Tensor) -> Tensor:
    """log N(z; 0, I) + ladj, (n,)."""
    result: Tensor = ladj - 0.5 * z.square().sum(dim=-1) - 0.5 * z.shape[-1] * math.log(2 * math.pi)
    return result


def tensor(X: FloatMatrix) -> Tensor:
    """A matrix as torch takes it, without a copy where that can be: torch warns of arrays that are read-only."""
    array = np.ascontiguousarray(X, dtype=np.float32)
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _initialise(network: torch.nn.Module, random: torch.Generator | None, *, identity: bool) -> None:
    """torch's usual start of linear layers, from our own seed; the last one small or zero."""
    layers: list[Any] = [layer for layer in network.modules() if hasattr(layer, "weight")]
    for layer in layers:
        bound = layer.weight.shape[-1] ** -0.5
        if layer is layers[-1] and identity:
            bound = 0.0
        for weights in (layer.weight, layer.bias):
            with torch.no_grad():
                weights.copy_((torch.rand(weights.shape, generator=random) * 2 - 1) * bound)


def generator(seed: int | Sequence[int]) -> torch.Generator:
    """Torch's randomness from any seed of numpy's kind."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1))
