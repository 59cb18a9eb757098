"""`Alignment`: what an aligner has learned. Frozen, saved as a readable folder, shared.

The folder holds `config.json` (method, settings, seed, versions, data fingerprints, steps of normalisation) and
`alignment.safetensors` (all numbers). Nothing is ever pickled.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from isoglot.aligners.alignment_card import alignment_card
from isoglot.card_content import HERE
from isoglot.errors import ConfigError, ShapeError
from isoglot.folders import FolderKind
from isoglot.hub import fetch, push
from isoglot.manifests import Fields, TensorFile
from isoglot.plugins import late
from isoglot.spaces import FloatMatrix, Normaliser, Space, parse_steps

Side = Literal["src", "tgt"]
Tensors = Mapping[str, npt.NDArray[np.float32]]

ALIGNMENT_FOLDER = FolderKind(
    "isoglot-alignment", "a saved alignment", "`isoglot align` or Alignment.save", manifest="config.json"
)
_TENSORS = "alignment.safetensors"


@dataclasses.dataclass(frozen=True, eq=False)
class Alignment(ABC):
    """A learned pair of maps, one a side, into a shared space.

    Args:
        method: name in the table of methods.
        config: the aligner's settings.
        src_normaliser, tgt_normaliser: normalisation learned from each side, replayed before mapping.
        info: languages, seed, versions, fingerprints of the data, what the method measured on its way.
    """

    method: str
    config: Mapping[str, Any]
    src_normaliser: Normaliser
    tgt_normaliser: Normaliser
    info: Mapping[str, Any]

    #: Which subclass a saved folder holds.
    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Alignment]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # of its own, else `dataclass` writes one of all arrays
        if "kind" in cls.__dict__:
            other = Alignment._kinds.setdefault(cls.kind, cls)
            if other._origin() != cls._origin():
                raise ConfigError(f"two kinds of alignment are {cls.kind!r}: {other._origin()} and {cls._origin()}")
            Alignment._kinds[cls.kind] = cls

    def __repr__(self) -> str:
        src, tgt = (self.info.get(side, {}) for side in ("src", "tgt"))
        sides = " to ".join(f"{one.get('lang') or '?'} ({one.get('dim', '?')} dimensions)" for one in (src, tgt))
        return f"<{type(self).__name__} by {self.method or 'no method'}: {sides}>"

    @classmethod
    def _origin(cls) -> str:
        return f"{cls.__module__}:{cls.__qualname__}"

    @classmethod
    def learned(cls, *, info: Mapping[str, Any] | None = None, **maps: Any) -> Self:
        """For `_fit`: an Alignment of these maps alone; the base class of aligners fills in the rest."""
        return cls("", {}, Normaliser(), Normaliser(), info or {}, **maps)

    @overload
    def transform(self, X: Space, side: Side = ...) -> Space: ...
    @overload
    def transform(self, X: npt.ArrayLike, side: Side = ...) -> FloatMatrix: ...
    def transform(self, X: Space | npt.ArrayLike, side: Side = "src") -> Space | FloatMatrix:
        """Map vectors of one side into the shared space: normalise, then map. A Space gives a Space."""
        if isinstance(X, Space):
            return X.with_vectors(self.transform(X.vectors, side))
        matrix = as_matrix(X)
        mapped = self._map(self.normaliser(side).transform(matrix), side)
        return mapped.astype(np.float32, copy=False)

    def inverse_transform(self, X: npt.ArrayLike, side: Side = "src") -> FloatMatrix:
        """From the shared space back into one side's normalised space, where the method can be inverted."""
        self.normaliser(side)
        return self._unmap(as_matrix(X), side).astype(np.float32, copy=False)

    def normalise(self, X: npt.ArrayLike, side: Side = "src") -> FloatMatrix:
        """Only the normalisation of that side: what `inverse_transform(transform(X))` returns to."""
        return self.normaliser(side).transform(as_matrix(X))

    def normaliser(self, side: Side) -> Normaliser:
        if side not in ("src", "tgt"):
            raise ConfigError(f"side must be 'src' or 'tgt', not {side!r}")
        return self.src_normaliser if side == "src" else self.tgt_normaliser

    @property
    def invertible(self) -> bool:
        """Whether `inverse_transform` works."""
        return False

    def save(self, folder: str | Path) -> None:
        """Write the folder, replacing an alignment that is already there."""
        self._save(folder, HERE)

    def push_to_hub(self, name: str, *, private: bool | None = None) -> str:
        """Save it as the repository `name` ("user/name") of the model hub; returns its address."""
        return push(lambda folder: self._save(folder, name), name, private=private)

    def _save(self, folder: str | Path, name: str) -> None:
        """Write the folder, with a card that loads `name`."""
        with ALIGNMENT_FOLDER.replacing(folder) as temporary:
            alignment_card(name, self.method, self.config, self.info).write(temporary)
            self.write_into(temporary)

    def write_into(self, folder: Path) -> None:
        """Write the two files into an existing folder (for callers that make a larger folder in one piece)."""
        content = {
            "kind": self.kind,
            **({} if self._origin().startswith("isoglot.") else {"class": self._origin()}),
            "method": self.method,
            "config": dict(self.config),
            "normalise": {"src": self.src_normaliser.steps, "tgt": self.tgt_normaliser.steps},
            "info": dict(self.info),
        }
        tensors = {f"map.{name}": np.ascontiguousarray(value) for name, value in self._tensors().items()}
        for side in ("src", "tgt"):
            for i, learned in enumerate(self.normaliser(side).state):
                tensors[f"normalise.{side}.{i}"] = np.ascontiguousarray(learned)
        # safetensors cannot hold "no tensor at all", so there is always at least the format's version.
        save_file({**tensors, "version": np.array([ALIGNMENT_FOLDER.version], dtype=np.int32)}, folder / _TENSORS)
        ALIGNMENT_FOLDER.write_manifest(folder, content)

    @staticmethod
    def load(folder: str | Path) -> Alignment:
        """Read what `save` wrote."""
        manifest = ALIGNMENT_FOLDER.read(folder)
        tensors = manifest.tensors(_TENSORS)
        subclass = _kind_of(manifest)
        steps = manifest.fields("normalise")
        common = {
            "method": manifest.text("method"),
            "config": manifest.mapping("config"),
            "src_normaliser": _load_normaliser(steps, "src", tensors),
            "tgt_normaliser": _load_normaliser(steps, "tgt", tensors),
            "info": manifest.mapping("info"),
        }
        maps = {name[4:]: tensors[name] for name in tensors if name.startswith("map.")}
        for name, array in maps.items():
            if array.dtype not in (np.float32, np.bool_):
                raise tensors.wrong(f"map.{name} is of type {array.dtype}")
        try:
            alignment = subclass._from_tensors(maps, **common)
            alignment._check_maps()
        except (ShapeError, KeyError, TypeError, ValueError, AttributeError) as error:
            what = error.what if isinstance(error, ShapeError) else f"a part is missing or wrong ({error})"
            raise tensors.wrong(f"the maps do not fit together: {what}") from error
        return alignment

    @staticmethod
    def from_pretrained(name: str | Path) -> Alignment:
        """Read what `push_to_hub` sent, or a folder."""
        return Alignment.load(fetch(name))

    @abstractmethod
    def _map(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        """Map normalised vectors of one side into the shared space."""

    def _unmap(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        raise ConfigError(f"{self.method} cannot be inverted", remedy="use procrustes or another invertible method")

    @abstractmethod
    def _check_maps(self) -> None:
        """Raise ShapeError if what was loaded cannot map any vectors; cheap, as every load calls it."""

    @abstractmethod
    def _tensors(self) -> Tensors:
        """All that was learned, by name."""

    @classmethod
    @abstractmethod
    def _from_tensors(cls, tensors: Tensors, **common: Any) -> Alignment:
        """The way back from `_tensors`."""


@dataclasses.dataclass(frozen=True, eq=False)
class LinearAlignment(Alignment):
    """Each side is mapped by a matrix and a shift: `X @ W + b`. `None` leaves that side as it is.

    W_src: (d_src, d), W_tgt: (d_tgt, d), b_src and b_tgt: (d,).
    """

    W_src: FloatMatrix | None = None
    W_tgt: FloatMatrix | None = None
    b_src: npt.NDArray[np.float32] | None = None
    b_tgt: npt.NDArray[np.float32] | None = None

    kind: ClassVar[str] = "linear"

    def _map(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        W, b = (self.W_src, self.b_src) if side == "src" else (self.W_tgt, self.b_tgt)
        if W is not None:
            if X.shape[1] != len(W):
                raise ShapeError(f"vectors have {X.shape[1]} dimensions, the {side} map takes {len(W)}")
            X = X @ W
        return X if b is None else X + b

    def _unmap(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        W, b = (self.W_src, self.b_src) if side == "src" else (self.W_tgt, self.b_tgt)
        if not self.invertible:
            return super()._unmap(X, side)
        X = X if b is None else X - b
        return X if W is None else X @ W.T

    @property
    def invertible(self) -> bool:
        """True if both matrices are orthogonal, so that the transpose undoes them exactly."""
        return all(W is None or _orthogonal(W) for W in (self.W_src, self.W_tgt))

    def _check_maps(self) -> None:
        shared = set()
        for W, b, normaliser in (
            (self.W_src, self.b_src, self.src_normaliser),
            (self.W_tgt, self.b_tgt, self.tgt_normaliser),
        ):
            d = normaliser.output_dim
            for name, array, ndim in (("matrix", W, 2), ("shift", b, 1)):
                if array is None:
                    continue
                if array.ndim != ndim:
                    raise ShapeError(f"a {name} of shape {array.shape}")
                if d is not None and array.shape[0] != d:
                    raise ShapeError(f"a {name} of shape {array.shape} after {d} dimensions")
                d = array.shape[-1]
            shared |= set() if d is None else {d}
        if len(shared) > 1:
            raise ShapeError(f"the two sides end in spaces of {sorted(shared)} dimensions")

    def _tensors(self) -> Tensors:
        named = {"W_src": self.W_src, "W_tgt": self.W_tgt, "b_src": self.b_src, "b_tgt": self.b_tgt}
        return {name: value for name, value in named.items() if value is not None}

    @classmethod
    def _from_tensors(cls, tensors: Tensors, **common: Any) -> LinearAlignment:
        maps: dict[str, Any] = dict(tensors)
        return cls(**common, **maps)


def onto_target(alignment: Alignment) -> Alignment:
    """The same alignment with the target side left where it is (normalised); the method must be linear."""
    if not isinstance(alignment, LinearAlignment):
        raise ConfigError(f"{alignment.method} is not linear and cannot share a space through a pivot")
    if alignment.W_tgt is None and alignment.b_tgt is None:
        return alignment
    d = next(len(M) if M.ndim == 1 else M.shape[1] for M in alignment._tensors().values())
    W_src, W_tgt = (np.eye(d) if W is None else W.astype(np.float64) for W in (alignment.W_src, alignment.W_tgt))
    back = np.linalg.pinv(W_tgt)
    shift = np.zeros(W_src.shape[1])
    shift += 0 if alignment.b_src is None else alignment.b_src
    shift -= 0 if alignment.b_tgt is None else alignment.b_tgt
    return dataclasses.replace(
        alignment,
        W_src=(W_src @ back).astype(np.float32),
        b_src=(shift @ back).astype(np.float32) if shift.any() else None,
        W_tgt=None,
        b_tgt=None,
    )


def as_matrix(X: npt.ArrayLike) -> FloatMatrix:
    """X as float32, refused unless it is a matrix."""
    matrix = np.asarray(X, dtype=np.float32)
    if matrix.ndim != 2:
        raise ShapeError(f"expected a matrix (n, d), got shape {matrix.shape}")
    return matrix


def _kind_of(manifest: Fields) -> type[Alignment]:
    """The class that a saved folder holds. What a folder names is never imported: only the user imports code."""
    known = Alignment._kinds
    if "class" in manifest and manifest.text("kind") not in known:
        late("isoglot.aligners:methods")()  # imports those that the user has installed as entry points
        if manifest.text("kind") not in known:
            module, _, name = manifest.text("class").partition(":")
            raise ConfigError(
                f"made by a method that is no part of Isoglot ({name} of {module})",
                where=manifest.where,
                remedy="import it before loading (`aligner` with file.py:Class does), or install it as an entry point",
            )
    return known[manifest.one_of("kind", list(known))]


def _orthogonal(W: FloatMatrix) -> bool:
    return W.shape[0] == W.shape[1] and bool(np.abs(W @ W.T - np.eye(len(W))).max() < 1e-4)


def _load_normaliser(steps: Fields, side: Side, tensors: TensorFile) -> Normaliser:
    try:
        names = parse_steps(steps.texts(side, distinct=False))
        state = tuple(tensors.take(f"normalise.{side}.{i}", (None, None)) for i in range(len(names)))
        return Normaliser(names, state).checked()
    except (ConfigError, ShapeError) as error:
        raise steps.wrong(f'"normalise": {error.what}') from error
