"""The contract of an aligner.

A method is one file: a frozen dataclass whose fields are its settings, with the paper's values as defaults, and
`_fit`, which gets clean matrices. This base class owns the rest: checking, pairs, normalisation, seeds, provenance.
"""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt

import isoglot
from isoglot.aligners.alignment import Alignment, Side
from isoglot.aligners.remembered import remembered
from isoglot.assignments import check_known, setting_types
from isoglot.checkpoints import Checkpoint
from isoglot.errors import ConfigError, InputError, LexiconError, ShapeError
from isoglot.extras import require
from isoglot.lexicons import Lexicon, check_direction
from isoglot.plugins import Registry, late
from isoglot.progress import Progress, silent
from isoglot.resumable import run_key
from isoglot.retrieval import BACKENDS, SCORES
from isoglot.settings import Limits, check_settings
from isoglot.spaces import FloatMatrix, IntVector, Normaliser, Space, parse_steps

Supervision = Literal["supervised", "unsupervised", "optional"]
#: Settings by the name they go by together.
Presets = Mapping[str, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Method:
    """One row of the table of methods.

    Args:
        name: as on the command line.
        summary: one line for people who choose.
        supervision: "supervised" needs pairs, "unsupervised" refuses them, "optional" says in its docstring how
            it uses them.
        linear: whether both maps are matrices.
        cost: what the fit costs, n pairs or words and d dimensions.
        paper: where it comes from.
        any_dimensions: whether the two sides may differ in dimensions.
        iterative: whether it goes in steps, keeps checkpoints and can be resumed.
        requires: extras of the package that it cannot do without, see `isoglot.extras`.
    """

    name: str
    summary: str
    supervision: Supervision
    linear: bool = False
    cost: str = "-"
    paper: str = "-"
    any_dimensions: bool = False
    iterative: bool = False
    requires: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """What `_fit` gets: normalised matrices, checked pairs, randomness, progress, a checkpoint.

    X: (n, d_src), Y: (m, d_tgt), pairs: (p, 2) rows of X and Y that translate each other (none: p = 0).
    """

    X: FloatMatrix
    Y: FloatMatrix
    pairs: IntVector
    rng: np.random.Generator
    progress: Progress = silent
    checkpoint: Checkpoint = dataclasses.field(default_factory=lambda: Checkpoint(None, ""))
    #: Words of both sides, where the Spaces have any: for methods that look at spelling.
    words: tuple[Sequence[str], Sequence[str]] | None = None

    @property
    def paired(self) -> tuple[FloatMatrix, FloatMatrix]:
        """The matched rows of both sides, (p, d_src) and (p, d_tgt)."""
        return self.X[self.pairs[:, 0]], self.Y[self.pairs[:, 1]]


@dataclasses.dataclass(frozen=True)
class Aligner(ABC):
    """Base of all methods: settings in, `Alignment` out.

    Args:
        normalise: steps applied to each side first, see `isoglot.spaces.normalise`.
        match_dimensions: where the two sides differ in dimensions and the method needs them equal, reduce the
            larger side to its leading principal directions; without it that is an error.
        seed: where all random choices come from.
    """

    normalise: str = "unit,centre,unit"
    match_dimensions: bool = False
    seed: int = 0

    method: ClassVar[Method]
    #: What the settings may be, see `isoglot.settings`; a subclass adds its own.
    limits: ClassVar[Limits] = {"backend": BACKENDS, "score": SCORES}
    #: Settings that go by one name, as "paper": those that were published, where the defaults differ.
    presets: ClassVar[Presets] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # of its own, else `dataclass` writes another

    def __post_init__(self) -> None:
        limits: dict[str, Any] = {}
        for cls in reversed(type(self).__mro__):
            limits |= cls.__dict__.get("limits", {})
        check_settings(self, limits)
        parse_steps(self.normalise)

    @property
    def requires(self) -> tuple[str, ...]:
        """Extras of the package that it needs with these settings."""
        backend = getattr(self, "backend", None)
        return (*self.method.requires, *([backend] if backend in ("faiss", "usearch") else []))

    def check_extras(self) -> None:
        """Raise unless all packages that it needs are installed: before files are read, not after."""
        for extra in self.requires:
            require(extra, self.method.name)

    def fit(
        self,
        src: Space | npt.ArrayLike,
        tgt: Space | npt.ArrayLike,
        pairs: Lexicon | npt.ArrayLike | None = None,
        *,
        progress: Progress = silent,
        checkpoint: str | Path | None = None,
    ) -> Alignment:
        """Learn to put `src` and `tgt` into one space.

        `pairs`: a Lexicon (with Spaces), or rows of src and tgt that translate each other, shape (p, 2). The aligner
        itself is not changed; all that was learned is in the Alignment. `checkpoint`: a file in which an iterative
        method keeps its state; a run that was killed resumes there and ends with the same result.
        """
        self.check_extras()
        X, Y = _matrix(src, "src"), _matrix(tgt, "tgt")
        steps = parse_steps(self.normalise)
        index_pairs = self._checked_pairs(src, tgt, X, Y, pairs)
        progress("normalising", 0, 2)
        src_normaliser, Xn = Normaliser.fit_transform(steps, X)
        progress("normalising", 1, 2)
        tgt_normaliser, Yn = Normaliser.fit_transform(steps, Y)
        progress("normalising", 2, 2)
        if Xn.shape[1] != Yn.shape[1] and not self.method.any_dimensions:
            src_normaliser, Xn, tgt_normaliser, Yn = self._match(src_normaliser, Xn, tgt_normaliser, Yn)
        provenance = _provenance(src, tgt, X, Y, len(index_pairs), self.seed)
        state = Checkpoint(None if checkpoint is None else Path(checkpoint), self._key(provenance, index_pairs))
        words = (src.words, tgt.words) if isinstance(src, Space) and isinstance(tgt, Space) else None
        rng = np.random.default_rng(self.seed)
        alignment = remembered(self, Problem(Xn, Yn, index_pairs, rng, progress, state, words))
        state.remove()
        info = {**provenance, **alignment.info}
        return dataclasses.replace(
            alignment,
            method=self.method.name,
            config=dataclasses.asdict(self),
            src_normaliser=src_normaliser,
            tgt_normaliser=tgt_normaliser,
            info=info,
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings by name, as scikit-learn asks for them (`sklearn.base.clone` works)."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def set_params(self, **settings: Any) -> Self:
        """A new aligner with these settings changed: aligners themselves never change."""
        check_known(settings, setting_types(self), self.method.name)
        return dataclasses.replace(self, **settings)

    def as_transformer(self, side: Side = "src") -> Any:
        """This method as a transformer of scikit-learn, see `isoglot.aligners.sklearn_view.AlignedTransformer`."""
        require("sklearn", "as_transformer")
        return late("isoglot.aligners.sklearn_view:AlignedTransformer")(self, side)

    def __repr__(self) -> str:
        """The name and the settings that are not the defaults."""
        own = (f for f in dataclasses.fields(self) if getattr(self, f.name) != f.default)
        settings = "".join(f", {f.name}={getattr(self, f.name)!r}" for f in own)
        return f"aligner({self.method.name!r}{settings})"

    def keeping_target(self) -> Aligner:
        """The same method for maps into the target's own space (`onto_target`), as several languages need them."""
        return self

    @abstractmethod
    def _fit(self, problem: Problem) -> Alignment:
        """The method itself. Return an Alignment made with `Alignment.learned`; the base fills in the rest."""

    def _key(self, provenance: Mapping[str, Any], pairs: IntVector) -> str:
        """Tells runs apart: the same method, settings, data and pairs give the same key."""
        data = [provenance[side]["fingerprint"] for side in ("src", "tgt")]
        return run_key(self.method.name, dataclasses.asdict(self), data, hashlib.sha256(pairs.tobytes()).hexdigest())

    def _checked_pairs(
        self,
        src: Space | npt.ArrayLike,
        tgt: Space | npt.ArrayLike,
        X: FloatMatrix,
        Y: FloatMatrix,
        pairs: Lexicon | npt.ArrayLike | None,
    ) -> IntVector:
        name = self.method.name
        if pairs is None:
            if self.method.supervision == "supervised":
                raise LexiconError(
                    f"{name} learns from translation pairs and was given none",
                    remedy="give a lexicon, or choose an unsupervised method (see `isoglot methods`)",
                )
            return np.zeros((0, 2), dtype=np.int64)
        if self.method.supervision == "unsupervised":
            raise LexiconError(
                f"{name} is unsupervised and does not use translation pairs",
                remedy="leave the lexicon out, or choose a supervised method (see `isoglot methods`)",
            )
        if isinstance(pairs, Lexicon):
            if not (isinstance(src, Space) and isinstance(tgt, Space)):
                raise InputError("a Lexicon needs Spaces to look its words up in", remedy="give index pairs instead")
            check_direction(pairs, src, tgt)
            found = pairs.indices(src, tgt)
            if not len(found):
                raise LexiconError(
                    f"none of the lexicon's {len(pairs)} pairs is in both spaces",
                    where=pairs.source,
                    remedy=_overlap_hint(pairs, src, tgt),
                )
            return found
        found = np.asarray(pairs)
        if found.ndim != 2 or found.shape[1] != 2 or not np.issubdtype(found.dtype, np.integer):
            raise ShapeError(f"pairs must be whole numbers of shape (p, 2), not {found.dtype} {found.shape}")
        found = found.astype(np.int64)
        if not len(found):
            raise LexiconError("the list of pairs is empty")
        if found.min() < 0 or (found >= [len(X), len(Y)]).any():
            raise ShapeError(f"a pair points outside the {len(X)} source or {len(Y)} target rows")
        return found

    def _match(
        self, src_normaliser: Normaliser, X: FloatMatrix, tgt_normaliser: Normaliser, Y: FloatMatrix
    ) -> tuple[Normaliser, FloatMatrix, Normaliser, FloatMatrix]:
        d = min(X.shape[1], Y.shape[1])
        if not self.match_dimensions:
            raise ShapeError(
                f"{self.method.name} needs equal dimensions, the source has {X.shape[1]} and the target {Y.shape[1]}",
                remedy="use `match_dimensions`, or a method that takes both (cca, least-squares)",
            )
        # Lengths change when directions are cut off, so rows are brought to length one again.
        if X.shape[1] > d:
            reduction, X = Normaliser.fit_transform(("unit", f"reduce:{d}", "unit"), X)
            src_normaliser = src_normaliser.then(reduction)
        else:
            reduction, Y = Normaliser.fit_transform(("unit", f"reduce:{d}", "unit"), Y)
            tgt_normaliser = tgt_normaliser.then(reduction)
        return src_normaliser, X, tgt_normaliser, Y


A = TypeVar("A", bound=type[Aligner])


@dataclass_transform(frozen_default=True)
def method(name: str, summary: str, **row: Any) -> Callable[[A], A]:
    """Class decorator that makes an aligner a frozen dataclass and puts it into the table of methods.

    Args:
        row: the other fields of `Method`.
    """

    def decorate(cls: A) -> A:
        if "__dataclass_params__" not in vars(cls):
            dataclasses.dataclass(frozen=True)(cls)
        cls.method = Method(name, summary, **row)
        METHODS.add(name, cls)
        return cls

    return decorate


def _check_method(cls: Any) -> None:
    """Raise unless it is an aligner with a row of its own in the table."""
    if not (isinstance(cls, type) and issubclass(cls, Aligner) and "method" in vars(cls)):
        raise ConfigError(
            f"{getattr(cls, '__qualname__', repr(cls))} is not a method",
            remedy="derive a class from isoglot.aligners.Aligner and decorate it with @isoglot.aligners.method(...)",
        )


_FAMILIES = ("adversarial", "auto", "closed_form", "flows", "self_learning", "transport", "tuned")
#: The table of methods: filled by `@method` and by entry points of the group `isoglot.aligners`.
METHODS: Registry[type[Aligner]] = Registry(
    "method",
    "isoglot.aligners",
    *(f"isoglot.aligners.{name}" for name in _FAMILIES),
    check=_check_method,
)


def _matrix(side: Space | npt.ArrayLike, name: str) -> FloatMatrix:
    label = f"{name} ({side.lang})" if isinstance(side, Space) and side.lang else name
    X = side.vectors if isinstance(side, Space) else np.asarray(side)
    if X.ndim != 2 or 0 in X.shape:
        raise ShapeError(f"{label}: expected a matrix of vectors, got shape {X.shape}")
    if not np.issubdtype(X.dtype, np.number) or np.iscomplexobj(X):
        raise ShapeError(f"{label}: expected real numbers, got {X.dtype}")
    X = np.ascontiguousarray(X, dtype=np.float32)
    for start in range(0, len(X), 65_536):
        finite = np.isfinite(X[start : start + 65_536]).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            raise InputError(f"{label}: row {row} holds NaN or infinite numbers", remedy="drop or repair such rows")
    return X


def _overlap_hint(lexicon: Lexicon, src: Space, tgt: Space) -> str:
    if len(lexicon.invert().indices(src, tgt)):
        return "the lexicon's columns seem to be the other way round: swap them or the two spaces"
    if len(lexicon.fold_case().indices(src.fold_case(), tgt.fold_case())):
        return "they do match when upper and lower case are folded (`fold_case`)"
    return "check that languages, case and script of the lexicon fit the vectors"


def _provenance(
    src: Space | npt.ArrayLike,
    tgt: Space | npt.ArrayLike,
    X: FloatMatrix,
    Y: FloatMatrix,
    pairs: int,
    seed: int,
) -> dict[str, Any]:
    sides = {}
    for side, given, matrix in (("src", src, X), ("tgt", tgt, Y)):
        space = given if isinstance(given, Space) else Space("", [""] * len(matrix), matrix)
        sides[side] = {
            "lang": space.lang,
            "rows": len(matrix),
            "dim": int(matrix.shape[1]),
            "fingerprint": space.fingerprint(),
            "source": space.source,
        }
    versions = {"isoglot": isoglot.__version__, "numpy": np.__version__, "python": platform.python_version()}
    return {**sides, "pairs": pairs, "seed": seed, "versions": versions}
