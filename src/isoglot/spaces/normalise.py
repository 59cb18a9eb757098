"""Normalisation of vectors before aligning, as steps that compose and can be replayed on new vectors.

Steps, by name (`"unit,centre,unit"` is the usual sequence, Artetxe et al. 2018):

- `unit`: every row to length one.
- `centre`: subtract the mean row.
- `iterative`: unit and centre in turn until both hold at once (Zhang et al. 2019, arXiv:1906.01622);
  `iterative:5` does five rounds, the paper's number.
- `standardise`: centre, then give each dimension unit variance: for encoders in which a few dimensions are huge.
- `whiten`: centre, then give all directions unit variance (ZCA, the whitening that changes vectors least).
- `abtt`: all-but-the-top (Mu & Viswanath 2018, arXiv:1702.01417): centre, then remove the leading principal
  directions; `abtt:3` removes three, the default is a hundredth of the dimensions.
- `reduce:100`: keep the 100 leading principal directions (about the origin).

A step is learned from one Space and then replayed on any vector of that Space, so that words seen later
(out-of-vocabulary words, sentences) land where they belong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, ShapeError
from isoglot.spaces.space import FloatMatrix
from isoglot.suggest import unknown

#: Steps and whether each takes a number after a colon.
STEPS: Mapping[str, bool] = {
    "unit": False,
    "centre": False,
    "iterative": True,
    "standardise": False,
    "whiten": False,
    "abtt": True,
    "reduce": True,
}

_BLOCK = 16_384  # rows at a time: keeps float64 sums and temporaries small beside the matrix


def unit_rows(X: FloatMatrix, out: FloatMatrix | None = None) -> FloatMatrix:
    """Rows scaled to length one; zero rows stay zero.

    >>> unit_rows(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    if out is None:
        out = np.empty(X.shape, dtype=np.float32)
    for rows in _blocks(len(X)):
        # Scaling by the largest entry first keeps squares of very large or very small numbers finite.
        largest = np.max(np.abs(X[rows]), axis=1, keepdims=True, initial=0)
        scaled = X[rows] / np.where(largest > 0, largest, 1)
        norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
        np.divide(scaled, np.where(norms > 0, norms, 1), out=out[rows])
    return out


def parse_steps(steps: str | Sequence[str]) -> tuple[str, ...]:
    """Check step names; a comma-separated string is split.

    >>> parse_steps("unit, centre, abtt:3")
    ('unit', 'centre', 'abtt:3')
    """
    names = [part.strip() for part in steps.split(",")] if isinstance(steps, str) else list(steps)
    names = [name for name in names if name and name != "none"]
    for name in names:
        kind, _, number = name.partition(":")
        if kind not in STEPS:
            raise unknown("normalisation step", kind, STEPS)
        if number and not (STEPS[kind] and number.isdecimal() and int(number) > 0):
            raise ConfigError(f"normalisation step {kind!r} cannot take {number!r}", remedy="use e.g. abtt:3")
        if kind == "reduce" and not number:
            raise ConfigError("normalisation step 'reduce' needs a number of dimensions", remedy="use e.g. reduce:100")
    return tuple(names)


@dataclasses.dataclass(frozen=True, eq=False)
class Normaliser:
    """A learned sequence of steps. `state[i]` is the matrix that step i learned; its shape depends on the step.

    >>> X = np.array([[2, 0], [0, 2], [4, 4]], dtype=np.float32)
    >>> Normaliser.fit("centre", X).transform(X).tolist()
    [[0.0, -2.0], [-2.0, 0.0], [2.0, 2.0]]
    """

    steps: tuple[str, ...] = ()
    state: tuple[npt.NDArray[np.float32], ...] = ()

    @classmethod
    def fit(cls, steps: str | Sequence[str], X: FloatMatrix) -> Normaliser:
        """Learn the steps from X in order."""
        return cls.fit_transform(steps, X)[0]

    @classmethod
    def fit_transform(cls, steps: str | Sequence[str], X: FloatMatrix) -> tuple[Normaliser, FloatMatrix]:
        """The same, and X after all steps (a new matrix, unless there are no steps)."""
        names = parse_steps(steps)
        state = []
        # One working copy serves all steps in turn; without steps X itself is returned.
        current = np.array(X, dtype=np.float32) if names else X
        for name in names:
            learned = _learn(name, current)
            state.append(learned)
            current = _apply(name, learned, current)
        return cls(names, tuple(state)), current

    def transform(self, X: FloatMatrix) -> FloatMatrix:
        """Replay the steps on any vectors of the same Space."""
        if not self.steps:
            return X
        current = np.array(X, dtype=np.float32)
        for name, learned in zip(self.steps, self.state, strict=True):
            current = _apply(name, learned, current)
        return current

    @property
    def output_dim(self) -> int | None:
        """The number of output dimensions; None without steps, which change nothing."""
        return self.state[-1].shape[1] if self.state else None  # also for "reduce": (d before, d after)

    def checked(self) -> Normaliser:
        """Itself; raises if a state has a shape that its step cannot have: it may come from a damaged file."""
        d = None
        for name, learned in zip(self.steps, self.state, strict=True):
            kind, _, number = name.partition(":")
            rows, columns = learned.shape
            before = rows if kind == "reduce" else columns
            expected = {"unit": 0, "centre": 1, "iterative": int(number or 5), "whiten": 1 + columns, "reduce": before}
            expected["standardise"] = 2
            fits = rows == expected[kind] if kind in expected else 2 <= rows <= columns
            if learned.dtype != np.float32 or not fits or d not in (None, before):
                raise ShapeError(f"step {name!r} has a state of shape {learned.shape} and type {learned.dtype}")
            d = columns
        return self

    def then(self, other: Normaliser) -> Normaliser:
        """This sequence followed by another."""
        return Normaliser(self.steps + other.steps, self.state + other.state)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))


