"""The Wasserstein game: a map against critics that tell mapped words from real ones, without any pair.

Zhao & Eger 2022, section 3.2: dual, that is one critic on each side, with the likelihood of both languages, and while
bootstrapping a constraint on pairs that the map induced itself. The map is a flow or a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from isoglot.aligners.flows.networks.optimiser import Flat
from isoglot.aligners.flows.networks.stacks import generator, tensor
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, IntVector, own_order
from isoglot.threads import few_threads

if TYPE_CHECKING:
    from isoglot.aligners.base import Problem
    from isoglot.aligners.flows.gan_realnvp import Adversarial

#: Slope of the critics' leaky rectifiers.
SLOPE = 0.2
#: How strongly a matrix is pulled towards an orthogonal one after each step.
ORTHOGONALITY = 0.01
#: No step goes further than a gradient of this length would.
LARGEST_GRADIENT = 10.0
#: Steps that the critics have to themselves before the map's first.
CRITIC_START = 100
#: Of the critics' Adam: momentum lets them and the map swing to and fro.
CRITIC_BETAS = (0.0, 0.9)
#: Weight of the penalty on critics' gradients, and the largest weight where critics are clipped instead.
PENALTY, CLIP = 10.0, 0.01
#: Pairs that a constraint looks at in a step.
CONSTRAINT_BATCH = 1000
#: Batches over which gradients are compared.
BALANCE_BATCHES = 8
#: Directions of the sliced distance, drawn anew at each step.
DIRECTIONS = 16


class TwoWay(Protocol):
    """A map that goes both ways and knows how likely each side's words are."""

    def dual_there(self, x: Tensor) -> tuple[Tensor, Tensor]: ...
    def dual_back(self, y: Tensor) -> tuple[Tensor, Tensor]: ...


