"""An estimate of what distilling a text will cost."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from isoglot.distill.distilling import choose_sentences
from isoglot.distill.settings import DistillSettings
from isoglot.distill.shards import read_shard, shuffled_units
from isoglot.encoders import SAMPLE, Encoder, estimate_encoding
from isoglot.progress import Progress, silent
from isoglot.wordvectors import TextFile


@dataclasses.dataclass(frozen=True)
class DistillCost:
    """The estimated cost for one language.

    Args:
        sentences: number that pass the filter.
        left_out: number that do not.
        running_words: words in the sentences that pass.
        words: size of the vocabulary.
        seconds: to encode all sentences; learning from them adds a few percent.
        work_megabytes: sentences and state on disk during the run.
        output_megabytes: of the vectors.
        cache_megabytes: of the vectors of all running words, if the encoder has a cache.
    """

    lang: str
    sentences: int
    left_out: int
    running_words: int
    words: int
    seconds: float
    work_megabytes: float
    output_megabytes: float
    cache_megabytes: float

    def sentence(self) -> str:
        """A one-line summary.

        >>> DistillCost("en", 90_000, 10_000, 2_000_000, 9_000, 600, 60, 14, 0).sentence()
        'en: 90,000 sentences (10,000 left out), 9,000 words: about 10.0 minutes to encode here, 74 MB on disk'
        """
        disk = self.work_megabytes + self.output_megabytes + self.cache_megabytes
        return (
            f"{self.lang}: {self.sentences:,} sentences ({self.left_out:,} left out), {self.words:,} words: "
            f"about {self.seconds / 60:.1f} minutes to encode here, {disk:,.0f} MB on disk"
        )


def estimate_distilling(
    encoder: Encoder,
    text: TextFile,
    settings: DistillSettings | None = None,
    *,
    cached: bool = False,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda line: None,
) -> DistillCost:
    """Read the text, encode a few of its sentences, and estimate the cost of all; nothing stays on disk."""
    settings = settings or DistillSettings()
    with tempfile.TemporaryDirectory() as folder:
        sentences = choose_sentences(text, settings, Path(folder), progress=progress, tell=tell)
        units = shuffled_units(sentences, paragraphs=settings.by_paragraph)[:SAMPLE]
        shard = read_shard(sentences, units)
        timed = estimate_encoding(encoder, shard.units() if settings.reads == "paragraph" else shard.sentences)
        seconds = settings.epochs * timed.seconds * sentences.running_words / max(timed.words, 1)
        one_row = np.dtype(np.float32).itemsize * encoder.dim / 1e6
        rows = len(sentences.words)
        # The old state is kept until the new one is complete.
        state = 2 * (3 if settings.method == "x2static" else 2) * rows * one_row
        return DistillCost(
            lang=sentences.lang,
            sentences=len(sentences),
            left_out=sentences.facts["too_short"] + sentences.facts["alone"],
            running_words=sentences.running_words,
            words=rows,
            seconds=seconds,
            work_megabytes=len(sentences.text) / 1e6 + state,
            output_megabytes=rows * one_row,
            cache_megabytes=sentences.running_words * one_row if cached else 0.0,
        )
