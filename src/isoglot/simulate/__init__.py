"""Synthetic languages with known geometry: what an aligner should find is known exactly."""

from __future__ import annotations

from isoglot.simulate.occurrences import Occurrences, SimulatedOccurrences, simulate_occurrences
from isoglot.simulate.pair import SimulatedPair, simulate_pair
from isoglot.simulate.texts import SimulatedTexts, simulate_texts

__all__ = [
    "Occurrences",
    "SimulatedOccurrences",
    "SimulatedPair",
    "SimulatedTexts",
    "simulate_occurrences",
    "simulate_pair",
    "simulate_texts",
]
