"""What a training run is: objectives and how they are optimised, from a recipe file or the command line."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isoglot.assignments import check_known
from isoglot.errors import ConfigError, FormatError, InputError, locating
from isoglot.finetuning.new_encoder import FreshEncoder
from isoglot.finetuning.new_pieces import NewPieces
from isoglot.finetuning.objectives.base import PRESETS, Objective, adjusted, parse_recipe, preset, recipe_name
from isoglot.opening import read_small
from isoglot.settings import Limits, check_settings
from isoglot.suggest import unknown
from isoglot.wordalign import MODELS

_LIMITS: Limits = {
    **dict.fromkeys(("batch", "accumulation", "max_length", "blocks"), "[1, inf)"),
    **dict.fromkeys(("epochs", "learning_rate"), "(0, inf)"),
    "block_length": "[8, inf)",
    "words": "[2, inf)",
    "warmup": "[0, 1)",
    "layer": "(-inf, inf)",
    "explode": "(1, inf)",
    "schedule": ("linear", "constant"),
    "precision": ("no", "bf16", "fp16"),
    "choose": ("retrieval", "semantic", "mlm", "last"),
    "links": tuple(MODELS),
}
#: Settings of training that a preset brings with it; a paper's presets are run as the papers have it, by the defaults
#: and with the last weights.
PRESET_TRAINING: dict[str, dict[str, Any]] = {
    **{name: {"choose": "last"} for name in ("wordot", "subot", "l2")},
    "best": {"learning_rate": 5e-4, "accumulation": 1},
    # Rates are in units of the spread of the old pieces' vectors, see `GrownEmbedding`.
    "teach": {"learning_rate": 0.05, "batch": 128, "accumulation": 1, "freeze": "old"},
    # Five million tokens: under an hour on one core for the smallest encoder. Many small steps, because an untrained
    # network learns as much from a small batch as from a large one.
    "mini-mlm": {
        "learning_rate": 1e-3,
        "warmup": 0.05,
        "steps": 2500,
        "blocks": 16,
        "accumulation": 1,
        "choose": "mlm",
    },
    "mlm": {"steps": 7500, "choose": "mlm"},
    # Of one language, on top of which tasks are learned (MAD-X, Pfeiffer et al. 2020): low-rank adapters instead of
    # bottlenecks, and 1,000 steps instead of 250,000.
    "language-adapter": {
        "lora": 16,
        "learning_rate": 5e-4,
        "steps": 1000,
        "blocks": 16,
        "accumulation": 1,
        "choose": "mlm",
    },
    "static-dcca": {"steps": 7500, "choose": "mlm"},
    "static-mse": {"steps": 7500, "choose": "mlm"},
}
#: Presets that make a new encoder unless one is named.
PRESET_FRESH = ("mini-mlm",)
#: Presets that add pieces to the vocabulary.
PRESET_PIECES = ("teach",)
#: What a recipe names by language.
TABLES = {"parallel": "text", "text": "file", "static": "vectors", "lexicon": "dictionary"}


@dataclasses.dataclass(frozen=True)
class TrainingSettings:
    """How objectives are optimised; the defaults are those of Alqahtani et al. 2021 where they say so.

    Args:
        batch: sentence pairs per batch, for each language pair.
        accumulation: batches per step, for each language pair.
        blocks, block_length: approximate number of blocks of monolingual text per step, over all languages, and tokens
            per block; the defaults are those of Hämmerl et al. 2022. Accumulation splits the blocks.
        words: words with static vectors per step; accumulation does not split them.
        epochs: passes over the largest parallel text, or over the largest monolingual text if there is no parallel one.
        steps: number of steps, instead of `epochs`; 0 to use `epochs`.
        learning_rate, warmup, schedule: Adam's; warmup is a share of all steps, after which the rate stays "constant"
            or falls to 0 ("linear").
        clip: the largest gradient norm; 0 for no limit.
        max_length: maximum number of tokens in a sentence; the encoder's own limit also applies.
        layer: the layer whose hidden states are trained; -1 is the last.
        dropout: whether the encoder's dropout is on. Without it, several processes give the same curve as one.
        freeze: what is not trained: "embeddings", layers such as "0-3", or both, separated by a comma; or "old",
            everything but the vectors of new pieces.
        new_head: start from a random head for masked tokens if the encoder has none, as is the case for most sentence
            encoders; if the whole encoder is frozen, only the head is learned.
        lora: rank of low-rank adapters that are trained instead of the weights; 0 to train the weights themselves.
        precision: "no", or "bf16" or "fp16" if the hardware supports it.
        links: the statistical model that links words, for objectives that need links.
        mixed: mix all languages in each batch instead of one language pair per batch; for comparison only, as it hurts.
        upsample: restart small corpora until the largest is finished; otherwise they pause until the next epoch.
        evaluate_every, checkpoint_every: in steps; 0 for ten times per run.
        patience: stop after this many evaluations without improvement; 0 for never.
        choose: which weights to keep: "retrieval" (best at finding translations of held-out lines; the last ones if no
            parallel text is held out), "semantic" (best by that criterion; as "mlm" without parallel text), "mlm" (best
            at guessing masked tokens of held-out text) or "last".
        explode: stop the run if a loss exceeds this many times the median of recent ones.
    """

    batch: int = 24
    accumulation: int = 2
    blocks: int = 64
    block_length: int = 128
    words: int = 1024
    epochs: float = 1.0
    steps: int = 0
    learning_rate: float = 5e-5
    warmup: float = 0.1
    schedule: str = "linear"
    clip: float = 1.0
    max_length: int = 128
    layer: int = -1
    dropout: bool = False
    freeze: str = ""
    new_head: bool = False
    lora: int = 0
    precision: str = "no"
    segmenter: str = "icu"
    links: str = "hmm"
    mixed: bool = False
    upsample: bool = True
    evaluate_every: int = 0
    checkpoint_every: int = 0
    patience: int = 0
    choose: str = "retrieval"
    explode: float = 100.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)

    def rate(self, step: int, steps: int) -> float:
        """Factor applied to the learning rate at step `step` of `steps`, counted from 0.

        >>> [TrainingSettings(warmup=0.2).rate(step, 10) for step in (0, 1, 2, 6)]
        [0.5, 1.0, 1.0, 0.5]
        """
        warmup_steps = math.ceil(self.warmup * steps)
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return 1.0 if self.schedule == "constant" else (steps - step) / max(steps - warmup_steps, 1)


@dataclasses.dataclass(frozen=True, eq=False)
class Recipe:
    """Everything a run needs: where to start, what to read, what to optimise and how, and where the result goes.

    Args:
        parallel: text for each source language: a catalogue name, two files separated by a comma, or one file with
            both sides of a line separated by a tab.
        target: the language that the others are aligned to.
        held_out: lines of each text to evaluate on; None for a tenth, at most 300, or, for monolingual text, a
            twentieth, at most 500.
        limit: maximum number of lines to train on, for each text.
        text: a file of monolingual text for each language.
        static: static vectors for each language.
        fresh: make a new encoder of this size for the languages of `text`, instead of starting from `encoder`.
        pieces: add pieces for the languages of `parallel` to the vocabulary before training.
        teacher: the encoder that objectives with a teacher learn from; empty for `encoder` as it is before training.
        lexicon: for languages of `parallel`, dictionaries whose entries are learned from like lines of the text: a
            catalogue name, or a file with a word and its translation into `target` per line; several separated by
            commas.
    """

    encoder: str
    output: Path
    parallel: Mapping[str, str]
    objectives: tuple[Objective, ...]
    settings: TrainingSettings = TrainingSettings()
    target: str = "en"
    held_out: int | None = None
    limit: int | None = None
    text: Mapping[str, str] = dataclasses.field(default_factory=dict)
    static: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fresh: FreshEncoder | None = None
    pieces: NewPieces | None = None
    teacher: str = ""
    lexicon: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self, {"limit": "[1, inf)"})
        for lang in self.lexicon:
            if lang not in self.parallel:
                remedy = "name a language of `parallel`"
                raise ConfigError(f"a dictionary of {lang}, but no parallel text", where="lexicon", remedy=remedy)

    def record(self) -> dict[str, Any]:
        """As plain data, which `recipe_of` can read."""
        start = {"encoder": self.encoder} if self.fresh is None else {"fresh": dataclasses.asdict(self.fresh)}
        return {
            **start,
            **({} if self.pieces is None else {"pieces": dataclasses.asdict(self.pieces)}),
            **({"teacher": self.teacher} if self.teacher else {}),
            "output": str(self.output),
            "target": self.target,
            "held_out": self.held_out,
            "limit": self.limit,
            "parallel": dict(self.parallel),
            "text": dict(self.text),
            "static": dict(self.static),
            "lexicon": dict(self.lexicon),
            "objectives": {recipe_name(one): dataclasses.asdict(one) for one in self.objectives},
            "training": dataclasses.asdict(self.settings),
        }


def recipe_of(content: Mapping[str, Any], where: str) -> Recipe:
    """A recipe from plain data: the content of a file, or of `Recipe.record`."""
    names = ("preset", "encoder", "teacher", "output", "target", "held_out", "limit", *TABLES)
    names += ("objectives", "adjust", "training", "fresh", "pieces")
    for key in content:
        if key not in names:
            raise unknown("entry", key, names, where=where)
    tables = {key: _table(content, key, where) for key in TABLES}
    fresh = _fresh(content, where)
    if not content.get("encoder") and fresh is None:
        raise ConfigError("no encoder given", where=where, remedy="set `encoder`")
    output = content.get("output")
    if not output or not isinstance(output, str):
        raise ConfigError("no output given", where=where, remedy="set `output`")
    if not any(tables.values()):
        raise ConfigError("no text given", where=where, remedy="set `parallel` or `text`")
    if fresh is not None and not tables["text"]:
        raise ConfigError("a new encoder needs text", where=where, remedy="set `text`: language = file")
    pieces = None
    if content.get("pieces") is not None or content.get("preset") in PRESET_PIECES:
        pieces = NewPieces(**_settings(content, "pieces", NewPieces, where))
        if fresh is not None or not tables["parallel"]:
            what = "new pieces are for an existing encoder and languages with parallel text"
            raise ConfigError(what, where=where, remedy="set `encoder` and `parallel`")
    target = str(content.get("target", "en"))
    if target in tables["parallel"]:
        remedy = "name the text's other language, or change `target`"
        raise ConfigError(f"{target} is the target language itself", where=f"{where}: parallel", remedy=remedy)
    if ("preset" in content) == ("objectives" in content):
        remedy = f"presets: {', '.join(PRESETS)}"
        raise ConfigError("a recipe needs either a preset or objectives, not both", where=where, remedy=remedy)
    preset_training: Mapping[str, Any] = {}
    if "preset" in content:
        objectives, preset_training = preset_settings(str(content["preset"]))
    elif isinstance(content["objectives"], str | Mapping):
        objectives = tuple(parse_recipe(content["objectives"]))
    else:
        raise ConfigError("objectives must be a string or a table", where=where, remedy='try "word_ot + 0.5*anchor"')
    objectives = _adjusted(objectives, content.get("adjust", {}), where)
    return Recipe(
        encoder=content.get("encoder", ""),
        output=Path(output).expanduser(),
        objectives=objectives,
        settings=TrainingSettings(**{**preset_training, **_settings(content, "training", TrainingSettings, where)}),
        target=target,
        held_out=content.get("held_out"),
        limit=content.get("limit"),
        fresh=fresh,
        pieces=pieces,
        teacher=str(content.get("teacher") or ""),
        **tables,
    )


def _adjusted(
    given: tuple[Objective, ...], changes: Mapping[str, Mapping[str, Any]], where: str
) -> tuple[Objective, ...]:
    """Objectives, some with settings of the user's own: {"word_ot": {"span": "sentence"}}."""
    names = [one.objective.name for one in given]
    for name in changes:
        if name not in names:
            raise unknown("objective of this run", name, names, where=where)
    return tuple(adjusted(one, changes.get(one.objective.name, {})) for one in given)


