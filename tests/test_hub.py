"""The model hub: what is sent there comes back as it was, and what goes wrong there is one clear line.

The real client talks to a stand-in on this machine.
"""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np
import pytest
from tests.hub_stand_in import GITATTRIBUTES, stand_in

import isoglot as ig
from isoglot.aligners import Alignment, Procrustes
from isoglot.encoders import AlignedEncoder, Encoder
from isoglot.errors import ConfigError, InputError, IsoglotError, MissingExtraError, OfflineError
from isoglot.simulate import simulate_pair


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub of one's own, with an empty cache and a token."""
    with stand_in() as server:
        point_to(monkeypatch, server.address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub-cache"))
        monkeypatch.setenv("HF_TOKEN", server.token)
        yield server


def point_to(monkeypatch, address):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
        f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
    )
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture(scope="module")
def aligned(tmp_path_factory):
    pair = simulate_pair(n_words=1500, dim=10, noise=0.1, seed=1)
    folder = tmp_path_factory.mktemp("private-files")
    for lang, space in (("en", pair.src), ("fr", pair.tgt)):
        space.save(folder / f"{lang}.vec")
    pair.lexicon.save(folder / "en-fr.txt")
    return ig.align(folder / "en.vec", folder / "fr.vec", folder / "en-fr.txt", src_lang="en", tgt_lang="fr")


def test_aligned_vectors_come_back_as_they_were(hub, aligned, tmp_path):
    assert aligned.push_to_hub("me/en-fr") == f"{hub.address}/me/en-fr"
    files = hub.repositories["me/en-fr"]
    assert files[".gitattributes"] == GITATTRIBUTES
    assert b'ig.load("me/en-fr")' in files["README.md"]
    word = aligned["en"].words[0]
    for again in (ig.load("me/en-fr"), ig.Aligned.from_pretrained("me/en-fr")):
        assert np.array_equal(again["fr"].vectors, aligned["fr"].vectors)
        assert again.translate(word) == aligned.translate(word)
        assert again.info["results"] == aligned.info["results"]


def test_where_files_lie_is_not_told(hub, aligned, tmp_path_factory):
    aligned.push_to_hub("me/en-fr")
    base = str(tmp_path_factory.getbasetemp()).encode()
    assert not [name for name, content in hub.repositories["me/en-fr"].items() if base in content]
    assert ig.load("me/en-fr")["en"].source is None
    assert b'"en.vec"' in hub.repositories["me/en-fr"]["alignments/en-fr/config.json"]


def test_an_alignment_comes_back(hub, aligned):
    alignment = aligned.alignments["en", "fr"]
    alignment.push_to_hub("me/map", private=True)
    assert hub.private == {"me/map"}
    X = np.ones((2, 10), dtype=np.float32)
    for again in (ig.load("me/map"), Alignment.from_pretrained("me/map")):
        assert np.array_equal(again.transform(X), alignment.transform(X))


@pytest.mark.filterwarnings("ignore")
def test_an_aligned_encoder_comes_back(hub, tiny, lines):
    from sentence_transformers import SentenceTransformer

    X, Y = (tiny.sentences(side[:50]) for side in lines)
    alignment = Procrustes().fit(X, Y, [(i, i) for i in range(50)])
    one = AlignedEncoder(tiny, (alignment,), ("north", "south"), "sentence")
    one.push_to_hub("me/encoder")
    assert b'AlignedEncoder.from_pretrained("me/encoder")' in hub.repositories["me/encoder"]["README.md"]
    texts = lines[0][:3]
    expected = one.sentences(texts, "north")
    again = AlignedEncoder.from_pretrained("me/encoder", device="cpu")
    assert np.allclose(again.sentences(texts, "north"), expected, atol=1e-6)
    assert np.allclose(Encoder.from_pretrained("me/encoder", lang="north").sentences(texts), expected, atol=1e-6)
    assert np.allclose(SentenceTransformer("me/encoder").encode(texts, task="north"), expected, atol=1e-5)
    with pytest.raises(ConfigError, match="push its AlignedEncoder"):
        again.encoder_of("north").push_to_hub("me/other")


def test_an_encoder_comes_back_without_its_training_run(hub, tiny_folder, tmp_path):
    import shutil

    folder = shutil.copytree(tiny_folder, tmp_path / "encoder")
    (folder / "training").mkdir()
    (folder / "training" / "recipe.json").write_text("{}")
    encoder = Encoder(folder)
    encoder.push_to_hub("me/tiny")
    assert "training/recipe.json" not in hub.repositories["me/tiny"]
    assert np.allclose(ig.load("me/tiny").sentences("a b"), encoder.sentences("a b"), atol=1e-6)


def test_what_was_fetched_is_there_without_a_hub(hub, aligned, monkeypatch):
    aligned.push_to_hub("me/en-fr")
    ig.load("me/en-fr")
    point_to(monkeypatch, "http://127.0.0.1:9")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ig.load("me/en-fr").names == ["en", "fr"]


def test_other_files_of_the_repository_stay(hub, aligned):
    hub.repositories["me/en-fr"] = {"notes.txt": b"mine"}
    aligned.push_to_hub("me/en-fr")
    assert hub.repositories["me/en-fr"]["notes.txt"] == b"mine"


def test_a_damaged_repository_is_told(hub, aligned):
    aligned.push_to_hub("me/en-fr")
    content = hub.repositories["me/en-fr"]["spaces/fr.safetensors"]
    hub.repositories["me/en-fr"]["spaces/fr.safetensors"] = content[:-1] + bytes([content[-1] ^ 1])
    with pytest.raises(InputError, match="checksum mismatch"):
        ig.load("me/en-fr")


def test_errors_are_one_line(hub, aligned, monkeypatch):
    def line(error, act):
        with pytest.raises(error) as caught:
            act()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert line(InputError, lambda: ig.load("me/none")).startswith(
        "me/none: no such file or folder, and the model hub has no"
    )
    assert "name it as user/name" in line(InputError, lambda: aligned.push_to_hub("en-fr"))
    monkeypatch.setenv("HF_TOKEN", "another-token")
    assert "refused this (401); log in with `hf auth login`" in line(
        OfflineError, lambda: aligned.push_to_hub("me/en-fr")
    )
    point_to(monkeypatch, "http://127.0.0.1:9")
    for act in (lambda: aligned.push_to_hub("me/en-fr"), lambda: ig.load("me/en-fr")):
        assert "the model hub cannot be reached (ConnectError); check" in line(OfflineError, act)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "huggingface_hub" else find(name, *rest)
    )
    for act in (lambda: aligned.push_to_hub("me/en-fr"), lambda: ig.load("me/en-fr")):
        assert "needs huggingface_hub; install it with" in line(MissingExtraError, act)


def test_names_of_the_catalogue_and_paths_are_not_looked_for_there(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("vectors/enn", "data/none.vec", "none.vec", "./no/none.vec"):
        with pytest.raises(IsoglotError, match="no such file"):
            ig.load(name)
    assert not hub.requests
