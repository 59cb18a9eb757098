"""Mutations: of bytes, of JSON documents, of tensors, and of what kind of file stands at a path.

Each takes its randomness from the generator that it is given, so that a case can be made again from its name.
"""

from __future__ import annotations

import copy
import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["mutate_bytes", "mutate_file", "mutate_json", "mutate_kind", "mutate_tensors"]

#: Numbers that overflow, vanish or lie in headers.
HUGE = (2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1, -1, 0, 10**30)
#: A document nested deeper than any parser that recurses can follow.
DEEP = 100_000
PATHS = ("../../x", "/etc/passwd", "/dev/zero", "..", ".", "", "a/../../b", "\0", "a\nb", "~root", "x" * 5000)
DTYPES = ("BF16", "F16", "F8_E4M3", "F8_E5M2", "F64", "I32", "I64", "U8", "BOOL", "F32", "X9", "")


def mutate_file(path: Path, rng: random.Random) -> str:
    """Change the file in one of the ways that fit it; a few words on what was done."""
    kind = path.suffix
    if rng.random() < 0.03:
        return mutate_kind(path, rng)
    if kind in (".json", ".jsonl") and rng.random() < 0.7:
        return mutate_json(path, rng)
    if kind in (".safetensors", ".checkpoint") and rng.random() < 0.7:
        return mutate_tensors(path, rng)
    return mutate_bytes(path, rng)


def mutate_bytes(path: Path, rng: random.Random) -> str:
    """One to three changes of bytes anywhere."""
    data = bytearray(path.read_bytes())
    done = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        step = rng.choice(_STEPS)
        if data:
            step(data, rng)
            done.append(step.__name__.lstrip("_"))
    path.write_bytes(data)
    return " + ".join(done) or "nothing"


def _flip_bits(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _flip_early(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(min(len(data), 128))] = rng.choice([0, 1, 10, 32, 127, 128, 255, rng.randrange(256)])


def _truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.choice([0, rng.randrange(len(data)), len(data) - 1]) :]


def _remove(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.choice([1, 4, 8, 100])]


def _insert(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data) + 1)
    data[start:start] = rng.choice(
        [b"\n", b" ", b"\t", b"\r", b"\0" * 8, b"\xff" * 8, b"nan ", b"inf ", b"9" * 30, b"9" * 5000, b"-1e400 ",
         b"\xef\xbb\xbf", b"\xed\xa0\x80", "\u2028".encode(), b"\x1f\x8b", rng.randbytes(20)]
    )  # fmt: skip