class Matrix(torch.nn.Module):
    """A nearly orthogonal matrix as a map both ways: what MUSE learns. It has no densities."""

    def __init__(self, W: FloatMatrix) -> None:
        super().__init__()
        self.W = torch.nn.Parameter(tensor(W).clone())

    def there(self, x: Tensor) -> Tensor:
        return x @ self.W

    def dual_there(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x @ self.W, x.new_zeros(len(x))

    def dual_back(self, y: Tensor) -> tuple[Tensor, Tensor]:
        return y @ self.W.T, y.new_zeros(len(y))

    def pull(self) -> None:
        with torch.no_grad():
            W = self.W.detach()
            self.W.copy_((1 + ORTHOGONALITY) * W - ORTHOGONALITY * (W @ W.T @ W))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"W": self.W.detach().numpy().copy()}

    def fill(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Matrix:
        with torch.no_grad():
            self.W.copy_(torch.from_numpy(np.array(arrays["W"])))
        return self


class Critics(torch.nn.Module):
    """One network a side, from vectors to a score; both have the same shape.

    The directions are those in which the matrices stretch most, by power iteration.
    """

    def __init__(self, dim: int, width: int, random: torch.Generator) -> None:
        super().__init__()
        for side in ("src", "tgt"):
            for i, (before, after) in enumerate(((dim, width), (width, width), (width, 1))):
                for name, size in (("weight", (before, after)), ("bias", (after,))):
                    start = (torch.rand(size, generator=random) * 2 - 1) * before**-0.5
                    self.register_parameter(f"{side}_{name}{i}", torch.nn.Parameter(start))
                self.register_buffer(f"{side}_direction{i}", torch.randn(after, generator=random))

    def shrink(self) -> None:
        """Divide matrices that stretch anything by more than one by what they do (Miyato et al. 2018)."""
        with torch.no_grad():
            for side in ("src", "tgt"):
                for i in range(3):
                    weight, direction = getattr(self, f"{side}_weight{i}"), getattr(self, f"{side}_direction{i}")
                    there = weight @ direction
                    back = weight.T @ (there / there.norm().clamp_min(1e-12))
                    stretch = back.norm()
                    direction.copy_(back / stretch.clamp_min(1e-12))
                    weight.div_(stretch.clamp_min(1.0))

    def score(self, side: str, x: Tensor) -> Tensor:
        for i in range(3):
            x = torch.addmm(getattr(self, f"{side}_bias{i}"), x, getattr(self, f"{side}_weight{i}"))
            x = torch.nn.functional.leaky_relu(x, SLOPE) if i < 2 else x
        return x[:, 0]


class Game:
    """One game between X (n, d) and Y (m, d), an epoch at a time.

    Vectors are brought to a common size for the critics, who would not see anything in vectors of length one. The
    randomness of an epoch comes from `seed` and its number, so that a game can be taken up from `arrays`.
    """

    def __init__(self, module: Any, X: FloatMatrix, Y: FloatMatrix, rules: Adversarial, seed: tuple[int, ...]) -> None:
        self.module, self.rules, self.seed = module, rules, seed
        self._X, self._Y = tensor(X[own_order(X)]), tensor(Y[own_order(Y)])
        self._size = min(rules.batch, len(X), len(Y))
        self._scale = 1 / max(float(self._Y.std(dim=0, correction=0).square().mean().sqrt()), 1e-6)
        self.critics = Critics(X.shape[1], rules.critic, generator((*seed, 0)))
        self._map_optimiser = Flat(module, rules.rate, rules.optimiser, largest=LARGEST_GRADIENT)
        self._critic_optimiser = Flat(
            self.critics, rules.critic_rate, "adam", largest=LARGEST_GRADIENT, betas=CRITIC_BETAS
        )

    def epoch(
        self,
        number: int,
        constraint: Constraint | None = None,
        *,
        fall: tuple[float, float] = (1.0, 1.0),
        progress: Progress = silent,
    ) -> dict[str, float]:
        """Play one epoch; the critics' estimate of the distance that is left, and the likelihood a dimension.

        `fall`: the map's rate goes from the first to the second share of `rules.rate` during the epoch.
        """
        weights = sum(one.numel() for one in self.module.parameters())
        with few_threads(torch, self._size * weights):
            return self._play(number, constraint, fall, progress)

    def _play(
        self, number: int, constraint: Constraint | None, fall: tuple[float, float], progress: Progress
    ) -> dict[str, float]:
        rules, random = self.rules, np.random.default_rng([*self.seed, number + 1])
        steps = rules.steps
        distance = likelihood = 0.0
        skipped = 0
        for step in range(steps):
            if rules.distance == "critic":
                # Critics that have learned nothing yet would send the map anywhere.
                first = number == 0 and step == 0
                skipped += self._train_critics(random, CRITIC_START if first else rules.critic_steps)
            if constraint is not None and constraint.balanced and step == 0:
                constraint.share = self._balance(random, constraint)
            # A batch that holds as many rows as the constraint looks at serves both, which halves the work.
            shared = constraint is not None and constraint.size <= self._size
            x, y = constraint.draw() if constraint is not None and shared else self._draw(random)
            mapped, log_x = self.module.dual_there(x)
            unmapped, log_y = self.module.dual_back(y)
            gap = self._distance(random, mapped, y, unmapped, x)
            loss = gap - rules.weight * (log_x + log_y).mean()
            if constraint is not None:
                value = constraint.of(mapped, y, unmapped, x) if shared else constraint(self.module)
                loss = loss + constraint.weight * constraint.share * value
            self._map_optimiser.rate = rules.rate * (fall[0] + (fall[1] - fall[0]) * step / steps)
            skipped += not self._map_optimiser.step(loss)
            if isinstance(self.module, Matrix):
                self.module.pull()
            distance += gap.item() / steps
            likelihood += (log_x + log_y).mean().item() / (2 * x.shape[1] * steps)
            if step % 20 == 19:
                progress("density matching (steps)", step + 1, steps)
        return {"distance": distance, "likelihood": likelihood, "skipped_steps": skipped}

    def _balance(self, random: np.random.Generator, constraint: Constraint) -> float:
        """How many times longer the distance's gradient is than the constraint's, each the mean of some batches."""
        weights = [one for one in self.module.parameters() if one.requires_grad]

        def length(values: Tensor) -> float:
            gradients = torch.autograd.grad(values, weights, allow_unused=True)
            return math.sqrt(sum(float(one.square().sum()) for one in gradients if one is not None))

        distance = constrained = torch.zeros(())
        for _ in range(BALANCE_BATCHES):
            x, y = self._draw(random)
            mapped, unmapped = self.module.dual_there(x)[0], self.module.dual_back(y)[0]
            distance = distance + self._distance(random, mapped, y, unmapped, x)
            constrained = constrained + constraint(self.module)
        return length(distance) / max(length(constrained), 1e-12)

    def _train_critics(self, random: np.random.Generator, steps: int) -> int:
        """How many of the steps were left out because they were not finite."""
        rules, skipped = self.rules, 0
        for _ in range(steps):
            x, y = self._draw(random)
            with torch.no_grad():
                mapped, unmapped = self.module.dual_there(x)[0], self.module.dual_back(y)[0]
            gap = self._gap(mapped, y, unmapped, x)
            penalty = self._penalty(random, mapped, y, unmapped, x) if rules.lipschitz == "penalty" else 0.0
            skipped += not self._critic_optimiser.step(-gap + penalty)
            if rules.lipschitz == "clipping":
                with torch.no_grad():
                    for weights in self.critics.parameters():
                        weights.clamp_(-CLIP, CLIP)
            elif rules.lipschitz == "spectral":
                self.critics.shrink()
        return skipped

    def _distance(self, random: np.random.Generator, mapped: Tensor, y: Tensor, unmapped: Tensor, x: Tensor) -> Tensor:
        """What the map makes smaller."""
        if self.rules.distance == "critic":
            return self._gap(mapped, y, unmapped, x)
        directions = random.standard_normal((x.shape[1], DIRECTIONS), dtype=np.float32)
        directions /= np.linalg.norm(directions, axis=0)
        lines = torch.from_numpy(directions)
        return sliced_distance(mapped, y, lines) + sliced_distance(unmapped, x, lines)

    def _draw(self, random: np.random.Generator) -> tuple[Tensor, Tensor]:
        i, j = (torch.from_numpy(random.choice(len(M), self._size, replace=False)) for M in (self._X, self._Y))
        return self._X[i], self._Y[j]

    def _gap(self, mapped: Tensor, y: Tensor, unmapped: Tensor, x: Tensor) -> Tensor:
        """How far apart the critics hold real and mapped words of both sides: the earth mover's distance, when they
        are at their best."""
        total = x.new_zeros(())
        for side, real, made in (("tgt", y, mapped), ("src", x, unmapped)):
            scores = self.critics.score(side, torch.cat([real, made]) * self._scale)
            total = total + scores[: len(real)].mean() - scores[len(real) :].mean()
        return total

    def _penalty(self, random: np.random.Generator, mapped: Tensor, y: Tensor, unmapped: Tensor, x: Tensor) -> Tensor:
        total = x.new_zeros(())
        for side, real, made in (("tgt", y, mapped), ("src", x, unmapped)):
            share = torch.from_numpy(random.random((len(real), 1), dtype=np.float32))
            between = ((share * real + (1 - share) * made) * self._scale).requires_grad_()
            (slope,) = torch.autograd.grad(self.critics.score(side, between).sum(), between, create_graph=True)
            total = total + (slope.norm(dim=1) - 1).square().mean()
        return PENALTY * total

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The whole state but the randomness."""
        critics = {f"critics.{name}": value.detach().numpy() for name, value in self.critics.state_dict().items()}
        state = {f"map.{name}": value for name, value in self.module.arrays().items()}
        for name, optimiser in (("map", self._map_optimiser), ("critics", self._critic_optimiser)):
            state |= {f"{name}_optimiser.{key}": value for key, value in optimiser.arrays().items()}
        return {**critics, **state}

    def fill(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `arrays` gave."""

        def part(prefix: str) -> dict[str, npt.NDArray[Any]]:
            return {name[len(prefix) :]: np.array(a) for name, a in arrays.items() if name.startswith(prefix)}

        self.module.fill(part("map."))
        self.critics.load_state_dict({name: torch.from_numpy(a) for name, a in part("critics.").items()})
        self._map_optimiser.fill(part("map_optimiser."))
        self._critic_optimiser.fill(part("critics_optimiser."))


def sliced_distance(A: Tensor, B: Tensor, lines: Tensor) -> Tensor:
    """Squared sliced Wasserstein distance of two sets (n, d) along unit directions (d, l), times d."""
    there, back = (torch.sort(M @ lines, dim=0).values for M in (A, B))
    return (there - back).square().mean() * A.shape[1]


def cross_correlation(mapped: Tensor, Y: Tensor) -> Tensor:
    """Squared distance from 1 of the Pearson correlation of each dimension of matched rows (n, d).

    The paper prints the formula without a square root; this is the true correlation, of columns freed of their mean.
    """
    A, B = mapped - mapped.mean(dim=0), Y - Y.mean(dim=0)
    # Clamped before the root, whose slope at the 0 of a constant column would make all gradients NaN.
    lengths = (A.square().sum(dim=0) * B.square().sum(dim=0)).clamp_min(1e-24).sqrt()
    return ((A * B).sum(dim=0) / lengths - 1).square().sum()


def graph_structure(mapped: Tensor, Y: Tensor) -> Tensor:
    """Mean squared difference of the similarities among mapped rows and among their matched rows (n, d), as a share
    of the latter's mean square, so that its size does not depend on the vectors' length or number."""
    similarities = Y @ Y.T
    difference = (mapped @ mapped.T - similarities).square().mean()
    return difference / similarities.square().mean().clamp_min(1e-12)


#: The constraints that are trained; Procrustes is solved.
CONSTRAINTS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross-correlation": cross_correlation,
    "graph-structure": graph_structure,
}


