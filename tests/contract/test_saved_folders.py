"""Every folder we save, edited or damaged: one clear error, never another exception and never another matrix."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from isoglot.aligned import Aligned, Reranker
from isoglot.aligned.rerank_features import feature_names
from isoglot.aligned.rerank_model import RankingModel
from isoglot.aligners import FCNN, Alignment, Procrustes, RealNVP
from isoglot.encoders import AlignedEncoder
from isoglot.errors import IsoglotError
from isoglot.finetuning.run_state import latest_checkpoint, save_checkpoint
from isoglot.joint import JointSpace
from isoglot.pipelines import ContextualPairs
from isoglot.spaces import Space

rng = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(12)]
SRC = Space("en", WORDS, rng.normal(size=(12, 4)).astype(np.float32))
TGT = Space("fr", WORDS, rng.normal(size=(12, 4)).astype(np.float32))
PAIRS = [(i, i) for i in range(8)]


def linear(folder):
    Procrustes(normalise="unit,centre,abtt:1").fit(SRC, TGT, PAIRS).save(folder)


def flow(folder):
    RealNVP(epochs=1, couplings=2, hidden=8, least_steps=0).fit(SRC, TGT, PAIRS).save(folder)


def network(folder):
    FCNN(epochs=1, hidden=8, least_steps=0).fit(SRC, TGT, PAIRS).save(folder)


def spaces(folder):
    aligned = Aligned.pair(Procrustes().fit(SRC, TGT, PAIRS), SRC, TGT)
    aligned.retriever("en", "fr")
    names = feature_names(1, words=True)
    model = RankingModel(names, np.zeros(len(names)), np.ones(len(names)), np.ones(len(names)))
    aligned.with_reranker(Reranker("en", "fr", model, 5, 3, True, (), {})).save(folder)


def joint(folder):
    folder.mkdir()
    counts = np.ones((12, 2), dtype=np.int64)
    JointSpace(("en", "fr"), tuple(WORDS), SRC.vectors, counts).write_into(folder)


def pairs(folder):
    ContextualPairs(SRC, TGT, np.array(PAIRS), {}).save(folder)


def checkpoint(folder):
    import torch

    save_checkpoint(folder, 3, {"weights.a": torch.ones(2, 2)}, {"best": None})


#: How each is made, how it is loaded, and the files with its manifest and its tensors.
KINDS = {
    "linear": (linear, Alignment.load, "config.json", "alignment.safetensors"),
    "flow": (flow, Alignment.load, "config.json", "alignment.safetensors"),
    "network": (network, Alignment.load, "config.json", "alignment.safetensors"),
    "spaces": (spaces, Aligned.load, "isoglot.json", "alignments/en-fr/alignment.safetensors"),
    "reranker": (spaces, Aligned.load, "rerank/en-fr/rerank.json", None),
    "joint": (joint, JointSpace.load, "joint.json", "joint.safetensors"),
    "pairs": (pairs, ContextualPairs.load, "pairs.json", "pairs.safetensors"),
    "checkpoint": (checkpoint, latest_checkpoint, "step-00000003/state.json", "step-00000003/tensors.safetensors"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    found = {}

    def make(name: str) -> Path:
        if name not in found:
            found[name] = tmp_path_factory.mktemp("saved") / name
            KINDS[name][0](found[name])
        return found[name]

    return make


@pytest.fixture
def saved(made, tmp_path):
    """A copy that a test may damage."""
    return lambda name: Path(shutil.copytree(made(name), tmp_path / name))


def refuses(load, folder, note):
    """Loading raises an error of ours, or gives what maps vectors to finite ones."""
    try:
        loaded = load(folder)
        # A flow is built when it is first used.
        mapped = (
            [loaded.transform(SRC.vectors, side) for side in ("src", "tgt")] if isinstance(loaded, Alignment) else []
        )
    except IsoglotError:
        return True
    assert all(np.isfinite(one).all() for one in mapped), note
    return False


def paths(value, path=()):
    """Every place of a JSON document."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from paths(inner, (*path, i))


