"""Two languages of word occurrences with known geometry: the simulation (CBLI) of Zhao & Eger 2022, section 4.3.

A word is a Gaussian cloud, an occurrence of it a point of the cloud, and the target language is the source's points
moved. The paper leaves open how languages that are not isomorphic are made ("we combine translation with rotation").
`READINGS` are three ways to read that; t = 1 is one orthogonal map in all of them, and all grow with t.

- "groups", the headline: the words are split into `t` groups of neighbours; all points share one rotation or
  reflection, and each group adds a small rotation around its own middle and a shift.
- "affine", the literal one: one rotation or reflection and one shift. No matrix can shift, so that a rotation without
  centring loses, and an affine map gets everything.
- "smooth": one rotation or reflection of points that long waves have moved. Invertible everywhere, so that a bent map
  can get everything, and no matrix can.

`TURN` and `SHIFT` were calibrated at t = 5, eps = 0, k = 100 so that a good non-linear map gets about .6: over ten
seeds, nearest-neighbour regression of the training points gets .61, the best rotation .41. With half of both it is .66
and .45, with twice the shift .56 and .33. Where groups meet, points of different groups lie on each other and move
differently: no map of the points alone gets everything. `AWAY` and `SWELL` were not calibrated: they are as large as a
cloud at t = 5.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError
from isoglot.files import atomic_path
from isoglot.lexicons import Lexicon
from isoglot.simulate.pair import random_rotation
from isoglot.spaces import FloatMatrix, IntVector, Space
from isoglot.suggest import unknown

#: Angle in radians, and length, that t adds to a group's own movement for every step above 1.
TURN, SHIFT = 0.1, 0.2
#: Length of the one shift of the reading "affine", and height of the waves of "smooth", for every step of t above 1.
AWAY, SWELL = 0.5, 0.25
#: Waves in each dimension, and the length of the shortest: in the plane the movement is invertible up to t = 7, as no
#: slope of their sum reaches 1.
WAVES, WAVELENGTH = 2, 14.0
READINGS = ("groups", "affine", "smooth")
#: Means of words lie between minus and plus this in every dimension.
EXTENT = 5.0

Matrix = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Occurrences:
    """One split: occurrences of both languages, and which translate each other.

    src_word, tgt_word: the number of the word that each row is an occurrence of. pairs: rows (n, 2) of twins, that is
    one point and where it was moved to. Rows of the target come in random order.
    """

    src: Space
    tgt: Space
    src_word: IntVector
    tgt_word: IntVector
    pairs: IntVector

    @property
    def lexicon(self) -> Lexicon:
        """The twins by name."""
        return Lexicon([(self.src.words[i], self.tgt.words[j]) for i, j in self.pairs.tolist()])


@dataclasses.dataclass(frozen=True, eq=False)
class Waves:
    """A smooth movement: heights (w, d), directions (d, w) with the waves' frequencies, phases (w,)."""

    heights: Matrix
    directions: Matrix
    phases: Matrix

    def at(self, X: Matrix) -> Matrix:
        """How far each point (n, d) is moved."""
        return np.asarray(np.sin(X @ self.directions + self.phases) @ self.heights)


