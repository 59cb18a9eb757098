"""Nearest neighbours, CSLS and inverted softmax; exact, int8 and approximate backends."""

from isoglot.retrieval.backends import (
    BACKENDS as BACKENDS,
    BackendStatus as BackendStatus,
    available_backends as available_backends,
    check_backend as check_backend,
)
from isoglot.retrieval.hubness import Hubness as Hubness, hubness as hubness
from isoglot.retrieval.neighbours import MutualPairs as MutualPairs, Neighbours as Neighbours
from isoglot.retrieval.permutation import best_permutation as best_permutation
from isoglot.retrieval.retriever import (
    EUCLIDEAN_SCORES as EUCLIDEAN_SCORES,
    SCORES as SCORES,
    Retriever as Retriever,
    check_score as check_score,
)
