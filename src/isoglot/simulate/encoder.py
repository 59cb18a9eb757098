"""A tiny multilingual encoder, trained in seconds: to try contextual alignment on a machine without a model.

A small BERT learns to fill in masked words of several languages at once, as mBERT did (Devlin et al. 2019), from
monolingual text alone. Languages that share no words end up in corners of the space of their own: alignment has
something to repair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders import ENCODER_FOLDER, quiet
from isoglot.errors import ConfigError, InputError, MissingExtraError
from isoglot.progress import Progress, silent
from isoglot.threads import few_threads

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
#: Share of a language's words, the most frequent ones, that are one token; the others are two or more.
WHOLE = 0.75
#: Tokens that the encoder takes at once: few, so that a page of text has to be cut into windows.
LONGEST = 96
#: More than BERT's 15%: sentences are short and the training too.
MASKED = 0.3
#: Shares of what is to be filled in: up to the first masked, up to the second another word, the rest as it is.
SHOWN = (0.5, 0.6)
BATCH = 64
RATE = 5e-3


def simulate_encoder(
    folder: str | Path,
    sentences: Mapping[str, Sequence[Sequence[str]]],
    *,
    layers: int = 3,
    width: int = 64,
    heads: int = 4,
    steps: int = 400,
    seed: int = 0,
    progress: Progress = silent,
) -> Path:
    """Train an encoder on sentences of each language, and save it as a folder that transformers loads.

    Args:
        sentences: by language, sentences as lists of words. The encoder is not told the languages.
        steps: batches of 64 sentences, as many from each language.

    >>> import tempfile
    >>> texts = {"north": [["fard", "pold"], ["pold", "leand"]], "south": [["zo", "jão"], ["xès", "zo"]]}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = simulate_encoder(f"{place}/tiny", texts, layers=1, width=8, heads=2, steps=1)
    ...     sorted(path.name for path in folder.iterdir())
    ['config.json', 'isoglot.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers and torch", "encoders", "simulating an encoder") from error
    _check(sentences, layers=layers, width=width, heads=heads, steps=steps)
    tokenizer = _tokenizer(sentences)
    random = np.random.default_rng(seed)
    # The caller's own random numbers and threads are as they were when we are done.
    with torch.random.fork_rng(devices=[]), few_threads(torch, 0), ENCODER_FOLDER.replacing(folder) as to:
        torch.manual_seed(seed)
        config = transformers.BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=2 * width,
            max_position_embeddings=LONGEST,
            type_vocab_size=1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        model = transformers.BertForMaskedLM(config)
        tokens = {
            lang: tokenizer(
                [list(words) for words in own if words],
                is_split_into_words=True,
                truncation=True,
                return_attention_mask=False,
            )["input_ids"]
            for lang, own in sentences.items()
        }
        _train(torch, model, list(tokens.values()), steps, random, progress)
        with quiet():
            model.save_pretrained(to)
            tokenizer.save_pretrained(to)
    return Path(folder)


def _check(sentences: Mapping[str, Sequence[Sequence[str]]], **sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ConfigError(f"must be at least 1, not {size}", where=name)
    if sizes["width"] % sizes["heads"]:
        raise ConfigError(f"{sizes['heads']} heads cannot share {sizes['width']} dimensions", where="heads")
    if not sentences:
        raise InputError("an encoder needs sentences of at least one language")
    for lang, own in sentences.items():
        if isinstance(own, str) or any(isinstance(words, str) for words in own):
            raise InputError("sentences come as lists of words, not as text", where=lang)
        if not any(own):
            raise InputError("no sentences to train on", where=lang)


def _tokenizer(sentences: Mapping[str, Sequence[Sequence[str]]]) -> Any:
    """WordPiece: frequent words are whole, rare ones two halves, anything else letters where they are known."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary: dict[str, int] = {token: number for number, token in enumerate(SPECIAL)}
    letters: set[str] = set()
    for own in sentences.values():
        counts = Counter(word for words in own for word in words)
        # Ties by spelling: the same text in another order gives the same vocabulary.
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        whole = round(len(ranked) * WHOLE)
        for rank, word in enumerate(ranked):
            letters |= set(word)
            parts = [word] if rank < whole or len(word) < 2 else [word[: len(word) // 2], f"##{word[len(word) // 2 :]}"]
            for part in parts:
                vocabulary.setdefault(part, len(vocabulary))
    for letter in sorted(letters):
        vocabulary.setdefault(letter, len(vocabulary))
        vocabulary.setdefault(f"##{letter}", len(vocabulary))
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=LONGEST, **dict(zip(names, SPECIAL, strict=True))
    )


def _train(
    torch: Any,
    model: Any,
    languages: Sequence[list[list[int]]],
    steps: int,
    random: np.random.Generator,
    progress: Progress,
) -> None:
    """Fill in masked tokens, every language as often as the others."""
    pad, mask = SPECIAL.index("[PAD]"), SPECIAL.index("[MASK]")
    padded = []
    for own in languages:
        table = np.full((len(own), max(map(len, own))), pad, dtype=np.int64)
        for row, sentence in enumerate(own):
            table[row, : len(sentence)] = sentence
        padded.append(table)
    each = max(1, BATCH // len(padded))
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1, pct_start=0.1)
    widest = max(table.shape[1] for table in padded)
    model.train()
    for step in range(steps):
        chosen = []
        for table in padded:
            rows = table[random.integers(len(table), size=each)]
            chosen.append(np.pad(rows, ((0, 0), (0, widest - rows.shape[1])), constant_values=pad))
        ids = np.concatenate(chosen)
        ids = ids[:, : int((ids != pad).sum(axis=1).max())]
        hidden = (random.random(ids.shape) < MASKED) & (ids >= len(SPECIAL))
        if not hidden.any():
            hidden[:, 1] = True
        # As in BERT some are shown as they are or as another word, else the upper layers need not know what they see.
        fate = random.random(ids.shape)
        other = random.integers(len(SPECIAL), model.config.vocab_size, size=ids.shape)
        shown = np.where(hidden & (fate < SHOWN[0]), mask, np.where(hidden & (fate < SHOWN[1]), other, ids))
        seen = torch.from_numpy((ids != pad).astype(np.int64))
        output = model.bert(input_ids=torch.from_numpy(shown), attention_mask=seen)
        place = torch.from_numpy(np.flatnonzero(hidden))
        # Only what was masked goes through the head: over the whole vocabulary it is the dearest part.
        scores = model.cls(output.last_hidden_state.flatten(0, 1)[place])
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(ids[hidden]))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        progress("training the encoder", step + 1, steps)
    model.eval()
