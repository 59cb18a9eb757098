"""What encoding a text will cost, before it is done: counted, and timed on a sample."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import numpy as np

from isoglot.encoders.encoder import Encoder

#: Sentences that are encoded to see how long it takes.
SAMPLE = 64


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Of both sides of a text. `megabytes`: of the words' vectors, if all are kept in memory."""

    sentences: int
    words: int
    seconds: float
    megabytes: float

    def sentence(self) -> str:
        """In words, for people.

        >>> Estimate(2000, 30_000, 90.0, 46.1).sentence()
        '2,000 sentences, 30,000 words: about 1.5 minutes to encode here; vectors of all words take 46 MB'
        """
        minutes = f"about {self.seconds / 60:.1f} minutes to encode here"
        memory = f"vectors of all words take {self.megabytes:,.0f} MB"
        return f"{self.sentences:,} sentences, {self.words:,} words: {minutes}; {memory}"


def estimate_encoding(encoder: Encoder, sentences: Sequence[Sequence[str]], *, seed: int = 0) -> Estimate:
    """Encode a few sentences drawn with the seed, and say what all of them would take."""
    words = sum(len(one) for one in sentences)
    order = np.random.default_rng(seed).permutation(len(sentences))[:SAMPLE].tolist()
    drawn = [sentences[number] for number in order]
    # Beside the cache, which would make it look free, and once before, as the first run of a model is slow.
    bare = encoder.without_cache()
    bare.words(drawn[:4])
    began = time.perf_counter()
    bare.words(drawn)
    seconds = (time.perf_counter() - began) * words / max(sum(len(one) for one in drawn), 1)
    return Estimate(len(sentences), words, seconds, words * encoder.dim * 4 / 1e6)
