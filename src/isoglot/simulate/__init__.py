"""Synthetic languages with known geometry: what an aligner should find is known exactly."""

from __future__ import annotations

from isoglot.simulate.encoder import simulate_encoder
from isoglot.simulate.occurrences import Occurrences, SimulatedOccurrences, simulate_occurrences
from isoglot.simulate.pair import SimulatedPair, simulate_pair
from isoglot.simulate.parallel import SimulatedParallel, simulate_parallel
from isoglot.simulate.texts import SimulatedTexts, simulate_texts

__all__ = [
    "Occurrences",
    "SimulatedOccurrences",
    "SimulatedPair",
    "SimulatedParallel",
    "SimulatedTexts",
    "simulate_encoder",
    "simulate_occurrences",
    "simulate_pair",
    "simulate_parallel",
    "simulate_texts",
]
