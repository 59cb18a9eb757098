"""The folder that `isoglot align` leaves: whole after loading, kind to unknown words, clear about damage."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isoglot.aligned import Aligned, induce, translate
from isoglot.aligned.candidates import shares
from isoglot.aligners import Procrustes
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.retrieval import Neighbours
from isoglot.spaces import Space, SubwordTable


def languages(n=120, d=8, subwords=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0].astype(np.float32)
    src = Space("aa", [f"a{i}" for i in range(n)], X, subwords=subwords)
    return src, Space("bb", [f"b{i}" for i in range(n)], X @ turn), np.stack([np.arange(n)] * 2, axis=1)


@pytest.fixture
def aligned():
    src, tgt, pairs = languages()
    return Aligned.pair(Procrustes().fit(src, tgt, pairs), src, tgt, {"note": "made by a test"})


def test_loading_gives_back_everything(aligned, tmp_path):
    aligned.retriever("aa", "bb")
    aligned.save(tmp_path / "out")
    loaded = Aligned.load(tmp_path / "out")
    assert loaded.names == ["aa", "bb"]
    assert loaded.info == {"note": "made by a test"}
    np.testing.assert_array_equal(loaded.spaces["bb"].vectors, aligned.spaces["bb"].vectors)
    for key, means in aligned.means.items():
        np.testing.assert_array_equal(loaded.means[key], means)
    X = languages()[0].vectors
    np.testing.assert_array_equal(
        loaded.alignments["aa", "bb"].transform(X), aligned.alignments["aa", "bb"].transform(X)
    )


def test_translations_and_induced_pairs(aligned):
    answers = translate(aligned, ["a3", "A4", "zzz"], k=2)
    assert [answer.known for answer in answers] == [True, True, False]
    assert [answer.candidates[0][0] for answer in answers[:2]] == ["b3", "b4"]
    back = translate(aligned, ["b9"], source="bb", target="aa", k=1)
    assert back[0].candidates[0][0] == "a9"
    pairs = induce(aligned, limit=50, mutual=True)
    assert list(pairs) == [(f"a{i}", f"b{i}") for i in range(50)]
    assert all(pair.mutual and 0 < pair.confidence <= 1 for pair in pairs.entries)


def test_confidence_grows_with_the_lead():
    indices = np.array([[0, 1, 2], [0, 1, 2], [0, -1, -1]])
    scores = np.array([[0.9, 0.1, 0.0], [0.5, 0.49, 0.4], [0.3, 0.0, 0.0]], dtype=np.float32)
    clear, close, alone = shares(Neighbours(indices, scores))[:, 0]
    assert close < 0.6 < clear <= alone == 1


def test_unknown_words_get_vectors_from_subwords_of_the_original_file(tmp_path):
    table = SubwordTable(2, 4, 50, np.random.default_rng(5).normal(size=(50, 8)).astype(np.float32))
    languages(subwords=table)[0].save(tmp_path / "aa.bin")
    src = Space.load(tmp_path / "aa.bin", lang="aa")
    _, tgt, pairs = languages()
    alignment = Procrustes().fit(src, tgt, pairs)
    Aligned.pair(alignment, src, tgt).save(tmp_path / "out")
    loaded = Aligned.load(tmp_path / "out")
    np.testing.assert_allclose(
        loaded.vector("aa", "unseen"), alignment.transform(src.vector("unseen")[None])[0], atol=1e-5
    )
    assert translate(loaded, ["unseen"])[0].known
    (tmp_path / "aa.bin").unlink()
    assert Aligned.load(tmp_path / "out").vector("aa", "unseen") is None


def test_languages_of_the_same_name_are_told_apart():
    src, tgt, pairs = languages()
    both = Aligned.pair(
        Procrustes().fit(src, tgt, pairs),
        Space("en", src.words, src.vectors),
        Space("en", tgt.words, tgt.vectors),
    )
    assert both.names == ["en.src", "en.tgt"]
    with pytest.raises(ConfigError):
        Aligned.pair(
            Procrustes().fit(src, tgt, pairs), Space("../x", src.words, src.vectors), Space("b", tgt.words, tgt.vectors)
        )


def test_damage_is_named(aligned, tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        Aligned.load(tmp_path / "nowhere")
    aligned.retriever("aa", "bb")
    aligned.save(tmp_path / "out")
    # Means are only a cache: damaged ones are computed again.
    (tmp_path / "out" / "neighbourhoods.safetensors").write_bytes(b"x")
    assert Aligned.load(tmp_path / "out").means == {}
    marker = tmp_path / "out" / "isoglot.json"
    good = json.loads(marker.read_text("utf-8"))
    for damaged in ("{", "[]", json.dumps({**good, "version": 9}), json.dumps({**good, "languages": 3})):
        marker.write_text(damaged, "utf-8")
        with pytest.raises(FormatError):
            Aligned.load(tmp_path / "out")
    marker.write_text(json.dumps(good), "utf-8")
    (tmp_path / "out" / "spaces" / "bb.safetensors").unlink()
    with pytest.raises(InputError):
        Aligned.load(tmp_path / "out")


def test_a_changed_neighbourhood_mean_is_not_used(aligned, tmp_path):
    aligned.retriever("aa", "bb")
    aligned.save(tmp_path / "out")
    path = tmp_path / "out" / "neighbourhoods.safetensors"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    assert Aligned.load(tmp_path / "out").means == {}


def test_the_same_result_has_the_same_bytes(aligned, tmp_path):
    aligned.retriever("aa", "bb")
    for name in ("one", "two", "three"):
        aligned.save(tmp_path / name)
    first, *others = ((tmp_path / name / "isoglot.json").read_bytes() for name in ("one", "two", "three"))
    assert others == [first, first]
