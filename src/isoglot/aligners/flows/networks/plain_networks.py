"""The networks of `fcnn` and `residual-network`: layers with tanh."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from isoglot.aligners.flows.networks.stacks import generator, tensor
from isoglot.spaces import FloatMatrix


class Network(torch.nn.Module):
    """Layers of these sizes from x to y, with tanh after each; y times `reach`, which tanh alone would keep below 1.

    With a matrix `turn` (d, d) the last layer has no tanh and starts at zero, and x @ turn is added.
    """

    turn: Tensor
    reach: Tensor

    def __init__(self, sizes: Sequence[int], seed: int, *, turn: FloatMatrix | None = None, reach: float = 1.0) -> None:
        super().__init__()
        random = generator(seed)
        self.layers = len(sizes) - 1
        self.residual = turn is not None
        if turn is None:
            self.register_buffer("reach", torch.tensor([reach]))
        else:
            self.register_buffer("turn", tensor(turn))
        for i, (before, after) in enumerate(itertools.pairwise(sizes)):
            bound = 0.0 if self.residual and i == self.layers - 1 else before**-0.5
            for name, size in (("weight", (before, after)), ("bias", (after,))):
                start = (torch.rand(size, generator=random) * 2 - 1) * bound
                self.register_parameter(f"{name}{i}", torch.nn.Parameter(start))

    def there(self, x: Tensor) -> Tensor:
        hidden = x
        for i in range(self.layers):
            hidden = torch.addmm(getattr(self, f"bias{i}"), hidden, getattr(self, f"weight{i}"))
            hidden = hidden if self.residual and i == self.layers - 1 else hidden.tanh()
        result: Tensor = x @ self.turn + hidden if self.residual else hidden * self.reach
        return result

    def arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """All weights by name, copied."""
        return {name: value.detach().numpy().copy() for name, value in self.state_dict().items()}

    def fill(self, arrays: Mapping[str, npt.NDArray[np.float32]]) -> Network:
        """Take over weights that `arrays` gave."""
        self.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
        return self
