"""A SentencePiece model (Kudo & Richardson 2018) as the text of a tokenizer.json, which the tokenizers library opens.

The file is a protocol buffer, of which only the pieces, their scores and the normaliser's table are needed: reading
these takes fewer lines than a dependency. Only unigram models are read.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from isoglot.errors import FormatError

#: What begins a word.
SPACE = "▁"
_UNIGRAM = 1
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4
_SHORTENED = {1: 8, 5: 4}  # wire types of fixed length, and their bytes


def tokenizer_json(path: Path) -> str:
    """The same tokenizer as the JSON of the tokenizers library, which puts `<s>` and `</s>` around every text."""
    try:
        return _tokenizer_json(path.read_bytes())
    except (IndexError, KeyError, ValueError, struct.error) as error:  # bytes that are not UTF-8 are a ValueError
        raise FormatError("this is no SentencePiece model of pieces with scores", where=str(path)) from error


def _tokenizer_json(data: bytes) -> str:
    vocabulary: list[tuple[str, float]] = []
    special: list[dict[str, Any]] = []
    unknown: int | None = None
    training: dict[int, Any] = {}
    normaliser: dict[int, Any] = {}
    for number, value in _fields(data):
        if number == 1:
            piece = dict(_fields(value))
            text, kind = piece[1].decode("utf-8"), piece.get(3, 1)
            if kind == _UNKNOWN:
                unknown = len(vocabulary)
            if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED):
                flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
                special.append({"id": len(vocabulary), "content": text, "special": True, **flags})
            vocabulary.append((text, struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0))
        elif number == 2:
            training = dict(_fields(value))
        elif number == 3:
            normaliser = dict(_fields(value))
    if training.get(3, _UNIGRAM) != _UNIGRAM or unknown is None:
        raise ValueError("not a unigram model")
    begin, end = vocabulary[training.get(41, 1)][0], vocabulary[training.get(42, 2)][0]
    spaces = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
    steps: list[dict[str, Any]] = []
    if normaliser.get(2):
        table = base64.b64encode(normaliser[2]).decode("ascii")
        steps.append({"type": "Precompiled", "precompiled_charsmap": table})
    steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
    steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    content = {
        "version": "1.0",
        "added_tokens": special,
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": spaces,
        "post_processor": _around(begin, end, {text: number for number, (text, _) in enumerate(vocabulary)}),
        "decoder": spaces,
        "model": {"type": "Unigram", "unk_id": unknown, "vocab": vocabulary, "byte_fallback": False},
    }
    return json.dumps(content, ensure_ascii=False)


def _around(begin: str, end: str, numbers: Mapping[str, int]) -> dict[str, Any]:
    """What puts the marks of begin and end around one text or two."""
    first, last = ({"SpecialToken": {"id": mark, "type_id": 0}} for mark in (begin, end))
    texts = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    return {
        "type": "TemplateProcessing",
        "single": [first, texts[0], last],
        "pair": [first, texts[0], last, texts[1], last],
        "special_tokens": {mark: {"id": mark, "ids": [numbers[mark]], "tokens": [mark]} for mark in (begin, end)},
    }


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values of a protocol buffer's fields."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _number(data, at)
            yield tag >> 3, value
            continue
        length, at = _number(data, at) if kind == 2 else (_SHORTENED[kind], at)
        if at + length > len(data):
            raise ValueError("cut off")
        yield tag >> 3, data[at : at + length]
        at += length


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
