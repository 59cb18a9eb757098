"""Methods from outside: a user's file, a module, an entry point; and what they leave on disk."""

from __future__ import annotations

import importlib.metadata
import json
import sys

import numpy as np
import pytest

from isoglot import plugins
from isoglot.aligners import Aligner, Alignment, aligner, find_method, methods, read_settings
from isoglot.aligners.base import METHODS
from isoglot.cli import main
from isoglot.errors import ConfigError
from isoglot.testing import check_aligner, planted_rotation

CODE = '''
"""A method of a user's own, with a kind of alignment of its own."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from isoglot.aligners import Aligner, Alignment, method
from isoglot.errors import ShapeError


@dataclasses.dataclass(frozen=True, eq=False)
class Shifted(Alignment):
    shift: np.ndarray | None = None

    kind: ClassVar[str] = "NAME"

    def _map(self, X, side):
        if X.shape[1] != len(self.shift):
            raise ShapeError(f"vectors have {X.shape[1]} dimensions, not {len(self.shift)}")
        return X + self.shift if side == "src" else X

    def _check_maps(self):
        if self.shift.ndim != 1:
            raise ShapeError("no vector")

    def _tensors(self):
        return {"shift": self.shift}

    @classmethod
    def _from_tensors(cls, tensors, **common):
        return cls(**common, shift=tensors["shift"])


@method("NAME", "shift onto the mean", supervision="unsupervised", linear=False, cost="O(n d)", paper="-")
@dataclasses.dataclass(frozen=True)
class MeanShift(Aligner):
    """Move the source so that both means agree."""

    share: float = 1.0

    def _fit(self, problem):
        return Shifted.learned(shift=self.share * (problem.Y.mean(axis=0) - problem.X.mean(axis=0)))


class NoRow(Aligner):
    def _fit(self, problem):
        raise NotImplementedError


class Inherited(MeanShift):
    pass
'''


@pytest.fixture
def clean(monkeypatch):
    """Leaves the tables as they were, for the other tests go over all methods."""
    methods()
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    monkeypatch.setattr(METHODS, "_complete", True)
    monkeypatch.setattr(Alignment, "_kinds", dict(Alignment._kinds))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("_file_", "outside_")):
            del sys.modules[name]


@pytest.fixture
def module(clean, tmp_path, monkeypatch):
    """The file outside_shift.py in a folder on the path."""
    (tmp_path / "outside_shift.py").write_text(CODE.replace("NAME", "outside-shift"), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "outside_shift.py"


@pytest.mark.parametrize("name", ["outside_shift:MeanShift", "{folder}/outside_shift.py:MeanShift"])
def test_a_method_of_a_users_own_is_a_first_class_one(module, name):
    name = name.format(folder=module.parent)
    one = aligner(name, share=0.5)
    assert isinstance(one, Aligner)
    assert (one.method.name, one.share) == ("outside-shift", 0.5)
    assert read_settings(name, ["share=0.25"]) == {"share": 0.25}
    assert find_method("outside-shift") is type(one) is methods()["outside-shift"]
    check_aligner(one)
    with pytest.raises(ConfigError, match="did you mean 'share'"):
        aligner(name, shar=1.0)


def test_the_command_line_takes_it_too(module, capsys, monkeypatch):
    src, tgt, _ = planted_rotation()
    for name, space in (("a.vec", src), ("b.vec", tgt)):
        space.save(module.parent / name)
    files = [str(module.parent / name) for name in ("a.vec", "b.vec", "out")]
    command = ["isoglot", "align", *files[:2], "-m", f"{module}:MeanShift", "--set", "share=0.5", "-o", files[2]]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code, capsys.readouterr().err
    (config,) = (module.parent / "out").rglob("config.json")
    assert json.loads(config.read_text("utf-8"))["config"]["share"] == 0.5


def test_what_is_no_method_is_refused(module):
    for name in ("NoRow", "Inherited", "np"):
        with pytest.raises(ConfigError, match=r"is not a method; derive .* @isoglot\.aligners\.method"):
            aligner(f"outside_shift:{name}")
    with pytest.raises(ConfigError, match="did you mean 'MeanShift'"):
        aligner("outside_shift:MeanShft")
    with pytest.raises(ConfigError, match="No module named"):
        aligner("outside_nowhere:MeanShift")
    with pytest.raises(ConfigError, match="no such file"):
        aligner("nowhere.py:MeanShift")
    module.with_name("outside_broken.py").write_text("1 / 0", "utf-8")
    with pytest.raises(ConfigError, match="ZeroDivisionError"):
        aligner("outside_broken:MeanShift")


def test_a_name_and_a_kind_belong_to_the_first_who_takes_them(module):
    aligner("outside_shift:MeanShift")
    for name, message in (("procrustes", "two methods are called"), ("linear", "two kinds of alignment are")):
        other = module.with_name("outside_thief.py")
        other.write_text(CODE.replace("NAME", name), "utf-8")
        with pytest.raises(ConfigError, match=message):
            aligner("outside_thief:MeanShift")


def test_entry_points_are_in_the_table(module, monkeypatch):
    points = [
        importlib.metadata.EntryPoint("outside-shift", "outside_shift:MeanShift", "isoglot.aligners"),
        importlib.metadata.EntryPoint("no-row", "outside_shift:NoRow", "isoglot.aligners"),
        importlib.metadata.EntryPoint("gone", "outside_gone:Gone", "isoglot.aligners"),
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == "isoglot.aligners" else [])
    monkeypatch.setattr(METHODS, "_complete", False)
    with pytest.warns(UserWarning, match="is skipped") as warned:
        assert aligner("outside-shift").method.name == "outside-shift"
    assert sorted(str(one.message).split("'")[1] for one in warned) == ["gone", "no-row"]
    assert not {"no-row", "gone"} & set(methods())


def test_a_kind_from_outside_is_loaded_only_where_the_user_has_it(module, tmp_path, monkeypatch):
    src, tgt, _ = planted_rotation()
    alignment = aligner("outside_shift:MeanShift").fit(src, tgt)
    alignment.save(tmp_path / "saved")
    np.testing.assert_array_equal(
        Alignment.load(tmp_path / "saved").transform(src.vectors), alignment.transform(src.vectors)
    )
    # As in another process, where nobody has imported the module.
    del sys.modules["outside_shift"]
    Alignment._kinds.pop("outside-shift")
    METHODS._things.pop("outside-shift")
    with pytest.raises(ConfigError, match=r"no part of Isoglot \(Shifted of outside_shift\); import it before"):
        Alignment.load(tmp_path / "saved")
    assert "outside_shift" not in sys.modules
    point = importlib.metadata.EntryPoint("outside-shift", "outside_shift:MeanShift", "isoglot.aligners")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    monkeypatch.setattr(METHODS, "_complete", False)
    np.testing.assert_array_equal(
        Alignment.load(tmp_path / "saved").transform(src.vectors), alignment.transform(src.vectors)
    )


def test_reprs_are_short():
    src, tgt, pairs = planted_rotation()
    one = aligner("procrustes", seed=3)
    assert repr(one) == "aligner('procrustes', seed=3)"
    assert repr(one.fit(src, tgt, pairs)) == "<LinearAlignment by procrustes: aa (8 dimensions) to bb (8 dimensions)>"
