"""TLM: guess masked tokens from their sentence and its translation (Conneau & Lample 2019)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from isoglot.errors import InputError
from isoglot.finetuning.batches import PairBatch, Side, TextBatch
from isoglot.finetuning.objectives.base import ObjectiveInfo
from isoglot.finetuning.objectives.mlm import MLM, Masked, Vocabulary, mask_tokens

if TYPE_CHECKING:
    from torch import Generator


@dataclasses.dataclass(frozen=True)
class TLM(MLM):
    """The mean over masked tokens of -log p(token), with a sentence and its translation as one input.

    The paper's XLM also restarts positions for the translation and has a vector for each language; BERT-like encoders
    have neither and get both sentences as an ordinary sentence pair.

    Args:
        share: share of tokens to guess.

    >>> TLM().share
    0.15
    """

    monolingual: ClassVar[bool] = False
    objective = ObjectiveInfo(
        name="tlm",
        summary="guess masked tokens of a sentence and its translation, each helped by the other",
        paper="Conneau & Lample 2019",
        needs=frozenset({"masked"}),
    )

    def inputs(
        self, batch: PairBatch | TextBatch, vocabulary: Vocabulary, generator: Generator, longest: int
    ) -> list[Masked]:
        """Joined pairs; those longer than `longest` tokens are left out."""
        if isinstance(batch, TextBatch):
            raise InputError("the batch has no parallel sentences", where=batch.name)
        joined = join_sides(batch.src, batch.tgt, vocabulary.pad, longest)
        return [mask_tokens(joined, vocabulary, self.share, generator)] if len(joined) else []


def join_sides(src: Side, tgt: Side, pad: int, longest: int) -> Side:
    """Each sentence followed by its translation: [CLS] words [SEP] words [SEP].

    The translation loses the special tokens before its first word, and its word numbers continue those of the sentence.
    Pairs longer than `longest` tokens are left out.

    >>> import torch
    >>> def side(ids, words):
    ...     return Side(torch.tensor([ids]), torch.tensor([ids]) > 0, torch.tensor([words]), torch.tensor([2]))
    >>> joined = join_sides(side([2, 7, 8, 3], [-1, 0, 1, -1]), side([2, 5, 6, 3, 0], [-1, 0, 1, -1, -1]), 0, 96)
    >>> joined.ids.tolist(), joined.words.tolist()
    ([[2, 7, 8, 3, 5, 6, 3]], [[-1, 0, 1, -1, 2, 3, -1]])
    """
    import torch

    # True from the first word onwards.
    begun = (tgt.words >= 0).long().cumsum(1) > 0
    kept = torch.cat([src.mask, tgt.mask & begun], dim=1)
    lengths = kept.sum(1)
    fits = lengths <= longest
    kept, lengths = kept[fits], lengths[fits]
    moved = torch.where(tgt.words >= 0, tgt.words + src.counts[:, None], -1)
    ids, words = torch.cat([src.ids, tgt.ids], dim=1)[fits], torch.cat([src.words, moved], dim=1)[fits]
    mask = torch.arange(int(lengths.max()) if len(lengths) else 0, device=ids.device) < lengths[:, None]
    # Both masks have the same number of true entries in each row, so tokens move left in order.
    new_ids, new_words = ids.new_full(mask.shape, pad), words.new_full(mask.shape, -1)
    new_ids[mask], new_words[mask] = ids[kept], words[kept]
    return Side(new_ids, mask, new_words, (src.counts + tgt.counts)[fits])
