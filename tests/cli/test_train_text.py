"""`isoglot encoder finetune` without parallel text: a new encoder from plain text, and static vectors to approach."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isoglot.spaces import Space

pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")

SMALL = ("--set", "steps=12", "blocks=8", "block_length=32", "words=64", "evaluate_every=6", "--device", "cpu")
FRESH = ("--set", "new.vocabulary=200", "new.layers=1", "new.width=32", "new.heads=2")


@pytest.fixture
def here(text_files, parallel, tmp_path, monkeypatch):
    """A working folder with north.txt, south.txt, and vectors of eight dimensions for both."""
    for path in text_files.iterdir():
        (tmp_path / path.name).symlink_to(path)
    rng = np.random.default_rng(0)
    (tmp_path / "vectors").mkdir()
    for lang, side in (("north", parallel.src), ("south", parallel.tgt)):
        words = sorted({word for sentence in side for word in sentence})
        Space(lang, words, rng.normal(size=(len(words), 8))).save(tmp_path / "vectors" / f"{lang}.safetensors")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


def test_an_encoder_out_of_plain_text(command, here):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    arguments = (
        "encoder",
        "finetune",
        "--preset",
        "mini-mlm",
        "--text",
        "north=north.txt",
        "south=south.txt",
        *FRESH,
        *SMALL,
    )
    code, output, errors = command(*arguments, "-o", "dry", "--dry-run")
    assert code == 0, errors
    assert " weights are trained, 12 steps over " in output
    assert not (here / "dry").exists()
    code, output, errors = command(*arguments, "-o", "mini", "--json")
    assert code == 0, errors
    found = json.loads(output)
    assert found["after"]["mlm"] < found["before"]["mlm"]
    assert "text north: 475 lines to learn from, 25 held out" in errors
    model = AutoModelForMaskedLM.from_pretrained(here / "mini")
    assert (model.config.num_hidden_layers, model.config.hidden_size) == (1, 32)
    assert AutoTokenizer.from_pretrained(here / "mini").mask_token == "[MASK]"
    # It is there to be had again, from the encoder that was made for it.
    begun = (here / "mini" / "training" / "start" / "model.safetensors").read_bytes()
    code, again, errors = command("encoder", "resume", "mini", "--json", "--device", "cpu")
    assert code == 0, errors
    assert json.loads(again)["after"] == found["after"]
    assert (here / "mini" / "training" / "start" / "model.safetensors").read_bytes() == begun


def test_static_vectors_by_option_and_by_recipe(command, here, tiny_folder):
    texts = ("--text", "north=north.txt", "south=south.txt")
    static = ("--static", "north=vectors/north.safetensors", "south=vectors")
    code, output, errors = command(
        *(
            "encoder",
            "finetune",
            "--preset",
            "static-dcca",
            "-e",
            tiny_folder,
            *texts,
            *static,
            *SMALL,
            "-o",
            "one",
            "--json",
        )
    )
    assert code == 0, errors
    assert "static south: " in errors
    assert " words, 8 dimensions" in errors
    (here / "recipe.toml").write_text(
        f'preset = "static-dcca"\nencoder = "{tiny_folder}"\noutput = "two"\n'
        'text = { north = "north.txt", south = "south.txt" }\n'
        'static = { north = "vectors", south = "vectors/south.safetensors" }\n'
        "[training]\nsteps = 12\nblocks = 8\nblock_length = 32\nwords = 64\nevaluate_every = 6\n"
    )
    code, other, errors = command("encoder", "finetune", "recipe.toml", "--json", "--device", "cpu")
    assert code == 0, errors
    assert json.loads(other)["after"] == pytest.approx(json.loads(output)["after"], rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "mini-mlm"], "the command: no text given; set --parallel or --text"),
        (["--preset", "mini-mlm", "--text", "north.txt"], "--text: must be LANGUAGE=FILE, not 'north.txt'"),
        (["--preset", "mini-mlm", "--text", "a=north.txt", "a=south.txt"], "--text: a is given twice; "),
        (["--preset", "mini-mlm", "--text", "a=missing.txt"], "missing.txt: "),
        (
            ["--preset", "mini-mlm", "--text", "a=north.txt", "--set", "new.layer=2"],
            "the command: fresh has no setting 'layer'; did you mean 'layers'?",
        ),
        (
            ["--preset", "mini-mlm", "--text", "a=north.txt", "--set", "new.width=9", "new.heads=2"],
            "heads: 2 heads cannot",
        ),
        (["--preset", "mlm", "--text", "a=north.txt"], "the command: no encoder given; set --encoder"),
        (
            ["--preset", "mlm", "-e", "TINY", "--static", "a=vectors/north.safetensors"],
            "static: no objective uses static ",
        ),
        (
            ["--preset", "static-mse", "-e", "TINY", "--text", "a=north.txt", "--static", "north=vectors"],
            "static_mse: vectors of 8 dimensions, but the encoder has ",
        ),
        (
            ["--preset", "mlm", "-e", "TINY", "--set", "new.layers=2", "--text", "a=north.txt"],
            "the command: a run starts",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(command, here, tiny_folder, arguments, message):
    given = [tiny_folder if one == "TINY" else one for one in arguments]
    code, output, errors = command("encoder", "finetune", *given, "-o", "out", "--device", "cpu")
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1].startswith(f"isoglot: {message}"), errors
    assert "Traceback" not in errors
    assert not (here / "out").exists()
