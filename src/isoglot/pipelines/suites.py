"""Named lists of methods that a paper compares, for `isoglot compare`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from isoglot.suggest import choose


@dataclasses.dataclass(frozen=True)
class Suite:
    """Methods as on the command line, and those that cannot run on given vectors, with what they need."""

    methods: Sequence[str]
    missing: Sequence[tuple[str, str]] = ()


SUITES: Mapping[str, Suite] = {
    # The alignments of Zhao & Eger 2022, Table 1, and the vectors as they are.
    "density": Suite(
        (
            "identity",
            "procrustes",
            "gbdd",
            "fcnn",
            "realnvp",
            # Refined, "muse" is the paper's MUSE + Procrustes.
            "muse,rounds=0",
            "muse",
            *(f"bootstrap,of=muse,constraint={constraint}" for constraint in ("cross-correlation", "graph-structure")),
            "vecmap-unsupervised",
            "normalization",
            "gan-realnvp",
            *(
                f"bootstrap,constraint={constraint}"
                for constraint in ("cross-correlation", "graph-structure", "procrustes")
            ),
        ),
        (
            ("Joint-Align (Cao et al. 2020)", "needs an encoder fine-tuned on parallel text; give its vectors instead"),
            ("InfoXLM (Chi et al. 2021)", "is an encoder of its own; give vectors taken from its public weights"),
        ),
    ),
}


def suite(name: str) -> Suite:
    """The named suite.

    >>> len(suite("density").methods), len(suite("density").missing)
    (15, 2)
    """
    return choose("suite", name, SUITES)
