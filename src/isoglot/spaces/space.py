"""`Space`: the words of one language with a vector each. Everything else in Isoglot takes and returns Spaces.

A Space never changes. Its vectors are one read-only float32 matrix, which may be a memory map of a file:
slicing off the most frequent words copies nothing.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError, ShapeError
from isoglot.plugins import late
from isoglot.progress import Progress, silent
from isoglot.small_tables import html_table
from isoglot.strings import check_list

if TYPE_CHECKING:
    from isoglot.spaces.report import LoadReport
    from isoglot.spaces.subwords import SubwordTable

FloatMatrix = npt.NDArray[np.float32]
IntVector = npt.NDArray[np.int64]

#: How many words a notebook's table shows, and how many an unknown word is compared with.
_SHOWN = 8
_COMPARED = 5000


@dataclasses.dataclass(frozen=True, eq=False)
class Space:
    """Words of one language and their vectors, most frequent first.

    Args:
        lang: language code, e.g. "en"; only a label.
        words: n distinct words.
        vectors: (n, d) matrix; stored as float32, read-only, without a copy if it already is float32.
        counts: how often each word occurs, if known. Without counts the order of rows stands for frequency.
        subwords: n-gram vectors, from which words outside the vocabulary get theirs (fastText `.bin`).
        report: what the reader had to repair, if the Space came from a file.
        source: the file it came from.

    >>> import numpy as np
    >>> space = Space("en", ["the", "cat"], np.eye(2))
    >>> len(space), space.dim, "cat" in space
    (2, 2, True)
    >>> space["cat"], space[["cat", "the"]].shape
    (array([0., 1.], dtype=float32), (2, 2))
    """

    lang: str
    words: Sequence[str]
    vectors: FloatMatrix
    counts: IntVector | None = None
    subwords: SubwordTable | None = None
    report: LoadReport | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        vectors = np.asarray(self.vectors)
        if vectors.ndim != 2:
            raise ShapeError(f"vectors must be a matrix (n, d), not of shape {vectors.shape}")
        if vectors.dtype != np.float32 or not vectors.flags.c_contiguous:
            vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        vectors = vectors.view()
        vectors.flags.writeable = False
        object.__setattr__(self, "vectors", vectors)
        check_list(self.words, "the words of a Space are a list")
        object.__setattr__(self, "words", tuple(self.words))
        if len(self.words) != len(vectors):
            raise ShapeError(f"{len(self.words)} words but {len(vectors)} vectors")
        if self.counts is not None:
            counts = np.asarray(self.counts, dtype=np.int64)
            if counts.shape != (len(self.words),):
                raise ShapeError(f"counts have shape {counts.shape}, expected ({len(self.words)},)")
            object.__setattr__(self, "counts", counts)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, words: str | Sequence[str]) -> FloatMatrix:
        """The vector of a word, or the matrix of several."""
        if isinstance(words, str):
            return self.vector(words)
        if not isinstance(words, Sequence | np.ndarray) or not all(isinstance(word, str) for word in words):
            raise InputError(f"index a Space with a word or a list of words, not {words!r}")
        rows = self.rows(words)
        if len(rows) and rows.min() >= 0:
            return self.vectors[rows]
        return np.array([self.vector(word) for word in words], dtype=np.float32).reshape(-1, self.dim)

    def __repr__(self) -> str:
        extra = ", counts" if self.counts is not None else ""
        extra += ", subwords" if self.subwords is not None else ""
        return f"Space({self.lang!r}, {len(self)} words x {self.dim}{extra})"

    def _repr_html_(self) -> str:
        first = ", ".join(self.words[:_SHOWN]) + (", ..." if len(self) > _SHOWN else "")
        row = [f"{len(self):,} words x {self.dim}", self.source or "", first]
        return html_table(f"Space {self.lang}", ["size", "source", "words"], [row])

    def __contains__(self, word: object) -> bool:
        return word in self.index

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word. For a word that occurs twice, the first (most frequent) row."""
        # Built backwards so that the first of two equal words wins.
        return {word: row for row, word in zip(range(len(self.words) - 1, -1, -1), reversed(self.words), strict=True)}

    def rows(self, words: str | Iterable[str]) -> IntVector:
        """Row of each word, or of a single word; -1 for unknown words."""
        index = self.index
        names = [words] if isinstance(words, str) else words
        return np.fromiter((index.get(word, -1) for word in names), dtype=np.int64)

    def vector(self, word: str) -> npt.NDArray[np.float32]:
        """The word's vector; for unknown words the sum of its n-grams, if the Space has subwords."""
        row = self.index.get(word)
        if row is not None:
            return np.array(self.vectors[row])
        if self.subwords is not None:
            return self.subwords.vector(word)
        raise InputError(
            f"{word!r} is not among the {len(self):,} words{' of ' * bool(self.lang)}{self.lang}",
            remedy=self._near(word),
        )

    def most_similar(self, word: str | npt.ArrayLike, k: int = 10) -> list[tuple[str, float]]:
        """The k words whose vectors have the highest cosine with this word's (it is left out) or with a vector.

        >>> import numpy as np
        >>> Space("en", ["cat", "dog", "the"], np.array([[1, 0], [3, 0], [0, 1]])).most_similar("cat", k=2)
        [('dog', 1.0), ('the', 0.0)]
        """
        if k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        vector = self.vector(word) if isinstance(word, str) else np.asarray(word, dtype=np.float32)
        if vector.shape != (self.dim,):
            raise ShapeError(f"the vector has shape {vector.shape}, not ({self.dim},)")
        lengths = self._lengths * np.linalg.norm(vector)
        cosines = np.divide(self.vectors @ vector, lengths, out=np.zeros(len(self), np.float32), where=lengths > 0)
        own = self.index.get(word, -1) if isinstance(word, str) else -1
        if own >= 0:
            cosines[own] = -np.inf
        k = min(k, len(self) - (own >= 0))
        best = np.argpartition(-cosines, max(k - 1, 0))[:k]
        best = best[np.lexsort((best, -cosines[best]))]
        return [(self.words[row], float(cosines[row])) for row in best]

    def take(self, rows: npt.ArrayLike) -> Space:
        """The Space of these rows, in this order (copies the vectors)."""
        numbers = np.asarray(rows, dtype=np.int64)
        return self._replace(
            words=[self.words[i] for i in numbers],
            vectors=self.vectors[numbers],
            counts=None if self.counts is None else self.counts[numbers],
        )

    def most_frequent(self, n: int) -> Space:
        """The n most frequent words. A view, no copy, unless the rows are not sorted by count."""
        if n >= len(self) and self._ordered:
            return self
        if not self._ordered:
            assert self.counts is not None
            return self.take(np.argsort(-self.counts, kind="stable")[:n])
        return self._replace(
            words=self.words[:n], vectors=self.vectors[:n], counts=None if self.counts is None else self.counts[:n]
        )

    def fold_case(self) -> Space:
        """Lower-case all words. Where several become the same word, the most frequent keeps its vector; counts add up.

        >>> import numpy as np
        >>> space = Space("de", ["die", "Die", "Hund"], np.eye(3), counts=[5, 7, 2]).fold_case()
        >>> space.words, space.counts.tolist(), space.vectors[0].tolist()
        (('die', 'hund'), [12, 2], [0.0, 1.0, 0.0])
        """
        best: dict[str, int] = {}
        for row, word in enumerate(self.words):
            folded = word.lower()
            other = best.get(folded)
            if other is None or (self.counts is not None and self.counts[row] > self.counts[other]):
                best[folded] = row
        names = list(best)
        rows = np.fromiter(best.values(), dtype=np.int64, count=len(best))
        counts = None
        if self.counts is not None:
            position = {name: i for i, name in enumerate(names)}
            counts = np.zeros(len(names), dtype=np.int64)
            np.add.at(counts, [position[word.lower()] for word in self.words], self.counts)
        return self._replace(words=names, vectors=self.vectors[rows], counts=counts)

    def with_vectors(self, vectors: npt.ArrayLike) -> Space:
        """The same words with other vectors (after a transformation). Subwords no longer match and are dropped."""
        return self._replace(vectors=np.asarray(vectors), subwords=None)

    def fingerprint(self) -> str:
        """A short digest of words and vectors, stored with results to identify their data."""
        digest = hashlib.sha256("\n".join(self.words).encode("utf-8", "surrogatepass"))
        digest.update(str(self.vectors.shape).encode())
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()[:16]

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        lang: str | None = None,
        limit: int | None = None,
        format: str | None = None,
        cache: bool = True,
        progress: Progress = silent,
    ) -> Space:
        """Read a file, a folder or an entry of the catalogue ("vectors/fr"): see `isoglot.spaces.load_space`."""
        load_space = late("isoglot.spaces.load:load_space")
        space: Space = load_space(path, lang=lang, limit=limit, format=format, cache=cache, progress=progress)
        return space

    def save(self, path: str | Path, *, format: str | None = None, progress: Progress = silent) -> None:
        """Write the Space; the format follows from the file's name unless given: see `isoglot.spaces.save_space`."""
        late("isoglot.spaces.load:save_space")(self, path, format=format, progress=progress)

    @cached_property
    def _ordered(self) -> bool:
        return self.counts is None or bool((self.counts[:-1] >= self.counts[1:]).all())

    @cached_property
    def _lengths(self) -> npt.NDArray[np.float32]:
        # Not np.linalg.norm, which would make a matrix of squares.
        lengths: npt.NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors))
        return lengths

    def spelled_like(self, word: str, k: int = 3) -> list[str]:
        """Up to k words spelled like this one: in other case, else the most similar frequent words.

        >>> import numpy as np
        >>> Space("en", ["music", "musical", "cat"], np.eye(3)).spelled_like("musci", k=1)
        ['music']
        """
        near = [other for other in (word.lower(), word.capitalize(), word.upper()) if other in self.index]
        if not near:
            similar = (one for one in self.words if abs(len(one) - len(word)) <= 2 and one[:1] == word[:1])
            near = difflib.get_close_matches(word, list(itertools.islice(similar, _COMPARED)), n=k)
        return list(dict.fromkeys(near))[:k]

    def _near(self, word: str) -> str | None:
        """Hint for an unknown word."""
        near = self.spelled_like(word)
        return f"similar words: {', '.join(near)}" if near else None

    def _replace(self, **changes: Any) -> Space:
        return dataclasses.replace(self, **changes)
