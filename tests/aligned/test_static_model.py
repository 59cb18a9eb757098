"""The exported folder is what sentence-transformers and model2vec load as they are."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligned.static_model import write_static_model
from isoglot.errors import InputError, ShapeError
from isoglot.spaces import Space


@pytest.fixture
def folder(tmp_path):
    en = Space("en", ["cat", "dog", "taxi"], [[1, 0, 0], [0, 2, 0], [0, 0, 1]])
    fr = Space("fr", ["chat", "été", "taxi"], [[1, 0.1, 0], [0, 1, 1], [0, 1, 0]])
    assert write_static_model([en, fr], tmp_path / "model") == 6
    return tmp_path / "model"


def check(encode):
    cat, chat, sentence, taxi, summer, unknown = encode(["cat", "Chat", "the cat, dog", "taxi", "ÉTÉ", "zzz"])
    np.testing.assert_allclose(cat, [1, 0, 0], atol=1e-6)
    assert cat @ chat > 0.99
    np.testing.assert_allclose(sentence, [0.5**0.5, 0.5**0.5, 0], atol=1e-6)
    np.testing.assert_allclose(taxi, [0, 0.5**0.5, 0.5**0.5], atol=1e-6)
    np.testing.assert_allclose(summer, taxi, atol=1e-6)
    np.testing.assert_allclose(unknown, 0, atol=1e-6)


def test_model2vec_loads_it(folder):
    from model2vec import StaticModel

    check(StaticModel.from_pretrained(str(folder)).encode)


@pytest.mark.filterwarnings("ignore")
def test_sentence_transformers_loads_it(folder):
    from sentence_transformers import SentenceTransformer

    check(SentenceTransformer(str(folder), device="cpu").encode)


def test_mistakes_are_named(tmp_path):
    with pytest.raises(InputError):
        write_static_model([], tmp_path / "x")
    with pytest.raises(ShapeError):
        write_static_model([Space("a", ["b"], np.eye(1)), Space("c", ["d", "e"], np.eye(2))], tmp_path / "x")
    assert not (tmp_path / "x").exists()
