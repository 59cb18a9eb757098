"""What the experiment with static and contextual vectors will take, from a few real sentences and batches."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.distill import estimate_distilling
from isoglot.encoders import Encoder
from isoglot.pipelines import duration, estimate, prepare
from isoglot.progress import Progress, silent
from isoglot.reproductions.static_contextual.plan import OBJECTIVES, Experiment
from isoglot.reproductions.static_contextual.stages import open_start
from isoglot.spaces import Space
from isoglot.text import open_lines
from isoglot.wordvectors import TextFile

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

        >>> Stage("mlm, 500 steps", 3, 600.0).line()
        'mlm, 500 steps, 3 runs: about 10 minutes'
        """
        runs = f", {self.runs} runs" if self.runs > 1 else ""
        return f"{self.name}{runs}: about {duration(self.seconds)}"


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
        total = f"in all about {duration(self.seconds)} here, without aligning and tests"
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
                name = f"{objective}, {recipe.settings.steps:,} steps"
                stages.append(Stage(name, experiment.seeds, seconds * experiment.seeds))
        del start
    return ExperimentCost(tuple(stages), skipped)


def _distillings(experiment: Experiment, encoder: Encoder, progress: Progress) -> list[Stage]:
    settings = experiment.distilling("x2static", experiment.seed)
    once = sum(
        estimate_distilling(encoder, TextFile(lang, path), settings, progress=progress).seconds
        for lang, path in experiment.texts.items()
    )
    # All seeds and the means share a pass.
    passes = 1 if experiment.cache is not None else settings.epochs
    name = "static vectors of all seeds and means over contexts, the text encoded "
    return [Stage(name + ("once" if passes == 1 else f"{passes} times"), 1, once / settings.epochs * passes)]


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
