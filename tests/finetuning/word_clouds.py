"""Sentences of random words, for tests of transport."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")


def sentences(*lengths, d=5, seed=0, size=1.0, dtype=torch.float64):
    """One sentence a length, of random words."""
    random = torch.Generator().manual_seed(seed)
    return [(torch.randn(n, d, generator=random, dtype=torch.float64) * size).to(dtype) for n in lengths]


def pad(rows, more=0, value=0.0, left=False):
    """Sentences or their weights as a padded tensor and its mask."""
    longest = max(len(row) for row in rows) + more
    padded = torch.full((len(rows), longest, *rows[0].shape[1:]), value, dtype=rows[0].dtype)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for i, row in enumerate(rows):
        place = slice(longest - len(row), None) if left else slice(len(row))
        padded[i, place], mask[i, place] = row, True
    return padded, mask
