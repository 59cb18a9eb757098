"""MLM: guess masked tokens from their sentence, so that the encoder forgets no language (Devlin et al. 2019).

This takes another run of the model, on masked sentences: the trainer gets them from the objective (`inputs`) and
returns the predictions for the masked tokens. Only these need to go through the head, which is the most expensive part.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

from isoglot.errors import InputError
from isoglot.finetuning.batches import PairBatch, Side, TextBatch
from isoglot.finetuning.objectives.base import EncodedBatch, Objective, ObjectiveInfo
from isoglot.settings import Limits

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: The label of tokens that are not to be guessed, as torch has it.
IGNORED = -100
#: Of the tokens to be guessed, the shares that are masked, and that are replaced by any other token.
MASKED, REPLACED = 0.8, 0.1


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """What masking needs from a tokenizer: number of tokens, mask and padding tokens, and all special ones."""

    size: int
    mask: int
    pad: int
    special: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any) -> Vocabulary:
        """The vocabulary of a transformers tokenizer."""
        if tokenizer.mask_token_id is None or tokenizer.pad_token_id is None:
            raise InputError("the tokenizer has no mask or padding token", remedy="use a BERT-like encoder")
        special = tuple(sorted(set(tokenizer.all_special_ids)))
        return cls(len(tokenizer), int(tokenizer.mask_token_id), int(tokenizer.pad_token_id), special)


@dataclasses.dataclass(frozen=True, eq=False)
class Masked:
    """Sentences with masks, and labels (B, T): the original token, or -100."""

    side: Side
    labels: Tensor

    @property
    def places(self) -> Tensor:
        """Indices (k,) of the tokens to be guessed among all B * T."""
        return (self.labels.flatten() != IGNORED).nonzero()[:, 0]


@dataclasses.dataclass(frozen=True)
class MLM(Objective):
    """The mean over masked tokens of -log p(token): of monolingual text if there is any, else of both sides of a pair.

    Args:
        share: share of tokens to guess.

    >>> MLM(share=0.3).needs
    frozenset({'masked'})
    """

    share: float = 0.15

    limits: ClassVar[Limits] = {"share": "(0, 1)"}
    #: Whether text of one language is enough.
    monolingual: ClassVar[bool] = True
    objective = ObjectiveInfo(
        name="mlm",
        summary="guess masked tokens of each sentence",
        paper="Devlin et al. 2019",
        needs=frozenset({"masked"}),
    )

    def inputs(
        self, batch: PairBatch | TextBatch, vocabulary: Vocabulary, generator: Generator, longest: int
    ) -> list[Masked]:
        """Inputs for the model, with at most `longest` tokens; predictions go to `EncodedBatch.masked`."""
        sides = [batch.side] if isinstance(batch, TextBatch) else [batch.src, batch.tgt]
        return [mask_tokens(side, vocabulary, self.share, generator) for side in sides]

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        from torch.nn.functional import cross_entropy

        name = self.objective.name
        if name not in batch.masked:
            raise InputError(f"the batch has no predictions for {name}", where=batch.batch.name)
        labels, logits = batch.masked[name].labels.flatten(), batch.masked[name].logits.flatten(0, -2)
        logits = logits if logits.element_size() >= 4 else logits.float()
        total = cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")
        return total, int((labels != IGNORED).sum())


def mask_tokens(side: Side, vocabulary: Vocabulary, share: float, generator: Generator) -> Masked:
    """Choose a share of the tokens of words to be guessed: 80% are masked, 10% replaced, 10% left unchanged.

    Special tokens are neither chosen nor inserted. All random numbers come from the generator, on its device.

    >>> import torch
    >>> ids = torch.tensor([[2, 7, 8, 3]])
    >>> side = Side(ids, ids > 0, torch.tensor([[-1, 0, 1, -1]]), torch.tensor([2]))
    >>> masked = mask_tokens(side, Vocabulary(9, 4, 0, (0, 1, 2, 3, 4)), 0.999, torch.Generator().manual_seed(0))
    >>> masked.side.ids.tolist(), masked.labels.tolist()
    ([[2, 4, 4, 3]], [[-100, 7, 8, -100]])
    """
    import torch

    ids, place = side.ids, generator.device
    chance, fate = torch.rand((2, *ids.shape), generator=generator, device=place).to(ids.device)
    ordinary = vocabulary.size - len(vocabulary.special)
    other = torch.randint(ordinary, ids.shape, generator=generator, device=place).to(ids.device)
    for token in vocabulary.special:  # in ascending order, so that special tokens are skipped
        other = other + (other >= token)
    guessed = (chance < share) & (side.words >= 0)
    shown = torch.where(fate < MASKED, vocabulary.mask, torch.where(fate < MASKED + REPLACED, other, ids))
    changed = dataclasses.replace(side, ids=torch.where(guessed, shown, ids))
    return Masked(changed, torch.where(guessed, ids, IGNORED))
