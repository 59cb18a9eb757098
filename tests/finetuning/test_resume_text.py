"""A run over text and static vectors, from nothing, that is killed for good again and again comes to the same bits."""

from __future__ import annotations

import json
import signal
import textwrap

import numpy as np
import pytest
from tests.finetuning.forked import finish, start

from isoglot.spaces import Space

pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")

STEPS = 8
#: Where the blows fall, in this order: before a run has begun, before it has a state, and in a batch of words.
BLOWS = {
    "half an encoder": """
        import transformers
        transformers.PreTrainedTokenizerFast.save_pretrained = die
    """,
    "first checkpoint": """
        from isoglot.finetuning import trainer
        trainer.save_checkpoint = die
    """,
    "words": """
        from isoglot.finetuning.network import Network
        forward, seen = Network.forward, []
        def look(self, data, generator):
            seen.append(type(data).__name__)
            return die() if seen.count("WordBatch") == 4 else forward(self, data, generator)
        Network.forward = look
    """,
}
DIE = """
import os, signal
def die(*args, **options):
    os.kill(os.getpid(), signal.SIGKILL)
"""
RUN = """
from isoglot.cli import main
main()
"""


@pytest.fixture(scope="module")
def arguments(text_files, parallel, tmp_path_factory):
    """Of `isoglot encoder finetune` but for the output: a new encoder, text of two languages, and small vectors."""
    folder = tmp_path_factory.mktemp("vectors")
    rng = np.random.default_rng(0)
    for lang, side in (("north", parallel.src), ("south", parallel.tgt)):
        words = sorted({word for sentence in side for word in sentence})
        Space(lang, words, rng.normal(size=(len(words), 8))).save(folder / f"{lang}.safetensors")
    texts = [f"{lang}={text_files / lang}.txt" for lang in ("north", "south")]
    return [
        *("encoder", "finetune", "--objectives", "mlm + static_dcca", "--text", *texts, "--device", "cpu"),
        *("--static", f"north={folder}", f"south={folder}"),
        *("--set", "new.vocabulary=200", "new.layers=1", "new.width=32", "new.heads=2"),
        *("--set", f"steps={STEPS}", "blocks=9", "block_length=32", "words=65", "evaluate_every=3"),
        *("checkpoint_every=2", "learning_rate=0.002", "--seed", "3", "-o"),
    ]


@pytest.fixture(scope="module")
def killed(arguments, tmp_path_factory):
    """The output of a run that died of every blow, and the names in its folder after each."""
    folder = tmp_path_factory.mktemp("killed") / "out"
    held = {}
    for name, blow in BLOWS.items():
        errors = tmp_path_factory.mktemp("errors") / "stderr.txt"
        process = start(f"{DIE}{textwrap.dedent(blow)}{RUN}", [*arguments, folder], errors)
        assert finish(process) == [-signal.SIGKILL], (name, errors.read_text())
        held[name] = {path.name for path in folder.glob("training/*")}
    return folder, held


def log(folder):
    return [json.loads(line)["loss"] for line in (folder / "training" / "log.jsonl").read_text().splitlines()]


def test_a_new_encoder_that_was_killed_everywhere_comes_to_the_same_bits(
    killed, arguments, command, one_thread, tmp_path
):
    folder, held = killed
    assert not held["half an encoder"] & {"start", "recipe.json"}
    assert "recipe.json" in held["first checkpoint"]
    assert "checkpoints" not in held["first checkpoint"]
    assert not (folder / "model.safetensors").exists()
    code, _, errors = command("encoder", "resume", folder, "--device", "cpu")
    assert code == 0, errors
    assert f"note: resuming after step 2 of {STEPS}\n" in errors
    code, _, errors = command(*arguments, tmp_path / "whole")
    assert code == 0, errors
    assert len(log(folder)) == STEPS
    assert log(folder) == log(tmp_path / "whole")
    for name in ("model.safetensors", "tokenizer.json", "training/start/model.safetensors"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    # Nothing is left of what the killed ones were writing.
    assert not [path.name for path in folder.rglob(".*")]
