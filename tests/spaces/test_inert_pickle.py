"""Hostile pickles do nothing at all."""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from isoglot.errors import FormatError
from isoglot.spaces import inspect_pickle, load_space
from isoglot.spaces.formats.inert_pickle import Call, Global


class Hostile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_is_called(protocol: int, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    data = pickle.dumps({"index_to_key": ["a"], "vectors": Hostile(trap)}, protocol=protocol)
    root = inspect_pickle(io.BytesIO(data), "x")
    assert isinstance(root, dict)
    assert isinstance(root["vectors"], Call)
    assert root["vectors"].name.endswith(".mkdir")
    (tmp_path / "x.kv").write_bytes(data)
    with pytest.raises(FormatError):
        load_space(tmp_path / "x.kv")
    assert not trap.exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_objects_come_out_as_they_are(protocol: int) -> None:
    value = {"a": [1, -5, 2.5, True, None, "é", b"x", 10**30], 3: (1, (2, 3), ()), "d": {}, "e": []}
    found = inspect_pickle(io.BytesIO(pickle.dumps(value, protocol=protocol)), "x")
    assert isinstance(found, dict)
    if protocol >= 3:  # older ones have no bytes
        assert found == value
    assert found[3] == value[3]


def test_records_keep_what_they_were_given() -> None:
    found = inspect_pickle(io.BytesIO(pickle.dumps(OrderedDict(a=1))), "x")
    assert isinstance(found, Call)
    assert isinstance(found.function, Global)
    assert found.name == "collections.OrderedDict"
    assert found.items == ["a", 1]
    array = inspect_pickle(io.BytesIO(pickle.dumps(np.arange(3))), "x")
    assert isinstance(array, Call)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04",
        b"\x80\x04]",
        b"\x80\x04.",
        b"\x80\x04(.",
        b"\x80\x04K\x01K\x02\x86",  # no STOP
        b"\x80\x04h\x07.",  # memo that was never filled
        b"\x80\x04e.",  # no mark
        b"\x80\x04}(K\x01u.",  # a key without a value
        b"\x80\x04K\x01a.",
        b"\x80\x04Pid\n.",  # persistent ids ask the loader for objects
        b"\x80\x04\x82\x01.",  # the extension registry
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",  # bytes longer than any memory
        b"\x80\x04\x8b\xff\xff\xff\x7f.",
        b"\x80\x04X\xff\xff\xff\xffabc.",
        b"I" + b"9" * 5000 + b"\n.",
    ],
)
def test_damage_is_one_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        inspect_pickle(io.BytesIO(data), "x.kv")


def test_nests_and_memo_bombs_cost_nothing() -> None:
    deep = b"\x80\x04)" + b"\x85" * 50_000 + b"."
    assert isinstance(inspect_pickle(io.BytesIO(deep), "x"), tuple)
    # A deep nest as a key of a dict, where hashing it would exhaust the stack.
    assert inspect_pickle(io.BytesIO(b"\x80\x04})" + b"\x85" * 50_000 + b"K\x01s."), "x") == {}
    # Each list holds the one before ten times: 10^60 leaves if anyone unfolded it.
    laughs = b"\x80\x04]\x94" + b"".join(b"](" + b"h%c" % i * 10 + b"e\x94" for i in range(60)) + b"."
    assert isinstance(inspect_pickle(io.BytesIO(laughs), "x"), list)
    # A list that holds itself.
    assert isinstance(inspect_pickle(io.BytesIO(b"\x80\x04]\x94h\x00a."), "x"), list)
