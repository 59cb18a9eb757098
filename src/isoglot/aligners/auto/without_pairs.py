"""What `auto` does without pairs."""

from __future__ import annotations

import dataclasses

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.auto.candidates import spelled
from isoglot.aligners.base import Aligner, Problem
from isoglot.aligners.self_learning.cognates import Cognates
from isoglot.aligners.self_learning.vecmap import VecMapUnsupervised


def align_without_pairs(problem: Problem, seed: int) -> Alignment:
    """By spelling where there are words, else by the vectors alone; `info["aligned"]` tells whether it worked."""
    aligner: Aligner = Cognates(seed=seed) if spelled(problem.words) else VecMapUnsupervised(seed=seed)
    alignment = aligner._fit(problem)
    name = aligner.method.name
    record = {"chosen": name, "method": name, "settings": {}, "pin": f"-m {name}", "tried": []}
    record["why"] = "there are no pairs"
    return dataclasses.replace(alignment, info={**alignment.info, "auto": record})
