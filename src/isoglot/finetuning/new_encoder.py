"""A new, small encoder for some languages: its own vocabulary of word pieces, and untrained weights.

For machines without a downloaded model. The vocabulary is a unigram model over all languages (Kudo 2018), with the same
number of lines from each, so that none is cut into letters; the network is a small BERT with a head for masked tokens.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders import ENCODER_FOLDER, quiet
from isoglot.errors import ConfigError, InputError, MissingExtraError
from isoglot.finetuning.piece_vectors import piece_vectors
from isoglot.progress import Progress, silent
from isoglot.settings import check_settings

SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


#: Standard deviation of the initial vectors of word pieces; random ones have .02.
_SPREAD = 0.04
#: Text counts as lower-cased if at most this share of its cased letters are capitals, in this many lines of each
#: language.
_FEW_CAPITALS, _CASE_LINES = 0.001, 2000


@dataclasses.dataclass(frozen=True)
class FreshEncoder:
    """The size of a new encoder.

    Args:
        vocabulary: maximum number of word pieces, over all languages.
        layers, width, heads: of the network; its feed-forward layers are four times as wide.
        longest: maximum number of tokens in a sequence.
        lower: whether to lower-case all input; None to do so if the text is lower-cased. An encoder that has only seen
            lower-cased text knows no capitals and would misread a sentence that starts with one.
        lines: maximum number of lines of each language to learn the vocabulary from.
        warm: passes of skip-gram over these lines to initialise the vectors of word pieces; 0 for random vectors.
    """

    vocabulary: int = 16_000
    layers: int = 4
    width: int = 256
    heads: int = 4
    longest: int = 128
    lower: bool | None = None
    lines: int = 100_000
    warm: int = 5

    def __post_init__(self) -> None:
        limits = dict.fromkeys(("layers", "heads", "lines"), "[1, inf)")
        check_settings(self, {**limits, "vocabulary": "[100, inf)", "width": "[8, inf)", "longest": "[8, inf)"})
        if self.width % self.heads:
            raise ConfigError(f"{self.heads} heads cannot share {self.width} dimensions", where="heads")


def make_encoder(
    folder: str | Path,
    texts: Mapping[str, Sequence[str]],
    size: FreshEncoder = FreshEncoder(),
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Path:
    """Write an untrained encoder into a folder that transformers can load.

    Args:
        texts: lines of each language.

    >>> import tempfile
    >>> lines = {"en": ["a cat sat on a mat", "the cat"] * 50, "fr": ["un chat sur le tapis", "le chat"] * 50}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = make_encoder(f"{place}/new", lines, FreshEncoder(vocabulary=100, layers=1, width=8, heads=2))
    ...     sorted(path.name for path in made.iterdir())
    ['config.json', 'isoglot.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers and torch", "training", "making an encoder") from error
    if not texts or not all(len(lines) for lines in texts.values()):
        raise InputError("an encoder needs text of at least one language")
    progress("learning word pieces", 0, 1)
    sample = _balanced(texts, size.lines, seed)
    lower = _all_lower(sample) if size.lower is None else size.lower
    tokenizer = _tokenizer((line for lines in sample.values() for line in lines), size, lower)
    progress("learning word pieces", 1, 1)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
        max_position_embeddings=size.longest,
        type_vocab_size=1,
        pad_token_id=tokenizer.pad_token_id,
        # Short runs over much text underfit rather than overfit.
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    # Leave the caller's random state as it was.
    with torch.random.fork_rng(devices=[]), ENCODER_FOLDER.replacing(folder) as temporary, quiet():
        torch.manual_seed(seed)
        network: Any = transformers.BertForMaskedLM(config)
        if size.warm:
            rows, vectors = piece_vectors(tokenizer, sample, size.width, epochs=size.warm, seed=seed, progress=progress)
            vectors *= _SPREAD / vectors.std()
            with torch.no_grad():
                network.get_input_embeddings().weight[torch.from_numpy(rows)] = torch.from_numpy(vectors)
        network.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    return Path(folder)


def _balanced(texts: Mapping[str, Sequence[str]], most: int, seed: int) -> dict[str, list[str]]:
    """The same number of lines of each language, sampled from all of its text."""
    each = min(most, *(len(lines) for lines in texts.values()))
    sample = {}
    for number, (lang, lines) in enumerate(texts.items()):
        rows = np.random.default_rng([seed, number]).choice(len(lines), size=each, replace=False)
        sample[lang] = [lines[int(row)] for row in np.sort(rows)]
    return sample


def _all_lower(texts: Mapping[str, Sequence[str]]) -> bool:
    """Whether some language has lower-case letters, and none has more than a few stray capitals.

    >>> _all_lower({"en": ["a cat sat"]}), _all_lower({"en": ["a cat sat"], "de": ["eine Katze"]})
    (True, False)
    >>> _all_lower({"zh": ["猫"]})
    False
    """
    any_small = False
    for lines in texts.values():
        sample = "".join(itertools.islice(lines, _CASE_LINES))
        small, capital = sum(map(str.islower, sample)), sum(map(str.isupper, sample))
        if capital > _FEW_CAPITALS * (small + capital):
            return False
        any_small |= small > 0
    return any_small


def _tokenizer(lines: Iterator[str], size: FreshEncoder, lower: bool) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram())
    steps = [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Lowercase()] if lower else steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size.vocabulary, special_tokens=list(SPECIAL.values()), unk_token="[UNK]", show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    # The order of summation changes from run to run, and with it the last digits of scores.
    learned = json.loads(tokenizer.to_str())["model"]
    first, others = learned["vocab"][: len(SPECIAL)], learned["vocab"][len(SPECIAL) :]
    ranked = sorted(((piece, round(score, 9)) for piece, score in others), key=lambda one: (-one[1], one[0]))
    tokenizer.model = models.Unigram([*map(tuple, first), *ranked], learned["unk_id"], False)
    first, last = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", first), ("[SEP]", last)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=size.longest, **SPECIAL)