def _duplicate(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    data[start:start] = data[start : start + rng.randrange(1, 200)] * rng.choice([1, 1, 2, 50])


def _zero_fill(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice([4, 16, 256, len(data)]))
    data[start:end] = bytes(end - start)


def _swap_blocks(data: bytearray, rng: random.Random) -> None:
    size = rng.choice([1, 4, 16, 64])
    if len(data) < 2 * size:
        return
    first, second = sorted(rng.sample(range(len(data) - size + 1), 2))
    if second - first < size:
        return
    data[first : first + size], data[second : second + size] = (
        data[second : second + size],
        data[first : first + size],
    )


def _huge_number(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(min(len(data), 300))
    number = rng.choice(HUGE)
    form = rng.choice(["<i4", "<i8", "text"])
    if form == "text":
        data[start : start + 1] = str(number).encode()
    else:
        width = int(form[-1])
        data[start : start + width] = (number % (1 << (8 * width))).to_bytes(width, "little")


_STEPS: list[Callable[[bytearray, random.Random], None]] = [
    _flip_bits, _flip_bits, _flip_early, _truncate, _remove, _insert, _duplicate, _zero_fill, _swap_blocks,
    _huge_number,
]  # fmt: skip


def mutate_json(path: Path, rng: random.Random) -> str:
    """Change one value of a JSON document, or of one of its lines."""
    lines = path.read_text("utf-8").split("\n")
    which = rng.randrange(max(len(lines) - 1, 1)) if path.suffix == ".jsonl" else None
    text = path.read_text("utf-8") if which is None else lines[which]
    try:
        document = json.loads(text)
    except ValueError:
        return mutate_bytes(path, rng)
    document, done = mutate_value(document, rng)
    written = done_text(document)
    if which is not None:
        lines[which] = written
        written = "\n".join(lines)
    path.write_text(written, "utf-8", errors="surrogatepass")
    return done


def done_text(document: Any) -> str:
    """The document as JSON; text that was chosen to stand in for a value goes in as it is."""
    raw: list[str] = []

    def default(value: Any) -> str:
        raw.append(value.text)
        return f"@raw{len(raw) - 1}@"

    text = json.dumps(document, default=default, ensure_ascii=False)
    for number, one in enumerate(raw):
        text = text.replace(f'"@raw{number}@"', one)
    return text


class _Raw:
    """JSON text that no Python value stands for: a nesting too deep, a number too long."""

    def __init__(self, text: str) -> None:
        self.text = text


def mutate_value(document: Any, rng: random.Random) -> tuple[Any, str]:
    """A copy of the document with one place changed, and what was changed."""
    document = copy.deepcopy(document)
    places = list(_places(document))
    if not places or rng.random() < 0.05:
        odd, name = _odd_value(rng, document)
        return odd, f"whole document: {name}"
    holder, key, name = rng.choice(places)
    act = rng.choice(["other", "other", "other", "remove", "double", "rename"])
    if act == "remove":
        del holder[key]
        return document, f"removed {name}"
    if act == "double" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
        return document, f"doubled {name}"
    if act == "rename" and isinstance(holder, dict):
        holder[rng.choice(["", "x", *PATHS[:4], str(key).upper()])] = holder.pop(key)
        return document, f"renamed {name}"
    holder[key], odd_name = _odd_value(rng, holder[key])
    return document, f"{name}: {odd_name}"


def _places(value: Any, name: str = "") -> Any:
    """(holder, key, name) of every value within."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items)[:50]:
        yield value, key, f"{name}/{key}"
        yield from _places(inner, f"{name}/{key}")


def _odd_value(rng: random.Random, before: Any) -> tuple[Any, str]:
    choices: list[tuple[Any, str]] = [
        (None, "null"), (True, "true"), ([], "empty list"), ({}, "empty object"), ("", "empty text"), ("x", "text"),
        (float("nan"), "NaN"), (float("inf"), "Infinity"), (-1, "-1"), (0, "0"), (1.5, "1.5"), ([before], "in a list"),
        ({"x": before}, "in an object"), ([[]], "list of lists"), (str(before)[:100], "as text"),
        (_Raw("[" * DEEP + "]" * DEEP), "deep list"), (_Raw('{"a":' * DEEP + "1" + "}" * DEEP), "deep object"),
        (_Raw("9" * 5000), "5000 digits"), (_Raw("1e999"), "1e999"), (_Raw('"\\ud800"'), "lone surrogate"),
        (["x", 1, None], "mixed list"), ([1, 2, 3], "list of three"),
    ]  # fmt: skip
    choices += [(path, f"path {path[:20]!r}") for path in PATHS]
    choices += [(number, f"number {number}") for number in HUGE]
    if isinstance(before, (int, float)) and not isinstance(before, bool):
        choices += [(before + 1, "one more"), (before - 1, "one less"), (-before, "negative")] * 5
    if isinstance(before, list) and len(before) > 1:
        choices += [(before[:-1], "last left out"), (before[::-1], "reversed")] * 5
    return rng.choice(choices)


def mutate_tensors(path: Path, rng: random.Random) -> str:
    """Change a safetensors file: its header's document, or numbers of one tensor."""
    data = path.read_bytes()
    try:
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + size])
        body = bytearray(data[8 + size :])
        names = [name for name in header if name != "__metadata__"]
        done = _change_header(header, body, names, rng)
    except (ValueError, struct.error, AttributeError):
        return mutate_bytes(path, rng)
    text = done_text(header).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return done


