"""`isoglot.finetune`: three lines from parallel text to a better encoder."""

from __future__ import annotations

import pytest

import isoglot as ig
from isoglot.errors import ConfigError


def test_three_lines(tiny_folder, text_files, tmp_path):
    parallel = {"north": (text_files / "north.txt", text_files / "south.txt")}
    settings = {"steps": 4, "batch": 8, "segmenter": "spaces", "learning_rate": 1e-3}
    cost = ig.finetune(tiny_folder, parallel, tmp_path / "out", target="south", dry_run=True, **settings)
    assert cost.steps == 4
    assert not (tmp_path / "out").exists()
    tuned = ig.finetune(tiny_folder, parallel, tmp_path / "out", target="south", **settings)
    assert tuned.encoder.sentences("one two").shape == (1, tuned.encoder.dim)
    assert set(tuned.after) == set(tuned.before)
    assert "retrieval" in repr(tuned)
    assert len(repr(tuned)) < 300
    assert "<table>" in tuned._repr_html_()
    assert type(ig.load(tmp_path / "out")) is ig.Encoder


def test_what_cannot_be_is_said_before_anything_is_loaded(tiny_folder, text_files, tmp_path):
    parallel = {"north": text_files / "both.tsv"}
    with pytest.raises(ConfigError, match="did you mean 'wordot'"):
        ig.finetune(tiny_folder, parallel, tmp_path / "out", preset="wordott", target="south")
    with pytest.raises(ConfigError, match="did you mean 'steps'"):
        ig.finetune(tiny_folder, parallel, tmp_path / "out", target="south", step=4)
    with pytest.raises(ConfigError, match="either a preset or objectives"):
        ig.finetune(tiny_folder, parallel, tmp_path / "out", preset="best", objectives="l2", target="south")
