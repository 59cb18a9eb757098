"""Torch for aligners: imported late, and kept from wasting threads on small products."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from isoglot.errors import MissingExtraError

__all__ = ["few_threads", "import_torch"]

#: Below so many multiplications a step, one thread is quicker than several that wait for each other.
SMALL = 50_000_000


def import_torch(purpose: str) -> Any:
    """Torch, or an error that says how to install it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "torch", purpose) from error
    return torch


@contextlib.contextmanager
def few_threads(torch: Any, multiplications: float) -> Iterator[None]:
    """One thread while the products are small; afterwards as many as before."""
    before = torch.get_num_threads()
    if multiplications < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
