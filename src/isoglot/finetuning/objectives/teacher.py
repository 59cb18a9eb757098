"""Teach a language that the encoder does not know: sentences move to where a teacher has their translations.

Reimers & Gurevych 2020 (EMNLP). The teacher is frozen; with its vector m_j of the target sentence t_j, and the
student's vectors of both sides, s_j of the source sentence and s'_j of t_j itself, it is

    1 / B  sum_j  |s_j - m_j|^2 + k |s'_j - m_j|^2

The second term keeps the target language, and with it all that the encoder could do before, where it was.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from isoglot.errors import InputError
from isoglot.finetuning.objectives.base import EncodedBatch, Objective, ObjectiveInfo

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class Teacher(Objective):
    """The mean of the loss above over sentence pairs; pairs with an empty side are left out.

    Distances are in units of the squared length of the teacher's vector, so that the loss has the same scale for all
    encoders; the paper divides by the number of dimensions.

    Args:
        keep: weight of the second term; 0 where the target language cannot move (all that it uses is frozen).

    >>> sorted(Teacher().needs), sorted(Teacher(keep=0).needs)
    (['sentences', 'teacher'], ['source', 'teacher'])
    """

    keep: float = 1.0

    objective = ObjectiveInfo(
        name="teacher",
        summary="move sentences and their translations to where a teacher has the translations",
        paper="Reimers & Gurevych 2020",
        needs=frozenset({"sentences", "teacher"}),
    )

    @property
    def needs(self) -> frozenset[str]:
        return self.objective.needs if self.keep else frozenset({"source", "teacher"})

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        complete = (batch.pair.src.counts > 0) & (batch.pair.tgt.counts > 0)
        if batch.pair.teacher is None:
            raise InputError("the batch has no vectors of a teacher", where=batch.pair.pair)
        goals = batch.pair.teacher[complete]
        distances = (batch.sentence_vectors("src")[complete] - goals).square().sum(1)
        if self.keep:
            distances = distances + self.keep * (batch.sentence_vectors("tgt")[complete] - goals).square().sum(1)
        return (distances / goals.square().sum(1).clamp_min(1e-12)).sum(), len(goals)