def changed(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", KINDS)
def test_an_edited_manifest_never_ends_in_another_exception(saved, name):
    folder = saved(name)
    load, manifest = KINDS[name][1], folder / KINDS[name][2]
    assert not refuses(load, folder, "untouched")
    whole = json.loads(manifest.read_text())
    refused = 0
    for path in paths(whole):
        # What lies deeper is only quoted, but for the shape of a flow and the weights of a re-ranker.
        if len(path) > 2 and path[:2] not in (("info", "flow"), ("model", 0)):
            continue
        for new in (None, -1, 1e300, "../../x", [], {}):
            manifest.write_text(json.dumps(changed(whole, path, new)))
            refused += refuses(load, folder, (path, new))
    assert refused > 30
    for text in ("[" * 100_000, '{"a":' * 100_000, "", "\0", "[]", "null"):
        manifest.write_text(text)
        assert refuses(load, folder, text[:10])


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind[3]])
def test_changed_tensors_are_noticed(saved, name):
    folder = saved(name)
    load, tensors = KINDS[name][1], folder / KINDS[name][3]
    whole = tensors.read_bytes()
    for at in (-1, -5, len(whole) // 2, 9):
        data = bytearray(whole)
        data[at] ^= 1
        tensors.write_bytes(data)
        assert refuses(load, folder, at)
    tensors.write_bytes(whole[:-3])
    assert refuses(load, folder, "short")
    tensors.unlink()
    assert refuses(load, folder, "gone")


def rewrite(folder, name, tensors):
    """Other tensors, with the checksum that belongs to them."""
    manifest, path = folder / KINDS[name][2], folder / KINDS[name][3]
    save_file(tensors, path)
    content = json.loads(manifest.read_text())
    content["files"][path.relative_to(manifest.parent).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["linear", "flow", "network", "joint", "pairs"])
def test_tensors_that_do_not_fit_are_refused_though_their_checksum_does(saved, name):
    folder = saved(name)
    load = KINDS[name][1]
    whole = load_file(folder / KINDS[name][3])
    rewrite(folder, name, whole)
    assert not refuses(load, folder, "untouched")
    for key, value in whole.items():
        if key == "version":
            continue
        optional = name == "linear" and key.startswith("map.")
        others = {
            "missing": None,
            "flat": np.ascontiguousarray(value.reshape(-1)[:-1]),
            "wider": np.concatenate([value, value], axis=-1),
            "type": value.astype(np.int16 if value.dtype.kind == "f" else np.float64),
        }
        if value.dtype.kind == "f" and value.size:
            others["nan"] = np.full_like(value, np.nan)
        for what, other in others.items():
            if (what == "missing" and optional) or (name, key, what) == ("joint", "vectors", "wider"):
                continue
            tensors = {k: v for k, v in whole.items() if k != key}
            rewrite(folder, name, tensors if other is None else {**tensors, key: other})
            assert refuses(load, folder, (key, what)), (key, what)


def test_an_aligned_encoder_whose_manifest_was_edited(tiny, parallel, tmp_path):
    vectors = tiny.sentences([" ".join(words) for words in parallel.src[:40]])
    alignment = Procrustes().fit(vectors, vectors, [(i, i) for i in range(40)])
    AlignedEncoder(tiny, (alignment,), ("north", "south"), "sentence").save(tmp_path / "a")
    manifest = tmp_path / "a" / "isoglot.json"
    whole = json.loads(manifest.read_text())
    edits = [
        ("languages", []), ("languages", ["north"]), ("layers", 3), ("level", "page"), ("info", []), ("alignments", 0),
        ("alignments", 10**9), ("pooling", None), ("format", "isoglot-alignment"),
    ]  # fmt: skip
    for key, new in edits:
        manifest.write_text(json.dumps({**whole, key: new}))
        with pytest.raises(IsoglotError):
            AlignedEncoder.load(tmp_path / "a")


def test_an_alignment_does_not_replace_a_model_of_another_program(made, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "model" / "model.safetensors").write_text("weights")
    with pytest.raises(IsoglotError, match="will not be overwritten"):
        Alignment.load(made("linear")).save(tmp_path / "model")
    assert (tmp_path / "model" / "model.safetensors").read_text() == "weights"
