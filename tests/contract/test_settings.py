"""All settings dataclasses refuse wrong types and nonsense when they are made, before any work."""

from __future__ import annotations

import dataclasses
import math

import pytest

from isoglot.aligners import methods
from isoglot.aligners.self_learning.rounds import SelfLearning
from isoglot.distill import DistillSettings
from isoglot.errors import ConfigError
from isoglot.finetuning import FreshEncoder, TrainingSettings
from isoglot.text import TextSettings
from isoglot.wordvectors import CorpusSettings, Training

OTHERS = (SelfLearning, DistillSettings, CorpusSettings, Training, TextSettings, FreshEncoder, TrainingSettings)
CLASSES = {**methods(), **{cls.__name__: cls for cls in OTHERS}}
#: Of each type values of another, and values that no setting can mean.
WRONG = {
    "int": ("many", 2.5, True, -1, math.nan),
    "float": ("much", True, math.nan, math.inf),
    "bool": ("yes", 1, None),
    "str": (3, None, "no such thing"),
}
#: Texts that are free, and numbers that may be below 0.
FREE = {("CorpusSettings", "segmenter"), ("CorpusSettings", "lines_of"), ("DistillSettings", "segmenter")}
FREE |= {("TextSettings", "segmenter"), ("TrainingSettings", "segmenter"), ("TrainingSettings", "freeze")}
FREE |= {("TrainingSettings", "layer"), ("TrainingSettings", "explode")}


def wrong_values(label, cls):
    for field in dataclasses.fields(cls):
        kind, _, optional = str(field.type).partition(" | ")
        choices = ("no such thing",) if "Literal" in kind or kind == "Dewhiten" else ()
        for value in WRONG.get(kind, choices):
            free = (label, field.name) in FREE and value in ("no such thing", -1, math.inf)
            if free or (value is None and optional):
                continue
            yield field.name, value


@pytest.mark.parametrize("label", CLASSES)
def test_nonsense_is_refused_at_once(label):
    accepted = []
    for name, value in wrong_values(label, CLASSES[label]):
        try:
            CLASSES[label](**{name: value})
        except ConfigError:
            continue
        except Exception as error:
            accepted.append((name, value, repr(error)))
        else:
            accepted.append((name, value))
    assert not accepted


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("procrustes", {"normalise": "bad"}, "normalisation"),
        ("procrustes", {"normalise": ""}, None),
        ("cca", {"keep": 0}, "keep must be above 0 and at most 1, got 0"),
        ("cca", {"keep": 1}, None),
        ("muse", {"starts": "grid,nothing"}, "starts"),
        ("contrastive", {"start": "contrastive"}, "start"),
        ("gromov-wasserstein", {"epsilon": 0.9}, "epsilon_start"),
        ("vecmap-semi", {"grow": 1.0}, "grow must be above 1"),
        ("muse-supervised", {"vocabulary": None}, None),
        ("least-squares", {"ridge": -1.0}, "ridge must be at least 0"),
    ],
)
def test_limits_of_settings(name, settings, words):
    if words is None:
        methods()[name](**settings)
        return
    with pytest.raises(ConfigError, match=words):
        methods()[name](**settings)
