"""The trainer: any number of languages, one loss, one step. A stopped run resumes and ends with the same weights.

Every step takes the same number of sentences from each language pair, sums the losses, which are computed one pair at a
time, and updates the encoder once; monolingual text and words with static vectors are part of the same step. Several
processes (torchrun, through Accelerate) share the sentences of each batch.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.encoders import Encoder, check_native
from isoglot.errors import ConfigError, InputError, MissingExtraError
from isoglot.files import remove_abandoned
from isoglot.finetuning.best_weights import BestWeights, Evaluate, step_seed
from isoglot.finetuning.mixture import Mixture, Sources
from isoglot.finetuning.monolingual_text import TextCorpus
from isoglot.finetuning.objectives.base import Objective, recipe_name
from isoglot.finetuning.parallel_text import Corpus
from isoglot.finetuning.run_log import (
    REMEMBERED,
    Alarm,
    Guard,
    StepRecord,
    Stopped,
    Trained,
    begin_run,
    check_same_run,
    cut_log,
    interrupts,
    log_step,
)
from isoglot.finetuning.run_state import (
    RunState,
    check_room,
    latest_checkpoint,
    put_tensors,
    run_tensors,
    save_checkpoint,
)
from isoglot.finetuning.settings import TrainingSettings
from isoglot.progress import Progress, silent
from isoglot.spaces import Space

#: Adam keeps two averages of every weight, a checkpoint the weights too.
_COPIES = 3


class Trainer:
    """One run in one folder.

    Args:
        encoder: trained in place.
        corpora, texts, static: what to learn from; see `Sources`.
        folder: where the run keeps its log, checkpoints and best weights.
        evaluate: figures to watch during training; called in the first process only.
        teacher: whose vectors objectives with a teacher learn towards.
        original: the encoder before new pieces were added, to compare with; None if that is `encoder` itself.
        old_pieces: number of pieces of `original`, for `freeze="old"`.
        watch: called after every step.
        tell: receives one-line notes for the user.
        keep: whether computed word links are saved in the folder.
    """

    def __init__(
        self,
        encoder: Encoder,
        corpora: Sequence[Corpus],
        objectives: Sequence[Objective],
        settings: TrainingSettings,
        folder: Path,
        *,
        texts: Sequence[TextCorpus] = (),
        static: Mapping[str, Space] | None = None,
        teacher: Encoder | None = None,
        original: Encoder | None = None,
        old_pieces: int | None = None,
        evaluate: Evaluate | None = None,
        watch: Callable[[StepRecord], None] = lambda record: None,
        tell: Callable[[str], None] = lambda line: None,
        keep: bool = True,
        progress: Progress = silent,
    ) -> None:
        from isoglot.finetuning.network import Network

        self.encoder, self.settings, self.folder = encoder, settings, folder
        self._watch, self._tell = watch, tell
        self._accelerator = _accelerator(encoder, settings, objectives)
        self.main = bool(self._accelerator.is_main_process)
        processes = int(self._accelerator.num_processes)
        sources = Sources(corpora, texts, static or {})
        sources.check(objectives, encoder.model.width)
        if settings.batch < processes:
            raise ConfigError(f"a batch of {settings.batch} cannot be shared by {processes} processes", where="batch")
        if any("teacher" in one.needs for one in objectives):
            if teacher is None:
                raise ConfigError("no teacher given", where="teacher", remedy="name an encoder to learn from")
            if teacher.dim != encoder.model.width:
                what = f"the teacher has {teacher.dim} dimensions, the encoder {encoder.model.width}"
                raise ConfigError(what, where="teacher", remedy="choose a teacher of as many dimensions")
        else:
            teacher = None
        self._original = original
        self._identity = {
            "encoder": encoder.model.fingerprint(),
            **sources.identity(),
            "objectives": {recipe_name(one): dataclasses.asdict(one) for one in objectives},
            "training": dataclasses.asdict(settings),
            **({} if teacher is None else {"teacher": teacher.model.fingerprint()}),
        }
        check_same_run(folder, self._identity)
        rank = int(self._accelerator.process_index)
        self.network = Network(
            encoder.model,
            objectives,
            settings,
            texts=bool(texts),
            old_pieces=old_pieces,
            rank=rank,
            processes=processes,
        )
        self.network.start_on(self._accelerator.device)
        with self._accelerator.main_process_first():
            self.sampler = Mixture(
                sources,
                objectives,
                settings,
                encoder.model.tokenizer,
                longest=encoder.model.longest,
                teach=None if teacher is None else teacher.sentences,
                work=folder if keep else None,
                progress=progress,
            )
        if settings.choose == "mlm" and not any(len(one.held_out) for one in texts):
            remedy = "hold out some lines of `text`, or set `choose` to last"
            raise ConfigError("mlm needs held-out monolingual text", where="choose", remedy=remedy)
        held_out = self.sampler.held_out() if self.main else []
        self._best = BestWeights(encoder, self.network, settings, folder, self._accelerator, held_out, evaluate)
        batches = self.sampler.draws_of_an_epoch * settings.epochs
        self.steps = settings.steps or max(1, math.ceil(batches / settings.accumulation))
        tenth = max(1, self.steps // 10)
        self._every = {"evaluate": settings.evaluate_every or tenth, "checkpoint": settings.checkpoint_every or tenth}
        self._guard = Guard(folder, settings.explode, self.main)
        self._alarm = Alarm()
        self._optimiser: Any = None
        self._wrapped: Any = None

    @property
    def trained_weights(self) -> int:
        """Number of trained parameters."""
        return sum(one.numel() for one in self.network.trained().values())

    @property
    def bytes_needed(self) -> int:
        """The most the run may have on disk: checkpoints (a third while it is written), best weights and the result."""
        whole = sum(one.numel() for one in self.network.parameters())
        return 4 * (3 * _COPIES * self.trained_weights + 2 * self.trained_weights + 2 * whole)

    def run(self) -> Trained:
        """Train to the end, from the last checkpoint if there is one; the encoder ends with the chosen weights."""
        began = time.perf_counter()
        if self.main:
            check_room(self.folder, self.bytes_needed)
        self._prepare()
        state = self._restore()
        if state is None:
            state = RunState(before=self._best.figures(self._original))
            self._save(state)
        earlier = state.seconds
        with interrupts() as interrupted:
            while state.step < self.steps and not state.early:
                record = self._step(state)
                state.step += 1
                state.seconds = earlier + time.perf_counter() - began
                last = state.step == self.steps
                if last or state.step % self._every["evaluate"] == 0:
                    if self._best.judge(state):
                        reason = f"no improvement in {state.waited} evaluations"
                        self._tell(f"{reason}: stopping after step {state.step:,} of {self.steps:,}")
                    for line in self._alarm.lines(state.before, state.latest):
                        self._tell(f"step {state.step:,}: {line}")
                    record = dataclasses.replace(record, evaluation=state.latest or None)
                self._note(record)
                stop = self._any(bool(interrupted))
                if last or state.early or stop or state.step % self._every["checkpoint"] == 0:
                    self._save(state)
                if stop and not last and not state.early:
                    raise Stopped(
                        f"stopped after step {state.step:,} of {self.steps:,}",
                        where=str(self.folder),
                        remedy="run it again to resume",
                    )
        best = None if self._best.keeps_last(state) else state.best
        if best is not None and best.step != state.step:
            self._best.put_back(best)
        self.network.merge_adapters()
        self.network.eval()
        self._accelerator.wait_for_everyone()
        return Trained(
            steps=state.step,
            chosen=state.step if best is None else best.step,
            before=state.before,
            after=state.latest if best is None else best.figures,
            early=state.early,
            seconds=state.seconds,
        )

    def time_batches(self, count: int = 2) -> tuple[float, int]:
        """Estimated seconds and tokens per step, from a few real batches; nothing is changed."""
        import torch

        # Seconds and tokens of each batch, by kind.
        timings: dict[str, list[tuple[float, int]]] = {}
        for number in range(count + 1):
            for one in self.sampler.draw(number):
                began = time.perf_counter()
                batch = one.batch.to(self._accelerator.device)
                loss, _ = self.network(batch, torch.Generator().manual_seed(number))
                loss.backward()
                timings.setdefault(batch.name, []).append((time.perf_counter() - began, batch.tokens))
        self.network.zero_grad(set_to_none=True)
        seconds, tokens = 0.0, 0.0
        for name, each in timings.items():
            timed = each[1:] or each  # the first batch of each kind is a warm-up
            times = (1 if name == "words" else self.settings.accumulation) / len(timed)
            seconds += times * sum(one[0] for one in timed)
            tokens += times * sum(one[1] for one in timed)
        return seconds, int(tokens)

    def _prepare(self) -> None:
        import torch

        weights = list(self.network.trained().values())
        # Without weight decay AdamW is Adam; the fused version takes half the time.
        optimiser = torch.optim.AdamW(weights, lr=self.settings.learning_rate, weight_decay=0.0, fused=True)
        self._wrapped, self._optimiser = self._accelerator.prepare(self.network, optimiser)

    def _step(self, state: RunState) -> StepRecord:
        import torch

        began = time.perf_counter()
        step, settings, accelerator = state.step, self.settings, self._accelerator
        # All randomness of a step follows from its number; masks are the same in all processes, dropout is not.
        torch.manual_seed(step_seed(settings.seed, step, accelerator.process_index))
        generator = torch.Generator().manual_seed(step_seed(settings.seed, step, -1))
        rate = settings.learning_rate * settings.rate(step, self.steps)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._wrapped.train(settings.dropout)
        drawn = [
            one
            for number in range(settings.accumulation)
            for one in self.sampler.draw(step * settings.accumulation + number)
        ]
        sums: dict[str, list[float]] = {one.objective.name: [0.0, 0] for one in self.network.objectives}
        pairs: dict[str, float] = {}
        values = []
        tokens = 0
        for number, one in enumerate(drawn):
            last = number + 1 == len(drawn)
            with contextlib.nullcontext() if last else accelerator.no_sync(self._wrapped):
                try:
                    loss, terms = self._wrapped(one.batch.to(accelerator.device), generator)
                except InputError as error:  # an objective cannot use these vectors
                    self._guard.halt(error.what, step, [one], {})
                value = self._value(terms)
                self._guard.check(value, step, one, terms, state.losses)
                accelerator.backward(loss * one.share)
            for name, (total, count) in terms.items():
                sums[name][0] += float(total)
                sums[name][1] += count
            values.append(value)
            pairs[one.batch.name] = pairs.get(one.batch.name, 0.0) + value * one.share
            tokens += one.batch.tokens
        norm = float(accelerator.clip_grad_norm_(self.network.trained().values(), settings.clip or math.inf))
        # In fp16 gradients are scaled up until some overflow; the scaler skips such steps.
        if not math.isfinite(norm) and accelerator.scaler is None:
            self._guard.halt(f"the gradient is {norm}", step, drawn, {})
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        # Kinds of batches differ in the size of their losses: compare with the largest.
        state.losses = [*state.losses, max(values)][-REMEMBERED:]
        return StepRecord(
            step=step + 1,
            steps=self.steps,
            loss=sum(pairs.values()),
            terms={name: total / max(count, 1) for name, (total, count) in sums.items()},
            pairs=pairs,
            rate=rate,
            gradient=norm,
            tokens=tokens,
            seconds=time.perf_counter() - began,
        )

    def _value(self, terms: Mapping[str, tuple[Any, int]]) -> float:
        weights = {one.objective.name: one.weight for one in self.network.objectives}
        return sum(weights[name] * float(total) / max(count, 1) for name, (total, count) in terms.items())

    def _any(self, flag: bool) -> bool:
        """Whether the flag is set in any process: all have to stop at the same step."""
        if self._accelerator.num_processes == 1:
            return flag
        import torch

        total = torch.tensor([float(flag)], device=self._accelerator.device)
        return bool(self._accelerator.reduce(total, "sum").item() > 0)

    def _note(self, record: StepRecord) -> None:
        if self.main:
            log_step(self.folder, record)
            self._watch(record)

    def _save(self, state: RunState) -> None:
        if self.main:
            scaler = self._accelerator.scaler
            state.scaler = None if scaler is None else scaler.state_dict()
            tensors = run_tensors(self.network, self._optimiser)
            save_checkpoint(self.folder / "checkpoints", state.step, tensors, dataclasses.asdict(state))
        self._accelerator.wait_for_everyone()

    def _restore(self) -> RunState | None:
        """Restore weights and averages of the last checkpoint and return its state; None if there is none."""
        checkpoint = latest_checkpoint(self.folder / "checkpoints")
        # No process may write before all have looked.
        self._accelerator.wait_for_everyone()
        if self.main:
            begin_run(self.folder, self._identity)
            remove_abandoned(self.folder / "checkpoints")  # what a killed run was writing
            cut_log(self.folder, 0 if checkpoint is None else int(checkpoint[1]["step"]))
        if checkpoint is None:
            return None
        tensors, record = checkpoint
        state = RunState.of(record)
        put_tensors(tensors, self.network, self._optimiser, self.folder)
        if state.scaler:
            self._accelerator.scaler.load_state_dict(state.scaler)
        if self.main:
            self._tell(f"resuming after step {state.step:,} of {self.steps:,}")
        return state


def _accelerator(encoder: Encoder, settings: TrainingSettings, objectives: Sequence[Objective]) -> Any:
    try:
        from accelerate import Accelerator, DistributedDataParallelKwargs
    except ImportError as error:
        raise MissingExtraError("accelerate", "training", "training an encoder") from error
    if settings.precision == "fp16" and encoder.model.device == "cpu":
        raise ConfigError("fp16 needs a GPU", where="precision", remedy="use bf16 or no")
    if settings.precision == "bf16" and encoder.model.device == "cpu":
        check_native("bfloat16")
    # Some weights may have no gradient: a process may have no token to guess in a batch, and words need no head.
    masked = any("masked" in one.needs for one in objectives)
    return Accelerator(
        cpu=encoder.model.device == "cpu",
        mixed_precision=settings.precision,
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=masked)],
    )
