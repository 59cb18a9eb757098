"""What `auto` does without pairs: the portfolio of starts, told in the words of `auto`."""

from __future__ import annotations

import dataclasses
from typing import Any

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.auto.candidates import Candidate
from isoglot.aligners.base import Problem
from isoglot.aligners.self_learning.portfolio import Portfolio


def align_without_pairs(problem: Problem, effort: str, seed: int) -> Alignment:
    """By the first start that works; `info["aligned"]` tells whether one did."""
    candidate = Candidate(Portfolio(effort=effort, seed=seed))
    alignment = candidate.aligner._fit(problem)
    info = alignment.info
    worked = f"its start by {info['start']} is clearly above chance" if info["aligned"] else "no start was above chance"
    record: dict[str, Any] = {
        "effort": effort,
        "chosen": "portfolio",
        "method": "portfolio",
        "settings": candidate.settings,
        "pin": candidate.pin,
        "why": f"there are no pairs; {worked}",
        "tried": [
            {"label": f"start by {one['start']}", "left_out": one.get("reason", "no better than chance")}
            for one in info["tried"]
            if not one.get("aligned")
        ],
    }
    return dataclasses.replace(alignment, info={**info, "auto": record})
