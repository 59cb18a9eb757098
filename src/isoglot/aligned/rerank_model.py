"""The re-ranker's model: a softmax over the candidates of a query (McFadden 1974, "Conditional logit analysis").

A query may have several right candidates; the probability of all of them together is raised.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import LexiconError, ShapeError

Features = npt.NDArray[np.float32]  # (queries, candidates, features)
Labels = npt.NDArray[np.bool_]  # (queries, candidates)
Floats = npt.NDArray[np.float64]

#: What `choose_penalty` chooses from.
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3)


@dataclasses.dataclass(frozen=True, eq=False)
class RankingModel:
    """Weights of standardised features.

    >>> import numpy as np
    >>> features = np.array([[[0.0], [1.0]], [[3.0], [2.0]]], np.float32)
    >>> model = RankingModel.fit(("only",), features, np.array([[False, True], [True, False]]), 0.01)
    >>> model.shares(features).argmax(axis=1).tolist()
    [1, 0]
    """

    names: tuple[str, ...]
    mean: Floats
    scale: Floats
    weights: Floats

    @classmethod
    def fit(cls, names: tuple[str, ...], features: Features, labels: Labels, penalty: float) -> RankingModel:
        """Maximise the mean log-probability of the right candidates less `penalty` times the squared weights.

        Queries without a right candidate teach nothing and are left out.
        """
        if features.shape != (*labels.shape, len(names)):
            raise ShapeError(f"features {features.shape} do not fit labels {labels.shape} and {len(names)} names")
        useful = labels.any(axis=1)
        if not useful.any():
            raise LexiconError("no query has a right candidate to learn from")
        columns = features.astype(np.float64)
        mean, scale = columns.mean(axis=(0, 1)), columns.std(axis=(0, 1))
        scale = np.where(scale > 1e-9, scale, 1.0)
        from scipy.optimize import minimize
        from threadpoolctl import threadpool_limits

        # The optimiser's own products are tiny: threads would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            found = minimize(
                _loss,
                np.zeros(len(names)),
                args=((columns[useful] - mean) / scale, labels[useful], penalty),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 1000},
            )
        return cls(names, mean, scale, np.asarray(found.x, dtype=np.float64))

    def shares(self, features: Features, prior: Features | None = None) -> Floats:
        """(queries, candidates): probabilities, which sum to 1 over the candidates of a query.

        `prior` (queries, candidates) is added to what the features say.
        """
        scores = ((features - self.mean) / self.scale) @ self.weights
        if prior is not None:
            scores = scores + prior
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def record(self) -> list[dict[str, Any]]:
        """As plain data for JSON, without loss."""
        rows = zip(self.names, self.mean.tolist(), self.scale.tolist(), self.weights.tolist(), strict=True)
        return [{"feature": n, "mean": m, "scale": s, "weight": w} for n, m, s, w in rows]

    @classmethod
    def from_record(cls, record: list[Mapping[str, Any]]) -> RankingModel:
        """The way back from `record`."""
        mean, scale, weights = (
            np.array([float(row[key]) for row in record], dtype=np.float64) for key in ("mean", "scale", "weight")
        )
        if not all(np.isfinite(values).all() for values in (mean, scale, weights)) or not (scale > 0).all():
            raise ValueError("weights that are not finite")
        return cls(tuple(str(row["feature"]) for row in record), mean, scale, weights)


def choose_penalty(names: tuple[str, ...], features: Features, labels: Labels, parts: npt.NDArray[np.int64]) -> float:
    """The penalty under which models of the other parts give a part's right candidates the highest probability."""
    losses = []
    for penalty in PENALTIES:
        loss = 0.0
        for part in np.unique(parts):
            tested = (parts == part) & labels.any(axis=1)
            taught = parts != part
            if not labels[taught].any():
                continue
            shares = RankingModel.fit(names, features[taught], labels[taught], penalty).shares(features[tested])
            loss -= float(np.log(np.maximum((shares * labels[tested]).sum(axis=1), 1e-12)).sum())
        losses.append(loss)
    return PENALTIES[int(np.argmin(losses))]


def _loss(weights: Floats, columns: Floats, labels: Labels, penalty: float) -> tuple[float, Floats]:
    scores = columns @ weights  # (queries, candidates)
    scores -= scores.max(axis=1, keepdims=True)
    odds = np.exp(scores)
    shares = odds / odds.sum(axis=1, keepdims=True)
    # The right candidates may all lie far below the best: their own softmax is taken from their own maximum.
    own = np.where(labels, scores, -np.inf)
    top = own.max(axis=1, keepdims=True)
    own_odds = np.exp(own - top)
    own_sum = own_odds.sum(axis=1, keepdims=True)
    log_right = np.log(own_sum[:, 0]) + top[:, 0] - np.log(odds.sum(axis=1))
    pull = (shares - own_odds / own_sum) / len(columns)
    gradient = np.einsum("qc,qcf->f", pull, columns) + 2 * penalty * weights
    return float(penalty * (weights @ weights) - log_right.mean()), gradient
