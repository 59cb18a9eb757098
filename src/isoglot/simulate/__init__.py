"""Synthetic languages with known geometry: what an aligner should find is known exactly."""

from __future__ import annotations

from isoglot.simulate.pair import SimulatedPair, simulate_pair
from isoglot.simulate.texts import SimulatedTexts, simulate_texts

__all__ = ["SimulatedPair", "SimulatedTexts", "simulate_pair", "simulate_texts"]
