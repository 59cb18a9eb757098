"""A run that was killed for good resumes to the very weights of one that was not."""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal

import pytest
from tests.finetuning.forked import finish, start

from isoglot.pipelines import fine_tune, prepare, resume_recipe

pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")

STEPS, EVERY = 14, 4
#: Between two checkpoints, with two of them there.
BLOW = """
import os, signal
from isoglot.cli import main
from isoglot.finetuning import trainer
log_step = trainer.log_step
def look(folder, record):
    log_step(folder, record)
    if record.step == 11:
        os.kill(os.getpid(), signal.SIGKILL)
trainer.log_step = look
main()
"""


@pytest.fixture(scope="module")
def texts(text_files, tmp_path_factory):
    """Of our own, as a test changes them."""
    return shutil.copytree(text_files, tmp_path_factory.mktemp("resume") / "texts")


@pytest.fixture(scope="module")
def arguments(texts, tiny_folder):
    """Of `isoglot encoder finetune` but for the output."""
    settings = {"batch": 4, "accumulation": 1, "steps": STEPS, "learning_rate": 1e-3, "segmenter": "spaces"}
    settings |= {"evaluate_every": 6, "checkpoint_every": EVERY}
    return [
        *("--encoder", str(tiny_folder), "--objectives", "word_ot + anchor + 0.1*mlm", "--pivot", "south"),
        *("--parallel", f"north={texts / 'north.txt'},{texts / 'south.txt'}", "--device", "cpu"),
        *(part for key, value in settings.items() for part in ("--set", f"{key}={value}")),
    ]


def losses(folder):
    return [json.loads(line)["loss"] for line in (folder / "training" / "log.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def killed(arguments, tmp_path_factory, killed_name):
    """The output of a run that was killed between two checkpoints."""
    folder = tmp_path_factory.mktemp("killed") / "out"
    errors = folder.parent / "stderr.txt"
    process = start(BLOW, ["encoder", "finetune", *arguments, "--output", folder], errors)
    assert finish(process) == [-signal.SIGKILL], errors.read_text()
    assert len(losses(folder)) == 11
    # As if the blow had fallen while a checkpoint and a line of the log were written.
    half = folder / "training" / "checkpoints" / killed_name("step-00000099")
    half.mkdir()
    (half / "tensors.safetensors").write_bytes(b"half")
    with (folder / "training" / "log.jsonl").open("a") as log:
        log.write('{"step": 99, "terms": {}')
    return folder


@pytest.fixture(scope="module")
def whole(killed, one_thread, tmp_path_factory):
    """The output of the same run, not killed."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    fine_tune(prepare(dataclasses.replace(resume_recipe(killed), output=folder), device="cpu"))
    assert len(losses(folder)) == STEPS
    return folder


def checkpoints(folder):
    return sorted(path.name for path in (folder / "training" / "checkpoints").iterdir())


def test_a_killed_run_comes_to_the_same_bits(killed, whole, command, one_thread, tmp_path, monkeypatch):
    assert not (killed / "model.safetensors").exists()
    moved = shutil.copytree(killed, tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    code, _, errors = command("encoder", "resume", moved, "--device", "cpu")
    assert code == 0, errors
    assert f"note: resuming after step {2 * EVERY} of {STEPS}\n" in errors
    assert losses(moved) == losses(whole)
    assert (moved / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert checkpoints(moved) == ["step-00000012", f"step-{STEPS:08d}"]


def test_the_checkpoint_before_serves_if_the_newest_is_damaged(killed, whole, command, one_thread, tmp_path):
    folder = shutil.copytree(killed, tmp_path / "damaged")
    *_, before, newest = (name for name in checkpoints(folder) if name.startswith("step"))
    place = folder / "training" / "checkpoints" / newest
    (place / "tensors.safetensors").write_bytes((place / "tensors.safetensors").read_bytes()[:5000])
    code, output, errors = command("encoder", "resume", folder, "--device", "cpu")
    last = errors.splitlines()[-1]
    assert (code, output) == (2, "")
    assert last.startswith(f"isoglot: {place / 'tensors.safetensors'}: has changed since it was written")
    assert last.endswith(f"; remove {place} to resume from the previous checkpoint")
    shutil.rmtree(place)
    code, _, errors = command("encoder", "resume", folder, "--device", "cpu")
    assert code == 0, errors
    assert f"note: resuming after step {int(before.removeprefix('step-'))} of {STEPS}\n" in errors
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_another_text_or_setting_is_refused(killed, arguments, command, texts, tmp_path):
    folder = shutil.copytree(killed, tmp_path / "other")
    before = (folder / "training" / "recipe.json").read_bytes()
    other = ["batch=5" if one == "batch=4" else one for one in arguments]
    code, output, errors = command("encoder", "finetune", *other, "--output", folder, "--seed", 1)
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1] == (
        f"isoglot: {folder / 'training'}: this folder holds a run with another batch (4, now 5) and another seed "
        "(0, now 1); choose another output folder, or use what the run started with"
    )
    assert (folder / "training" / "recipe.json").read_bytes() == before
    text = (texts / "north.txt").read_bytes()
    (texts / "north.txt").write_bytes(b"another " + text)
    try:
        code, output, errors = command("encoder", "resume", folder)
    finally:
        (texts / "north.txt").write_bytes(text)
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1].startswith(
        f"isoglot: {folder / 'training'}: this folder holds a run with another text (north-south); "
    )


def test_a_folder_without_a_run(command, tmp_path):
    expected = "holds no training run; name the output folder of a run\n"
    for folder in (tmp_path, tmp_path / "nothing"):
        assert command("encoder", "resume", folder) == (2, "", f"isoglot: {folder}: {expected}")