@dataclasses.dataclass(frozen=True, eq=False)
class SimulatedOccurrences:
    """The two languages: three splits, and the movement of each group.

    train is drawn around the words' means, validation and test around the means moved by eps in every dimension.
    group: of each word. rotation (d, d): shared by all. turns (t, d, d), centres and shifts (t, d): of each group; in
    the readings "affine" and "smooth" there is one. waves: of the reading "smooth", else none.
    """

    train: Occurrences
    validation: Occurrences
    test: Occurrences
    means: Matrix
    group: IntVector
    rotation: Matrix
    turns: Matrix
    centres: Matrix
    shifts: Matrix
    k: int
    t: int
    eps: float
    seed: int
    reading: str = "groups"
    bound: float = 0.0
    waves: Waves | None = None

    def move(self, points: npt.ArrayLike, words: npt.ArrayLike) -> FloatMatrix:
        """The true map: where occurrences (n, d) of these words (n,) are in the target language."""
        X = np.asarray(points, dtype=np.float64)
        if self.waves is not None:
            X = X + self.waves.at(X)
        group = self.group[np.asarray(words)]
        centre = self.centres[group]
        own = np.einsum("nd,nde->ne", X - centre, self.turns[group]) + centre + self.shifts[group]
        return np.asarray(own @ self.rotation, dtype=np.float32)

    def draw(self, eps: float, number: int, k: int | None = None) -> Occurrences:
        """A further split of these languages at the distance `eps`; `number` sets its seed."""
        k = self.k if k is None else k
        random = np.random.default_rng([self.seed, number])
        words = np.repeat(np.arange(len(self.means)), k)
        points = self.means[words] + eps + random.standard_normal((len(words), self.means.shape[1]))
        X = points.astype(np.float32)
        order = random.permutation(len(words))
        names = [f"{word}.{i}" for word in range(len(self.means)) for i in range(k)]
        counts = np.ones(len(words), dtype=np.int64)
        src = Space("source", [f"s{name}" for name in names], X, counts)
        tgt = Space("target", [f"t{names[i]}" for i in order], self.move(X, words)[order], counts)
        pairs = np.stack([order, np.arange(len(order))], axis=1)
        return Occurrences(src, tgt, words, words[order], pairs[np.argsort(order)])

    def save(self, folder: str | Path) -> dict[str, Any]:
        """Write the three splits as text vectors and lexicons, and the true map as truth.json, which is returned."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, split in (("train", self.train), ("validation", self.validation), ("test", self.test)):
            split.src.save(folder / f"{name}.source.vec")
            split.tgt.save(folder / f"{name}.target.vec")
            split.lexicon.save(folder / f"{name}.tsv")
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("k", "t", "eps", "seed", "reading", "bound")}
        for name in ("means", "group", "rotation", "turns", "centres", "shifts"):
            facts[name] = getattr(self, name).tolist()
        waved = ""
        if self.waves is not None:
            facts["waves"] = {name: getattr(self.waves, name).tolist() for name in ("heights", "directions", "phases")}
            waved = "x moved by sin(x @ directions + phases) @ heights first; "
        moved = "target = ((x - centres[g]) @ turns[g] + centres[g] + shifts[g]) @ rotation, g = group[word]"
        facts["map"] = waved + moved
        with atomic_path(folder / "truth.json") as temporary:
            temporary.write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
        return facts


def simulate_occurrences(
    k: int = 100,
    t: int = 5,
    eps: float = 0.0,
    *,
    words: int = 20,
    dim: int = 2,
    seed: int = 0,
    reading: str = "groups",
    bound: float = 0.0,
) -> SimulatedOccurrences:
    """`words` words with `k` occurrences each in two languages that differ by `t`, tested `eps` away from the training.

    Args:
        reading: how languages differ, of `READINGS`.
        bound: the shared rotation turns by at most so many degrees and never reflects; 0: any rotation or reflection.
            A cloud of words can look like its mirror image, which nothing that learns without pairs can then tell.

    >>> pair = simulate_occurrences(k=5, t=1, words=4)
    >>> pair.train.src, len(pair.train.lexicon)
    (Space('source', 20 words x 2, counts), 20)
    >>> i, j = pair.train.pairs[7]
    >>> bool(np.allclose(pair.train.src.vectors[i] @ pair.rotation, pair.train.tgt.vectors[j], atol=1e-5))
    True
    """
    if k < 1 or dim < 2 or words < 1 or not 1 <= t <= words or not np.isfinite(eps):
        raise ConfigError(
            f"cannot simulate k={k}, t={t}, eps={eps}, {words} words in {dim} dimensions",
            remedy="k at least 1, t between 1 and the number of words, 2 dimensions or more",
        )
    if reading not in READINGS:
        raise unknown("reading", reading, READINGS, where="reading")
    if not 0 <= bound <= 180:
        raise ConfigError(f"must be degrees between 0 and 180, not {bound:g}", where="bound")
    random = np.random.default_rng(seed)
    means = random.uniform(-EXTENT, EXTENT, (words, dim))
    rotation = random_rotation(dim, random)  # or a reflection
    if bound:
        rotation = _small_turn(dim, float(random.uniform(-1, 1)) * np.deg2rad(bound), random)
    groups = t if reading == "groups" else 1
    group = _groups_of_neighbours(means, groups, random)
    centres = np.stack([means[group == i].mean(axis=0) for i in range(groups)])
    angles = random.uniform(-1, 1, groups) * TURN * (groups - 1)
    directions = random.standard_normal((groups, dim))
    length = {"groups": SHIFT, "affine": AWAY, "smooth": 0.0}[reading] * (t - 1)
    shifts = directions / np.linalg.norm(directions, axis=1, keepdims=True) * length
    turns = np.stack([_small_turn(dim, angle, random) for angle in angles])
    waves = _waves(dim, SWELL * (t - 1), random) if reading == "smooth" else None
    none = Occurrences(
        *(Space("", [], np.zeros((0, dim), np.float32)),) * 2, *(np.zeros(0, np.int64),) * 2, np.zeros((0, 2), int)
    )
    bare = SimulatedOccurrences(
        none, none, none, means, group, rotation, turns, centres, shifts, k, t, eps, seed, reading, bound, waves
    )
    return dataclasses.replace(bare, train=bare.draw(0.0, 1), validation=bare.draw(eps, 2), test=bare.draw(eps, 3))


def _groups_of_neighbours(means: Matrix, t: int, random: np.random.Generator) -> IntVector:
    """k-means, the tightest of ten runs whose groups all have words."""
    from scipy.cluster.vq import kmeans2

    if t == 1:
        return np.zeros(len(means), dtype=np.int64)
    best, tightest = np.arange(len(means)) % t, np.inf
    for run in random.integers(2**31, size=10):
        centres, group = kmeans2(means, t, minit="++", seed=int(run), iter=50, missing="warn")
        spread = float(((means - centres[group]) ** 2).sum())
        if len(np.unique(group)) == t and spread < tightest:
            best, tightest = group, spread
    return np.asarray(best, dtype=np.int64)


def _waves(dim: int, height: float, random: np.random.Generator) -> Waves:
    """Long waves in random directions; the heights of all together are `height` in each dimension."""
    number = WAVES * dim
    directions = random.standard_normal((dim, number))
    directions /= np.linalg.norm(directions, axis=0)
    lengths = random.uniform(WAVELENGTH, 2 * WAVELENGTH, number)
    heights = np.repeat(np.eye(dim), WAVES, axis=0) * height / WAVES
    return Waves(heights, directions * (2 * np.pi / lengths), random.uniform(0, 2 * np.pi, number))


def _small_turn(dim: int, angle: float, random: np.random.Generator) -> Matrix:
    """A rotation by `angle` in a random plane."""
    plane = np.linalg.qr(random.standard_normal((dim, 2)))[0]
    a, b = plane.T
    in_plane = np.outer(a, a) + np.outer(b, b)
    return np.asarray(np.eye(dim) + (np.cos(angle) - 1) * in_plane + np.sin(angle) * (np.outer(a, b) - np.outer(b, a)))
