"""An embedding whose first rows are frozen: pieces that were added to a vocabulary learn, the old ones stay."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class GrownEmbedding(nn.Module):
    """Rows from `first` on are trained, as offsets in units of the spread of the frozen rows.

    So one learning rate suits encoders of any scale, and the optimiser keeps no averages of the frozen rows.

    Args:
        whole: the embedding, which `merge` brings up to date.
    """

    start: Tensor

    def __init__(self, whole: nn.Embedding, first: int) -> None:
        super().__init__()
        # Not a submodule: it must not be trained or saved a second time.
        self._whole = [whole]
        self.first = first
        self.old = nn.Parameter(whole.weight.detach()[:first], requires_grad=False)
        self.register_buffer("start", whole.weight.detach()[first:].clone(), persistent=False)
        self.scale = float(self.old.std())
        self.offsets = nn.Parameter(torch.zeros_like(self.start))

    @property
    def num_embeddings(self) -> int:
        """Number of all rows."""
        return len(self.old) + len(self.offsets)

    def forward(self, ids: Tensor) -> Tensor:
        new = (ids - self.first).clamp_min(0)
        moved = nn.functional.embedding(new, self.start) + self.scale * nn.functional.embedding(new, self.offsets)
        old = nn.functional.embedding(ids.clamp_max(self.first - 1), self.old)
        return torch.where((ids >= self.first)[..., None], moved, old)

    def merge(self) -> nn.Embedding:
        """The plain embedding, with what was learned."""
        (whole,) = self._whole
        with torch.no_grad():
            whole.weight[self.first :] = self.start + self.scale * self.offsets
        return whole


def grow_in_place(encoder: Any, first: int) -> None:
    """Freeze all of a transformers model but the vectors of pieces from `first` on."""
    encoder.requires_grad_(False)
    encoder.set_input_embeddings(GrownEmbedding(encoder.get_input_embeddings(), first))


def merge_in_place(encoder: Any) -> None:
    """Make the embedding a plain one again."""
    embedding = encoder.get_input_embeddings()
    if isinstance(embedding, GrownEmbedding):
        encoder.set_input_embeddings(embedding.merge())