def _mean(X: FloatMatrix) -> npt.NDArray[np.float32]:
    total = np.zeros(X.shape[1], dtype=np.float64)
    for rows in _blocks(len(X)):
        total += X[rows].sum(axis=0, dtype=np.float64)
    return (total / max(len(X), 1)).astype(np.float32)


def _spread(X: FloatMatrix, mean: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """The standard deviation of each dimension."""
    total = np.zeros(X.shape[1], dtype=np.float64)
    for rows in _blocks(len(X)):
        total += np.square(X[rows] - mean).sum(axis=0, dtype=np.float64)
    spread: npt.NDArray[np.float64] = np.sqrt(total / max(len(X), 1))
    return spread


def _second_moment(X: FloatMatrix) -> npt.NDArray[np.float64]:
    moment = np.zeros((X.shape[1], X.shape[1]), dtype=np.float64)
    for rows in _blocks(len(X)):
        block = X[rows]
        moment += block.T @ block
    return moment / max(len(X), 1)


def _principal(
    X: FloatMatrix, mean: npt.NDArray[np.float32] | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Eigenvalues and directions (as columns) of X about `mean`, largest first, signs fixed."""
    moment = _second_moment(X)
    if mean is not None:
        moment -= np.outer(mean, mean.astype(np.float64))
    values, directions = np.linalg.eigh(moment)
    values, directions = values[::-1], directions[:, ::-1]
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])])
    return values, directions * np.where(signs == 0, 1, signs)


def _learn(name: str, X: FloatMatrix) -> npt.NDArray[np.float32]:
    kind, _, number = name.partition(":")
    d = X.shape[1]
    if kind == "unit":
        return np.zeros((0, d), dtype=np.float32)
    if kind == "centre":
        return _mean(X)[None]
    if kind == "iterative":
        means = []
        current = np.array(X)  # each round starts from the last one's result; X itself is mapped later
        for _ in range(int(number or 5)):
            unit_rows(current, out=current)
            means.append(_mean(current))
            current -= means[-1]
        return np.stack(means)
    if kind == "reduce":
        if int(number) > d:
            raise ShapeError(f"cannot reduce {d} dimensions to {number}")
        return _principal(X)[1][:, : int(number)].astype(np.float32)
    mean = _mean(X)
    if kind == "standardise":
        spread = _spread(X, mean)
        # Dimensions without variance are left flat: dividing by it would blow up noise.
        flat = spread <= spread.max(initial=0) * 1e-7
        return np.vstack([mean, np.where(flat, 0, 1 / np.where(flat, 1, spread))]).astype(np.float32)
    values, directions = _principal(X, mean)
    if kind == "abtt":
        removed = int(number) if number else max(1, d // 100)
        if removed >= d:
            raise ShapeError(f"all-but-the-top cannot remove {removed} of {d} dimensions")
        return np.vstack([mean, directions[:, :removed].T]).astype(np.float32)  # mean, then directions
    # Whitening. Directions without variance are left flat: dividing by them would blow up noise.
    floor = max(values[0], 0) * 1e-7
    scale = np.where(values > floor, 1 / np.sqrt(np.where(values > floor, values, 1)), 0)
    return np.vstack([mean, (directions * scale) @ directions.T]).astype(np.float32)  # mean, then (d, d)


def _apply(name: str, learned: npt.NDArray[np.float32], out: FloatMatrix) -> FloatMatrix:
    """Apply one step to `out`, in place where the shape allows."""
    kind = name.partition(":")[0]
    if kind != "unit" and out.shape[1] != (len(learned) if kind == "reduce" else learned.shape[1]):
        raise ShapeError(
            f"vectors have {out.shape[1]} dimensions, the normalisation was learned with a different number"
        )
    if kind == "unit":
        return unit_rows(out, out=out)
    if kind == "centre":
        out -= learned[0]
        return out
    if kind == "iterative":
        for mean in learned:
            unit_rows(out, out=out)
            out -= mean
        return out
    if kind == "reduce":
        return out @ learned
    out -= learned[0]
    if kind == "standardise":
        out *= learned[1]
        return out
    if kind == "abtt":
        for rows in _blocks(len(out)):
            out[rows] -= (out[rows] @ learned[1:].T) @ learned[1:]
        return out
    return out @ learned[1:]
