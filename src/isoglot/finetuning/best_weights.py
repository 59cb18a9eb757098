"""Which weights a run keeps: evaluates the encoder during training and saves the best weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.encoders import Encoder
from isoglot.errors import FormatError
from isoglot.files import sha256_of_file
from isoglot.finetuning.batches import TextBatch
from isoglot.finetuning.run_state import Best, RunState, load_tensors, put_weights, save_tensors
from isoglot.finetuning.settings import TrainingSettings

if TYPE_CHECKING:
    from isoglot.finetuning.network import Network

#: Figures of the encoder as it is now; "semantic" is one by which weights are chosen.
Evaluate = Callable[[Encoder], Mapping[str, float]]


class BestWeights:
    """Evaluates, and saves the best weights in the run's folder.

    Args:
        held_out: text whose masked tokens are guessed; empty in all but the first process.
        evaluate: further figures; called in the first process only.
    """

    def __init__(
        self,
        encoder: Encoder,
        network: Network,
        settings: TrainingSettings,
        folder: Path,
        accelerator: Any,
        held_out: Sequence[TextBatch],
        evaluate: Evaluate | None,
    ) -> None:
        self._encoder, self._network, self._settings = encoder, network, settings
        self._place = folder / "best.safetensors"
        self._accelerator, self._held_out, self._evaluate = accelerator, held_out, evaluate

    def figures(self, other: Encoder | None = None) -> dict[str, float]:
        """Figures of the encoder, or of another one, the same in all processes; masked losses are always ours."""
        figures: list[Any] = [None]
        if self._accelerator.is_main_process:
            self._network.eval()
            own = {} if self._evaluate is None else self._evaluate(other or self._encoder)
            figures = [{**own, **self._masked_losses()}]
        if self._accelerator.num_processes > 1:
            from accelerate.utils import broadcast_object_list

            broadcast_object_list(figures)
        return dict(figures[0])

    def judge(self, state: RunState) -> bool:
        """Evaluate and save the weights if they are the best so far; returns whether patience has run out."""
        figures = self.figures()
        if not figures:
            return False
        state.latest = figures
        if state.best is None or self._merit(figures) > self._merit(state.best.figures):
            sha256 = None
            if self._accelerator.is_main_process:
                save_tensors(self._place, self._network.trained())
                sha256 = sha256_of_file(self._place)
            state.best, state.waited = Best(state.step, figures, sha256), 0
        else:
            state.waited += 1
        state.early = 0 < self._settings.patience <= state.waited
        return state.early

    def put_back(self, best: Best) -> None:
        """Give the network the best weights."""
        weights = load_tensors(self._place)
        # Only the process that writes knows the checksum.
        if best.sha256 not in (None, sha256_of_file(self._place)):
            remedy = "remove the run's folder to start over"
            raise FormatError("is damaged (its checksum differs)", where=str(self._place), remedy=remedy)
        put_weights(self._network, weights, self._place.parent)

    def keeps_last(self, state: RunState) -> bool:
        """Whether the last weights are the ones to keep, whatever was measured."""
        choose = self._settings.choose
        return state.best is None or choose == "last" or (choose == "retrieval" and choose not in state.latest)

    def _merit(self, figures: Mapping[str, float]) -> tuple[float, ...]:
        """What weights are chosen by: a figure on translations, or without them how well masked tokens are guessed."""
        if self._settings.choose == "mlm" or "semantic" not in figures:
            return (-figures.get("mlm", math.inf),)
        # Few lines make many ties in retrieval.
        return (figures.get(self._settings.choose, figures["semantic"]), figures["semantic"])

    def _masked_losses(self) -> dict[str, float]:
        """Mean loss on masked tokens of held-out text, overall and by language; masks are always the same."""
        import torch

        generator = torch.Generator().manual_seed(step_seed(self._settings.seed, 0, -1))
        sums: dict[str, list[float]] = {}
        for batch in self._held_out:
            total, count = self._network.masked_loss(batch.to(self._accelerator.device), generator)
            for name in ("mlm", f"mlm {batch.lang}"):
                own = sums.setdefault(name, [0.0, 0.0])
                own[0] += total
                own[1] += count
        return {name: total / max(count, 1) for name, (total, count) in sums.items()}


def step_seed(seed: int, step: int, process: int) -> int:
    """A separate seed for each step and process; process -1 for what all processes share."""
    return int(np.random.SeedSequence([seed, step, process + 1]).generate_state(1)[0])
