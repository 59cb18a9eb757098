"""What the experiment with static and contextual vectors will take, from a few real sentences and batches."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.distill.estimate import estimate_distilling
from isoglot.encoders import Encoder
from isoglot.joint import TextFile
from isoglot.progress import Progress, silent
from isoglot.recipes.finetune import estimate, prepare
from isoglot.recipes.static_contextual import open_start
from isoglot.recipes.static_contextual_plan import OBJECTIVES, Experiment
from isoglot.spaces import Space
from isoglot.training.lines import open_lines

__all__ = ["ExperimentCost", "Stage", "experiment_cost"]

#: Words that stand for those with static vectors while a step is timed.
_STAND_IN = 2000


@dataclasses.dataclass(frozen=True)
class Stage:
    """So many runs, and the seconds of all of them."""

    name: str
    runs: int
    seconds: float

    def line(self) -> str:
        """In words.

        >>> Stage("X2Static, 3 seeds", 3, 600.0).line()
        'X2Static, 3 seeds: about 10 minutes'
        """
        return f"{self.name}: about {self.seconds / 60:.0f} minutes"


@dataclasses.dataclass(frozen=True)
class ExperimentCost:
    """Of all stages, and what will be left out and why."""

    stages: tuple[Stage, ...]
    skipped: dict[str, str]

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages)

    def lines(self) -> list[str]:
        """For people."""
        left = [f"{name} is left out: {reason}" for name, reason in self.skipped.items()]
        total = f"in all about {self.seconds / 3600:.1f} hours here, without aligning and tests"
        return [*(stage.line() for stage in self.stages), *left, total]

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {**dataclasses.asdict(self), "seconds": self.seconds}


def experiment_cost(experiment: Experiment, *, progress: Progress = silent) -> ExperimentCost:
    """Time some of each kind of work; nothing is left behind."""
    stages = []
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        start: Encoder | None = None
        folder = experiment.encoder
        if folder is None:
            made = prepare(
                experiment.new_encoder(place / "encoder"), device=experiment.device, dry=True, progress=progress
            )
            start = made.trainer.encoder  # its folder goes with it
            folder = start.model.folder
            stages.append(Stage(f"a new encoder, {made.trainer.steps:,} steps", 1, estimate(made).seconds))
        encoder, skipped = open_start(experiment, folder, progress)
        stages += _distillings(experiment, encoder.without_cache(), progress)
        static = _stand_ins(experiment, encoder.dim, place)
        for objective in OBJECTIVES:
            if objective not in skipped:
                given = {} if objective == "mlm" else static
                recipe = experiment.continued(objective, folder, experiment.seed, place / objective, given)
                seconds = estimate(prepare(recipe, device=experiment.device, dry=True, progress=progress)).seconds
                name = f"{objective}, {recipe.settings.steps:,} steps x {experiment.seeds} seeds"
                stages.append(Stage(name, experiment.seeds, seconds * experiment.seeds))
        del start
    return ExperimentCost(tuple(stages), skipped)


def _distillings(experiment: Experiment, encoder: Encoder, progress: Progress) -> list[Stage]:
    settings = experiment.distilling("x2static", experiment.seed)
    once = sum(
        estimate_distilling(encoder, TextFile(lang, path), settings, progress=progress).seconds
        for lang, path in experiment.texts.items()
    )
    cached = experiment.cache is not None
    passes = experiment.seeds * (1 if cached else settings.epochs)
    again = "" if passes == 1 else f", which is encoded {passes} times"
    name = f"X2Static x {experiment.seeds} seeds, {settings.epochs} epochs over the text{again}"
    # With a cache, the means read what the first seed has encoded, but another seed reads in another order.
    one = once / settings.epochs
    return [Stage(name, experiment.seeds, one * passes), Stage("means over contexts", 1, 0.0 if cached else one)]


def _stand_ins(experiment: Experiment, dim: int, folder: Path) -> dict[str, str]:
    """Some words of each text with vectors by chance."""
    rng = np.random.default_rng(experiment.seed)
    found = {}
    for lang, path in experiment.texts.items():
        words = list(dict.fromkeys(word for line in open_lines(path)[:_STAND_IN] for word in line.split()))[:_STAND_IN]
        place = folder / f"{lang}.safetensors"
        Space(lang, words, rng.normal(size=(len(words), dim)).astype(np.float32)).save(place)
        found[lang] = str(place)
    return found
