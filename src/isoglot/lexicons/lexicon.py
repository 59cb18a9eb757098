"""`Lexicon`: pairs of words that translate each other, to supervise an aligner and to test one."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import LexiconError
from isoglot.lexicons.coverage import Coverage
from isoglot.lexicons.frequency import frequency_ranks
from isoglot.lexicons.read import read_pairs
from isoglot.lexicons.write import write_dictionary
from isoglot.named_data import locate
from isoglot.progress import Progress, silent
from isoglot.small_tables import html_table
from isoglot.spaces import LoadReport, Space

_EXAMPLES = 8


@dataclasses.dataclass(frozen=True, eq=False)
class Lexicon:
    """Distinct pairs (source word, target word), in the order given. A source may have several targets.

    Args:
        pairs: the pairs; repeated ones are kept once.
        src_lang, tgt_lang: language codes; only labels.
        source: where it came from.
        report: what the reader had to repair, if it came from a file.

    >>> lexicon = Lexicon([("cat", "chat"), ("cat", "minou"), ("dog", "chien")], "en", "fr")
    >>> len(lexicon), lexicon.by_source["cat"]
    (3, ('chat', 'minou'))
    >>> lexicon.invert().by_source["chien"]
    ('dog',)
    """

    pairs: Sequence[tuple[str, str]]
    src_lang: str = ""
    tgt_lang: str = ""
    source: str | None = None
    report: LoadReport | None = None

    def __post_init__(self) -> None:
        distinct: dict[tuple[str, str], None] = {}
        for pair in self.pairs:
            if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(word, str) and word for word in pair):
                raise LexiconError(f"a pair must be two words, not {pair!r}")
            distinct[pair[0], pair[1]] = None
        object.__setattr__(self, "pairs", tuple(distinct))

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and len(pair) == 2 and pair[1] in self.by_source.get(pair[0], ())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lexicon):
            return NotImplemented
        return (self.src_lang, self.tgt_lang, self.pairs) == (other.src_lang, other.tgt_lang, other.pairs)

    def __hash__(self) -> int:
        return hash((self.src_lang, self.tgt_lang, self.pairs))

    def __repr__(self) -> str:
        return f"Lexicon({self._languages}{len(self)} pairs, {len(self.by_source)} sources)"

    def _repr_html_(self) -> str:
        first = ", ".join(f"{source} → {target}" for source, target in self.pairs[:_EXAMPLES])
        first += ", ..." if len(self) > _EXAMPLES else ""
        row = [f"{len(self):,} pairs, {len(self.by_source):,} sources", self.source or "", first]
        title = f"Lexicon {self._languages.removesuffix(', ')}".rstrip()
        return html_table(title, ["size", "source", "pairs"], [row])

    @property
    def _languages(self) -> str:
        return f"{self.src_lang}-{self.tgt_lang}, " if self.src_lang or self.tgt_lang else ""

    @cached_property
    def by_source(self) -> dict[str, tuple[str, ...]]:
        """The targets of each source word; sources in the order of their first pair."""
        targets: dict[str, list[str]] = {}
        for source, target in self.pairs:
            targets.setdefault(source, []).append(target)
        return {source: tuple(words) for source, words in targets.items()}

    @classmethod
    def load(cls, path: str | Path, src_lang: str = "", tgt_lang: str = "", *, progress: Progress = silent) -> Lexicon:
        """Read a MUSE, XLING or other file with one pair a line, or an entry of the catalogue ("lexicon/en-fr").

        The rules are in `isoglot.lexicons.read`.
        """
        path, languages = locate(path, "lexicon", progress)
        if languages and not (src_lang or tgt_lang):
            src_lang, tgt_lang = languages
        pairs, report = read_pairs(path)
        return cls(pairs, src_lang, tgt_lang, source=str(path), report=report)

    def save(
        self, path: str | Path, *, confidence: Sequence[float] | None = None, format: str | None = None
    ) -> list[Path]:
        """Write one pair a line, tab-separated UTF-8, packed if the name ends in `.gz`, `.xz`, `.bz2` or `.zst`.

        `confidence`: one number a pair, written as a third column (which `load` skips), under a header. `format`: see
        `isoglot.lexicons.write_dictionary`, which also writes CSV, StarDict and TMX; returns the files written.
        """
        return write_dictionary(path, self, {} if confidence is None else {"confidence": confidence}, format=format)

    def fingerprint(self) -> str:
        """A short digest of the pairs, kept with results to tell which data made them."""
        whole = hashlib.sha256()
        for source, target in self.pairs:
            whole.update(f"{source}\t{target}\n".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()[:16]

    def record(self) -> dict[str, Any]:
        """What tells this lexicon from others, as plain data for JSON."""
        return {"source": self.source, "pairs": len(self), "fingerprint": self.fingerprint()}

    def invert(self) -> Lexicon:
        """The dictionary of the other direction."""
        return Lexicon(tuple((tgt, src) for src, tgt in self.pairs), self.tgt_lang, self.src_lang, self.source)

    def fold_case(self) -> Lexicon:
        """Lower-case both sides; pairs that fall together are kept once."""
        return self._with((src.lower(), tgt.lower()) for src, tgt in self.pairs)

    def without_identical(self) -> Lexicon:
        """Only pairs whose two words differ."""
        return self._with((src, tgt) for src, tgt in self.pairs if src != tgt)

    def restrict(self, src: Space | None = None, tgt: Space | None = None) -> Lexicon:
        """Only pairs whose source is a word of `src` and whose target is one of `tgt`; None asks nothing."""
        return self._with(
            (source, target)
            for source, target in self.pairs
            if (src is None or source in src) and (tgt is None or target in tgt)
        )

    def indices(self, src: Space, tgt: Space) -> npt.NDArray[np.int64]:
        """(n, 2): rows of the two words in their spaces, for the n pairs that both spaces hold, in order."""
        rows = np.empty((len(self), 2), dtype=np.int64)
        rows[:, 0] = src.rows(source for source, _ in self.pairs)
        rows[:, 1] = tgt.rows(target for _, target in self.pairs)
        found: npt.NDArray[np.int64] = rows[(rows >= 0).all(axis=1)]
        return found

    def coverage(self, src: Space, tgt: Space) -> Coverage:
        """How much of this lexicon the two spaces hold, with examples of what they miss."""
        found = self.restrict(src, tgt)
        missing_sources = [word for word in self.by_source if word not in src]
        missing_targets = [word for word in dict.fromkeys(target for _, target in self.pairs) if word not in tgt]
        return Coverage(
            pairs=len(self),
            pairs_found=len(found),
            sources=len(self.by_source),
            sources_found=len(found.by_source),
            missing_sources=len(missing_sources),
            missing_targets=len(missing_targets),
            missing_source_examples=tuple(missing_sources[:_EXAMPLES]),
            missing_target_examples=tuple(missing_targets[:_EXAMPLES]),
        )

    def split(self, src: Space, train: int = 5000, test: int = 1500) -> tuple[Lexicon, Lexicon]:
        """Two lexicons: the `train` most frequent sources, and the next `test`.

        Frequency is that of `src`; sources it does not hold go to neither part. All targets of a source stay
        together, so no test word was seen in training. The second part is shorter than `test` if the lexicon
        ends before; an empty part is an error. To count only sources that can be asked, `restrict` first.

        >>> import numpy as np
        >>> space = Space("en", ["the", "cat", "dog"], np.eye(3))
        >>> lexicon = Lexicon([("dog", "chien"), ("cat", "chat"), ("the", "la"), ("the", "le")])
        >>> seeds, gold = lexicon.split(space, train=2, test=1)
        >>> seeds.pairs, gold.pairs
        ((('the', 'la'), ('the', 'le'), ('cat', 'chat')), (('dog', 'chien'),))
        """
        if train < 0 or test < 0:
            raise LexiconError(f"train={train} and test={test} must not be negative")
        sources = list(self.by_source)
        rows = src.rows(sources)
        known = np.flatnonzero(rows >= 0)
        order = known[np.argsort(frequency_ranks(src)[rows[known]], kind="stable")]
        if len(order) < min(1, train) + min(1, test) or (test and len(order) <= train):
            raise LexiconError(
                f"only {len(order):,} of {len(sources):,} source words are in the vocabulary: "
                f"cannot split into {train:,} for training and up to {test:,} for testing",
                where=self.source,
                remedy="ask for fewer, or check language and letter case",
            )
        by_rank = [sources[i] for i in order[: train + test]]
        return self._of_sources(by_rank[:train]), self._of_sources(by_rank[train:])

    def head(self, sources: int) -> Lexicon:
        """The first this many source words, with all their targets."""
        return self._of_sources(list(self.by_source)[:sources])

    def _of_sources(self, sources: Iterable[str]) -> Lexicon:
        return self._with((source, target) for source in sources for target in self.by_source[source])

    def _with(self, pairs: Iterable[tuple[str, str]]) -> Lexicon:
        return dataclasses.replace(self, pairs=tuple(pairs))
