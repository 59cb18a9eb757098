"""Nearest neighbours, CSLS and inverted softmax; exact, int8 and approximate backends."""

from __future__ import annotations

from isoglot.retrieval.backends import BackendStatus, available_backends
from isoglot.retrieval.hubness import Hubness, hubness
from isoglot.retrieval.neighbours import MutualPairs, Neighbours
from isoglot.retrieval.retriever import SCORES, Retriever, check_score

__all__ = [
    "SCORES",
    "BackendStatus",
    "Hubness",
    "MutualPairs",
    "Neighbours",
    "Retriever",
    "available_backends",
    "check_score",
    "hubness",
]
