"""Synthetic languages with known geometry: what an aligner should find is known exactly."""

from isoglot.simulate.encoder import simulate_encoder as simulate_encoder
from isoglot.simulate.occurrences import (
    READINGS as READINGS,
    Occurrences as Occurrences,
    SimulatedOccurrences as SimulatedOccurrences,
    simulate_occurrences as simulate_occurrences,
)
from isoglot.simulate.pair import SimulatedPair as SimulatedPair, simulate_pair as simulate_pair
from isoglot.simulate.parallel import SimulatedParallel as SimulatedParallel, simulate_parallel as simulate_parallel
from isoglot.simulate.texts import SimulatedTexts as SimulatedTexts, simulate_texts as simulate_texts
