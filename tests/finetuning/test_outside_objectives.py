"""Objectives from outside: named in a recipe as `file.py:Class`, or brought by an entry point."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from isoglot.errors import ConfigError
from isoglot.finetuning import objectives, parse_recipe, recipe_of
from isoglot.finetuning.objectives import base
from isoglot.plugins import Registry

torch = pytest.importorskip("torch")

OWN = """
import dataclasses
from isoglot.finetuning import Objective, ObjectiveInfo

@dataclasses.dataclass(frozen=True)
class Pull(Objective):
    strength: float = 1.0
    limits = {"strength": "(0, inf)"}
    objective = ObjectiveInfo("pull", "pull sentences together", "nobody 2026", frozenset({"sentences"}))

    def total(self, batch):
        X, Y = (batch.encoded(side).sentence_vectors() for side in ("src", "tgt"))
        return self.strength * (X - Y).square().sum(), len(X)
"""


@pytest.fixture
def registry(monkeypatch):
    """One of our own, so that other tests do not see what a test brings."""
    made = Registry("objective", "isoglot.objectives")
    for name, cls in objectives().items():
        made.add(name, cls)
    monkeypatch.setattr(base, "_REGISTRY", made)
    return made


@pytest.fixture
def module(tmp_path, monkeypatch, registry):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"own_{tmp_path.name.replace('-', '_')}.py"  # files are executed once a process
    path.write_text(OWN, "utf-8")
    return path.stem


def test_a_recipe_names_a_class_of_a_module_or_file(module):
    Path(f"{module}_too.py").write_text(OWN.replace('"pull"', '"pull too"'), "utf-8")
    for name, place in (("pull", f"{module}:Pull"), ("pull too", f"{module}_too.py:Pull")):
        anchor, pull = parse_recipe(f"anchor + 0.5*{place}")
        assert (pull.objective.name, pull.weight, anchor.weight) == (name, 0.5, 1.0)
    (pull,) = parse_recipe({f"{module}:Pull": {"strength": 2.0}})
    assert pull.strength == 2.0
    for wrong, complaint in (
        ({f"{module}:Pull": {"strenght": 1}}, "pull has no setting 'strenght'; did you mean 'strength'"),
        ({f"{module}:Pull": {"strength": 0}}, "pull: strength must be above 0"),
        (f"{module}:Pul", "did you mean 'Pull'"),
        (f"{module}:dataclasses", "not an objective"),
        ("no_such_module:Pull", "no_such_module"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            parse_recipe(wrong)


def test_it_trains_and_its_record_finds_it_again(module, trainer, tmp_path):
    made = trainer(f"{module}.py:Pull", tmp_path / "run", steps=4, learning_rate=1e-3)
    made.run()
    losses = [json.loads(line)["terms"]["pull"] for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert losses[-1] < losses[0]
    content = {"encoder": "x", "output": "y", "parallel": {"de": "z"}, "objectives": f"{module}.py:Pull"}
    record = json.loads(json.dumps(recipe_of(content, "recipe").record()))
    assert list(record["objectives"]) == [f"{tmp_path / module}.py:Pull"]
    assert recipe_of(record, "record").record() == record


def test_an_entry_point_brings_an_objective(module, registry, monkeypatch):
    point = importlib.metadata.EntryPoint("pull", f"{module}:Pull", "isoglot.objectives")
    monkeypatch.setattr("isoglot.plugins.entry_points", lambda group: [point] if group == point.group else [])
    assert "pull" in objectives()
    (pull,) = parse_recipe("2*pull")
    assert pull.weight == 2
