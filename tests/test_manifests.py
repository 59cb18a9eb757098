"""What was edited or damaged becomes one error that names file and field."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save_file

from isoglot.errors import FormatError, InputError
from isoglot.manifests import Fields, TensorFile, read_json_object

GOOD = {
    "text": "a", "flag": True, "whole": 3, "texts": ["a", "b"], "names": ["en", "zh-Hant"],
    "pairs": [["a", "b"]], "mapping": {"x": 1}, "place": "spaces", "items": [1], "choice": "left",
}  # fmt: skip
READERS = {
    "text": lambda f: f.text("text"),
    "flag": lambda f: f.flag("flag"),
    "whole": lambda f: f.integer("whole", least=0, most=9),
    "texts": lambda f: f.texts("texts", least=1),
    "names": lambda f: f.names("names", exactly=2),
    "pairs": lambda f: f.pairs("pairs", among=["a", "b"]),
    "mapping": lambda f: f.mapping("mapping"),
    "items": lambda f: f.items("items"),
    "choice": lambda f: f.one_of("choice", ["left", "right"]),
}
NONSENSE = [
    None, "text", 7, -1, 10**30, 0.5, float("nan"), float("inf"), True, [], {}, [None], ["a", 1], [["a"]], [["a", "c"]],
    [["a", "b"], ["a", "b"]], ["a", "a"], ["..", "x"], ["/etc", "x"], ["a/b", "x"], {"a": 1},
]  # fmt: skip
#: What each field may be, of all that nonsense.
RIGHT = {
    "text": ["text"], "flag": [True], "whole": [7],
    "texts": [["..", "x"], ["/etc", "x"], ["a/b", "x"]], "names": [], "pairs": [[]], "mapping": [{}, {"a": 1}],
    "choice": [],
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_every_field_takes_what_it_should_and_nothing_else(name):
    assert READERS[name](Fields(GOOD, "f.json")) == (GOOD[name] if name != "pairs" else [("a", "b")])
    for value in NONSENSE:
        fields = Fields({**GOOD, name: value}, "f.json", remedy="make it again")
        if name == "items" and isinstance(value, list):
            continue
        if any(value is one or (value == one and type(value) is type(one)) for one in RIGHT.get(name, [])):
            READERS[name](fields)
            continue
        with pytest.raises(FormatError, match=rf'^f\.json: "{name}".*make it again$'):
            READERS[name](fields)
    with pytest.raises(FormatError, match=f'"{name}" is missing'):
        READERS[name](Fields({}, "f.json"))


@pytest.mark.parametrize("place", ["..", "../x", "/etc", "a/b", "", "...", "x" * 99, "a\0b", "a b"])
def test_a_place_outside_the_folder_is_refused(tmp_path, place):
    with pytest.raises(FormatError, match="is not a valid file name"):
        Fields({"place": place}, "f.json").place("place", tmp_path)
    assert Fields({"place": "."}, "f.json").place("place", tmp_path) == tmp_path


@pytest.mark.parametrize("content", [b"[" * 200_000, b'{"a":' * 200_000, b"\xff\xfe", b"nope", b"[1]", b""])
def test_bad_json_is_one_error(tmp_path, content):
    (tmp_path / "f.json").write_bytes(content)
    with pytest.raises(FormatError, match=r"f\.json: "):
        read_json_object(tmp_path / "f.json")
    with pytest.raises(OSError, match="is a folder"):
        read_json_object(tmp_path)


def test_tensors_are_checked(tmp_path):
    path = tmp_path / "t.safetensors"
    save_file({"W": np.eye(3, dtype=np.float32), "n": np.arange(3)}, path)
    tensors = TensorFile.read(path)
    assert tensors.take("W", (3, None)).shape == (3, 3)
    assert tensors.take("n", (3,), kind="iu")[2] == 2
    assert "X" not in tensors
    for name, shape, kind in (("W", (3,), "f"), ("W", (3, 4), "f"), ("n", (3,), "f"), ("X", None, "f")):
        with pytest.raises(FormatError, match=rf"t\.safetensors: {name} "):
            tensors.take(name, shape, kind)
    for bad in (np.nan, np.inf):
        save_file({"W": np.full((2, 2), bad, dtype=np.float32)}, path)
        with pytest.raises(FormatError, match="not finite"):
            TensorFile.read(path)
    with pytest.raises(InputError, match="cannot be read"):
        TensorFile.read(tmp_path / "gone.safetensors")
    with pytest.raises(FormatError, match="is not a file"):
        TensorFile.read(tmp_path)


def damaged(tensors: dict, size: int) -> bytes:
    header = json.dumps(tensors).encode()
    return struct.pack("<Q", len(header)) + header + bytes(size)


@pytest.mark.parametrize(
    "content",
    [
        damaged({"W": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}, 8),
        damaged({"W": {"dtype": "F8_E4M3", "shape": [2, 2], "data_offsets": [0, 4]}}, 4),
        damaged({"W": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}, 8),
        damaged({"W": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}}, 16),
        damaged({"W": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                 "V": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, 12),
        damaged({"W": {"dtype": "XX", "shape": [2], "data_offsets": [0, 8]}}, 8),
        b"", b"\xff" * 40, b"not tensors at all",
    ],
    ids=["bf16", "f8", "short", "gap", "overlap", "type", "empty", "header", "text"],
)  # fmt: skip
def test_damaged_tensors_are_one_error(tmp_path, content):
    (tmp_path / "t.safetensors").write_bytes(content)
    with pytest.raises(FormatError, match=r"t\.safetensors: "):
        TensorFile.read(tmp_path / "t.safetensors")
