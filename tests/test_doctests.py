"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import isoglot

NAMES = sorted(module.name for module in pkgutil.walk_packages(isoglot.__path__, "isoglot."))


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    # Names that classes and functions of the module use freely in their examples.
    failures, _ = doctest.testmod(module)
    assert failures == 0
