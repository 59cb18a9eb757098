"""What needs torch: alignments by flows and networks, encoders, aligned encoders, training runs and their states."""

from __future__ import annotations

import dataclasses
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import accelerate  # noqa: F401 (imported before workers are forked)
import numpy as np
import sentence_transformers  # noqa: F401
import torch

from isoglot.aligners import LinearAlignment, aligner
from isoglot.encoders import AlignedEncoder, Encoder
from isoglot.encoders.maps import read_maps
from isoglot.errors import InputError, locating
from isoglot.finetuning import Recipe, TrainingSettings, parse_recipe
from isoglot.finetuning.run_state import latest_checkpoint, save_checkpoint
from isoglot.pipelines import fine_tune, prepare, resume_recipe
from isoglot.simulate import simulate_encoder, simulate_pair, simulate_parallel
from isoglot.spaces import Normaliser
from isoglot.text import LabelledSentence
from isoglot.transfer import HeadSettings, fit_head, load_head, open_vectors, save_head

from .target import Unsound, check_finite, target
from .targets_folders import read_alignment, tame

torch.set_num_threads(1)
SENTENCES = [["fard", "pold"], ["pold", "leand", "zo"]]


def _alignment(method: str, **settings: Any) -> Any:
    def make(folder: Path) -> None:
        pair = simulate_pair(n_words=60, dim=5, noise=0.2, seed=1)
        aligner(method, **settings).fit(pair.src, pair.tgt, pair.lexicon).save(folder / "a")

    return make


target("alignment-flow", "encoders", _alignment("realnvp", epochs=1), read_alignment)
target("alignment-network", "encoders", _alignment("fcnn", epochs=1), read_alignment)


@cache
def _text() -> Any:
    return simulate_parallel(sentences=60, words=20, seed=3)


def make_encoder(folder: Path) -> None:
    text = _text()
    texts = {"north": text.src[:30], "south": text.tgt[30:]}
    simulate_encoder(folder, texts, layers=2, width=8, heads=2, steps=1)


def _check_encoder(encoder: Encoder) -> None:
    try:
        vectors = encoder.words(SENTENCES).vectors
    except InputError as error:
        # Weights that give no numbers show with the first text, and it is the text that is named.
        if "NaN or infinite" in error.what:
            return
        raise
    check_finite(vectors, encoder.sentences(["fard pold", "zo"]))


target(
    "encoder",
    "encoders",
    lambda folder: make_encoder(folder / "e"),
    lambda folder: _check_encoder(Encoder(folder / "e", device="cpu")),
    warm=True,
)


def _make_head(folder: Path) -> None:
    make_encoder(folder / "e")
    text = _text()
    sentences = [LabelledSentence(words, ["XY"[len(word) % 2] for word in words]) for words in text.src[:20]]
    settings = HeadSettings(hidden=4, epochs=1, tagger="bilstm-crf")
    head = fit_head("pos", folder / "e", sentences, sentences, lambda *_: 0.0, settings, lang="north")
    save_head(folder / "h", head, "pos", "north", folder / "e", open_vectors(folder / "e"), settings)


def _read_head(folder: Path) -> None:
    head = load_head(folder / "h")
    for words, labels in zip(SENTENCES, head.predict(SENTENCES).values, strict=True):
        if len(words) != len(labels) or not set(labels) <= set(head.labels):
            raise Unsound(f"{words} are {labels}")


target("head", "encoders", _make_head, _read_head, victims=("h/**/*",))


def _make_aligned(folder: Path) -> None:
    make_encoder(folder / "e")
    encoder = Encoder(folder / "e", device="cpu", layer=2)
    W = np.eye(8, dtype=np.float32)[::-1].copy()
    steps = Normaliser.fit_transform("centre,unit", np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32))[0]
    info = {"src": {"dim": 8}, "tgt": {"dim": 8}}
    alignment = LinearAlignment("procrustes", {}, steps, steps, info, W_src=W)
    AlignedEncoder(encoder, (alignment,), ("north", "south")).save(folder / "a")
    shutil.rmtree(folder / "e")


def _read_aligned(folder: Path) -> None:
    aligned = AlignedEncoder.load(folder / "a", device="cpu")
    for lang in aligned.languages:
        _check_encoder(aligned.encoder_of(lang))
    maps = read_maps(folder / "a", "north")
    if all(map(tame, maps.alignments)):
        check_finite(maps.apply(np.ones((1, 3, 8), dtype=np.float32)))
    if maps.dim < 1:
        raise Unsound("no dimensions")


target(
    "aligned-encoder",
    "encoders",
    _make_aligned,
    _read_aligned,
    victims=("a/isoglot.json", "a/alignments/**/*", "a/encoder/config.json", "a/encoder/*.safetensors"),
)


def _make_states(folder: Path) -> None:
    for step in (2, 4):
        save_checkpoint(
            folder / "run", step, {"weights/x": torch.ones(3, 4), "adam/x": torch.ones(3)}, {"losses": [0.5]}
        )


def _read_states(folder: Path) -> None:
    found = latest_checkpoint(folder / "run")
    if found is not None:
        tensors, state = found
        for tensor in tensors.values():
            check_finite(tensor.float().numpy())
        if not isinstance(state.get("step"), int):
            raise Unsound("a state without the number of its step")


target("training-state", "encoders", _make_states, _read_states)


def _recipe(folder: Path, encoder: Path, steps: int) -> Recipe:
    settings = TrainingSettings(
        batch=4, accumulation=1, steps=steps, segmenter="spaces", links="ibm1", evaluate_every=100, checkpoint_every=2
    )
    parallel = {"north": f"{folder / 'north.txt'},{folder / 'south.txt'}"}
    return Recipe(
        str(encoder), folder / "out", parallel, tuple(parse_recipe("word_ot")), settings, "south", held_out=10
    )


def _make_run(folder: Path) -> None:
    """A run of four steps, killed before the last state. Its recipe names text and encoder of the specimen in full."""
    make_encoder(folder / "e")
    text = _text()
    for name, side in (("north", text.src), ("south", text.tgt)):
        (folder / f"{name}.txt").write_text("".join(" ".join(words) + "\n" for words in side), "utf-8")
    fine_tune(prepare(_recipe(folder, folder / "e", 4), device="cpu"))
    shutil.rmtree(folder / "out" / "training" / "checkpoints" / "step-00000004")


def _read_run(folder: Path) -> None:
    recipe = resume_recipe(folder / "out")
    if recipe.settings.steps > 50 or recipe.settings.batch > 500:
        recipe = dataclasses.replace(recipe, settings=dataclasses.replace(recipe.settings, steps=4, batch=4))
    with locating(str(folder)):  # a text or encoder that the recipe names may be anywhere
        outcome = fine_tune(prepare(recipe, device="cpu"))
    check_finite(list(outcome.after.values()))
    for tensor in Encoder(folder / "out", device="cpu").model.network.state_dict().values():
        check_finite(tensor.float().numpy())


target(
    "training-run",
    "encoders",
    _make_run,
    _read_run,
    victims=("out/training/*.json*", "out/training/*.safetensors", "out/training/checkpoints/step-*/*"),
)
