"""Heads that a run trained can be opened later, answer the same, and are not trained again."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
from safetensors.numpy import load_file

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.transfer import HeadSettings, load_head, run_transfer
from isoglot.transfer.frozen import FrozenHead

FEW = HeadSettings(hidden=8, epochs=1, batch=32)
KINDS = {
    "pairs": ("nli", FEW),
    "words": ("pos", FEW),
    "bilstm-crf": ("ner", FEW),
    "spans": ("qa", FEW),
    "lora": ("pos", dataclasses.replace(FEW, weights="lora")),
    "pairs, lora": ("nli", dataclasses.replace(FEW, weights="lora")),
    "all": ("qa", dataclasses.replace(FEW, weights="all")),
}


def run(task, encoders, planted, settings, output, **rest):
    train, dev = (planted(task, "north", part)[:60] for part in ("train", "dev"))
    tests = rest.pop("tests", {lang: planted(task, lang, "test")[:40] for lang in ("north", "south")})
    return run_transfer(
        task, encoders, train, dev, tests, source="north", settings=settings, output=output, bootstrap=0, **rest
    )


@pytest.mark.parametrize("name", KINDS)
def test_a_saved_head_answers_as_it_did(name, tiny_folder, southern_folder, planted, tmp_path):
    task, settings = KINDS[name]
    own = tiny_folder if settings.weights == "all" else {"north": tiny_folder, "south": southern_folder}
    table = run(task, {"own": own}, planted, settings, tmp_path)
    head = load_head(tmp_path / "heads" / "own.0")
    assert (head.task, head.language, head.settings) == (task, "north", settings)
    assert head.fitting.epochs == 1
    for done in table.runs:
        predictions = head.predict(table.tests[done.language], done.language).values
        assert predictions == list(done.predictions), done.language


def test_a_saved_head_takes_plain_texts(tiny_folder, planted, tmp_path):
    for task, items in (("pos", [["pold", "fard"], []]), ("nli", [("pold", "fard")]), ("qa", [("pold?", "fard pold")])):
        run(task, {"raw": tiny_folder}, planted, FEW, tmp_path / task)
        head = load_head(tmp_path / task / "heads" / "raw.0")
        (first, *_) = head.predict(items).values
        assert len(first) == 2 if task == "pos" else first in (*head.labels, "fard", "pold", "fard pold")
        assert head.predict([]).values == []
        with pytest.raises(InputError, match="items: item 1 is one string"):
            head.predict(["pold fard"])


def test_a_head_is_not_trained_again_for_another_language(tiny_folder, planted, tmp_path, monkeypatch):
    tests = {"north": planted("pos", "north", "test")[:40]}
    run("pos", {"raw": tiny_folder}, planted, FEW, tmp_path, tests=tests, runs=2)
    saved = sorted((tmp_path / "heads").rglob("*.safetensors"))
    assert [path.parent.name for path in saved] == ["raw.0", "raw.1"]
    # No pickle: plain tensors.
    assert all(load_file(path) for path in saved)
    with monkeypatch.context() as patch:
        patch.setattr(FrozenHead, "fit", None)
        both = run("pos", {"raw": tiny_folder}, planted, FEW, tmp_path, runs=2)
    whole = run("pos", {"raw": tiny_folder}, planted, FEW, None, runs=2)
    assert [one.predictions for one in both.runs] == [one.predictions for one in whole.runs]


def test_a_head_knows_the_encoders_of_languages_that_came_later(tiny_folder, southern_folder, planted, tmp_path):
    tests = {"north": planted("pos", "north", "test")[:40]}
    run("pos", {"own": {"north": tiny_folder}}, planted, FEW, tmp_path, tests=tests)
    place = tmp_path / "heads" / "own.0"
    with pytest.raises(ConfigError, match="has no encoder for south"):
        load_head(place).predict([["pold"]], "south")
    before = (place / "head.safetensors").read_bytes()
    run("pos", {"own": {"north": tiny_folder, "south": southern_folder}}, planted, FEW, tmp_path)
    assert (place / "head.safetensors").read_bytes() == before
    assert load_head(place).predict([["pold"]], "south").values


def test_a_damaged_head_is_trained_again(tiny_folder, planted, tmp_path):
    tests = {"north": planted("pos", "north", "test")[:40]}
    run("pos", {"raw": tiny_folder}, planted, FEW, tmp_path, tests=tests)
    file = tmp_path / "heads" / "raw.0" / "head.safetensors"
    before = file.read_bytes()
    file.write_bytes(before[:-4])
    with pytest.raises(FormatError, match="has changed since it was written"):
        load_head(file.parent)
    run("pos", {"raw": tiny_folder}, planted, FEW, tmp_path)
    assert file.read_bytes() == before


def test_what_cannot_be_opened_is_one_line(tiny, tiny_folder, southern_folder, planted, tmp_path):
    shutil.copytree(tiny_folder, tmp_path / "encoder")
    run("pos", {"raw": tmp_path / "encoder", "memory": tiny}, planted, FEW, tmp_path)
    heads = tmp_path / "heads"
    with pytest.raises(ConfigError, match=r"memory.0: its encoder was never saved; give the one .* as `encoder`"):
        load_head(heads / "memory.0")
    head = load_head(heads / "memory.0", Encoder(tiny_folder))
    assert head.predict([["pold"]]).values
    with pytest.raises(ConfigError, match=r"raw.0: its encoder has changed"):
        load_head(heads / "raw.0", southern_folder)
    shutil.rmtree(tmp_path / "encoder")
    with pytest.raises(InputError, match=r"raw.0: its encoder is not at .*encoder any more; give the one"):
        load_head(heads / "raw.0")
    with pytest.raises(InputError, match="not a trained head"):
        load_head(tiny_folder)
    config = heads / "raw.0" / "config.json"
    content = json.loads(config.read_text("utf-8"))
    config.write_text(json.dumps({**content, "settings": {"weights": "some"}}), "utf-8")
    with pytest.raises(FormatError, match="its settings cannot be read: "):
        load_head(heads / "raw.0")
