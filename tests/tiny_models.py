"""Models of a few kilobytes, made here, of each kind that an `Encoder` opens."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

#: What the tiny vocabularies know: letters, the mark of a new word, and a few whole words.
WORDS = ("the", "house", "is", "small", "das", "haus", "ist", "klein")
#: The same words in a language that they do not know.
STRANGE = dict(zip(WORDS, ("zq", "vomil", "ke", "drobny", "ta", "stavba", "jest", "titerny"), strict=True))
PIECES = ("<unk>", "<s>", "</s>", "extra_token_id_1", "extra_token_id_2", *(f"▁{word}" for word in WORDS), "▁")
LETTERS = tuple("abcdefghijklmnopqrstuvwxyz.,'-0123456789")


def tiny_use(folder: Path, *, width: int = 16, inner: int = 8, seed: int = 0) -> Path:
    """A universal sentence encoder with random weights, as its package has it: weights.npz and sp.model."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [*PIECES, *LETTERS]
    chunks = 3
    rows = -(-len(pieces) // chunks)
    features = width + 3 * inner

    def normal(*shape: int) -> np.ndarray:
        return (random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    arrays = {f"q{i + 1}": random.integers(0, 256, (rows, width)).astype(np.uint8) for i in range(chunks)}
    arrays |= {"scale": np.full(chunks, 0.01, np.float32), "lo": np.array([-1.2, -1.3, -1.4], np.float32)}
    for order in (2, 3, 5):
        arrays |= {f"proj{order}": normal(width, inner), f"proj_b{order}": normal(inner)}
        arrays |= {f"ln_g{order}": 1 + normal(inner), f"ln_b{order}": normal(inner)}
        arrays |= {f"w{n}_{order}": normal(order * inner, inner) for n in (1, 2)}
        arrays |= {f"b{n}_{order}": normal(inner) for n in (1, 2)}
    arrays |= {"ln_g": 1 + normal(features), "ln_b": normal(features), "cnn_W": normal(features, width)}
    arrays |= {"cnn_b": normal(width), "d0": normal(width, inner), "d1": normal(inner, inner)}
    arrays |= {"p1": normal(width, inner), "d2": normal(inner, width), "p3": normal(inner, width)}
    arrays |= {"d3": normal(width, width), "eps": np.float64(1e-12)}
    np.savez(folder / "weights.npz", **arrays)
    (folder / "sp.model").write_bytes(_sentencepiece(pieces))
    return folder


def tiny_causal(folder: Path, *, seed: int = 0) -> Path:
    """A Gemma of three layers with random weights, whose tokenizer puts `<s>` before a text and nothing behind it."""
    import torch
    from transformers import Gemma3TextConfig, Gemma3TextModel, PreTrainedTokenizerFast

    pieces = [*PIECES, *LETTERS]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = Gemma3TextConfig(
            vocab_size=len(pieces),
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=3,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            sliding_window=16,
            pad_token_id=3,
            bos_token_id=1,
            eos_token_id=2,
            query_pre_attn_scalar=16,
        )
        Gemma3TextModel(config).save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_unigram(pieces), unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token=pieces[3]
    )
    tokenizer.save_pretrained(folder)
    return folder


def tiny_gguf(path: Path, *, seed: int = 0) -> Path:
    """A Llama of two layers with random weights in one GGUF file."""
    import gguf

    random = np.random.default_rng(seed)
    pieces = [*PIECES, *LETTERS]
    width, inner, layers, heads = 32, 64, 2, 2
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(128)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(len(pieces))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([-float(number) for number in range(len(pieces))])
    writer.add_token_types([2, 3, 3, *[1] * (len(pieces) - 3)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def normal(*shape: int) -> np.ndarray:
        return (random.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32)

    writer.add_tensor("token_embd.weight", normal(len(pieces), width))
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    for number in range(layers):
        for name, shape in {
            "attn_q": (width, width),
            "attn_k": (width, width),
            "attn_v": (width, width),
            "attn_output": (width, width),
            "ffn_gate": (inner, width),
            "ffn_up": (inner, width),
            "ffn_down": (width, inner),
        }.items():
            writer.add_tensor(f"blk.{number}.{name}.weight", normal(*shape))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{number}.{name}.weight", np.ones(width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _unigram(pieces: list[str]):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram([(piece, -float(number)) for number, piece in enumerate(pieces)], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def _sentencepiece(pieces: list[str]) -> bytes:
    """The protocol buffer: pieces with score and kind, the kind of model, and how text is normalised."""

    def field(number: int, value: int | bytes) -> bytes:
        if isinstance(value, int):
            return _number(number << 3) + _number(value)
        return _number(number << 3 | 2) + _number(len(value)) + value

    whole = b""
    kinds = [2, 3, 3, 4, 4]
    for number, piece in enumerate(pieces):
        kind = kinds[number] if number < len(kinds) else 1
        score = _number(2 << 3 | 5) + struct.pack("<f", -float(number))
        whole += field(1, field(1, piece.encode("utf-8")) + score + field(3, kind))
    return whole + field(2, field(3, 1) + field(41, 1) + field(42, 2)) + field(3, field(1, b"identity"))


def _number(value: int) -> bytes:
    parts = b""
    while True:
        value, low = value >> 7, value & 127
        if not value:
            return parts + bytes([low])
        parts += bytes([low | 128])
