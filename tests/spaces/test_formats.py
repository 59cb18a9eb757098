"""Binary formats: there and back, agreement with gensim, and refusals."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from isoglot.errors import ConfigError, FormatError, InputError, MissingExtraError
from isoglot.spaces import Space, SubwordTable, fasttext_hash, load_space, ngrams, save_space
from isoglot.spaces.formats.spacy_folder import hash_strings
from isoglot.spaces.load import FORMATS

EXACT = ["x.vec", "x.txt.gz", "x.vec.xz", "x.vec.zst", "x.vec.bz2", "x.glove", "x.bin", "x.w2v.gz", "x.kv", "x.npz"]
EXACT += ["x.safetensors", "x.tar"]  # navec is exact while words are few
WITH_COUNTS = {"x.kv", "x.npz", "x.safetensors", "x.tar"}


@pytest.mark.parametrize("name", EXACT)
def test_there_and_back(name: str, space: Space, tmp_path: Path) -> None:
    if name == "x.kv":
        pytest.importorskip("gensim")
    space.save(tmp_path / name)
    back = Space.load(tmp_path / name, lang="yy")
    assert back.lang == "yy"
    assert back.words == space.words
    assert np.array_equal(back.vectors, space.vectors)
    assert back.report is not None
    assert back.report.notes() == []
    if name in WITH_COUNTS:
        assert back.counts is not None
        assert np.array_equal(back.counts, space.counts)
    first = Space.load(tmp_path / name, limit=3, cache=False)
    assert first.words == space.words[:3]
    assert np.array_equal(first.vectors, space.vectors[:3])
    again = Space.load(tmp_path / name)  # from the cache, where there is one
    assert again.words == space.words
    assert np.array_equal(again.vectors, space.vectors)


def test_every_format_of_the_table_is_tested() -> None:
    tested = {"text", "glove", "word2vec-binary", "fasttext", "gensim", "spacy", "navec", "npz", "safetensors"}
    assert {row.name for row in FORMATS} == tested


def test_content_decides_not_the_name(space: Space, tmp_path: Path) -> None:
    for name in ("a.vec", "b.bin", "c.npz", "d.safetensors", "e.tar"):
        space.save(tmp_path / name)
        (tmp_path / name).rename(tmp_path / "model.xyz")
        assert load_space(tmp_path / "model.xyz", cache=False).words == space.words


def test_names_that_say_nothing(space: Space, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot tell the format"):
        save_space(space, tmp_path / "x.dat")
    with pytest.raises(ConfigError, match="did you mean 'safetensors'"):
        save_space(space, tmp_path / "x", format="safetensor")
    with pytest.raises(InputError, match="not compressed"):
        save_space(space, tmp_path / "x.npz.gz")
    with pytest.raises(ConfigError, match="limit"):
        load_space(tmp_path, limit=0)


@pytest.mark.parametrize(
    ("name", "lang"), [("fr.vec", "fr"), ("wiki.de.vec", "de"), ("cc.tr.300.vec", "tr"), ("vectors.vec", "")]
)
def test_language_from_the_name(name: str, lang: str, space: Space, tmp_path: Path) -> None:
    save_space(space, tmp_path / name)
    assert load_space(tmp_path / name).lang == lang


# word2vec binary


@pytest.mark.parametrize("newline", [b"\n", b""])
def test_word2vec_binary_with_and_without_newlines(newline: bytes, space: Space, tmp_path: Path) -> None:
    rows = zip(space.words, space.vectors, strict=True)
    body = b"".join(word.encode() + b" " + row.tobytes() + newline for word, row in rows)
    (tmp_path / "x.bin").write_bytes(b"40 6\n" + body)
    back = load_space(tmp_path / "x.bin")
    assert back.words == space.words
    assert np.array_equal(back.vectors, space.vectors)
    (tmp_path / "x.bin").write_bytes(b"40 6\n" + body[:-10])
    with pytest.raises(FormatError, match="ends after 39 of 40"):
        load_space(tmp_path / "x.bin")
    assert len(load_space(tmp_path / "x.bin", limit=5)) == 5


def test_word2vec_binary_agrees_with_gensim(space: Space, tmp_path: Path) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    save_space(space, tmp_path / "ours.bin")
    theirs = keyed.load_word2vec_format(str(tmp_path / "ours.bin"), binary=True)
    assert theirs.index_to_key == list(space.words)
    assert np.array_equal(theirs.vectors, space.vectors)
    theirs.save_word2vec_format(str(tmp_path / "theirs.bin"), binary=True)
    assert np.array_equal(load_space(tmp_path / "theirs.bin").vectors, space.vectors)


# fastText


def test_fasttext_hash_sign_extends_high_bytes() -> None:
    assert fasttext_hash(b"a") == 0xE40C292C  # plain FNV-1a below 128
    assert fasttext_hash(b"\xe9") != ((2166136261 ^ 0xE9) * 16777619) & 0xFFFFFFFF
    assert ngrams("é", 1, 2) == ["<é", "é", "é>"]
    assert ngrams("</s>", 3, 6) == []


def test_fasttext_agrees_with_gensim(subword_space: Space, tmp_path: Path) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    path = tmp_path / "x.bin"
    save_space(subword_space, path)
    ours = load_space(path)
    theirs = fasttext.load_facebook_vectors(str(path))
    assert theirs.index_to_key == list(ours.words)
    plain = [i for i, word in enumerate(ours.words) if word != "</s>"]  # gensim gives it n-grams, fastText does not
    assert np.allclose(theirs.vectors[plain], ours.vectors[plain], atol=1e-6)
    assert np.allclose(ours.vectors, subword_space.vectors, atol=1e-5)
    assert ours.counts is not None
    assert np.array_equal(ours.counts, subword_space.counts)
    for word in ("unseen", "Zürichsee", "猫猫", "日本語", "x"):
        assert np.allclose(theirs.get_vector(word), ours.vector(word), atol=1e-6)


def test_fasttext_models_that_gensim_trained(tmp_path: Path) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    sentences = [["añb", "cat", "cats"], ["猫", "cat", "dog"]] * 20
    model = fasttext.FastText(sentences, vector_size=5, min_count=1, bucket=30, epochs=1, seed=1, workers=1)
    path = tmp_path / "x.bin"
    fasttext.save_facebook_model(model, str(path))
    model.wv.save(str(tmp_path / "x.kv"))
    model.save(str(tmp_path / "x.model"))
    for source in (path, tmp_path / "x.kv", tmp_path / "x.model"):
        space = load_space(source)
        assert list(space.words) == model.wv.index_to_key
        assert np.allclose(space.vectors, model.wv.vectors, atol=1e-6)
        assert np.allclose(space.vector("caté"), model.wv.get_vector("caté"), atol=1e-6)
        assert space.counts is not None
        assert space.counts.tolist() == [model.wv.get_vecattr(word, "count") for word in space.words]


def test_a_word_is_the_mean_of_its_rows_bit_for_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(7, 4)).astype(np.float32)
    rows = rng.normal(size=(2, 4)).astype(np.float32)
    path = tmp_path / "x.bin"
    save_space(Space("en", ["añb", "</s>"], rows, subwords=SubwordTable(2, 4, 7, table)), path)
    data = bytearray(path.read_bytes())
    start = data.index(rows[1].tobytes()) - 16  # the row of "</s>" is its vector; the other's stands before it
    data[start : start + 16] = rows[0].tobytes()
    path.write_bytes(data)
    total = rows[0].copy()
    grams = ngrams("añb", 2, 4)
    for gram in grams:
        total += table[fasttext_hash(gram.encode()) % 7]
    space = load_space(path)
    assert np.array_equal(space.vector("añb"), total * np.float32(1.0 / (len(grams) + 1)))
    assert np.array_equal(space.vector("</s>"), rows[1])


@pytest.mark.parametrize("version", [11, 12])
def test_fasttext_versions_and_compression(version: int, subword_space: Space, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    save_space(subword_space, path)
    data = bytearray(path.read_bytes())
    data[4:8] = struct.pack("<i", version)
    (tmp_path / "y.bin").write_bytes(data)
    (tmp_path / "y.bin.gz").write_bytes(gzip.compress(data))
    plain, packed = load_space(tmp_path / "y.bin"), load_space(tmp_path / "y.bin.gz")
    cached = load_space(tmp_path / "y.bin.gz")
    assert cached.report is not None
    assert cached.report.from_cache
    for other in (packed, cached, load_space(tmp_path / "y.bin")):
        assert np.array_equal(plain.vectors, other.vectors)
        assert np.array_equal(plain.vector("unseen"), other.vector("unseen"))


def test_fasttext_without_ngrams(space: Space, tmp_path: Path) -> None:
    save_space(space, tmp_path / "x.bin", format="fasttext")
    back = load_space(tmp_path / "x.bin")
    assert back.subwords is None
    assert np.array_equal(back.vectors, space.vectors)


def test_quantised_models_are_refused(space: Space, tmp_path: Path) -> None:
    path = tmp_path / "x.ftz"
    save_space(space, path, format="fasttext")
    data = bytearray(path.read_bytes())
    flag = data.index(struct.pack("<?2q", False, len(space), space.dim))
    data[flag] = 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match="quantised"):
        load_space(path)


# safetensors


def test_native_is_a_memory_map_that_others_read(space: Space, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_space(space, path)
    back = load_space(path)
    assert back.lang == "xx"
    base = back.vectors
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap) and base.base is not None:
        base = base.base
    assert isinstance(base, np.memmap)
    tensors = load_file(path)
    assert np.array_equal(tensors["vectors"], space.vectors)
    assert tensors["words"].tobytes().decode().split("\n") == list(space.words)


def test_native_keeps_odd_words_and_ngrams(subword_space: Space, tmp_path: Path) -> None:
    words = ["a\nb", "c\0d", *subword_space.words[2:]]
    odd = Space("en", words, subword_space.vectors, None, subword_space.subwords)
    save_space(odd, tmp_path / "x.safetensors")
    back = load_space(tmp_path / "x.safetensors")
    assert list(back.words) == words
    assert np.array_equal(back.vector("unseen"), odd.vector("unseen"))


def test_other_safetensors_are_refused(tmp_path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(FormatError, match="`vectors` and `words`"):
        load_space(tmp_path / "x.safetensors")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_dropped(value: float, space: Space, tmp_path: Path) -> None:
    vectors = np.array(space.vectors)
    vectors[4, 2] = value
    for name in ("x.safetensors", "x.npz", "x.bin"):
        save_space(space.with_vectors(vectors), tmp_path / name)
        back = load_space(tmp_path / name)
        assert back.words == space.words[:4] + space.words[5:]
        assert back.report is not None
        assert "NaN or infinite number" in back.report.notes()[0]


# npz


def test_npz_never_unpickles(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", words=np.array(["a", None], dtype=object), vectors=np.ones((2, 2)))
    with pytest.raises(FormatError, match="objects"):
        load_space(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", vectors=np.ones((2, 2)))
    with pytest.raises(FormatError, match="no array `words`"):
        load_space(tmp_path / "x.npz")


# spaCy


def test_spacy_folder(space: Space, tmp_path: Path) -> None:
    save_space(space, tmp_path / "model", format="spacy")
    for folder in ("model", "model/vocab"):
        back = load_space(tmp_path / folder)
        assert back.lang == "xx"
        assert back.words == space.words
        assert np.array_equal(back.vectors, space.vectors)
    save_space(space, tmp_path / "model", format="spacy")  # replaces its own
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.txt").write_text("keep")
    with pytest.raises(InputError, match="other things"):
        save_space(space, tmp_path / "other", format="spacy")


def test_spacy_keys_are_murmur_hashes() -> None:
    # Known keys of spaCy's string store.
    assert hash_strings(["coffee"]).tolist() == [3197928453018144401]
    assert hash_strings([""]).shape == (1,)


def test_spacy_rows_belong_to_their_first_key(space: Space, tmp_path: Path) -> None:
    import msgpack

    save_space(space, tmp_path / "model", format="spacy")
    vocab = tmp_path / "model" / "vocab"
    table = msgpack.unpackb((vocab / "key2row").read_bytes(), strict_map_key=False)
    table[int(hash_strings(["sharer"])[0])] = 3
    table[12345] = 3
    (vocab / "key2row").write_bytes(msgpack.packb(table))
    (vocab / "strings.json").write_text(json.dumps(["sharer", *reversed(space.words)]))
    assert load_space(tmp_path / "model").words == space.words


# navec


def test_navec_is_close_for_many_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(600, 12)).astype(np.float32)
    space = Space("ru", [f"w{i}" for i in range(600)], vectors)
    save_space(space, tmp_path / "x.tar")
    back = load_space(tmp_path / "x.tar")
    assert back.words == space.words
    error = np.linalg.norm(back.vectors - vectors) / np.linalg.norm(vectors)
    assert 0 < error < 0.35


def test_navec_sorts_by_counts(tmp_path: Path) -> None:
    space = Space("ru", ["a", "b", "c"], np.eye(3), counts=np.array([1, 5, 3]))
    save_space(space, tmp_path / "x.tar")
    back = load_space(tmp_path / "x.tar")
    assert back.words == ("b", "c", "a")
    assert back.vector("a").tolist() == [1, 0, 0]


# gensim


def test_keyedvectors_agree_with_gensim(space: Space, tmp_path: Path) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    save_space(space, tmp_path / "x.kv")
    theirs = keyed.load(str(tmp_path / "x.kv"))
    assert theirs.index_to_key == list(space.words)
    assert np.array_equal(theirs.vectors, space.vectors)
    assert theirs.get_vecattr("the", "count") == 1000
    save_space(space, tmp_path / "again.kv")
    assert (tmp_path / "again.kv").read_bytes() == (tmp_path / "x.kv").read_bytes()
    theirs.save(str(tmp_path / "apart.kv"), sep_limit=1)
    assert (tmp_path / "apart.kv.vectors.npy").exists()
    assert np.array_equal(load_space(tmp_path / "apart.kv").vectors, space.vectors)
    (tmp_path / "apart.kv.vectors.npy").unlink()
    with pytest.raises(FormatError, match=r"vectors\.npy is missing"):
        load_space(tmp_path / "apart.kv")


def test_writing_keyedvectors_needs_gensim(space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gensim", None)
    with pytest.raises(MissingExtraError, match=r"\[gensim\]'$"):
        save_space(space, tmp_path / "x.kv")
    assert not list(tmp_path.iterdir())


def _header(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the header of a safetensors file, which keeps its length."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header)
    path.write_bytes(data[:8] + json.dumps(header).encode().ljust(length) + data[8 + length :])


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["counts"].update(data_offsets=[0, 40]),
        lambda h: h.pop("counts"),
        lambda h: h["words"].update(shape=[1], data_offsets=[h["words"]["data_offsets"][0]] * 2),
        lambda h: h["vectors"].update(shape=[5, 2]),
        lambda h: h.update(more={"dtype": "I8", "shape": [1], "data_offsets": [9, 8]}),
        lambda h: h["vectors"].update(data_offsets=None),
    ],
)
def test_safetensors_that_overlap_or_leave_gaps(change: Callable[[dict[str, Any]], object], tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_space(Space("en", list("abcde"), np.ones((5, 4), np.float32), counts=np.arange(5, 0, -1)), path)
    assert len(load_space(path)) == 5
    _header(path, change)
    with pytest.raises(FormatError, match=r"x.safetensors: damaged safetensors file .*; get the file again"):
        load_space(path)


def test_safetensors_with_more_than_the_header_says(space: Space, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_space(space, path)
    data = path.read_bytes()
    path.write_bytes(data + b"x")
    with pytest.raises(FormatError, match=r"x.safetensors: damaged safetensors file"):
        load_space(path)
    path.write_bytes(data.replace(b'"vectors":', b'"words"  :', 1))
    with pytest.raises(FormatError, match=r"x.safetensors: damaged safetensors file"):
        load_space(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d + b"x", lambda d: d[:-60], lambda d: d + d[-17:]])
def test_fasttext_output_matrix_must_fit(
    damage: Callable[[bytes], bytes], packed: bool, space: Space, tmp_path: Path
) -> None:
    path = tmp_path / "x.bin"
    save_space(space, path, format="fasttext")
    data = damage(path.read_bytes())
    path.write_bytes(gzip.compress(data) if packed else data)
    for limit in (None, 2):
        with pytest.raises(FormatError, match=r"x.bin: the output matrix is truncated"):
            load_space(path, limit=limit)


@pytest.mark.parametrize("name", ["x.npz", "x.kv", "x"])
def test_data_after_an_array_is_refused(name: str, space: Space, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "x.kv":
        pytest.importorskip("gensim")
    save_space(space, path, format="spacy" if name == "x" else None)
    if name == "x.npz":
        arrays = dict(np.load(path))
        with zipfile.ZipFile(path, "w") as archive:
            for key, array in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, array)
                archive.writestr(f"{key}.npy", buffer.getvalue() + b"more")
    else:
        file = path / "vocab" / "vectors" if name == "x" else path
        file.write_bytes(file.read_bytes() + b"more")
    with pytest.raises(FormatError, match=r"an array of shape|data after"):
        load_space(path)
