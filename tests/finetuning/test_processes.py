"""Two processes that share every batch come to the losses and the weights of one."""

from __future__ import annotations

import dataclasses
import json
import socket

import numpy as np
import pytest
from tests.finetuning.forked import finish, start

from isoglot.encoders import Encoder
from isoglot.finetuning import Trainer, open_corpus, open_text, parse_recipe
from isoglot.spaces import Space

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")

PROCESSES, STEPS = 2, 4
#: Recipes and settings; one line is fewer than there are processes.
RUNS = {
    "two texts": ("word_ot + anchor", {"accumulation": 2, "batch": 4}, ("north", "east")),
    "mixture": ("word_ot + sentence_contrastive + mlm + tlm", {}, ("north",)),
    "odd": ("word_ot + anchor + 0.1*mlm", {"batch": 7}, ("north", "east")),
    "one line": ("l2 + sentence_contrastive + mlm", {}, ("east", "line")),
    "too long": ("tlm", {}, ("long",)),
    "adapters": ("word_ot + anchor", {"lora": 2, "freeze": "embeddings"}, ("north",)),
}
#: The same without parallel text, with dimensions of static vectors (0: the encoder's). Blocks and words are odd in
#: number, and a batch of text may have fewer blocks than there are processes.
TEXT = {"blocks": 5, "block_length": 16, "words": 13}
PLAIN_RUNS = {
    "text and dcca": ("mlm + static_dcca", {**TEXT, "evaluate_every": 2}, 7),
    "text and mse": ("mlm + static_mse", {**TEXT, "blocks": 2, "accumulation": 2}, 0),
}
SCRIPT = """
import dataclasses, json, os, runpy, signal, sys
from pathlib import Path

import torch
from safetensors.torch import save_file

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError
from isoglot.finetuning import parse_recipe
from isoglot.finetuning.parallel_text import open_corpus
from isoglot.finetuning.run_log import Stopped
from isoglot.finetuning.trainer import Trainer
from isoglot.finetuning.monolingual_text import open_text
from isoglot.finetuning.settings import TrainingSettings
from isoglot.spaces import Space

task = json.loads(Path(sys.argv[1]).read_text())
rank, folder = int(os.environ["RANK"]), Path(task["folder"])
texts = {name: open_corpus(*sides, name, "south", held_out=0) for name, sides in task["texts"].items()}


def in_double(made):
    made.network.double()
    for one in made.network._start:
        one.double()


def train(name, recipe, changes, corpora, act=None, **options):
    made = Trainer(
        Encoder(task["encoder"], device="cpu"),
        [texts[one] for one in corpora],
        parse_recipe(recipe),
        TrainingSettings(**{**task["settings"], **changes}),
        folder / name,
        **options,
    )
    in_double(made)
    if act is not None:
        act(made)
    outcome = made.run()
    if rank == 0:
        save_file(made.encoder.model.network.state_dict(), folder / name / "end.safetensors")
        (folder / name / "outcome.json").write_text(json.dumps(outcome.record()))


for name, (recipe, changes, corpora) in task["runs"].items():
    train(name, recipe, changes, corpora)
for name, (recipe, changes, dim) in task["plain runs"].items():
    plain = [open_text(lines, lang, held_out=5) for lang, lines in task["plain"].items()]
    static = {lang: Space.load(folder / "static" / str(dim) / f"{lang}.safetensors") for lang in task["plain"]}
    train(name, recipe, changes, [], texts=plain, static=static)

try:
    train("small", "word_ot", {"batch": 1}, ["north"])
except ConfigError as error:
    (folder / f"small-{rank}.txt").write_text(str(error))


def interrupt_the_second(made):
    draw = made.sampler.draw

    def look(number):
        if number == 1 and rank == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return draw(number)

    made.sampler.draw = look


recipe, changes, corpora = task["runs"]["mixture"]
try:
    train("stopped", recipe, changes, corpora, act=interrupt_the_second)
except Stopped as stopped:
    (folder / f"stopped-{rank}.txt").write_text(str(stopped))
train("stopped", recipe, changes, corpora)

figures = iter([{"semantic": value} for value in (0.1, 0.5, 0.2, 0.3, 0.9)])


def judge(encoder):
    assert rank == 0
    return next(figures)


train("early", "word_ot", {"evaluate_every": 1, "patience": 2, "choose": "semantic"}, ["north"], evaluate=judge)

sys.argv = ["isoglot", "encoder", "finetune", str(folder / "recipe.toml")]
runpy.run_module("isoglot", run_name="__main__")
"""


@pytest.fixture(scope="module")
def texts(lines):
    """By language, both sides."""
    whole = [[" ".join(side[begin : begin + 14]) for begin in range(8)] for side in lines]
    parts = {"north": (0, 40), "east": (40, 60), "line": (60, 61)}
    return {name: [side[slice(*part)] for side in lines] for name, part in parts.items()} | {"long": whole}


@pytest.fixture(scope="module")
def plain(lines):
    """Lines by language."""
    return {"north": lines[0][:40], "south": lines[1][60:81]}


