"""The contract of an aligner as checks that any package can run on its own method. Needs no pytest.

    from isoglot.testing import check_aligner

    def test_my_method():
        check_aligner(MyAligner(rounds=2), rotates=True)

Our own methods are held to the same checks, one test each: see tests/contract/test_aligners.py.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
import numpy.typing as npt

from isoglot.aligners import Aligner, Alignment
from isoglot.checkpoints import Checkpoint
from isoglot.errors import ConfigError, InputError, IsoglotError, LexiconError, ShapeError
from isoglot.lexicons import Lexicon
from isoglot.spaces import FloatMatrix, IntVector, Space

#: How many saves the check of resuming allows each run before killing it.
KILLED_AFTER = (2, 3)


def check_aligner(aligner: Aligner, *, rotates: bool = False) -> None:
    """Raise AssertionError with a sentence about the first promise of the contract that the aligner breaks.

    Give it settings with which a fit is quick: it is fitted about ten times, to 200 words of 8 dimensions.
    `rotates`: also check that it finds a planted rotation of 400 words, from 250 pairs or from none.

    >>> from isoglot.aligners import aligner
    >>> check_aligner(aligner("procrustes"), rotates=True)
    """
    checks = AlignerChecks(aligner)
    for name in AlignerChecks.names():
        getattr(checks, name)()
    if rotates:
        checks.finds_a_rotation()


def planted_rotation(
    words: int = 200, dim: int = 8, *, noise: float = 0.01, seed: int = 0
) -> tuple[Space, Space, IntVector]:
    """A language, its rotated, noisy, shuffled twin, and the matching rows of both, (words, 2)."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(words, dim)) * np.linspace(2, 0.5, dim) + rng.normal(size=dim) * 0.5).astype(np.float32)
    rotation = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    order = rng.permutation(words)
    Y = (X @ rotation + noise * rng.normal(size=(words, dim))).astype(np.float32)[order]
    src, tgt = Space("aa", [f"a{i}" for i in range(words)], X), Space("bb", [f"b{i}" for i in order], Y)
    return src, tgt, np.stack([order, np.arange(words)], axis=1)


def precision(alignment: Alignment, src: Space, tgt: Space, pairs: IntVector, neighbours: int = 10) -> float:
    """The share of pairs whose target is the best CSLS translation of the source among all target words.

    Plain and slow on purpose: it shares no code with what it checks.
    """
    mapped = (alignment.transform(src.vectors, "src"), alignment.transform(tgt.vectors, "tgt"))
    A, B = (M.astype(np.float64) / np.linalg.norm(M, axis=1, keepdims=True) for M in mapped)
    cosines = A @ B.T
    density = np.sort(cosines, axis=0)[-neighbours:].mean(
        axis=0
    )  # a source word's own mean does not change its ranking
    return float(((2 * cosines - density)[pairs[:, 0]].argmax(axis=1) == pairs[:, 1]).mean())


