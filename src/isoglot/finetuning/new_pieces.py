"""New pieces for an encoder's vocabulary, for a language whose words its tokenizer breaks into letters.

Pieces are learned from text of the language with the model that the tokenizer has (unigram, Kudo 2018, or WordPiece)
and put behind the old ones, whose numbers stay. A unigram model starts from strings that occur in several words, so
whole words that save most join it. A piece that would change how the target language's text is split is left out, so
that all the encoder knows of it still holds. Their first vectors: see `piece_starts`.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders import ENCODER_FOLDER, Encoder, quiet
from isoglot.errors import ConfigError, InputError
from isoglot.finetuning.piece_starts import linked_starts, mean_starts
from isoglot.progress import Progress, silent
from isoglot.settings import check_settings

STARTS = ("links", "mean")
#: A unigram score no text can win with, for numbers that no piece has.
_NEVER = -1e4
#: Rounds of leaving out pieces that split the target language otherwise: without them, others can come up.
_ROUNDS = 5


@dataclasses.dataclass(frozen=True)
class NewPieces:
    """How many pieces a vocabulary gets, and how their vectors start.

    Args:
        most: maximum number of pieces that are learned from the text of each language, and a quarter as many whole
            words on top; those that the vocabulary has, or that do not occur in the text once it is split with all of
            them, are not added.
        start: first vectors: "links", those of the target language's pieces that a statistical model links with a
            piece, or "mean", those of the old pieces that a new one was split into.
    """

    most: int = 64_000
    start: str = "links"

    def __post_init__(self) -> None:
        check_settings(self, {"most": "[1, inf)", "start": STARTS})


def add_pieces(
    encoder: Encoder,
    folder: str | Path,
    texts: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    settings: NewPieces = NewPieces(),
    *,
    progress: Progress = silent,
) -> Path:
    """Write the encoder with new pieces into a folder that transformers can load; `encoder` itself is not changed.

    Args:
        texts: for each new language, its lines and their translations into the target language.
    """
    model = encoder.model
    old = len(model.tokenizer)
    tokenizer = grow_tokenizer(model.tokenizer, texts, settings.most, progress=progress)
    added = len(tokenizer) - old
    if not added:
        raise InputError("the text gives no new pieces", where=", ".join(texts), remedy="train without new pieces")
    network = copy.deepcopy(model.network)
    table = network.get_input_embeddings().weight.detach()[:old].float().cpu().numpy()
    starts = mean_starts(model.tokenizer, tokenizer, table)
    if settings.start == "links":
        src, tgt = (_split(tokenizer, [line for both in texts.values() for line in both[side]]) for side in (0, 1))
        rows, vectors = linked_starts(src, tgt, table, progress=progress)
        starts[rows - old] = vectors
    import torch

    with torch.no_grad(), quiet(), ENCODER_FOLDER.replacing(folder) as temporary:
        network.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        weight = network.get_input_embeddings().weight
        weight[old:] = torch.from_numpy(starts).to(weight)
        network.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    return Path(folder)


def grow_tokenizer(
    tokenizer: Any,
    texts: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    most: int,
    *,
    progress: Progress = silent,
) -> Any:
    """A tokenizer with new pieces for the first side of these texts, which splits their second side as before.

    Args:
        tokenizer: a fast one of transformers, with a unigram or a WordPiece model.
        most: pieces that are learned of each language.
    """
    kind = None
    if tokenizer.is_fast:
        content = json.loads(tokenizer.backend_tokenizer.to_str())
        kind = content["model"]["type"]
    if kind not in ("Unigram", "WordPiece"):
        what = f"cannot add pieces to a tokenizer of the kind {kind or 'slow'}"
        raise ConfigError(what, where="pieces", remedy="use an encoder with a unigram or WordPiece vocabulary")
    learned: dict[str, float] = {}
    for number, (lang, (lines, _)) in enumerate(texts.items()):
        progress(f"learning pieces of {lang}", number, len(texts))
        for piece, score in _learn(tokenizer, content, lines, most):
            learned[piece] = max(score, learned.get(piece, score))
        if kind == "Unigram":
            learned |= _words(tokenizer, content, lines, learned, most // 4)
        progress(f"learning pieces of {lang}", number + 1, len(texts))
    known = tokenizer.get_vocab()
    pieces = {piece: score for piece, score in learned.items() if piece not in known}
    targets = list(dict.fromkeys(line for _, own in texts.values() for line in own))
    sources = list(dict.fromkeys(line for own, _ in texts.values() for line in own))
    for _ in range(_ROUNDS):
        grown = _with_pieces(tokenizer, content, pieces)
        harmful = _used(grown, targets) & pieces.keys()
        if not harmful:
            break
        pieces = {piece: score for piece, score in pieces.items() if piece not in harmful}
    used = _used(_with_pieces(tokenizer, content, pieces), sources)
    return _with_pieces(tokenizer, content, {piece: score for piece, score in pieces.items() if piece in used})


def _learn(tokenizer: Any, content: Mapping[str, Any], lines: Sequence[str], most: int) -> list[tuple[str, float]]:
    """Pieces of the text with their scores (0 for WordPiece), learned as the tokenizer splits text into words."""
    from tokenizers import Tokenizer, models, trainers

    model = content["model"]
    blank: Any
    trainer: Any
    if model["type"] == "Unigram":
        unknown = tokenizer.unk_token or "<unk>"
        blank = models.Unigram()
        trainer = trainers.UnigramTrainer(
            vocab_size=most, special_tokens=[unknown], unk_token=unknown, show_progress=False
        )
    else:
        prefix = model["continuing_subword_prefix"]
        blank = models.WordPiece(unk_token=model["unk_token"])
        trainer = trainers.WordPieceTrainer(
            vocab_size=most, continuing_subword_prefix=prefix, min_frequency=2, show_progress=False
        )
    learner = Tokenizer(blank)
    learner.normalizer = tokenizer.backend_tokenizer.normalizer
    learner.pre_tokenizer = tokenizer.backend_tokenizer.pre_tokenizer
    learner.train_from_iterator(lines, trainer)
    vocabulary = json.loads(learner.to_str())["model"]["vocab"]
    if model["type"] == "WordPiece":
        return [(piece, 0.0) for piece in sorted(vocabulary)]  # ties are broken at random: have an order of our own
    # The order of summation changes from run to run, and with it the last digits of scores.
    found = [(piece, round(score, 9)) for piece, score in vocabulary[1:]]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _words(
    tokenizer: Any, content: Mapping[str, Any], lines: Sequence[str], learned: Mapping[str, float], most: int
) -> dict[str, float]:
    """Whole words that save most pieces over the text, with their scores."""
    backend = tokenizer.backend_tokenizer
    counts: Counter[str] = Counter()
    for line in lines:
        text = line if backend.normalizer is None else backend.normalizer.normalize_str(line)
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(text):
            bare = word.strip("".join({letter for letter in word if not letter.isalnum()}))
            if len(bare) > 1 and bare.isalpha() and word.startswith("▁"):
                counts[f"▁{bare}"] += 1
    known = tokenizer.get_vocab()
    words = [word for word in counts if word not in learned and word not in known]
    grown = _with_pieces(tokenizer, content, {piece: one for piece, one in learned.items() if piece not in known})
    split = grown.backend_tokenizer.encode_batch_fast([word[1:] for word in words], add_special_tokens=False)
    saved = {word: counts[word] * (len(ids.ids) - 1) for word, ids in zip(words, split, strict=True)}
    best = sorted((word for word in words if saved[word] > 0), key=lambda word: (-saved[word], word))
    total = max(sum(counts.values()), 1)
    return {word: math.log(counts[word] / total) for word in best[:most]}


def _with_pieces(tokenizer: Any, content: Mapping[str, Any], pieces: Mapping[str, float]) -> Any:
    """The tokenizer with these pieces behind its own."""
    from tokenizers import Tokenizer

    first = len(tokenizer)
    model = dict(content["model"])
    if model["type"] == "WordPiece":
        model["vocab"] = model["vocab"] | {piece: first + number for number, piece in enumerate(pieces)}
    else:
        # Numbers are places in the list; those of tokens that were added outside it have to be filled.
        outside = {one["id"]: one["content"] for one in content["added_tokens"]}
        places = range(len(model["vocab"]), first)
        filled = [[outside.get(number, f"<unused {number}>"), _NEVER] for number in places]
        model["vocab"] = [*model["vocab"], *filled, *([piece, score] for piece, score in pieces.items())]
    grown = copy.deepcopy(tokenizer)
    grown._tokenizer = Tokenizer.from_str(json.dumps({**content, "model": model}))
    return grown


def _split(tokenizer: Any, lines: Sequence[str]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """The different pieces of each line, special ones left out."""
    rows = tokenizer.backend_tokenizer.encode_batch_fast(list(lines), add_special_tokens=False)
    return [np.unique(np.array(row.ids, dtype=np.int64)) for row in rows]


def _used(tokenizer: Any, lines: Sequence[str]) -> set[str]:
    rows = tokenizer.backend_tokenizer.encode_batch_fast(list(lines), add_special_tokens=False)
    numbers = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(row.ids for row in rows)])).astype(np.int64)
    return set(tokenizer.convert_ids_to_tokens(numbers.tolist()))
