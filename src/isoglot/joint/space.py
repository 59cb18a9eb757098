"""`JointSpace`: one matrix of vectors for several languages, and which language each word belongs to.

Words of a jointly trained vocabulary fall into three kinds: shared, of the first language alone, of the second alone
(with more languages: shared by some, or of one alone). The kinds are kept apart; each language sees its own words and
those it shares.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from isoglot.errors import ConfigError, ShapeError
from isoglot.folders import FolderKind
from isoglot.spaces import FloatMatrix, IntVector, Space

#: Among which Wang et al. choose.
GAMMAS = (0.7, 0.8, 0.9, 0.95)

_KIND = FolderKind("isoglot-joint-space", "a joint space", "`isoglot joint train`", manifest="joint.json")


@dataclasses.dataclass(frozen=True, eq=False)
class JointSpace:
    """Words of several languages with one vector each.

    Args:
        langs: L language codes.
        words: V words; the same spelling stands twice only where languages were kept apart from the start.
        vectors: (V, d).
        counts: (V, L) how often each word occurs in each language's text.
        members: (V, L) whether a word belongs to a language. Left out: wherever it occurs.

    >>> joint = JointSpace(("en", "fr"), ("chat", "taxi", "the"), np.eye(3), np.array([[1, 99], [10, 12], [90, 1]]))
    >>> joint.view("en").words, [joint.words[i] for i in joint.shared]
    (('the', 'taxi', 'chat'), ['chat', 'taxi', 'the'])
    >>> [joint.reallocate(0.9).words[i] for i in joint.reallocate(0.9).shared]
    ['taxi']
    """

    langs: tuple[str, ...]
    words: tuple[str, ...]
    vectors: FloatMatrix
    counts: npt.NDArray[np.int64]
    members: npt.NDArray[np.bool_] = dataclasses.field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    def __post_init__(self) -> None:
        vectors = np.ascontiguousarray(self.vectors, dtype=np.float32)
        counts = np.asarray(self.counts, dtype=np.int64)
        members = counts > 0 if not self.members.size else np.asarray(self.members, dtype=bool)
        shape = (len(self.words), len(self.langs))
        if counts.shape != shape or members.shape != shape or len(vectors) != shape[0]:
            raise ShapeError(f"{shape[0]} words of {shape[1]} languages, but counts {counts.shape}, {vectors.shape}")
        for name, value in (("vectors", vectors), ("counts", counts), ("members", members)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"JointSpace({', '.join(self.langs)}: {len(self.words)} words, {len(self.shared)} shared)"

    @property
    def shared(self) -> IntVector:
        """Rows of words that belong to more than one language."""
        return np.flatnonzero(self.members.sum(axis=1) > 1)

    def own_rows(self, lang: str) -> IntVector:
        """Rows of words that belong to this language alone, most frequent first."""
        return self._by_count(self.members[:, self._column(lang)] & (self.members.sum(axis=1) == 1), lang)

    def own(self, lang: str) -> Space:
        """The words of this language alone."""
        return self._space(lang, self.own_rows(lang))

    def view(self, lang: str, limit: int | None = None) -> Space:
        """All that this language sees: its own words and those it shares, most frequent first."""
        return self._space(lang, self._by_count(self.members[:, self._column(lang)], lang)[:limit])

    def reallocate(self, gamma: float) -> JointSpace:
        """Take words away from languages in which they hardly occur (Wang et al. 2020, equations 5 and 6).

        Of two languages a word stays shared if its relative frequencies differ by a factor of at most gamma/(1-gamma);
        else the language where it is more frequent keeps it alone. The same with more languages, each compared with
        the one where the word is most frequent. gamma = 1 shares whatever occurs in both.
        """
        if not 0.5 <= gamma <= 1:
            raise ConfigError(f"gamma lies between 0.5 and 1, not {gamma}")
        share = self.counts / np.maximum(self.counts.sum(axis=0), 1)
        members = (share > 0) & (share * gamma >= (1 - gamma) * share.max(axis=1, keepdims=True))
        return dataclasses.replace(self, members=members)

    def with_vectors(self, vectors: npt.ArrayLike) -> JointSpace:
        return dataclasses.replace(self, vectors=np.asarray(vectors, dtype=np.float32))

    def kinds(self) -> dict[str, int]:
        """How many words are shared, and how many each language has alone."""
        return {"shared": len(self.shared), **{lang: len(self.own_rows(lang)) for lang in self.langs}}

    def moved(self, other: JointSpace, lang: str) -> list[str]:
        """Words that `lang` sees here and not in `other`, most frequent first: what reallocation took away."""
        column = self._column(lang)
        rows = np.flatnonzero(self.members[:, column] & ~other.members[:, column])
        return [self.words[i] for i in rows[np.argsort(-self.counts[rows].sum(axis=1), kind="stable")]]

    def write_into(self, folder: Path) -> None:
        """Write the space into an existing folder: words as text, numbers as safetensors."""
        (folder / "words.txt").write_text("".join(f"{word}\n" for word in self.words), "utf-8")
        tensors = {"vectors": self.vectors, "counts": self.counts, "members": self.members.astype(np.uint8)}
        save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, folder / "joint.safetensors")
        _KIND.write_manifest(folder, {"langs": list(self.langs)})

    @classmethod
    def load(cls, folder: str | Path) -> JointSpace:
        """Read what `write_into` wrote."""
        manifest = _KIND.read(folder)
        langs = manifest.names("langs", least=1)
        # Its checksum has held, so these are the lines that were written.
        try:
            words = manifest.file("words.txt").read_text("utf-8").split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise manifest.wrong(f"words.txt beside it is not UTF-8: {error}") from error
        tensors = manifest.tensors("joint.safetensors")
        shape = (len(words), len(langs))
        members = tensors.take("members", shape, kind="u").astype(bool)
        vectors = tensors.take("vectors", (len(words), None))
        counts = tensors.take("counts", shape, kind="i")
        if not all(words) or counts.min(initial=0) < 0:
            raise manifest.wrong("the words or counts beside it are damaged")
        for lang, column in zip(langs, members.T, strict=True):
            own = [words[row] for row in np.flatnonzero(column)]
            if len(set(own)) < len(own):
                raise manifest.wrong(f"a word of {lang} stands twice in words.txt beside it")
        return cls(tuple(langs), tuple(words), vectors, counts, members)

    def _column(self, lang: str) -> int:
        if lang not in self.langs:
            raise ConfigError(f"no language {lang!r} here", remedy=f"there are: {', '.join(self.langs)}")
        return self.langs.index(lang)

    def _by_count(self, chosen: npt.NDArray[np.bool_], lang: str) -> IntVector:
        rows = np.flatnonzero(chosen)
        order: IntVector = rows[np.argsort(-self.counts[rows, self._column(lang)], kind="stable")]
        return order

    def _space(self, lang: str, rows: Sequence[int] | IntVector) -> Space:
        rows = np.asarray(rows, dtype=np.int64)
        words = [self.words[i] for i in rows]
        return Space(lang, words, self.vectors[rows], counts=self.counts[rows, self._column(lang)])
