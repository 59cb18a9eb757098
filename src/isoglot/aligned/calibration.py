"""Confidences that mean what they say: of pairs with confidence .8, eight in ten are right.

A score says which of two pairs is better, not how often such a pair is right: that differs between languages, methods
and lexicons. So a logistic regression (Platt 1999, "Probabilistic outputs for support vector machines") on what is
known of a candidate (`isoglot.aligned.candidates.FEATURES`) is learned from pairs that the alignment has not seen.
"Right" means that these pairs list the translation: a lexicon that misses good translations makes for low confidences,
and words that no lexicon lists, such as names, may be right more or less often.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isoglot.aligned.candidates import FEATURES, Floats, find_candidates
from isoglot.errors import LexiconError
from isoglot.lexicons import Lexicon
from isoglot.manifests import Fields
from isoglot.progress import Progress, silent

if TYPE_CHECKING:
    from isoglot.aligned.aligned import Aligned

#: Fewer words tell too little, and more than this only cost time.
FEWEST_WORDS = 50
MOST_WORDS = 2000
_CANDIDATES = 5  # of each word: the first is right far more often than the others, which must be learned too
_PENALTY = 1.0
_FOLDS = 5
_BINS = 10

Flags = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Candidates of words whose translations are known.

    Args:
        features: (n, f); shares: (n,), the confidence without calibration.
        right: (n,), whether the lexicon lists the candidate.
        words: (n,), number of the source word; first: (n,), whether it is the word's first candidate.
    """

    features: Floats
    shares: Floats
    right: Flags
    words: npt.NDArray[np.int64]
    first: Flags

    @classmethod
    def of(
        cls,
        aligned: Aligned,
        lexicon: Lexicon,
        source: str,
        target: str,
        *,
        without: Container[str] = (),
        seed: int = 0,
        **search: Any,
    ) -> Examples:
        """Ask for the lexicon's words, at most `MOST_WORDS` of them drawn by chance, but not for those in `without`.

        Words count although none of their translations has a vector: their candidates are wrong. `search`: see
        `find_candidates`.
        """
        src, tgt = aligned.spaces[source], aligned.spaces[target]
        names = [word for word in lexicon.by_source if word in src and word not in without]
        if len(names) > MOST_WORDS:
            drawn = np.random.default_rng(seed).permutation(len(names))[:MOST_WORDS]
            names = [names[number] for number in np.sort(drawn)]
        if not names:
            nothing, none = np.empty(0), np.empty(0, dtype=np.bool_)
            return cls(np.empty((0, len(FEATURES))), nothing, none, np.empty(0, dtype=np.int64), none)
        found = find_candidates(aligned, source, target, src.rows(names), most=_CANDIDATES, **search)
        present = found.indices >= 0
        words, places = np.nonzero(present)
        targets = [set(lexicon.by_source[name]) for name in names]
        right = [tgt.words[found.indices[i, j]] in targets[i] for i, j in zip(words, places, strict=True)]
        return cls(
            found.features()[present],
            found.shares[present].astype(np.float64),
            np.array(right, dtype=np.bool_),
            words,
            places == 0,
        )

    @classmethod
    def joined(cls, parts: list[Examples]) -> Examples:
        """Examples of several alignments, such as those of the folds of a cross-validation."""
        shift = np.cumsum([0, *(int(part.words.max(initial=-1)) + 1 for part in parts)])
        return cls(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.shares for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.words + start for part, start in zip(parts, shift, strict=False)]),
            np.concatenate([part.first for part in parts]),
        )

    def take(self, chosen: Flags) -> Examples:
        return Examples(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Turns features of candidates into confidences.

    Args:
        means, scales, lowest, highest: of each feature among the examples; beyond their range nothing is known, and a
            feature counts as if it stood at its end.
        weights: the constant, then one of each standardised feature.
        info: `words` it was learned from, `right`: the share of first candidates that were; and, by cross-validation
            on these words, the expected calibration error of first candidates: `error`, and `error_before` of shares.
    """

    means: tuple[float, ...]
    scales: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    weights: tuple[float, ...]
    info: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def learn(cls, examples: Examples) -> Calibration:
        """Raises `LexiconError` where there are too few words, or they are all right or all wrong."""
        words = np.unique(examples.words)
        first = examples.right[examples.first]
        if len(words) < FEWEST_WORDS or not 0 < first.sum() < len(first):
            raise LexiconError(
                f"{len(words):,} held-out words, {int(first.sum()):,} of them right, cannot calibrate confidences",
                remedy=f"give at least {FEWEST_WORDS} words that the method did not learn from",
            )
        fold_of = np.random.default_rng(0).permutation(len(words))[np.searchsorted(words, examples.words)] % _FOLDS
        predicted = np.empty(len(examples.right))
        for fold in range(_FOLDS):
            model = cls._fitted(examples.take(fold_of != fold))
            predicted[fold_of == fold] = model(examples.features[fold_of == fold])
        info = {
            "words": len(words),
            "right": float(first.mean()),
            "error_before": calibration_error(examples.shares[examples.first], first),
            "error": calibration_error(predicted[examples.first], first),
        }
        return dataclasses.replace(cls._fitted(examples), info=info)

    @classmethod
    def _fitted(cls, examples: Examples) -> Calibration:
        """Newton's method on the penalised likelihood, which has one maximum."""
        means, scales = examples.features.mean(axis=0), examples.features.std(axis=0)
        scales[scales < 1e-9] = 1.0  # a feature that is always the same says nothing, and its weight stays 0
        X = np.column_stack([np.ones(len(examples.right)), (examples.features - means) / scales])
        penalty = _PENALTY * np.eye(X.shape[1])
        penalty[0, 0] = 1e-6  # next to none on the constant, yet it stays finite where all examples agree
        weights = np.zeros(X.shape[1])
        for _ in range(100):
            chance = _logistic(X @ weights)
            slope = X.T @ (examples.right - chance) - penalty @ weights
            step = np.linalg.solve((X.T * (chance * (1 - chance))) @ X + penalty, slope)
            weights += step * min(1.0, 5.0 / np.abs(step).max())
            if np.abs(step).max() < 1e-8:
                break
        ends = np.stack([examples.features.min(axis=0), examples.features.max(axis=0)])
        # A few words far more frequent than the others do not tell what frequent words are like.
        rank = FEATURES.index("log rank")
        ends[:, rank] = np.quantile(examples.features[:, rank], [0.02, 0.98])
        lowest, highest = ends
        mean, scale, low, high, weight = (tuple(one.tolist()) for one in (means, scales, lowest, highest, weights))
        return cls(mean, scale, low, high, weight)

    def __call__(self, features: Floats) -> Floats:
        """Confidences of candidates, features in the last axis."""
        constant, *weights = self.weights
        known = np.clip(features, self.lowest, self.highest)
        return _logistic(constant + ((known - np.array(self.means)) / np.array(self.scales)) @ np.array(weights))

    def record(self) -> dict[str, Any]:
        return {"features": list(FEATURES), **dataclasses.asdict(self)}

    @classmethod
    def from_record(cls, fields: Fields) -> Calibration:
        """What `record` gave, checked."""
        if fields.texts("features") != list(FEATURES):
            raise fields.wrong("its features of confidences are not those of this release")
        numbers: dict[str, tuple[float, ...]] = {}
        for name in ("means", "scales", "lowest", "highest", "weights"):
            size = len(FEATURES) + (name == "weights")
            values = fields.items(name)
            if len(values) != size or not all(isinstance(one, int | float) and np.isfinite(one) for one in values):
                raise fields.wrong(f'"{name}" is not a list of {size} numbers')
            numbers[name] = tuple(float(one) for one in values)
        if not all(scale > 0 for scale in numbers["scales"]):
            raise fields.wrong('"scales" must be above 0')
        return cls(**numbers, info=fields.mapping("info"))


def calibrations(
    aligned: Aligned,
    lexicon: Lexicon,
    source: str,
    target: str,
    *,
    seen: Lexicon | None = None,
    both: bool = True,
    progress: Progress = silent,
) -> dict[tuple[str, str, bool], Calibration]:
    """Calibrations by (source, target, re-ranked), of those that have enough words; see `Aligned.calibrated`."""
    known = Lexicon([]) if seen is None else seen
    found = {}
    directions = [(source, target, lexicon, known), (target, source, lexicon.invert(), known.invert())]
    for first, second, pairs, learned in directions if both else directions[:1]:
        for rerank in (False, True) if (first, second) in aligned.rerankers else (False,):
            examples = Examples.of(
                aligned, pairs, first, second, without=learned.by_source, rerank=rerank, progress=progress
            )
            try:
                found[first, second, rerank] = Calibration.learn(examples)
            except LexiconError:
                continue  # whoever wants a dictionary is told that its confidences are not calibrated
    return found


def calibration_error(confidences: Floats, right: Flags, bins: int = _BINS) -> float:
    """The expected calibration error: how far confidence and share of right ones are apart, in bins of equal width.

    >>> round(calibration_error(np.array([.9, .9, .1, .1]), np.array([True, True, False, True])), 3)
    0.25
    """
    numbers = np.minimum((confidences * bins).astype(np.int64), bins - 1)
    sums = [abs((confidences[numbers == one] - right[numbers == one]).sum()) for one in np.unique(numbers)]
    return float(sum(sums) / max(len(right), 1))


def _logistic(values: Floats) -> Floats:
    result: Floats = 0.5 * (1 + np.tanh(values / 2))
    return result
