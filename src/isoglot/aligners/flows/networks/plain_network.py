"""The plain network of `isoglot.aligners.flows.fcnn`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from isoglot.aligners.flows.networks.stacks import generator, tensor
from isoglot.spaces import FloatMatrix

#: Hidden layers of the paper.
LAYERS = 3


class Network(torch.nn.Module):
    """x -> x @ turn + net(x); with a turn the net starts at zero, without one at random and x is left out."""

    turn: Tensor

    def __init__(self, dim: int, hidden: int, seed: int, turn: FloatMatrix | None) -> None:
        super().__init__()
        random = generator(seed)
        self.register_buffer("turn", torch.zeros(dim, dim) if turn is None else tensor(turn))
        sizes = [dim, *[hidden] * LAYERS, dim]
        for i, (before, after) in enumerate(itertools.pairwise(sizes)):
            bound = before**-0.5 if turn is None or i < LAYERS else 0.0
            for name, size in (("weight", (before, after)), ("bias", (after,))):
                start = (torch.rand(size, generator=random) * 2 - 1) * bound
                self.register_parameter(f"{name}{i}", torch.nn.Parameter(start))

    def there(self, x: Tensor) -> Tensor:
        hidden = x
        for i in range(LAYERS + 1):
            hidden = torch.addmm(getattr(self, f"bias{i}"), hidden, getattr(self, f"weight{i}"))
            hidden = hidden.tanh() if i < LAYERS else hidden
        result: Tensor = x @ self.turn + hidden
        return result

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All weights by name, copied."""
        return {name: value.detach().numpy().copy() for name, value in self.state_dict().items()}

    def fill(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Network:
        """Take over weights that `arrays` gave."""
        self.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
        return self
