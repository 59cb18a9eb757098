"""Two languages of word occurrences with known geometry: the simulation (CBLI) of Zhao & Eger 2022, section 4.3.

A word is a Gaussian cloud, an occurrence of it a point of the cloud, and the target language is the source's points
moved. The paper leaves open how languages that are not isomorphic are made ("we combine translation with rotation").
Ours: the words are split into `t` groups of neighbours; all points share one rotation or reflection, and each group
adds a small rotation around its own middle and a shift, both of which grow with t. t = 1 is one orthogonal map.

`TURN` and `SHIFT` were calibrated at t = 5, eps = 0, k = 100 so that a good non-linear map gets about .6: over ten
seeds, nearest-neighbour regression of the training points gets .61, the best rotation .41. With half of both it is .66
and .45, with twice the shift .56 and .33. Where groups meet, points of different groups lie on each other and move
differently: no map of the points alone gets everything.
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

#: Angle in radians, and length, that t adds to a group's own movement for every step above 1.
TURN, SHIFT = 0.1, 0.2
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
class SimulatedOccurrences:
    """The two languages: three splits, and the movement of each group.

    train is drawn around the words' means, validation and test around the means moved by eps in every dimension.
    group: of each word. rotation (d, d): shared by all. turns (t, d, d), centres and shifts (t, d): of each group.
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

    def move(self, points: npt.ArrayLike, words: npt.ArrayLike) -> FloatMatrix:
        """The true map: where occurrences (n, d) of these words (n,) are in the target language."""
        X = np.asarray(points, dtype=np.float64)
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
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("k", "t", "eps", "seed")}
        for name in ("means", "group", "rotation", "turns", "centres", "shifts"):
            facts[name] = getattr(self, name).tolist()
        facts["map"] = "target = ((x - centres[g]) @ turns[g] + centres[g] + shifts[g]) @ rotation, g = group[word]"
        with atomic_path(folder / "truth.json") as temporary:
            temporary.write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
        return facts


def simulate_occurrences(
    k: int = 100, t: int = 5, eps: float = 0.0, *, words: int = 20, dim: int = 2, seed: int = 0
) -> SimulatedOccurrences:
    """`words` words with `k` occurrences each, `t` groups that move differently, tested `eps` away from the training.

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
    random = np.random.default_rng(seed)
    means = random.uniform(-EXTENT, EXTENT, (words, dim))
    rotation = random_rotation(dim, random)  # or a reflection
    group = _groups_of_neighbours(means, t, random)
    centres = np.stack([means[group == i].mean(axis=0) for i in range(t)])
    angles = random.uniform(-1, 1, t) * TURN * (t - 1)
    directions = random.standard_normal((t, dim))
    shifts = directions / np.linalg.norm(directions, axis=1, keepdims=True) * SHIFT * (t - 1)
    turns = np.stack([_small_turn(dim, angle, random) for angle in angles])
    none = Occurrences(
        *(Space("", [], np.zeros((0, dim), np.float32)),) * 2, *(np.zeros(0, np.int64),) * 2, np.zeros((0, 2), int)
    )
    bare = SimulatedOccurrences(
        none, none, none, means, group, rotation, turns, centres, shifts, k=k, t=t, eps=eps, seed=seed
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


def _small_turn(dim: int, angle: float, random: np.random.Generator) -> Matrix:
    """A rotation by `angle` in a random plane."""
    plane = np.linalg.qr(random.standard_normal((dim, 2)))[0]
    a, b = plane.T
    in_plane = np.outer(a, a) + np.outer(b, b)
    return np.asarray(np.eye(dim) + (np.cos(angle) - 1) * in_plane + np.sin(angle) * (np.outer(a, b) - np.outer(b, a)))
