"""Word vectors that lie inside packages: copied out under a name of ours, read by `isoglot.spaces`, saved natively."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from isoglot.catalogue.archive import Archive
from isoglot.catalogue.readers import Facts
from isoglot.catalogue.record import Entry
from isoglot.errors import FormatError
from isoglot.progress import Progress
from isoglot.spaces import Space, inspect_pickle, load_space

# Sentence ends, unknown words and padding have rows in many files and are no words.
_MARK = re.compile(r"</?(?:s|unk|pad|oov)>", re.IGNORECASE)


def read_packed_vectors(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """settings: `files`, what to copy out, and `open`, which copy `load_space` gets.

    Each of `files` is a place inside the package, then `=`, then the name of the copy.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix="unpacked-") as temporary:
        places = dict(item.split("=") for item in entry.settings["files"].split())
        for content, name in zip(Archive(artefacts[0]).read(*places), places.values(), strict=True):
            copy = Path(temporary, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        opened = Path(temporary, entry.settings["open"])
        space = load_space(opened, lang=entry.languages[0], cache=False, progress=progress)
        return keep_space(space, folder / entry.result, progress)


def read_turkish_vectors(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """An npy matrix (row 0 is padding) whose words are only in a pickled tokenizer: followed, never run."""
    matrix, pickled = Archive(artefacts[0]).read(entry.settings["matrix"], entry.settings["words"])
    vectors = np.load(io.BytesIO(matrix), allow_pickle=False)
    tokenizer = inspect_pickle(io.BytesIO(pickled), entry.settings["words"])
    state = getattr(tokenizer, "state", None)
    index = state.get("word_index") if isinstance(state, dict) else None
    if not isinstance(index, dict) or vectors.ndim != 2:
        raise FormatError("the tokenizer holds no word index", where=entry.name)
    words = [
        (word, row)
        for word, row in index.items()
        if isinstance(word, str) and isinstance(row, int) and 0 < row < len(vectors)
    ]
    # Keras numbers words by frequency.
    words.sort(key=lambda item: item[1])
    space = Space(entry.languages[0], [word for word, _ in words], vectors[[row for _, row in words]])
    return keep_space(space, folder / entry.result, progress)


def keep_space(space: Space, path: Path, progress: Progress) -> Facts:
    """Save most frequent words first, without rows that hold nothing or no word; give its figures."""
    repairs = (
        []
        if space.report is None
        else [f"{times:,} x {problem}: {recovery}" for (problem, recovery), times in space.report.counts.items()]
    )
    space = space.most_frequent(len(space))
    marks = np.array([bool(_MARK.fullmatch(word)) for word in space.words])
    empty = ~space.vectors.any(axis=1) & ~marks
    for problem, rows in (("mark such as </s>", marks), ("vector of zeros", empty)):
        if rows.any():
            repairs.append(f"{int(rows.sum()):,} x {problem}: dropped")
    if (marks | empty).any():
        space = space.take(np.flatnonzero(~(marks | empty)))
    space.save(path, progress=progress)
    facts: Facts = {"words": len(space), "dimensions": space.dim}
    if repairs:
        facts["repairs"] = "; ".join(repairs)
    return facts
