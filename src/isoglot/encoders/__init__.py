"""Contextual encoders: sentences to vectors of words and sentences, word alignment, encoders aligned to each other."""

from __future__ import annotations

from isoglot.encoders.aligned import AlignedEncoder
from isoglot.encoders.encoded import WordVectors
from isoglot.encoders.encoder import Encoder
from isoglot.encoders.layers import Layers, parse_layers

__all__ = ["AlignedEncoder", "Encoder", "Layers", "WordVectors", "parse_layers"]
