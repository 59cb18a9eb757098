"""Synthetic languages with known geometry: what an aligner should find is known exactly."""

from __future__ import annotations

from isoglot.simulate.pair import SimulatedPair, simulate_pair

__all__ = ["SimulatedPair", "simulate_pair"]