def _table(content: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    """Files by language."""
    table = content.get(key, {})
    if not isinstance(table, Mapping) or not all(isinstance(one, str) for one in table.values()):
        raise ConfigError(f"{key} must be a table of language = {TABLES[key]}", where=where)
    return dict(table)


def _settings(content: Mapping[str, Any], key: str, kind: type[Any], where: str) -> Mapping[str, Any]:
    """A table of settings, all of which must be fields of `kind`."""
    settings: Any = content.get(key) or {}
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{key} must be a table of settings", where=where)
    check_known(settings, (field.name for field in dataclasses.fields(kind)), key, where=where)
    return settings


def _fresh(content: Mapping[str, Any], where: str) -> FreshEncoder | None:
    """The size of the new encoder, if the recipe or its preset makes one."""
    if content.get("fresh") is None and (content.get("preset") not in PRESET_FRESH or content.get("encoder")):
        return None
    if content.get("encoder"):
        raise ConfigError("a run starts either from an existing encoder or from a new one, not both", where=where)
    return FreshEncoder(**_settings(content, "fresh", FreshEncoder, where))


def read_recipe(path: Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """A recipe from a TOML file; `overrides` take precedence over the file.

    Args:
        overrides: structured like the file; tables are merged entry by entry.
    """
    try:
        content = tomllib.loads(read_small(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"not valid TOML: {error}", where=str(path)) from error
    overrides = overrides or {}
    for one, other in (("preset", "objectives"), ("objectives", "preset")):
        if one in overrides:
            content.pop(other, None)
    for key, value in overrides.items():
        if isinstance(value, Mapping) and isinstance(content.get(key), dict):
            content[key] |= value
        else:
            content[key] = value
    with locating(str(path)):
        return recipe_of(content, str(path))


def preset_settings(name: str) -> tuple[tuple[Objective, ...], dict[str, Any]]:
    """Objectives of a preset, and its training settings."""
    return tuple(preset(name)), dict(PRESET_TRAINING.get(name, {}))
