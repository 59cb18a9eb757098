"""Aligners in scikit-learn: pipelines, grid searches, cross-validation. Imported only when asked for.

Rows of X and y are translations of each other here: y, a matrix, stands where scikit-learn has its targets.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from isoglot.aligners.alignment import Side
from isoglot.aligners.base import Aligner
from isoglot.aligners.registry import aligner as named_aligner
from isoglot.errors import ConfigError
from isoglot.retrieval import Retriever
from isoglot.spaces import FloatMatrix


class AlignedTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A method as a transformer: `fit(X, y)` learns from matched rows, `transform(X)` maps into the shared space.

    The learned `Alignment` is `alignment_`. Settings of the aligner are parameters too, e.g. `aligner__normalise`.

    Args:
        aligner: an aligner, or the name of a method.
        side: which side `transform` maps: "src" as X of `fit`, "tgt" as y.

    >>> from sklearn.model_selection import cross_val_score
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> bool(cross_val_score(AlignedTransformer("procrustes"), X, X[:, ::-1], cv=3).mean() > 0.9)
    True
    """

    def __init__(self, aligner: Aligner | str = "procrustes", side: Side = "src") -> None:
        self.aligner = aligner
        self.side = side

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn from rows of X (n, d) and y (n, e) that translate each other; a method without pairs from all rows."""
        if self.side not in ("src", "tgt"):
            raise ConfigError(f"side must be 'src' or 'tgt', not {self.side!r}")
        matrices: tuple[FloatMatrix, FloatMatrix]
        matrices = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float32)
        A, B = matrices[0], matrices[1].reshape(len(matrices[1]), -1)
        aligner = named_aligner(self.aligner) if isinstance(self.aligner, str) else self.aligner
        rows = np.arange(len(A))
        pairs = None if aligner.method.supervision == "unsupervised" else np.stack([rows, rows], axis=1)
        self.alignment_ = aligner.fit(A, B, pairs)
        if self.side == "tgt":
            self.n_features_in_ = B.shape[1]
        return self

    def transform(self, X: npt.ArrayLike) -> FloatMatrix:
        """Vectors of `side` (n, d) in the shared space."""
        check_is_fitted(self)
        matrix = validate_data(self, X, reset=False, dtype=np.float32)
        mapped: FloatMatrix = self.alignment_.transform(matrix, self.side)
        return mapped

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """Share of the rows of X whose best CSLS translation among the rows of y is the row of the same number."""
        check_is_fitted(self)
        if self.side == "src":
            X = validate_data(self, X, reset=False, dtype=np.float32)
        mapped = self.alignment_.transform(X, "src")
        other = self.alignment_.transform(np.reshape(y, (len(mapped), -1)), "tgt")
        best = Retriever(mapped, other).top(1).indices[:, 0]
        return float(np.mean(best == np.arange(len(best))))

    def set_params(self, **params: Any) -> Self:
        """As scikit-learn's, but aligners do not change: one with other settings takes the place of this one's."""
        own = {name: value for name, value in params.items() if not name.startswith("aligner__")}
        super().set_params(**own)
        nested = {name.removeprefix("aligner__"): value for name, value in params.items() if name not in own}
        if nested:
            whole = named_aligner(self.aligner) if isinstance(self.aligner, str) else self.aligner
            self.aligner = whole.set_params(**nested)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