@pytest.fixture(scope="module")
def static(plain, tiny):
    """By dimensions, vectors of each language."""
    rng = np.random.default_rng(0)
    words = {lang: sorted({word for line in own for word in line.split()}) for lang, own in plain.items()}

    def make(dim):
        return {lang: Space(lang, own, rng.normal(size=(len(own), dim))) for lang, own in words.items()}

    return {0: make(tiny.model.width), 7: make(7)}


@pytest.fixture(scope="module")
def ran(short, texts, plain, static, tiny_folder, text_files, tmp_path_factory):
    """A folder with what two processes made of all runs."""
    folder = tmp_path_factory.mktemp("processes")
    for dim, spaces in static.items():
        for lang, space in spaces.items():
            space.save(folder / "static" / str(dim) / f"{lang}.safetensors")
    task = {
        "folder": str(folder),
        "encoder": str(tiny_folder),
        "texts": texts,
        "settings": {**dataclasses.asdict(short), "steps": STEPS},
        "runs": RUNS,
        "plain": plain,
        "plain runs": PLAIN_RUNS,
    }
    (folder / "task.json").write_text(json.dumps(task))
    (folder / "recipe.toml").write_text(
        f'preset = "wordot"\nencoder = "{tiny_folder}"\noutput = "{folder / "command"}"\ntarget = "south"\n'
        f'limit = 60\nheld_out = 20\n[parallel]\nnorth = "{text_files / "both.tsv"}"\n'
        '[training]\nsteps = 3\nbatch = 6\nsegmenter = "spaces"\n'
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # What torchrun tells the processes that it starts.
    shared = {"WORLD_SIZE": str(PROCESSES), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    places = [folder / f"stderr-{rank}.txt" for rank in range(PROCESSES)]
    processes = [
        start(SCRIPT, [folder / "task.json"], place, {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank, place in enumerate(places)
    ]
    ends = finish(*processes, seconds=900)
    errors = "".join(place.read_text() for place in places)
    assert ends == [0] * PROCESSES, errors
    (folder / "stderr.txt").write_text(errors)
    return folder


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def end(folder):
    from safetensors.torch import load_file

    return load_file(folder / "end.safetensors")


@pytest.mark.parametrize("name", RUNS)
def test_two_processes_do_what_one_does(ran, trainer, texts, tmp_path, name):
    recipe, changes, corpora = RUNS[name]
    made = trainer(
        recipe,
        tmp_path,
        corpora=[open_corpus(*texts[one], one, "south", held_out=0) for one in corpora],
        **{"steps": STEPS, **changes},
    )
    assert_alike(made, tmp_path, ran / name)


@pytest.mark.parametrize("name", PLAIN_RUNS)
def test_two_processes_share_text_and_words(ran, short, plain, static, tiny_folder, one_thread, tmp_path, name):
    recipe, changes, dim = PLAIN_RUNS[name]
    made = Trainer(
        Encoder(tiny_folder, device="cpu"),
        [],
        parse_recipe(recipe),
        dataclasses.replace(short, steps=STEPS, **changes),
        tmp_path,
        texts=[open_text(lines, lang, held_out=5) for lang, lines in plain.items()],
        static=static[dim],
    )
    drawn = made.sampler.draw(0)
    assert any(len(one.batch) % PROCESSES for one in drawn)
    assert_alike(made, tmp_path, ran / name)


def assert_alike(made, folder, theirs):
    """Train, and compare logs and weights with those of two processes."""
    # In double precision, as Adam makes much of the last bits of small gradients: what is left is a real difference.
    made.network.double()
    for one in made.network._start:
        one.double()
    made.run()
    one, two = log(folder), log(theirs)
    assert len(one) == len(two) == made.steps
    for first, second in zip(one, two, strict=True):
        assert first.keys() == second.keys()
        for key in first.keys() - {"seconds"}:
            assert second[key] == pytest.approx(first[key], rel=1e-9, abs=1e-9), (first["step"], key)
    found = end(theirs)
    expected = made.encoder.model.network.state_dict()
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=0, atol=1e-8)


def test_a_batch_that_is_too_small_to_be_shared(ran):
    for rank in range(PROCESSES):
        expected = "batch: a batch of 1 cannot be shared by 2 processes"
        assert (ran / f"small-{rank}.txt").read_text().startswith(expected)
    assert not (ran / "small").exists()


def test_all_stop_when_one_is_told_to_and_go_on(ran):
    for rank in range(PROCESSES):
        assert "stopped after step 2 of 4" in (ran / f"stopped-{rank}.txt").read_text()
    assert [one["loss"] for one in log(ran / "stopped")] == [one["loss"] for one in log(ran / "mixture")]
    whole, again = end(ran / "mixture"), end(ran / "stopped")
    assert all(torch.equal(one, again[name]) for name, one in whole.items())


def test_one_judges_for_all(ran):
    outcome = json.loads((ran / "early" / "outcome.json").read_text())
    assert (outcome["steps"], outcome["chosen"], outcome["early"]) == (3, 1, True)


def test_the_program_speaks_once_and_writes_once(ran):
    assert (ran / "command" / "model.safetensors").exists()
    errors = (ran / "stderr.txt").read_text()
    assert errors.count("step 3 of 3: ") == 1
    assert errors.count("written to ") == 1
