"""Static word vectors out of contextual encoders: X2Static (Gupta & Jaggi 2021) and aggregation over contexts."""

from __future__ import annotations

from isoglot.distill.distilling import Distilled, distill_text, distill_texts, distill_together
from isoglot.distill.sentences import Sentences
from isoglot.distill.settings import DistillSettings

__all__ = ["DistillSettings", "Distilled", "Sentences", "distill_text", "distill_texts", "distill_together"]
