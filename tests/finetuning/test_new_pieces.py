"""Pieces that are added to a vocabulary: which ones, where their vectors start, and that nothing else changes."""

from __future__ import annotations

import collections
import itertools
import json

import numpy as np
import pytest
from tests.tiny_models import LETTERS, STRANGE, WORDS, tiny_use

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, InputError
from isoglot.finetuning import NewPieces, add_pieces
from isoglot.finetuning.new_pieces import grow_tokenizer
from isoglot.finetuning.piece_starts import linked_starts, mean_starts

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def texts():
    """All pairs of known words, translated word for word."""
    lines = [" ".join(pair) for pair in itertools.permutations(WORDS, 2)]
    return [" ".join(STRANGE[word] for word in line.split()) for line in lines], lines


@pytest.fixture(scope="module")
def use(tmp_path_factory):
    return Encoder(tiny_use(tmp_path_factory.mktemp("use")), device="cpu")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A BERT with a WordPiece vocabulary of the known words and letters."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("bert")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token="[MASK]", **marks).save_pretrained(
        folder
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return Encoder(folder, device="cpu")


@pytest.fixture(params=["use", "bert"])
def encoder(request):
    return request.getfixturevalue(request.param)


def test_strange_words_become_pieces_and_known_text_is_split_as_before(encoder, texts, tmp_path):
    old = encoder.model.tokenizer
    grown = grow_tokenizer(old, {"xx": texts}, 60)
    before, after = ([len(ids) for ids in one(texts[0], add_special_tokens=False)["input_ids"]] for one in (old, grown))
    assert sum(after) < 0.5 * sum(before)
    assert grown(texts[1])["input_ids"] == old(texts[1])["input_ids"]
    assert {piece: grown.get_vocab()[piece] for piece in old.get_vocab()} == old.get_vocab()
    assert sorted(grown.get_vocab().values()) == list(range(len(grown)))
    grown.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(encoder.model.config.to_dict(), default=str))
    opened = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert opened(texts[0])["input_ids"] == grown(texts[0])["input_ids"]


def test_a_piece_that_would_split_known_text_otherwise_is_left_out(use, texts):
    # "smallest" has pieces for "small" and the letters behind it.
    lines = ["smallest vomil"] * 20, ["smallest house"] * 20
    grown = grow_tokenizer(use.model.tokenizer, {"xx": lines}, 60)
    assert grown(lines[1])["input_ids"] == use.model.tokenizer(lines[1])["input_ids"]
    assert not any("smalles" in piece for piece in grown.get_vocab())
    assert len(grown(lines[0][0])["input_ids"]) < len(use.model.tokenizer(lines[0][0])["input_ids"])


def test_new_pieces_start_at_their_translations_and_old_ones_stay(encoder, texts, tmp_path):
    place = add_pieces(encoder, tmp_path / "grown", {"xx": texts}, NewPieces(most=60))
    grown, before = Encoder(place, device="cpu"), encoder.model.network.state_dict()
    old = len(encoder.model.tokenizer)
    for name, weights in grown.model.network.state_dict().items():
        same = weights if weights.shape == before[name].shape else weights[:old]
        assert torch.equal(same, before[name][: len(same)])
    table = grown.model.network.get_input_embeddings().weight.detach()
    assert len(table) == len(grown.model.tokenizer) > old
    found = 0
    for word, strange in STRANGE.items():
        rows = [encoder.model.tokenizer(word, add_special_tokens=False)["input_ids"] for word in WORDS]
        known = torch.stack([table[row].mean(0) for row in rows])
        (ids,) = (grown.model.tokenizer(strange, add_special_tokens=False)["input_ids"],)
        found += int((known - table[ids[0]]).norm(dim=1).argmin()) == WORDS.index(word)
    assert found >= len(WORDS) - 1
    assert np.allclose(grown.sentences(texts[1]), encoder.sentences(texts[1]), atol=1e-6)
    # The other start looks at the spelling alone.
    means = Encoder(add_pieces(encoder, tmp_path / "means", {"xx": texts}, NewPieces(60, "mean")), device="cpu")
    assert means.model.tokenizer.get_vocab() == grown.model.tokenizer.get_vocab()
    expected = mean_starts(encoder.model.tokenizer, means.model.tokenizer, table[:old].numpy())
    assert np.allclose(means.model.network.get_input_embeddings().weight.detach()[old:], expected)
    assert not np.allclose(expected, table[old:])


def test_links_are_those_of_a_loop_over_lines():
    random = np.random.default_rng(0)
    src = [np.unique(random.integers(0, 12, 4)) + 10 for _ in range(30)]
    tgt = [np.unique(random.integers(0, 10, 3)) for _ in range(30)]
    table = random.normal(size=(10, 4)).astype(np.float32)
    t = collections.defaultdict(lambda: 1.0)
    for _ in range(5):
        counts = collections.Counter()
        for own, other in zip(src, tgt, strict=True):
            for j in other:
                total = sum(t[i, j] for i in own)
                for i in own:
                    counts[i, j] += t[i, j] / total
        sums = collections.Counter()
        for (i, _), value in counts.items():
            sums[i] += value
        t = {pair: value / sums[pair[0]] for pair, value in counts.items()}
    explained = collections.Counter()
    for (_, j), value in counts.items():
        explained[j] += value
    rows, vectors = linked_starts(src, tgt, table)
    assert rows.tolist() == sorted({i for own in src for i in own})
    for row, vector in zip(rows, vectors, strict=True):
        weights = {j: t[i, j] * counts[i, j] / explained[j] for i, j in counts if i == row}
        best = sorted(weights, key=lambda j: -weights[j])[:5]
        expected = sum(weights[j] * table[j] for j in best) / sum(weights[j] for j in best)
        assert np.allclose(vector, expected, atol=1e-5)


def test_nothing_linked_is_no_error():
    rows, vectors = linked_starts([np.array([5])], [np.zeros(0, dtype=np.int64)], np.ones((3, 2), np.float32))
    assert rows.shape == (0,)
    assert vectors.shape == (0, 2)


def test_what_cannot_be_done_is_said(use, texts, tmp_path):
    from tokenizers import Tokenizer, models

    other = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    with pytest.raises(ConfigError, match="cannot add pieces to a tokenizer of the kind BPE"):
        grow_tokenizer(other, {"xx": texts}, 60)
    with pytest.raises(InputError, match="the text gives no new pieces"):
        add_pieces(use, tmp_path / "same", {"xx": (texts[1], texts[1])})
    with pytest.raises(ConfigError, match="start"):
        NewPieces(start="nowhere")
    assert not (tmp_path / "same").exists()