class Constraint:
    """The named constraint on induced pairs (p, 2), in both directions, on a fresh draw of them at each call.

    `balanced`: see `Bootstrap`; `share` is then set anew by each epoch of a game.
    """

    def __init__(
        self, name: str, problem: Problem, pairs: IntVector, weight: float, balanced: bool, seed: tuple[int, ...]
    ) -> None:
        self._measure, self._random = CONSTRAINTS[name], np.random.default_rng(seed)
        pairs = pairs[own_order(problem.X[pairs[:, 0]])]
        self._x, self._y = tensor(problem.X[pairs[:, 0]]), tensor(problem.Y[pairs[:, 1]])
        self.weight, self.balanced, self.share = weight, balanced, 1.0

    @property
    def size(self) -> int:
        """How many pairs a draw has."""
        return min(len(self._x), CONSTRAINT_BATCH)

    def draw(self) -> tuple[Tensor, Tensor]:
        """Both sides of some pairs."""
        rows = torch.from_numpy(self._random.permutation(len(self._x))[:CONSTRAINT_BATCH])
        return self._x[rows], self._y[rows]

    def of(self, mapped: Tensor, y: Tensor, unmapped: Tensor, x: Tensor) -> Tensor:
        """The constraint on drawn pairs x and y, by itself, without its weight."""
        return self._measure(mapped, y) + self._measure(unmapped, x)

    def __call__(self, module: TwoWay) -> Tensor:
        """The same on a fresh draw."""
        x, y = self.draw()
        return self.of(module.dual_there(x)[0], y, module.dual_back(y)[0], x)
