"""What the experiment with static and contextual vectors does, and what it is measured on; see `static_contextual`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from isoglot.aligners import aligner
from isoglot.assignments import check_known
from isoglot.distill import DistillSettings
from isoglot.encoders import is_aligned_folder, parse_layers
from isoglot.errors import ConfigError, locating
from isoglot.finetuning import FreshEncoder, Recipe, TrainingSettings, preset_settings
from isoglot.lexicons import Lexicon
from isoglot.pipelines import check_inducer, check_learner
from isoglot.reproductions.static_contextual.words import Aligning, Judged
from isoglot.resumable import run_key
from isoglot.text import ParallelText, segmenter

METHODS = DistillSettings.methods
#: Presets by which the encoder is trained further.
OBJECTIVES = ("mlm", "static-mse", "static-dcca")
#: The preset of a new encoder.
_FRESH = "mini-mlm"

Settings = TypeVar("Settings", DistillSettings, TrainingSettings, FreshEncoder)


@dataclasses.dataclass(frozen=True, eq=False)
class Experiment:
    """What is done, by default as far as possible as the paper has it.

    Args:
        texts: by language, files of monolingual text.
        encoder: a name or folder; None: a small one is trained on the texts first.
        layer: of the encoder that static vectors are taken from; None: the middle one, as 6 of 12.
        test_layer: that sentences are searched with, and words that stand alone; None: where 7 of 12 would be.
        distill, training: settings other than the defaults, see `DistillSettings` and `TrainingSettings`.
        fresh, pretraining: size of a new encoder and settings of its training, see `FreshEncoder`.
        towards: the method whose aligned vectors the encoder is trained towards, or a folder of other aligned vectors.
        steps: of each training of the encoder; the paper has 7,500.
        lines: of each text that the encoder is trained on, at most.
        words: most frequent ones of each language that are encoded alone and translated.
        seeds: runs of all that depends on chance, with `seed` and the numbers after it.
        cache: a folder for vectors of running words: further epochs of X2Static read them there.
    """

    texts: Mapping[str, Path]
    encoder: str | None = None
    aligning: Aligning = dataclasses.field(default_factory=Aligning)
    layer: str | None = None
    test_layer: str | None = None
    distill: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    training: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    fresh: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    pretraining: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    towards: str = "x2static"
    steps: int = 500
    lines: int | None = None
    words: int = 20_000
    seeds: int = 3
    seed: int = 0
    device: str = "auto"
    cache: Path | None = None

    def __post_init__(self) -> None:
        """Raise now what would stop the run hours later."""
        if self.aligning.pivot not in self.texts or len(self.texts) < 2:
            remedy = "name both in `texts`"
            raise ConfigError(f"needs text of {self.aligning.pivot} and of another language", remedy=remedy)
        if self.towards not in METHODS:
            missing = [lang for lang in self.texts if not (Path(self.towards) / f"{lang}.safetensors").is_file()]
            if missing:
                remedy = f"one of {', '.join(METHODS)}, or a folder of `isoglot static-align`"
                raise ConfigError(
                    f"no method and no folder with vectors of {', '.join(missing)}: {self.towards}",
                    where="towards",
                    remedy=remedy,
                )
        unknown = [lang for lang in self.aligning.vectors if lang not in self.texts]
        if unknown or (self.aligning.vectors and self.aligning.pivot not in self.aligning.vectors):
            raise ConfigError(
                f"vectors to induce dictionaries on are of {', '.join(self.aligning.vectors)}",
                remedy=f"give those of {self.aligning.pivot} and of other languages with text",
            )
        if self.encoder is not None and (self.fresh or self.pretraining):
            raise ConfigError("settings of a new encoder, but one is named", remedy="leave either out")
        if self.encoder is not None and is_aligned_folder(Path(self.encoder)):
            raise ConfigError("is aligned already", where=self.encoder)
        if self.aligning.induce is not None:
            check_inducer(self.aligning.induce)
        check_learner(aligner(self.aligning.method))
        for method in METHODS:
            chosen = self.distilling(method, self.seed)
        for lang in self.texts:
            segmenter(chosen.segmenter, lang)
        for objective in OBJECTIVES:
            self.continued(objective, "", self.seed, Path())
        if self.encoder is None:
            fresh = self.new_encoder(Path()).fresh
            assert fresh is not None
            for layer in self.layers_of(fresh.layers):
                parse_layers(layer, fresh.layers)

    @property
    def all_seeds(self) -> range:
        return range(self.seed, self.seed + self.seeds)

    def layers_of(self, depth: int) -> tuple[str, str]:
        """The layers of an encoder with so many that static vectors are taken from, and that is tested.

        >>> Experiment({"en": Path("en.txt"), "de": Path("de.txt")}).layers_of(12)
        ('6', '7')
        """
        return self.layer or str(max(1, depth // 2)), self.test_layer or str(max(1, round(depth * 7 / 12)))

    def distilling(self, method: str, seed: int) -> DistillSettings:
        """Settings of a method; both read the same sentences and keep the same words, so that figures compare."""
        given = dict(self.distill)
        if method == "aggregate":
            given.pop("epochs", None)
            given.pop("repeats", None)
        return read_settings(DistillSettings, {**given, "method": method, "seed": seed}, "distill")

    def new_encoder(self, output: Path) -> Recipe:
        """The recipe of a small encoder out of the texts."""
        objectives, own = preset_settings(_FRESH)
        settings = read_settings(TrainingSettings, {**own, **self.pretraining, "seed": self.seed}, "pretraining")
        fresh = read_settings(FreshEncoder, self.fresh, "fresh")
        return self._recipe(output, objectives=objectives, settings=settings, encoder="", fresh=fresh)

    def continued(
        self, objective: str, encoder: str, seed: int, output: Path, static: Mapping[str, str] | None = None
    ) -> Recipe:
        """The recipe of an encoder that is trained further."""
        objectives, own = preset_settings(objective)
        given = {**own, "steps": self.steps, **self.training, "seed": seed}
        settings = read_settings(TrainingSettings, given, "training")
        return self._recipe(output, objectives=objectives, settings=settings, encoder=encoder, static=static or {})

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        found = dataclasses.asdict(self)
        found["texts"] = {lang: path.name for lang, path in self.texts.items()}
        found["aligning"]["vectors"] = {lang: path.name for lang, path in self.aligning.vectors.items()}
        found["towards"] = self.towards if self.towards in METHODS else Path(self.towards).name
        return {**found, "cache": self.cache is not None}

    def _recipe(self, output: Path, **parts: Any) -> Recipe:
        texts = {lang: str(path) for lang, path in self.texts.items()}
        pivot = self.aligning.pivot
        return Recipe(output=output, parallel={}, text=texts, target=pivot, limit=self.lines, **parts)


@dataclasses.dataclass(frozen=True, eq=False)
class Trials:
    """What is measured with; any may be missing, and nothing of it is learned from.

    Args:
        lexicons: by language, from the pivot to it.
        sentences: by language, its sentences and the pivot's.
        judged: by name, languages and pairs of words that people have judged.
    """

    lexicons: Mapping[str, Lexicon] = dataclasses.field(default_factory=dict)
    sentences: Mapping[str, ParallelText] = dataclasses.field(default_factory=dict)
    judged: Judged = dataclasses.field(default_factory=dict)

    def digest(self) -> str:
        """Tells these tests from others."""
        lexicons = {lang: one.pairs for lang, one in self.lexicons.items()}
        sentences = {lang: [one.src, one.tgt] for lang, one in self.sentences.items()}
        judged = {name: [langs, list(map(dataclasses.astuple, some))] for name, (langs, some) in self.judged.items()}
        return run_key(lexicons, sentences, judged)


def read_settings(kind: type[Settings], given: Mapping[str, Any], where: str) -> Settings:
    """Settings out of plain data; an unknown name or another type is an error."""
    check_known(given, (field.name for field in dataclasses.fields(kind)), where)
    with locating(where):
        return kind(**given)
