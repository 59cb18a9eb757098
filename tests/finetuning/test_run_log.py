"""What a run writes down, and the batch that is kept when a loss is no number or far too large."""

from __future__ import annotations

import json

import pytest

from isoglot.errors import InputError
from isoglot.finetuning import StepRecord
from isoglot.finetuning.run_log import begin_run, check_same_run, cut_log, log_step

torch = pytest.importorskip("torch")

IDENTITY = {
    "encoder": "c082",
    "texts": {"north-south": ["39f1", 450, 50], "east-south": ["77aa", 20, 2]},
    "objectives": {"anchor": {"weight": 1.0}},
    "training": {"batch": 8, "freeze": "", "seed": 0},
}


def record(step, **changes):
    values = {"loss": 0.1 + 0.2, "terms": {"a": 1.0}, "pairs": {"x-y": 1.0}, "rate": 1e-3, "gradient": 1.0}
    return StepRecord(step, 9, **{**values, "tokens": 5, "seconds": 0.1, **changes})


def steps(folder):
    return [json.loads(line)["step"] for line in (folder / "log.jsonl").read_text().splitlines()]


def test_the_log_has_a_line_for_each_step(tmp_path):
    log_step(tmp_path, record(1))
    log_step(tmp_path, record(2, evaluation={"semantic": 0.5}))
    first, second = (json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines())
    assert "evaluation" not in first
    assert first["loss"] == 0.1 + 0.2
    assert second["evaluation"] == {"semantic": 0.5}


# Cut after an inner brace, within a word, within a letter of two bytes.
@pytest.mark.parametrize("half", [b'{"step": 4, "terms": {"a": 1.0}', b'{"st', b'{"step": 4, "\xc3', b""])
def test_what_came_after_a_checkpoint_leaves_the_log(tmp_path, half):
    cut_log(tmp_path, 3)
    assert not (tmp_path / "log.jsonl").exists()
    for step in (1, 2, 3):
        log_step(tmp_path, record(step))
    with (tmp_path / "log.jsonl").open("ab") as stream:
        stream.write(half)
    cut_log(tmp_path, 2)
    assert steps(tmp_path) == [1, 2]
    log_step(tmp_path, record(3))
    assert steps(tmp_path) == [1, 2, 3]


def test_a_log_that_cannot_be_written(tmp_path):
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(InputError, match=r"log.jsonl: cannot be written: Is a directory"):
        log_step(tmp_path, record(1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": "ffff"}, "another encoder;"),
        ({"texts": {**IDENTITY["texts"], "east-south": ["0000", 20, 2]}}, r"another text \(east-south\);"),
        ({"objectives": {"anchor": {"weight": 2.0}, "mlm": {}}}, r"another objective \(anchor, mlm\);"),
        (
            {"training": {"batch": 16, "freeze": "", "seed": 1}},
            r"another batch \(8, now 16\) and another seed \(0, now 1\);",
        ),
    ],
)
def test_a_run_goes_on_with_what_it_began_with(tmp_path, changes, message):
    check_same_run(tmp_path / "run", IDENTITY)
    begin_run(tmp_path / "run", IDENTITY)
    check_same_run(tmp_path / "run", IDENTITY)
    with pytest.raises(InputError, match=f"run: this folder holds a run with {message} choose another output folder"):
        check_same_run(tmp_path / "run", {**IDENTITY, **changes})


def last_norm(made):
    return made.network.encoder.encoder.layer[-1].output.LayerNorm.weight


@pytest.mark.parametrize(
    ("recipe", "what"),
    [
        ("sentence_contrastive + anchor", "the loss is nan"),
        # Transports do not even begin.
        ("word_ot + anchor", "vectors of sentence pair 0 of the batch are not finite, or too large"),
    ],
)
def test_a_loss_that_is_no_number_keeps_its_batch(trainer, tmp_path, recipe, what):
    made = trainer(recipe, tmp_path)
    with torch.no_grad():
        last_norm(made)[0] = float("nan")
    with pytest.raises(InputError) as caught:
        made.run()
    assert str(caught.value) == (
        f"{tmp_path}: {what} in step 1 (north-south); its sentences are saved in {tmp_path}/stopped.json; "
        "inspect them, or start again with a lower `learning_rate`"
    )
    kept = json.loads((tmp_path / "stopped.json").read_text("utf-8"))
    assert (kept["step"], kept["what"]) == (1, what)
    expected = made.sampler.draw(0)[0]
    assert kept["batches"] == [{"pair": "north-south", **expected.texts}]
    assert len(expected.texts["src"]) == 8


def test_a_loss_that_explodes_keeps_its_batch(trainer, tmp_path):
    def spoil(record):
        if record.step == 12:
            with torch.no_grad():
                last_norm(made).mul_(1000)

    made = trainer("word_ot", tmp_path, steps=20, watch=spoil)
    with pytest.raises(InputError, match=r"the loss is [\d.,e+]+, usually about [\d.]+ in step 13 \(north-south\)"):
        made.run()
    kept = json.loads((tmp_path / "stopped.json").read_text("utf-8"))
    assert kept["step"] == 13
    assert len(kept["batches"][0]["src"]) == 8
    # It was looked at before the weights were moved by it.
    assert steps(tmp_path) == list(range(1, 13))


def test_a_gradient_that_is_no_number_keeps_all_batches(trainer, tmp_path):
    made = trainer("word_ot", tmp_path, accumulation=2)
    last_norm(made).register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(InputError, match=r"the gradient is (inf|nan) in step 1 \(north-south\)"):
        made.run()
    assert len(json.loads((tmp_path / "stopped.json").read_text("utf-8"))["batches"]) == 2