def _change_header(header: dict[str, Any], body: bytearray, names: list[str], rng: random.Random) -> str:
    name = rng.choice(names)
    tensor = header[name]
    begin, end = tensor["data_offsets"]
    act = rng.choice(
        ["dtype", "shape", "numbers", "numbers", "missing", "rename", "offsets", "extra", "metadata", "value", "empty"]
    )
    if act == "dtype":
        tensor["dtype"] = rng.choice(DTYPES)
        return f"{name}: dtype {tensor['dtype']}"
    if act == "shape":
        shape = list(tensor["shape"])
        tensor["shape"] = rng.choice(
            [shape[::-1], [1, *shape], [*shape, 1], [], [0], [-1], [2**62, 4], [n + 1 for n in shape], shape[:-1]]
        )
        return f"{name}: shape {tensor['shape']}"
    if act == "numbers":
        return f"{name}: {_change_numbers(body, begin, end, tensor['dtype'], rng)}"
    if act == "empty":
        # A tensor without elements, its bytes taken out of the file.
        del body[begin:end]
        for other in names:
            header[other]["data_offsets"] = [
                n - (end - begin) if n >= end else n for n in header[other]["data_offsets"]
            ]
        tensor["shape"], tensor["data_offsets"] = [0, *tensor["shape"][1:]], [begin, begin]
        return f"{name}: no rows"
    if act in ("missing", "rename"):
        moved = header.pop(name)
        header[f"x{name}"] = moved
        return f"{name}: {act}"
    if act == "offsets":
        tensor["data_offsets"] = rng.choice([[0, end], [begin + 1, end], [end, begin], [begin, 2**63], [-1, end]])
        return f"{name}: offsets {tensor['data_offsets']}"
    if act == "extra":
        header["extra"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(body), len(body) + 4]}
        body += bytes(4)
        return "one more tensor"
    if act == "metadata":
        metadata = header.setdefault("__metadata__", {})
        key = rng.choice(list(metadata) or ["x"])
        inner = metadata.get(key, "")
        try:
            odd, done = mutate_value(json.loads(inner), rng)
            metadata[key] = done_text(odd)
        except ValueError:
            metadata[key], done = rng.choice(["", "x", "{}", "[]", "null", inner * 2, inner[:-1]]), "text"
        if rng.random() < 0.2:
            del metadata[key]
            done = "removed"
        return f"metadata {key}: {done}"
    odd, done = mutate_value(header, rng)
    header.clear()
    header.update(odd if isinstance(odd, dict) else {"x": odd})
    return f"header {done}"


def _change_numbers(body: bytearray, begin: int, end: int, dtype: str, rng: random.Random) -> str:
    odd: dict[str, list[bytes]] = {
        "F32": [struct.pack("<f", x) for x in (float("nan"), float("inf"), -float("inf"), 3e38, 1e-45, 1e20)],
        "F64": [struct.pack("<d", x) for x in (float("nan"), float("inf"), 1e308)],
        "F16": [struct.pack("<e", x) for x in (float("nan"), float("inf"), 65504.0)],
        "I64": [struct.pack("<q", x) for x in (-1, 2**63 - 1, -(2**63), 2**31, 0, 10**6)],
        "I32": [struct.pack("<i", x) for x in (-1, 2**31 - 1, -(2**31), 0, 10**6)],
    }
    values = odd.get(dtype, [b"\xff", b"\0"])
    value = rng.choice(values)
    count = (end - begin) // len(value)
    if not count:
        return "nothing to change"
    every = rng.random() < 0.2
    for place in range(count) if every else [rng.randrange(count)]:
        at = begin + place * len(value)
        body[at : at + len(value)] = value
    return f"{'all numbers' if every else 'a number'} {value.hex()}"


def mutate_kind(path: Path, rng: random.Random) -> str:
    """Put something else in the file's place."""
    kinds = ["missing", "folder", "fifo", "loop", "zeros", "empty", "dangling"]
    if os.geteuid():
        kinds.append("unreadable")
    return make_kind(path, rng.choice(kinds))


def make_kind(path: Path, kind: str) -> str:
    """The same for a kind that is named."""
    if kind == "unreadable":
        path.chmod(0)
        return "kind unreadable"
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "zeros":
        path.symlink_to("/dev/zero")
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "empty":
        path.touch()
    return f"kind {kind}"
