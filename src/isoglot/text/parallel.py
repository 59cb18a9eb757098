"""`ParallelText`: sentences of two languages, line by line translations of each other."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path

from isoglot.errors import FormatError, InputError
from isoglot.strings import check_list
from isoglot.text.lines import read_lines, write_lines


@dataclasses.dataclass(frozen=True)
class ParallelText:
    """Sentence i of `src` translates sentence i of `tgt`. `source` are the files that they came from.

    >>> text = ParallelText("en", "fr", ("a cat",), ("un chat",))
    >>> len(text), list(text)
    (1, [('a cat', 'un chat')])
    """

    src_lang: str
    tgt_lang: str
    src: tuple[str, ...]
    tgt: tuple[str, ...]
    source: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    def __post_init__(self) -> None:
        for side in (self.src, self.tgt):
            check_list(side, "the sentences of a side are a list")
        object.__setattr__(self, "src", tuple(self.src))
        object.__setattr__(self, "tgt", tuple(self.tgt))
        if len(self.src) != len(self.tgt):
            raise InputError(f"{len(self.src):,} source sentences but {len(self.tgt):,} target sentences")

    def __len__(self) -> int:
        return len(self.src)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(zip(self.src, self.tgt, strict=True))

    def __repr__(self) -> str:
        return f"ParallelText({self.src_lang}-{self.tgt_lang}, {len(self)} sentences)"

    def invert(self) -> ParallelText:
        """The same text in the other direction."""
        return ParallelText(self.tgt_lang, self.src_lang, self.tgt, self.src, self.source[::-1])

    def fingerprint(self) -> str:
        """A short digest of all sentences, kept with results to tell which data made them."""
        whole = hashlib.sha256()
        for src, tgt in self:
            whole.update(f"{src}\t{tgt}\n".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()[:16]

    @classmethod
    def load(cls, src_path: str | Path, tgt_path: str | Path, src_lang: str = "", tgt_lang: str = "") -> ParallelText:
        """Read two line-parallel files, packed or not. Differing line counts or bad UTF-8 are an error.

        Nothing is dropped, not even blank lines: a dropped line would shift all pairs after it.
        """
        src, tgt = read_lines(src_path), read_lines(tgt_path)
        if len(src) != len(tgt):
            raise FormatError(
                f"{len(tgt):,} lines, but {src_path} has {len(src):,}",
                where=str(tgt_path),
                remedy="line-parallel files must be of equal length",
            )
        return cls(src_lang, tgt_lang, tuple(src), tuple(tgt), (str(src_path), str(tgt_path)))

    @classmethod
    def load_joined(cls, path: str | Path, src_lang: str = "", tgt_lang: str = "") -> ParallelText:
        """Read one file with `source ||| target` on each line, the form that word aligners take."""
        sides: tuple[list[str], list[str]] = ([], [])
        for number, line in enumerate(read_lines(path), start=1):
            src, bars, tgt = line.partition("|||")
            if not bars:
                raise FormatError("no ||| between source and target", where=f"{path}:{number}")
            sides[0].append(src.strip())
            sides[1].append(tgt.strip())
        return cls(src_lang, tgt_lang, tuple(sides[0]), tuple(sides[1]), (str(path),))

    def save(self, src_path: str | Path, tgt_path: str | Path) -> None:
        """Write two line-parallel files, packed if their names end in `.gz`, `.xz`, `.bz2` or `.zst`."""
        # Both are checked before either is written: half a pair of files is worse than none.
        for side, path in ((self.src, src_path), (self.tgt, tgt_path)):
            for number, sentence in enumerate(side, start=1):
                if any(c in sentence for c in "\n\r\0"):
                    raise InputError(f"sentence {number:,} holds a line break or a zero byte", where=str(path))
        write_lines(Path(src_path), list(self.src))
        write_lines(Path(tgt_path), list(self.tgt))
