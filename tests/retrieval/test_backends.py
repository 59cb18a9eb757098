from __future__ import annotations

import importlib.util
import re
import sys

import numpy as np
import pytest

from isoglot.errors import MissingExtraError
from isoglot.installation import install_command
from isoglot.retrieval import Retriever, _int8_micro, available_backends, backends


def test_every_backend_says_whether_it_runs():
    found = available_backends()
    assert list(found) == ["exact", "int8", "faiss", "usearch"]
    assert found["exact"].available
    assert all(status.name == name and "\n" not in status.detail for name, status in found.items())


def test_a_cpu_without_kernels_is_told_what_is_done_instead(monkeypatch):
    monkeypatch.setattr(_int8_micro, "get_host_cpu_features", lambda: "+neon,-avx2")
    assert not available_backends()["int8"].available
    with pytest.warns(UserWarning, match="searching exactly in float32 instead"):
        retriever = Retriever(np.eye(3), np.eye(3), backend="int8", threads=1)
    assert retriever.backend == "exact"
    # Nobody asked for int8 by name: nothing to warn about.
    monkeypatch.setattr(backends, "_WORTH_CODING", 1)
    assert Retriever(np.eye(3), np.eye(3), backend="auto", threads=1).backend == "exact"


def test_auto_takes_int8_when_there_is_enough_to_do(monkeypatch):
    assert Retriever(np.eye(3), np.eye(3), backend="auto", threads=1).backend == "exact"
    monkeypatch.setattr(backends, "_WORTH_CODING", 9)
    expected = "int8" if available_backends()["int8"].available else "exact"
    assert Retriever(np.eye(3), np.eye(3), backend="auto", threads=1).backend == expected


@pytest.mark.parametrize("name", ["faiss", "usearch"])
def test_missing_packages_are_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None if module == name else real(module))
    assert install_command("ann") in available_backends()[name].detail
    with pytest.raises(MissingExtraError, match=re.escape(install_command("ann"))):
        Retriever(np.eye(3), np.eye(3), backend=name)