class AlignerChecks:
    """The checks one by one, for test runners that name them; fits are shared between them.

    >>> AlignerChecks.names()[:2]
    ['check_row_of_the_table', 'check_settings']
    """

    def __init__(self, aligner: Aligner) -> None:
        self.aligner = aligner
        self.src, self.tgt, self.pairs = planted_rotation()

    @classmethod
    def names(cls) -> list[str]:
        """All but `finds_a_rotation`, which not every method tries to do."""
        return [name for name in vars(cls) if name.startswith("check_")]

    @functools.cached_property
    def alignment(self) -> Alignment:
        """What the aligner makes of the planted rotation."""
        return self._fit(self.src, self.tgt, self.pairs)

    def check_row_of_the_table(self) -> None:
        row = self.aligner.method
        for field in ("name", "summary", "cost", "paper"):
            _hold(bool(getattr(row, field)), f"@method gives no {field}")
        known = ("supervised", "unsupervised", "optional")
        _hold(row.supervision in known, f"supervision is {row.supervision!r}, not one of {known}")
        _hold(bool(type(self.aligner).__doc__), "the class has no docstring")

    def check_settings(self) -> None:
        cls, settings = type(self.aligner), dataclasses.asdict(self.aligner)
        _hold(cls(**settings) == self.aligner, "an aligner with the same settings is not equal to it")
        _hold(
            self.aligner.set_params(seed=3).get_params() == {**settings, "seed": 3}, "a setting is not stored as given"
        )
        with _refused("setting an attribute", dataclasses.FrozenInstanceError):
            self.aligner.seed = 4  # type: ignore[misc]
        with _refused("seed='a'", ConfigError):
            cls(**{**settings, "seed": "a"})

    def check_a_second_fit(self) -> None:
        before, first = dataclasses.asdict(self.aligner), self.alignment
        second = self._fit(self.src, self.tgt, self.pairs)
        _hold(dataclasses.asdict(self.aligner) == before, "fit changes the aligner")
        self._same(first, second, "a second fit with the same seed gives different numbers")

    def check_transform(self) -> None:
        alignment = self.alignment
        sides = [alignment.transform(space.vectors, side) for side, space in self._sides()]
        _hold(sides[0].shape[1] == sides[1].shape[1], "the two sides are not mapped into one space")
        for mapped, (side, space) in zip(sides, self._sides(), strict=True):
            _hold(len(mapped) == len(space), f"{side}: rows are lost")
            _hold(mapped.dtype == np.float32, f"{side}: mapped vectors are {mapped.dtype}, not float32")
            _hold(bool(np.isfinite(mapped).all()), f"{side}: mapped vectors are not finite")
        as_space = alignment.transform(self.src, "src")
        _hold(as_space.words == self.src.words, "a mapped Space has different words")
        _hold(np.array_equal(as_space.vectors, sides[0]), "a mapped Space has different vectors from its mapped matrix")
        _close(
            alignment.transform(self.src.vectors[5:7]),
            sides[0][5:7],
            1e-5,
            "a part is mapped differently from the whole",
        )
        with _refused("side='left'", ConfigError):
            alignment.transform(self.src.vectors, "left")  # type: ignore[call-overload]

    def check_inverse(self) -> None:
        for side, space in self._sides():
            if self.alignment.invertible:
                back = self.alignment.inverse_transform(self.alignment.transform(space.vectors, side), side)
                _close(
                    back,
                    self.alignment.normalise(space.vectors, side),
                    1e-4,
                    f"{side}: the inverse does not undo the map",
                )
            else:
                with _refused("inverse_transform of a map without an inverse", ConfigError, "inverted"):
                    self.alignment.inverse_transform(space.vectors, side)

    def check_saving(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "saved"
            self.alignment.save(place)
            loaded = Alignment.load(place)
            names = {path.suffix for path in place.iterdir()}
            content = json.loads((place / "config.json").read_text("utf-8"))
        self._same(loaded, self.alignment, "a loaded alignment gives different numbers from the saved one")
        _hold(names == {".json", ".safetensors", ".md"}, f"the folder holds {names}")
        _hold(loaded.method == self.aligner.method.name, "the folder does not record the method")
        _hold(content["config"] == dataclasses.asdict(self.aligner), "the folder does not record the settings")
        fingerprint = content["info"]["src"]["fingerprint"]
        _hold(fingerprint == self.src.fingerprint(), "the folder does not record the data")
        _hold(bool(content["info"]["versions"]["isoglot"]), "the folder does not record the version")

    def check_order_of_rows(self) -> None:
        order = np.random.default_rng(1).permutation(len(self.src))
        pairs = np.stack([np.argsort(order)[self.pairs[:, 0]], self.pairs[:, 1]], axis=1)
        shuffled = self._fit(self.src.take(order), self.tgt, pairs)
        mapped, usual = (one.transform(self.src.vectors) for one in (shuffled, self.alignment))
        _close(mapped, usual, 2e-3, "the result depends on the order of rows")

    def check_pairs(self) -> None:
        supervision = self.aligner.method.supervision
        if supervision == "supervised":
            with _refused("a fit without pairs", LexiconError, "pairs"):
                self.aligner.fit(self.src, self.tgt)
            for wrong in ([[0, 999]], [[-1, 0]], [[0.5, 1]], [0, 1], np.zeros((0, 2), dtype=int)):
                with _refused(f"pairs={wrong}", IsoglotError):
                    self.aligner.fit(self.src, self.tgt, wrong)
        if supervision == "unsupervised":
            with _refused("a fit with pairs", LexiconError, "unsupervised"):
                self.aligner.fit(self.src, self.tgt, self.pairs)

    def check_lexicon(self) -> None:
        if self.aligner.method.supervision != "supervised":
            return
        lexicon = Lexicon([(self.src.words[i], self.tgt.words[j]) for i, j in self.pairs])
        by_words = self.aligner.fit(self.src, self.tgt, lexicon)
        mapped, usual = (one.transform(self.src.vectors) for one in (by_words, self.alignment))
        _close(mapped, usual, 1e-4, "a Lexicon gives a different result from the same pairs as indices")
        with _refused("a Lexicon of the other direction", LexiconError, "the other way round"):
            self.aligner.fit(self.src, self.tgt, lexicon.invert())
        with _refused("a Lexicon in capitals", LexiconError, "folded"):
            self.aligner.fit(self.src, self.tgt, Lexicon([(a.upper(), b) for a, b in lexicon]))
        with _refused("a Lexicon with matrices", InputError, "Spaces"):
            self.aligner.fit(self.src.vectors, self.tgt.vectors, lexicon)

    def check_dimensions(self) -> None:
        narrow = self.tgt.with_vectors(self.tgt.vectors[:, :5])
        if self.aligner.method.any_dimensions:
            fits = [(self.src, narrow, self._fit(self.src, narrow, self.pairs))]
        else:
            with _refused("a fit of different dimensions", ShapeError, str(self.src.dim)):
                self._fit(self.src, narrow, self.pairs)
            matching, back = self.aligner.set_params(match_dimensions=True), self.pairs[:, ::-1]
            fits = [
                (self.src, narrow, self._fit(self.src, narrow, self.pairs, matching)),
                (narrow, self.src, self._fit(narrow, self.src, back, matching)),
            ]
        for src, tgt, alignment in fits:
            shapes = alignment.transform(src.vectors).shape, alignment.transform(tgt.vectors, "tgt").shape
            _hold(shapes[0] == shapes[1], f"sides of different dimensions are mapped into {shapes}")

    def check_wrong_input(self) -> None:
        broken = self.src.vectors.copy()
        broken[7, 3] = np.nan
        n, d = broken.shape
        for wrong in (broken, np.ones(5), np.zeros((0, d)), np.array([["a", "b"]]), np.ones((n, d), dtype=complex)):
            with _refused(f"input of {wrong.dtype} {wrong.shape}", IsoglotError):
                self._fit(wrong, self.tgt, self.pairs)
        with _refused("NaN in row 7", InputError, "row 7"):
            self._fit(broken, self.tgt, self.pairs)

    def check_degenerate_spaces(self) -> None:
        """Zero rows, constant columns, fewer pairs than dimensions: the result must still be finite."""
        src, tgt, pairs = planted_rotation(60)
        X = src.vectors.copy()
        X[3] = 0
        X[:, 5] = 1
        alignment = self._fit(src.with_vectors(X), tgt, pairs[:6])
        for side, matrix in (("src", X), ("tgt", tgt.vectors)):
            finite = np.isfinite(alignment.transform(matrix, side)).all()  # type: ignore[call-overload]
            _hold(bool(finite), f"{side}: a degenerate space is mapped to NaN")

    def check_resuming(self) -> None:
        """A run that is killed several times ends with the same result as an uninterrupted one."""
        if not self.aligner.method.iterative:
            return
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(Checkpoint, "seconds", 0.0):
            file = Path(folder) / "state"
            fit = functools.partial(self._fit, self.src, self.tgt, self.pairs, checkpoint=file)
            for saves in KILLED_AFTER:
                killed = _killed_after(saves, fit)
                if killed is not None:  # it finished first
                    break
                _hold(file.exists(), "an iterative method must save its state")
                with _refused("a checkpoint of other settings", InputError, "different data or settings"):
                    fit(aligner=self.aligner.set_params(seed=99))
            resumed = fit() if killed is None else killed
            _hold(not file.exists(), "the checkpoint of a finished run is left behind")
        self._same(resumed, self.alignment, "a resumed run gives different numbers from an uninterrupted one")

    def finds_a_rotation(self) -> None:
        """All words on both sides, hardly any noise, every pair right; unsupervised methods get no pairs."""
        src, tgt, pairs = planted_rotation(400, 16)
        share = precision(self._fit(src, tgt, pairs[:250]), src, tgt, pairs[250:])
        _hold(share > 0.97, f"only {share:.1%} of unseen words are translated correctly after a planted rotation")

    def _fit(
        self, src: Any, tgt: Any, pairs: Any, aligner: Aligner | None = None, checkpoint: Path | None = None
    ) -> Alignment:
        aligner = aligner or self.aligner
        supervision = None if aligner.method.supervision == "unsupervised" else pairs
        return aligner.fit(src, tgt, supervision, checkpoint=checkpoint)

    def _sides(self) -> list[tuple[Literal["src", "tgt"], Space]]:
        return [("src", self.src), ("tgt", self.tgt)]

    def _same(self, one: Alignment, other: Alignment, sentence: str) -> None:
        for side, space in self._sides():
            _close(one.transform(space.vectors, side), other.transform(space.vectors, side), 0.0, f"{side}: {sentence}")


def _hold(condition: bool, sentence: str) -> None:
    if not condition:
        raise AssertionError(sentence)


def _close(one: FloatMatrix, other: npt.NDArray[Any], tolerance: float, sentence: str) -> None:
    _hold(one.shape == other.shape, f"{sentence} (shapes {one.shape} and {other.shape})")
    difference = float(np.abs(one - other).max(initial=0.0))
    _hold(difference <= tolerance, f"{sentence} (by up to {difference:.2g})")


@contextlib.contextmanager
def _refused(what: str, kind: type[Exception], words: str = "") -> Iterator[None]:
    """The block must raise an error of this kind whose text contains these words."""
    try:
        yield
    except kind as error:
        _hold(words in str(error), f"the error about {what} does not say {words!r}: {error}")
    else:
        raise AssertionError(f"{what} is not refused")


class _Killed(Exception):
    """Stands for a kill in the middle of a run."""


def _killed_after(saves: int, fit: Callable[[], Alignment]) -> Alignment | None:
    """Fit, and stop at this save of the run's own state; returns the result if there were fewer saves."""
    save, left = Checkpoint.save, saves

    def save_and_stop(self: Checkpoint, *args: Any) -> None:
        nonlocal left
        save(self, *args)
        if self._path is not None:  # else it belongs to a method that this one starts from, and saves nothing
            left -= 1
            if not left:
                raise _Killed

    with mock.patch.object(Checkpoint, "save", save_and_stop):
        try:
            return fit()
        except _Killed:
            return None
