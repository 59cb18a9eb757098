"""What joint training shared and what reallocation took away: facts, examples and pictures of a finished folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligned import ALIGNED_FOLDER as ALIGNED_SPACES
from isoglot.errors import InputError
from isoglot.joint import JointSpace
from isoglot.report import Report, Section, kinds_section, table, write_report


@dataclasses.dataclass(frozen=True, eq=False)
class JointLook:
    """What there is to see.

    kinds: (kind, words after training, words after reallocation), shared words first.
    taken: (language, how many words reallocation took from it, the most frequent of them).
    shared: the most frequent words that are still shared.
    """

    folder: Path
    info: dict[str, Any]
    stages: tuple[tuple[str, JointSpace], ...]
    kinds: tuple[tuple[str, int, int], ...]
    taken: tuple[tuple[str, int, tuple[str, ...]], ...]
    shared: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        return {
            "gamma": self.info["settings"]["gamma"],
            "kinds": {kind: {"trained": before, "reallocated": after} for kind, before, after in self.kinds},
            "taken": {lang: {"words": count, "examples": list(words)} for lang, count, words in self.taken},
            "shared_examples": list(self.shared),
        }


def look_at(folder: str | Path, examples: int = 12) -> JointLook:
    """Open a folder written by `isoglot joint train` and compare its stages."""
    folder = Path(folder)
    if not (folder / "joint").is_dir():
        raise InputError(
            "no joint space here", where=str(folder), remedy="name a folder written by `isoglot joint train`"
        )
    trained, last = (JointSpace.load(folder / "joint" / name) for name in ("trained", "last"))
    manifest = ALIGNED_SPACES.read(folder)
    info = manifest.mapping("info")
    refined = manifest.fields("info").fields("settings").get("refine") is not None
    reallocated = dataclasses.replace(trained, members=last.members)
    stages = [("after joint training", trained), ("after reallocation", reallocated)]
    if refined:
        stages.append(("after refinement", last))
    before, after = trained.kinds(), last.kinds()
    taken = []
    for lang in trained.langs:
        words = trained.moved(last, lang)
        taken.append((lang, len(words), tuple(words[:examples])))
    shared = last.shared[np.argsort(-last.counts[last.shared].sum(axis=1), kind="stable")][:examples]
    return JointLook(
        folder,
        info,
        tuple(stages),
        tuple((kind, before[kind], after[kind]) for kind in before),
        tuple(taken),
        tuple(last.words[row] for row in shared),
    )


def write_joint_page(path: str | Path, found: JointLook) -> None:
    """One HTML page: the space step by step, counts, examples."""
    lines = [[kind, f"{before:,}", f"{after:,}"] for kind, before, after in found.kinds]
    counts = table(["kind", "after training", "after reallocation"], lines, numeric=[1, 2])
    rows = [[f"taken from {lang}", f"{count:,}", ", ".join(words)] for lang, count, words in found.taken]
    rows.append(["still shared", f"{found.kinds[0][2]:,}", ", ".join(found.shared)])
    lead = (
        "A word stays shared if it is about as frequent in both texts; one that hardly occurs in a language is taken "
        "from it."
    )
    sections = [
        kinds_section(found.stages),
        Section("What was reallocated", counts + table(["", "words", "most frequent"], rows, numeric=[1]), lead),
    ]
    settings = {"gamma": found.info["settings"]["gamma"], "method": found.info["method"]}
    write_report(
        path,
        Report(
            " – ".join(found.stages[0][1].langs),
            "Joint training, vocabulary reallocation, refinement",
            method=str(found.info["method"]),
            settings=settings,
            sections=sections,
        ),
    )
