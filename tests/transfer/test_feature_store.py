"""Vectors are computed once, memory-mapped, and made again if a file is not as it was written."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.encoders import AlignedEncoder
from isoglot.errors import ConfigError
from isoglot.spaces import Space
from isoglot.transfer.feature_store import FeatureStore, Rows
from isoglot.transfer.vectors import AlignedVectors, EncoderVectors, StaticVectors, open_vectors

SENTENCES = [["pold", "fard"], [], ["leand"], ["fard"] * 5]


class Counting(StaticVectors):
    """Counts what it is asked."""

    asked = 0

    def words(self, sentences, lang, **rest):
        type(self).asked += len(sentences)
        return super().words(sentences, lang, **rest)


@pytest.fixture
def counting():
    Counting.asked = 0
    space = Space("north", ["pold", "fard"], np.eye(2, dtype=np.float32))
    return Counting("toy", {"north": space})


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr("isoglot.transfer.feature_store.SHARD", 2)


@pytest.mark.parametrize("kept", [True, False])
def test_nothing_is_encoded_twice(counting, tmp_path, small_shards, kept):
    store = FeatureStore(counting, tmp_path / "features" if kept else None)
    first, second = (store.words(SENTENCES, "north") for _ in range(2))
    assert Counting.asked == len(SENTENCES)
    taken, lengths = second.take([3, 0, 1])
    assert lengths == [5, 2, 0]
    np.testing.assert_array_equal(taken, counting.words([SENTENCES[3], SENTENCES[0]], "north").vectors)
    assert all(isinstance(part, np.memmap) for part in first.rows.parts) == kept
    np.testing.assert_array_equal(first.parts([3, 0], [(1, 3), (1, 2)]), taken[[1, 2, 6]])


def test_a_killed_run_resumes_after_the_last_shard_and_damage_is_noticed(counting, tmp_path, small_shards):
    folder = tmp_path / "features"
    FeatureStore(counting, folder).words(SENTENCES[:2], "north")
    FeatureStore(counting, folder).words(SENTENCES, "north")
    assert Counting.asked == 4
    for file in folder.glob("*.npy"):
        file.write_bytes(file.read_bytes()[:-4] + b"\x00\x00\x80\x7f")
    again = FeatureStore(counting, folder).words(SENTENCES, "north")
    assert Counting.asked == 8
    assert np.isfinite(again.rows.take(np.arange(len(again.rows)))).all()


def test_rows_of_parts_are_those_of_the_whole():
    whole = np.arange(30, dtype=np.float32).reshape(10, 3)
    rows = Rows([whole[:4], whole[4:4], whole[4:5], whole[5:]])
    wanted = np.array([9, 0, 4, 3, 5, 5])
    np.testing.assert_array_equal(rows.take(wanted), whole[wanted])


def test_what_gives_other_vectors_has_another_identity(tiny, tiny_folder, aligned, tmp_path):
    raw, mapped = EncoderVectors(tiny), AlignedVectors(aligned)
    identities = {raw.identity("north"), mapped.identity("north"), mapped.identity("south")}
    assert len(identities) == 3
    assert raw.identity("north") == raw.identity("south") == open_vectors(tiny_folder).identity("north")
    aligned.save(tmp_path / "aligned")
    loaded, again = (open_vectors(tmp_path / "aligned") for _ in range(2))
    assert isinstance(loaded, AlignedVectors)
    assert loaded.languages == ("north", "south")
    assert loaded.identity("south") == again.identity("south") != loaded.identity("north")
    np.testing.assert_allclose(
        loaded.words([["pold"]], "south").vectors, aligned.words([["pold"]], "south").vectors, rtol=1e-4, atol=1e-5
    )


def test_an_encoder_with_the_map_of_one_language_is_refused(aligned):
    assert isinstance(aligned, AlignedEncoder)
    with pytest.raises(ConfigError, match="map of one language"):
        open_vectors(aligned.encoder_of("north"))


def test_words_without_a_static_vector_carry_a_flag():
    space = Space("en", ["cat", "the"], np.array([[1, 2], [3, 4]], dtype=np.float32), source="toy.vec")
    vectors = open_vectors(space)
    found = vectors.words([["The", "cat"], ["dog"]], "en").vectors
    np.testing.assert_array_equal(found, [[3, 4, 0], [1, 2, 0], [0, 0, 1]])
    np.testing.assert_allclose(vectors.sentences(["the cat", ""], "en"), [[2, 3, 0], [0, 0, 0]])
    with pytest.raises(ConfigError, match="no vectors of 'fr'"):
        vectors.words([["le"]], "fr")
